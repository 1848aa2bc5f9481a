//! The audit of a run: each event becomes zero or more records. They hold names, kinds and numbers only; texts of people, models and tools
//! stay in the journal, where [`AuditRecord::event`] points.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use AuditAction as Done;
use AuditKind::{Action, Decision, Error, Security};
use AuditResult::{Blocked, Success};

use super::PersonalMask;
use crate::event::{
    Event, Failure, FailureKind, Happening, ModelAnswer, RunStart, RunStatus, StepDetails, StepPath, StepStatus, Usage, trace_id,
};
use crate::model::ActKind;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// Something was done.
    Action,
    /// A policy, a person or the check of a plan made a decision.
    Decision,
    /// An attempt, a step or a run failed.
    Error,
    /// Something was blocked, or a protection was missing.
    Security,
}

/// The outcome of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum AuditResult {
    Success,
    Failure,
    Blocked,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// A run began; target: the pipeline.
    RunStarted,
    /// It resumed in another process, or after an answer.
    RunResumed,
    /// Somebody requested its end.
    RunCancelled,
    /// It ended.
    RunFinished,
    /// A model was called; target: its name in the file.
    ModelCall,
    /// A tool, a program, code, a query, a request, a mail or a file was used; target: its name in the file, or its kind.
    ToolCall,
    /// A server was started or its tools were listed; target: the server.
    ServerTools,
    /// A part was delivered; target: the receiver.
    Delivery,
    /// A policy, or the default rule without one, decided; target: kind and tool, host or path.
    PolicyDecision,
    /// A person answered a question, or nobody did.
    Approval,
    /// The plan of an agent was checked.
    PlanCheck,
    /// An attempt of a step failed, and another follows.
    TryFailed,
    /// A step failed.
    StepFailed,
    /// A bound was reached.
    LimitReached,
    /// A call was abandoned before it answered.
    OutcomeUnknown,
    /// A server did something other than answer.
    ServerNoted,
    /// A server has tools that are not pinned and therefore not used.
    ToolsUnpinned,
    /// A program ran without a sandbox.
    NoSandbox,
    /// The end of the audit was damaged: its last line was cut back to whole records.
    AuditRepaired,
    /// The last known record is missing from the audit: it was removed, emptied, cut off or replaced; target: the hash of that record.
    AuditLost,
    /// The audit has records that flow did not write; target: the first and the last.
    AuditAdded,
    /// The events of a run that ran elsewhere were imported.
    RunImported,
    /// A run and everything it stored were removed.
    RunRemoved,
    /// A person accepted the permissions that a file asks for; target: the file.
    FileTrusted,
    /// The trust in a file was withdrawn.
    TrustRemoved,
    /// The current tools of a server were accepted; target: the server.
    ToolsPinned,
    /// A person signed in at or for a server; target: the server.
    LoggedIn,
    /// A login was removed.
    LoggedOut,
}

has_word!(AuditKind, AuditResult, AuditAction);

/// Resources that were used.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct AuditUsage {
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Tokens read.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub output_tokens: u64,
    /// US dollars; `None`: unpriced or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Further facts that matter for security.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuditContext {
    /// SHA-256 of the definition of the pipeline.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pipeline_hash: String,
    /// The run whose finished steps this run reuses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// A client of `flow mcp` supplied the inputs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub served: bool,
    /// Models are scripted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scripted: bool,
    /// Who decided, if it was not a rule: `person` or `nobody`. The name of a person is in the journal only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub decided_by: String,
}

