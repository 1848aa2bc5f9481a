//! The spans of one run, made from its events in their order.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{content, names};
use crate::event::{
    Event, FailureKind, Happening, ModelAnswer, Purpose, RunEnd, RunStart, RunStatus, StepPath, StepStatus, TraceContext, Usage, Verdict,
};
use crate::event::{span_id, trace_id};
use crate::journal::{PersonalMask, RunMask, public_value};
use crate::model::step_path;
use crate::port::{Attributes, CallFacts, Measurement, Metric, SpanEvent, SpanParent, SpanRecord};

/// The place in the trace from which a call of a run goes out.
pub fn context_of_call(run: &str, trace: &TraceContext, call: u64) -> TraceContext {
    TraceContext { span_id: id_of_call(run, call), ..trace.clone() }
}

fn id_of_call(run: &str, call: u64) -> String {
    span_id(run, &format!("call {call}"))
}

/// What an event completed.
#[derive(Debug, Default)]
pub struct Completed {
    /// Spans that have ended.
    pub spans: Vec<SpanRecord>,
    /// What was measured.
    pub measured: Vec<Measurement>,
}

/// A span that has not ended.
#[derive(Debug, Clone)]
struct OpenSpan {
    name: String,
    id: String,
    parent: Option<SpanParent>,
    is_client: bool,
    start: DateTime<Utc>,
    attributes: Attributes,
    events: Vec<SpanEvent>,
    /// What is measured when it ends, and with which of its attributes.
    metric: Option<(Metric, &'static [&'static str])>,
}

#[derive(Debug)]
struct StepSpan {
    span: OpenSpan,
    /// What its agent does at the moment, for what, and by whom.
    work: Option<(OpenSpan, &'static str, String)>,
}

#[derive(Debug)]
struct CallSpan {
    span: OpenSpan,
    /// The step whose agent asked for it, and its place among the calls of an answer.
    asked: Option<(StepPath, usize)>,
    /// It is a call of a model.
    is_chat: bool,
}

/// Makes the spans of one run.
#[derive(Debug, Default)]
pub struct RunSpans {
    run: Arc<str>,
    trace: String,
    state: String,
    root: Option<OpenSpan>,
    root_id: String,
    steps: HashMap<StepPath, StepSpan>,
    calls: HashMap<u64, CallSpan>,
    mask: PersonalMask,
    /// The events that come are copies of another run's.
    is_copied: bool,
    /// When the last event happened.
    last: DateTime<Utc>,
    done: Completed,
}

impl RunSpans {
    /// Of a run that may know these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> RunSpans {
        RunSpans { mask: PersonalMask::new(secrets), ..RunSpans::default() }
    }

    /// Takes in events that were taken before, perhaps by another process.
    #[must_use]
    pub fn after(mut self, events: &[Event]) -> RunSpans {
        events.iter().for_each(|event| drop(self.take(event, None, None)));
        self
    }

    /// What the next event completes. `facts`: of the call that the event ends. `content`: the mask of the run, if spans have what was said.
    pub fn take(&mut self, event: &Event, facts: Option<&CallFacts>, content: Option<RunMask<'_>>) -> Completed {
        self.mask.learn(event);
        let was_copied = self.is_copied;
        let masked = content.filter(|_| has_content(&event.happening)).map(|mask| public_value(event, mask, true));
        self.follow(event, facts, masked.as_ref());
        self.last = event.time;
        let done = std::mem::take(&mut self.done);
        if was_copied { Completed::default() } else { done }
    }

