//! Steps and their kinds.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::{Filling, StepKind, Text};
use crate::source::{Span, Spanned};

/// One step.
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// Where that is written; of a step that does not say it, the step.
    pub timeout_span: Span,
    /// Time for all attempts and waits.
    pub deadline: Option<Duration>,
    /// Retries as written; see `Retry` for defaults by kind.
    pub retry: Option<Retry>,
    /// What a failure means for the run.
    pub on_failure: OnFailure,
    /// Where that is written; of a step that does not say it, the step.
    pub on_failure_span: Span,
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

impl Step {
    /// Whether its author gave it an id; else it is called by its number, and nothing can read it.
    pub fn is_named(&self) -> bool {
        self.id.span != self.span
    }

    /// The steps that run only in its place: of `on_failure`, and of `on_timeout` of an approval. Each with its key.
    pub fn stand_ins(&self) -> impl Iterator<Item = (&'static str, &Spanned<String>)> {
        let after_failure = if let OnFailure::Step(step) = &self.on_failure { Some(("on_failure", step)) } else { None };
        after_failure.into_iter().chain(self.after_silence().map(|step| ("on_timeout", step)))
    }

    /// The step that runs in its place when it failed so.
    pub fn stand_in_after(&self, failure: FailureKind) -> Option<&Spanned<String>> {
        let after_silence = self.after_silence().filter(|_| failure == FailureKind::Timeout);
        after_silence.or(if let OnFailure::Step(step) = &self.on_failure { Some(step) } else { None })
    }

    /// Whether `on_failure: continue` says nothing here: nothing goes on behind a gate that was not met. With `for_each` the other elements do.
    pub fn continues_in_vain(&self) -> bool {
        self.on_failure == OnFailure::Continue && matches!(self.kind, StepKind::Gate(_)) && self.for_each.is_none()
    }

    /// Whether the list that the step stands in goes on when it failed so.
    pub fn allows(&self, failure: FailureKind) -> bool {
        self.stand_in_after(failure).is_some() || self.on_failure == OnFailure::Continue && !self.continues_in_vain()
    }

    fn after_silence(&self) -> Option<&Spanned<String>> {
        if let StepKind::Approval(approval) = &self.kind { approval.on_timeout.as_ref() } else { None }
    }
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
    /// It could not be read, which was reported: nothing is known of its list, its elements and their name.
    pub is_broken: bool,
}

/// What a step's failure means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// Nothing new starts; the run fails.
    #[default]
    Stop,
    /// The run continues and is `partial`.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Backoff {
    Fixed,
    Linear,
    Exponential,
}

/// Status of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the language; see docs/events.md")]
pub enum StepStatus {
    #[default]
    Pending,
    Running,
    Waiting,
    Succeeded,
    Failed,
    Skipped,
    Blocked,
    Cancelled,
}

impl StepStatus {
    /// How a step that others can read has ended: the words of `steps.<id>.status`.
    pub const ENDED: &[&str] = StepStatus::VARIANTS.split_at(3).1;

    /// Whether nothing follows.
    pub fn is_final(self) -> bool {
        !matches!(self, StepStatus::Pending | StepStatus::Running | StepStatus::Waiting)
    }
}

/// What kind of failure a step met: the values of `retry.on`, then the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, EnumString, VariantNames)]
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
    Program,
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
    /// Those that may be in `retry.on`: the first.
    pub const RETRYABLE: &[&str] = FailureKind::VARIANTS.split_at(6).0;
}
