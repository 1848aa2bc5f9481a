//! JSON-RPC 2.0: parses messages and formats answers.

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Map, Value, json};

use crate::model::read_json;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClientRequest {
    /// A text or a whole number.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// A received message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientMessage {
    /// It requires an answer.
    Request(ClientRequest),
    /// It requires no answer.
    Notice { method: String, params: Map<String, Value> },
    /// An answer, although the server sends no requests.
    Answer,
}

/// Parses a message.
///
/// # Errors
/// The answer to an invalid message.
pub(super) fn read(bytes: &[u8]) -> Result<ClientMessage, Value> {
    let broken = |what: String| refusal(None, ErrorCode::PARSE_ERROR, what);
    let text = std::str::from_utf8(bytes).map_err(|_| broken("this is not JSON: it is not UTF-8".to_owned()))?;
    let message = read_json(text).map_err(|error| broken(error.to_string()))?;
    let Value::Object(mut message) = message else {
        let what = if message.is_array() { "send messages one by one, not as a list" } else { "a message must be a JSON object" };
        return Err(refusal(None, ErrorCode::INVALID_REQUEST, what));
    };
    let id = message.remove("id");
    let known = id.clone().filter(is_id);
    let wrong = |what: &str| Err(refusal(known.as_ref(), ErrorCode::INVALID_REQUEST, what.to_owned()));
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong("a message must have \"jsonrpc\": \"2.0\"");
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        None if id.is_some() && (message.contains_key("result") || message.contains_key("error")) => return Ok(ClientMessage::Answer),
        _ => return wrong("a request must have a method, as a string"),
    };
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return wrong("params is an object"),
    };
    match (id, known) {
        (None, _) => Ok(ClientMessage::Notice { method, params }),
        (Some(_), Some(id)) => Ok(ClientMessage::Request(ClientRequest { id, method, params })),
        (Some(_), None) => Err(refusal(None, ErrorCode::INVALID_REQUEST, "the id of a request must be a string or an integer")),
    }
}

/// Whether a value may be the id of a request, or a progress token.
pub(super) fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

/// Formats the answer with a result.
pub(super) fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// Formats the answer with an error; without an id if it could not be read.
pub(super) fn error(id: Option<&Value>, error: &ErrorData) -> Value {
    let mut message = json!({ "jsonrpc": "2.0" });
    if let Some(id) = id {
        message["id"] = id.clone();
    }
    message["error"] = json!(error);
    message
}

/// Formats the answer with an error of this server.
pub(super) fn refusal(id: Option<&Value>, code: ErrorCode, what: impl Into<String>) -> Value {
    error(id, &ErrorData::new(code, what.into(), None))
}
