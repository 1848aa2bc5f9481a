//! F503: a request that changes something, with `retry` but without a key by which the receiver knows it again.

use crate::diagnostic::About;
use crate::model::FailureKind;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::effects::has_retry;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(method) = step.kind.method(&pipeline.pipeline).filter(|method| !method.is_idempotent()) else { continue };
        // What was rejected for its number has not been done.
        let Some(_) = has_retry(step).filter(|retry| retry.on.iter().any(|kind| *kind != FailureKind::RateLimited)) else { continue };
        if step.is_once || step.kind.idempotency_key().is_some() {
            continue;
        }
        let may_repeat = has_retry(step).is_some_and(|retry| retry.on.contains(&FailureKind::UnknownOutcome));
        let then = match may_repeat {
            true => "; it may be done twice",
            false => ": after a server error or a lost connection it is not tried again, since it may have been done",
        };
        let message = format!("{} sends {method} with retry but without idempotency_key{then}", quoted(&step.id.value));
        out.push(finding(Code::EffectWithRetry, step.id.span, &message).about(About::Value("retry".to_owned())).help(format!(
            "add idempotency_key: \"{}-{{{{ run.id }}}}\" if the receiver knows such keys, or write on: [rate_limited] in retry",
            step.id.value
        )));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn what_changes_something_is_not_repeated_blindly() {
        let step =
            |method: &str, more: &str| says(check, &format!("steps: [{{ id: notify, http: {method} https://example.com/{more} }}]\n"));
        let not_again = ": after a server error or a lost connection it is not tried again, since it may have been done";
        let found = format!("F503 3:15 \"notify\" sends POST with retry but without idempotency_key{not_again}\n");
        let twice = "F503 3:15 \"notify\" sends POST with retry but without idempotency_key; it may be done twice\n";
        assert_eq!(step("POST", ", retry: { on: [unknown_outcome] }"), twice);
        assert_eq!(step("POST", ", retry: { max_attempts: 2 }"), found);
        assert_eq!(step("PUT", ", retry: { max_attempts: 2 }"), "");
        assert_eq!(step("POST", ", retry: { on: [rate_limited] }"), "");
        assert_eq!(step("POST", ", retry: {}, idempotency_key: '{{ run.id }}'"), "");
        let tool = "tools: { hook: { http: POST https://example.com/ } }\nsteps: [{ id: a, tool: hook, retry: {} }]\n";
        assert_eq!(says(check, tool), format!("F503 4:15 \"a\" sends POST with retry but without idempotency_key{not_again}\n"));
    }
}
