//! Requests and answers as plain values, and back.

use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::event::MessageRole;
use crate::port::{
    HttpReply, HttpRequest, Mail, Message, ModelReply, ModelRequest, ResourceCall, ResourceReply, ServerCall, ServerReply, ToolList,
    ToolServer, WireFormat,
};

/// Most bytes of a picture; what models take is less.
const MOST_PICTURE: u64 = 32 * 1024 * 1024;

/// What a model is asked. The address and the key are left out: they are the surroundings' affair.
pub fn model(request: &ModelRequest) -> Value {
    let mut asked = json!({ "to": "model" });
    // A model of which the file says nothing but its recordings may have been any.
    if request.wire != WireFormat::Recorded || !request.model.is_empty() {
        asked["model"] = json!(request.model);
        let numbers = [
            ("temperature", request.temperature.map(Value::from)),
            ("max_output_tokens", request.max_output_tokens.filter(|_| request.bounded_as.is_none()).map(Value::from)),
            ("seed", request.seed.map(Value::from)),
        ];
        numbers.into_iter().filter_map(|(name, value)| Some((name, value?))).for_each(|(name, value)| asked[name] = value);
    }
    asked["messages"] = request.messages.iter().map(|one| message(one)).collect();
    if let Some(schema) = &request.schema {
        asked["schema"] = schema.clone();
    }
    if !request.tools.is_empty() {
        asked["tools"] = json!(request.tools);
    }
    asked
}

/// The keys of [`model`] that say which model is asked, not what.
pub(crate) const OF_THE_MODEL: [&str; 4] = ["model", "temperature", "max_output_tokens", "seed"];

fn message(message: &Message) -> Value {
    let mut value = json!(message);
    if !message.pictures.is_empty() {
        // What a tool gave is named by its content, and is not there in a replay.
        let of_tool = |path: &std::path::Path| json!(path.file_name().unwrap_or_default().to_string_lossy());
        let is_of_tool = message.role == MessageRole::Tool;
        value["pictures"] = message.pictures.iter().map(|path| if is_of_tool { of_tool(path) } else { picture(path) }).collect();
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
    let mut asked = json!({ "to": "http", "method": request.method.word(), "host": host, "path": path });
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

/// A reading of a server's resource.
pub fn resource(call: &ResourceCall) -> Value {
    json!({ "to": "resource", "server": call.server.name, "uri": call.uri })
}

/// A mail as it is handed over.
pub fn mail(mail: &Mail) -> Value {
    let Mail { server, from, to, subject, text, .. } = mail;
    let mut asked = json!({ "to": "mail", "server": server, "from": from, "receiver": to, "subject": subject, "text": text });
    if let Some(html) = &mail.html {
        asked["html"] = json!(html);
    }
    asked
}

/// An answer as a plain value, and from one.
pub(crate) trait Recordable: Serialize + DeserializeOwned {
    /// As it is kept.
    fn kept(&self) -> Value {
        json!(self)
    }

    /// From what was kept; `None`: it is no such answer.
    fn from_kept(value: Value) -> Option<Self> {
        serde_json::from_value(value).ok()
    }
}

impl Recordable for ModelReply {}
impl Recordable for ToolList {}
impl Recordable for ServerReply {}
impl Recordable for ResourceReply {}

impl Recordable for HttpReply {
    /// Without the headers that differ from one call to the next and say nothing of what was asked.
    fn kept(&self) -> Value {
        let mut headers: Vec<&(String, String)> = self.headers.iter().filter(|(name, _)| !is_passing(name)).collect();
        headers.sort();
        json!({ "status": self.status, "headers": headers, "body": self.body })
    }
}

fn is_passing(header: &str) -> bool {
    matches!(header, "age" | "alt-svc" | "cf-ray" | "connection" | "content-length" | "date" | "expires" | "keep-alive" | "nel")
        || matches!(header, "report-to" | "server-timing" | "set-cookie" | "traceparent" | "transfer-encoding" | "via")
        || header.ends_with("request-id")
        || header.ends_with("trace-id")
        || header.starts_with("x-ratelimit")
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
