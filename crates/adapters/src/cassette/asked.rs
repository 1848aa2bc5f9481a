//! Conversion of requests and answers to and from plain values.

use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::event::MessageRole;
use crate::port::{
    AgentCall, EndpointOptions, HttpReply, HttpRequest, Mail, MailHead, MailReceipt, Message, ModelReply, ModelRequest, ProgramCall,
    ProgramReply, PythonCall, PythonReply, ResourceCall, ResourceReply, ServerCall, ServerReply, ToolList, ToolServer, WireFormat,
};

/// Maximum size of a picture in bytes. It is larger than what models accept.
const MOST_PICTURE: u64 = 32 * 1024 * 1024;

/// A request to a model. The address and the key are left out, because they belong to the environment.
pub fn model(request: &ModelRequest) -> Value {
    let mut asked = json!({ "to": "model" });
    // If the file only names recordings, any model may have made them.
    if request.wire != WireFormat::Recorded || !request.model.is_empty() {
        asked["model"] = json!(request.model);
        let numbers = [
            ("temperature", request.temperature.map(Value::from)),
            ("max_output_tokens", request.max_output_tokens.filter(|_| request.bounded_as.is_none()).map(Value::from)),
            ("seed", request.seed.map(Value::from)),
        ];
        let EndpointOptions { service: _, headers: _, query: _, reasoning, context: _, extra, omit: _ } = &request.endpoint;
        let extra = (!extra.is_empty()).then(|| Value::Object(extra.clone()));
        let further = [("reasoning", reasoning.map(|reasoning| json!(reasoning))), ("extra", extra)];
        numbers.into_iter().chain(further).filter_map(|(name, value)| Some((name, value?))).for_each(|(name, value)| asked[name] = value);
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

/// The keys of [`model`] that identify the model and not the request.
pub(crate) const OF_THE_MODEL: [&str; 6] = ["model", "temperature", "max_output_tokens", "seed", "reasoning", "extra"];

fn message(message: &Message) -> Value {
    let mut value = json!(Message { state: None, ..message.clone() });
    if !message.pictures.is_empty() {
        // A tool's picture is named by its content. The file does not exist in a replay.
        let of_tool = |path: &std::path::Path| json!(path.file_name().unwrap_or_default().to_string_lossy());
        let is_of_tool = message.role == MessageRole::Tool;
        value["pictures"] = message.pictures.iter().map(|path| if is_of_tool { of_tool(path) } else { picture(path) }).collect();
    }
    value
}

/// A picture as its name and the hash of its content.
fn picture(path: &std::path::Path) -> Value {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let content = super::super::files::read(path, MOST_PICTURE).map(|bytes| hex::encode(Sha256::digest(bytes)));
    json!({ "name": name, "sha256": content.unwrap_or_else(|_| "not readable".to_owned()) })
}

/// A prompt for a program that is an agent. How it is started belongs to the environment and is left out.
pub fn agent(call: &AgentCall) -> Value {
    let mut asked = json!({ "to": "agent program", "model": call.model, "prompt": call.prompt });
    call.system.iter().for_each(|system| asked["system"] = json!(system));
    asked
}

/// An HTTP request. Only the names of headers are kept, because their values are often keys.
pub fn http(request: &HttpRequest) -> Value {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (place, query) = request.recorded_url().split_once('?').unwrap_or((request.recorded_url(), ""));
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

/// A request for the tools of a server. Its address and how it is started belong to the environment and are left out.
pub fn tools(server: &ToolServer) -> Value {
    json!({ "to": "tool server", "server": server.name })
}

/// A call of a server's tool.
pub fn tool(call: &ServerCall) -> Value {
    json!({ "to": "tool", "server": call.server.name, "tool": call.tool, "with": call.arguments })
}

/// A request to read a server's resource.
pub fn resource(call: &ResourceCall) -> Value {
    json!({ "to": "resource", "server": call.server.name, "uri": call.uri })
}

/// A program to be started. Its environment may hold keys and is left out.
pub fn program(call: &ProgramCall) -> Value {
    let mut asked = json!({ "to": "program", "command": call.command });
    if !call.input.is_empty() {
        asked["input"] = json!(String::from_utf8_lossy(&call.input));
    }
    asked
}

/// Code to be run. Where its interpreter is belongs to the environment.
pub fn python(call: &PythonCall) -> Value {
    let PythonCall { code, variables, returns, requires, .. } = call;
    json!({ "to": "python", "code": code, "variables": variables, "returns": returns, "requires": requires })
}

/// A mail to be sent.
pub fn mail(mail: &Mail) -> Value {
    let Mail { server, from, head, text, html: _, host_from: _, login: _, key: _, timeout: _ } = mail;
    let MailHead { to, cc, bcc, reply_to, in_reply_to, references, headers, subject } = head;
    let receiver = if let [one] = to.as_slice() { json!(one) } else { json!(to) };
    let mut asked = json!({ "to": "mail", "server": server, "from": from, "receiver": receiver, "subject": subject, "text": text });
    for (name, list) in [("cc", cc), ("bcc", bcc), ("reply_to", reply_to), ("references", references)] {
        if !list.is_empty() {
            asked[name] = json!(list);
        }
    }
    if !in_reply_to.is_empty() {
        asked["in_reply_to"] = json!(in_reply_to);
    }
    if !headers.is_empty() {
        asked["headers"] = json!(headers);
    }
    if let Some(html) = &mail.html {
        asked["html"] = json!(html);
    }
    asked
}

/// An answer that can be converted to and from a plain value.
pub(crate) trait Recordable: Serialize + DeserializeOwned {
    /// The recorded form.
    fn to_recorded(&self) -> Value {
        json!(self)
    }

    /// Reads the recorded form; `None` if it is not an answer of this type.
    fn from_kept(value: Value) -> Option<Self> {
        serde_json::from_value(value).ok()
    }
}

/// What an endpoint wants back is left out: a replay has no endpoint.
impl Recordable for ModelReply {
    fn to_recorded(&self) -> Value {
        json!(ModelReply { state: None, ..self.clone() })
    }
}

impl Recordable for ToolList {}
impl Recordable for ServerReply {}
impl Recordable for ResourceReply {}
impl Recordable for PythonReply {}

impl Recordable for HttpReply {
    /// Leaves out headers that differ from call to call and do not depend on the request.
    fn to_recorded(&self) -> Value {
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

/// What is no text stays a failure in a replay, as it was.
impl Recordable for ProgramReply {
    fn to_recorded(&self) -> Value {
        let ProgramReply { end, stdout, json: _, stderr, files: _, sandbox, help: _, ended_for: _, refused } = self;
        let (stdout, stderr) = (String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
        let mut kept = json!({ "end": end, "stdout": stdout, "stderr": stderr, "sandbox": sandbox });
        if !refused.is_empty() {
            kept["refused"] = json!(refused);
        }
        kept
    }

    fn from_kept(mut value: Value) -> Option<ProgramReply> {
        let text = |name: &str| value[name].as_str().map(|text| text.as_bytes().to_vec());
        let (stdout, stderr) = (text("stdout")?, text("stderr")?);
        let sandbox = value["sandbox"].as_str().map(str::to_owned);
        let refused = serde_json::from_value(value["refused"].take()).unwrap_or_default();
        Some(ProgramReply {
            end: serde_json::from_value(value["end"].take()).ok()?,
            stdout,
            stderr,
            sandbox,
            refused,
            ..ProgramReply::default()
        })
    }
}

/// The id of a mail.
impl Recordable for MailReceipt {}
