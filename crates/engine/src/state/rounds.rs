//! How events open the steps of a group, and the rounds of a `repeat`.

use serde::{Deserialize, Serialize};

use super::{Ending, NodeRef, RunState, StepWork};
use crate::model::{StepKind, step_path};
use crate::plan::Plan;

/// The rounds of a `repeat` so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repeating {
    /// The round that runs, from 1.
    pub(crate) round: u32,
    /// Rounds in a row, up to the one before, after which `until` read the same values as after the round before them.
    pub(crate) unchanged: u32,
    /// The steps of the round before, as a frame.
    pub(crate) before: Option<u32>,
    /// What happened in this round and counts for the run if it is the last one.
    pub(crate) ending: Ending,
}

impl RunState {
    /// Opens the steps of a group, or of the next round. The round before is kept until this one is over.
    pub(super) fn steps_opened(&mut self, plan: &Plan, at: NodeRef, round: u32, unchanged: u32) -> Option<()> {
        let planned = self.steps.file(plan, at);
        let node = self.steps.node(at);
        let planned_step = planned.step(node.step);
        let block = *planned_step.cases.first()?;
        let repeats = matches!(planned_step.step.kind, StepKind::Repeat(_));
        let inside = if repeats { step_path::element(&node.path, round) } else { node.path.to_string() };
        let before = if let StepWork::Inner { frame, .. } = node.work { Some(frame) } else { None };
        let base = node.priority;
        if let Some(last) = before {
            self.steps.queue.done.remove(&last);
        }
        let frame = self.steps.open_block(planned, self.steps.instance_of(at), block, Some(at), &format!("{inside}/"), base);
        let node = self.steps.tree.node_mut(at);
        node.work = StepWork::Inner { frame, case: None };
        // Only the last round counts.
        node.judged = None;
        let earlier = node.repeating.take();
        node.repeating = repeats.then(|| Box::new(Repeating { round, unchanged, before, ending: Ending::default() }));
        if let Some(frame) = earlier.and_then(|earlier| earlier.before) {
            self.drop_frame(frame);
        }
        Some(())
    }
}
