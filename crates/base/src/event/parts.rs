//! Models, tools and verdicts in events.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Failure;
use crate::model::MessageRole;

/// A form for a person to fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormRequest {
    /// Text that the person sees beside the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
    /// The fields: the JSON Schema of an object. A field may have a `default`.
    pub fields: Value,
    /// When the time to answer ends, in milliseconds since the run started, including time while nothing runs. `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// The name of the call during which a server asks. The call ends with the process, so only this process can take the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
}

impl FormRequest {
    /// Returns the names of its fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str())
    }
}

/// A mail recipient that the server rejected while it accepted others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedRecipient {
    /// The recipient as written.
    pub recipient: String,
    /// The reason that the server returned.
    pub reason: String,
}

/// Questions of an MCP server to a person before it continues with a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerQuestions {
    /// Asked one after the other; empty: the server only wants to be called again.
    pub questions: Vec<ServerQuestion>,
    /// The state that the server wants back unchanged with the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The name of the call that stays open until the answer, if the server asks during the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
}

/// One question of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerQuestion {
    /// The server's name for it.
    pub id: String,
    /// Its text.
    pub message: String,
    /// The requested fields: the JSON Schema of an object.
    pub fields: Value,
    /// A page that the person opens instead; there are no fields then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The result of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelAnswer {
    /// An answer.
    Said {
        /// Its text.
        text: String,
        /// Requested tool calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// The model that answered, as the endpoint reported it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The session with which an agent program can continue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Files that an agent program created or changed in its folders.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// State that its endpoint wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Arc<AnswerState>>,
        /// Deviations from literal reading, one phrase each, without values.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A failure.
    Failed(Failure),
}

/// State that an endpoint wants back unchanged with an answer of its model: signatures of thoughts, and thoughts. It is never shown, is in
/// no output, and is sent only to the model that it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerState {
    /// The model and endpoint it came from, as a name that only the model client understands.
    pub from: String,
    /// The state in the wire format.
    pub parts: Value,
}

/// A tool call that a model requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's id of the call. In a reply it may be empty or reused; in events and requests it is unique within a conversation.
    pub id: String,
    /// The tool: in events its name in the file; in requests and replies the name it was offered under.
    pub tool: String,
    /// Its arguments; a text if they were not a JSON object.
    pub arguments: Value,
}

/// A tool of an MCP server as the server describes it: data, never rendered as a template.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerTool {
    /// Its name on the server.
    pub name: String,
    /// The server's description of it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input: Value,
    /// JSON Schema of its structured results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Hash of everything the server states about it.
    pub hash: String,
}

/// One message of a conversation with a model. Roles come only from the structure of the file, never from text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Message {
    /// The role of the speaker.
    pub role: MessageRole,
    /// The text.
    pub text: String,
    /// Files of pictures attached to it; the client reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PathBuf>,
    /// Tool calls that the model requested with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// For a tool message: the id of the call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// For the result of a failed call: why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// State that the endpoint of this answer wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Arc<AnswerState>>,
}

/// Tokens and cost of one or more calls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// US dollars; `None`: unpriced or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Upper bound for the tokens of calls without a report: what was reserved for them. Not included in any sum.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub unknown_tokens: u64,
}

impl Usage {
    /// `unknown_tokens` of a call that reported only part of its usage: all tokens reserved for it.
    pub const PART: u64 = u64::MAX;

    /// Returns input and output tokens together.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds the usage of another call; the cost is known if any part of it is.
    pub fn add(&mut self, other: &Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.unknown_tokens = self.unknown_tokens.saturating_add(other.unknown_tokens);
        if let Some(cost) = other.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }

    /// Returns the usage since `before`, for a running count. A count that is smaller than before has restarted.
    pub fn since(&self, before: &Usage) -> Usage {
        let grows = self.input_tokens >= before.input_tokens && self.output_tokens >= before.output_tokens;
        let tokens = if grows { *before } else { Usage::default() };
        let cost = |cost: f64| before.cost_usd.filter(|before| *before <= cost).map_or(cost, |before| cost - before);
        Usage {
            input_tokens: self.input_tokens - tokens.input_tokens,
            output_tokens: self.output_tokens - tokens.output_tokens,
            cost_usd: self.cost_usd.map(cost),
            unknown_tokens: self.unknown_tokens,
        }
    }
}

/// The verdict on one criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The criterion.
    pub id: String,
    /// The scorecard of the file that contains it; empty: a step defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorecard: Option<String>,
    /// The question to the judge.
    pub description: String,
    /// What a good answer looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The answer; `true` for a skipped criterion, because it blocks nothing.
    pub passed: bool,
    /// Its `when` was false, so it was not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Advice for improvement.
    pub feedback: String,
    /// The place in the text that supports the verdict.
    pub evidence: String,
    /// The judge could not answer and the scorecard lets that pass: a person should review it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
}
