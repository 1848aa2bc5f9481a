//! Requests and answers as plain values, and back.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::port::{
    HttpReply, HttpRequest, Mail, Message, ModelReply, ModelRequest, ServerCall, ServerReply, ToolList, ToolServer, WireFormat,
};

/// Most bytes of a picture; what models take is less.
const MOST_PICTURE: u64 = 32 * 1024 * 1024;
/// Headers of an answer that differ from one call to the next and say nothing of what was asked.
const PASSING: [&str; 16] = [
    "age",
    "alt-svc",
    "cf-ray",
    "connection",
    "content-length",
    "date",
    "expires",
    "keep-alive",
    "nel",
    "report-to",
    "request-id",
    "server-timing",
    "set-cookie",
    "traceparent",
    "transfer-encoding",
    "via",
];

/// What a model is asked. The address and the key are left out: they are the surroundings' affair.
pub fn model(request: &ModelRequest) -> Value {
    let mut asked = Map::from_iter([("to".to_owned(), json!("model"))]);
    // A model of which the file says nothing but its recordings may have been any.
    if request.wire != WireFormat::Recorded || !request.model.is_empty() {
        asked.insert("model".into(), json!(request.model));
        let settings = [
            ("temperature", request.temperature.map(Value::from)),
            ("max_output_tokens", request.max_output_tokens.map(Value::from)),
            ("seed", request.seed.map(Value::from)),
        ];
        asked.extend(settings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    asked.insert("messages".into(), request.messages.iter().map(message).collect());
    if let Some(schema) = &request.schema {
        asked.insert("schema".into(), schema.clone());
    }
    if !request.tools.is_empty() {
        asked.insert("tools".into(), json!(request.tools));
    }
    Value::Object(asked)
}

/// The keys of [`model`] that say which model is asked, not what.
pub(crate) const OF_THE_MODEL: [&str; 4] = ["model", "temperature", "max_output_tokens", "seed"];

fn message(message: &Message) -> Value {
    let mut value = json!({ "role": message.role, "text": message.text });
    if !message.pictures.is_empty() {
        value["pictures"] = message.pictures.iter().map(|path| picture(path)).collect();
    }
    if !message.calls.is_empty() {
        value["calls"] = json!(message.calls);
    }
    if let Some(id) = &message.call_id {
        value["call_id"] = json!(id);
    }
    value
}

/// A picture by its name and content.
fn picture(path: &std::path::Path) -> Value {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let content = super::super::files::read(path, MOST_PICTURE).map(|bytes| hex::encode(Sha256::digest(bytes)));
    json!({ "name": name, "sha256": content.unwrap_or_else(|_| "not readable".to_owned()) })
}

/// What is asked over HTTP. Of headers only the names are kept: their values are keys more often than not.
pub fn http(request: &HttpRequest) -> Value {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (place, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
    let (scheme, rest) = place.split_once("://").unwrap_or(("", place));
    let mut parts = rest.split('/');
    let host = format!("{scheme}://{}", parts.next().unwrap_or_default());
    let path: Vec<String> = parts.map(decoded).collect();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let query: Vec<Value> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!([decoded(&name.replace('+', " ")), decoded(&value.replace('+', " "))])
        })
        .collect();
    let mut headers: Vec<String> = request.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
    headers.sort();
    let mut asked = json!({ "to": "http", "method": request.method.as_str(), "host": host, "path": path });
    if !query.is_empty() {
        asked["query"] = Value::Array(query);
    }
    if !headers.is_empty() {
        asked["headers"] = json!(headers);
    }
    if let Some((_, body)) = &request.body {
        let text = String::from_utf8_lossy(body);
        asked["body"] = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
    }
    asked
}

/// Which tools a server has. Where it is and what it is started with are the surroundings' affair.
pub fn tools(server: &ToolServer) -> Value {
    json!({ "to": "tool server", "server": server.name })
}

/// A call of a server's tool.
pub fn tool(call: &ServerCall) -> Value {
    json!({ "to": "tool", "server": call.server.name, "tool": call.tool, "with": call.arguments })
}

/// A mail as it is handed over.
pub fn mail(mail: &Mail) -> Value {
    let mut asked = json!({ "to": "mail", "server": mail.server, "from": mail.from, "receiver": mail.to, "subject": mail.subject });
    asked["text"] = json!(mail.text);
    if let Some(html) = &mail.html {
        asked["html"] = json!(html);
    }
    asked
}

/// An answer as a plain value, and from one.
pub(crate) trait Recordable: Sized {
    /// As it is kept.
    fn kept(&self) -> Value;
    /// From what was kept; `None`: it is no such answer.
    fn from_kept(value: Value) -> Option<Self>;
}

impl Recordable for ModelReply {
    fn kept(&self) -> Value {
        json!(self)
    }

    fn from_kept(value: Value) -> Option<ModelReply> {
        serde_json::from_value(value).ok()
    }
}

impl Recordable for HttpReply {
    fn kept(&self) -> Value {
        let mut headers: Vec<&(String, String)> = self.headers.iter().filter(|(name, _)| !is_passing(name)).collect();
        headers.sort();
        json!({ "status": self.status, "headers": headers, "body": self.body })
    }

    fn from_kept(mut value: Value) -> Option<HttpReply> {
        let status = u16::try_from(value["status"].as_u64()?).ok()?;
        let headers = serde_json::from_value(value["headers"].take()).ok()?;
        Some(HttpReply { status, headers, body: value["body"].take() })
    }
}

impl Recordable for ToolList {
    fn kept(&self) -> Value {
        json!(self)
    }

    fn from_kept(value: Value) -> Option<ToolList> {
        serde_json::from_value(value).ok()
    }
}

impl Recordable for ServerReply {
    fn kept(&self) -> Value {
        json!(self)
    }

    fn from_kept(value: Value) -> Option<ServerReply> {
        serde_json::from_value(value).ok()
    }
}

fn is_passing(header: &str) -> bool {
    PASSING.contains(&header) || header.ends_with("request-id") || header.ends_with("trace-id") || header.starts_with("x-ratelimit")
}

/// The id of a mail.
impl Recordable for String {
    fn kept(&self) -> Value {
        json!({ "id": self })
    }

    fn from_kept(value: Value) -> Option<String> {
        value["id"].as_str().map(str::to_owned)
    }
}
