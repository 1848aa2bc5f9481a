//! F225: a `default` that never applies, since what stands before it is always there.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::OnFailure;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, Viewpoint, finding, quoted};
use crate::source::Span;

/// One step stands in for another in a text, and does not in the run: `steps.a.output | default(steps.b.output)` where `a` never fails without
/// ending the run.
pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    static STAND_IN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"steps\.(\w+)\.output[\w.]*\s*\|\s*default\(\s*steps\.(\w+)\.output").ok());
    for placed in &texts.all {
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| matches!(seat.at, Viewpoint::Step(..))) else { continue };
        for groups in STAND_IN.iter().flat_map(|pattern| pattern.captures_iter(&placed.text.source)) {
            let (Some(wanted), Some(other)) = (groups.get(1).map(|id| id.as_str()), groups.get(2).map(|id| id.as_str())) else { continue };
            if wanted == other {
                continue;
            }
            let step = |id: &str| names.pipeline.steps.iter().find(|planned| planned.step.id.value == id);
            let (Some(first), Some(second)) = (step(wanted), step(other)) else { continue };
            let path = ["steps", wanted, "output"].map(str::to_owned);
            let is_sure = first.step.on_failure == OnFailure::Stop && first.step.when.is_none() && names.path(seat, &path).is_ok();
            if first.block == second.block && is_sure && second.step.when.is_none() {
                let message =
                    format!("{} never stands in for {}: a failure of {} ends the run", quoted(other), quoted(wanted), quoted(wanted));
                out.push(
                    new_finding(second.step.id.span, &message)
                        .related(first.step.id.span, format!("add on_failure: {other} to this step"))
                        .related(placed.text.place.span, "read here in its place")
                        .help(format!("add on_failure: {other} to step \"{wanted}\"")),
                );
            }
        }
    }
}

pub(in crate::rules) fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::DefaultUnused, span, message)
}
