//! What events say of models, tools and verdicts.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Failure;
use crate::model::MessageRole;

/// What a person is asked to fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormRequest {
    /// What the person sees beside the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
    /// The fields: the JSON Schema of an object. A field may have a `default`.
    pub fields: Value,
    /// When the time for an answer ends, in milliseconds since the run started; time while nothing ran counts. `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// A server asks it in the middle of a call, which ends with the process: the name of that call. Only there it can be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
}

impl FormRequest {
    /// The names of its fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str())
    }
}

/// A recipient of a mail whom the server rejected, while it accepted others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedRecipient {
    /// As it was given.
    pub recipient: String,
    /// What the server said.
    pub reason: String,
}

/// What an MCP server asks a person before it continues with a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerQuestions {
    /// One after the other; none: it only wants to be called again.
    pub questions: Vec<ServerQuestion>,
    /// What it wants back with the answers, as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The name of the call that is open until it is answered, if the server asks in the middle of it.
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
    /// The fields that it wants filled in: the JSON Schema of an object.
    pub fields: Value,
    /// The page that the person is to open themselves; then there are no fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What a model call gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelAnswer {
    /// An answer.
    Said {
        /// Its text.
        text: String,
        /// Tool calls it asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// Who answered, as the endpoint gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The session by which a program that is an agent can continue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Files that such a program made or changed in its folders.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// What its endpoint wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Arc<AnswerState>>,
        /// What was read otherwise than written, a phrase each, without values.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A failure.
    Failed(Failure),
}

/// What an endpoint wants back with an answer of its model, as it came: signatures of thoughts, and thoughts themselves. It is no text: nobody is
/// shown it, it is in no output, and it is sent to nobody but the model that it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerState {
    /// Which model of which endpoint it came from: a name that only the client of models understands.
    pub from: String,
    /// What it is, as the wire format has it.
    pub parts: Value,
}

/// A tool call a model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's id for it. In a reply it may be empty or used before; in events and requests each is there once in a conversation.
    pub id: String,
    /// Its name: in events that of the file; in requests and replies the one it was offered under.
    pub tool: String,
    /// Its arguments; a text when they were not a JSON object.
    pub arguments: Value,
}

/// A tool of an MCP server, as the server describes it: data, never rendered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerTool {
    /// Its name at the server.
    pub name: String,
    /// What the server says it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input: Value,
    /// JSON Schema of its structured results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Hash of all the server says of it.
    pub hash: String,
}

/// One message of a conversation with a model. Roles come from the file's structure only, never from text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: MessageRole,
    /// The text.
    pub text: String,
    /// Files of pictures beside it; the client reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PathBuf>,
    /// Tool calls the model made with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Which call a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Why the call failed whose result it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// What the endpoint that gave this answer wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Arc<AnswerState>>,
}

/// Tokens and money of one or more calls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// US dollars; `None`: unpriced or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What calls that told nothing may have used at most: what was set aside for them. Part of no sum.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub unknown_tokens: u64,
}

impl Usage {
    /// `unknown_tokens` of a call that told only a part of what it used: as many as were set aside for it.
    pub const PART: u64 = u64::MAX;

    /// All tokens.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds another call's; the cost is known while any part is.
    pub fn add(&mut self, other: &Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.unknown_tokens = self.unknown_tokens.saturating_add(other.unknown_tokens);
        if let Some(cost) = other.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }

    /// Of a count that goes on what came since another; a count that has less began anew.
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

/// The judgement of one criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The criterion.
    pub id: String,
    /// The file's scorecard it belongs to; empty: a step wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorecard: Option<String>,
    /// What was asked.
    pub description: String,
    /// What a good answer looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The answer; of one that was skipped `true`, since it holds nothing back.
    pub passed: bool,
    /// Its `when` was false: it was not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// What to do better.
    pub feedback: String,
    /// The place in the text it rests on.
    pub evidence: String,
    /// The judge could not answer and the scorecard lets that pass: look at it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
}