    fn follow(&mut self, event: &Event, facts: Option<&CallFacts>, masked: Option<&Value>) {
        let now = event.time;
        match &event.happening {
            Happening::RunStarted(start) => self.run_started(event, start),
            Happening::RunResumed { .. } => self.run_resumed(event),
            Happening::RunFinished(end) => self.run_finished(end, now),
            Happening::StepStarted { step, attempt, round, .. } => {
                let seq = event.seq;
                let span = &mut self.step(step, seq, now).span;
                span.attributes.retain(|(name, _)| !matches!(*name, names::ATTEMPT | names::ROUND));
                span.attributes.extend([(names::ATTEMPT, (*attempt).into()), (names::ROUND, (*round).into())]);
            }
            Happening::AttemptFailed { step, attempt, failure, .. } => {
                self.end_work(step, now, Some(failure.kind.word()));
                let attributes = vec![(names::ATTEMPT, (*attempt).into()), (names::ERROR, failure.kind.word().into())];
                self.note(step, event, SpanEvent { name: names::TRY_FAILED, at: now, attributes });
            }
            Happening::StepSucceeded { step, .. } => self.end_step(step, now, StepStatus::Succeeded, None),
            Happening::StepFailed { step, failure, .. } => self.end_step(step, now, StepStatus::Failed, Some(failure.kind)),
            Happening::StepCancelled { step, .. } => self.end_step(step, now, StepStatus::Cancelled, None),
            Happening::StepBlocked { step, .. } => self.end_step(step, now, StepStatus::Blocked, None),
            Happening::CallOpened { step, asked, pipeline, .. } => self.call_opened(event, step, *asked, pipeline),
            Happening::ModelCalled { .. } => self.model_called(event, masked),
            Happening::ModelReplied { .. } => self.model_replied(event, facts, masked),
            Happening::ToolCalled { .. } => self.tool_called(event, masked),
            Happening::ToolReplied { call, failure, .. } => {
                self.end_call(*call, now, failure.as_ref().map(|failure| failure.kind), |span| {
                    add_request_facts(span, facts);
                    let result = masked.map(|event| &event["result"]).filter(|result| !result.is_null());
                    span.attributes.extend(result.map(|result| (names::TOOL_RESULT, content::value(result).into())));
                })
            }
            // The call has ended; it is made again with the answers.
            Happening::ServerAsked { call, .. } => self.end_call(*call, now, None, |span| add_request_facts(span, facts)),
            Happening::OutcomeUnknown { call, .. } => self.end_call(*call, now, Some(FailureKind::UnknownOutcome), |_| {}),
            Happening::ToolsAsked { step, call, server, .. } => {
                let parent = SpanParent { span_id: self.step(step, event.seq, now).span.id.clone(), is_remote: false };
                let mut span = self.span("", names::LIST_TOOLS, id_of_call(&self.run, *call), Some(parent), now);
                span.is_client = true;
                span.attributes = vec![(names::MCP_METHOD, names::LIST_TOOLS.into()), (names::SERVER, server.as_str().into())];
                self.calls.insert(*call, CallSpan { span, asked: None, is_chat: false });
            }
            Happening::ToolsListed { call, version, absent, .. } => {
                self.end_call(*call, now, absent.as_ref().map(|failure| failure.kind), |span| {
                    span.attributes.extend((!version.is_empty()).then(|| (names::MCP_VERSION, version.as_str().into())));
                });
            }
            Happening::PlanAccepted { step, .. } => self.end_work(step, now, None),
            Happening::PlanRefused { step, .. } => self.end_work(step, now, Some(names::PLAN_REJECTED)),
            Happening::DialogueTurned { step, .. } | Happening::PlanChecked { step, .. } => self.end_work(step, now, None),
            Happening::GatePassed { step, verdicts, .. }
            | Happening::GateFailed { step, verdicts, .. }
            | Happening::TaskJudged { step, verdicts, .. } => {
                self.end_work(step, now, None);
                let why = |place: usize| Some(masked?["verdicts"][place]["feedback"].as_str()?.to_owned());
                for (place, verdict) in verdicts.iter().enumerate().filter(|(_, verdict)| !verdict.skipped) {
                    let attributes = self.evaluation(verdict, why(place));
                    self.note(step, event, SpanEvent { name: names::EVALUATION, at: now, attributes });
                }
            }
            Happening::DialogueJudged { step, agreed, .. } => {
                self.end_work(step, now, None);
                let label = if *agreed { "pass" } else { "fail" };
                let attributes = vec![
                    (names::EVALUATION_NAME, "agreement".into()),
                    (names::EVALUATION_LABEL, label.into()),
                    (names::EVALUATION_VALUE, f64::from(u8::from(*agreed)).into()),
                ];
                self.note(step, event, SpanEvent { name: names::EVALUATION, at: now, attributes });
            }
            Happening::RefinementStarted { step, target, .. } => {
                let attributes = vec![(names::STEP, target.to_string().into())];
                self.note(step, event, SpanEvent { name: names::REFINED, at: now, attributes });
            }
            _ => {}
        }
    }

