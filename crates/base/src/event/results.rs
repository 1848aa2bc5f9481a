//! Types of the outputs and details of steps: they write them, and describe them before a run. Other outputs are declared by the author, or
//! defined in [`crate::port`] and in `channel`. Events store them as JSON: those of earlier versions may lack fields.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FailureKind, RejectedRecipient, SharedValue, Usage, Verdict};
use crate::model::{StepStatus, WrittenArtefact};

/// Defines types of results with public fields, each with a sample.
macro_rules! results {
    ($($(#[$about:meta])* $name:ident { $($(#[$own:meta])* $field:ident: $kind:ty),* $(,)? })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[expect(missing_docs, reason = "the fields are explained in the language page")]
            pub struct $name {
                $($(#[$own])* pub $field: $kind),*
            }
        )*

        sampled! {
            $($name { $($field),* })*
        }
    };
}

results! {
    /// The output of `send`: the parts that were delivered, each a [`Delivery`].
    SendOutput { delivered: Vec<SharedValue> }
    /// A delivered part.
    Delivery { #[serde(flatten)] part: PlainDelivery, #[serde(flatten)] of_mail: Option<MailDelivery> }
    /// A part other than a mail.
    PlainDelivery { part: u64, id: String, time: DateTime<Utc> }
    /// The recipients of a mail.
    MailDelivery { accepted: Vec<String>, rejected: Vec<RejectedRecipient> }

    /// The output of `plan`.
    PlanOutput {
        strategy: String,
        reasoning: String,
        steps: Vec<PlanResult>,
        by_use: Map<String, Value>,
        invoked: Vec<String>,
        errors: Vec<String>,
        log: Vec<String>,
        fulfilled: bool,
        progress: String,
    }
    /// A step of a plan.
    PlanResult {
        id: String,
        #[serde(rename = "use")]
        uses: String,
        with: Value,
        depends_on: Vec<String>,
        status: StepStatus,
        output: SharedValue,
        error: Option<StepError>,
    }
    /// The `error` of a failed step.
    StepError { kind: FailureKind, message: String, attempts: u32 }

    /// The output of `task`.
    TaskOutput { result: Option<SharedValue>, artefact: AcceptedArtefact, attempts: usize }
    /// How the result of a task was made.
    AcceptedArtefact { thought: String, code: String, output_variables: Vec<String>, is_malicious: bool }

    /// The output of `dialogue`.
    DialogueOutput { ended: String, reason: String, #[serde(flatten)] said: DialogueSaid }
    /// What was said in a dialogue.
    DialogueSaid { summary: String, positions: Map<String, Value>, turns: Vec<TurnOutput> }
    /// A turn of a dialogue. Its time and duration are in the record only, so that the output is equal when a run is repeated.
    TurnOutput { number: u32, from: String, to: String, text: String, attachments: Vec<String>, usage: UsageDetails }

    /// Tokens and cost of calls.
    UsageDetails {
        input_tokens: u64,
        output_tokens: u64,
        total_tokens: u64,
        cost_usd: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown_tokens: Option<u64>,
    }

    /// The details of every step.
    CommonDetails {
        attempts: u64,
        duration_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mocked: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<bool>,
    }
    /// The details of a step with elements that continues when they fail.
    ListDetails { failed: usize }
    /// The details of a step that calls a model, including steps that judge.
    ModelDetails { model: Option<String>, usage: UsageDetails, tool_calls: Vec<SharedValue> }
    /// The details of a `plan` that failed.
    PlanDetails { plan: Value }
    /// The details of a query.
    SqlDetails {
        columns: Vec<Value>,
        row_count: usize,
        cut: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        personal: Vec<String>,
    }
    /// The details of code.
    PythonDetails {
        printed: String,
        notes: Vec<String>,
        files: Vec<PathBuf>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceback: Option<String>,
    }
    /// The details of `read`.
    ReadDetails { tables: Vec<Value> }
    /// The details of `search`.
    SearchDetails {
        files: u64,
        pieces: u64,
        read: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        rebuilt: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    }
    /// The details of `route`.
    RouteDetails { case: Option<String> }
    /// The details of `repeat`; `met` is missing if the run ended first.
    RepeatDetails {
        rounds: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        met: Option<bool>,
    }
    /// The details of `call`.
    CallDetails { run: String, status: String }
    /// The details of `gate`.
    GateDetails { passed: bool, refined: bool, used_otherwise: bool, feedback: String, verdicts: Vec<Verdict> }
    /// The details of `task`.
    TaskDetails {
        state: String,
        tries: Vec<TryDetails>,
        identical_failures: u64,
        latest_failures: Vec<String>,
        unmet_criteria: Vec<UnmetCriterion>,
        #[serde(flatten)]
        rows: Option<TaskRows>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<PathBuf>,
    }
    /// Facts about the rows that a task returns, if they were cut or have personal columns.
    TaskRows { cut: bool, personal: Vec<String> }
    /// A try of a task.
    TryDetails { thought: String, code: String, error: Option<String>, verdicts: Vec<Verdict> }
    /// A criterion that was not met.
    UnmetCriterion { id: String, description: String, feedback: String }
    /// The details of a `dialogue` that did not succeed.
    DialogueDetails { status: String, reason: String, #[serde(flatten)] said: DialogueSaid }
    /// The details of `stop`.
    StopDetails { reason: String }
}

sampled! {
    RejectedRecipient { recipient, reason }
    Verdict { id, scorecard, description, expected, passed, skipped, feedback, evidence, needs_review }
}

impl PlanResult {
    /// The error in one sentence.
    pub fn error_text(&self) -> String {
        let (kind, message) = self.error.as_ref().map(|error| (error.kind.word(), &*error.message)).unwrap_or_default();
        format!("{} ({}): {kind}: {message}", self.id, self.uses)
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
