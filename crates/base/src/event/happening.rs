//! The events, and the small types that they contain.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Canceller, Failure, FormRequest, Limit, Message, ModelAnswer, Purpose, RejectedRecipient, RunStart, RunStatus, ServerQuestions,
    ServerTool, Usage, Verdict,
};
use crate::model::{ActKind, DialogueEnd, DialogueSignal, DialogueTurn, WrittenArtefact, WrittenPlan};

/// Version of the event format, `v` in each line.
pub const VERSION: u32 = 1;

/// A step's place in a run: `work/fetch`, `facts/today`, `each[2]`. The empty path is the run itself.
pub type StepPath = Arc<str>;

/// A value shared by events and state.
pub type SharedValue = Arc<Value>;

/// The state that an earlier run left for an element, or for a step in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptState {
    /// It succeeded and does not run again.
    Done,
    /// It is `once` and may have acted: a person must decide.
    InDoubt,
    /// It runs again.
    Open,
}

/// One event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`VERSION`].
    pub v: u32,
    /// Number from 1, without gaps; defines the order.
    pub seq: u64,
    /// For people only; not used for decisions.
    pub time: DateTime<Utc>,
    /// Milliseconds since the run started, by a monotonic clock.
    pub at_ms: u64,
    /// The run.
    pub run: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub happening: Happening,
}

