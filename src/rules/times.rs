//! Time and tries: F500, F501, F507.

use std::time::Duration;

use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Backoff, Pipeline, PipelineId, Retry, Step, StepKind, Tool, ToolKind};
use crate::plan::{PipelinePlan, Plan};

/// Time for one attempt where nothing is written: requests, tools and agents; queries (language, section 13).
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Waits that are added up one by one; the rest count like the last of them.
const MOST_WAITS: u64 = 1_000;

fn tool<'p>(pipeline: &'p Pipeline, step: &Step) -> Option<&'p Tool> {
    match &step.kind {
        StepKind::Tool(tool) => pipeline.tools.get(&tool.tool.value),
        _ => None,
    }
}

/// F500: a call over the network that is bounded by the default only.
pub(super) fn default_timeout(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let is_bounded = step.timeout.is_some() || step.deadline.is_some();
        let goes_out = match tool(&pipeline.pipeline, step) {
            Some(tool) => matches!(tool.kind, ToolKind::Http { .. }) && tool.timeout.is_none(),
            None => matches!(step.kind, StepKind::Http(_)),
        };
        if goes_out && !is_bounded {
            let message = format!("step {} goes to the network and has no timeout; the default, 60s, applies", quoted(&step.id.value));
            out.push(finding(Code::DefaultTimeout, step.id.span, &message).help("add timeout: with the time you are ready to wait"));
        }
    }
}

/// F501: all attempts and their waits together can outlast the deadline. Goes by a `retry` that is written out.
pub(super) fn past_deadline(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let whole = pipeline.pipeline.limits.deadline;
    for step in &pipeline.pipeline.steps {
        let Some(deadline) = step.deadline.into_iter().chain(whole).min() else { continue };
        let Some(retry) = step.retry.as_ref().filter(|retry| retry.max_attempts > 1) else { continue };
        let default = match &step.kind {
            StepKind::Http(_) | StepKind::Agent(_) => Some(CALL_TIMEOUT),
            StepKind::Tool(_) => tool(&pipeline.pipeline, step).map(|tool| tool.timeout.unwrap_or(CALL_TIMEOUT)),
            StepKind::Sql(_) => Some(QUERY_TIMEOUT),
            _ => None,
        };
        let Some(timeout) = step.timeout.or(default) else { continue };
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
            out.push(finding(Code::PastDeadline, step.id.span, &message).help("lower timeout or max_attempts, or raise the deadline"));
        }
    }
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

/// F507: tries of a pipeline whose steps are tried again themselves.
pub(super) fn nested_retry(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let inner: Vec<Option<u64>> = plan.program.pipelines.iter().map(|called| most_tries(called)).collect();
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let called: Option<PipelineId> = match &step.kind {
            StepKind::Call(call) => call.pipeline,
            _ => match tool(&pipeline.pipeline, step).map(|tool| &tool.kind) {
                Some(ToolKind::Pipeline { pipeline, .. }) => *pipeline,
                _ => None,
            },
        };
        let outer = step.retry.as_ref().map(|retry| retry.max_attempts).filter(|tries| *tries > 1);
        let (Some(outer), Some(inner)) = (outer, called.and_then(|called| inner.get(called.0).copied().flatten())) else { continue };
        let message = format!(
            "{} makes {outer} attempts at a pipeline whose steps make {inner} each: up to {} calls",
            quoted(&step.id.value),
            outer.saturating_mul(inner)
        );
        out.push(finding(Code::NestedRetry, step.id.span, &message).help("remove retry here, or from the steps of the pipeline"));
    }
}

/// The most tries that a step of a pipeline is given, if more than one.
fn most_tries(pipeline: &Pipeline) -> Option<u64> {
    let tries = pipeline.steps.iter().filter_map(|step| step.retry.as_ref().map(|retry| retry.max_attempts));
    tries.max().filter(|tries| *tries > 1)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{says, says_of};
    use super::*;

    #[test]
    fn the_default_timeout_is_said() {
        let step = |keys: &str| {
            says(default_timeout, &format!("tools: {{ t: {{ http: GET https://example.com/ }} }}\nsteps: [{{ id: a, {keys} }}]\n"))
        };
        let found = "F500 4:15 step \"a\" goes to the network and has no timeout; the default, 60s, applies\n";
        assert_eq!(step("http: GET https://example.com/"), found);
        assert_eq!(step("tool: t"), found);
        assert_eq!(step("tool: t, timeout: 5s"), "");
        assert_eq!(step("set: 1"), "");
    }

    #[test]
    fn attempts_and_waits_stay_inside_the_deadline() {
        let step = |limits: &str, retry: &str| {
            says(past_deadline, &format!("{limits}steps: [{{ id: a, http: GET https://example.com/, retry: {{ {retry} }} }}]\n"))
        };
        let found = "F501 4:15 \"a\": 3 attempts of 60s and their waits can take 183s; the deadline is 120s\n";
        assert_eq!(step("limits: { deadline: 120s }\n", "max_attempts: 3"), found);
        assert_eq!(step("limits: { deadline: 183s }\n", "max_attempts: 3"), "");
        assert_eq!(step("", "max_attempts: 3"), "", "silent without a deadline");
        let fixed = step("limits: { deadline: 1h }\n", "max_attempts: 100000, delay: 10s, backoff: fixed");
        assert!(fixed.contains("can take 6999990s"), "{fixed}");
    }

    #[test]
    fn tries_of_tries_are_counted() {
        let outer = |step: &str| {
            let text = format!("flow: 1\nname: a\nsteps: [{{ id: brand, call: b.yaml{step} }}]\n");
            let inner = "flow: 1\nname: b\nsteps: [{ id: x, http: GET https://example.com/, retry: { max_attempts: 4 } }]\n";
            says_of(nested_retry, &[("a.yaml", &text), ("b.yaml", inner)])
        };
        assert_eq!(
            outer(", retry: { max_attempts: 3 }"),
            "F507 3:15 \"brand\" makes 3 attempts at a pipeline whose steps make 4 each: up to 12 calls\n"
        );
        assert_eq!(outer(""), "");
    }
}
