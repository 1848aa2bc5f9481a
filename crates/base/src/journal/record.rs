//! The record of a run: phases, agent calls and gate failures, derived from its events.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::agents::{AgentRecord, AgentsAtWork};
use super::asked::{AnswerRecord, AskedQuestions, QuestionRecord};
use super::batches::{BatchRecord, BatchesSoFar};
use super::course::{CallsByNumber, ConversationRecord, SentRecord, ToolCallRecord, TryRecord, delivered, tried, tried_step};
use super::dialogues::{self, DialogueRecord};
use super::failures::{FailedGates, FailureRecord};
use super::rejected::RejectedKey;
use super::tasks::{self, TaskRecord};
use crate::event::{
    Canceller, Event, FailureKind, Happening, Message, ModelAnswer, RunEnd, RunOrigin, RunStart, RunStatus, StepDetails, StepPath,
    StyleUsed, Usage, Verdict,
};
use crate::model::{ActKind, WrittenPlan, step_path};

/// The record of a run for people and auditors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Record {
    pub run: String,
    pub pipeline: String,
    /// Hash of its definition.
    pub hash: String,
    /// The inputs.
    pub inputs: Value,
    pub channel: Option<String>,
    /// The run whose finished steps this run reuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    /// The person it was for; null: nobody.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub person: Value,
    /// The conversation that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style_guide: Option<StyleUsed>,
    /// When it began.
    pub started: DateTime<Utc>,
    /// When it ended.
    pub ended: Option<DateTime<Utc>>,
    /// How it ended.
    pub status: Option<RunStatus>,
    /// Whether models were scripted.
    pub scripted: bool,
    /// Phases, in the order they began.
    pub phases: Vec<Phase>,
    /// Each step's last status, output and details.
    pub steps: Vec<StepRecord>,
    /// How the elements of its `for_each` steps ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<BatchRecord>,
    /// One entry per call of an agent.
    pub interactions: Vec<Interaction>,
    /// The agents whose models were called, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentRecord>,
    /// One entry per external call that is not a model call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallRecord>,
    /// One entry per decision of a policy: the act, the agent and the rule that allowed or blocked it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionRecord>,
    /// Questions that a person must answer before the run can continue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionRecord>,
    /// Answers of people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerRecord>,
    /// Plans that agents wrote and that were run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanRecord>,
    /// Tasks with their tries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskRecord>,
    /// Dialogues with their turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialogues: Vec<DialogueRecord>,
    /// One entry per gate that did not pass its first text.
    pub failures: Vec<FailureRecord>,
    /// Criteria that passed only because their judge could not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_review: Vec<ReviewRecord>,
    /// Keys that model endpoints rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected_keys: Vec<RejectedKey>,
    /// Delivered parts, by step and receiver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<SentRecord>,
    pub outputs: Value,
    /// Why it did not succeed.
    pub failure: Option<Value>,
    pub usage: Usage,
}

impl Record {
    /// Returns the first text among its inputs.
    pub fn question(&self) -> Option<&str> {
        self.inputs.as_object()?.values().filter_map(Value::as_str).find(|text| !text.trim().is_empty())
    }

    /// Whether models were called and every call was rejected because of its key.
    pub fn has_no_valid_key(&self) -> bool {
        let rejected: usize = self.rejected_keys.iter().map(|key| key.calls).sum();
        rejected > 0 && rejected == self.interactions.len()
    }

    /// Returns the time from start to end; `None`: it has not ended.
    pub fn duration_ms(&self) -> Option<u64> {
        u64::try_from((self.ended? - self.started).num_milliseconds()).ok()
    }
}

/// A phase: `created`, the steps' own, `refining`, and `completed` or `failed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// When it began.
    pub time: DateTime<Utc>,
    /// The step it came from; empty: the run.
    pub step: String,
}

/// The last known state of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StepRecord {
    pub step: String,
    pub status: String,
    pub output: Value,
    pub details: Value,
    /// Why it failed.
    pub error: Option<Value>,
    /// Its attempts, in both rounds of a refinement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<TryRecord>,
}

impl StepRecord {
    /// Returns a typed view of its details.
    pub fn details(&self) -> StepDetails<'_> {
        StepDetails::from_value(&self.details)
    }
}

