//! Decides what may start next.

pub(crate) mod end;
pub(crate) mod resume;
pub(crate) mod retries;
pub(crate) mod stop;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use serde_json::Value;

use crate::Run;
use crate::event::{Bound, CommonDetails, Failure, FailureKind, Happening, Limit, StepPath, StepStatus};
use crate::model::{CallTime, MOST_PARALLEL, OnFailure, Sample, Step, StepKind};
use crate::parts::{Schedule, Scheduler};
use crate::plan::{Block, BlockIx, Edge, PipelinePlan};
use crate::shape::joined;
use crate::state::apply::blocks;
use crate::state::{FrameKind, Mood, NodeRef, ReadyKey, StepNode, StepWork, Timer};

/// Whether a step that waits for no other may start.
enum StartVerdict {
    Start,
    Skip,
    Block(StepPath),
    Fail(Failure),
    /// The gate of the refinement, when the second round could not be finished.
    Unmet,
}

impl Scheduler<'_> {
    /// Decides everything that can be decided now.
    pub(crate) fn pump(&mut self) {
        // A run that is to end starts nothing.
        while self.state.finished.is_none() && self.state.stopping.is_none() {
            if let Some(frame) = self.frame_to_sweep() {
                self.sweep(frame);
            } else if let Some(frame) = self.state.steps.queue.done.first().copied() {
                self.0.guarded(self.state.steps.frame(frame).parent, |run| run.scheduler().frame_over(frame));
            } else if let Some(at) = self.next_woken() {
                self.guarded(Some(at), |run| run.scheduler().go_on(at));
            } else if let Some(key) = self.next_ready() {
                self.guarded(Some(key.at), |run| run.scheduler().begin(key.at));
            } else {
                break;
            }
        }
        if self.state.finished.is_none() && self.state.stopping.is_none() && self.is_stuck() {
            let idle = self.state.questions_in_vain();
            if !idle.is_empty() {
                idle.into_iter().for_each(|step| self.emit(Happening::StepCancelled { step, details: None }));
                return self.pump();
            }
            if self.state.undecided().next().is_some() { self.pause() } else { self.report_deadlock() }
        }
    }

    fn next_ready(&self) -> Option<ReadyKey> {
        let computing = self.state.steps.queue.ready.first();
        // A step whose own pipeline has no place left is in `woken`.
        let calling = if self.schedule().has_any_permit() {
            self.state.steps.queue.ready_calls.iter().find(|key| !self.woken.contains(key))
        } else {
            None
        };
        match (computing, calling) {
            (Some(a), Some(b)) => Some(*a.min(b)),
            (a, b) => a.or(b).copied(),
        }
    }

    fn next_woken(&mut self) -> Option<NodeRef> {
        let any_permit = self.schedule().has_any_permit();
        loop {
            let key = self.woken.find(|key| !self.schedule().is_open(key.at) || self.schedule().may_go_on(key.at, any_permit))?;
            self.woken.remove(&key);
            if self.schedule().is_open(key.at) {
                return Some(key.at);
            }
        }
    }

    /// Continues a step that waited for its next try or for a permit.
    fn go_on(&mut self, at: NodeRef) {
        if self.state.steps.node(at).talk().is_some() {
            self.ask_on(at);
        } else if self.state.steps.node(at).status == StepStatus::Pending {
            self.begin(at);
        } else if self.state.steps.node(at).retry_at.is_some() {
            self.steps().start(at);
        } else {
            self.start_again(at);
        }
    }

    fn begin(&mut self, at: NodeRef) {
        if self.keeps(at) {
            return;
        }
        let verdict = match self.schedule().may_start(at) {
            // What was rejected is not let go by a second try in which its gate does not apply.
            StartVerdict::Skip if self.state.steps.is_second_judging(self.planned_of(at), at) => StartVerdict::Unmet,
            verdict => verdict,
        };
        match verdict {
            StartVerdict::Start
                if self.state.steps.queue.ready_calls.contains(&self.state.steps.key(at)) && !self.schedule().has_permit(at) =>
            {
                self.wake(at)
            }
            StartVerdict::Start => self.steps().start(at),
            StartVerdict::Skip => self.0.emit(Happening::StepSkipped { step: self.path(at) }),
            StartVerdict::Block(by) => self.0.emit(Happening::StepBlocked { step: self.path(at), by }),
            StartVerdict::Fail(failure) => self.fail(at, failure, None),
            StartVerdict::Unmet => self.judges().second_round_unfinished(at, None),
        }
    }

    fn frame_to_sweep(&self) -> Option<u32> {
        self.state.steps.queue.ending.iter().copied().find(|ix| self.swept.get(ix) != Some(&self.state.steps.frame(*ix).mood))
    }

    /// Blocks, skips or cancels the remaining steps of a frame in which nothing new starts.
    fn sweep(&mut self, ix: u32) {
        let run = &mut *self.0;
        let frame = run.context.state.steps.frame(ix);
        let mood = frame.mood;
        run.swept.insert(ix, mood);
        let by: StepPath = frame.failure.as_ref().map_or_else(|| "".into(), |f| f.step.clone());
        for node in 0..frame.nodes.len() as u32 {
            let at = NodeRef { frame: ix, node };
            let inner = self.state.steps.node(at);
            let step = inner.path.clone();
            match (mood, inner.status) {
                (_, status) if status.is_final() => {}
                (Mood::Stopping, StepStatus::Pending) => self.emit(Happening::StepBlocked { step, by: by.clone() }),
                (Mood::Skipping, StepStatus::Pending) => self.emit(Happening::StepSkipped { step }),
                (Mood::Cancelling, _) if !inner.work.holds_steps() => {
                    self.stop_calls(at);
                    self.cancelled(at);
                }
                _ => {}
            }
        }
    }

    fn is_stuck(&self) -> bool {
        self.state.start.is_some()
            && self.state.calls.is_empty()
            && self.state.steps.timers.iter().all(|(_, timer)| matches!(timer, Timer::Deadline(_) | Timer::Stage(_) | Timer::Answer(_)))
            && self.woken.is_empty()
    }

    /// Reports that nothing runs and nothing is awaited although the run has not ended: a fault of this program.
    fn report_deadlock(&mut self) {
        let open: Vec<&str> =
            self.state.steps.frames.iter().flatten().flat_map(|f| &f.nodes).filter(|n| !n.status.is_final()).map(|n| &*n.path).collect();
        let message = format!("deadlock: nothing runs, and these steps have not ended: {}", open.join(", "));
        self.emit(Happening::LimitReached { step: "".into(), limit: Limit { bound: Bound::Deadlock, of_called: false }, message });
        while self.state.finished.is_none() {
            if let Some(frame) = self.frame_to_sweep() {
                self.sweep(frame);
            } else if let Some(frame) = self.state.steps.queue.done.first().copied() {
                self.frame_over(frame);
            } else {
                break;
            }
        }
    }
}

