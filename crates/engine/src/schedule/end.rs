//! How frames, pipelines and the run end.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::event::{
    Bound, CallDetails, Failure, FailureKind, Happening, ListDetails, RouteDetails, RunEnd, RunStatus, Stage, StepFailure, StepStatus,
};
use crate::model::{OnFailure, Outputs, Read, Sample, StepKind, Text};
use crate::parts::{Schedule, Scheduler, Talks};
use crate::state::talk::AskedStage;
use crate::state::{Ending, FrameKind, Instance, Mood, NodeRef, StepNode, StepWork};

impl Ending {
    /// The status: the first of the table in `docs/events.md` that holds.
    pub(crate) fn status(&self) -> RunStatus {
        if self.is_cancelled {
            RunStatus::Cancelled
        } else if let Some(limit) = self.limit {
            match limit {
                Bound::Deadline | Bound::Timeout => RunStatus::TimedOut,
                Bound::Deadlock => RunStatus::Failed,
                Bound::MaxTokens | Bound::MaxCostUsd | Bound::MaxSteps => RunStatus::OverBudget,
            }
        } else if self.failure.is_some() || self.stop == Some(false) {
            RunStatus::Failed
        } else if self.unmet.are_any() {
            RunStatus::QualityNotMet
        } else if self.partial.are_any() {
            RunStatus::Partial
        } else {
            RunStatus::Succeeded
        }
    }
}

/// Whether an output may contain what a text reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OutputReach {
    /// The value is there, or something else replaces it.
    Given,
    /// The step has no output: the value is filled in if the text does not need that output, and null otherwise.
    IfNotRead,
    /// The value is null.
    Empty,
}

