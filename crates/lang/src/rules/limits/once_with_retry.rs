//! F502: `once` and `retry` contradict each other.

use crate::diagnostic::About;

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::effects::has_retry;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        if step.is_once && has_retry(step).is_some() && step.kind.idempotency_key().is_none() {
            let message = format!("{} is marked once and has retry; add an idempotency_key or drop retry", quoted(&step.id.value));
            out.push(
                finding(Code::OnceWithRetry, step.id.span, &message)
                    .about(About::Value("retry".to_owned()))
                    .help("remove retry, or add an idempotency_key the receiver knows"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn once_is_once() {
        let step = |more: &str| says(check, &format!("steps: [{{ id: pay, http: POST https://example.com/, once: true{more} }}]\n"));
        assert_eq!(step(", retry: {}"), "F502 3:15 \"pay\" is marked once and has retry; add an idempotency_key or drop retry\n");
        assert_eq!(step(", retry: {}, idempotency_key: '{{ run.id }}'"), "");
        assert_eq!(step(", retry: { max_attempts: 1 }"), "");
        assert_eq!(step(""), "");
    }
}