impl Run {
    /// Does a step's own work. A panic in it is caught and fails only that step. A panic in the middle of an event, or in work that belongs to no
    /// step, ends the process like a crash: the journal ends before the event, and the run can be resumed from there.
    pub(crate) fn guarded(&mut self, at: Option<NodeRef>, work: impl FnOnce(&mut Run)) {
        let Err(fault) = std::panic::catch_unwind(AssertUnwindSafe(|| work(self))) else { return };
        let Some(at) = at.filter(|_| !self.is_torn) else { std::panic::resume_unwind(fault) };
        if !self.state.steps.node(at).status.is_final() {
            self.fail(at, Failure::new(FailureKind::Internal, "an internal error of flow stopped this step; please report it"), None);
        }
    }

    /// Ends a step as succeeded.
    pub(crate) fn succeed(&mut self, at: NodeRef, mut output: Value, details: Option<Value>) {
        let step = self.path(at);
        let mut details = self.schedule().details(at, details);
        self.rules().hide_in_result(at, &mut output, &mut details);
        self.scheduler().keep(at, &output, &details);
        self.emit(Happening::StepSucceeded { step, output: output.into(), details: details.into() });
    }

    /// Ends a step as failed, for good. A gate whose second round cannot be finished counts as not met.
    pub(crate) fn fail(&mut self, at: NodeRef, failure: Failure, details: Option<Value>) {
        if failure.kind != FailureKind::Quality && self.state.steps.is_second_judging(self.planned_of(at), at) {
            self.scheduler().stop_calls(at);
            return self.judges().second_round_unfinished(at, Some(&failure));
        }
        self.fail_as_it_is(at, failure, details);
    }

