//! How an endpoint departs from the format that it speaks: what is known of its family (`families.json`), what the file says, and what it rejected.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::http::HttpFault;
use super::super::lock;
use super::draft::set;
use super::host_of;
use crate::event::{Failure, MessageRole};
use crate::model::{Addition, Effort, FailureKind, Reasoning, Service};
use crate::port::{Message, ModelRequest, WireFormat};

/// A family of endpoints: one entry of `families.json`.
///
/// How to add one: its entry there, with the page that documents it, and its row in `docs/endpoints.md`, which a test asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its name, for people.
    pub name: String,
    /// The public page that says so.
    pub about: String,
    /// Its hosts; `*.` stands for anything before.
    #[serde(default)]
    hosts: Vec<String>,
    /// A part of the path by which it is known on other hosts.
    #[serde(default)]
    path: Option<String>,
    /// The provider of the file by which it is known on other hosts.
    #[serde(default)]
    service: Option<String>,
    /// What is left out of requests to it.
    #[serde(default)]
    pub omit: Vec<Addition>,
    reasoning: ReasoningForm,
    /// The header for the key, instead of `Authorization`.
    #[serde(default)]
    pub(super) key_header: Option<String>,
}

/// How a family takes `reasoning`, over OpenAI's chat format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReasoningForm {
    /// `reasoning_effort: low`.
    Effort,
    /// `thinking: { type: enabled }`.
    Thinking,
    /// `reasoning: { effort: low }`.
    Object,
    /// `reasoning_effort`, and a budget in `extra_body.google`.
    Google,
    /// `enable_thinking: true`.
    EnableThinking,
}

static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| serde_json::from_str(include_str!("families.json")).unwrap_or_default());

/// All families that are known.
pub fn families() -> &'static [Family] {
    &FAMILIES
}

/// The family of an endpoint.
pub fn family(base_url: &str, service: Option<Service>) -> Option<&'static Family> {
    let host = host_of(base_url).to_ascii_lowercase();
    let fits = |pattern: &String| pattern.strip_prefix('*').map_or(host == *pattern, |end| host.ends_with(end));
    let is_of = |family: &&Family| service.is_some() && family.service.as_ref().and_then(|word| word.parse().ok()) == service;
    FAMILIES
        .iter()
        .find(|family| family.hosts.iter().any(fits))
        .or_else(|| FAMILIES.iter().find(|family| family.path.as_ref().is_some_and(|path| base_url.contains(path))))
        .or_else(|| FAMILIES.iter().find(is_of))
}

/// A model at an endpoint: its address, its name and the wire format.
type ModelAt = (String, String, WireFormat);

/// What each model at an endpoint rejected so far.
#[derive(Clone, Default)]
pub(super) struct Rejected(Arc<Mutex<HashMap<ModelAt, BTreeSet<Addition>>>>);

impl Rejected {
    fn key(request: &ModelRequest) -> ModelAt {
        (request.base_url.clone(), request.model.clone(), request.wire)
    }

    fn omitted(&self, request: &ModelRequest) -> BTreeSet<Addition> {
        lock(&self.0).get(&Self::key(request)).cloned().unwrap_or_default()
    }

    /// Remembers what an endpoint answers without.
    pub(super) fn remember(&self, request: &ModelRequest, additions: impl IntoIterator<Item = Addition>) {
        lock(&self.0).entry(Self::key(request)).or_default().extend(additions);
    }
}

/// How one request is written.
pub(super) struct Dialect {
    family: Option<&'static Family>,
    omitted: BTreeSet<Addition>,
}

impl Dialect {
    pub(super) fn from_request(request: &ModelRequest, rejected: &Rejected) -> Dialect {
        let family = family(&request.base_url, request.endpoint.service);
        let known = match &request.endpoint.omit {
            Some(own) => own.as_slice(),
            None => family.map_or(&[][..], |family| &family.omit),
        };
        let mut omitted = rejected.omitted(request);
        omitted.extend(known.iter().copied());
        Dialect { family, omitted }
    }

    /// Whether a request may have this.
    pub(super) fn has(&self, addition: Addition) -> bool {
        !self.omitted.contains(&addition)
    }