    fn run_started(&mut self, event: &Event, start: &RunStart) {
        let now = event.time;
        (self.run, self.trace) = (event.run.clone(), trace_id(&event.run, start));
        self.is_copied = start.origin.is_some();
        self.root_id = span_id(&self.run, "run");
        let caller = start.trace.as_ref();
        self.state = caller.map(|caller| caller.state.clone()).unwrap_or_default();
        let parent = caller.map(|caller| SpanParent { span_id: caller.span_id.clone(), is_remote: true });
        let mut root = self.span(names::INVOKE_WORKFLOW, &start.pipeline, self.root_id.clone(), parent, now);
        root.attributes.push((names::WORKFLOW, start.pipeline.as_str().into()));
        root.attributes.push((names::RUN, event.run.to_string().into()));
        root.attributes.extend(start.origin.iter().map(|origin| (names::ORIGIN, origin.run.as_str().into())));
        root.metric = Some((Metric::WorkflowDuration, &[names::WORKFLOW]));
        self.root = Some(root);
    }

    fn run_resumed(&mut self, event: &Event) {
        let now = event.time;
        self.is_copied = false;
        self.lose_calls();
        if self.root.is_none() {
            // A run that a signal ended goes on: what comes is below what was told of it.
            let parent = Some(SpanParent { span_id: span_id(&self.run, "run"), is_remote: false });
            self.root_id = span_id(&self.run, &format!("event {}", event.seq));
            let mut root = self.span(names::INVOKE_WORKFLOW, "", self.root_id.clone(), parent, now);
            root.attributes.push((names::RUN, event.run.to_string().into()));
            self.root = Some(root);
        }
        let resumed = SpanEvent { name: names::RESUMED, at: now, attributes: vec![] };
        self.root.iter_mut().for_each(|root| root.events.push(resumed.clone()));
    }

    fn run_finished(&mut self, end: &RunEnd, now: DateTime<Utc>) {
        self.lose_calls();
        let open: Vec<StepPath> = self.steps.keys().cloned().collect();
        open.iter().for_each(|step| self.end_step(step, now, StepStatus::Cancelled, None));
        if let Some(mut root) = self.root.take() {
            root.attributes.push((names::RUN_STATUS, end.status.word().into()));
            root.attributes.extend(usage(&end.usage));
            let error = match end.status {
                RunStatus::Succeeded | RunStatus::Partial | RunStatus::Cancelled => None,
                RunStatus::Failed => Some(end.failure.as_ref().map_or(end.status.word(), |failure| failure.failure.kind.word())),
                RunStatus::TimedOut | RunStatus::OverBudget | RunStatus::QualityNotMet => Some(end.status.word()),
            };
            self.end(root, now, error);
        }
    }

    fn call_opened(&mut self, event: &Event, step: &StepPath, asked: Option<usize>, pipeline: &str) {
        let now = event.time;
        let by = asked.map(|place| (step.clone(), place));
        match self.calls.values_mut().find(|call| by.is_some() && call.asked == by) {
            Some(call) => call.span.attributes.push((names::WORKFLOW, pipeline.into())),
            None => {
                let span = &mut self.step(step, event.seq, now).span;
                // An older record does not name it.
                span.name = format!("{} {pipeline}", names::INVOKE_WORKFLOW).trim_end().to_owned();
                span.attributes.push((names::OPERATION, names::INVOKE_WORKFLOW.into()));
                span.attributes.push((names::WORKFLOW, pipeline.into()));
                span.metric = Some((Metric::WorkflowDuration, &[names::WORKFLOW]));
            }
        }
    }