/// What happened. Common fields: `step`, the step concerned; `call`, the number of the call in this run, from 1; `attempt`, the number of
/// the attempt, from 1; `asked`, for a call that an agent requested, its index among the calls of the model's last answer, from 0;
/// `…_at_ms` and `until_ms`, in milliseconds since the run started; `failure`, why it failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the others are explained above")]
pub enum Happening {
    /// The run started; always the first event.
    RunStarted(Box<RunStart>),
    /// A step, or an element of a `for_each`, started an attempt.
    StepStarted {
        step: StepPath,
        attempt: u32,
        /// 1, or 2 in the refinement of its pipeline, or of one that called it.
        round: u32,
        /// Its label in the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        /// The elements of a `for_each`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<Vec<SharedValue>>,
    },
    /// A called pipeline started: from a `call`, or as a tool.
    CallOpened {
        step: StepPath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
        /// Its name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pipeline: String,
        inputs: SharedValue,
        channel: Option<String>,
        /// The person it is for.
        person: SharedValue,
    },
    /// An attempt failed and another follows.
    AttemptFailed {
        step: StepPath,
        attempt: u32,
        failure: Failure,
        /// When the next attempt starts, in milliseconds since the run started.
        retry_at_ms: u64,
    },
    /// A `wait` step waits.
    StepPaused { step: StepPath, until_ms: u64 },
    /// A step succeeded.
    StepSucceeded { step: StepPath, output: SharedValue, details: SharedValue },
    /// A step failed for good.
    StepFailed {
        step: StepPath,
        failure: Failure,
        attempts: u32,
        /// Its details, if it has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<SharedValue>,
    },
    /// The state that an earlier run, which this one retries, left for an element of a `for_each`, or for a failed step in one.
    ResultKept {
        /// Its path in that run.
        step: StepPath,
        state: KeptState,
        /// For an element: its value.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        item: SharedValue,
        /// For an element: the run and the path from which its idempotency keys are derived.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        key_run: String,
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        key_step: StepPath,
        /// For one that is done: its output.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        output: SharedValue,
        /// For one that is done: its details.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        details: SharedValue,
    },
    /// A step was skipped: its `when` was false, a `stop` ended the run before it, or the step that it replaces on failure did not fail.
    StepSkipped { step: StepPath },
    /// A step cannot run because a step that it needs did not succeed.
    StepBlocked {
        step: StepPath,
        /// The step that blocks it; empty when the run stops.
        by: StepPath,
    },
    /// A step was cancelled: by a person, a limit or a failed sibling.
    StepCancelled {
        step: StepPath,
        /// Results that may be read all the same: for a dialogue, what was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<SharedValue>,
    },
    /// A cached result of an equal step is looked up.
    CacheAsked {
        step: StepPath,
        /// Number of the call in this run.
        call: u64,
        /// The key under which a result would be cached.
        key: String,
        timeout_at_ms: u64,
    },
    /// No result of an equal step is cached, so the step does its work.
    CacheMissed { step: StepPath, call: u64 },
    /// A route chose a case.
    CaseChosen {
        step: StepPath,
        /// The case, or `otherwise`.
        case: String,
    },
    /// The steps of a group, or of a round of a `repeat`, start.
    StepsOpened {
        step: StepPath,
        /// Number of the round, from 1; 1 for a group.
        round: u32,
        /// Number of consecutive rounds, up to the previous one, after which all values that `until` reads were unchanged.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        unchanged: u32,
    },
    /// The plan that an agent wrote passed its check; its steps start.
    PlanAccepted {
        step: StepPath,
        /// Number of the plan in this step, from 1.
        round: u32,
        plan: Arc<WrittenPlan>,
    },
    /// The plan that an agent wrote did not pass its check.
    PlanRefused {
        step: StepPath,
        /// Number that the plan would have had in this step, from 1.
        round: u32,
        /// The errors in the plan, as reported to its agent.
        findings: Vec<String>,
    },
    /// The steps of a plan have ended.
    PlanEnded { step: StepPath, round: u32 },
    /// The `check` agent of a `plan` step reported whether the work is done.
    PlanChecked {
        step: StepPath,
        /// Number of the plan that was checked.
        round: u32,
        fulfilled: bool,
        progress: String,
    },
    /// A table that the agent of a `task` step may use was inspected.
    TableDescribed {
        step: StepPath,
        table: String,
        /// Its columns, each with its type; the type is empty if it is unknown.
        columns: Vec<(String, String)>,
    },
    /// The agent of a `task` step answered: with code, which runs now, with its result, or with an unusable answer.
    TaskTried {
        step: StepPath,
        /// Number of the try in this step, from 1.
        number: u32,
        artefact: Arc<WrittenArtefact>,
        /// The result, if nothing has to run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<SharedValue>,
        /// Why the try failed before anything ran; empty: it did not fail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The code of a try of a `task` step ran.
    TaskExecuted {
        step: StepPath,
        number: u32,
        /// Its result; empty: it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<SharedValue>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Its printed output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        printed: String,
        /// Whether there were more rows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// Columns of its rows that the code derived from personal ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        personal: Vec<String>,
        /// Pictures that its code made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<PathBuf>,
    },
    /// The result of a try of a `task` step was judged. It is accepted if all criteria passed.
    TaskJudged { step: StepPath, number: u32, verdicts: Vec<Verdict> },
    /// An agent had its turn in a `dialogue` step.
    DialogueTurned {
        step: StepPath,
        turn: DialogueTurn,
        /// Signals to end the dialogue: the end word was said, or nothing new was said.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        signals: Vec<DialogueSignal>,
        /// Duration of the turn.
        duration_ms: u64,
        /// Its usage.
        usage: Usage,
    },
    /// The judge of a `dialogue` step reported whether the agents agree. `turns`: the number of turns so far.
    DialogueJudged { step: StepPath, turns: u32, agreed: bool, reason: String },
    /// A dialogue ended; no more turns follow. `reason`: why, in a sentence.
    DialogueClosed { step: StepPath, ended: DialogueEnd, reason: String },
    /// A model was called.
    ModelCalled {
        step: StepPath,
        call: u64,
        agent: String,
        /// The name of the model in the file.
        model: String,
        purpose: Purpose,
        /// Number of the attempt of this request, from 1.
        attempt: u32,
        /// Starts a new conversation, without the earlier messages.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fresh: bool,
        /// Index among the models tried: 0, then the `fallback` models.
        #[serde(default)]
        fallback: usize,
        timeout_at_ms: u64,
        /// Messages added to the earlier ones.
        messages: Vec<Arc<Message>>,
        /// A scripted reply was used.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        scripted: bool,
        /// Tokens reserved for the worst case.
        reserved_tokens: u64,
        /// US dollars reserved for the worst case; 0 for a model without a price.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        reserved_usd: f64,
    },
    /// The model replied, or failed.
    ModelReplied {
        step: StepPath,
        call: u64,
        reply: ModelAnswer,
        duration_ms: u64,
        #[serde(default)]
        usage: Usage,
    },
    /// An answer of a model was not read literally; only one reading was possible.
    AnswerRead {
        step: StepPath,
        /// One phrase per deviation, with the place and without values.
        notes: Vec<String>,
    },
    /// An external call was made: a tool, a query, a request, a file or a delivery.
    ToolCalled {
        step: StepPath,
        call: u64,
        /// `sql`, `http`, `read`, `send`, or the tool.
        tool: String,
        /// The arguments, without secrets.
        with: Value,
        timeout_at_ms: u64,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
    },
    /// The call returned, or failed. Without a `tool_called` before it, the call was not made.
    ToolReplied {
        step: StepPath,
        call: u64,
        /// Why it failed; empty: it did not fail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        duration_ms: u64,
        /// The result that an agent receives; empty for calls of steps, whose `step_succeeded` holds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Columns of its rows that a query derived from personal ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        personal: Vec<String>,
        /// Files of pictures that an agent receives with it, named by their content.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<PathBuf>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
    },
    /// The tools of an MCP server were requested.
    ToolsAsked {
        step: StepPath,
        call: u64,
        /// The name of the server among the tools of the file.
        server: String,
        timeout_at_ms: u64,
    },
    /// The server listed its tools. The list is valid for the rest of this pipeline's run.
    ToolsListed {
        step: StepPath,
        call: u64,
        server: String,
        /// The protocol version in use.
        version: String,
        /// Hash of its whole list.
        hash: String,
        /// The tools that the file may use.
        tools: Vec<Arc<ServerTool>>,
        /// The server's instructions as a whole, if agents receive them.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        instructions: String,
        /// Tools that the file could use if they were pinned.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unpinned: Vec<String>,
        /// Why an optional server is missing: it has no tools in this run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        absent: Option<Failure>,
        duration_ms: u64,
    },
    /// An MCP server did something other than answer: it made a request that was rejected, or wrote something that is not a message.
    ServerNoted {
        /// The step whose call was open.
        step: StepPath,
        call: u64,
        server: String,
        what: String,
    },
    /// An MCP server asks a person before it continues with a call. The call has ended, and is repeated with the answers.
    ServerAsked {
        step: StepPath,
        call: u64,
        /// The tool, as the file names it: `server.tool`.
        tool: String,
        asks: Box<ServerQuestions>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
    },
    /// A policy, or the default rule without one, decided whether an act is allowed.
    PolicyDecided {
        /// The step that requests the act.
        step: StepPath,
        /// The agent that requested the act; empty: the step itself.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        act: ActKind,
        /// The tool, host or path.
        target: String,
        allowed: bool,
        /// The rule that decided: policy and key.
        rule: String,
        /// The person who decided, if the rule requires one; empty: nobody was asked, or the person is unknown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        by: String,
    },
    /// All criteria passed.
    GatePassed {
        step: StepPath,
        /// 1, or 2 after the refinement.
        round: u32,
        verdicts: Vec<Verdict>,
    },
    /// A criterion did not pass.
    GateFailed {
        step: StepPath,
        /// 1, or 2 after the refinement.
        round: u32,
        /// The verdicts; empty for a second round that could not be finished.
        verdicts: Vec<Verdict>,
        /// Whether this is final: no refinement follows.
        for_good: bool,
        /// What was asked, for the failure record.
        question: Value,
        /// The value that was judged; null: nothing, because the second round could not be finished.
        judged: Value,
        /// The cause in one sentence.
        cause: String,
    },
    /// The refinement started; there is at most one.
    RefinementStarted {
        step: StepPath,
        /// The step that runs once more.
        target: StepPath,
        /// Its first output.
        original: SharedValue,
        failed: Vec<Verdict>,
        /// All feedback as one text.
        feedback: String,
    },
    /// The pipeline (of the run, or a called one) moved on to its `on_failure` or `finally` steps.
    StageStarted {
        /// The path of the call; empty for the run.
        step: StepPath,
        stage: Stage,
        /// The status of the steps before.
        status: RunStatus,
        /// The value of `failure` in this stage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<StepFailure>,
    },
    /// A bound was reached.
    LimitReached {
        /// The step whose bound it is; empty: the run's.
        step: StepPath,
        limit: Limit,
        message: String,
    },
    /// The end of the run was requested.
    CancelRequested {
        by: Canceller,
        /// Set while calls that may act are open: nothing new starts, and the rest is cancelled at [`Happening::GraceEnded`], at the latest
        /// at this time, in milliseconds since the run started. `None`: everything is cancelled now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits_until_ms: Option<u64>,
    },
    /// The calls that were open when the end was requested have returned, or their time ended; the rest is cancelled now.
    GraceEnded,
    /// A call that may have acted was abandoned before it returned: it is unknown whether it acted. If its step continues, it repeats the
    /// call with the same idempotency key.
    OutcomeUnknown { step: StepPath, call: u64 },
    /// The run resumes after its process ended, or after a wait for an answer with a time limit. Open calls are lost, and their steps
    /// continue from there. A run that a signal ended resumes from where it was.
    RunResumed {
        /// How long the run was not running, by wall-clock time; a `wait` ends that much earlier.
        away_ms: u64,
    },
    /// A person must decide: about a step that was started before a crash and must not run again without consent (`once`), about one call
    /// of a tool (`approve`, `approval_required`), or about the question of an `approval` step.
    ApprovalRequested {
        step: StepPath,
        /// The text of the question.
        question: String,
        /// For a call: the only call that the answer is valid for, as the SHA-256 of the tool's name and its arguments.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        act: String,
        /// For an `approval` step: the form that the person fills in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Box<FormRequest>>,
    },
    /// A person answered.
    ApprovalAnswered {
        step: StepPath,
        /// Whether to run it again, or make the call; if false it fails, unless there is an `output`.
        approved: bool,
        /// For a step in doubt: the output of its earlier run; it does not run again. For an `approval` step: the fields of the form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<SharedValue>,
        /// The person's comment.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        comment: String,
        /// The person who decided, if known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        by: String,
        /// Nobody could be asked, which counts as a no.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        nobody: bool,
    },
    /// Nothing is left to do until a person answers; the process ends.
    RunPaused,
    /// A reply arrived for a call that had ended.
    ReplyIgnored { call: u64 },
    /// A part was delivered.
    OutputWritten {
        step: StepPath,
        /// The receiver: `stdout` or the tool.
        to: String,
        /// Part number, from 1.
        part: u64,
        /// The receiver's id of the part; empty: it returned none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        id: String,
        /// The text that people read there, if the run belongs to a conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// For a mail: the recipients that the server accepted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accepted: Vec<String>,
        /// For a mail: the recipients that the server rejected and that received nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejected: Vec<RejectedRecipient>,
    },
    /// The run ended: the last event, unless a cancelled run continues (`run_resumed`).
    RunFinished(Box<RunEnd>),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunEnd {
    pub status: RunStatus,
    pub outputs: SharedValue,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<StepFailure>,
    /// Tokens and cost of all calls.
    pub usage: Usage,
    /// A gate passed only because its judge could not answer: review what it let through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
}

/// A failure and the step that caused it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepFailure {
    /// The step; empty: the run.
    pub step: StepPath,
    /// Why.
    #[serde(flatten)]
    pub failure: Failure,
}

/// The list of steps that a pipeline is running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the keys of a pipeline")]
pub enum Stage {
    #[default]
    Steps,
    OnFailure,
    Finally,
}
