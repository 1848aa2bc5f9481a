//! How events start the tries of steps, end them, and let steps go on.

use std::time::Duration;

use super::apply::step_limits;
use super::talk::TalkStage;
use super::timers::Timer;
use super::{Cached, NodeRef, RunState, StepWork};
use crate::event::{Failure, SharedValue, StepDetails, StepStatus};
use crate::model::SUMMARY_STEP;
use crate::plan::Plan;

impl RunState {
    pub(super) fn step_started(&mut self, plan: &Plan, at: NodeRef, attempt: u32, items: Option<&[SharedValue]>, now: u64) {
        self.steps.not_ready(at);
        self.spent.steps_started += 1;
        let step = self.steps.step(plan, at);
        self.steps.tell_started(at, &step, attempt);
        self.steps.clear_timers(at, attempt == 1);
        let is_list = step.for_each.is_some() && !self.steps.is_element(at);
        if self.steps.node(at).retry_at.is_some() {
            self.steps.tree.take_place_again(at);
        }
        let node = self.steps.tree.node_mut(at);
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
            let (attempt_ends, deadline) = (ends(step.timeout), ends(step_limits(&self.steps.file(plan, at).pipeline, &step).deadline));
            self.steps.start_timers(at, attempt_ends, deadline.filter(|_| attempt == 1));
        }
        if let Some(items) = items {
            self.steps.open_items(plan, at, items);
        }
    }
    /// Continues a step. If it waited for its next try, the time limit of the try starts again.
    pub(super) fn goes_on(&mut self, plan: &Plan, at: NodeRef, now: u64) {
        if let Some(retry_at) = self.steps.tree.node_mut(at).retry_at.take() {
            self.steps.timers.stop(retry_at, Timer::Backoff(at));
            self.steps.tree.take_place_again(at);
            let ends = self.steps.step(plan, at).timeout.map(|time| now + time.as_millis() as u64);
            self.steps.start_timers(at, ends, None);
        }
        let node = self.steps.tree.node_mut(at);
        node.status = StepStatus::Running;
        // A person's approval is valid once.
        self.people.doubts.remove(&node.path);
    }
    pub(super) fn attempt_failed(&mut self, plan: &Plan, at: NodeRef, attempt: u32, failure: &Failure, retry_at: u64) {
        self.drop_inner(at);
        self.people.consent_after_failure(self.steps.node(at));
        self.steps.clear_timers(at, false);
        let node = self.steps.tree.node_mut(at);
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
        self.steps.tree.judge_holders_anew(at);
        self.steps.timers.start(retry_at, Timer::Backoff(at));
        self.steps.free_place(plan, at);
    }
    pub(super) fn step_succeeded(&mut self, plan: &Plan, at: NodeRef, output: &SharedValue, details: &SharedValue) {
        let result = StepDetails::from_value(details);
        self.steps.tree.inherit_from_inside(at);
        let kind = &self.steps.step(plan, at).kind;
        let node = self.steps.tree.node_mut(at);
        // A stored result of a gate comes without an event of the gate itself.
        node.judged = node.judged.or(result.passed());
        self.made.take_output(plan, kind, node.judged, output);
        node.output = Some(output.clone());
        node.details = Some(details.clone());
        node.cached = Cached::default();
        let kept_unmet = node.repeating.is_some() && result.rounds().is_some_and(|(_, met)| !met);
        if *node.path == *SUMMARY_STEP {
            let instance = self.steps.instance_of(at);
            self.steps.tree.instance_mut(instance).cached.conversation = Cached::default();
        }
        self.step_over(plan, at, StepStatus::Succeeded);
        // A step of a plan failed, and the plan counts as a success all the same.
        let failed_inside = self.steps.node(at).planning.as_ref().is_some_and(|planning| planning.failed().next().is_some());
        if failed_inside || kept_unmet {
            self.steps.tree.note_partial(at);
        }
        if result.is_kept() {
            self.note_kept(plan, at, output, result);
        }
        self.steps.note_stop(plan, at);
    }

    /// Notes what counts for the run of an element, or of a step in one, that an earlier run did.
    fn note_kept(&mut self, plan: &Plan, at: NodeRef, output: &SharedValue, details: StepDetails<'_>) {
        if details.passed() == Some(false) {
            let (ending, place) = self.steps.tree.ending_of(at);
            ending.unmet.add(place);
        }
        if details.allowed_failure() {
            self.steps.tree.note_partial(at);
        }
        if details.was_formatted() {
            self.made.mark_made(plan, output);
        }
    }

    pub(super) fn step_cancelled(&mut self, plan: &Plan, at: NodeRef, details: Option<&SharedValue>) {
        if details.is_some() {
            self.steps.tree.node_mut(at).details = details.cloned();
        }
        self.steps.tree.inherit_from_list(at);
        self.step_over(plan, at, StepStatus::Cancelled);
    }
}