    /// The addition of a request that its endpoint rejected by name; from now on it is left out. `None`: the fault is another one, or an author wrote
    /// what was rejected.
    pub(super) fn leave_out(&mut self, request: &ModelRequest, fault: &HttpFault) -> Option<Addition> {
        let (status, body) = &**fault.rejection.as_ref()?;
        // Servers that fill in a chat template (llama.cpp) fail with 500 where the template rejects a role.
        let may_be = |addition: Addition| match status {
            400 | 404 | 405 | 415 | 422 => true,
            500 | 501 => matches!(addition, Addition::SystemRole | Addition::ChatTemplateKwargs),
            _ => false,
        };
        let body = body.to_ascii_lowercase();
        let found = Addition::all().iter().copied().find(|addition| {
            may_be(*addition) && self.is_in(*addition, request) && addition.named_by().iter().any(|name| names(&body, name))
        })?;
        self.omitted.insert(found);
        Some(found)
    }

    /// Whether a request has this, and can do without it.
    fn is_in(&self, addition: Addition, request: &ModelRequest) -> bool {
        let (is_chat, is_anthropic) = (request.wire == WireFormat::OpenAiChat, request.wire == WireFormat::AnthropicMessages);
        let schema = request.schema.is_some();
        let is_bounded_as = |name| self.bound_name(request) == Some(name);
        let turns_off = is_chat && request.endpoint.reasoning == Some(Reasoning::Off) && self.family.is_none();
        self.has(addition)
            && match addition {
                Addition::StreamOptions => is_chat && self.has(Addition::Stream),
                Addition::ToolChoice => is_anthropic && schema,
                Addition::Strict => !is_anthropic && (schema || !request.tools.is_empty()),
                Addition::SchemaWithTools => is_chat && schema && !request.tools.is_empty(),
                Addition::JsonSchema => !is_anthropic && schema,
                Addition::JsonObject => !is_anthropic && schema && !self.has(Addition::JsonSchema),
                Addition::MaxTokens => is_bounded_as("max_tokens"),
                Addition::MaxCompletionTokens => is_bounded_as("max_completion_tokens") && request.bounded_as.is_some(),
                Addition::SystemRole => is_chat && request.messages.iter().any(|message| is_instruction(message)),
                Addition::Stream => true,
                Addition::ReasoningEffort => turns_off && self.has(Addition::ChatTemplateKwargs),
                Addition::ChatTemplateKwargs => turns_off && self.has(Addition::ReasoningEffort),
            }
    }

