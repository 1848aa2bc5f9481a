//! Steps and their kinds.

use std::sync::Arc;
use std::time::Duration;

use super::{Filling, GateStep, Method, PipelineId, PlanStep, Shape, StyleGuide, Text};
use crate::source::{Span, Spanned};

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its id; for `otherwise` of a route without id: `otherwise`.
    pub id: Spanned<String>,
    /// The whole step.
    pub span: Span,
    /// A title for people.
    pub name: Option<Text>,
    /// `needs` as written; `None`: the step above.
    pub needs: Option<Vec<Spanned<String>>>,
    /// Runs only if true.
    pub when: Option<Text>,
    /// Repeats the step for a list.
    pub for_each: Option<ForEach>,
    /// Time for one attempt.
    pub timeout: Option<Duration>,
    /// Time for all attempts and waits.
    pub deadline: Option<Duration>,
    /// Retries as written; see `Retry` for defaults by kind.
    pub retry: Option<Retry>,
    /// What a failure means for the run.
    pub on_failure: OnFailure,
    /// How long an equal step's result is used again.
    pub cache: Option<Duration>,
    /// Label in the record.
    pub phase: Option<String>,
    /// The output holds personal data.
    pub is_pii: bool,
    /// After a crash `flow` asks instead of running it again.
    pub is_once: bool,
    /// The kind's key and its value's place.
    pub kind_span: Span,
    /// What it does.
    pub kind: StepKind,
}

/// `for_each` and what goes with it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForEach {
    /// The list.
    pub list: Filling,
    /// The name beside `item`.
    pub name: Option<Spanned<String>>,
    /// Most elements at once.
    pub max_parallel: Option<u64>,
    /// Whether the first failure cancels the others.
    pub fail_fast: bool,
}

/// What a step's failure means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// Nothing new starts; the run fails.
    #[default]
    Stop,
    /// The run goes on and is `partial`.
    Continue,
    /// A later step that runs only then; the run is `partial`.
    Step(Spanned<String>),
}

/// Retries: of the same request, after a passing fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// All tries together, 1 or more.
    pub max_attempts: u64,
    /// First wait.
    pub delay: Duration,
    /// How waits grow.
    pub backoff: Backoff,
    /// Longest wait.
    pub max_delay: Duration,
    /// Whether waits are shortened by chance.
    pub jitter: bool,
    /// Failures that are tried again.
    pub on: Vec<FailureKind>,
}

/// How waits between tries grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Backoff {
    Fixed,
    Linear,
    Exponential,
}

/// What kind of failure a step met: the values of `retry.on`, then the others.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "docs/language.md explains each; see also the fault table there")]
pub enum FailureKind {
    RateLimited,
    ServerError,
    Connection,
    Timeout,
    BadResponse,
    UnknownOutcome,
    Auth,
    BadRequest,
    BadShape,
    Blocked,
    Denied,
    Limit,
    NoAnswer,
    NoCase,
    NotAccepted,
    Quality,
    Refused,
    Rejected,
    TooLarge,
    Truncated,
    Unavailable,
    WrongType,
    Internal,
}

impl FailureKind {
    /// How many may stand in `retry.on`: the first.
    pub const RETRYABLE: usize = 6;
}

/// The kinds of steps.
#[derive(Debug, Clone, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each is the kind of that name in docs/language.md, section 6")]
pub enum StepKind {
    Agent(AgentStep),
    Tool(ToolStep),
    Set(Filling),
    Http(HttpStep),
    Sql(SqlStep),
    Read(ReadStep),
    Plan(PlanStep),
    Route(RouteStep),
    Call(CallStep),
    Format(FormatStep),
    Gate(GateStep),
    Send(SendStep),
    /// `wait: 5m`, or a time as text.
    Wait(Filling),
    Stop(StopStep),
    /// The kind could not be read or is not yet available; reported. It still counts as a known step.
    #[strum(serialize = "?")]
    Broken,
}

impl StepKind {
    /// The key of the kind.
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

/// `agent`: one model with a prompt.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct AgentStep {
    pub agent: Spanned<String>,
    pub prompt: Text,
    pub model: Option<Text>,
    pub output: Option<Shape>,
    pub attach: Option<Filling>,
}

/// `tool`: one call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStep {
    /// `tool` or `server.tool`.
    pub tool: Spanned<String>,
    /// Arguments.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Shape of the result.
    pub output: Option<Shape>,
    /// Key for receivers that know keys.
    pub idempotency_key: Option<Text>,
}

/// `http`: one request.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct HttpStep {
    pub method: Method,
    pub url: Text,
    pub headers: Vec<(String, Text)>,
    pub query: Vec<(String, Filling)>,
    pub body: Option<Filling>,
    pub output: Option<Shape>,
    pub idempotency_key: Option<Text>,
}

/// `sql`: one query over `data` and tables read before.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlStep {
    /// The query; plain text, never a template.
    pub query: Text,
    /// Values for `$name`.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Only the first row.
    pub one: bool,
    /// Most rows (1,000).
    pub max_rows: Option<u64>,
}

/// `read`: files into text and tables.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadStep {
    /// A path or a list of paths.
    pub paths: Filling,
    /// `text`, `table`, `document` or `image`, when guessing is wrong.
    pub kind: Option<Spanned<String>>,
}

/// `route`: the first case that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteStep {
    /// Where phrases are looked for.
    pub subject: Text,
    /// The cases in order.
    pub cases: Vec<Case>,
    /// What is done when none fits; its id is `otherwise`.
    pub otherwise: Option<Case>,
}

/// One case of a route.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its id.
    pub id: Spanned<String>,
    /// Fits when one of these occurs in the subject.
    pub phrases: Vec<Spanned<String>>,
    /// Fits when this is true.
    pub when: Option<Text>,
    /// The one step it is (with the case's own id), or its `steps`.
    pub steps: Vec<Arc<Step>>,
    /// Whether it has `steps`: then paths are `route/case/step`, else `route/case`.
    pub has_steps: bool,
}

/// `call`: another pipeline as a step.
#[derive(Debug, Clone, PartialEq)]
pub struct CallStep {
    /// The file as written.
    pub file: Spanned<String>,
    /// What it names; `None`: could not be read, reported.
    pub pipeline: Option<PipelineId>,
    /// Its inputs.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Its channel; `None`: the run's, if it lists that.
    pub channel: Option<Spanned<String>>,
}

/// `format`: a text for one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct FormatStep {
    /// The text.
    pub text: Text,
    /// Another channel than the run's.
    pub channel: Option<Arc<super::Channel>>,
    /// Another style guide than the file's.
    pub style_guide: Option<Arc<StyleGuide>>,
}

/// `send`: to `stdout` or a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct SendStep {
    /// `stdout` or the name of a tool.
    pub to: Spanned<String>,
    /// Parts (of a `format` output) or text.
    pub of: Text,
    /// `to`, `subject`, `name`.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Key for receivers that know keys.
    pub idempotency_key: Option<Text>,
}

/// `stop`: ends the run.
#[derive(Debug, Clone, PartialEq)]
pub struct StopStep {
    /// `succeeded` (true) or `failed`.
    pub succeeds: bool,
    /// Becomes the failure's message.
    pub reason: Option<Text>,
}
