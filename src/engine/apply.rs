//! `apply`: the only way state changes. No clock, no chance, no outside: the event and the plan say everything.

use std::sync::Arc;

use serde_json::json;

use super::state::{Asking, CachedValue, Mood, Node, NodeRef, OpenCall, RefinementRound, State, Timer, Work};
use crate::event::{Answer, Event, Failure, Happening, Note, Opens, Purpose, StepPath, StepStatus};
use crate::model::{PipelineId, StepKind};
use crate::plan::{Edge, Plan, StepIx};

impl State {
    /// Takes one event in. Events of another plan than the one the run was made with are ignored where they name unknown steps.
    pub fn apply(&mut self, plan: &Plan, event: &Event) {
        self.seq = event.seq;
        let now = event.at_ms;
        match &event.happening {
            Happening::RunStarted(start) => {
                self.start = Some((**start).clone());
                self.open_instance(plan, PipelineId(0), None, "".into(), &start.inputs, start.channel.clone(), &start.person, now);
            }
            Happening::StepStarted { step, attempt, opens, .. } => self.step_started(plan, step, *attempt, opens.as_ref(), now),
            Happening::AttemptFailed { step, attempt, failure, retry_at_ms } => {
                self.attempt_failed(plan, step, *attempt, failure, *retry_at_ms);
            }
            Happening::StepPaused { step, until_ms } => {
                let Some(at) = self.find(step) else { return };
                let node = self.node_mut(at);
                node.status = StepStatus::Waiting;
                node.work = Work::Paused(*until_ms);
                self.timers.insert((*until_ms, Timer::Pause(at)));
            }
            Happening::StepSucceeded { step, output, details } => {
                let Some(at) = self.find(step) else { return };
                self.inherit_from_call(at);
                let node = self.node_mut(at);
                node.output = Some(output.clone());
                node.details = Some(details.clone());
                node.cached = CachedValue::default();
                self.step_over(plan, at, StepStatus::Succeeded);
                self.note_stop(plan, at);
            }
            Happening::StepFailed { step, failure, attempts, details } => {
                self.step_failed(plan, step, failure, *attempts, details.as_ref())
            }
            Happening::StepSkipped { step } => self.over(plan, step, StepStatus::Skipped),
            Happening::StepBlocked { step, .. } => self.over(plan, step, StepStatus::Blocked),
            Happening::StepCancelled { step } => self.over(plan, step, StepStatus::Cancelled),
            Happening::CaseChosen { step, case } => self.case_chosen(plan, step, case),
            Happening::ModelCalled { .. } => self.model_called(&event.happening, now),
            Happening::ModelReplied { call, reply, usage, .. } => {
                let Some(at) = self.close_call(*call) else { return };
                self.usage.add(usage);
                if let Work::Asking(asking) = &mut self.node_mut(at).work {
                    asking.call = None;
                    asking.usage.add(usage);
                    if let Answer::Said { text, model, .. } = reply {
                        asking.messages.push(Note { role: "assistant".into(), text: text.clone(), call_id: None });
                        asking.answered_by = model.clone();
                    }
                    asking.last = Some(reply.clone());
                }
            }
            Happening::ToolCalled { step, call, timeout_at_ms, .. } => {
                let Some(at) = self.find(step) else { return };
                self.open_call(*call, at, now, *timeout_at_ms, 0);
                self.node_mut(at).work = Work::Call(*call);
            }
            Happening::ToolReplied { call, .. } => {
                if let Some(at) = self.close_call(*call) {
                    self.node_mut(at).work = Work::None;
                }
            }
            Happening::OutputWritten { step, part, id, .. } => {
                let Some(at) = self.find(step) else { return };
                let delivered = json!({ "part": part, "id": id, "time": event.time });
                self.node_mut(at).delivered.push(Arc::new(delivered));
            }
            Happening::GatePassed { .. } | Happening::ReplyIgnored { .. } => {}
            Happening::GateFailed { step, for_good, .. } => {
                let Some(at) = self.find(step) else { return };
                if *for_good {
                    let instance = self.instance_of(at);
                    self.instance_mut(instance).ending.quality_not_met = true;
                }
            }
            Happening::RefinementStarted { step, original, failed, feedback, .. } => {
                let Some(at) = self.find(step) else { return };
                let round = RefinementRound { original: original.clone(), failed: failed.clone(), feedback: feedback.clone() };
                self.refinement_started(plan, at, round);
            }
            Happening::StageStarted { step, stage, failure, .. } => self.stage_started(plan, step, *stage, failure.clone(), now),
            Happening::LimitReached { step, limit, message } => self.limit_reached(step, limit, message),
            Happening::CancelRequested { .. } => {
                if let Some(Some(instance)) = self.instances.first_mut() {
                    instance.ending.is_cancelled = true;
                    let frame = instance.frame;
                    self.set_mood(frame, Mood::Cancelling);
                }
            }
            Happening::RunFinished(end) => {
                self.finished = Some((**end).clone());
                self.done.clear();
                self.timers.clear();
            }
        }
    }

    pub(super) fn find(&self, path: &str) -> Option<NodeRef> {
        self.paths.get(path).copied()
    }

