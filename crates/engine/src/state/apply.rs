//! `apply`, the only way to change the state. It depends on the event and the plan alone: no clock, no randomness, no I/O.

use super::consents::ApprovalAnswer;
use super::tally::Spending;
use super::timers::Timer;
use super::{Instance, RefinementRound, RunState, StepWork};
use crate::event::{Event, Happening, PlainDelivery, RunEnd, RunStart, StepStatus};
use crate::model::{Limits, Pipeline, Step, StepKind};
use crate::plan::{Edge, Plan};

impl RunState {
    /// Applies one event. An event that was made with another plan is ignored where it names unknown steps.
    pub fn apply(&mut self, plan: &Plan, event: &Event) {
        self.seq = event.seq;
        self.last_ms = event.at_ms;
        self.kept.take(&event.happening);
        // `None`: the event names a step or call that does not exist.
        let _: Option<()> = self.change(plan, event);
    }

    /// Hands an event to the part of the state that it changes.
    fn change(&mut self, plan: &Plan, event: &Event) -> Option<()> {
        let now = event.at_ms;
        let at = event.happening.step().and_then(|step| self.steps.find(step));
        if let (Some(_), Happening::GatePassed { verdicts, .. } | Happening::TaskJudged { verdicts, .. }) = (at, &event.happening) {
            self.needs_review |= verdicts.iter().any(|verdict| verdict.needs_review);
        }
        match &event.happening {
            Happening::RunStarted(start) => self.run_started(plan, start, now),
            Happening::StepStarted { attempt, items, .. } => self.step_started(plan, at?, *attempt, items.as_deref(), now),
            Happening::CallOpened { asked, inputs, channel, person, .. } => {
                let (inputs, channel, person) = (inputs.clone(), channel.clone(), person.clone());
                self.call_opened(plan, at?, *asked, Instance { parent: at, inputs, channel, person, ..Instance::default() }, now)?;
            }
            Happening::AttemptFailed { attempt, failure, retry_at_ms, .. } => {
                self.attempt_failed(plan, at?, *attempt, failure, *retry_at_ms);
            }
            Happening::StepPaused { until_ms, .. } => self.steps.paused(at?, *until_ms),
            Happening::StepSucceeded { output, details, .. } => self.step_succeeded(plan, at?, output, details),
            Happening::StepFailed { failure, attempts, details, .. } => {
                self.step_failed(plan, at?, failure, *attempts, details.as_ref());
            }
            Happening::StepSkipped { .. } => self.step_over(plan, at?, StepStatus::Skipped),
            Happening::StepBlocked { .. } => self.step_over(plan, at?, StepStatus::Blocked),
            Happening::StepCancelled { details, .. } => self.step_cancelled(plan, at?, details.as_ref()),
            Happening::CacheAsked { .. }
            | Happening::CacheMissed { .. }
            | Happening::ModelCalled { .. }
            | Happening::ModelReplied { .. }
            | Happening::ToolCalled { .. }
            | Happening::ToolReplied { .. }
            | Happening::ToolsAsked { .. }
            | Happening::ToolsListed { .. }
            | Happening::ServerAsked { .. }
            | Happening::OutcomeUnknown { .. } => self.call_changed(plan, event, at)?,
            Happening::StepsOpened { round, unchanged, .. } => self.steps_opened(plan, at?, *round, *unchanged)?,
            Happening::CaseChosen { case, .. } => self.steps.case_chosen(plan, at?, case)?,
            Happening::PlanAccepted { round, plan: written, .. } => self.steps.plan_accepted(plan, at?, *round, written),
            Happening::PlanRefused { round, findings, .. } => self.steps.plan_refused(at?, *round, findings),
            Happening::PlanEnded { .. } => self.plan_ended(at?),
            Happening::PlanChecked { fulfilled, progress, .. } => self.steps.plan_checked(plan, at?, *fulfilled, progress)?,
            Happening::TableDescribed { .. }
            | Happening::TaskTried { .. }
            | Happening::TaskExecuted { .. }
            | Happening::TaskJudged { .. } => self.steps.tree.node_mut(at?).task_changed(&event.happening)?,
            Happening::DialogueTurned { .. } | Happening::DialogueJudged { .. } | Happening::DialogueClosed { .. } => {
                self.steps.tree.node_mut(at?).dialogue_changed(event);
            }
            Happening::AnswerRead { .. } => self.steps.tree.talk_mut(at?)?.noted = true,
            Happening::OutputWritten { part, id, accepted, rejected, .. } => {
                self.steps.tree.node_mut(at?).wrote(PlainDelivery { part: *part, id: id.clone(), time: event.time }, accepted, rejected);
            }
            Happening::GatePassed { .. } => self.steps.tree.node_mut(at?).judged = Some(true),
            Happening::GateFailed { for_good, .. } => self.steps.tree.gate_failed(at?, *for_good),
            Happening::RefinementStarted { original, failed, feedback, .. } => {
                let round = RefinementRound { original: original.clone(), failed: failed.clone(), feedback: feedback.clone() };
                self.steps.refinement_started(plan, at?, round);
            }
            Happening::StageStarted { step, stage, failure, .. } => {
                self.steps.stage_started(plan, self.steps.instance_at(step)?, *stage, failure.clone(), now);
            }
            Happening::LimitReached { step, limit, message } => self.steps.limit_reached(step, *limit, message)?,
            Happening::CancelRequested { by, waits_until_ms } => self.cancel_requested(*by, *waits_until_ms),
            Happening::GraceEnded => self.stop_waiting().into_iter().for_each(|by| self.cancel(by)),
            Happening::RunResumed { away_ms } => self.resumed(*away_ms),
            Happening::ApprovalRequested { act, form, .. } => {
                self.people.ask(&mut self.steps, at?, event.seq, act, form.as_deref(), now);
            }
            Happening::ApprovalAnswered { .. } => self.answered(plan, event)?,
            Happening::RunFinished(end) => self.run_finished(end),
            Happening::ResultKept { .. }
            | Happening::ReplyIgnored { .. }
            | Happening::PolicyDecided { .. }
            | Happening::ServerNoted { .. }
            | Happening::RunPaused => {}
        }
        Some(())
    }

