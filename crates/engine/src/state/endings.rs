//! What happened in a step and counts for what is around it: gates that were not met, failures that were allowed.

use super::tree::StepTree;
use super::{Ending, Mood, NodeRef, StepWork};
use crate::event::StepStatus;
use crate::model::StepKind;
use crate::plan::{PipelinePlan, Plan};

impl StepTree {
    /// Notes that a gate which never came to a judgement let nothing through; one whose `when` is false has nothing to judge.
    pub(super) fn note_unjudged(&mut self, plan: &Plan, at: NodeRef, status: StepStatus) {
        let is_unjudged = match status {
            StepStatus::Failed | StepStatus::Blocked | StepStatus::Cancelled => true,
            StepStatus::Skipped => self.frame(at.frame).mood == Mood::Skipping,
            StepStatus::Pending | StepStatus::Running | StepStatus::Waiting | StepStatus::Succeeded => false,
        };
        if is_unjudged && matches!(self.step(plan, at).kind, StepKind::Gate(_)) {
            self.note_nothing_through(at);
        }
    }

    /// A gate was not met; only `for_good` does that count.
    pub(super) fn gate_failed(&mut self, at: NodeRef, for_good: bool) {
        if for_good {
            self.note_nothing_through(at);
            let (ending, place) = self.ending_of(at);
            ending.unmet.add(place);
        }
    }

    /// Notes that a gate let nothing through. What holds the gate holds what it did not let through.
    pub(super) fn note_nothing_through(&mut self, at: NodeRef) {
        let around: Vec<NodeRef> = self.holders(at).collect();
        around.into_iter().for_each(|at| self.node_mut(at).judged = Some(false));
    }

    /// Notes anew whether a gate in the steps that hold this one let nothing through: what a try that is over said no longer counts.
    pub(super) fn judge_holders_anew(&mut self, at: NodeRef) {
        let holders: Vec<NodeRef> = self.holders(at).skip(1).collect();
        for holder in holders {
            let StepWork::Inner { frame, .. } = self.node(holder).work else { continue };
            let is_unmet = self.frame(frame).nodes.iter().any(|node| node.judged == Some(false));
            self.node_mut(holder).judged = is_unmet.then_some(false);
        }
    }

    /// The ending that a step counts for, and its place there: that of the list with an ending of its own or of the round that it is in, the
    /// innermost, else that of its pipeline.
    pub(super) fn ending_of(&mut self, at: NodeRef) -> (&mut Ending, Option<u32>) {
        let (instance, place) = (self.instance_of(at), self.own_place(at));
        let of_list = |at: &NodeRef| self.frame(at.frame).ending.is_some();
        let of_round = |at: &NodeRef| self.frame(at.frame).parent.filter(|repeat| self.node(*repeat).repeating.is_some());
        let inner = self.holders(at).find_map(|at| if of_list(&at) { Some((at, true)) } else { Some((of_round(&at)?, false)) });
        match inner {
            Some((at, true)) => (self.frame_mut(at.frame).ending.get_or_insert_default(), Some(at.node)),
            Some((repeat, false)) => (&mut self.node_mut(repeat).repeating.get_or_insert_default().ending, None),
            None => (&mut self.instance_mut(instance).ending, place),
        }
    }

    pub(super) fn note_partial(&mut self, at: NodeRef) {
        let (ending, place) = self.ending_of(at);
        ending.partial.add(place);
    }

    /// Whether a step is part of the refinement in progress. Its failure is then handled by the gate.
    pub(crate) fn is_second_round(&self, planned: &PipelinePlan, at: NodeRef) -> bool {
        self.frame(at.frame).refinement.is_some() && planned.refinement.as_ref().is_some_and(|r| r.stretch.contains(&(at.node as usize)))
    }

    /// Whether a step is the gate of the refinement, in its second round.
    pub(crate) fn is_second_judging(&self, planned: &PipelinePlan, at: NodeRef) -> bool {
        let node = self.node(at);
        let is_its_gate = planned.refinement.as_ref().is_some_and(|r| r.gate == node.step);
        is_its_gate && node.round == 2 && self.is_second_round(planned, at)
    }

    /// Passes the ending of a list that this step holds on to what is around it.
    pub(super) fn inherit_from_list(&mut self, at: NodeRef) {
        let StepWork::Inner { frame, .. } = self.node(at).work else { return };
        let Some(ending) = self.frames.get_mut(frame as usize).and_then(|frame| frame.as_mut()?.ending.take()) else { return };
        let (outer, place) = match self.node(at).repeating.is_some() {
            true => (&mut self.node_mut(at).repeating.get_or_insert_default().ending, None),
            false => self.ending_of(at),
        };
        for (outer, inner) in [(&mut outer.unmet, &ending.unmet), (&mut outer.partial, &ending.partial)] {
            if inner.are_any() {
                outer.add(place);
            }
        }
    }

    /// Passes the ending of a called pipeline, of a list, or of the last round, on to what is around the step.
    pub(super) fn inherit_from_inside(&mut self, at: NodeRef) {
        self.inherit_from_list(at);
        if let Some(repeating) = &mut self.node_mut(at).repeating {
            let ending = std::mem::take(&mut repeating.ending);
            self.inherit_ending(at, &ending);
        }
        let StepWork::Called(inner) = self.node(at).work else { return };
        self.inherit(at, inner);
    }

    pub(super) fn inherit(&mut self, at: NodeRef, inner: u32) {
        let ending = self.instance(inner).ending.clone();
        self.inherit_ending(at, &ending);
    }

    fn inherit_ending(&mut self, at: NodeRef, ending: &Ending) {
        let (outer, place) = self.ending_of(at);
        if ending.unmet.are_any() {
            outer.unmet.add(place);
        }
        if ending.partial.are_any() && ending.failure.is_none() {
            outer.partial.add(place);
        }
    }
}
