//! Sending: the parts of a text to `stdout` or to a tool.

use serde_json::{Value, json};

use super::http::HttpParts;
use super::requests::add_key;
use super::{Kind, Taken, other};
use crate::channel::{MessagePart, Output};
use crate::engine::Run;
use crate::engine::command::{CallReply, CallRequest};
use crate::engine::reach::Giver;
use crate::engine::state::NodeRef;
use crate::engine::words::{ms, plain};
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{CALL_TIMEOUT, CONNECT_TIMEOUT, STDOUT, SendStep, Step, Text, ToolKind};
use crate::port::{Mail, Secret};
use crate::template;

impl Kind for SendStep {
    fn start(&self, run: &mut Run, at: NodeRef, step: &Step) -> Result<(), Failure> {
        run.start_send(at, step, self)
    }

    fn take(&self, run: &mut Run, at: NodeRef, reply: CallReply) -> Taken {
        let id = match reply {
            CallReply::Sent(id) => id,
            CallReply::Http(_) => String::new(),
            _ => return other(),
        };
        run.sent(at, self, id).map(|over| over.map(|output| (output, None)))
    }
}

impl Run {
    fn start_send(&mut self, at: NodeRef, step: &Step, send: &SendStep) -> Result<(), Failure> {
        let parts = parts_of(&self.state.output(self.fill(at, &send.of)?));
        if send.to.value == STDOUT {
            let texts: Vec<String> = parts.iter().map(content_text).collect();
            self.call_out(at, STDOUT, json!({ "parts": texts.len() }), CallRequest::Print(texts), ms(CALL_TIMEOUT));
            return Ok(());
        }
        let with = self.arguments(at, &send.with)?;
        if self.options.mocks.refuses_effects {
            let texts: Vec<String> = parts.iter().map(content_text).collect();
            self.call_out(at, &send.to.value, json!({ "parts": texts.len() }), CallRequest::Print(texts), ms(CALL_TIMEOUT));
            return Ok(());
        }
        let tool = self.tool(at, &send.to.value)?.clone();
        let timeout = step.timeout.unwrap_or(tool.call_timeout());
        let done = self.state.node(at).delivered.len();
        let Some(part) = parts.get(done) else {
            self.succeed(at, json!({ "delivered": [] }), None);
            return Ok(());
        };
        let key = self.idempotency_key(at, send.idempotency_key.as_ref(), done as u64 + 1)?;
        let text = |key: &str| with.get(key).and_then(Value::as_str).map(str::to_string);
        let request = match &tool.kind {
            ToolKind::Http { method, url, headers, query, body, .. } => {
                let mut names = with.clone();
                names.insert("content".into(), part.content.clone());
                names.insert("text".into(), part.text.clone().into());
                names.insert("part".into(), (done + 1).into());
                names.insert("parts".into(), parts.len().into());
                let names = Value::Object(names);
                let extra = [("with", template::from_json(&names))];
                let own = HttpParts { method: *method, url, headers, query, body: body.as_ref() };
                let connect_timeout = tool.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
                let given = (Giver::of_send(&send.with), &extra[..]);
                let mut request = self.http_request(at, &own, given, timeout, connect_timeout)?;
                if body.is_none() {
                    let own = json!({ "part": done + 1, "parts": parts.len(), "content": part.content });
                    request.body = Some(("application/json".into(), own.to_string().into_bytes()));
                }
                add_key(&mut request, Some(key.clone().unwrap_or_default()).filter(|k| !k.is_empty()));
                CallRequest::Http(request)
            }
            ToolKind::File(folder) => {
                let name = text("name").ok_or_else(|| Failure::new(FailureKind::BadRequest, "send to a file needs with: { name: … }"))?;
                let all: Vec<String> = parts.iter().map(content_text).collect();
                CallRequest::Write { folder: folder.clone(), name, text: all.join("\n\n") }
            }
            ToolKind::Smtp { address, from, user, password } => {
                let secrets = self.secret_names();
                let fill = |t: &Text| self.fill_text_with(at, t, &secrets);
                let login = match (user, password) {
                    (Some(user), Some(password)) => Some((Secret::new(fill(user)?), Secret::new(fill(password)?))),
                    _ => None,
                };
                let need = |key: &str| {
                    text(key).ok_or_else(|| Failure::new(FailureKind::BadRequest, format!("send by mail needs with: {{ {key}: … }}")))
                };
                let all: Vec<String> = parts.iter().map(content_text).collect();
                CallRequest::Mail(Mail {
                    server: fill(address)?,
                    host_from: self.text_named_by(at, address, Giver::NOBODY),
                    login,
                    from: fill(from)?,
                    to: need("to")?,
                    subject: need("subject")?,
                    text: all.join("\n\n"),
                    html: None,
                    key: key.clone().unwrap_or_default(),
                    timeout,
                })
            }
            ToolKind::Sql(_) | ToolKind::Pipeline { .. } | ToolKind::Server(_) | ToolKind::Broken => {
                return Err(Failure::new(FailureKind::BadRequest, format!("nothing can be sent to tool \"{}\"", send.to.value)));
            }
        };
        let shown = json!({ "part": done + 1, "parts": parts.len() });
        let to = send.to.value.clone();
        let mut told = with.clone();
        told.extend(shown.as_object().cloned().unwrap_or_default());
        let told = Value::Object(told);
        if to != STDOUT && done == 0 {
            // What is asked about is the whole, once.
            let mut whole = told.clone();
            whole["content"] = parts.iter().map(content_text).collect::<Vec<_>>().join("\n\n").into();
            if !self.agreed(at, None, &to, &whole)? {
                return Ok(());
            }
        }
        self.permit(at, None, Some((&to, &told)), &request)?;
        self.call_out(at, &to, shown, request, ms(timeout));
        Ok(())
    }

    /// One sending is done. Gives the step's output, or goes on with the next part.
    pub(crate) fn sent(&mut self, at: NodeRef, send: &SendStep, id: String) -> Result<Option<Value>, Failure> {
        let count = parts_of(&self.state.output(self.fill(at, &send.of)?)).len();
        let at_once = send.to.value == STDOUT
            || self.options.mocks.refuses_effects
            || self.tool(at, &send.to.value).is_ok_and(|t| matches!(t.kind, ToolKind::File(_) | ToolKind::Smtp { .. }));
        let first = self.state.node(at).delivered.len();
        let last = if at_once { count } else { first + 1 };
        for part in first..last {
            self.emit(Happening::OutputWritten { step: self.path(at), to: send.to.value.clone(), part: part as u64 + 1, id: id.clone() });
        }
        if last < count {
            if self.has_permit(at) {
                self.start_again(at)
            } else {
                self.wake(at)
            }
            return Ok(None);
        }
        let delivered: Vec<Value> = self.state.node(at).delivered.iter().map(|d| (**d).clone()).collect();
        Ok(Some(json!({ "delivered": delivered })))
    }
}

/// The parts to send: of a `format` output its parts, else the text as one part.
fn parts_of(output: &Output) -> Vec<MessagePart> {
    match output {
        Output::Formatted(_, made) => made.parts.clone(),
        Output::Plain(value) => {
            let text = plain(value);
            vec![MessagePart { number: 1, indicator: String::new(), content: Value::String(text.clone()), text }]
        }
    }
}

/// What is sent of a part, as text: a card as its JSON.
fn content_text(part: &MessagePart) -> String {
    match &part.content {
        Value::String(text) => text.clone(),
        card => serde_json::to_string_pretty(card).unwrap_or_default(),
    }
}
