//! Steps that hold a list of steps: `steps` and `repeat`. What a round decides follows from the events; see `round_over`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Kind;
use super::decision::StepDecision;
use crate::Context;
use crate::event::{Failure, FailureKind, Happening, RepeatDetails, StepStatus};
use crate::model::{GroupStep, Read, RepeatStep, Sample, Step, StepKind, Unmet};
use crate::parts::{Schedule, Scheduler};
use crate::state::{FrameKind, Mood, NodeRef, StepNode};

impl Kind for GroupStep {
    fn start(&self, context: &Context, at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        Ok(Happening::StepsOpened { step: context.path(at), round: 1, unchanged: 0 }.into())
    }
}

impl Kind for RepeatStep {
    fn start(&self, context: &Context, at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        Ok(Happening::StepsOpened { step: context.path(at), round: 1, unchanged: 0 }.into())
    }
}

impl Scheduler<'_> {
    /// Handles the end of the steps of a case, of a group or of a round.
    pub(crate) fn inner_over(&mut self, at: NodeRef, ix: u32) {
        let step = self.step(at);
        if let StepKind::Group(_) = step.kind {
            self.group_over(at, ix);
        } else if let Some(own) = step.kind.repeat() {
            self.round_over(at, ix, own);
        } else {
            self.case_over(at, ix);
        }
    }

    /// Ends a step that holds others if these did not end well. Whether it did.
    fn ends_badly(&mut self, at: NodeRef, ix: u32) -> bool {
        let frame = self.state.steps.frame(ix);
        let stopped = frame.failure.clone().or_else(|| frame.nodes.iter().find_map(StepNode::nothing_done));
        if let Some(failure) = stopped {
            self.fail_attempt(at, failure.failure);
        } else if let Some(failure) = self.schedule().unmet_in(ix) {
            self.fail(at, failure, None);
        } else if frame.mood == Mood::Cancelling {
            self.cancelled(at);
        } else {
            return false;
        }
        true
    }

    fn group_over(&mut self, at: NodeRef, ix: u32) {
        if self.ends_badly(at, ix) {
            return;
        }
        let output = self.schedule().outputs_of(ix);
        self.succeed(at, output, None);
    }

    /// Reads `until` after a round, and ends the step or opens the next round.
    fn round_over(&mut self, at: NodeRef, ix: u32, own: &RepeatStep) {
        if self.ends_badly(at, ix) {
            return;
        }
        let frame = self.state.steps.frame(ix);
        let last = NodeRef { frame: ix, node: (frame.nodes.len() as u32).saturating_sub(1) };
        let mood = frame.mood;
        let output = self.schedule().outputs_of(ix);
        let round = self.state.steps.node(at).repeating.as_ref().map_or(1, |own| own.round);
        // A `stop` inside ended the run: nothing is decided any more.
        if mood != Mood::Going {
            return self.succeed(at, output, Some(RepeatDetails { rounds: round, met: None }.into_value()));
        }
        let is_met = match self.condition(last, &own.until) {
            Ok(is_met) => is_met,
            Err(failure) => return self.fail(at, Failure { message: format!("until: {}", failure.message), ..failure }, None),
        };
        let unchanged = self.schedule().unchanged(at, ix, own);
        let is_stuck = own.stop_on_same.is_some_and(|most| u64::from(unchanged) >= most);
        let details = RepeatDetails { rounds: round, met: Some(is_met) }.into_value();
        if is_met {
            return self.succeed(at, output, Some(details));
        }
        if !is_stuck && u64::from(round) < own.at_most {
            return self.0.emit(Happening::StepsOpened { step: self.path(at), round: round + 1, unchanged });
        }
        match own.unmet {
            Unmet::Keep => self.succeed(at, output, Some(details)),
            Unmet::Fail => {
                let rounds = crate::diagnostic::counted(u64::from(round), "round", "rounds");
                let why = if is_stuck { format!("; nothing that it reads has changed for {unchanged}") } else { String::new() };
                let message = format!("until is still false after {rounds}{why}: {}", own.until.source.trim());
                self.fail(at, Failure::new(FailureKind::Limit, message), Some(details));
            }
        }
    }
}