/// One record, before it is added to the chain ([`super::AuditHead`]). Empty fields are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// When it happened.
    pub timestamp: DateTime<Utc>,
    /// What it is about.
    pub event_type: AuditKind,
    /// The run.
    pub session_id: String,
    /// [`trace_id`] of the run.
    pub trace_id: String,
    /// Number of the event in the run's journal, which holds the texts.
    pub event: u64,
    /// The step; empty: the run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// The agent; empty: the step itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent_id: String,
    /// What was done.
    pub action: AuditAction,
    /// The object of the action; `(masked)` if it holds a secret or personal data.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The outcome; `None`: the action has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<AuditResult>,
    /// The reason, as a fixed word: the kind of a failure, a bound, a status.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The policy, and its rule that decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy_applied: String,
    /// Resources that were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_usage: Option<AuditUsage>,
    /// Further facts that matter for security.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_context: Option<AuditContext>,
}

impl AuditRecord {
    fn new(timestamp: DateTime<Utc>, event_type: AuditKind, session_id: &str, action: AuditAction) -> AuditRecord {
        AuditRecord {
            timestamp,
            event_type,
            session_id: session_id.to_owned(),
            trace_id: String::new(),
            event: 0,
            step: String::new(),
            agent_id: String::new(),
            action,
            target: String::new(),
            result: None,
            reason: String::new(),
            policy_applied: String::new(),
            resource_usage: None,
            security_context: None,
        }
    }

    fn target(self, target: &str) -> AuditRecord {
        AuditRecord { target: target.to_owned(), ..self }
    }

    fn agent(self, agent: &str) -> AuditRecord {
        AuditRecord { agent_id: agent.to_owned(), ..self }
    }

    fn result(self, result: AuditResult, reason: &str) -> AuditRecord {
        AuditRecord { result: Some(result), reason: reason.to_owned(), ..self }
    }

    fn used(self, duration_ms: u64, usage: &Usage) -> AuditRecord {
        let Usage { input_tokens, output_tokens, cost_usd, unknown_tokens: _ } = *usage;
        AuditRecord { resource_usage: Some(AuditUsage { duration_ms, input_tokens, output_tokens, cost_usd }), ..self }
    }

    /// Something that a person did outside a run. `run` is empty if it is about none.
    pub fn of_person(action: AuditAction, timestamp: DateTime<Utc>, run: &str, target: &str) -> AuditRecord {
        AuditRecord {
            target: PersonalMask::default().name(target),
            result: Some(AuditResult::Success),
            security_context: Some(by_whom("person")),
            ..AuditRecord::new(timestamp, AuditKind::Decision, run, action)
        }
    }
}

/// Returns the target of an act as the audit shows it. For a command that an agent program requested, this is the kind of its tool and the
/// program: the other words are arguments, which are in the journal only.
fn audited_target<'t>(act: ActKind, agent: &str, target: &'t str) -> &'t str {
    let is_word = |word: &str| word.chars().all(|sign| sign.is_alphanumeric() || "._-/~@+".contains(sign));
    match (act, target.split_once(' ')) {
        (ActKind::Tool, Some((kind, rest))) if !agent.is_empty() => {
            let first = rest.split(' ').next().filter(|word| is_word(word));
            &target[..first.map_or(kind.len(), |word| kind.len() + 1 + word.len())]
        }
        (ActKind::Tool | ActKind::Host | ActKind::Read | ActKind::Write | ActKind::Resource | ActKind::Argument, _) => target,
    }
}

/// Makes the records of one run from its events, in order.
#[derive(Debug, Default)]
pub struct AuditTrail {
    mask: PersonalMask,
    trace: String,
    /// The agent whose model was called last, by step.
    agents: HashMap<StepPath, String>,
    /// Open calls: the action, its target and the agent.
    calls: HashMap<u64, (AuditAction, String, String)>,
    /// The current events are copied from another run, which recorded them already.
    is_copied: bool,
}