    fn run_started(&mut self, plan: &Plan, start: &RunStart, now: u64) {
        self.start = Some(start.clone());
        let (inputs, channel, person) = (start.inputs.clone(), start.channel.clone(), start.person.clone());
        self.open_instance(plan, Instance { inputs, channel, person, ..Instance::default() }, now);
        self.steps.narrow_deadline(start.deadline_ms.map(|ms| now.saturating_add(ms)));
    }

    fn run_finished(&mut self, end: &RunEnd) {
        self.finished = Some(end.clone());
        self.steps.queue.done.clear();
        self.steps.timers.clear();
    }

    /// A person answered. A decision made after a signal ended the run applies to the run that will resume.
    fn answered(&mut self, plan: &Plan, event: &Event) -> Option<()> {
        let Happening::ApprovalAnswered { step, approved, output, comment, by, nobody } = &event.happening else { return None };
        if let Some(before) = &mut self.interrupted {
            before.apply(plan, event);
        }
        let (fields, comment, by) = (output.clone(), comment.clone(), by.clone());
        let answer = ApprovalAnswer { approved: *approved, fields, comment, by, is_nobody: *nobody };
        self.people.answer(&mut self.steps, step, answer, event.at_ms)
    }

    /// Loses the calls that were open, and lets waits end by the wall clock. A run that a signal ended returns to its state before that; what its
    /// `finally` spent stays counted.
    fn resumed(&mut self, away_ms: u64) {
        let mut untold = None;
        if let Some(before) = self.interrupted.take() {
            let ended = std::mem::replace(self, *before);
            if let (Some(Some(own)), Some(Some(spent))) = (self.steps.tree.instances.first_mut(), ended.steps.instances.first()) {
                own.usage = spent.usage;
                untold = Some(spent.untold);
            }
            (self.seq, self.last_ms) = (ended.seq, ended.last_ms);
            self.calls.count_to(ended.calls.last());
            self.spent = Spending { replies_used: std::mem::take(&mut self.spent.replies_used), ..ended.spent };
        }
        self.stop_waiting();
        let lost: Vec<u64> = self.calls.keys().copied().collect();
        lost.into_iter().for_each(|call| self.lose_call(call));
        // The calls that the signal ended were counted at that time.
        if let (Some(untold), Some(Some(own))) = (untold, self.steps.tree.instances.first_mut()) {
            own.untold = untold;
        }
        let waits: Vec<(u64, Timer)> = self.steps.timers.iter().filter(|(_, timer)| matches!(timer, Timer::Pause(_))).copied().collect();
        for (until, timer) in waits {
            let Timer::Pause(at) = timer else { continue };
            let until_now = until.saturating_sub(away_ms);
            self.steps.timers.stop(until, timer);
            self.steps.timers.start(until_now, timer);
            self.steps.tree.node_mut(at).work = StepWork::Paused(until_now);
        }
        self.people.answers_end_earlier(&mut self.steps, away_ms);
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

/// Whether a failure blocks the step at the other end of an edge; `Wait` only orders.
pub(crate) fn blocks(edge: Edge) -> bool {
    matches!(edge, Edge::Need | Edge::Above)
}