    fn model_called(&mut self, event: &Event, masked: Option<&Value>) {
        let now = event.time;
        let Happening::ModelCalled { step, call, agent, model, purpose, attempt, fresh, scripted, .. } = &event.happening else { return };
        let parent = self.work(step, event, names::operation(*purpose), agent, *fresh && *purpose != Purpose::Judge);
        let mut span = self.span(names::CHAT, "", id_of_call(&self.run, *call), Some(parent), now);
        span.is_client = !scripted;
        span.attributes.extend([(names::MODEL, model.as_str().into()), (names::PURPOSE, purpose.word().into())]);
        span.attributes.extend((*attempt > 1).then(|| (names::ATTEMPT, (*attempt).into())));
        span.attributes.extend(masked.map(|event| (names::INPUT_MESSAGES, content::input(event).into())));
        const TOLD: &[&str] =
            &[names::OPERATION, names::PROVIDER, names::REQUEST_MODEL, names::RESPONSE_MODEL, names::SERVER_ADDRESS, names::SERVER_PORT];
        span.metric = Some((Metric::OperationDuration, TOLD));
        self.calls.insert(*call, CallSpan { span, asked: None, is_chat: true });
    }

    fn model_replied(&mut self, event: &Event, facts: Option<&CallFacts>, masked: Option<&Value>) {
        let now = event.time;
        let Happening::ModelReplied { call, reply, usage: used, .. } = &event.happening else { return };
        let Some(CallSpan { mut span, .. }) = self.calls.remove(call) else { return };
        add_request_facts(&mut span, facts);
        let error = match reply {
            ModelAnswer::Said { model, .. } => {
                span.attributes.extend(model.as_deref().map(|model| (names::RESPONSE_MODEL, self.mask.name(model).into())));
                span.attributes.extend(masked.map(|event| (names::OUTPUT_MESSAGES, content::output(event).into())));
                None
            }
            ModelAnswer::Failed(failure) => Some(failure.kind.word()),
        };
        span.attributes.extend(usage(used));
        for (kind, tokens) in [("input", used.input_tokens), ("output", used.output_tokens)].into_iter().filter(|(_, n)| *n > 0) {
            let mut attributes = picked(&span, span.metric.map_or(&[], |(_, told)| told));
            attributes.push((names::TOKEN_TYPE, kind.into()));
            self.done.measured.push(Measurement { metric: Metric::TokenUsage, value: tokens as f64, attributes });
        }
        self.end(span, now, error);
    }

    fn tool_called(&mut self, event: &Event, masked: Option<&Value>) {
        let now = event.time;
        let Happening::ToolCalled { step, call, tool, attempt, asked, .. } = &event.happening else { return };
        let own = self.step(step, event.seq, now);
        let work = own.work.as_ref().filter(|_| asked.is_some());
        let agent = work.map(|(_, _, agent)| agent.clone());
        let parent = SpanParent { span_id: work.map_or(&own.span.id, |(work, ..)| &work.id).clone(), is_remote: false };
        let tool = self.mask.name(tool);
        let mut span = self.span(names::EXECUTE_TOOL, &tool, id_of_call(&self.run, *call), Some(parent), now);
        span.attributes.push((names::TOOL, tool.into()));
        span.attributes.extend(agent.map(|agent| (names::AGENT, agent.into())));
        span.attributes.extend((*attempt > 1).then(|| (names::ATTEMPT, (*attempt).into())));
        span.attributes.extend(masked.map(|event| (names::TOOL_ARGUMENTS, content::value(&event["with"]).into())));
        span.metric = Some((Metric::ToolDuration, &[names::TOOL, names::AGENT]));
        self.calls.insert(*call, CallSpan { span, asked: asked.map(|place| (step.clone(), place)), is_chat: false });
    }

    fn end_call(&mut self, call: u64, now: DateTime<Utc>, failure: Option<FailureKind>, add: impl FnOnce(&mut OpenSpan)) {
        if let Some(CallSpan { mut span, .. }) = self.calls.remove(&call) {
            add(&mut span);
            self.end(span, now, failure.map(FailureKind::word));
        }
    }

    /// A span that begins. `id`: of 16 hexadecimal digits.
    fn span(&self, operation: &'static str, of: &str, id: String, parent: Option<SpanParent>, start: DateTime<Utc>) -> OpenSpan {
        let name = if of.is_empty() || operation.is_empty() { format!("{operation}{of}") } else { format!("{operation} {of}") };
        let attributes = if operation.is_empty() { vec![] } else { vec![(names::OPERATION, operation.into())] };
        OpenSpan { name, id, parent, is_client: false, start, attributes, events: vec![], metric: None }
    }