impl Schedule<'_> {
    /// Why a gate in a list was not met, where that is not allowed.
    pub(crate) fn unmet_in(&self, ix: u32) -> Option<Failure> {
        let unmet = (0..).zip(&self.state.steps.frame(ix).nodes).filter(|(_, node)| node.status == StepStatus::Failed).find_map(
            |(node, failed)| {
                let failure = failed.failure.as_ref().filter(|failure| failure.kind == FailureKind::Quality)?;
                (!self.step(NodeRef { frame: ix, node }).allows(failure.kind)).then_some(failure)
            },
        );
        unmet.cloned()
    }

    /// What the steps of a list gave, by their ids. A step without an output is left out, and so is what comes before a gate that was not met:
    /// the text that it did not let through may be in any of it.
    fn outputs_of(&self, ix: u32) -> Value {
        let frame = self.state.steps.frame(ix);
        let planned = self.planned(frame.instance);
        let held_back = self.before_unmet(ix);
        let given = frame.nodes.iter().enumerate().filter(|(place, _)| !held_back.contains(place)).map(|(_, node)| node);
        // A pause gives nothing.
        let gives = |node: &&StepNode| !matches!(planned.step(node.step).step.kind, StepKind::Wait(_) | StepKind::Stop(_));
        let given = given.filter(|node| node.status == StepStatus::Succeeded).filter(gives);
        let given = given.filter_map(|node| Some((planned.step(node.step).id.to_string(), node.output.as_deref()?.clone())));
        Value::Object(given.collect::<Map<_, _>>())
    }

    /// Places of a list before a gate that let nothing through, or before a step in which there is one.
    pub(crate) fn before_unmet(&self, ix: u32) -> BTreeSet<usize> {
        let frame = self.state.steps.frame(ix);
        let FrameKind::Block(block) = frame.kind else { return BTreeSet::new() };
        let block = self.planned(frame.instance).block(block);
        let unmet: Vec<usize> = (0..).zip(&frame.nodes).filter(|(_, node)| node.judged == Some(false)).map(|(place, _)| place).collect();
        (0..frame.nodes.len()).filter(|place| unmet.iter().any(|gate| block.is_upstream(*place, *gate))).collect()
    }

    /// How many rounds in a row `until` read what it read the round before.
    fn unchanged(&self, at: NodeRef, ix: u32, own: &RepeatStep) -> u32 {
        let Some(repeating) = self.state.steps.node(at).repeating.as_deref() else { return 0 };
        let Some(before) = repeating.before else { return 0 };
        let inner = own.until.reads.iter().filter(|read| read.path.first().is_some_and(|root| root == "steps"));
        let is_same = |read: &Read| self.read_in(ix, read) == self.read_in(before, read);
        if inner.into_iter().all(is_same) { repeating.unchanged + 1 } else { 0 }
    }

    /// What a path gives in a frame; of a step that stands elsewhere nothing.
    fn read_in(&self, ix: u32, read: &Read) -> Option<Value> {
        let frame = self.state.steps.frame(ix);
        let FrameKind::Block(block) = frame.kind else { return None };
        let [_, id, member, rest @ ..] = read.path.as_slice() else { return None };
        let node = frame.nodes.get(self.planned(frame.instance).block(block).place(id)?)?;
        let value = match member.as_str() {
            "output" => node.output.as_deref().cloned()?,
            "details" => node.details.as_deref().cloned()?,
            "error" => json!(node.error()),
            _ => json!(node.status),
        };
        rest.iter().try_fold(value, |value, part| match part.parse::<usize>() {
            Ok(place) if value.is_array() => value.get(place).cloned(),
            _ => value.get(part).cloned(),
        })
    }
}