    /// Ends a step with this failure, whatever round it is in.
    pub(crate) fn fail_as_it_is(&mut self, at: NodeRef, failure: Failure, details: Option<Value>) {
        self.scheduler().stop_calls(at);
        // The tries of a task can be read however it failed, and so can what the steps of a plan gave.
        let is_task =
            matches!(self.step(at).kind, StepKind::Task(_)) && (self.step(at).for_each.is_none() || self.state.steps.is_element(at));
        let details = match self.dialogues().dialogue(at) {
            Some(own) => Some(self.dialogues().dialogue_details(at, own, Some(&failure))),
            None if is_task => Some(self.tasks().task_details(at)),
            None => self.plans().with_plan_details(at, details),
        };
        let details = details.map(|d| self.schedule().details(at, Some(d)).into());
        self.emit(Happening::StepFailed { step: self.path(at), failure, attempts: self.state.steps.node(at).attempts(), details });
    }
}

impl Schedule<'_> {
    /// Whether one more call may go out in this run.
    fn has_any_permit(&self) -> bool {
        let file = self.own_pipeline().and_then(|own| own.limits.max_parallel);
        let most =
            [file, self.options.limits.max_parallel].into_iter().flatten().min().unwrap_or(MOST_PARALLEL).min(self.options.most_calls);
        self.state.stopping.is_none() && (self.state.calls.len() as u64) < most
    }

    /// Whether a step must wait until it may make a call. In a run that is to end, an answer that has arrived is still handled.
    pub(crate) fn needs_permit(&self, at: NodeRef) -> bool {
        let talk = self.state.steps.node(at).talk();
        let (is_out, has_answer) = talk.map(|talk| (talk.call().is_some(), talk.stage().text().is_some())).unwrap_or_default();
        !(is_out || has_answer && self.state.stopping.is_some() || self.has_permit(at))
    }

    /// Whether a step may make one more call: in this run, in its pipeline, and in the pipelines that called it.
    pub(crate) fn has_permit(&self, at: NodeRef) -> bool {
        let has_place = |(ix, parent): (u32, Option<NodeRef>)| {
            let most = self.planned(ix).pipeline.limits.max_parallel.filter(|_| parent.is_some());
            let is_inside = |node| self.state.steps.chain(node).any(|(inner, _)| inner == ix);
            most.is_none_or(|most| (self.state.calls.values().filter(|call| is_inside(call.node)).count() as u64) < most)
        };
        self.has_any_permit() && self.state.steps.chain(at).all(has_place)
    }

    /// Whether a step exists and has not ended.
    fn is_open(&self, at: NodeRef) -> bool {
        let frame = self.state.steps.frames.get(at.frame as usize).and_then(Option::as_ref);
        frame.is_some_and(|frame| !frame.nodes[at.node as usize].status.is_final())
    }

    fn may_go_on(&self, at: NodeRef, any_permit: bool) -> bool {
        let node = self.state.steps.node(at);
        let has_place = match &self.state.steps.frame(at.frame).kind {
            FrameKind::Items { most, active, .. } => node.retry_at.is_none() || active < most,
            FrameKind::Written(written) => node.retry_at.is_none() || written.active < written.most,
            FrameKind::Block(_) => true,
        };
        let calls = self.step(at).kind.facts().calls_when != CallTime::Never || matches!(node.work, StepWork::Asking(_));
        has_place && (!calls || any_permit && self.has_permit(at))
    }

    fn may_start(&self, at: NodeRef) -> StartVerdict {
        let frame = self.state.steps.frame(at.frame);
        match frame.mood {
            Mood::Going => {}
            Mood::Skipping => return StartVerdict::Skip,
            Mood::Stopping | Mood::Cancelling => {
                return StartVerdict::Block(frame.failure.as_ref().map_or_else(|| "".into(), |f| f.step.clone()));
            }
        }
        let step = self.step(at);
        let block = match frame.kind {
            FrameKind::Block(block) => Some(block),
            FrameKind::Written(_) => Some(BlockIx(0)),
            FrameKind::Items { .. } => None,
        };
        if let Some(block) = block {
            let planned = self.own_plan(at);
            let (mut stands_in, mut held) = (None, None);
            let refused = |by: &StepNode| {
                let gate = planned.refinement.as_ref().filter(|r| r.block == block && planned.step(r.gate).place == at.node as usize);
                if gate.is_some() && self.state.steps.is_second_round(&planned, at) {
                    StartVerdict::Unmet
                } else {
                    StartVerdict::Block(by.path.clone())
                }
            };
            for (above, edge) in planned.block(block).needs(at.node as usize) {
                let needed = &frame.nodes[*above];
                let its_step = &planned.step(needed.step).step;
                if *edge == Edge::Failure {
                    let failed = needed.failure.as_ref().filter(|_| needed.status == StepStatus::Failed);
                    let replaced = failed.and_then(|failure| its_step.stand_in_after(failure.kind));
                    *stands_in.get_or_insert(false) |= replaced.is_some_and(|stand_in| stand_in.value == step.id.value);
                    if replaced.is_none() && !lets_through(needed.status, its_step) {
                        held = Some(needed);
                        if is_refused(&planned, planned.block(block), &frame.nodes, *above) {
                            return refused(needed);
                        }
                    }
                } else if blocks(*edge) && !lets_through(needed.status, its_step) {
                    return refused(needed);
                }
            }
            match (stands_in, held) {
                // What follows a stand-in follows the steps it stands in for, so it is not let go where one of them was blocked.
                (Some(false), Some(needed)) => return refused(needed),
                (Some(false), None) => return StartVerdict::Skip,
                (Some(true) | None, _) => {}
            }
        }
        self.judge_when(at, &step)
    }

    /// Evaluates `when`: once for the step, or for each element if it reads the element.
    fn judge_when(&self, at: NodeRef, step: &Step) -> StartVerdict {
        let Some(when) = &step.when else { return StartVerdict::Start };
        if let Some(for_each) = &step.for_each {
            let name = for_each.name.as_ref().map(|n| n.value.as_str());
            let reads_item = when.reads.iter().any(|r| r.path.first().is_some_and(|p| p == "item" || Some(p.as_str()) == name));
            if reads_item != self.state.steps.is_element(at) {
                return StartVerdict::Start;
            }
        }
        match self.condition(at, when) {
            Ok(true) => StartVerdict::Start,
            Ok(false) => StartVerdict::Skip,
            Err(failure) => StartVerdict::Fail(failure),
        }
    }

    /// The details of every step, and those that its kind adds.
    fn details(&self, at: NodeRef, own: Option<Value>) -> Value {
        // A list without elements ends without a start.
        let node = self.state.steps.node(at);
        let duration_ms = if node.attempt == 0 { 0 } else { self.now.ms.saturating_sub(node.started_ms) };
        let common = CommonDetails { attempts: self.state.steps.node(at).attempts().into(), duration_ms, mocked: None, cached: None };
        joined(common.into_value(), own.unwrap_or_default())
    }
}

/// Whether the status of a needed step lets the next one start.
fn lets_through(status: StepStatus, step: &Step) -> bool {
    match status {
        StepStatus::Succeeded | StepStatus::Skipped => true,
        StepStatus::Failed => step.on_failure == OnFailure::Continue && !step.continues_in_vain(),
        _ => false,
    }
}

/// Whether a failure that nothing stands in for keeps a step from running: its own, or one above it.
fn is_refused(planned: &PipelinePlan, block: &Block, nodes: &[StepNode], place: usize) -> bool {
    let (mut open, mut seen) = (vec![place], BTreeSet::new());
    while let Some(place) = open.pop() {
        let node = &nodes[place];
        let step = &planned.step(node.step).step;
        if !seen.insert(place) || lets_through(node.status, step) {
            continue;
        }
        if node.status != StepStatus::Blocked {
            let is_replaced = node.failure.as_ref().is_some_and(|failure| step.stand_in_after(failure.kind).is_some());
            if !is_replaced {
                return true;
            }
        }
        open.extend(
            block
                .needs(place)
                .iter()
                .filter(|(_, edge)| node.status == StepStatus::Blocked && *edge != Edge::Wait)
                .map(|(above, _)| *above),
        );
    }
    false
}
