//! A reply under construction, and functions shared by the wire formats.

use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::AnswerFault;
use crate::event::{MessageRole, Usage};
use crate::http::read_json;
use crate::model::FailureKind;
use crate::port::{Message, ModelReply, ToolCall};

/// Maximum number of tool calls in one reply.
const MOST_CALLS: usize = 64;
/// A higher token count is treated as invalid: no answer within the size limit has more bytes, and no model accepts as much input.
const MOST_TOKENS: u64 = 1 << 27;

/// A fault that may be retried.
pub(super) fn bad(what: impl Into<String>) -> AnswerFault {
    (FailureKind::BadResponse, what.into())
}

/// A fault that will come again, since the endpoint speaks another format.
pub(super) fn foreign(what: impl Into<String>) -> AnswerFault {
    (FailureKind::WrongType, what.into())
}

/// The message for such an answer. Whose limit it was is added where the request is known.
pub(super) const CUT_AT_LIMIT: &str = "cut the answer at its length limit; raise max_output_tokens";

/// The fault of an answer that was cut at `max_output_tokens`.
pub(super) fn cut_at_limit() -> AnswerFault {
    (FailureKind::Truncated, CUT_AT_LIMIT.to_owned())
}

/// Sets a key of a request if there is a value.
pub(super) fn set(body: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[key] = value.into();
    }
}

/// The messages of these roles as one text, for formats that send it separately.
pub(super) fn system_text(messages: &[Arc<Message>], roles: &[MessageRole], further: Option<String>) -> Option<String> {
    let system = messages.iter().filter(|message| roles.contains(&message.role)).map(|message| message.text.clone());
    let texts: Vec<String> = system.chain(further).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The arguments of a call as JSON text. Arguments that were not an object keep their original text.
pub(super) fn arguments_text(call: &ToolCall) -> String {
    call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned)
}

/// Parses the JSON of an event.
pub(super) fn event_json(data: &str) -> Result<Value, AnswerFault> {
    read_json(data.as_bytes()).map_err(|fault| (fault.kind(), format!("sent {fault}")))
}

/// A whole answer.
#[derive(Debug, Default)]
pub(super) struct DraftAnswer {
    pub(super) reply: ModelReply,
    /// What the endpoint wants back with it; null if there is nothing.
    pub(super) state: Value,
    /// Whether it says that it ends with tool calls.
    pub(super) announces_calls: bool,
}

/// A reply under construction.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) calls: Vec<DraftCall>,
    pub(super) usage: Option<Usage>,
    pub(super) model: Option<String>,
}

/// A tool call under construction.
#[derive(Debug, Default)]
pub(super) struct DraftCall {
    /// Empty if the endpoint gives none.
    pub(super) id: String,
    pub(super) tool: String,
    /// JSON text, as received so far.
    pub(super) arguments: String,
}

impl DraftCall {
    /// A call with these arguments: JSON text, or the object itself.
    pub(super) fn new(id: &str, tool: &str, arguments: &Value) -> DraftCall {
        let arguments = match arguments {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        DraftCall { id: id.to_owned(), tool: tool.to_owned(), arguments }
    }
}

impl Draft {
    /// Adds a tool call and returns its index.
    pub(super) fn add_call(&mut self, call: DraftCall) -> Result<usize, AnswerFault> {
        if self.calls.len() == MOST_CALLS {
            return Err(bad(format!("requested more than {MOST_CALLS} tool calls")));
        }
        self.calls.push(call);
        Ok(self.calls.len() - 1)
    }

    /// Completes the reply.
    pub(super) fn reply(self) -> Result<ModelReply, AnswerFault> {
        if self.text.contains('\0') {
            return Err(bad("sent a NUL character"));
        }
        let mut calls = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            if call.tool.is_empty() {
                return Err(bad("requested a tool call without a name"));
            }
            calls.push(ToolCall { id: call.id, tool: call.tool, arguments: arguments(call.arguments) });
        }
        Ok(ModelReply { text: self.text, calls, usage: self.usage, model: self.model, ..ModelReply::default() })
    }
}

