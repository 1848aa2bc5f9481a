//! `apply`, the only way to change the state. It depends on the event and the plan alone: no clock, no randomness, no I/O.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::consents::{ApprovalAnswer, ConsentDecision};
use super::talk::{AskedStage, RequestedCall, TalkStage};
use super::tally::SetAside;
use super::{CacheStage, Cached, Instance, NodeRef, OpenCall, RefinementRound, RunState, StepWork, Timer};
use crate::event::{
    Delivery, Event, Failure, FailureKind, Happening, MailDelivery, ModelAnswer, PlainDelivery, Purpose, SharedValue, StepDetails,
    StepStatus, Usage,
};
use crate::model::{Limits, Pipeline, SUMMARY_STEP, Sample, Step, StepKind, step_path};
use crate::plan::{Edge, Plan};

impl RunState {
    /// Applies one event. An event that was made with another plan is ignored where it names unknown steps.
    pub fn apply(&mut self, plan: &Plan, event: &Event) {
        // `None`: the event names a step or call that does not exist.
        let _: Option<()> = self.change(plan, event);
    }

    fn change(&mut self, plan: &Plan, event: &Event) -> Option<()> {
        self.seq = event.seq;
        self.last_ms = event.at_ms;
        self.kept.take(&event.happening);
        let now = event.at_ms;
        match &event.happening {
            Happening::RunStarted(start) => {
                self.start = Some((**start).clone());
                let (inputs, channel, person) = (start.inputs.clone(), start.channel.clone(), start.person.clone());
                self.open_instance(plan, Instance { inputs, channel, person, ..Instance::default() }, now);
                self.narrow_deadline(start.deadline_ms.map(|ms| now.saturating_add(ms)));
            }
            Happening::StepStarted { step, attempt, items, .. } => {
                self.step_started(plan, self.find(step)?, *attempt, items.as_deref(), now);
            }
            Happening::CallOpened { step, asked, inputs, channel, person, pipeline: _ } => {
                let at = self.find(step)?;
                let (inputs, channel, person) = (inputs.clone(), channel.clone(), person.clone());
                self.call_opened(plan, at, *asked, Instance { parent: Some(at), inputs, channel, person, ..Instance::default() }, now)?;
            }
            Happening::AttemptFailed { step, attempt, failure, retry_at_ms } => {
                self.attempt_failed(plan, self.find(step)?, *attempt, failure, *retry_at_ms);
            }
            Happening::StepPaused { step, until_ms } => {
                let at = self.find(step)?;
                let node = self.node_mut(at);
                node.status = StepStatus::Waiting;
                node.work = StepWork::Paused(*until_ms);
                self.timers.insert((*until_ms, Timer::Pause(at)));
            }
            Happening::StepSucceeded { step, output, details } => {
                let at = self.find(step)?;
                self.inherit_from_inside(at);
                let node = self.node_mut(at);
                // A stored result of a gate comes without an event of the gate itself.
                node.judged = node.judged.or(StepDetails::of(details).passed());
                self.note_made(plan, at, output);
                let node = self.node_mut(at);
                node.output = Some(output.clone());
                node.details = Some(details.clone());
                node.cached = Cached::default();
                let kept_unmet = node.repeating.is_some() && StepDetails::of(details).rounds().is_some_and(|(_, met)| !met);
                if **step == *SUMMARY_STEP {
                    let instance = self.instance_of(at);
                    self.instance_mut(instance).cached.conversation = Cached::default();
                }
                self.step_over(plan, at, StepStatus::Succeeded);
                self.note_failed_inside(at);
                if kept_unmet {
                    self.note_partial(at);
                }
                if StepDetails::of(details).is_kept() {
                    self.note_kept(plan, at, output, StepDetails::of(details));
                }
                self.note_stop(plan, at);
            }
            Happening::StepFailed { step, failure, attempts, details } => {
                self.step_failed(plan, self.find(step)?, failure, *attempts, details.as_ref());
            }
            Happening::StepSkipped { step } => self.step_over(plan, self.find(step)?, StepStatus::Skipped),
            Happening::StepBlocked { step, .. } => self.step_over(plan, self.find(step)?, StepStatus::Blocked),
            Happening::StepCancelled { step, details } => {
                let at = self.find(step)?;
                if details.is_some() {
                    self.node_mut(at).details.clone_from(details);
                }
                self.inherit_from_list(at);
                self.step_over(plan, at, StepStatus::Cancelled);
            }
            Happening::CacheAsked { step, call, key, timeout_at_ms } => {
                let at = self.find(step)?;
                self.open_call(*call, at, now, *timeout_at_ms, SetAside::default());
                let node = self.node_mut(at);
                node.work = StepWork::Call(*call);
                node.cache = CacheStage::Looking(key.clone());
            }
            Happening::CacheMissed { call, .. } => {
                let at = self.close_call(*call)?;
                let node = self.node_mut(at);
                node.work = StepWork::None;
                if let CacheStage::Looking(key) = &mut node.cache {
                    node.cache = CacheStage::Missed(std::mem::take(key));
                }
            }
            Happening::ToolsAsked { step, call, server, timeout_at_ms } => {
                let at = self.find(step)?;
                self.consent_used(step, true, false);
                self.goes_on(plan, at, now);
                self.listings.insert(*call, server.clone());
                self.open_call(*call, at, now, *timeout_at_ms, SetAside::default());
                match &mut self.node_mut(at).work {
                    StepWork::Listing(calls) => drop(calls.insert(*call)),
                    work => *work = StepWork::Listing([*call].into()),
                }
            }
            Happening::ToolsListed { call, server, tools, instructions, unpinned, absent, .. } => {
                let at = self.close_call(*call)?;
                self.node_mut(at).work.ends(*call);
                let instance = self.instance_of(at);
                self.instance_mut(instance).servers.insert(server.clone(), tools.clone());
                self.instance_mut(instance).unpinned.extend(unpinned.iter().map(|part| format!("{server}.{part}")));
                if !instructions.is_empty() {
                    self.instance_mut(instance).instructions.insert(server.clone(), instructions.clone());
                }
                let absent = absent.iter().map(|failure| (server.clone(), failure.message.clone()));
                self.instance_mut(instance).absent.extend(absent);
            }
            Happening::StepsOpened { step, round, unchanged } => self.steps_opened(plan, self.find(step)?, *round, *unchanged)?,
            Happening::CaseChosen { step, case } => self.case_chosen(plan, self.find(step)?, case)?,
            Happening::PlanAccepted { step, round, plan: written } => self.plan_accepted(plan, self.find(step)?, *round, written),
            Happening::PlanRefused { step, round, findings } => self.plan_refused(self.find(step)?, *round, findings),
            Happening::PlanEnded { step, .. } => self.plan_ended(self.find(step)?),
            Happening::PlanChecked { step, fulfilled, progress, .. } => self.plan_checked(plan, self.find(step)?, *fulfilled, progress)?,
            Happening::TableDescribed { .. }
            | Happening::TaskTried { .. }
            | Happening::TaskExecuted { .. }
            | Happening::TaskJudged { .. } => {
                self.task_changed(&event.happening)?;
            }
            Happening::DialogueTurned { .. } | Happening::DialogueJudged { .. } | Happening::DialogueClosed { .. } => {
                self.dialogue_changed(event)?;
            }
            Happening::ModelCalled { .. } => self.model_called(plan, &event.happening, now)?,
            Happening::ModelReplied { call, reply, usage, .. } => {
                if let Some(open) = self.calls.get_mut(call) {
                    open.reserved = match (may_have_cost(reply, usage), usage.cost_usd) {
                        (false, _) => SetAside::default(),
                        (true, Some(_)) => SetAside { usd: 0.0, ..open.reserved },
                        (true, None) => open.reserved,
                    };
                }
                let at = self.close_call(*call)?;
                self.usage.add(usage);
                self.each_around(at, |instance| instance.usage.add(usage));
                let talk = self.talk_mut(at)?;
                talk.usage.add(usage);
                talk.hears(reply, now);
            }
            Happening::AnswerRead { step, .. } => self.talk_mut(self.find(step)?)?.noted = true,
            Happening::ToolCalled { step, call, timeout_at_ms, asked, .. } => {
                let at = self.find(step)?;
                self.consent_used(step, true, self.step(plan, at).kind.facts().sends);
                self.goes_on(plan, at, now);
                self.open_call(*call, at, now, *timeout_at_ms, SetAside::default());
                match (*asked, &mut self.node_mut(at).work) {
                    (Some(place), StepWork::Asking(asking)) => asking.uses(place, *call, now),
                    (_, work) => *work = StepWork::Call(*call),
                }
            }
            Happening::ServerAsked { step, call, asks, asked, .. } => {
                let at = self.close_call(*call)?;
                match (asked, &mut self.node_mut(at).work) {
                    (Some(_), StepWork::Asking(asking)) => asking.loses(*call),
                    (_, work) => work.ends(*call),
                }
                self.server_asks(step, asked.unwrap_or_default(), asks);
            }
            Happening::ToolReplied { step, call, failure, duration_ms, result, pictures, asked, .. } => match asked {
                Some(place) => {
                    if failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Rejected) {
                        self.consent_used(step, false, false);
                    }
                    self.close_call(*call);
                    self.last_call = self.last_call.max(*call);
                    self.server_answered(step, *place);
                    self.asked_over(self.find(step)?, *place, failure.as_ref(), *duration_ms, (result.as_ref(), pictures))?;
                }
                None => {
                    self.server_answered(step, 0);
                    let at = self.close_call(*call)?;
                    self.node_mut(at).work.ends(*call);
                }
            },
            Happening::OutputWritten { step, part, id, accepted, rejected, to: _, text: _ } => {
                let at = self.find(step)?;
                let of_mail = || MailDelivery { accepted: accepted.clone(), rejected: rejected.clone() };
                let part = PlainDelivery { part: *part, id: id.clone(), time: event.time };
                let delivery = Delivery { part, of_mail: (!accepted.is_empty()).then(of_mail) };
                self.node_mut(at).delivered.push(delivery.into_value().into());
            }
            Happening::GatePassed { step, verdicts, .. } => {
                let at = self.find(step)?;
                self.needs_review |= verdicts.iter().any(|verdict| verdict.needs_review);
                self.node_mut(at).judged = Some(true);
            }
            Happening::GateFailed { step, for_good: true, .. } => {
                let at = self.find(step)?;
                self.note_nothing_through(at);
                let (ending, place) = self.ending_of(at);
                ending.unmet.add(place);
            }
            Happening::RefinementStarted { step, original, failed, feedback, .. } => {
                let round = RefinementRound { original: original.clone(), failed: failed.clone(), feedback: feedback.clone() };
                self.refinement_started(plan, self.find(step)?, round);
            }
            Happening::StageStarted { step, stage, failure, .. } => {
                self.stage_started(plan, self.instance_at(step)?, *stage, failure.clone(), now);
            }
            Happening::LimitReached { step, limit, message } => self.limit_reached(step, *limit, message)?,
            Happening::CancelRequested { by, waits_until_ms: None } => self.cancel(*by),
            Happening::CancelRequested { by, waits_until_ms: Some(until) } => self.stop_at(*by, *until),
            Happening::OutcomeUnknown { call, .. } => self.lose_call(*call),
            Happening::GraceEnded => {
                if let Some(by) = self.stop_waiting() {
                    self.cancel(by);
                }
            }
            Happening::RunResumed { away_ms } => self.resumed(*away_ms),
            Happening::ApprovalRequested { step, act, form, .. } => {
                let at = self.find(step)?;
                self.asked.insert(step.clone(), event.seq);
                match form {
                    Some(form) => self.approval_asked(at, form, now),
                    None if !act.is_empty() => self.consent_asked(at, act, now),
                    None => {
                        self.clear_timers(at, true);
                        self.doubts.insert(step.clone(), None);
                        self.node_mut(at).status = StepStatus::Waiting;
                    }
                }
            }
            Happening::ApprovalAnswered { step, approved, output, comment, by, nobody } => {
                // A decision made after a signal ended the run applies to the run that will resume.
                if let Some(before) = &mut self.interrupted {
                    before.apply(plan, event);
                }
                let (fields, comment, by) = (output.clone(), comment.clone(), by.clone());
                let answer = ApprovalAnswer { approved: *approved, fields, comment, by, is_nobody: *nobody };
                if self.approvals.contains_key(step) {
                    return self.approval_answered(step, answer, now);
                }
                if self.consents.contains_key(step) {
                    return self.consent_given(step, answer, now);
                }
                let at = self.find(step).filter(|_| self.doubts.get(step) == Some(&None))?;
                self.doubts.insert(step.clone(), Some(ConsentDecision::new(*approved, output.clone())));
                self.node_mut(at).status = StepStatus::Running;
            }
            Happening::RunFinished(end) => {
                self.finished = Some((**end).clone());
                self.done.clear();
                self.timers.clear();
            }
            Happening::GateFailed { for_good: false, .. }
            | Happening::ResultKept { .. }
            | Happening::ReplyIgnored { .. }
            | Happening::PolicyDecided { .. }
            | Happening::ServerNoted { .. }
            | Happening::RunPaused => {}
        }
        Some(())
    }

    pub(crate) fn find(&self, path: &str) -> Option<NodeRef> {
        self.paths.get(path).copied()
    }

    fn step_started(&mut self, plan: &Plan, at: NodeRef, attempt: u32, items: Option<&[SharedValue]>, now: u64) {
        self.not_ready(at);
        self.steps_started += 1;
        let step = self.step(plan, at);
        self.tell_started(at, &step, attempt);
        self.clear_timers(at, attempt == 1);
        let is_list = step.for_each.is_some() && !self.is_element(at);
        if self.node(at).retry_at.is_some() {
            self.take_place_again(at);
        }
        let node = self.node_mut(at);
        node.status = StepStatus::Running;
        node.attempt = attempt;
        node.retry_at = None;
        node.work = StepWork::None;
        if let Some(planning) = &mut node.planning {
            // Another try plans from scratch; the log and the usage are kept.
            planning.plans.clear();
            planning.findings.clear();
        }
        if attempt == 1 {
            node.started_ms = now;
        }
        if !is_list {
            let ends = |time: Option<Duration>| time.map(|time| now + time.as_millis() as u64);
            let (attempt_ends, deadline) = (ends(step.timeout), ends(step_limits(&self.file(plan, at).pipeline, &step).deadline));
            self.start_timers(at, attempt_ends, deadline.filter(|_| attempt == 1));
        }
        if let Some(items) = items {
            self.open_items(plan, at, items);
        }
    }

    /// Starts the timers of a step's attempt and of the whole step.
    pub(super) fn start_timers(&mut self, at: NodeRef, attempt_ends: Option<u64>, deadline: Option<u64>) {
        let node = self.node_mut(at);
        node.attempt_ends = attempt_ends.or(node.attempt_ends);
        node.deadline = deadline.or(node.deadline);
        self.timers.extend(attempt_ends.map(|end| (end, Timer::Attempt(at))));
        self.timers.extend(deadline.map(|end| (end, Timer::StepDeadline(at))));
    }

    /// Opens the pipeline of a step, or of a tool that its agent called at the place `asked`. `given` is what the pipeline starts with.
    fn call_opened(&mut self, plan: &Plan, at: NodeRef, asked: Option<usize>, given: Instance, now: u64) -> Option<()> {
        let path = self.node(at).path.clone();
        self.doubts.remove(&path);
        self.consent_used(&path, true, false);
        let planned = self.file(plan, at);
        let Some(place) = asked else {
            let pipeline = planned.called(&self.step(plan, at))?;
            let inner = self.open_instance(plan, Instance { pipeline, prefix: format!("{path}/").into(), ..given }, now);
            self.node_mut(at).work = StepWork::Called(inner);
            return Some(());
        };
        let RequestedCall { asked, stage: AskedStage::Out(call), .. } = self.talk(at)?.asked().get(place)? else { return None };
        let (call, pipeline) = (*call, planned.called_tool(&asked.tool)?);
        let prefix = format!("{}/", step_path::element(&step_path::inside(&path, &asked.tool), call)).into();
        self.close_call(call);
        let inner = self.open_instance(plan, Instance { pipeline, prefix, ..given }, now);
        self.talk_mut(at)?.goes_inside(place, inner);
        Some(())
    }

    /// Records the end of a tool call that an agent requested, also of one that was not made.
    fn asked_over(
        &mut self,
        at: NodeRef,
        place: usize,
        failure: Option<&Failure>,
        duration_ms: u64,
        (result, pictures): (Option<&Value>, &[PathBuf]),
    ) -> Option<()> {
        let asked = self.talk(at)?.asked().get(place)?;
        let used = json!({
            "tool": asked.asked.tool,
            "with": asked.asked.arguments,
            "result": result.unwrap_or(&Value::Null),
            "status": if failure.is_none() { "succeeded" } else { "failed" },
            "error": failure.map(|f| format!("{}: {}", f.kind.word(), f.message)),
            "duration_ms": duration_ms,
        });
        let told = match (failure, result) {
            (Some(failure), _) => format!("This did not work ({}): {}", failure.kind.word(), failure.message),
            (None, Some(Value::String(text))) => text.clone(),
            (None, result) => result.unwrap_or(&Value::Null).to_string(),
        };
        if let AskedStage::Inside(inner) = asked.stage {
            self.inherit(at, inner);
            self.drop_instance(inner);
        }
        self.talk_mut(at)?.used(place, used, told, pictures, failure);
        Some(())
    }

    /// Continues a step. If it waited for its next try, the time limit of the try starts again.
    fn goes_on(&mut self, plan: &Plan, at: NodeRef, now: u64) {
        if let Some(retry_at) = self.node_mut(at).retry_at.take() {
            self.timers.remove(&(retry_at, Timer::Backoff(at)));
            self.take_place_again(at);
            let ends = self.step(plan, at).timeout.map(|time| now + time.as_millis() as u64);
            self.start_timers(at, ends, None);
        }
        let node = self.node_mut(at);
        node.status = StepStatus::Running;
        // A person's approval is valid once.
        let path = node.path.clone();
        self.doubts.remove(&path);
    }

    fn attempt_failed(&mut self, plan: &Plan, at: NodeRef, attempt: u32, failure: &Failure, retry_at: u64) {
        self.drop_inner(at);
        self.consent_after_failure(at);
        self.clear_timers(at, false);
        let node = self.node_mut(at);
        node.status = StepStatus::Waiting;
        node.failure = Some(failure.clone());
        node.retry_at = Some(retry_at);
        node.ended_by = None;
        node.judged = None;
        match &mut node.work {
            // The conversation counts the tries of a request. If the step's own time was up, the step continues without a new start event, so its try
            // is counted here.
            StepWork::Asking(asking) => {
                if !matches!(asking.stage(), TalkStage::Failed(_)) {
                    node.attempt = attempt + 1;
                }
                asking.fails();
            }
            work => {
                *work = StepWork::None;
                node.attempt = attempt;
            }
        }
        self.judge_holders_anew(at);
        self.timers.insert((retry_at, Timer::Backoff(at)));
        self.free_place(plan, at);
    }

    fn model_called(&mut self, plan: &Plan, happening: &Happening, now: u64) -> Option<()> {
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
            reserved_usd,
        } = happening
        else {
            return None;
        };
        let at = self.find(step)?;
        if *scripted {
            *self.replies_used.entry(step.to_string()).or_default() += 1;
        }
        self.goes_on(plan, at, now);
        let node = self.node_mut(at);
        if let Some(planning) = &mut node.planning {
            planning.findings.clear();
        }
        if !matches!(node.work, StepWork::Asking(_)) {
            node.work = StepWork::Asking(Box::default());
        }
        let talk = self.talk_mut(at)?;
        talk.sends(*call, *fresh);
        talk.agent.clone_from(agent);
        talk.model.clone_from(model);
        talk.fallbacks = *fallback;
        talk.messages.extend(messages.iter().cloned());
        talk.attempt = *attempt;
        talk.attempts += 1;
        talk.repairs += u32::from(*purpose == Purpose::Repair && *attempt == 1);
        let reserved = SetAside { tokens: *reserved_tokens, usd: *reserved_usd };
        self.open_call(*call, at, now, *timeout_at_ms, reserved);
        self.calls.get_mut(call)?.scripted = *scripted;
        Some(())
    }

    pub(super) fn open_call(&mut self, call: u64, node: NodeRef, now: u64, timeout_at: u64, reserved: SetAside) {
        self.last_call = call;
        self.calls.insert(call, OpenCall { node, started_ms: now, timeout_at, reserved, scripted: false });
        self.timers.insert((timeout_at, Timer::Call(call)));
    }

    pub(super) fn close_call(&mut self, call: u64) -> Option<NodeRef> {
        let open = self.calls.remove(&call)?;
        self.listings.remove(&call);
        self.timers.remove(&(open.timeout_at, Timer::Call(call)));
        self.keep_aside(open.node, &open.reserved);
        Some(open.node)
    }

    /// Keeps the reserved cost of a call that ended without reporting its cost: it may have cost that much.
    fn keep_aside(&mut self, at: NodeRef, reserved: &SetAside) {
        if reserved.is_nothing() {
            return;
        }
        self.each_around(at, |instance| instance.untold.add(reserved));
        if let Some(talk) = self.talk_mut(at) {
            talk.untold.add(reserved);
        }
    }

    /// Applies a change to the pipeline of a step and to all pipelines around it.
    fn each_around(&mut self, at: NodeRef, change: impl Fn(&mut Instance)) {
        let around: Vec<u32> = self.chain(at).map(|(ix, _)| ix).collect();
        around.into_iter().for_each(|ix| change(self.instance_mut(ix)));
    }

    /// Sets an earlier deadline for the whole run.
    fn narrow_deadline(&mut self, ends: Option<u64>) {
        let Some(ends) = ends.filter(|ends| self.instance(0).deadline.is_none_or(|own| *ends < own)) else { return };
        let own = self.instance_mut(0).deadline.replace(ends);
        self.stop_timer(own, Timer::Deadline(0));
        self.timers.insert((ends, Timer::Deadline(0)));
    }

    /// Loses the calls that were open, and lets waits end by the wall clock. A run that a signal ended returns to its state before that; what its
    /// `finally` spent stays counted.
    fn resumed(&mut self, away_ms: u64) {
        let mut untold = None;
        if let Some(before) = self.interrupted.take() {
            let ended = std::mem::replace(self, *before);
            self.usage = ended.usage;
            if let (Some(Some(own)), Some(Some(spent))) = (self.instances.first_mut(), ended.instances.first()) {
                own.usage = spent.usage;
                untold = Some(spent.untold);
            }
            (self.seq, self.last_ms, self.last_call) = (ended.seq, ended.last_ms, ended.last_call);
            (self.steps_started, self.pipelines_begun) = (ended.steps_started, ended.pipelines_begun);
        }
        self.stop_waiting();
        let lost: Vec<u64> = self.calls.keys().copied().collect();
        lost.into_iter().for_each(|call| self.lose_call(call));
        // The calls that the signal ended were counted at that time.
        if let (Some(untold), Some(Some(own))) = (untold, self.instances.first_mut()) {
            own.untold = untold;
        }
        let waits: Vec<(u64, Timer)> = self.timers.iter().filter(|(_, timer)| matches!(timer, Timer::Pause(_))).copied().collect();
        for (until, timer) in waits {
            let Timer::Pause(at) = timer else { continue };
            let until_now = until.saturating_sub(away_ms);
            self.timers.remove(&(until, timer));
            self.timers.insert((until_now, timer));
            self.node_mut(at).work = StepWork::Paused(until_now);
        }
        self.answers_end_earlier(away_ms);
    }
}