    /// The name under which the chat format bounds the answer; `None`: it is not bounded.
    pub(super) fn bound_name(&self, request: &ModelRequest) -> Option<&'static str> {
        request.max_output_tokens?;
        if request.wire != WireFormat::OpenAiChat {
            return None;
        }
        match (self.has(Addition::MaxTokens), self.has(Addition::MaxCompletionTokens)) {
            (true, _) => Some("max_tokens"),
            (false, true) => Some("max_completion_tokens"),
            (false, false) => None,
        }
    }

    /// The header for the key, where it is not `Authorization`.
    pub(super) fn key_header(&self) -> Option<&'static str> {
        self.family?.key_header.as_deref()
    }

    /// How the chat and the responses format ask for JSON: a schema, any JSON (`false`), or not at all.
    pub(super) fn schema_sent(&self, request: &ModelRequest) -> Option<bool> {
        if request.schema.is_none() || !self.has(Addition::SchemaWithTools) && !request.tools.is_empty() {
            return None;
        }
        match (self.has(Addition::JsonSchema), self.has(Addition::JsonObject)) {
            (true, _) => Some(true),
            // Any JSON would be no tool call.
            (false, true) if request.tools.is_empty() => Some(false),
            (false, _) => None,
        }
    }

    /// The request with in words what is not sent otherwise: the schema, and instructions before the first message of the user.
    pub(super) fn in_words(&self, request: &ModelRequest) -> ModelRequest {
        let mut request = request.clone();
        if request.wire != WireFormat::AnthropicMessages
            && self.schema_sent(&request) != Some(true)
            && let Some(schema) = &request.schema
        {
            let before =
                if request.tools.is_empty() { "Answer" } else { "Call the tools that you need. When you have what you need, answer" };
            let words = format!("{before} with one JSON value and nothing else. It must fit this JSON Schema: {schema}");
            match request.messages.iter_mut().find(|message| is_instruction(message)) {
                Some(first) => Arc::make_mut(first).text.push_str(&format!("\n\n{words}")),
                None => {
                    let message = Message { role: MessageRole::System, text: words, ..Message::default() };
                    request.messages.insert(0, Arc::new(message));
                }
            }
        }
        if request.wire == WireFormat::OpenAiChat && !self.has(Addition::SystemRole) {
            let (instructions, mut others): (Vec<_>, Vec<_>) = request.messages.drain(..).partition(|message| is_instruction(message));
            let told =
                instructions.iter().map(|message| message.text.as_str()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
            match others.iter_mut().find(|message| message.role == MessageRole::User) {
                Some(first) if !told.is_empty() => {
                    let first = Arc::make_mut(first);
                    first.text = format!("{told}\n\n{}", first.text);
                }
                Some(_) => {}
                None => others.insert(0, Arc::new(Message { role: MessageRole::User, text: told, ..Message::default() })),
            }
            request.messages = others;
        }
        request
    }

    /// Adds what the file asks for of thoughts, the window and further keys, over OpenAI's formats.
    pub(super) fn complete(&self, body: &mut Value, request: &ModelRequest) -> Result<(), Failure> {
        if let Some(reasoning) = request.endpoint.reasoning {
            self.reason(body, request, reasoning)?;
        }
        if request.endpoint.service == Some(Service::Ollama) {
            set(body, "options", request.endpoint.context.map(|tokens| json!({ "num_ctx": tokens })));
        }
        request.endpoint.extra.iter().for_each(|(key, value)| body[key] = value.clone());
        Ok(())
    }

    fn reason(&self, body: &mut Value, request: &ModelRequest, reasoning: Reasoning) -> Result<(), Failure> {
        let word = |effort: Effort| <&str>::from(effort);
        if request.wire == WireFormat::OpenAiResponses {
            let effort = match reasoning {
                Reasoning::Off => "none",
                Reasoning::Effort(effort) => word(effort),
                Reasoning::Budget(_) => return Err(no_budget(request)),
            };
            body["reasoning"] = json!({ "effort": effort });
            return Ok(());
        }
        match (self.family.map(|family| family.reasoning), reasoning) {
            (Some(ReasoningForm::Thinking), Reasoning::Off) => body["thinking"] = json!({ "type": "disabled" }),
            (Some(ReasoningForm::Thinking), Reasoning::Effort(_)) => body["thinking"] = json!({ "type": "enabled" }),
            (Some(ReasoningForm::Thinking), Reasoning::Budget(most)) => {
                body["thinking"] = json!({ "type": "enabled", "budget_tokens": most })
            }
            (Some(ReasoningForm::Object), Reasoning::Off) => body["reasoning"] = json!({ "enabled": false }),
            (Some(ReasoningForm::Object), Reasoning::Effort(effort)) => body["reasoning"] = json!({ "effort": word(effort) }),
            (Some(ReasoningForm::Object), Reasoning::Budget(most)) => body["reasoning"] = json!({ "max_tokens": most }),
            (Some(ReasoningForm::EnableThinking), Reasoning::Off) => body["enable_thinking"] = json!(false),
            (Some(ReasoningForm::EnableThinking), Reasoning::Effort(_)) => body["enable_thinking"] = json!(true),
            (Some(ReasoningForm::EnableThinking), Reasoning::Budget(most)) => {
                body["enable_thinking"] = json!(true);
                body["thinking_budget"] = json!(most);
            }
            (Some(ReasoningForm::Google), Reasoning::Budget(most)) => {
                body["extra_body"] = json!({ "google": { "thinking_config": { "thinking_budget": most } } });
            }
            (Some(ReasoningForm::Google | ReasoningForm::Effort), Reasoning::Off) => body["reasoning_effort"] = json!("none"),
            (_, Reasoning::Effort(effort)) => body["reasoning_effort"] = json!(word(effort)),
            (Some(ReasoningForm::Effort) | None, Reasoning::Budget(_)) => return Err(no_budget(request)),
            // Servers that anyone may run know one of these.
            (None, Reasoning::Off) => {
                if self.has(Addition::ReasoningEffort) {
                    body["reasoning_effort"] = json!("none");
                }
                if self.has(Addition::ChatTemplateKwargs) {
                    body["chat_template_kwargs"] = json!({ "enable_thinking": false });
                }
            }
        }
        Ok(())
    }
}

fn no_budget(request: &ModelRequest) -> Failure {
    let message = format!(
        "model {:?} takes no number of tokens for reasoning, as far as flow knows its endpoint; write reasoning: low, medium or high, or the endpoint's own key in extra",
        request.model
    );
    Failure::new(FailureKind::BadRequest, message)
}

fn is_instruction(message: &Message) -> bool {
    matches!(message.role, MessageRole::System | MessageRole::Developer)
}

/// Whether a text names something, as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}
