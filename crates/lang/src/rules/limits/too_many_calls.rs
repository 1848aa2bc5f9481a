//! F113: more steps or calls of pipelines than a run may start: none can end well.

use crate::model::{MOST_CALLED, MOST_STEP_RUNS};
use crate::plan::{SureCall, SureStarts, least};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Span;

/// Most calls that are shown below the first.
const MOST_SHOWN: usize = 3;

/// F113: of the pipeline that is asked for; the bounds are those of a whole run.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    if !plan.pipelines.first().is_some_and(|first| std::ptr::eq(first, pipeline)) {
        return;
    }
    let starts = least(plan);
    let Some(SureStarts { needs, calls }) = starts.first() else { return };
    let limits = &pipeline.pipeline.limits;
    let written = limits.max_steps;
    let Some(dearest) = dearest(calls) else {
        if let (Some(most), Some(span)) = (written.filter(|most| needs.steps > *most), limits.span) {
            let message = format!("each run starts at least {} steps; limits.max_steps is {most}", needs.steps);
            out.push(new_finding(span, &message).help(format!("write max_steps: {} or more", needs.steps)));
        }
        return;
    };
    let (number, what, bound) = match written {
        Some(most) if needs.steps > most => (needs.steps, "step runs", format!("limits.max_steps is {most}")),
        None if needs.called > MOST_CALLED => {
            (needs.called, "called pipelines", format!("at most {MOST_CALLED} run without limits.max_steps"))
        }
        None if needs.steps > MOST_STEP_RUNS => {
            (needs.steps, "step runs", format!("at most {MOST_STEP_RUNS} run without limits.max_steps"))
        }
        Some(_) | None => return,
    };
    let step = &pipeline.step(dearest.step).step;
    let number = if number == u64::MAX { "more than 10^19".to_owned() } else { format!("at least {number}") };
    let message = format!("{} and the calls inside it make {number} {what} in each run; {bound}", quoted(&step.id.value));
    let mut diagnostic = new_finding(step.kind_span, &message);
    for (place, message) in below(dearest, plan, &starts) {
        diagnostic = diagnostic.related(place, message);
    }
    let limit = match (written, needs.steps) {
        (_, u64::MAX) => String::new(),
        (_, steps) => format!("; if you need that many, write limits: {{ max_steps: {steps} }} or more"),
    };
    out.push(diagnostic.help(format!("make one call of each pipeline, and read its output where it is needed{limit}")));
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::TooManyCalls, span, message)
}

/// The call that starts most; the first of several.
fn dearest(calls: &[SureCall]) -> Option<&SureCall> {
    calls.iter().rev().max_by_key(|call| call.needs.called)
}

/// Where the calls multiply: on the way down along the dearest calls, those that are made several times.
fn below(from: &SureCall, plan: &Plan, starts: &[SureStarts]) -> Vec<(Span, String)> {
    let mut shown = vec![];
    let mut next = Some(from);
    // Each pipeline at most once: circles have been reported.
    for _ in 0..plan.pipelines.len() {
        let Some(call) = next.filter(|_| shown.len() < MOST_SHOWN) else { break };
        let called = plan.pipeline(call.pipeline);
        let Some(inner) = starts.get(call.pipeline.0) else { break };
        next = dearest(&inner.calls);
        let times = inner.calls.iter().fold(0_u64, |all, call| all.saturating_add(call.times));
        if let Some(call) = next.filter(|_| times > 1) {
            let message = format!("{} makes {times} calls each time it runs", quoted(&called.pipeline.name.value));
            shown.push((called.step(call.step).step.kind_span, message));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says_of;

    /// `levels` files that each call the next one twice.
    fn doubling(levels: usize, head: &str, extra: &str) -> String {
        let name = |level: usize| format!("p{level}.yaml");
        let step = |id: &str, level: usize| format!("  - {{ id: {id}, needs: [], call: {}{extra} }}\n", name(level + 1));
        let text = |level: usize| match level {
            level if level == levels => format!("flow: 1\nname: p{level}\nsteps:\n  - {{ id: a, set: 1 }}\n"),
            0 => format!("flow: 1\nname: p0\n{head}steps:\n{}{}", step("a", 0), step("b", 0)),
            level => format!("flow: 1\nname: p{level}\nsteps:\n{}{}", step("a", level), step("b", level)),
        };
        let files: Vec<(String, String)> = (0..=levels).map(|level| (name(level), text(level))).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        says_of(check, &files)
    }

    #[test]
    fn calls_that_double_are_found_before_the_run_however_many_they_are() {
        assert_eq!(doubling(12, "", ""), "");
        assert_eq!(
            doubling(15, "", ""),
            "F113 4:25 \"a\" and the calls inside it make at least 65534 called pipelines in each run; at most 10000 run without limits.max_steps\n"
        );
        let endless = doubling(200, "", "");
        assert!(endless.contains("make more than 10^19 called pipelines"), "{endless}");
    }

    #[test]
    fn what_depends_on_data_or_may_not_happen_is_left_to_the_run() {
        for extra in [", when: inputs.x", ", cache: 1d", ", for_each: inputs.list"] {
            let head = "inputs: { x: { type: boolean, default: true }, list: { type: list, items: text, default: [] } }\n";
            let said = doubling(15, head, extra).lines().filter(|line| line.starts_with("F113")).count();
            assert_eq!(said, 0, "{extra}");
        }
        assert_eq!(doubling(15, "limits: { max_steps: 1000000 }\n", ""), "");
        let said = doubling(3, "limits: { max_steps: 21 }\n", "");
        assert!(said.contains("make at least 22 step runs in each run; limits.max_steps is 21"), "{said}");
        assert_eq!(doubling(3, "limits: { max_steps: 22 }\n", ""), "");
    }

    #[test]
    fn elements_of_a_list_that_is_written_out_count() {
        let list = |count: usize| format!("[{}]", vec!["1"; count].join(", "));
        let files = |outer: usize, inner: usize| {
            let a = format!("flow: 1\nname: a\nsteps:\n  - {{ id: each, for_each: {}, call: b.yaml }}\n", list(outer));
            let b = format!("flow: 1\nname: b\nsteps:\n  - {{ id: each, for_each: {}, call: c.yaml }}\n", list(inner));
            says_of(check, &[("a.yaml", &a), ("b.yaml", &b), ("c.yaml", "flow: 1\nname: c\nsteps: [{ id: a, set: 1 }]\n")])
        };
        assert_eq!(files(100, 99), "");
        assert!(files(100, 100).contains("make at least 10100 called pipelines"), "{}", files(100, 100));
    }
}
