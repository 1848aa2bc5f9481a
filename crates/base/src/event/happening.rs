//! The events, and the small types they carry.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Canceller, Failure, FormRequest, Limit, Message, ModelAnswer, Purpose, RejectedRecipient, RunStart, RunStatus, ServerQuestions,
    ServerTool, Usage, Verdict,
};
use crate::model::{ActKind, DialogueEnd, DialogueSignal, DialogueTurn, StepStatus, WrittenArtefact, WrittenPlan};

/// Version of the event format, `v` in each line.
pub const VERSION: u32 = 1;

/// A step's place in a run: `work/fetch`, `facts/today`, `each[2]`. The empty path is the run itself.
pub type StepPath = Arc<str>;

/// A value that events and state share.
pub type SharedValue = Arc<Value>;

/// What an earlier run left of an element, or of a step in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptState {
    /// It succeeded, and is not done again.
    Done,
    /// It is `once` and may have acted: a person decides.
    InDoubt,
    /// It runs again.
    Open,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`VERSION`].
    pub v: u32,
    /// From 1, without gaps; gives the order.
    pub seq: u64,
    /// For people only.
    pub time: DateTime<Utc>,
    /// Milliseconds since the run started, by a clock that never jumps.
    pub at_ms: u64,
    /// The run.
    pub run: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub happening: Happening,
}

