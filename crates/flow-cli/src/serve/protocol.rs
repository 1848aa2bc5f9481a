//! Requests, versions of the protocol, and rejections.
//!
//! Two kinds of versions are supported at once. In 2026-07-28 each request is self-contained with its `_meta`, and the server keeps no
//! state. In older versions `initialize` comes first. Each request is handled by the kind it uses.

use rmcp::model::{DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, Tool};
use serde_json::{Map, Value, json};

use super::messages::{ClientRequest, is_id};
use crate::diagnostic::did_you_mean;
use crate::event::TraceContext;

/// The version in which each request is self-contained.
pub(super) const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// The keys of `_meta`.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// Number of tools on one page of the list.
const PAGE: usize = 100;

/// How a request is handled.
#[derive(Debug)]
pub(super) enum Todo {
    /// Answers with this result.
    Answer(Value),
    /// Answers with this result, and starts a session in this version.
    Agreed(ProtocolVersion, Value),
    /// Calls a tool.
    Call(ServedCall),
}

/// A call of an existing tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServedCall {
    pub(super) id: Value,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    /// The token for progress reports.
    pub(super) token: Option<Value>,
    pub(super) is_stateless: bool,
    /// The caller's position in a trace.
    pub(super) caller: Option<Box<TraceContext>>,
}

/// Why a request is rejected, and the HTTP status for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub(super) error: ErrorData,
    pub(super) status: u16,
}

impl Refused {
    pub(super) fn new(status: u16, code: ErrorCode, message: impl Into<String>) -> Refused {
        Refused { error: ErrorData::new(code, message.into(), None), status }
    }
}

/// Returns the version in a request.
pub(super) fn version_of(params: &Map<String, Value>) -> Option<&Value> {
    params.get("_meta")?.get(VERSION_KEY)
}

/// Determines how a request is handled. `session`: the version that `initialize` agreed on.
///
/// # Errors
/// The request is invalid, or not allowed in this state.
pub(super) fn todo(tools: &[Tool], request: ClientRequest, session: Option<&ProtocolVersion>) -> Result<Todo, Refused> {
    let is_stateless = match version_of(&request.params) {
        Some(version) => {
            stands_alone(version, &request.params)?;
            true
        }
        None => false,
    };
    let params = &request.params;
    match (request.method.as_str(), is_stateless) {
        ("initialize", false) => initialize(params),
        ("ping", false) => Ok(Todo::Answer(json!({}))),
        (method, false) if session.is_none() => {
            let message = format!(
                "\"{}\" has no protocol version: set it and clientCapabilities in _meta ({STATELESS}), or send initialize first",
                crate::diagnostic::visible(method)
            );
            Err(Refused::new(400, ErrorCode::INVALID_PARAMS, message))
        }
        ("server/discover", true) => Ok(Todo::Answer(discover())),
        ("tools/list", _) => list(tools, params, is_stateless).map(Todo::Answer),
        ("tools/call", _) => call(tools, request, is_stateless).map(Todo::Call),
        (method, _) => {
            let status = if is_stateless { 404 } else { 200 };
            let message = format!("unknown method \"{}\"; this server has tools only", crate::diagnostic::visible(method));
            Err(Refused::new(status, ErrorCode::METHOD_NOT_FOUND, message))
        }
    }
}

/// Checks that a request with a version has all required fields.
fn stands_alone(version: &Value, params: &Map<String, Value>) -> Result<(), Refused> {
    let malformed = |what: &str| Refused::new(400, ErrorCode::INVALID_PARAMS, what.to_owned());
    let Value::String(version) = version else { return Err(malformed("_meta: the protocol version must be a string")) };
    if version != STATELESS.as_str() {
        let data = json!({ "supported": versions(), "requested": version });
        let message = format!("a request with a version must use {STATELESS}; older versions start with initialize");
        return Err(Refused { error: ErrorData::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, message, Some(data)), status: 400 });
    }
    if !params.get("_meta").and_then(|meta| meta.get(CAPABILITIES_KEY)).is_some_and(Value::is_object) {
        return Err(malformed("_meta: clientCapabilities is missing or not an object"));
    }
    Ok(())
}

