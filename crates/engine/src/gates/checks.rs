//! The checks of a criterion, and what its author wants the writer to be told when they fail.

use serde_json::Value;

use crate::Context;
use crate::diagnostic::cut;
use crate::event::{Failure, Verdict};
use crate::gate::{self, CheckResult, Fill, JudgedText};
use crate::model::{Check, Criterion, Filling, Text};
use crate::names::Extra;
use crate::parts::Questions;
use crate::source::Spanned;
use crate::state::NodeRef;

/// Most characters of a `feedback` that was filled in.
const LONGEST_FEEDBACK: usize = 10_000;

/// Fills in checks with the names of a gate and of the value that it judges.
struct CheckFiller<'a> {
    context: &'a Context,
    at: NodeRef,
    extra: Extra<'a>,
}

impl Fill for CheckFiller<'_> {
    type Error = Failure;

    fn text(&self, text: &Text) -> Result<Value, Failure> {
        self.context.names().fill_with(self.at, text, self.extra)
    }

    fn filling(&self, filling: &Filling) -> Result<Value, Failure> {
        self.context.names().filling_with(self.at, filling, self.extra)
    }

    fn condition(&self, text: &Text) -> Result<bool, Failure> {
        self.context.names().condition_with(self.at, text, self.extra)
    }
}

impl Questions<'_> {
    /// Runs the checks of a criterion up to the first that fails, and notes it in the verdict.
    pub(super) fn checked(
        &self,
        at: NodeRef,
        criterion: &Criterion,
        checks: &[Spanned<Check>],
        (judged, extra): (&JudgedText, Extra),
        verdict: &mut Verdict,
    ) {
        let filler = CheckFiller { context: self, at, extra };
        let quoted = gate::fill_apart_from(checks.iter().map(|check| &check.value), &filler);
        let results = checks.iter().map(|check| {
            let filled = gate::fill_check(&check.value, Some(&criterion.description), &filler);
            match filled.and_then(|filled| Ok((filled, quoted.as_ref().map_err(Clone::clone)?))) {
                Ok((filled, quoted)) => gate::check_apart_from(&filled, judged, quoted.as_ref()),
                Err(failure) => CheckResult::failed(failure.message, ""),
            }
        });
        let Some(failed) = results.into_iter().find(|result| !result.passed) else { return };
        verdict.passed = false;
        verdict.feedback = match criterion.feedback.as_ref().map(|own| self.names().fill_text_with(at, own, extra)) {
            Some(Ok(own)) if !own.trim().is_empty() => cut(&own, LONGEST_FEEDBACK),
            Some(Err(failure)) => format!("{} Its own feedback cannot be filled in: {}", failed.feedback, failure.message),
            Some(Ok(_)) | None => failed.feedback,
        };
        verdict.evidence = failed.evidence;
    }
}
