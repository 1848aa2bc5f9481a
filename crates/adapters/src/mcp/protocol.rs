//! The content of protocol messages: versions, the handshake, tools and results. The types are rmcp's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagesize::ImageType;
use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, ErrorCode, ErrorData, Implementation, InitializeRequestParams, ProtocolVersion,
    ResourceContents, SubscriptionFilter,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::questions;
use crate::diagnostic::{cut_words, visible};
use crate::event::{Failure, FailureKind, ServerTool};
use crate::port::{INSTRUCTIONS, ResourceFile, ResourceReply, ServerReply};

/// The version without a handshake: each request carries its own metadata.
pub(super) const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// The version that the handshake requests.
pub(super) const WITH_HANDSHAKE: ProtocolVersion = ProtocolVersion::V_2025_11_25;
/// Maximum length of a tool's name, in bytes. Tools with longer names cannot be called.
const LONGEST_NAME: usize = 1_000;
/// Maximum number of pictures kept of one result.
const MOST_PICTURES: usize = 20;
/// Maximum number of characters pinned of a server's instructions.
const LONGEST_INSTRUCTIONS: usize = 64 * 1024;

/// The name and version of this client.
fn client() -> Implementation {
    Implementation::new("flow", env!("CARGO_PKG_VERSION"))
}

/// The metadata that each request carries in the stateless version.
pub(super) fn meta(version: &ProtocolVersion, asks: bool) -> Map<String, Value> {
    let mut meta = Map::new();
    meta.insert("io.modelcontextprotocol/protocolVersion".into(), json!(version.as_str()));
    meta.insert("io.modelcontextprotocol/clientInfo".into(), json!(client()));
    meta.insert("io.modelcontextprotocol/clientCapabilities".into(), json!(capabilities(asks)));
    meta
}

/// The capabilities of this client. `asks`: the server may ask a person.
fn capabilities(asks: bool) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    capabilities.elicitation = asks.then(questions::capability);
    capabilities
}

/// The parameters of `initialize`.
pub(super) fn initialize(asks: bool) -> Value {
    json!(InitializeRequestParams::new(capabilities(asks), client()).with_protocol_version(WITH_HANDSHAKE))
}

/// The protocol version that a server chose in the handshake, if this client supports it.
pub(super) fn agreed(result: &Value) -> Result<ProtocolVersion, Failure> {
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or("none");
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == version && known.has_initialize());
    known.cloned().ok_or_else(|| {
        let version = cut_words(version, 40);
        let message = format!("it uses protocol version {version:?}; flow supports up to {STATELESS}");
        Failure::new(FailureKind::BadResponse, message)
    })
}

/// Whether the server supports the stateless version, according to its discovery response.
pub(super) fn is_stateless(result: &Value) -> bool {
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS.as_str()))
}

/// Whether an error rejects the protocol version and lists the stateless version as supported.
pub(super) fn offers_stateless(error: &ErrorData) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.is_some_and(|versions| versions.iter().any(|version| version == STATELESS.as_str()))
}

/// The kinds of things that a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Offers {
    pub(super) tools: bool,
    pub(super) resources: bool,
}

/// Reads which kinds of things a server offers.
pub(super) fn gives(result: &Value) -> Offers {
    let has = |what: &str| result.pointer(&format!("/capabilities/{what}")).is_some_and(|given| !given.is_null());
    Offers { tools: has("tools"), resources: has("resources") }
}

/// The server's instructions, from its answer to the first request.
pub(super) fn instructions(result: &Value) -> String {
    let text = result.get("instructions").and_then(Value::as_str).unwrap_or_default();
    text.chars().take(LONGEST_INSTRUCTIONS).collect()
}

/// The instructions in pinned form: like a tool without arguments, under a name that no tool can have, so that each `flow.lock` has one form.
pub(super) fn said_of_instructions(text: &str) -> Value {
    said_of(&json!({ "name": INSTRUCTIONS, "description": text }))
}