    fn step_started(&mut self, plan: &Plan, path: &str, attempt: u32, opens: Option<&Opens>, now: u64) {
        let Some(at) = self.find(path) else { return };
        self.not_ready(at);
        self.steps_started += 1;
        let instance_ix = self.instance_of(at);
        let pipeline = self.instance(instance_ix).pipeline;
        let step = plan.pipeline(pipeline).step(self.node(at).step).step.clone();
        self.clear_timers(at, attempt == 1);
        let is_list = step.for_each.is_some() && !self.is_element(at);
        if self.node(at).retry_at.is_some() {
            self.take_place_again(at);
        }
        let node = self.node_mut(at);
        node.status = StepStatus::Running;
        node.attempt = attempt;
        node.retry_at = None;
        node.work = Work::None;
        if attempt == 1 {
            node.started_ms = now;
        }
        let mut timers = vec![];
        if !is_list {
            if let Some(timeout) = step.timeout {
                let end = now + timeout.as_millis() as u64;
                node.attempt_ends = Some(end);
                timers.push((end, Timer::Attempt(at)));
            }
            if let (Some(deadline), 1) = (step.deadline, attempt) {
                let end = now + deadline.as_millis() as u64;
                node.deadline = Some(end);
                timers.push((end, Timer::StepDeadline(at)));
            }
        }
        self.timers.extend(timers);
        match opens {
            None => {}
            Some(Opens::Items(items)) => self.open_items(plan, at, pipeline, items),
            Some(Opens::Call { inputs, channel }) => {
                let Some(called) = plan.pipeline(pipeline).called(&step) else { return };
                let prefix = Arc::from(format!("{}/", self.node(at).path));
                let person = self.instance(instance_ix).person.clone();
                let inner = self.open_instance(plan, called, Some(at), prefix, inputs, channel.clone(), &person, now);
                self.node_mut(at).work = Work::Called(inner);
            }
        }
    }

    fn attempt_failed(&mut self, plan: &Plan, path: &str, attempt: u32, failure: &Failure, retry_at: u64) {
        let Some(at) = self.find(path) else { return };
        self.drop_inner(at);
        self.clear_timers(at, false);
        let node = self.node_mut(at);
        node.status = StepStatus::Waiting;
        node.attempt = attempt;
        node.failure = Some(failure.clone());
        node.retry_at = Some(retry_at);
        node.ended_by = None;
        match &mut node.work {
            Work::Asking(asking) => asking.last = None,
            work => *work = Work::None,
        }
        self.timers.insert((retry_at, Timer::Backoff(at)));
        if self.is_element(at) {
            self.free_place(plan, at);
        }
    }

    fn model_called(&mut self, happening: &Happening, now: u64) {
        let Happening::ModelCalled {
            step,
            call,
            agent,
            model,
            purpose,
            attempt,
            fresh,
            fallback,
            timeout_at_ms,
            messages,
            scripted,
            reserved_tokens,
        } = happening
        else {
            return;
        };
        let Some(at) = self.find(step) else { return };
        if *scripted {
            *self.replies_used.entry(step.to_string()).or_default() += 1;
        }
        let was_waiting = self.node(at).retry_at.is_some();
        if let Some(retry_at) = self.node_mut(at).retry_at.take() {
            self.timers.remove(&(retry_at, Timer::Backoff(at)));
        }
        if was_waiting {
            self.take_place_again(at);
        }
        let node = self.node_mut(at);
        node.status = StepStatus::Running;
        if !matches!(node.work, Work::Asking(_)) {
            node.work = Work::Asking(Box::default());
        }
        if let Work::Asking(asking) = &mut node.work {
            if *fresh && !asking.messages.is_empty() {
                let heard = std::mem::take(&mut asking.heard);
                let last = asking.last.take();
                **asking = Asking { heard, usage: asking.usage, attempts: asking.attempts, ..Asking::default() };
                asking.heard.push(last);
            }
            asking.agent.clone_from(agent);
            asking.model.clone_from(model);
            asking.fallbacks = *fallback;
            asking.messages.extend(messages.iter().cloned());
            asking.call = Some(*call);
            asking.attempt = *attempt;
            asking.attempts += 1;
            asking.last = None;
            if *purpose == Purpose::Repair && *attempt == 1 {
                asking.repairs += 1;
            }
        }
        self.open_call(*call, at, now, *timeout_at_ms, *reserved_tokens);
    }

    pub(super) fn open_call(&mut self, call: u64, node: NodeRef, now: u64, timeout_at: u64, reserved_tokens: u64) {
        self.last_call = call;
        self.calls.insert(call, OpenCall { node, started_ms: now, timeout_at, reserved_tokens });
        self.timers.insert((timeout_at, Timer::Call(call)));
    }

    pub(super) fn close_call(&mut self, call: u64) -> Option<NodeRef> {
        let open = self.calls.remove(&call)?;
        self.timers.remove(&(open.timeout_at, Timer::Call(call)));
        Some(open.node)
    }

    fn over(&mut self, plan: &Plan, path: &str, status: StepStatus) {
        if let Some(at) = self.find(path) {
            self.step_over(plan, at, status);
        }
    }
}

/// Whether a step of this kind calls something as soon as it starts, and so needs a permit.
pub(super) fn calls_at_once(kind: &StepKind) -> bool {
    matches!(kind, StepKind::Agent(_) | StepKind::Tool(_) | StepKind::Http(_) | StepKind::Sql(_) | StepKind::Read(_) | StepKind::Send(_))
}

impl Node {
    pub(super) fn new(step: StepIx, path: StepPath, waits_for: u32, priority: u32) -> Node {
        Node {
            step,
            path,
            status: StepStatus::Pending,
            round: 1,
            attempt: 0,
            waits_for,
            priority,
            output: None,
            error: None,
            failure: None,
            details: None,
            item: None,
            delivered: vec![],
            started_ms: 0,
            retry_at: None,
            attempt_ends: None,
            deadline: None,
            ended_by: None,
            work: Work::None,
            cached: CachedValue::default(),
        }
    }
}

/// Whether an edge lets failures through: `Wait` only orders.
pub(super) fn blocks(edge: Edge) -> bool {
    matches!(edge, Edge::Need | Edge::Above)
}
