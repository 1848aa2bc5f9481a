//! F501: all attempts and their waits together can outlast the deadline.

use std::time::Duration;

use crate::diagnostic::About;
use crate::model::{Backoff, Pipeline, Retry, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

/// Waits that are added up one by one; the rest count like the last of them.
const MOST_WAITS: u64 = 1_000;

/// F501: all attempts and their waits together can outlast the deadline. Goes by a `retry` that is written out.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let whole = pipeline.pipeline.bounds().deadline;
    for step in &pipeline.pipeline.steps {
        let Some(deadline) = step.deadline.into_iter().chain(whole).min() else { continue };
        let Some(retry) = step.retry.as_ref().filter(|retry| retry.max_attempts > 1) else { continue };
        let default = || of_model(&pipeline.pipeline, &step.kind).or(step.kind.default_timeout(&pipeline.pipeline));
        let Some(timeout) = step.timeout.or_else(default) else { continue };
        let attempts = timeout.saturating_mul(u32::try_from(retry.max_attempts).unwrap_or(u32::MAX));
        let longest = attempts.saturating_add(waits(retry));
        if longest > deadline {
            let message = format!(
                "{}: {} attempts of {} and their waits can take {}; the deadline is {}",
                quoted(&step.id.value),
                retry.max_attempts,
                shown(timeout),
                shown(longest),
                shown(deadline)
            );
            let key = if step.timeout.is_some() { "timeout" } else { "retry" };
            let found = finding(Code::PastDeadline, step.id.span, &message).about(About::Value(key.to_owned()));
            let room = deadline.saturating_sub(waits(retry)).as_secs() / retry.max_attempts;
            out.push(found.help(match room {
                0 => "lower max_attempts, or raise the deadline".to_owned(),
                room => format!("write timeout: {room}s or less, or deadline: {} or more", shown(longest)),
            }));
        }
    }
}

/// The time that an agent's model says for one call.
fn of_model(file: &Pipeline, kind: &StepKind) -> Option<Duration> {
    let StepKind::Agent(asked) = kind else { return None };
    file.models.get(file.asked_model(kind, &asked.agent.value)?)?.timeout
}

/// All waits together, at their longest.
fn waits(retry: &Retry) -> Duration {
    let count = retry.max_attempts.saturating_sub(1);
    let wait = |number: u64| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let full = match retry.backoff {
            Backoff::Fixed => retry.delay,
            Backoff::Linear => retry.delay.saturating_mul(number),
            Backoff::Exponential => retry.delay.saturating_mul(1u32.checked_shl(number.saturating_sub(1)).unwrap_or(u32::MAX)),
        };
        full.min(retry.max_delay)
    };
    let first = count.min(MOST_WAITS);
    let added = (1..=first).map(wait).fold(Duration::ZERO, Duration::saturating_add);
    added.saturating_add(wait(first).saturating_mul(u32::try_from(count - first).unwrap_or(u32::MAX)))
}

fn shown(time: Duration) -> String {
    let milliseconds = time.as_millis();
    if milliseconds.is_multiple_of(1_000) { format!("{}s", milliseconds / 1_000) } else { format!("{milliseconds}ms") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn attempts_and_waits_stay_inside_the_deadline() {
        let step = |limits: &str, retry: &str| {
            says(check, &format!("{limits}steps: [{{ id: a, http: GET https://example.com/, retry: {{ {retry} }} }}]\n"))
        };
        let found = "F501 4:15 \"a\": 3 attempts of 60s and their waits can take 183s; the deadline is 120s\n";
        assert_eq!(step("limits: { deadline: 120s }\n", "max_attempts: 3"), found);
        assert_eq!(step("limits: { deadline: 183s }\n", "max_attempts: 3"), "");
        let policy = "policies: { p: { resource_limits: { time: 120s }, permission_mode: auto } }\npolicy: p\n";
        assert_eq!(step(policy, "max_attempts: 3"), found.replace("4:15", "5:15"));
        assert_eq!(step("", "max_attempts: 3"), "", "silent without a deadline");
        let fixed = step("limits: { deadline: 1h }\n", "max_attempts: 100000, delay: 10s, backoff: fixed");
        assert!(fixed.contains("can take 6999990s"), "{fixed}");
    }
}
