//! F503: a request that changes something, repeated without a key by which the receiver knows it.

use super::effects::has_retry;
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::diagnostic::About;
use crate::model::FailureKind;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(method) = step.kind.method(&pipeline.pipeline).filter(|method| !method.is_idempotent()) else { continue };
        // What was rejected for its number has not been done.
        let Some(_) = has_retry(step).filter(|retry| retry.on.iter().any(|kind| *kind != FailureKind::RateLimited)) else { continue };
        if step.is_once || step.kind.idempotency_key().is_some() {
            continue;
        }
        let message = format!("{} sends {method} with retry but without idempotency_key; it may be done twice", quoted(&step.id.value));
        out.push(finding(Code::EffectWithRetry, step.id.span, &message).about(About::Value("retry".to_owned())).help(format!(
            "add idempotency_key: \"{}-{{{{ run.id }}}}\" if the receiver knows such keys, or write on: [rate_limited] in retry",
            step.id.value
        )));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn what_changes_something_is_not_repeated_blindly() {
        let step =
            |method: &str, more: &str| says(check, &format!("steps: [{{ id: notify, http: {method} https://example.com/{more} }}]\n"));
        let found = "F503 3:15 \"notify\" sends POST with retry but without idempotency_key; it may be done twice\n";
        assert_eq!(step("POST", ", retry: { max_attempts: 2 }"), found);
        assert_eq!(step("PUT", ", retry: { max_attempts: 2 }"), "");
        assert_eq!(step("POST", ", retry: { on: [rate_limited] }"), "");
        assert_eq!(step("POST", ", retry: {}, idempotency_key: '{{ run.id }}'"), "");
        let tool = "tools: { hook: { http: POST https://example.com/ } }\nsteps: [{ id: a, tool: hook, retry: {} }]\n";
        assert_eq!(says(check, tool), "F503 4:15 \"a\" sends POST with retry but without idempotency_key; it may be done twice\n");
    }
}