    /// The open span of a step; a resumed step emits no second start event.
    fn step(&mut self, step: &StepPath, seq: u64, now: DateTime<Utc>) -> &mut StepSpan {
        let open = self.steps.remove(step).unwrap_or_else(|| {
            let id = span_id(&self.run, &format!("event {seq}"));
            // The steps of a written plan have names of a model.
            let path = self.mask.name(step);
            let mut span = self.span("", &format!("step {}", step_path::id(&path)), id, Some(self.around(step)), now);
            span.attributes.push((names::STEP, path.into()));
            StepSpan { span, work: None }
        });
        self.steps.entry(step.clone()).or_insert(open)
    }

    /// The span of what holds a step: of the nearest step that does, in the middle of its agent's work if there is some, or of the run.
    fn around(&self, mut path: &str) -> SpanParent {
        while let Some((outer, inner)) = path.rsplit_once(['/', '[']) {
            // The steps of a pipeline that is a tool are in its call: `agent/tool[3]/step`.
            let call = inner.strip_suffix(']').and_then(|call| self.calls.get(&call.parse().ok()?));
            let call = call.filter(|call| call.asked.as_ref().is_some_and(|(by, _)| step_path::leads_into(outer, by)));
            let span = match (self.steps.get(outer), call) {
                (Some(StepSpan { span, work }), _) => Some(work.as_ref().map_or(span, |(work, ..)| work)),
                (None, call) => call.map(|call| &call.span),
            };
            if let Some(span) = span {
                return SpanParent { span_id: span.id.clone(), is_remote: false };
            }
            path = outer;
        }
        SpanParent { span_id: self.root_id.clone(), is_remote: false }
    }