impl Scheduler<'_> {
    /// Handles the end of all steps of a frame.
    pub(crate) fn frame_over(&mut self, ix: u32) {
        let frame = self.state.steps.frame(ix);
        match frame.parent {
            None => self.stage_over(frame.instance),
            Some(at) => match frame.kind {
                _ if self.state.steps.node(at).ended_by.is_some() => self.end_attempt(at),
                FrameKind::Items { .. } => self.items_over(at, ix),
                FrameKind::Block(_) => self.inner_over(at, ix),
                FrameKind::Written(_) => self.plan_over(at, ix),
            },
        }
    }

    /// Ends the attempt of a step that holds others and was stopped by a limit of its own, after its inner steps have ended.
    fn end_attempt(&mut self, at: NodeRef) {
        let failure = self.state.steps.node(at).ended_by.clone().unwrap_or_else(|| Failure::new(FailureKind::Timeout, "its time is over"));
        let allowed = crate::state::apply::step_limits(&self.planned_of(at).pipeline, &self.step(at)).deadline;
        let deadline_over = self.state.steps.node(at).deadline.is_none() && allowed.is_some();
        if deadline_over { self.fail(at, failure, None) } else { self.fail_attempt(at, failure) }
    }

    /// Ends a step from outside. What was said in a dialogue can be read however it ended.
    pub(crate) fn cancelled(&mut self, at: NodeRef) {
        let details =
            self.dialogues().dialogue(at).map(|own| self.dialogues().dialogue_details(at, own, self.schedule().why_cancelled(at)).into());
        self.0.emit(Happening::StepCancelled { step: self.path(at), details });
    }

    fn items_over(&mut self, at: NodeRef, ix: u32) {
        let step = self.step(at);
        let frame = self.state.steps.frame(ix);
        let failure = frame.failure.clone();
        if frame.mood == Mood::Cancelling && failure.is_none() {
            return self.cancelled(at);
        }
        if step.on_failure == OnFailure::Continue {
            let told = |node: &StepNode| json!({ "item": node.item, "status": node.status, "output": node.output, "error": node.error() });
            let list: Value = frame.nodes.iter().map(told).collect();
            let failed = frame.nodes.iter().filter(|n| n.status == StepStatus::Failed).count();
            return self.succeed(at, list, Some(ListDetails { failed }.into_value()));
        }
        match failure {
            Some(failure) => {
                let message = format!("{}: {}", failure.step, failure.failure.message);
                self.fail(at, Failure { message, ..failure.failure }, None);
            }
            None => {
                let list: Value = frame.nodes.iter().map(|n| n.output.as_deref().cloned().unwrap_or(Value::Null)).collect();
                self.succeed(at, list, None);
            }
        }
    }

    pub(crate) fn case_over(&mut self, at: NodeRef, ix: u32) {
        let frame = self.state.steps.frame(ix);
        let StepWork::Inner { case, .. } = &self.state.steps.node(at).work else { return };
        let details = RouteDetails { case: case.clone() }.into_value();
        let quality = self.schedule().unmet_in(ix);
        let Some(last) = frame.nodes.last() else { return self.succeed(at, Value::Null, Some(details)) };
        if let Some(failure) = frame.failure.clone().or_else(|| frame.nodes.iter().find_map(StepNode::nothing_done)) {
            return self.fail_attempt(at, failure.failure);
        }
        match last.status {
            StepStatus::Succeeded | StepStatus::Skipped => {
                let is_held_back = self.schedule().before_unmet(ix).contains(&(frame.nodes.len() - 1));
                let output = last.output.as_deref().filter(|_| !is_held_back).cloned().unwrap_or(Value::Null);
                self.succeed(at, output, Some(details));
            }
            StepStatus::Cancelled => self.cancelled(at),
            _ => {
                let failure = quality.or_else(|| last.failure.clone());
                let blocked = || Failure::new(FailureKind::Blocked, format!("\"{}\" could not run", last.path));
                let failure = failure.unwrap_or_else(blocked);
                self.fail(at, failure, Some(details));
            }
        }
    }

    /// Handles the end of the steps, `on_failure` or `finally` of a pipeline.
    fn stage_over(&mut self, ix: u32) {
        let instance = self.state.steps.instance(ix);
        let planned = self.planned(ix);
        let (status, failure) = self.schedule().ending(instance);
        let failed = matches!(status, RunStatus::Failed | RunStatus::TimedOut | RunStatus::OverBudget);
        let next = match instance.stage {
            Stage::Steps if failed && planned.on_failure.is_some() => Some(Stage::OnFailure),
            Stage::Steps | Stage::OnFailure if planned.finally.is_some() => Some(Stage::Finally),
            _ => None,
        };
        if let Some(stage) = next {
            let step = instance.path();
            self.emit(Happening::StageStarted { step, stage, status, failure });
        } else if instance.parent.is_some() {
            self.call_over(ix, status, failure);
        } else {
            let outputs = self.schedule().outputs(ix, status);
            let usage = self.state.spent.usage;
            let (status, failure, outputs) = match outputs {
                Ok(outputs) => (status, failure, outputs),
                Err(failure) => (RunStatus::Failed, Some(StepFailure { step: "".into(), failure }), Value::Null),
            };
            let needs_review = self.state.needs_review;
            self.emit(Happening::RunFinished(Box::new(RunEnd { status, outputs: Arc::new(outputs), failure, usage, needs_review })));
        }
    }

    /// Handles the end of a called pipeline for the step that called it.
    fn call_over(&mut self, ix: u32, status: RunStatus, failure: Option<StepFailure>) {
        let instance = self.state.steps.instance(ix);
        let Some(at) = instance.parent else { return };
        if self.state.steps.node(at).talk().is_some() {
            return self.talks().asked_call_over(at, ix, status, failure);
        }
        if self.state.steps.node(at).ended_by.is_some() {
            return self.end_attempt(at);
        }
        let nothing = instance.ending.nothing_let_through.are_any();
        let details = CallDetails { run: self.id.to_string(), status: status.word().to_owned() }.into_value();
        let name = self.planned(ix).pipeline.name.value.clone();
        match status {
            RunStatus::Cancelled => self.cancelled(at),
            RunStatus::QualityNotMet if nothing => {
                let nodes = &self.state.steps.frame(instance.main).nodes;
                let unmet = nodes.iter().filter_map(|node| node.failure.as_ref()).find(|failure| failure.kind == FailureKind::Quality);
                let why = unmet.map_or("a gate was not met and has no otherwise", |failure| &failure.message);
                let failure = Failure::new(FailureKind::Quality, format!("pipeline \"{name}\": {why}"));
                self.fail(at, failure, Some(details));
            }
            RunStatus::Succeeded | RunStatus::Partial | RunStatus::QualityNotMet => match self.schedule().outputs(ix, status) {
                Ok(outputs) => self.steps().give(at, outputs, Some(details)),
                Err(failure) => self.fail(at, failure, Some(details)),
            },
            RunStatus::TimedOut | RunStatus::OverBudget | RunStatus::Failed => {
                let failure = failure.map_or_else(|| Failure::new(FailureKind::Internal, "it failed"), |f| f.failure);
                let message = format!("pipeline \"{name}\" {}: {}", status.verb(), failure.message);
                self.fail_attempt(at, Failure { message, ..failure });
            }
        }
    }
}