impl AuditTrail {
    /// Creates the trail of a run that may use these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> AuditTrail {
        AuditTrail { mask: PersonalMask::new(secrets), ..AuditTrail::default() }
    }

    /// Applies events that were recorded before.
    #[must_use]
    pub fn after(mut self, events: &[Event]) -> AuditTrail {
        events.iter().for_each(|event| drop(self.take(event)));
        self
    }

    /// Returns the records of the next event.
    pub fn take(&mut self, event: &Event) -> Vec<AuditRecord> {
        self.mask.learn(event);
        let was_copied = self.is_copied;
        match &event.happening {
            // A forked run starts with events of the original run, then continues.
            Happening::RunStarted(start) => {
                (self.is_copied, self.trace) = (start.origin.is_some(), trace_id(&event.run, start));
            }
            Happening::RunResumed { .. } => self.is_copied = false,
            _ => {}
        }
        let records = self.records(event);
        if let Some((step, StepStatus::Succeeded | StepStatus::Failed)) = event.happening.step_status() {
            self.agents.remove(step);
        }
        if was_copied && self.is_copied { vec![] } else { records }
    }

    fn records(&mut self, event: &Event) -> Vec<AuditRecord> {
        let step = event.happening.step().cloned().unwrap_or_default();
        let agent = self.agents.get(&step).cloned().unwrap_or_default();
        let draft = AuditDraft { event, trace: self.trace.clone(), step };
        let one = match &event.happening {
            Happening::RunStarted(start) => {
                AuditRecord { security_context: Some(begun_with(start)), ..draft.action(Done::RunStarted).target(&start.pipeline) }
            }
            Happening::RunResumed { .. } => draft.action(Done::RunResumed),
            Happening::CancelRequested { by, .. } => draft.record(Decision, Done::RunCancelled).result(Success, by.word()),
            Happening::RunFinished(end) => {
                let is_well = matches!(end.status, RunStatus::Succeeded | RunStatus::Partial);
                let (about, result) = if is_well { (Action, Success) } else { (Error, AuditResult::Failure) };
                draft.record(about, Done::RunFinished).result(result, end.status.word()).used(event.at_ms, &end.usage)
            }
            Happening::ModelCalled { .. }
            | Happening::ModelReplied { .. }
            | Happening::ToolCalled { .. }
            | Happening::ToolReplied { .. }
            | Happening::ServerAsked { .. }
            | Happening::ToolsAsked { .. }
            | Happening::ToolsListed { .. }
            | Happening::OutcomeUnknown { .. } => return self.of_call(&draft, &agent),
            Happening::OutputWritten { to, .. } => draft.action(Done::Delivery).target(&self.mask.name(to)).result(Success, ""),
            Happening::PolicyDecided { agent, act, target, allowed, rule, by, .. } => {
                let target = format!("{} {}", act.word(), self.mask.name(audited_target(*act, agent, target)));
                let decided = draft.decided(if *allowed { Decision } else { Security }, Done::PolicyDecision, *allowed);
                let security_context = (!by.is_empty()).then(|| by_whom("person"));
                AuditRecord { policy_applied: self.mask.name(rule), security_context, ..decided.agent(agent).target(&target) }
            }
            Happening::ApprovalAnswered { approved, nobody, .. } => {
                let security_context = Some(by_whom(if *nobody { "nobody" } else { "person" }));
                AuditRecord { security_context, ..draft.decided(Decision, Done::Approval, *approved) }
            }
            Happening::PlanAccepted { .. } => draft.decided(Decision, Done::PlanCheck, true),
            Happening::PlanRefused { .. } => draft.decided(Decision, Done::PlanCheck, false),
            Happening::AttemptFailed { failure, .. } => draft.failed(Error, Done::TryFailed, failure.kind).agent(&agent),
            Happening::StepFailed { failure, .. } => draft.failed(Error, Done::StepFailed, failure.kind).agent(&agent),
            Happening::LimitReached { limit, .. } => {
                draft.record(Error, Done::LimitReached).result(AuditResult::Failure, &limit.to_string())
            }
            Happening::ServerNoted { server, .. } => draft.record(Security, Done::ServerNoted).target(server),
            Happening::StepSucceeded { details, .. } => {
                let is_bare = StepDetails::from_value(details).sandbox() == Some("none");
                return Vec::from_iter(is_bare.then(|| draft.record(Security, Done::NoSandbox).result(Success, "")));
            }
            // Internal calls, the order of steps, and facts that another record holds.
            Happening::StepStarted { .. }
            | Happening::CallOpened { .. }
            | Happening::StepPaused { .. }
            | Happening::ResultKept { .. }
            | Happening::StepSkipped { .. }
            | Happening::StepBlocked { .. }
            | Happening::StepCancelled { .. }
            | Happening::CacheAsked { .. }
            | Happening::CacheMissed { .. }
            | Happening::CaseChosen { .. }
            | Happening::StepsOpened { .. }
            | Happening::PlanEnded { .. }
            | Happening::PlanChecked { .. }
            | Happening::TableDescribed { .. }
            | Happening::TaskTried { .. }
            | Happening::TaskExecuted { .. }
            | Happening::TaskJudged { .. }
            | Happening::DialogueTurned { .. }
            | Happening::DialogueJudged { .. }
            | Happening::DialogueClosed { .. }
            | Happening::AnswerRead { .. }
            | Happening::GatePassed { .. }
            | Happening::GateFailed { .. }
            | Happening::RefinementStarted { .. }
            | Happening::StageStarted { .. }
            | Happening::GraceEnded
            | Happening::ApprovalRequested { .. }
            | Happening::RunPaused
            | Happening::ReplyIgnored { .. } => return vec![],
        };
        vec![one]
    }

    /// The beginning or the end of a call.
    fn of_call(&mut self, draft: &AuditDraft<'_>, agent: &str) -> Vec<AuditRecord> {
        match &draft.event.happening {
            Happening::ModelCalled { call, agent, model, .. } => {
                self.agents.insert(draft.step.clone(), agent.clone());
                self.called(*call, draft.action(Done::ModelCall).agent(agent).target(model))
            }
            Happening::ModelReplied { call, reply, duration_ms, usage, .. } => {
                let failure = if let ModelAnswer::Failed(failure) = reply { Some(failure) } else { None };
                self.replied(*call, draft.ended(Done::ModelCall, failure).used(*duration_ms, usage))
            }
            Happening::ToolCalled { call, tool, .. } => {
                self.called(*call, draft.action(Done::ToolCall).agent(agent).target(&self.mask.name(tool)))
            }
            Happening::ToolReplied { call, failure, duration_ms, .. } => {
                let ended = draft.ended(Done::ToolCall, failure.as_ref()).used(*duration_ms, &Usage::default());
                self.replied(*call, ended.agent(agent))
            }
            // The call has ended; it is made again with the answers.
            Happening::ServerAsked { call, .. } => self.replied(*call, draft.action(Done::ToolCall).result(Success, "server_asked")),
            Happening::ToolsAsked { call, server, .. } => self.called(*call, draft.action(Done::ServerTools).target(server)),
            Happening::ToolsListed { call, server, absent, unpinned, duration_ms, .. } => {
                let ended = draft.ended(Done::ServerTools, absent.as_ref()).used(*duration_ms, &Usage::default());
                let unused = || draft.record(Security, Done::ToolsUnpinned).target(server).result(Blocked, "");
                let mut both = self.replied(*call, ended.target(server));
                both.extend((!unpinned.is_empty()).then(unused));
                both
            }
            Happening::OutcomeUnknown { call, .. } => {
                let unknown = draft.failed(Error, Done::OutcomeUnknown, FailureKind::UnknownOutcome);
                let (_, target, agent) = self.calls.remove(call).unwrap_or((Done::ToolCall, String::new(), String::new()));
                vec![unknown.target(&target).agent(&agent)]
            }
            _ => vec![],
        }
    }

    fn called(&mut self, call: u64, begun: AuditRecord) -> Vec<AuditRecord> {
        self.calls.insert(call, (begun.action, begun.target.clone(), begun.agent_id.clone()));
        vec![begun]
    }

    /// Returns the record of the end of a call, with the facts from its start. A call that was not made has only an end.
    fn replied(&mut self, call: u64, mut ended: AuditRecord) -> Vec<AuditRecord> {
        if let Some((action, target, agent)) = self.calls.remove(&call) {
            (ended.action, ended.target, ended.agent_id) = (action, target, agent);
        }
        vec![ended]
    }
}

