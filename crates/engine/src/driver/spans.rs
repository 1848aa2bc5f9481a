//! Spans of `tracing` for observing a process: run > step > call.
//!
//! They contain ids, names of the file, kinds, numbers and times. Data that a run reads, sends or receives may be secret or personal and is never in
//! a span.

use std::collections::HashMap;

use tracing::field::Empty;
use tracing::{Span, info_span};

use super::CallResult;
use crate::event::{Event, Happening, StepPath, StepStatus};
use crate::model::FailureKind;
use crate::port::ModelReply;
use crate::{CallReply, CallRequest, Run};

/// The target by which filters of subscribers know these spans, independent of the path of this module.
const TARGET: &str = "flow";

/// The open spans of a run. Without a subscriber there are none, and nothing is recorded.
pub(super) struct Spans {
    run: Span,
    /// Each with the time at which its step started, in milliseconds.
    steps: HashMap<StepPath, (Span, u64)>,
    /// The step of each call that is about to be sent.
    callers: HashMap<u64, StepPath>,
}

impl Spans {
    /// Opens the span of a run that starts or continues.
    pub(super) fn for_run(run: &Run) -> Spans {
        let span = info_span!(target: TARGET, "run", run = run.id(), pipeline = Empty, status = Empty, ms = Empty);
        // For a run that starts, the first event names the pipeline.
        if let Some(start) = &run.state().start {
            span.record("pipeline", &*start.pipeline);
        }
        Spans { run: span, steps: HashMap::new(), callers: HashMap::new() }
    }

    /// Opens and closes spans according to an event.
    pub(super) fn follow(&mut self, event: &Event) {
        if self.run.is_disabled() {
            return;
        }
        let now = event.at_ms;
        match &event.happening {
            Happening::RunStarted(start) => {
                self.run.record("pipeline", &*start.pipeline);
            }
            Happening::RunFinished(end) => {
                self.run.record("status", end.status.word()).record("ms", now);
            }
            Happening::StepStarted { step, attempt, round, .. } => {
                self.step(step, now).record("attempt", attempt).record("round", round);
            }
            Happening::StepSucceeded { step, .. } => self.end(step, now, StepStatus::Succeeded, None),
            Happening::StepFailed { step, failure, .. } => self.end(step, now, StepStatus::Failed, Some(failure.kind)),
            Happening::StepCancelled { step, .. } => self.end(step, now, StepStatus::Cancelled, None),
            Happening::StepBlocked { step, .. } => self.end(step, now, StepStatus::Blocked, None),
            Happening::ModelCalled { step, call, .. }
            | Happening::ToolCalled { step, call, .. }
            | Happening::ToolsAsked { step, call, .. }
            | Happening::CacheAsked { step, call, .. } => {
                // A resumed step emits no second start event.
                self.step(step, now);
                self.callers.insert(*call, step.clone());
            }
            _ => {}
        }
    }

    /// Opens the span of a call, inside that of its step.
    pub(super) fn call(&mut self, call: u64, request: &CallRequest) -> Span {
        let caller = self.callers.remove(&call);
        let around = caller.as_deref().and_then(|step| self.steps.get(step)).map_or(&self.run, |(span, _)| span);
        info_span!(
            target: TARGET, parent: around, "call", call, kind = kind(request),
            failure = Empty, input_tokens = Empty, output_tokens = Empty
        )
    }

    fn step(&mut self, step: &StepPath, now: u64) -> &Span {
        if !self.steps.contains_key(step) {
            let around = self.around(step);
            let span = info_span!(
                target: TARGET, parent: around, "step", step = &**step,
                attempt = Empty, round = Empty, status = Empty, failure = Empty, ms = Empty
            );
            self.steps.insert(step.clone(), (span, now));
        }
        self.steps.get(step).map_or(&self.run, |(span, _)| span)
    }

    /// The parent of a step's span: the span of the nearest step that holds it, otherwise that of the run.
    fn around(&self, mut path: &str) -> &Span {
        while let Some((outer, _)) = path.rsplit_once(['/', '[']) {
            if let Some((span, _)) = self.steps.get(outer) {
                return span;
            }
            path = outer;
        }
        &self.run
    }

    fn end(&mut self, step: &StepPath, now: u64, status: StepStatus, failure: Option<FailureKind>) {
        if let Some((span, began)) = self.steps.remove(step) {
            span.record("status", status.word()).record("ms", now.saturating_sub(began));
            if let Some(kind) = failure {
                span.record("failure", kind.word());
            }
        }
    }
}

/// Records in the span of a call how it ended.
pub(super) fn answered(span: &Span, answer: &CallResult) {
    match answer {
        Err(failure) => {
            span.record("failure", failure.kind.word());
        }
        Ok(CallReply::Model(ModelReply { failed: Some(failure), .. })) => {
            span.record("failure", failure.kind.word());
        }
        Ok(CallReply::Model(ModelReply { usage: Some(usage), .. })) => {
            span.record("input_tokens", usage.input_tokens).record("output_tokens", usage.output_tokens);
        }
        Ok(_) => {}
    }
}

fn kind(request: &CallRequest) -> &'static str {
    match request {
        CallRequest::Model(_) | CallRequest::Agent(_) | CallRequest::Scripted(_) => "model",
        CallRequest::Recall { .. } => "cache",
        CallRequest::Query(_) => "sql",
        CallRequest::Program(_) => "program",
        CallRequest::Python(_) => "python",
        CallRequest::Read(_) => "read",
        CallRequest::Search(_) => "search",
        CallRequest::Http(_) => "http",
        CallRequest::Tools(_) | CallRequest::Tool(_) | CallRequest::Resource(_) => "mcp",
        CallRequest::Mail(_) => "mail",
        CallRequest::Print(_) => "print",
        CallRequest::Write { .. } | CallRequest::List { .. } | CallRequest::Open { .. } => "file",
        CallRequest::Held { request, .. } => kind(request),
    }
}