/// What happened. The fields that most have: `step`, the step it is about; `call`, the number of the call in this run, from 1; `attempt`, which try,
/// from 1; `asked`, of a call that an agent asked for its place among the calls of the model's last answer, from 0; `…_at_ms` and `until_ms`, in
/// milliseconds since the run started; `failure`, why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the others are explained above")]
pub enum Happening {
    /// The run began; always the first.
    RunStarted(Box<RunStart>),
    /// A step, or an element of a `for_each`, began an attempt.
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
    /// A called pipeline began: of a `call`, or of a tool that is a pipeline.
    CallOpened {
        step: StepPath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
        /// Its name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pipeline: String,
        inputs: SharedValue,
        channel: Option<String>,
        /// Who it is for.
        person: SharedValue,
    },
    /// A try failed and another follows.
    AttemptFailed {
        step: StepPath,
        attempt: u32,
        failure: Failure,
        /// When the next try starts, in milliseconds since the run started.
        retry_at_ms: u64,
    },
    /// A `wait` step waits.
    StepPaused { step: StepPath, until_ms: u64 },
    /// A step ended well.
    StepSucceeded { step: StepPath, output: SharedValue, details: SharedValue },
    /// A step failed for good.
    StepFailed {
        step: StepPath,
        failure: Failure,
        attempts: u32,
        /// Its details, where it has some.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<SharedValue>,
    },
    /// What an earlier run, which this one retries, left of an element of a `for_each`, or of a step in one that failed.
    ResultKept {
        /// Its path in that run.
        step: StepPath,
        state: KeptState,
        /// Of an element: what it is about.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        item: SharedValue,
        /// Of an element: the run and the path that its own idempotency keys are made of.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        key_run: String,
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        key_step: StepPath,
        /// Of one that is done, its output.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        output: SharedValue,
        /// Of one that is done, its details.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        details: SharedValue,
    },
    /// A step was left out: its `when` was false, or a `stop` ended the run before it, or nothing failed that it stands in for.
    StepSkipped { step: StepPath },
    /// A step cannot run, since what it needs did not end well.
    StepBlocked {
        step: StepPath,
        /// The step that is in its way; empty when the run stops.
        by: StepPath,
    },
    /// A step was ended from outside: a person, a limit, a failed sibling.
    StepCancelled {
        step: StepPath,
        /// What may be read of it all the same: of a dialogue what was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<SharedValue>,
    },
    /// A kept result of an equal step is looked for.
    CacheAsked {
        step: StepPath,
        /// Number of the call in this run.
        call: u64,
        /// What a result would be kept under.
        key: String,
        timeout_at_ms: u64,
    },
    /// No result of an equal step is kept, so the step does its work.
    CacheMissed { step: StepPath, call: u64 },
    /// A route chose.
    CaseChosen {
        step: StepPath,
        /// Its case, or `otherwise`.
        case: String,
    },
    /// The steps of a group, or of a round of a `repeat`, run now.
    StepsOpened {
        step: StepPath,
        /// Which round, from 1; of a group 1.
        round: u32,
        /// Rounds in a row, up to the one before, after which all that `until` reads was as after the round before them.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        unchanged: u32,
    },
    /// The plan that an agent wrote passed its check; its steps run now.
    PlanAccepted {
        step: StepPath,
        /// Which plan of this step, from 1.
        round: u32,
        plan: Arc<WrittenPlan>,
    },
    /// The plan that an agent wrote did not pass its check.
    PlanRefused {
        step: StepPath,
        /// Which plan of this step it would have been, from 1.
        round: u32,
        /// What is wrong with it, as its agent is reported.
        findings: Vec<String>,
    },
    /// The steps of a plan have ended.
    PlanEnded { step: StepPath, round: u32 },
    /// The `check` agent of a `plan` step said whether the work is done.
    PlanChecked {
        step: StepPath,
        /// After which plan.
        round: u32,
        fulfilled: bool,
        progress: String,
    },
    /// A table that the agent of a `task` step may use was looked at.
    TableDescribed {
        step: StepPath,
        table: String,
        /// Its columns, each with its type; the type is empty where it is not known.
        columns: Vec<(String, String)>,
    },
    /// The agent of a `task` step answered: with code, which runs now, with its result, or with what cannot be used.
    TaskTried {
        step: StepPath,
        /// Which try of this step, from 1.
        number: u32,
        artefact: Arc<WrittenArtefact>,
        /// The result, where nothing has to run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<SharedValue>,
        /// Why the try failed before anything ran; empty: it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The code of a try of a `task` step ran.
    TaskExecuted {
        step: StepPath,
        number: u32,
        /// What it gave; empty: it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<SharedValue>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What it printed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        printed: String,
        /// Whether there were more rows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// Columns of its rows that it made of personal ones.
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
        /// What speaks for an end: the word was said, or nothing new was.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        signals: Vec<DialogueSignal>,
        /// Time from the start of the turn to its end.
        duration_ms: u64,
        /// What it cost.
        usage: Usage,
    },
    /// The judge of a `dialogue` step said whether the agents agree. `turns`: so many were there.
    DialogueJudged { step: StepPath, turns: u32, agreed: bool, reason: String },
    /// A `dialogue` step takes no more turns. `reason`: why, in a sentence.
    DialogueClosed { step: StepPath, ended: DialogueEnd, reason: String },
    /// A model was asked.
    ModelCalled {
        step: StepPath,
        call: u64,
        agent: String,
        /// The name of the model in the file.
        model: String,
        purpose: Purpose,
        /// Which try of this request, from 1.
        attempt: u32,
        /// Starts a new conversation: the messages before do not count.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fresh: bool,
        /// Its place among the models tried: 0, then the `fallback` models.
        #[serde(default)]
        fallback: usize,
        timeout_at_ms: u64,
        /// Messages added to the ones before.
        messages: Vec<Arc<Message>>,
        /// Answered from a scripted reply.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        scripted: bool,
        /// Tokens set aside for the worst case.
        reserved_tokens: u64,
        /// US dollars set aside for it; 0 for a model without a price.
        #[serde(default, skip_serializing_if = "crate::model::is_default")]
        reserved_usd: f64,
    },
    /// The model answered, or failed.
    ModelReplied {
        step: StepPath,
        call: u64,
        reply: ModelAnswer,
        duration_ms: u64,
        #[serde(default)]
        usage: Usage,
    },
    /// An answer of a model was read otherwise than to the letter, where only one reading is possible.
    AnswerRead {
        step: StepPath,
        /// A phrase each, with the place and without values.
        notes: Vec<String>,
    },
    /// Something outside was asked: a tool, a query, a request, a file, a sending.
    ToolCalled {
        step: StepPath,
        call: u64,
        /// `sql`, `http`, `read`, `send`, or the tool.
        tool: String,
        /// What it was given, without secrets.
        with: Value,
        timeout_at_ms: u64,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
    },
    /// It answered, or failed. Without a `tool_called` before it: it was not made.
    ToolReplied {
        step: StepPath,
        call: u64,
        /// Why it failed; empty: it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        duration_ms: u64,
        /// What an agent is shown; empty for calls of steps, whose `step_succeeded` has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Columns of its rows that a query made of personal ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        personal: Vec<String>,
        /// Files of pictures that an agent is shown beside it, named by their content.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<PathBuf>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
    },
    /// An MCP server was asked for its tools.
    ToolsAsked {
        step: StepPath,
        call: u64,
        /// The tool of the file that is the server.
        server: String,
        timeout_at_ms: u64,
    },
    /// The server told its tools. They hold for the rest of this pipeline's run.
    ToolsListed {
        step: StepPath,
        call: u64,
        server: String,
        /// The protocol that is spoken with it.
        version: String,
        /// Hash of its whole list.
        hash: String,
        /// Those that the file may use.
        tools: Vec<Arc<ServerTool>>,
        /// What it says of itself as a whole, if agents are told that.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        instructions: String,
        /// Those that it could use if they were pinned.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unpinned: Vec<String>,
        /// Why an optional server is not there: it has no tools in this run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        absent: Option<Failure>,
        duration_ms: u64,
    },
    /// An MCP server did something else than answering: it asked for something and was rejected, or wrote what is no message.
    ServerNoted {
        /// The step whose call was out.
        step: StepPath,
        call: u64,
        server: String,
        what: String,
    },
    /// An MCP server asks a person before it continues with a call. The call has ended, and is made again with the answers.
    ServerAsked {
        step: StepPath,
        call: u64,
        /// The tool, as the file names it: `server.tool`.
        tool: String,
        asks: Box<ServerQuestions>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<usize>,
    },
    /// A policy, or the rule that holds without one, was asked whether something may be done.
    PolicyDecided {
        /// The step that wants it.
        step: StepPath,
        /// The agent that asked for it; empty: the step itself.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        act: ActKind,
        /// The tool, host or path.
        target: String,
        allowed: bool,
        /// The rule that gave it: policy and key.
        rule: String,
        /// The person who decided, where the rule asks one; empty: nobody was asked, or it is not known who.
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
        /// None of a second round that could not be finished.
        verdicts: Vec<Verdict>,
        /// For good: no refinement follows.
        for_good: bool,
        /// What was asked, for the failure record.
        question: Value,
        /// What was judged; null: nothing, since the second round could not be finished.
        judged: Value,
        /// The cause in one sentence.
        cause: String,
    },
    /// The one refinement began.
    RefinementStarted {
        step: StepPath,
        /// The step that tries once more.
        target: StepPath,
        /// Its first output.
        original: SharedValue,
        failed: Vec<Verdict>,
        /// All feedback as one text.
        feedback: String,
    },
    /// The pipeline (of the run, or called) went on to its `on_failure` or `finally` steps.
    StageStarted {
        /// The path of the call; empty for the run.
        step: StepPath,
        stage: Stage,
        /// How the steps before ended.
        status: RunStatus,
        /// What the stage may read as `failure`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<StepFailure>,
    },
    /// A bound was reached.
    LimitReached {
        /// Whose bound; empty: the run's.
        step: StepPath,
        limit: Limit,
        message: String,
    },
    /// The run was asked to end.
    CancelRequested {
        by: Canceller,
        /// Calls that may act are out: nothing new starts, and the rest is cancelled at [`Happening::GraceEnded`], at the latest at this time,
        /// in milliseconds since the run started. `None`: it is cancelled now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits_until_ms: Option<u64>,
    },
    /// What was out when the run was asked to end has answered, or its time has ended; the rest is cancelled now.
    GraceEnded,
    /// A call that may have acted was given up before it answered: whether it acted is not known. If its step continues, it makes the call
    /// again with the same idempotency key.
    OutcomeUnknown { step: StepPath, call: u64 },
    /// The run continues after its process ended, or after it waited for an answer whose time is bounded: calls that were out are lost, their steps continue from there. A run that a signal had
    /// ended continues from where it was when the signal came.
    RunResumed {
        /// How long nothing ran, by the clock of people; a `wait` ends that much earlier.
        away_ms: u64,
    },
    /// A person decides: about a step that was started before a crash and must not be run again unasked (`once`), about one call
    /// of a tool (`approve`, `approval_required`), or what an `approval` step asks.
    ApprovalRequested {
        step: StepPath,
        /// What is asked.
        question: String,
        /// Of a call: what the answer is for, and for nothing else. The SHA-256 of the tool's name and its arguments.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        act: String,
        /// Of an `approval` step: what the person fills in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Box<FormRequest>>,
    },
    /// A person decided.
    ApprovalAnswered {
        step: StepPath,
        /// Run it again, or make the call; else it fails, unless there is an `output`.
        approved: bool,
        /// Of a step in doubt: it has happened, and this is what it gave. It is not run again. Of an `approval` step: the form's fields.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<SharedValue>,
        /// What the person says about it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        comment: String,
        /// Who decided, where that is known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        by: String,
        /// Nobody could be asked, which counts as a no.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        nobody: bool,
    },
    /// Nothing is left to do before a person has decided; the process ends.
    RunPaused,
    /// An answer came for a call that was over.
    ReplyIgnored { call: u64 },
    /// A part was delivered.
    OutputWritten {
        step: StepPath,
        /// Where to: `stdout` or the tool.
        to: String,
        /// Part number, from 1.
        part: u64,
        /// The receiver's id for it; empty: it gave none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        id: String,
        /// What people read there, of a run that is part of a conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Of a mail: the recipients that the server accepted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accepted: Vec<String>,
        /// Of a mail: the recipients that the server rejected, who got nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejected: Vec<RejectedRecipient>,
    },
    /// The run ended: the last event, unless a cancelled run continues (`run_resumed`).
    RunFinished(Box<RunEnd>),
}

impl Happening {
    /// The step whose status it changes, and its status then.
    pub fn step_status(&self) -> Option<(&StepPath, StepStatus)> {
        Some(match self {
            Happening::StepStarted { step, .. } => (step, StepStatus::Running),
            Happening::StepSucceeded { step, .. } => (step, StepStatus::Succeeded),
            Happening::StepFailed { step, .. } => (step, StepStatus::Failed),
            Happening::StepSkipped { step } => (step, StepStatus::Skipped),
            Happening::StepBlocked { step, .. } => (step, StepStatus::Blocked),
            Happening::StepCancelled { step, .. } => (step, StepStatus::Cancelled),
            _ => return None,
        })
    }
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
    /// Tokens and money of all calls.
    pub usage: Usage,
    /// A gate passed only because its judge could not answer: look at what it let through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
}

/// A failure and the step it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepFailure {
    /// The step; empty: the run.
    pub step: StepPath,
    /// Why.
    #[serde(flatten)]
    pub failure: Failure,
}

/// Which list of steps a pipeline is at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the keys of a pipeline")]
pub enum Stage {
    #[default]
    Steps,
    OnFailure,
    Finally,
}