/// One call of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Interaction {
    pub agent: String,
    /// The purpose of the call (`turn`, `repair` or `judge`) and the step.
    pub action: String,
    /// The messages that were sent.
    pub input: Value,
    /// The answer.
    pub output: Value,
    pub duration_ms: u64,
    /// Whether the call succeeded.
    pub success: bool,
    /// Why it failed.
    pub error: Option<String>,
    pub model: String,
    /// When it was called.
    pub time: DateTime<Utc>,
    pub usage: Usage,
    /// Parts of the answer that were not read literally.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<String>,
}

impl Interaction {
    /// One that has no answer yet.
    fn begun(agent: &str, action: String, model: &str, messages: &[Arc<Message>], time: DateTime<Utc>) -> Interaction {
        Interaction {
            agent: agent.to_owned(),
            action,
            input: messages.iter().map(|m| json!({ "role": m.role, "text": m.text })).collect(),
            output: Value::Null,
            duration_ms: 0,
            success: false,
            error: Some("no answer yet".into()),
            model: model.to_owned(),
            time,
            usage: Usage::default(),
            readings: vec![],
        }
    }
}

/// What a policy said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DecisionRecord {
    /// Number of the event in the journal.
    pub seq: u64,
    pub time: DateTime<Utc>,
    pub step: String,
    /// The agent that requested the act; empty: the step itself.
    pub agent: String,
    /// The kind of act.
    pub act: ActKind,
    /// The tool, host or path.
    pub target: String,
    pub allowed: bool,
    /// The rule that decided.
    pub rule: String,
    /// The person who decided, if the rule requires one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// A plan that an agent wrote; the results of its steps are among `steps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// The `plan` step.
    pub step: String,
    /// Number of the plan in that step, from 1.
    pub round: u32,
    /// `parallel` or `sequential`.
    pub strategy: String,
    /// The reason, in the agent's words.
    pub reasoning: String,
    /// Its steps.
    pub steps: Vec<PlannedRecord>,
}

impl PlanRecord {
    fn new(step: &str, round: u32, plan: &WrittenPlan) -> PlanRecord {
        let path = |id: &String| step_path::inside(step, id);
        let planned = plan.steps.iter().map(|one| PlannedRecord {
            step: path(&one.id),
            uses: one.uses.clone(),
            depends_on: one.depends_on.iter().map(path).collect(),
        });
        PlanRecord {
            step: step.to_owned(),
            round,
            strategy: plan.strategy.word().to_owned(),
            reasoning: plan.reasoning.clone(),
            steps: planned.collect(),
        }
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRecord {
    /// Its path.
    pub step: String,
    /// The agent or tool.
    #[serde(rename = "use")]
    pub uses: String,
    /// Paths of the steps whose outputs it received.
    pub depends_on: Vec<String>,
}

/// A criterion that counted as passed because its judge could not answer (`on_judge_error: pass`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRecord {
    /// The gate.
    pub gate: String,
    /// The criterion.
    pub criterion: String,
    /// Why the judge could not answer.
    pub cause: String,
}

/// Derives the record from events. `None`: they do not start with `run_started`.
pub fn record(events: &[Event]) -> Option<Record> {
    let first = events.first()?;
    let Happening::RunStarted(start) = &first.happening else { return None };
    let mut builder = RecordBuilder::new(first, start);
    for event in events {
        builder.take(event);
    }
    Some(Record { agents: builder.agents.records(), batches: builder.batches.records(), ..builder.record })
}

struct RecordBuilder {
    record: Record,
    steps: HashMap<StepPath, usize>,
    calls: HashMap<u64, usize>,
    gates: FailedGates,
    /// A person ended the run: it cannot continue.
    is_given_up: bool,
    tools: CallsByNumber,
    asked: AskedQuestions,
    agents: AgentsAtWork,
    batches: BatchesSoFar,
}

impl RecordBuilder {
    fn new(first: &Event, start: &RunStart) -> RecordBuilder {
        let record = Record {
            run: first.run.to_string(),
            pipeline: start.pipeline.clone(),
            hash: start.hash.clone(),
            inputs: (*start.inputs).clone(),
            channel: start.channel.clone(),
            origin: start.origin.clone(),
            person: Some((*start.person).clone()).filter(|own| own.as_object().is_some_and(|own| !own.is_empty())).unwrap_or_default(),
            conversation: start.conversation.as_deref().map(ConversationRecord::from_event),
            style_guide: start.style_guide.clone(),
            started: first.time,
            scripted: start.scripted,
            phases: vec![Phase { name: "created".into(), time: first.time, step: String::new() }],
            ..Record::default()
        };
        RecordBuilder {
            record,
            steps: HashMap::new(),
            calls: HashMap::new(),
            gates: FailedGates::default(),
            is_given_up: false,
            tools: CallsByNumber::default(),
            asked: AskedQuestions::default(),
            agents: AgentsAtWork::default(),
            batches: BatchesSoFar::default(),
        }
    }

