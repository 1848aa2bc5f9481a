//! What people, models and tools said, as the conventions write messages. Only what is masked comes here.

use serde_json::{Value, json};

use crate::diagnostic::cut;

/// Most characters of a text.
const LONGEST: usize = 16 * 1024;

/// Arguments or a result.
pub(super) fn value(value: &Value) -> String {
    cut(&value.to_string(), LONGEST)
}

/// The messages that a call of a model added, of a masked `model_called`.
pub(super) fn input(event: &Value) -> String {
    Value::Array(event["messages"].as_array().into_iter().flatten().map(message).collect()).to_string()
}

/// The answer, of a masked `model_replied`.
pub(super) fn output(event: &Value) -> String {
    let said = &event["reply"]["said"];
    let has_calls = said["calls"].as_array().is_some_and(|calls| !calls.is_empty());
    let mut message = message(said);
    message["role"] = json!("assistant");
    message["finish_reason"] = json!(if has_calls { "tool_call" } else { "stop" });
    json!([message]).to_string()
}

fn message(said: &Value) -> Value {
    let text = cut(said["text"].as_str().unwrap_or_default(), LONGEST);
    let calls = said["calls"].as_array().into_iter().flatten();
    let calls = calls.map(|call| json!({ "type": "tool_call", "id": call["id"], "name": call["tool"], "arguments": call["arguments"] }));
    let text = match said["call_id"].as_str() {
        Some(id) => Some(json!({ "type": "tool_call_response", "id": id, "response": text })),
        None => (!text.is_empty()).then(|| json!({ "type": "text", "content": text })),
    };
    json!({ "role": said["role"], "parts": text.into_iter().chain(calls).collect::<Vec<_>>() })
}
