//! F511: a time in which no answer can come from another machine, as from milliseconds where seconds were meant.

use std::time::Duration;

use crate::model::{StepKind, known_address};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

/// What a request over a network needs at least: the connection and its encryption are several ways there and back.
const LEAST: Duration = Duration::from_millis(50);

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(timeout) = step.timeout.filter(|timeout| *timeout < LEAST) else { continue };
        let is_far = if let StepKind::Http(http) = &step.kind {
            known_address(&http.url.source).is_none_or(|url| !is_here(url.host_str().unwrap_or_default()))
        } else {
            matches!(step.kind, StepKind::Agent(_)) && pipeline.pipeline.models.values().all(|model| model.provider.scripted().is_none())
        };
        if is_far {
            let number = timeout.as_millis();
            let message =
                format!("timeout {number}ms of {} is over before an answer can come from another machine", quoted(&step.id.value));
            out.push(finding(Code::ShortTimeout, step.timeout_span, &message).help(format!("write {number}s")));
        }
    }
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host == "[::1]" || host.starts_with("127.")
}