impl Talks<'_> {
    /// Handles the end of a pipeline that an agent called as a tool.
    fn asked_call_over(&mut self, at: NodeRef, ix: u32, status: RunStatus, failure: Option<StepFailure>) {
        let Some(talk) = self.state.steps.node(at).talk() else { return };
        let Some(place) = talk.asked().iter().position(|asked| asked.stage == AskedStage::Inside(ix)) else { return };
        let name = &self.planned(ix).pipeline.name.value;
        let nothing = self.state.steps.instance(ix).ending.nothing_let_through.are_any();
        let result = match status {
            RunStatus::Succeeded | RunStatus::Partial => self.schedule().outputs(ix, status),
            RunStatus::QualityNotMet if !nothing => self.schedule().outputs(ix, status),
            status => {
                let failure = failure.map_or_else(|| Failure::new(FailureKind::Quality, "a gate was not met"), |f| f.failure);
                let message = format!("pipeline \"{name}\" {}: {}", status.verb(), failure.message);
                Err(Failure { message, ..failure })
            }
        };
        self.asked_replied(at, self.state.calls.last() + 1, place, result, vec![]);
        let node = self.state.steps.node(at);
        if node.work.holds_steps() {
            return;
        }
        if node.ended_by.is_some() {
            self.scheduler().stop_calls(at);
            self.scheduler().end_attempt(at);
        } else if self.state.steps.frame(at.frame).mood == Mood::Cancelling {
            self.scheduler().stop_calls(at);
            self.scheduler().cancelled(at);
        } else {
            self.ask_on(at);
        }
    }
}

