//! Explains the work of a pipeline, step by step.

use crate::model::{OnFailure, Step, StepKind, duration_words};
use crate::plan::{BlockIx, PipelinePlan, Plan, StepIx};
use crate::report::graph::words;

/// Explains the steps of a pipeline, with nested steps below them.
pub(super) fn step_lines(plan: &Plan, planned: &PipelinePlan) -> Vec<String> {
    let mut said = vec![];
    block(plan, planned, planned.main, 0, &mut said);
    said
}

/// Explains the steps of one list.
pub(super) fn block(plan: &Plan, planned: &PipelinePlan, block_ix: BlockIx, depth: usize, said: &mut Vec<String>) {
    let list = planned.block(block_ix);
    for wave in list.waves() {
        let together = if wave.len() > 1 { " (at the same time as others)" } else { "" };
        for place in wave {
            let ix = StepIx(list.first.0 + place as u32);
            let step = &planned.step(ix).step;
            let all = || (0..list.len()).map(|other| &planned.step(StepIx(list.first.0 + other as u32)).step);
            let is_after_failure =
                || all().flat_map(|other| other.stand_ins()).any(|(key, name)| key == "on_failure" && name.value == step.id.value);
            let stands_in = match list.is_stand_in(place) {
                true if is_after_failure() => " Only if the step it stands in for failed.",
                true => " Only if nobody answered in time.",
                false => "",
            };
            said.push(format!("{}{}{together}.{stands_in}", "\t".repeat(depth), sentence(plan, planned, step)));
            cases(plan, planned, ix, depth + 1, said);
        }
    }
}

fn sentence(plan: &Plan, planned: &PipelinePlan, step: &Step) -> String {
    let name = match &step.name {
        Some(name) => format!("{} ({})", step.id.value, words::source(name)),
        None => step.id.value.clone(),
    };
    let mut said = format!("{name}: {}", words::what(plan, planned, step).join("; "));
    if let Some(each) = &step.for_each {
        said.push_str(&format!(", {}", words::elements(each)));
    }
    if let Some(when) = &step.when {
        said.push_str(&format!(", only if {}", words::source(when)));
    }
    match &step.on_failure {
        OnFailure::Stop => {}
        OnFailure::Continue => said.push_str("; if that fails, the rest goes on"),
        OnFailure::Step(other) => said.push_str(&format!("; if that fails, {} runs instead", other.value)),
    }
    if let StepKind::Approval(approval) = &step.kind {
        let within = step.timeout.map(|time| format!("; if nobody answers within {}", duration_words(time)));
        said.push_str(&match (within, &approval.on_timeout) {
            (Some(within), Some(other)) => format!("{within}, {} runs instead", other.value),
            (Some(within), None) => format!("{within}, that is a no"),
            (None, _) => "; it waits as long as it takes".to_owned(),
        });
    }
    said
}

fn cases(plan: &Plan, planned: &PipelinePlan, ix: StepIx, depth: usize, said: &mut Vec<String>) {
    let found = planned.step(ix);
    for (case, inner) in found.step.kind.cases().zip(&found.cases) {
        let condition = words::condition(&found.step.kind, case);
        match case.steps.as_slice() {
            _ if case.id.value.is_empty() => block(plan, planned, *inner, depth, said),
            [only] if !case.has_steps => {
                let what = words::what(plan, planned, only).join("; ");
                said.push(format!("{}{} ({condition}): {what}.", "\t".repeat(depth), case.id.value));
            }
            _ => {
                said.push(format!("{}{} ({condition}):", "\t".repeat(depth), case.id.value));
                block(plan, planned, *inner, depth + 1, said);
            }
        }
    }
}