/// Returns all supported versions, newest first.
fn versions() -> Vec<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS.iter().rev().cloned().collect()
}

fn server() -> Implementation {
    Implementation::new("flow", env!("CARGO_PKG_VERSION"))
}

fn capabilities() -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(Default::default());
    capabilities
}

const INSTRUCTIONS: &str = "Each tool runs a workflow to its end. The result says the id of its run.";

fn discover() -> Value {
    let mut found = DiscoverResult::new(versions(), capabilities()).with_server_info(server());
    found.instructions = Some(INSTRUCTIONS.to_owned());
    json!(found)
}

fn initialize(params: &Map<String, Value>) -> Result<Todo, Refused> {
    let Some(wanted) = params.get("protocolVersion").and_then(Value::as_str) else {
        return Err(Refused::new(200, ErrorCode::INVALID_PARAMS, "initialize must have a protocolVersion, as a string"));
    };
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|version| version.as_str() == wanted && version.has_initialize());
    let version = known.unwrap_or(&ProtocolVersion::LATEST_WITH_INITIALIZE).clone();
    let mut result = InitializeResult::new(capabilities()).with_protocol_version(version.clone());
    result.server_info = server();
    result.instructions = Some(INSTRUCTIONS.to_owned());
    Ok(Todo::Agreed(version, json!(result)))
}

/// Returns a page of the list of tools; a cursor is the number of tools before it.
fn list(tools: &[Tool], params: &Map<String, Value>, is_stateless: bool) -> Result<Value, Refused> {
    let from = match params.get("cursor") {
        None | Some(Value::Null) => Some(0),
        Some(cursor) => cursor.as_str().and_then(|cursor| cursor.parse().ok()).filter(|from| *from < tools.len() && from % PAGE == 0),
    };
    let Some(from) = from else {
        return Err(Refused::new(200, ErrorCode::INVALID_PARAMS, "unknown cursor; omit it for the first page"));
    };
    let to = tools.len().min(from + PAGE);
    let mut result = json!({ "tools": &tools[from..to] });
    if to < tools.len() {
        result["nextCursor"] = json!(to.to_string());
    }
    if is_stateless {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    Ok(complete(result, is_stateless))
}

/// Completes a result as its version requires.
pub(super) fn complete(mut result: Value, is_stateless: bool) -> Value {
    if is_stateless {
        result["resultType"] = json!("complete");
        result["_meta"][SERVER_KEY] = json!(server());
    }
    result
}

fn call(tools: &[Tool], mut request: ClientRequest, is_stateless: bool) -> Result<ServedCall, Refused> {
    let wrong = |what: String| Refused::new(200, ErrorCode::INVALID_PARAMS, what);
    let Some(Value::String(tool)) = request.params.remove("name") else {
        return Err(wrong("tools/call must have the name of a tool".into()));
    };
    if !tools.iter().any(|known| known.name == tool) {
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let hint = did_you_mean(&tool, names.iter().copied());
        let names: Vec<&str> = names.into_iter().take(20).collect();
        return Err(wrong(format!("unknown tool \"{}\"; available: {}{hint}", crate::diagnostic::visible(&tool), names.join(", "))));
    }
    let arguments = match request.params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(wrong("arguments must be an object".into())),
    };
    let token = request.params.get("_meta").and_then(|meta| meta.get("progressToken")).filter(|token| is_id(token)).cloned();
    let said = |name: &str| request.params.get("_meta")?.get(name)?.as_str();
    let caller = said("traceparent").and_then(|parent| TraceContext::read(parent, said("tracestate"))).map(Box::new);
    Ok(ServedCall { id: request.id, tool, arguments, token, is_stateless, caller })
}