    fn take(&mut self, event: &Event) {
        self.agents.take(event);
        self.batches.take(event);
        self.tools.take(&mut self.record.tool_calls, event);
        tasks::take(&mut self.record.tasks, event);
        self.gates.take(&mut self.record.failures, event);
        dialogues::take(&mut self.record.dialogues, event);
        self.asked.take(&mut self.record.questions, &mut self.record.answers, event);
        if let Some(step) = tried_step(&event.happening) {
            tried(&mut self.step(step).tries, event);
        }
        if let Some((step, status)) = event.happening.step_status() {
            self.step(step).status = status.word().into();
        }
        match &event.happening {
            Happening::StepStarted { step, phase: Some(phase), attempt: 1, .. } => self.phase(phase, event, step),
            Happening::StepSucceeded { step, output, details } => {
                let found = self.step(step);
                found.output = (**output).clone();
                found.details = (**details).clone();
                found.error = None;
            }
            Happening::StepFailed { step, failure, attempts, details } => {
                let found = self.step(step);
                found.error = Some(json!({ "kind": failure.kind.word(), "message": failure.message, "attempts": attempts }));
                if let Some(details) = details {
                    found.details = (**details).clone();
                }
            }
            Happening::StepCancelled { step, details: Some(details) } => self.step(step).details = (**details).clone(),
            Happening::OutcomeUnknown { step, .. } => {
                let message = "no answer when it was ended; whether the call has acted is not known";
                self.step(step).error = Some(json!({ "kind": FailureKind::UnknownOutcome.word(), "message": message }));
            }
            Happening::PlanAccepted { step, round, plan } => self.record.plans.push(PlanRecord::new(step, *round, plan)),
            Happening::ModelCalled { step, call, agent, model, purpose, messages, .. } => {
                self.calls.insert(*call, self.record.interactions.len());
                let action = format!("{} {step}", purpose.word());
                self.record.interactions.push(Interaction::begun(agent, action, model, messages, event.time));
            }
            Happening::PolicyDecided { step, agent, act, target, allowed, rule, by } => self.record.decisions.push(DecisionRecord {
                seq: event.seq,
                time: event.time,
                step: step.to_string(),
                agent: agent.clone(),
                act: *act,
                target: target.clone(),
                allowed: *allowed,
                rule: rule.clone(),
                by: by.clone(),
            }),
            Happening::ModelReplied { call, reply, duration_ms, usage, .. } => self.model_replied(*call, reply, *duration_ms, usage),
            Happening::AnswerRead { step, notes } => {
                let of_step = |asked: &&mut Interaction| asked.action.split_once(' ').is_some_and(|(_, path)| path == &**step);
                if let Some(last) = self.record.interactions.iter_mut().rev().find(of_step) {
                    last.readings.extend(notes.iter().cloned());
                }
            }
            Happening::TaskJudged { step, verdicts, .. } | Happening::GatePassed { step, verdicts, .. } => self.review(step, verdicts),
            Happening::RefinementStarted { step, .. } => self.phase("refining", event, step),
            Happening::OutputWritten { step, to, text, rejected, part: _, id: _, accepted: _ } => {
                delivered(&mut self.record.sent, (step, to), text.as_deref(), rejected);
            }
            Happening::CancelRequested { by, .. } => self.is_given_up = *by == Canceller::Person,
            Happening::RunFinished(end) => self.over(end, event),
            Happening::RunResumed { .. } => self.goes_on(),
            _ => {}
        }
    }

    /// Adds criteria of a gate or a task that passed only because the judge could not answer.
    fn review(&mut self, step: &StepPath, verdicts: &[Verdict]) {
        self.record.needs_review.extend(verdicts.iter().filter(|verdict| verdict.needs_review).map(|verdict| ReviewRecord {
            gate: step.to_string(),
            criterion: verdict.id.clone(),
            cause: verdict.feedback.clone(),
        }));
    }