/// What all records of an event have.
struct AuditDraft<'e> {
    event: &'e Event,
    trace: String,
    step: StepPath,
}

impl AuditDraft<'_> {
    fn record(&self, about: AuditKind, action: AuditAction) -> AuditRecord {
        AuditRecord {
            trace_id: self.trace.clone(),
            event: self.event.seq,
            step: self.step.to_string(),
            ..AuditRecord::new(self.event.time, about, &self.event.run, action)
        }
    }

    fn action(&self, action: AuditAction) -> AuditRecord {
        self.record(Action, action)
    }

    fn decided(&self, about: AuditKind, action: AuditAction, allowed: bool) -> AuditRecord {
        self.record(about, action).result(if allowed { Success } else { Blocked }, "")
    }

    fn failed(&self, about: AuditKind, action: AuditAction, why: FailureKind) -> AuditRecord {
        let (about, result) = weight(about, why);
        self.record(about, action).result(result, why.word())
    }

    /// The end of a call.
    fn ended(&self, action: AuditAction, failure: Option<&Failure>) -> AuditRecord {
        failure.map_or_else(|| self.action(action).result(Success, ""), |why| self.failed(Action, action, why.kind))
    }
}

fn by_whom(who: &str) -> AuditContext {
    AuditContext { decided_by: who.to_owned(), ..AuditContext::default() }
}