    /// The work of an agent in a step, which goes on, or begins if it is anew, of another agent, or something else.
    fn work(&mut self, step: &StepPath, event: &Event, operation: &'static str, agent: &str, anew: bool) -> SpanParent {
        let is_same = |(_, doing, by): &(OpenSpan, &'static str, String)| !anew && *doing == operation && by == agent;
        let own = self.step(step, event.seq, event.time);
        let above = own.span.id.clone();
        if !own.work.as_ref().is_some_and(is_same) {
            self.end_work(step, event.time, None);
            let parent = Some(SpanParent { span_id: above, is_remote: false });
            let id = span_id(&self.run, &format!("work {}", event.seq));
            let mut span = self.span(operation, agent, id, parent, event.time);
            span.attributes.push((names::AGENT, agent.into()));
            span.metric = (operation == names::INVOKE_AGENT).then_some((Metric::AgentDuration, &[names::AGENT]));
            self.step(step, event.seq, event.time).work = Some((span, operation, agent.to_owned()));
        }
        let own = self.step(step, event.seq, event.time);
        SpanParent { span_id: own.work.as_ref().map_or(&own.span, |(work, ..)| work).id.clone(), is_remote: false }
    }

    fn end_work(&mut self, step: &StepPath, now: DateTime<Utc>, error: Option<&'static str>) {
        if let Some((work, ..)) = self.steps.get_mut(step).and_then(|own| own.work.take()) {
            self.end(work, now, error);
        }
    }

    fn end_step(&mut self, step: &StepPath, now: DateTime<Utc>, status: StepStatus, failure: Option<FailureKind>) {
        let error = failure.map(FailureKind::word);
        self.end_work(step, now, error);
        if let Some(StepSpan { mut span, .. }) = self.steps.remove(step) {
            span.attributes.push((names::STEP_STATUS, status.word().into()));
            self.end(span, now, error);
        }
    }

    fn note(&mut self, step: &StepPath, event: &Event, what: SpanEvent) {
        self.step(step, event.seq, event.time).span.events.push(what);
    }

    /// Ends the calls that nobody waits for any more.
    fn lose_calls(&mut self) {
        let mut lost: Vec<(u64, CallSpan)> = self.calls.drain().collect();
        lost.sort_by_key(|(call, _)| *call);
        let last = self.last;
        for (_, CallSpan { mut span, is_chat, .. }) in lost {
            if is_chat {
                add_request_facts(&mut span, None);
            }
            self.end(span, last, Some(names::LOST));
        }
    }

    fn end(&mut self, span: OpenSpan, now: DateTime<Utc>, error: Option<&'static str>) {
        let end = now.max(span.start);
        if let Some((metric, told)) = span.metric {
            let value = (end - span.start).as_seconds_f64();
            let mut attributes = picked(&span, told);
            attributes.extend(error.map(|error| (names::ERROR, error.into())));
            self.done.measured.push(Measurement { metric, value, attributes });
        }
        let OpenSpan { name, id, parent, is_client, start, mut attributes, events, metric: _ } = span;
        attributes.extend(error.map(|error| (names::ERROR, error.into())));
        let (trace_id, state) = (self.trace.clone(), self.state.clone());
        self.done.spans.push(SpanRecord { name, is_client, trace_id, span_id: id, parent, state, start, end, attributes, events, error });
    }

    fn evaluation(&self, verdict: &Verdict, why: Option<String>) -> Attributes {
        let label = if verdict.passed { "pass" } else { "fail" };
        let mut attributes = vec![
            (names::EVALUATION_NAME, self.mask.name(&verdict.id).into()),
            (names::EVALUATION_LABEL, label.into()),
            (names::EVALUATION_VALUE, f64::from(u8::from(verdict.passed)).into()),
        ];
        attributes.extend(verdict.scorecard.as_deref().map(|scorecard| (names::SCORECARD, scorecard.into())));
        attributes.extend(why.filter(|why| !why.is_empty()).map(|why| (names::EVALUATION_WHY, why.into())));
        attributes
    }
}

/// Whether spans may have something of what an event says.
fn has_content(happening: &Happening) -> bool {
    matches!(
        happening,
        Happening::ModelCalled { .. }
            | Happening::ModelReplied { .. }
            | Happening::ToolCalled { .. }
            | Happening::ToolReplied { .. }
            | Happening::GatePassed { .. }
            | Happening::GateFailed { .. }
            | Happening::TaskJudged { .. }
    )
}

/// Adds what the request of a call says.
fn add_request_facts(span: &mut OpenSpan, facts: Option<&CallFacts>) {
    let none = CallFacts::default();
    let CallFacts { wire, is_program, model, server, temperature, max_tokens, seed, is_json, mcp_method } = facts.unwrap_or(&none);
    if span.name == names::CHAT {
        span.attributes.push((names::PROVIDER, names::provider(*wire, *is_program).into()));
        if !model.is_empty() {
            span.name = format!("{} {model}", names::CHAT);
            span.attributes.push((names::REQUEST_MODEL, model.as_str().into()));
        }
        span.attributes.extend(is_json.then(|| (names::OUTPUT_TYPE, "json".into())));
    }
    if !server.0.is_empty() {
        span.attributes.extend([(names::SERVER_ADDRESS, server.0.as_str().into()), (names::SERVER_PORT, u32::from(server.1).into())]);
    }
    span.attributes.extend(temperature.map(|temperature| (names::TEMPERATURE, temperature.into())));
    span.attributes.extend(max_tokens.map(|most| (names::MAX_TOKENS, most.into())));
    span.attributes.extend(seed.map(|seed| (names::SEED, seed.into())));
    span.attributes.extend(mcp_method.map(|method| (names::MCP_METHOD, method.into())));
}

fn usage(usage: &Usage) -> Attributes {
    let tokens = [(names::INPUT_TOKENS, usage.input_tokens), (names::OUTPUT_TOKENS, usage.output_tokens)];
    let tokens = tokens.into_iter().filter(|(_, number)| *number > 0).map(|(name, number)| (name, number.into()));
    tokens.chain(usage.cost_usd.map(|cost| (names::COST, cost.into()))).collect()
}

/// The attributes of these names.
fn picked(span: &OpenSpan, names: &[&str]) -> Attributes {
    span.attributes.iter().filter(|(name, _)| names.contains(name)).cloned().collect()
}