    fn model_replied(&mut self, call: u64, reply: &ModelAnswer, duration_ms: u64, usage: &Usage) {
        let Some(interaction) = self.calls.remove(&call).map(|place| &mut self.record.interactions[place]) else { return };
        interaction.duration_ms = duration_ms;
        interaction.usage = *usage;
        match reply {
            ModelAnswer::Said { text, calls, model, notes, session: _, files: _, state: _ } => {
                interaction.success = true;
                interaction.error = None;
                interaction.readings.clone_from(notes);
                let asked = |c: &crate::event::ToolCall| json!({ "tool": c.tool, "with": c.arguments });
                interaction.output = match calls.is_empty() {
                    true => json!(text),
                    false => json!({ "text": text, "calls": calls.iter().map(asked).collect::<Value>() }),
                };
                if let Some(model) = model {
                    interaction.model.clone_from(model);
                }
            }
            ModelAnswer::Failed(failure) => {
                interaction.error = Some(format!("{}: {}", failure.kind.word(), failure.message));
                if !self.record.scripted {
                    RejectedKey::count(&mut self.record.rejected_keys, &interaction.agent, &interaction.model, failure);
                }
            }
        }
    }

    fn over(&mut self, end: &RunEnd, event: &Event) {
        // Only a run that a signal or a client ended may be resumed.
        if end.status != RunStatus::Cancelled || self.is_given_up {
            self.record.questions.clear();
        }
        let is_completed = matches!(end.status, RunStatus::Succeeded | RunStatus::Partial);
        self.phase(if is_completed { "completed" } else { "failed" }, event, &"".into());
        for (_, place) in self.calls.drain() {
            let asked = &mut self.record.interactions[place];
            asked.duration_ms = u64::try_from((event.time - asked.time).num_milliseconds()).unwrap_or_default();
            asked.error = Some("no answer when the run ended".into());
        }
        self.record.ended = Some(event.time);
        self.record.status = Some(end.status);
        self.record.outputs = (*end.outputs).clone();
        self.record.failure =
            end.failure.as_ref().map(|f| json!({ "step": f.step, "kind": f.failure.kind.word(), "message": f.failure.message }));
        self.record.usage = end.usage;
    }

    /// Reopens a run that a signal had ended.
    fn goes_on(&mut self) {
        self.is_given_up = false;
        let record = &mut self.record;
        if record.ended.take().is_some() {
            (record.status, record.failure, record.outputs) = (None, None, Value::Null);
            record.phases.pop_if(|last| last.name == "failed" && last.step.is_empty());
            for step in record.steps.iter_mut().filter(|step| step.status == "cancelled") {
                (step.status, step.error) = ("pending".into(), None);
            }
        }
    }

    fn phase(&mut self, name: &str, event: &Event, step: &StepPath) {
        if self.record.phases.last().is_none_or(|last| last.name != name) {
            self.record.phases.push(Phase { name: name.to_string(), time: event.time, step: step.to_string() });
        }
    }

    fn step(&mut self, path: &StepPath) -> &mut StepRecord {
        let place = *self.steps.entry(path.clone()).or_insert_with(|| {
            self.record.steps.push(StepRecord {
                step: path.to_string(),
                status: "pending".into(),
                output: Value::Null,
                details: Value::Null,
                error: None,
                tries: vec![],
            });
            self.record.steps.len() - 1
        });
        &mut self.record.steps[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_of_the_author_stays_when_a_cancelled_run_continues() {
        let event = |seq: u64, mut fields: Value| {
            fields["v"] = json!(crate::event::VERSION);
            fields["seq"] = json!(seq);
            fields["time"] = json!("2026-01-01T00:00:00Z");
            fields["at_ms"] = json!(0);
            fields["run"] = json!("r");
            serde_json::from_value::<Event>(fields).unwrap()
        };
        let started = json!({
            "type": "run_started", "pipeline": "p", "hash": "h", "inputs": {}, "channel": null, "person": {}, "now": "2026-01-01T00:00:00Z",
            "seed": 0,
        });
        let step = json!({ "type": "step_started", "step": "a", "attempt": 1, "round": 1, "phase": "failed" });
        let ended = json!({ "type": "run_finished", "status": "cancelled", "outputs": null, "usage": Usage::default() });
        let resumed = json!({ "type": "run_resumed", "away_ms": 0 });
        let events: Vec<Event> = (1..).zip([started, step, ended, resumed]).map(|(seq, fields)| event(seq, fields)).collect();
        let record = record(&events).unwrap();
        assert_eq!(record.phases.iter().map(|phase| &*phase.name).collect::<Vec<_>>(), ["created", "failed"]);
    }
}