/// Parses the arguments of a call: an object, or the text if it is not one.
fn arguments(text: String) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match read_json(text.as_bytes()) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(text),
    }
}

/// The token usage of an answer, under the names that a format uses. `None` unless both counts can be derived. Some endpoints count thinking tokens
/// only in the total, so the difference counts as output. A request is never empty, so an input count of 0 means that none was reported.
pub(super) fn usage(usage: &Value, input: &str, output: &str) -> Option<Usage> {
    let is_nonsense = |key: &str| usage.get(key).is_some_and(|count| !count.is_null()) && tokens(usage, key).is_none();
    if [input, output, "total_tokens"].into_iter().any(is_nonsense) {
        return None;
    }
    let total = tokens(usage, "total_tokens");
    let input = tokens(usage, input).filter(|tokens| *tokens > 0);
    let (input_tokens, output_tokens) = match (input, tokens(usage, output), total) {
        (Some(input), Some(output), total) => (input, total.map_or(output, |total| output.max(total.saturating_sub(input)))),
        (Some(input), None, Some(total)) => (input, total.saturating_sub(input)),
        (None, Some(output), Some(total)) if total > 0 => (total.saturating_sub(output), output),
        // Counted as output, which is the more expensive part.
        (None, None, Some(total)) if total > 0 => (0, total),
        _ => return None,
    };
    Some(Usage { input_tokens, output_tokens, ..Usage::default() })
}

/// The model name that an answer reports.
pub(super) fn model_name(answer: &Value) -> Option<String> {
    answer["model"].as_str().filter(|model| !model.is_empty()).map(str::to_owned)
}

/// A token count, also as text; `None` if it is missing, negative, invalid or too high.
pub(super) fn tokens(value: &Value, key: &str) -> Option<u64> {
    let count = match value.get(key)? {
        Value::String(text) => text.trim().parse().ok()?,
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number within the bound")]
        Value::Number(number) if number.is_f64() => {
            let count = number.as_f64().filter(|count| count.fract() == 0.0 && (0.0..1e9).contains(count))?;
            count as u64
        }
        other => other.as_u64()?,
    };
    Some(count).filter(|tokens| *tokens < MOST_TOKENS)
}

/// Reads a text. Null and missing values are empty.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, AnswerFault> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(foreign(format!("sent {key} that is not text"))),
    }
}

/// An id of a tool call as an endpoint accepts it. An id that another model gave may have a form that this one refuses.
pub(super) fn sent_id(id: &str, is_accepted: impl Fn(&str) -> bool) -> String {
    if is_accepted(id) {
        return id.to_owned();
    }
    let mut own = hex::encode(Sha256::digest(id));
    own.truncate(9);
    own
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_told_of_tokens_is_counted_also_where_it_is_not_all() {
        let told = |value: Value| usage(&value, "in", "out").map(|usage| (usage.input_tokens, usage.output_tokens));
        assert_eq!(told(json!({ "in": 7, "out": 3, "total_tokens": 10 })), Some((7, 3)));
        assert_eq!(told(json!({ "in": 7, "out": 3 })), Some((7, 3)));
        assert_eq!(told(json!({ "in": 20, "out": 5, "total_tokens": 5000 })), Some((20, 4980)), "thoughts are in the total alone");
        assert_eq!(told(json!({ "total_tokens": 5000 })), Some((0, 5000)));
        assert_eq!(told(json!({ "in": 20, "total_tokens": 50 })), Some((20, 30)));
        assert_eq!(told(json!({ "in": "7", "out": 3.0, "total_tokens": null })), Some((7, 3)));
        assert_eq!(told(json!({ "out": 20, "total_tokens": 50 })), Some((30, 20)));
        for none in [
            json!({ "in": 0, "out": 0, "total_tokens": 0 }),
            json!({ "in": 0, "out": 9 }),
            json!({ "in": 7 }),
            json!({}),
            json!({ "in": "seven", "total_tokens": 9 }),
            json!({ "in": 7.5, "out": 3 }),
        ] {
            assert_eq!(told(none), None);
        }
    }
}
