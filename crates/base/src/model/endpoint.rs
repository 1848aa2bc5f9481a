//! What the endpoint of a model wants beside the messages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Filling, Text};

/// What an author says about the endpoint of a model, beside its address and its key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EndpointSettings {
    /// More headers of each request.
    pub headers: Vec<(String, Text)>,
    /// More values behind the address (`?api-version=…`).
    pub query: Vec<(String, Filling)>,
    /// How much the model thinks before it answers.
    pub reasoning: Option<Reasoning>,
    /// The size of the model's window, in tokens.
    pub context: Option<u64>,
    /// More keys of the body, passed on as they are.
    pub extra: Map<String, Value>,
    /// What flow leaves out of its requests; `None`: what is known of the endpoint.
    pub omit: Option<Vec<Addition>>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// Not at all.
    Off,
    /// As much as this word says.
    Effort(Effort),
    /// At most so many tokens.
    Budget(u64),
}

impl Reasoning {
    /// The words of `reasoning`.
    pub const WORDS: [&'static str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];
}

/// How much a model thinks (OpenAI's `reasoning_effort`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Effort {
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

/// What flow adds to a request by itself, and can do without. An endpoint that rejects it gets the request without it.
///
/// How to add one: its variant, its words in [`Addition::named_by`], and the place in `adapters/providers` that leaves it out, which asks `Dialect::has`.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Addition {
    /// The request for token counts at the end of a stream. Without it, an answer may come without them.
    StreamOptions,
    /// The obligation to answer by a tool. Without it, the schema is described to the model.
    ToolChoice,
    /// The promise that a schema is kept to the letter. Without it, the endpoint may be less strict; flow checks the answer.
    Strict,
    /// A schema beside tools. Without it, the schema is described to the model where tools are offered.
    SchemaWithTools,
    /// A JSON Schema of the answer. Without it, the endpoint is asked for any JSON, and the schema is described to the model.
    JsonSchema,
    /// JSON of any kind (`json_object`). Without it, the schema is only described to the model.
    JsonObject,
    /// The name `max_tokens` for the bound of an answer. Without it, `max_completion_tokens` is sent.
    MaxTokens,
    /// The name `max_completion_tokens`. Without both, an answer has no bound; left out only where no author wrote one.
    MaxCompletionTokens,
    /// Messages with the role `system`. Without it, the instructions precede the first message of the user.
    SystemRole,
    /// That the answer is streamed. Without it, it comes whole.
    Stream,
    /// `reasoning_effort`, one way to say `reasoning`.
    ReasoningEffort,
    /// `chat_template_kwargs`, another one.
    ChatTemplateKwargs,
}

impl Addition {
    /// All of them.
    pub fn all() -> &'static [Addition] {
        <Addition as strum::VariantArray>::VARIANTS
    }

    /// The words by which an error of an endpoint names it, in small letters, the clearest first.
    pub fn named_by(self) -> &'static [&'static str] {
        match self {
            Addition::StreamOptions => &["stream_options", "include_usage"],
            Addition::ToolChoice => &["tool_choice"],
            Addition::Strict => &["strict"],
            Addition::SchemaWithTools => {
                &["json mode cannot be combined", "combined with tool", "with function calling", "response mime type"]
            }
            Addition::JsonSchema => &["response_format", "json_schema", "json schema", "structured output", "text.format", "guided"],
            Addition::JsonObject => &["response_format", "json_object", "json mode", "text.format"],
            Addition::MaxTokens => &["max_tokens"],
            Addition::MaxCompletionTokens => &["max_completion_tokens", "max_output_tokens"],
            Addition::SystemRole => &[
                "system role", "system message", "role: system", "role 'system'", "role \"system\"", "`system`", "developer instruction",
                "must alternate", "system prompt",
            ],
            Addition::Stream => &["stream"],
            Addition::ReasoningEffort => &["reasoning_effort", "reasoning.effort"],
            Addition::ChatTemplateKwargs => &["chat_template_kwargs"],
        }
    }
}
