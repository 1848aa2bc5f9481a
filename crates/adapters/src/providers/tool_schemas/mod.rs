//! The schemas of tools as endpoints accept them.
//!
//! A server's schema may use all of JSON Schema; endpoints accept parts of it, and one schema that is not accepted fails the whole request. So each
//! schema is rewritten on its way out, into one of two forms: [`SchemaForm`]. What cannot be said in that form is said in a description. Nothing is lost
//! by that: the engine holds the arguments of a call to the server's own schema, and a model that breaks it is told and can try again.
//!
//! How to add a keyword that endpoints accept: a row in `keywords::concerns`. How to add another form: a variant of [`SchemaForm`], which the compiler follows,
//! and a row for each member of the table in `tests/tool_schemas.rs`.

mod fitting;
mod keywords;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::fitting::fit;
pub(super) use self::keywords::SchemaForm;
use self::keywords::{describe, every_type};
use super::is_at;
use crate::port::{Message, ModelReply, ModelRequest, ToolCall, ToolDescription, WireFormat};

/// Maximum length of an argument's name (Anthropic).
const LONGEST_KEY: usize = 64;

impl SchemaForm {
    fn from_request(request: &ModelRequest) -> SchemaForm {
        let is_google =
            ["generativelanguage.googleapis.com", "aiplatform.googleapis.com"].iter().any(|host| is_at(&request.base_url, host));
        let is_region = request.base_url.contains("-aiplatform.googleapis.com");
        match request.wire {
            WireFormat::OpenAiChat | WireFormat::OpenAiResponses if is_google || is_region || request.model.contains("gemini") => {
                SchemaForm::Gemini
            }
            WireFormat::OpenAiChat | WireFormat::OpenAiResponses | WireFormat::AnthropicMessages | WireFormat::Recorded => {
                SchemaForm::JsonSchema
            }
        }
    }
}

/// The arguments that are offered under another name: by tool, the offered name and the server's.
pub(super) type Renamed = BTreeMap<String, BTreeMap<String, String>>;

/// The request with the schemas of its tools as the endpoint accepts them.
pub(super) fn accepted(request: &ModelRequest) -> (ModelRequest, Renamed) {
    let form = SchemaForm::from_request(request);
    let mut renamed = Renamed::new();
    let tools = request.tools.iter().map(|tool| {
        let (parameters, names) = fitted(&tool.parameters, form);
        if !names.is_empty() {
            renamed.insert(tool.name.clone(), names);
        }
        if parameters == tool.parameters { Arc::clone(tool) } else { Arc::new(ToolDescription { parameters, ..(**tool).clone() }) }
    });
    let tools = tools.collect();
    // A model is shown its own calls with the names that it used.
    let as_called = |message: &Arc<Message>| match message.calls.iter().any(|call| renamed.contains_key(&call.tool)) {
        true => Arc::new(Message { calls: message.calls.iter().map(|call| named(call, &renamed, true)).collect(), ..(**message).clone() }),
        false => Arc::clone(message),
    };
    let messages = request.messages.iter().map(as_called).collect();
    (ModelRequest { tools, messages, ..request.clone() }, renamed)
}

/// The reply with the server's names of arguments in its calls.
pub(super) fn as_the_server_names(mut reply: ModelReply, renamed: &Renamed) -> ModelReply {
    reply.calls = reply.calls.iter().map(|call| named(call, renamed, false)).collect();
    reply
}

fn named(call: &ToolCall, renamed: &Renamed, is_outward: bool) -> ToolCall {
    let (Some(names), Value::Object(arguments)) = (renamed.get(&call.tool), &call.arguments) else { return call.clone() };
    let name = |name: &String| match is_outward {
        true => names.iter().find(|(_, own)| *own == name).map(|(offered, _)| offered.clone()),
        false => names.get(name).cloned(),
    };
    let arguments = arguments.iter().map(|(key, value)| (name(key).unwrap_or_else(|| key.clone()), value.clone())).collect();
    ToolCall { arguments: Value::Object(arguments), ..call.clone() }
}

/// A schema of arguments in a form, and which of its properties have another name there.
pub(super) fn fitted(schema: &Value, form: SchemaForm) -> (Value, BTreeMap<String, String>) {
    let mut root = schema.as_object().cloned().unwrap_or_default();
    root.insert("type".to_owned(), json!("object"));
    let mut fitted = fit(schema, &Value::Object(root), form);
    let names = with_plain_names(&mut fitted, form);
    (fitted, names)
}

/// Gives properties whose names endpoints reject other names; the names in the schema by those.
fn with_plain_names(schema: &mut Value, form: SchemaForm) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return names };
    let is_fine = |name: &str| (1..=LONGEST_KEY).contains(&name.len()) && name.chars().all(is_plain);
    if properties.keys().all(|name| is_fine(name)) {
        return names;
    }
    let mut taken: Vec<String> = properties.keys().filter(|name| is_fine(name)).cloned().collect();
    let mut made = Map::new();
    for (own, mut part) in std::mem::take(properties) {
        if is_fine(&own) {
            made.insert(own, part);
            continue;
        }
        let plain: String = own.chars().map(|c| if is_plain(c) { c } else { '_' }).take(LONGEST_KEY - 4).collect();
        let plain = if plain.is_empty() { "_".to_owned() } else { plain };
        let free = |name: &String| !taken.contains(name);
        let name = (1..).map(|number| if number == 1 { plain.clone() } else { format!("{plain}_{number}") }).find(free).unwrap_or_default();
        if part == json!({}) {
            part = json!({ "anyOf": every_type(SchemaForm::JsonSchema) });
        }
        describe(&mut part, &[format!("Named {own:?} by the tool.")], form);
        taken.push(name.clone());
        names.insert(name.clone(), own);
        made.insert(name, part);
    }
    *properties = made;
    for required in schema.get_mut("required").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some((name, _)) = names.iter().find(|(_, own)| *required == own.as_str()) {
            *required = json!(name);
        }
    }
    names
}
