//! Calls of language models.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{AgentDecision, Pending};
use crate::event::{AnswerState, Failure, Message, ToolCall, TraceContext, Usage};
use crate::model::{Addition, HostSource, Reasoning, Service, ToolCalls, WireFormat};

/// A secret value: `Debug`, `Display` and `Serialize` give `***`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value in.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

/// A tool a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDescription {
    /// Name as the wire wants it (`[A-Za-z0-9_-]{1,64}`).
    pub name: String,
    /// One or more sentences.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// What the endpoint of a model wants beside the messages; see [`EndpointSettings`](crate::model::EndpointSettings).
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names of the settings")]
pub struct EndpointOptions {
    /// The service that the file names; `None`: an endpoint of a test.
    pub service: Option<Service>,
    pub headers: Vec<(String, Secret)>,
    /// Percent-encoded, without `?`.
    pub query: String,
    pub reasoning: Option<Reasoning>,
    pub context: Option<u64>,
    pub extra: Map<String, Value>,
    pub omit: Option<Vec<Addition>>,
}

/// One call of a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// How the endpoint is spoken to.
    pub wire: WireFormat,
    /// Base URL without a trailing `/`.
    pub base_url: String,
    /// Who named its host.
    pub host_from: HostSource,
    /// The provider's name of the model.
    pub model: String,
    /// The key; `None`: no authorisation header.
    pub api_key: Option<Secret>,
    /// What its endpoint wants beside the messages.
    pub endpoint: EndpointOptions,
    /// System, user, assistant and tool messages in order.
    pub messages: Vec<Arc<Message>>,
    /// JSON Schema the answer must fit; asked of the endpoint where it can enforce it. The engine checks it again.
    pub schema: Option<Value>,
    /// Tools offered.
    pub tools: Vec<Arc<ToolDescription>>,
    /// Whether tools are asked for in the endpoint's own way, or in the text of the answer.
    pub tool_calls: ToolCalls,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens of the answer.
    pub max_output_tokens: Option<u64>,
    /// What the answer is, where `max_output_tokens` is a default of flow for it; `None`: an author or a person set it, or nothing bounds it.
    pub bounded_as: Option<&'static str>,
    /// Seed.
    pub seed: Option<i64>,
    /// Time for the whole attempt.
    pub timeout: Duration,
    /// Longest time in which not one byte arrives; `None` where an author wrote the time of the attempt, which alone ends it then.
    pub silence: Option<Duration>,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Who is told the text of the answer while it comes.
    pub listener: Option<Listener>,
    /// The place in the trace that it goes out from; `None`: it is part of none.
    pub trace: Option<TraceContext>,
}

/// Hears the text of an answer while it comes, whole each time. What it hears may still be dropped: only the reply counts.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(&str) + Send + Sync>);

impl Listener {
    /// One that calls this.
    pub fn new(hear: impl Fn(&str) + Send + Sync + 'static) -> Listener {
        Listener(Arc::new(hear))
    }

    /// Tells it the text so far.
    pub fn hear(&self, so_far: &str) {
        (self.0)(so_far);
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// What a model answered; only from calls that ended cleanly.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text; empty when only tools were called.
    pub text: String,
    /// Tool calls, at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Tokens; `None`: the endpoint did not say, or said nonsense.
    pub usage: Option<Usage>,
    /// The name of the model that answered, as the endpoint gave it.
    pub model: Option<String>,
    /// The session by which a program that is an agent can continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Files that such a program made or changed in its folders, by their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What the endpoint wants back with this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Arc<AnswerState>>,
    /// What was read otherwise than written, a phrase each, without values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was decided about tools and hosts that such a program wanted itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<AgentDecision>,
    /// Such a program failed after all: only `decisions`, `usage` and `session` count beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Box<Failure>>,
}

impl ModelReply {
    /// A failure with what was told beside it: what was decided meanwhile, and what was used.
    ///
    /// # Errors
    /// The failure, if nothing was.
    pub fn failing(failure: Failure, beside: ModelReply) -> Result<ModelReply, Failure> {
        let ModelReply { usage, session, decisions, .. } = beside;
        if usage.is_none() && decisions.is_empty() {
            return Err(failure);
        }
        Ok(ModelReply { usage, session, decisions, failed: Some(Box::new(failure)), ..ModelReply::default() })
    }
}

/// A client for one or more wire formats.
pub trait ModelClient: Send + Sync {
    /// Makes one attempt. Retries, repair and fallback are the engine's.
    fn call(&self, request: ModelRequest) -> Pending<ModelReply>;
}