/// Time for all attempts of a step: the shortest of its `deadline` and those of the agents that do its work.
pub(crate) fn step_limits(pipeline: &Pipeline, step: &Step) -> Limits {
    // In a dialogue each agent has the time of its turn.
    let is_dialogue = matches!(step.kind, StepKind::Dialogue(_));
    let agents = if is_dialogue { vec![] } else { step.kind.agents(pipeline) };
    let of_agents = agents.into_iter().filter_map(|name| Some(pipeline.bounds_of(pipeline.agents.get(&name.value)?)));
    of_agents.fold(Limits { deadline: step.deadline, ..Limits::default() }, |all, own| all.within(&own))
}

/// Whether a call without reported usage may have cost something: it reached the model, but the answer was lost or unusable.
fn may_have_cost(reply: &ModelAnswer, usage: &Usage) -> bool {
    use FailureKind::*;
    match reply {
        ModelAnswer::Failed(failure) if usage.total_tokens() == 0 => {
            matches!(failure.kind, Timeout | BadResponse | TooLarge | WrongType | Truncated | Refused)
        }
        ModelAnswer::Failed(_) | ModelAnswer::Said { .. } => usage.unknown_tokens > 0,
    }
}

/// Whether a failure blocks the step at the other end of an edge; `Wait` only orders.
pub(crate) fn blocks(edge: Edge) -> bool {
    matches!(edge, Edge::Need | Edge::Above)
}
