//! Types of the outputs and details of steps: they write them, and describe them before a run. Other outputs are declared by the author, or
//! defined in [`crate::port`] and in `channel`. Events store them as JSON: those of earlier versions may lack fields.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FailureKind, RejectedRecipient, SharedValue, Usage, Verdict};
use crate::model::{StepStatus, WrittenArtefact};

/// Types of results, all their fields public, each with its sample and with who writes it.
macro_rules! results {
    ($($(#[$about:meta])* $name:ident { $($(#[$own:meta])* $field:ident: $kind:ty = $writer:tt),* $(,)? })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[expect(missing_docs, reason = "the fields are explained in the language page")]
            pub struct $name {
                $($(#[$own])* pub $field: $kind),*
            }
        )*

        sampled! {
            $($name { $($writer($field)),* })*
        }
    };
}

results! {
    /// The output of `send`: the parts that were delivered, each a [`Delivery`].
    SendOutput { delivered: Vec<SharedValue> = [Delivery] }
    /// A part that was delivered.
    Delivery { #[serde(flatten)] part: PlainDelivery = Flat, #[serde(flatten)] of_mail: Option<MailDelivery> = Flat }
    /// A part that is no mail.
    PlainDelivery { part: u64 = Engine, id: String = Others, time: DateTime<Utc> = Engine }
    /// Who got a mail.
    MailDelivery { accepted: Vec<String> = Others, rejected: Vec<RejectedRecipient> = Others }

    /// The output of `plan`.
    PlanOutput {
        strategy: String = Engine,
        reasoning: String = Others,
        steps: Vec<PlanResult> = Parts,
        by_use: Map<String, Value> = Others,
        invoked: Vec<String> = Engine,
        errors: Vec<String> = Others,
        log: Vec<String> = Others,
        fulfilled: bool = Engine,
        progress: String = Others,
    }
    /// A step of a plan.
    PlanResult {
        id: String = Others,
        r#use: String = Engine,
        with: Value = Others,
        depends_on: Vec<String> = Others,
        status: StepStatus = Engine,
        output: SharedValue = Others,
        error: Option<StepError> = Parts,
    }
    /// The `error` of a failed step.
    StepError { kind: FailureKind = Engine, message: String = Others, attempts: u32 = Engine }

    /// `failure`: why the pipeline failed.
    PipelineFailure { step: String = Engine, kind: FailureKind = Engine, message: String = Others }

    /// The output of `http`.
    HttpOutput { status: u16 = Engine, headers: Map<String, Value> = Others, body: Value = Others }

    /// The output of `task`.
    TaskOutput { result: Option<SharedValue> = Others, artefact: AcceptedArtefact = Parts, attempts: usize = Engine }
    /// How the result of a task was made.
    AcceptedArtefact {
        thought: String = Others,
        code: String = Others,
        output_variables: Vec<String> = Others,
        is_malicious: bool = Engine,
    }

    /// The output of `dialogue`.
    DialogueOutput { ended: String = Engine, reason: String = Others, #[serde(flatten)] said: DialogueSaid = Flat }
    /// What was said in a dialogue.
    DialogueSaid { summary: String = Others, positions: Map<String, Value> = Others, turns: Vec<TurnOutput> = Parts }
    /// A turn of a dialogue. When it was and how long it took is in the record: an output is the same when a run is repeated.
    TurnOutput {
        number: u32 = Engine,
        from: String = Engine,
        to: String = Engine,
        text: String = Others,
        attachments: Vec<String> = Others,
        usage: UsageDetails = Engine,
    }

    /// Tokens and cost of calls.
    UsageDetails {
        input_tokens: u64 = Engine,
        output_tokens: u64 = Engine,
        total_tokens: u64 = Engine,
        cost_usd: Option<f64> = Engine,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown_tokens: Option<u64> = Engine,
    }

    /// The details of every step.
    CommonDetails {
        attempts: u64 = Engine,
        duration_ms: u64 = Engine,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mocked: Option<bool> = Engine,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<bool> = Engine,
    }
    /// The details of a step with elements that continues where they fail.
    ListDetails { failed: usize = Engine }
    /// The details of a step that asked a model; those of a step that judges have it, too.
    ModelDetails { model: Option<String> = Engine, usage: UsageDetails = Engine, tool_calls: Vec<SharedValue> = [ToolUse] }
    /// A call of a tool, as `tool_calls` has it.
    ToolUse {
        tool: String = Others,
        with: Value = Others,
        result: Value = Others,
        status: String = Engine,
        error: Option<String> = Others,
        duration_ms: u64 = Engine,
    }
    /// The details of a `plan` that failed.
    PlanDetails { plan: Value = [PlanOutput] }
    /// The details of a query.
    SqlDetails {
        columns: Vec<Value> = Others,
        row_count: usize = Engine,
        cut: bool = Engine,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        personal: Vec<String> = Others,
    }
    /// The details of code.
    PythonDetails {
        printed: String = Others,
        notes: Vec<String> = Others,
        files: Vec<PathBuf> = Others,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceback: Option<String> = Others,
    }
    /// The details of `read`.
    ReadDetails { tables: Vec<Value> = Others }
    /// The details of `search`.
    SearchDetails {
        files: u64 = Engine,
        pieces: u64 = Engine,
        read: u64 = Engine,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64> = Engine,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        rebuilt: String = Others,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String> = Others,
    }
    /// The details of `route`.
    RouteDetails { case: Option<String> = Engine }
    /// The details of `repeat`; `met` is missing where the run ended before.
    RepeatDetails {
        rounds: u32 = Engine,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        met: Option<bool> = Engine,
    }
    /// The details of `call`.
    CallDetails { run: String = Engine, status: String = Engine }
    /// The details of `gate`.
    GateDetails {
        passed: bool = Engine,
        refined: bool = Engine,
        used_otherwise: bool = Engine,
        feedback: String = Others,
        verdicts: Vec<Verdict> = Parts,
    }
    /// The details of `task`.
    TaskDetails {
        state: String = Engine,
        tries: Vec<TryDetails> = Others,
        identical_failures: u64 = Engine,
        latest_failures: Vec<String> = Others,
        unmet_criteria: Vec<UnmetCriterion> = Others,
        #[serde(flatten)]
        rows: Option<TaskRows> = Flat,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<PathBuf> = Others,
    }
    /// What is said of rows that a task gives, where they were cut or have personal columns.
    TaskRows { cut: bool = Engine, personal: Vec<String> = Others }
    /// A try of a task.
    TryDetails { thought: String = Others, code: String = Others, error: Option<String> = Others, verdicts: Vec<Verdict> = Others }
    /// A criterion that was not met.
    UnmetCriterion { id: String = Others, description: String = Others, feedback: String = Others }
    /// The details of a `dialogue` that did not end well.
    DialogueDetails { status: String = Engine, reason: String = Others, #[serde(flatten)] said: DialogueSaid = Flat }
    /// The details of `stop`.
    StopDetails { reason: String = Others }
}

sampled! {
    RejectedRecipient { Others(recipient, reason) }
    Verdict { Engine(passed, skipped, needs_review), Others(id, scorecard, description, expected, feedback, evidence) }
}

impl PlanResult {
    /// The error in one sentence.
    pub fn error_text(&self) -> String {
        let (kind, message) = self.error.as_ref().map(|error| (error.kind.word(), &*error.message)).unwrap_or_default();
        format!("{} ({}): {kind}: {message}", self.id, self.r#use)
    }
}

impl AcceptedArtefact {
    /// Copies the fields that the output shows.
    pub fn new(written: &WrittenArtefact) -> AcceptedArtefact {
        let WrittenArtefact { thought, code, output_variables, is_malicious, .. } = written.clone();
        AcceptedArtefact { thought, code, output_variables, is_malicious }
    }
}

impl UsageDetails {
    /// Converts the usage of calls; with the upper bound for unknown tokens if `has_unknown`.
    pub fn new(usage: &Usage, has_unknown: bool) -> UsageDetails {
        let Usage { input_tokens, output_tokens, cost_usd, unknown_tokens } = *usage;
        let unknown_tokens = Some(unknown_tokens).filter(|tokens| has_unknown && *tokens > 0);
        UsageDetails { input_tokens, output_tokens, total_tokens: usage.total_tokens(), cost_usd, unknown_tokens }
    }
}
