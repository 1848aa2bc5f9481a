//! What an endpoint wants back with the answers of its model: which it is, and how its pieces are put together. It goes back as it came, and only to the
//! model of the endpoint that sent it.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::AnswerFault;
use crate::event::AnswerState;
use crate::model::FailureKind;
use crate::port::{Message, ModelReply, ModelRequest};

/// Maximum size of the state of one answer, in bytes.
const MOST_STATE: usize = 1 << 20;

/// A name of the model that a request is for: of its wire format, address and name. The address may hold a key, so it is not readable in it.
pub(super) fn whose(request: &ModelRequest) -> String {
    let ModelRequest { wire, base_url, model, .. } = request;
    let mut name = hex::encode(Sha256::digest(format!("{wire:?} {base_url} {model}")));
    name.truncate(16);
    name
}

/// The state of an answer that goes back to this model.
pub(super) fn state_from<'m>(message: &'m Message, whose: &str) -> Option<&'m Value> {
    message.state.as_deref().filter(|state| state.from == whose).map(|state| &state.parts)
}

/// Whether a key, or a type of an item, is one of thoughts.
pub(super) fn is_thought(word: &str) -> bool {
    ["reasoning", "redacted_thinking", "thinking", "thought"].iter().any(|start| word.starts_with(start))
}

/// Whether thoughts came apart from the text of an answer.
pub(super) fn has_thoughts(parts: &Value) -> bool {
    let is_empty = |value: &Value| value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty);
    match parts {
        Value::Array(list) => list.iter().any(has_thoughts),
        Value::Object(object) => object.iter().any(|(key, value)| {
            is_thought(key) && !is_empty(value) || key == "type" && value.as_str().is_some_and(is_thought) || has_thoughts(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Keeps the state of an answer with it if its conversation has tool calls: only then endpoints want it back.
pub(super) fn keep(request: &ModelRequest, reply: &mut ModelReply, parts: Value) -> Result<(), AnswerFault> {
    let is_among_calls = !reply.calls.is_empty() || request.messages.iter().any(|message| message.state.is_some());
    if parts.is_null() || !is_among_calls {
        return Ok(());
    }
    if parts.to_string().len() > MOST_STATE {
        return Err((FailureKind::TooLarge, format!("sent more than {MOST_STATE} bytes of thoughts and signatures")));
    }
    reply.state = Some(Arc::new(AnswerState { from: whose(request), parts }));
    Ok(())
}

/// Adds the next piece of a value that comes in pieces: texts are continued, elements of a list are continued if they are the same one.
pub(super) fn merge(so_far: &mut Value, piece: &Value) {
    match (so_far, piece) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) => text.push_str(more),
        (Value::Array(list), Value::Array(more)) => {
            for one in more {
                match list.last_mut().filter(|last| continues(last, one)) {
                    Some(last) => merge(last, one),
                    None => list.push(one.clone()),
                }
            }
        }
        (Value::Object(object), Value::Object(more)) => {
            for (key, value) in more {
                let is_whole = matches!(key.as_str(), "type" | "id" | "index" | "format" | "name") || key.contains("signature");
                match object.get_mut(key) {
                    Some(there) if !is_whole => merge(there, value),
                    Some(_) if value.is_null() || value == "" => {}
                    Some(_) | None => drop(object.insert(key.clone(), value.clone())),
                }
            }
        }
        (so_far, piece) => *so_far = piece.clone(),
    }
}

/// Whether an element of a list is a further piece of the one before it.
fn continues(last: &Value, next: &Value) -> bool {
    let same = |key: &str| last.get(key) == next.get(key);
    let is_whole = last.get("data").is_some() || last.get("id").zip(next.get("id")).is_some_and(|(one, other)| one != other);
    last.is_object() && next.is_object() && same("type") && same("index") && !is_whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_become_the_whole_that_they_are_of() {
        let whole = |pieces: &[Value]| {
            let mut whole = Value::Null;
            pieces.iter().for_each(|piece| merge(&mut whole, piece));
            whole
        };
        assert_eq!(whole(&[json!("I look "), Value::Null, json!("it up.")]), json!("I look it up."));
        let text = |text: &str| json!([{ "type": "reasoning.text", "text": text, "index": 0, "format": "anthropic-claude-v1" }]);
        let signed = json!([{ "type": "reasoning.text", "signature": "c2ln", "index": 0, "format": "anthropic-claude-v1" }]);
        let secret = |index: u64| json!([{ "type": "reasoning.encrypted", "data": "ZW5j", "id": format!("t_{index}"), "index": index }]);
        assert_eq!(
            whole(&[text("I look "), text("it up."), signed, secret(1), secret(2)]),
            json!([
                { "type": "reasoning.text", "text": "I look it up.", "index": 0, "format": "anthropic-claude-v1", "signature": "c2ln" },
                { "type": "reasoning.encrypted", "data": "ZW5j", "id": "t_1", "index": 1 },
                { "type": "reasoning.encrypted", "data": "ZW5j", "id": "t_2", "index": 2 },
            ])
        );
        let google = json!({ "google": { "thought_signature": "c2ln" } });
        assert_eq!(whole(&[google.clone(), google.clone()]), google);
        let thinking = |text: &str| json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": text }] }]);
        assert_eq!(whole(&[thinking("Greet"), thinking(" her.")]), thinking("Greet her."));
    }
}