/// Whether a server reports changes of its tools.
pub(super) fn tells_changes(result: &Value) -> bool {
    result.pointer("/capabilities/tools/listChanged") == Some(&Value::Bool(true))
}

/// The request that subscribes to changes of the tools, in the stateless version.
pub(super) fn listen(version: &ProtocolVersion, id: u64, asks: bool) -> Value {
    let wanted = SubscriptionFilter::builder().tools_list_changed().build();
    let params = json!({ "_meta": meta(version, asks), "notifications": wanted });
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })
}

/// Reads one tool of a list. Only what a call needs is read, so that a mistake elsewhere in its description does not matter.
///
/// # Errors
/// Says why it cannot be called.
pub(super) fn tool(item: &Value) -> Result<ServerTool, String> {
    let name = item.get("name").and_then(Value::as_str).ok_or("it has no name")?;
    if name.trim().is_empty() {
        return Err("its name is empty".to_owned());
    }
    if name.len() > LONGEST_NAME {
        return Err(format!("its name has more than {LONGEST_NAME} bytes"));
    }
    if visible(name) != name {
        return Err("its name holds control characters or invisible ones".to_owned());
    }
    if name == INSTRUCTIONS {
        return Err("its name is the one under which flow pins the instructions of a server".to_owned());
    }
    let input = match item.get("inputSchema") {
        None | Some(Value::Null | Value::Bool(true)) => json!({ "type": "object" }),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(_) => return Err("its inputSchema is no JSON object".to_owned()),
    };
    let takes_object = match &input["type"] {
        Value::String(kind) => kind.eq_ignore_ascii_case("object"),
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        _ => true,
    };
    if !takes_object {
        return Err(format!(
            "its inputSchema is of type {}, and the arguments of a call are an object",
            cut_words(&input["type"].to_string(), 40)
        ));
    }
    Ok(ServerTool {
        name: name.to_owned(),
        description: item.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        input,
        output: item.get("outputSchema").filter(|schema| schema.is_object()).cloned(),
        hash: hash(&said_of(item)),
    })
}

/// The pinned parts of a tool's description, with the keys inside sorted.
pub(super) fn said_of(item: &Value) -> Value {
    let parts = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
    let given = parts.iter().filter_map(|part| {
        let mut said = item.get(*part)?.clone();
        said.sort_all_objects();
        Some(((*part).to_owned(), said))
    });
    Value::Object(given.collect())
}

/// SHA-256 of a value, in hexadecimal.
pub(super) fn hash(value: &Value) -> String {
    hex::encode(Sha256::digest(value.to_string()))
}

/// Whether a server accepts tool calls as tasks, according to its answer to the first request.
pub(super) fn takes_tasks(result: &Value) -> bool {
    result.pointer("/capabilities/tasks/requests/tools/call").is_some()
}

/// Reads the result of a tool call, or the questions that it first asks a person, if it may ask.
///
/// # Errors
/// Fails if the result cannot be read, or asks questions that are not allowed or not supported.
pub(super) fn reply(result: Value, may_ask: bool) -> Result<ServerReply, Failure> {
    if let Some(asks) = questions::read(&result, may_ask)? {
        return Ok(ServerReply { asks: Some(Box::new(asks)), ..ServerReply::default() });
    }
    let given: CallToolResult = serde_json::from_value(result)
        .map_err(|error| Failure::new(FailureKind::BadResponse, format!("the result of the call cannot be read: {error}")))?;
    let is_error = given.is_error == Some(true);
    let (value, is_structured) = match given.structured_content {
        Some(value) if !is_error => (value, true),
        _ => (Value::String(text(&given.content)), false),
    };
    Ok(ServerReply { value, is_structured, is_error, ..ServerReply::default() })
}

fn is_complete(result: &Value) -> Result<(), Failure> {
    if result.get("resultType").and_then(Value::as_str).is_some_and(|kind| kind != "complete") {
        let message = "it asks a question before it continues, which flow does not answer here";
        return Err(Failure::new(FailureKind::Refused, message));
    }
    Ok(())
}