impl Schedule<'_> {
    /// The limit or the failure that ended a step from outside, the innermost one; `None`: somebody ended the run.
    fn why_cancelled(&self, at: NodeRef) -> Option<&Failure> {
        std::iter::successors(Some(at), |at| self.state.steps.around(*at)).find_map(|at| {
            let frame = self.state.steps.frame(at.frame);
            let of_instance = self.state.steps.instance(frame.instance).ending.failure.as_ref().filter(|_| frame.parent.is_none());
            let of_steps = frame.failure.as_ref().or(of_instance).map(|failed| &failed.failure);
            self.state.steps.node(at).ended_by.as_ref().or(of_steps)
        })
    }

    /// The status of a pipeline, and the failure that others may read.
    fn ending(&self, instance: &Instance) -> (RunStatus, Option<StepFailure>) {
        let mut ending = instance.ending.clone();
        if ending.failure.is_none() {
            let main = self.state.steps.frame(instance.main);
            ending.failure = main.failure.clone().or_else(|| main.nodes.iter().find_map(StepNode::nothing_done));
        }
        if instance.stage == Stage::Finally && self.state.steps.frame(instance.frame).failure.is_some() {
            ending.partial.add(None);
        }
        (ending.status(), ending.failure)
    }

    /// The outputs of a pipeline. An output is null if it reads a step that did not succeed, or a text that a gate did not let through.
    fn outputs(&self, ix: u32, status: RunStatus) -> Result<Value, Failure> {
        let planned = self.planned(ix);
        if !matches!(status, RunStatus::Succeeded | RunStatus::Partial | RunStatus::QualityNotMet) {
            return Ok(Value::Null);
        }
        let main = self.state.steps.instance(ix).main;
        let held_back = self.held_back(main);
        let reach_of = |read: &Read| match read.path.as_slice() {
            // The status and error of a step can be read however it ended, and contain nothing of its text.
            [steps, _, part, ..] if steps == "steps" && matches!(part.as_str(), "status" | "error") => OutputReach::Given,
            [steps, id, rest @ ..] if steps == "steps" => {
                let place = planned.block(planned.main).place(id);
                let node = place.map(|p| &self.state.steps.frame(main).nodes[p]);
                let ended_well = node.is_some_and(|n| matches!(n.status, StepStatus::Succeeded));
                let is_held_back = || place.and_then(|place| held_back.get(&place)).is_some_and(|judged| reads_any(rest, judged));
                match rest.first() {
                    _ if is_held_back() => OutputReach::Empty,
                    _ if ended_well || read.is_guarded => OutputReach::Given,
                    // For example, the output of a replacement in `default(…)`, which is not read if the value that it replaces is there.
                    Some(part) if part == "output" => OutputReach::IfNotRead,
                    _ => OutputReach::Empty,
                }
            }
            _ => OutputReach::Given,
        };
        let filled = |texts: &[&Text], fill: &dyn Fn() -> Result<Value, Failure>| match texts
            .iter()
            .flat_map(|text| &text.reads)
            .map(reach_of)
            .max()
            .unwrap_or(OutputReach::Given)
        {
            OutputReach::Given => fill(),
            OutputReach::IfNotRead => Ok(fill().unwrap_or_default()),
            OutputReach::Empty => Ok(Value::Null),
        };
        let told = |what: &str, failure: Failure| Failure { message: format!("{what}: {}", failure.message), ..failure };
        match &planned.pipeline.outputs {
            Outputs::None => Ok(json!({})),
            Outputs::Whole(text) => {
                filled(&[text], &|| self.names().fill_in_pipeline(ix, text)).map_err(|failure| told("outputs", failure))
            }
            Outputs::Named(outputs) => {
                let mut values = Map::new();
                for (name, filling) in outputs {
                    let value = filled(&filling.texts(), &|| self.names().filling_in_pipeline(ix, filling));
                    let value = value.map_err(|failure| told(&format!("output \"{}\"", name.value), failure))?;
                    values.insert(name.value.clone(), value);
                }
                Ok(Value::Object(values))
            }
        }
    }

    /// Places of the steps of a list whose text a gate beside them did not let through, with the paths that it judged below each; an empty path is all of
    /// a step.
    fn held_back(&self, frame_ix: u32) -> BTreeMap<usize, Vec<&[String]>> {
        let frame = self.state.steps.frame(frame_ix);
        let planned = self.planned(frame.instance);
        let mut held: BTreeMap<usize, Vec<&[String]>> = BTreeMap::new();
        let FrameKind::Block(block) = frame.kind else { return held };
        for (place, node) in frame.nodes.iter().enumerate() {
            let StepKind::Gate(gate) = &planned.step(node.step).step.kind else { continue };
            if node.judged != Some(false) {
                continue;
            }
            let mut own: BTreeMap<usize, Vec<&[String]>> = BTreeMap::new();
            for read in &gate.of.reads {
                if let [steps, id, rest @ ..] = read.path.as_slice()
                    && steps == "steps"
                    && let Some(judged) = planned.block(block).place(id)
                {
                    own.entry(judged).or_default().push(rest);
                }
            }
            // What lies on the way of a refinement is a part of what is judged, but for other fields of what the gate reads itself.
            let stretch = planned.refinement.as_ref().filter(|r| r.gate == node.step).map_or(&[][..], |r| &r.stretch);
            for on_way in stretch.iter().filter(|p| **p != place) {
                own.entry(*on_way).or_insert_with(|| vec![&[]]);
            }
            for (place, judged) in own {
                held.entry(place).or_default().extend(judged);
            }
        }
        held
    }
}

/// Whether a path of a step reads what is at one of these, or a part of it, or all that it is a part of; `details` may tell of any.
fn reads_any(path: &[String], judged: &[&[String]]) -> bool {
    path.first().is_none_or(|member| member != "output")
        || judged.iter().any(|judged| path.iter().zip(judged.iter()).all(|(own, other)| own == other))
}
