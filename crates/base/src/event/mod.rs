//! The events of a run: a closed, versioned enum. Their journal is the only record of a run.
//!
//! How to add an event: a variant of [`Happening`], its line in `texts.rs`, its arm in `engine::apply`, a line in `docs/events.md`.

mod conversation;
mod details;
mod failure;
mod happening;
mod limit;
mod marks;
mod parts;
mod results;
mod start;
mod status;
mod texts;
mod trace;

has_word!(Purpose, Bound, Canceller, RunStatus, StepStatus);

pub use crate::model::StepStatus;
pub use crate::model::{MessageRole, Purpose};
pub use conversation::ConversationSoFar;
pub use details::StepDetails;
pub use failure::{Failure, FailureKind};
pub use happening::{Event, Happening, KeptState, RunEnd, SharedValue, Stage, StepFailure, StepPath, VERSION};
pub use limit::{Bound, Canceller, Limit};
pub use marks::Marks;
pub use parts::{
    AnswerState, FormRequest, Message, ModelAnswer, RejectedRecipient, ServerQuestion, ServerQuestions, ServerTool, ToolCall, Usage,
    Verdict,
};
pub use results::{
    AcceptedArtefact, CallDetails, CommonDetails, Delivery, DialogueDetails, DialogueOutput, DialogueSaid, GateDetails, HttpOutput,
    ListDetails, MailDelivery, ModelDetails, PipelineFailure, PlainDelivery, PlanDetails, PlanOutput, PlanResult, PythonDetails,
    ReadDetails, RepeatDetails, RouteDetails, SearchDetails, SendOutput, SqlDetails, StepError, StopDetails, TaskDetails, TaskOutput,
    TaskRows, ToolUse, TryDetails, TurnOutput, UnmetCriterion, UsageDetails,
};
pub use start::{RunOrigin, RunStart, StyleUsed, TapeOf};
pub use status::{NOT_STARTED, RunStatus};
pub use texts::{HasTexts, TextHolds, TextMut};
pub use trace::{TraceContext, span_id, trace_id};
