//! The scorecards of a gate, and who judges by them.

use crate::model::{Criterion, GateStep, Judging, Scorecard, ScorecardRef};
use crate::plan::PipelinePlan;

/// The scorecards of a gate that the file has; `None`: a name that is not known, so nothing can be said.
pub(super) fn gate_scorecards<'p>(pipeline: &'p PipelinePlan, gate: &'p GateStep) -> Option<Vec<(&'p str, &'p Scorecard)>> {
    let names = gate.scorecards.iter().filter_map(|reference| match reference {
        ScorecardRef::Named(name) => Some(name.value.as_str()),
        ScorecardRef::Written(_) => None,
    });
    names.map(|name| Some((name, pipeline.pipeline.scorecards.get(name)?))).collect()
}

/// Whether a criterion is judged by an agent.
pub(super) fn asks_judge(criterion: &&Criterion) -> bool {
    matches!(criterion.judging, Judging::Judge)
}