fn begun_with(start: &RunStart) -> AuditContext {
    AuditContext {
        pipeline_hash: start.hash.clone(),
        origin: start.origin.as_ref().map(|origin| origin.run.clone()).unwrap_or_default(),
        served: start.served,
        scripted: start.scripted,
        ..AuditContext::default()
    }
}

/// Returns the kind and result of a failure for the audit; `own`: the kind that the record has otherwise.
fn weight(own: AuditKind, why: FailureKind) -> (AuditKind, AuditResult) {
    match why {
        FailureKind::Denied | FailureKind::Blocked => (AuditKind::Security, AuditResult::Blocked),
        FailureKind::Auth => (AuditKind::Security, AuditResult::Failure),
        FailureKind::Rejected => (own, AuditResult::Blocked),
        FailureKind::RateLimited
        | FailureKind::ServerError
        | FailureKind::Connection
        | FailureKind::Timeout
        | FailureKind::BadResponse
        | FailureKind::UnknownOutcome
        | FailureKind::BadRequest
        | FailureKind::BadShape
        | FailureKind::Limit
        | FailureKind::NoAnswer
        | FailureKind::NoCase
        | FailureKind::NotAccepted
        | FailureKind::Program
        | FailureKind::Quality
        | FailureKind::Refused
        | FailureKind::TooLarge
        | FailureKind::Truncated
        | FailureKind::Unavailable
        | FailureKind::WrongType
        | FailureKind::Internal => (own, AuditResult::Failure),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(seq: u64, mut fields: Value) -> Event {
        for (name, value) in [("v", json!(1)), ("seq", json!(seq)), ("time", json!("2026-01-01T00:00:00Z")), ("run", json!("r"))] {
            fields[name] = value;
        }
        fields["at_ms"] = json!(0);
        serde_json::from_value(fields).unwrap()
    }

    fn start(more: Value) -> Value {
        let mut start = json!({
            "type": "run_started", "pipeline": "p", "hash": "h", "inputs": { "who": "Quendolin Brackwater" }, "channel": null, "person": {},
            "now": "2026-01-01T00:00:00Z", "seed": 0, "marks": { "inputs": ["who"], "columns": [], "steps": [] },
        });
        start.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        start
    }

    fn told(trail: &mut AuditTrail, events: &[Value]) -> Vec<AuditRecord> {
        (1..).zip(events).flat_map(|(seq, fields)| trail.take(&event(seq, fields.clone()))).collect()
    }

    #[test]
    fn a_call_has_a_beginning_and_an_end_with_its_agent() {
        let denied = json!({ "kind": "denied", "message": "secret words" });
        let records = told(
            &mut AuditTrail::default(),
            &[
                start(json!({})),
                json!({ "type": "model_called", "step": "a", "call": 1, "agent": "writer", "model": "m", "purpose": "turn", "attempt": 1,
                    "timeout_at_ms": 1, "messages": [{ "role": "user", "text": "secret words" }], "reserved_tokens": 0 }),
                json!({ "type": "model_replied", "step": "a", "call": 1, "duration_ms": 7, "reply": { "said": { "text": "secret words" } },
                    "usage": { "input_tokens": 3, "output_tokens": 4, "cost_usd": 0.5 } }),
                json!({ "type": "tool_called", "step": "a", "call": 2, "tool": "crm.find", "with": { "q": "secret words" }, "timeout_at_ms": 1,
                    "attempt": 1, "asked": 0 }),
                json!({ "type": "tool_replied", "step": "a", "call": 2, "duration_ms": 1, "failure": denied, "asked": 0 }),
            ],
        );
        let row = |record: &AuditRecord| {
            let result = record.result.map(AuditResult::word).unwrap_or_default();
            format!(
                "{} {} {} {} {result} {}",
                record.event_type.word(),
                record.action.word(),
                record.target,
                record.agent_id,
                record.reason
            )
        };
        assert_eq!(
            records.iter().map(row).collect::<Vec<_>>(),
            [
                "action run_started p   ",
                "action model_call m writer  ",
                "action model_call m writer success ",
                "action tool_call crm.find writer  ",
                "security tool_call crm.find writer blocked denied",
            ]
        );
        assert_eq!(records[2].resource_usage, Some(AuditUsage { duration_ms: 7, input_tokens: 3, output_tokens: 4, cost_usd: Some(0.5) }));
        assert!(!serde_json::to_string(&records).unwrap().contains("secret words"));
    }

    #[test]
    fn what_is_secret_or_personal_in_a_name_is_masked() {
        let decided = |target: &str| {
            json!({ "type": "policy_decided", "step": "a", "act": "read", "target": target, "allowed": false, "rule": "guests.read.deny",
                "by": "Quendolin Brackwater" })
        };
        let mut trail = AuditTrail::new(["tok-81QZw47xKd9"]);
        let targets = ["letters/tok-81QZw47xKd9.md", "letters/brackwater.md", "mails/ana@example.com/1", "letters/a.md"];
        let records = told(&mut trail, &[&[start(json!({}))][..], &targets.map(decided)].concat());
        let shown: Vec<&str> = records[1..].iter().map(|record| record.target.as_str()).collect();
        assert_eq!(shown, ["read (masked)", "read (masked)", "read (masked)", "read letters/a.md"]);
        let context = records[4].security_context.as_ref().unwrap();
        assert_eq!((context.decided_by.as_str(), records[4].policy_applied.as_str()), ("person", "guests.read.deny"));
    }

    #[test]
    fn events_that_a_fork_begins_with_are_recorded_in_the_other_run_alone() {
        let skipped = |step: &str| json!({ "type": "output_written", "step": step, "to": "stdout", "part": 1 });
        let origin = json!({ "origin": { "run": "r_0", "from": "b" } });
        let events = [start(origin), skipped("a"), json!({ "type": "run_resumed", "away_ms": 0 }), skipped("b")];
        let steps: Vec<String> = told(&mut AuditTrail::default(), &events).into_iter().map(|record| record.step).collect();
        assert_eq!(steps, ["", "", "b"]);
    }
}