/// The pictures of a result, each with its file extension. Only kinds that models accept are returned, detected by content and not by the declared
/// type.
pub(super) fn pictures(result: &Value) -> Vec<(Vec<u8>, &'static str)> {
    let blocks = result.get("content").and_then(Value::as_array);
    let data = |block: &Value| match block["type"].as_str()? {
        "image" => block["data"].as_str().map(str::to_owned),
        "resource" => block.pointer("/resource/blob")?.as_str().map(str::to_owned),
        _ => None,
    };
    let decoded = blocks.into_iter().flatten().filter_map(data).filter_map(|text| STANDARD.decode(text.trim()).ok());
    let kinds = decoded.filter_map(|bytes| picture_ending(&bytes).map(|ending| (bytes, ending)));
    kinds.take(MOST_PICTURES).collect()
}

/// The file extension of a picture that models accept, by its content.
fn picture_ending(bytes: &[u8]) -> Option<&'static str> {
    Some(match imagesize::image_type(bytes).ok()? {
        ImageType::Png => "png",
        ImageType::Jpeg => "jpg",
        ImageType::Gif => "gif",
        ImageType::Webp => "webp",
        _ => return None,
    })
}

/// Reads the content of a resource. Several parts are joined into one text, in which files are named.
///
/// # Errors
/// Fails if the result is incomplete, has no contents, or its only part is neither a text nor a file.
pub(super) fn resource(result: &Value) -> Result<ResourceReply, Failure> {
    is_complete(result)?;
    let wrong = |what: String| Failure::new(FailureKind::BadResponse, what);
    let contents = result.get("contents").and_then(Value::as_array).ok_or_else(|| wrong("its answer has no contents".into()))?;
    let text_of = |part: &Value, key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
    match contents.as_slice() {
        [] => Err(wrong("its answer is empty".into())),
        [part] if part.get("text").is_none() => {
            let content = text_of(part, "blob").ok_or_else(|| wrong("the resource is neither a text nor a file".into()))?;
            let media_type = text_of(part, "mimeType").unwrap_or_default();
            Ok(ResourceReply { file: Some(ResourceFile { media_type, content }), ..ResourceReply::default() })
        }
        parts => {
            let named = |part: &Value| {
                let uri = text_of(part, "uri").unwrap_or_default();
                text_of(part, "blob").map_or_else(|| format!("[{uri}]"), |blob| format!("[{uri}, {} bytes]", blob.len() / 4 * 3))
            };
            let texts = parts.iter().map(|part| text_of(part, "text").unwrap_or_else(|| named(part)));
            Ok(ResourceReply { text: texts.collect::<Vec<_>>().join("\n"), ..ResourceReply::default() })
        }
    }
}

/// The bytes of a resource, and a file extension where the content alone does not show its kind.
pub(super) fn resource_file(file: &ResourceFile) -> Option<(Vec<u8>, &'static str)> {
    let bytes = STANDARD.decode(file.content.trim()).ok()?;
    let media_type = file.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let ending = picture_ending(&bytes).unwrap_or(match media_type.as_str() {
        "text/csv" => "csv",
        "text/tab-separated-values" => "tsv",
        _ => "",
    });
    Some((bytes, ending))
}

/// The text of a result. Parts that are not text are named in brackets.
fn text(content: &[ContentBlock]) -> String {
    let size = |data: &str| format!("{} bytes", data.len() / 4 * 3);
    let parts = content.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[picture, {}, {}]", image.mime_type, size(&image.data)),
        ContentBlock::Audio(audio) => format!("[sound, {}, {}]", audio.mime_type, size(&audio.data)),
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, blob, .. } => format!("[{uri}, {}]", size(blob)),
            _ => "[not a text]".to_owned(),
        },
        _ => "[not a text]".to_owned(),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The failure kind of an error object. The server reports that it did not do what was requested.
pub(super) fn class(error: &ErrorData) -> FailureKind {
    match error.code {
        ErrorCode::INVALID_REQUEST | ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_PARAMS => FailureKind::BadRequest,
        _ => FailureKind::Refused,
    }
}
