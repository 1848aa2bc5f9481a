//! `send`: sends the parts of a text to `stdout` or to a tool.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::decision::{CallCheck, StepCall, StepDecision, Then};
use super::http::HttpParts;
use super::mail;
use super::requests::RepeatKey;
use super::tool::FilledArguments;
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::channel::{MessagePart, shows};
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind, Happening, SendOutput};
use crate::model::{CALL_TIMEOUT, CONNECT_TIMEOUT, FileMode, STDOUT, Sample, SendStep, Step, Text, Tool, ToolKind};
use crate::parts::Requests;
use crate::port::{FileToWrite, HttpRequest, Mail, MailHead, MailReceipt, Secret};
use crate::reach::Giver;
use crate::run::Answerer;
use crate::state::NodeRef;
use crate::state::made::is_gap;
use crate::template;
use crate::words::{ms, plain};

/// The most bytes of a file to which `send` adds: it is written anew each time.
const MOST_APPENDED: u64 = 64 << 20;

impl Kind for SendStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let (to, parts, given) = (&self.to.value, context.requests().parts_to_send(at, self)?, context.arguments(at, &self.with)?);
        let is_test = context.options.mocks.refuses_effects && context.answerer == Answerer::World;
        if to == STDOUT || is_test {
            let request = CallRequest::Print(contents(&parts));
            let check = if to == STDOUT { CallCheck::Nothing } else { CallCheck::Rehearsed };
            return Ok(StepCall { check, ..StepCall::new(to, json!({ "parts": parts.len() }), request, ms(CALL_TIMEOUT)) }.into());
        }
        let tool = context.tool(at, to)?;
        let timeout = step.timeout.unwrap_or(tool.call_timeout());
        let done = context.state.steps.node(at).delivered.len();
        if done >= parts.len() {
            return Ok(Then::Succeed(SendOutput { delivered: vec![] }.into_value(), None).into());
        }
        // In a test all parts are decided about at once.
        let is_each = context.answerer != Answerer::World && matches!(tool.kind, ToolKind::Http { .. });
        let last = if is_each { parts.len() } else { done + 1 };
        let sending = |done| Sending { send: self, tool, parts: &parts, done, timeout };
        let calls = (done..last).map(|done| context.requests().call_of_part(at, &sending(done), given.clone()));
        Ok(Then::Call(calls.collect()).into())
    }

    /// Records that a part was sent, or all; continues with the next one.
    fn take(&self, context: &Context, at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        let receipt = match reply {
            CallReply::Mailed(receipt) => receipt,
            CallReply::Sent(id) => MailReceipt { id, ..MailReceipt::default() },
            CallReply::Http(_) => MailReceipt::default(),
            _ => return wrong_answer_decision(),
        };
        let parts = context.requests().parts_to_send(at, self)?;
        let is_kept = context.state.start.as_ref().is_some_and(|start| start.conversation.is_some());
        let at_once = self.to.value == STDOUT
            || context.options.mocks.refuses_effects
            || context.tool(at, &self.to.value).is_ok_and(|t| matches!(t.kind, ToolKind::File(_) | ToolKind::Smtp { .. }));
        let first = context.state.steps.node(at).delivered.len();
        let last = if at_once { parts.len() } else { first + 1 };
        let accepted = match receipt.accepted.is_empty() && context.options.mocks.refuses_effects {
            true => context.requests().would_accept(at, self)?,
            false => receipt.accepted,
        };
        let written = |part: usize| Happening::OutputWritten {
            step: context.path(at),
            to: self.to.value.clone(),
            part: part as u64 + 1,
            id: receipt.id.clone(),
            text: parts.get(part).filter(|_| is_kept).map(said_text),
            accepted: accepted.clone(),
            rejected: receipt.rejected.clone(),
        };
        let then = if last < parts.len() { Then::StartAgain } else { Then::Delivered };
        Ok(StepDecision { events: (first..last).map(written).collect(), then })
    }
}

/// One request of a `send`: its parts, and which of them comes next.
struct Sending<'a> {
    send: &'a SendStep,
    tool: &'a Tool,
    parts: &'a [MessagePart],
    done: usize,
    timeout: Duration,
}

impl Requests<'_> {
    /// The call that sends the next part, or all at once.
    fn call_of_part(&self, at: NodeRef, sending: &Sending, given: Map<String, Value>) -> Result<StepCall, Failure> {
        let Sending { send, tool, parts, done, timeout } = *sending;
        let key = self.repeat_key(at, send.idempotency_key.as_ref(), done as u64 + 1)?;
        let FilledArguments { with, shown: mut told } = self.with_shown(at, tool, given)?;
        let request = self.sent_request(at, sending, with, key)?;
        if let CallRequest::Mail(mail) = &request {
            mail::show(&mail.head, &mut told);
        }
        let shown = json!({ "part": done + 1, "parts": parts.len() });
        // A person is asked once, about all parts.
        let mut whole = Value::Object(told.clone());
        whole["parts"] = parts.len().into();
        whole["content"] = contents(parts).join("\n\n").into();
        told.extend(shown.as_object().cloned().unwrap_or_default());
        let check = CallCheck::Tool { arguments: Value::Object(told), whole };
        Ok(StepCall { check, ..StepCall::new(&send.to.value, shown, request, ms(timeout)) })
    }

    /// What a tool is asked for the next part, or for all.
    fn sent_request(&self, at: NodeRef, sending: &Sending, with: Map<String, Value>, key: RepeatKey) -> Result<CallRequest, Failure> {
        let Sending { send, tool, parts, done: _, timeout } = *sending;
        Ok(match &tool.kind {
            ToolKind::Http { .. } => CallRequest::Http(self.part_request(at, sending, with, key)?),
            ToolKind::File(folder) => {
                let name = with.get("name").and_then(Value::as_str).map(str::to_owned);
                let name = name.ok_or_else(|| Failure::new(FailureKind::BadRequest, "send to a file needs with: { name: … }"))?;
                let text = contents(parts).join("\n\n");
                let content = match file_mode(with.get("mode"))? {
                    FileMode::Replace => FileToWrite::Text(text),
                    FileMode::Append => FileToWrite::Added { text, most: self.program_bounds(at).file_size.min(MOST_APPENDED) },
                };
                CallRequest::Write { folder: folder.clone(), name, content }
            }
            ToolKind::Smtp { address, from, user, password } => {
                let secrets = self.names().secret_names();
                let fill = |t: &Text| self.names().fill_text_with(at, t, &secrets);
                let login = match (user, password) {
                    (Some(user), Some(password)) => Some((Secret::new(fill(user)?), Secret::new(fill(password)?))),
                    _ => None,
                };
                let html = self.is_html(at, send)?.then(|| contents(parts).join("\n"));
                let texts = if html.is_some() { parts.iter().map(|part| part.text.clone()).collect() } else { contents(parts) };
                CallRequest::Mail(Mail {
                    server: fill(address)?,
                    host_from: self.origins().text_named_by(at, address, Giver::NOBODY),
                    login,
                    from: fill(from)?,
                    head: mail_head(send, tool, with)?,
                    text: texts.join("\n\n"),
                    html,
                    key: key.text,
                    timeout,
                })
            }
            ToolKind::Sql(_)
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
            | ToolKind::Knowledge(_)
            | ToolKind::Pipeline { .. }
            | ToolKind::Server(_)
            | ToolKind::Broken => {
                let message = format!("tool \"{}\" cannot be used with send", send.to.value);
                return Err(Failure::new(FailureKind::BadRequest, message));
            }
        })
    }

    /// The request of an `http` tool for one part.
    fn part_request(&self, at: NodeRef, sending: &Sending, with: Map<String, Value>, key: RepeatKey) -> Result<HttpRequest, Failure> {
        let Sending { send, tool, parts, done, timeout } = *sending;
        let (ToolKind::Http { method, url, headers, query, body, .. }, Some(part)) = (&tool.kind, parts.get(done)) else {
            return Err(Failure::new(FailureKind::Internal, "a part was sent to no address"));
        };
        let mut names = with;
        names.insert("content".into(), part.content.clone());
        names.insert("text".into(), part.text.clone().into());
        names.insert("part".into(), (done + 1).into());
        names.insert("parts".into(), parts.len().into());
        let extra = [("with", template::from_json(&Value::Object(names)))];
        let own = HttpParts { method: *method, url, headers, query, body: body.as_ref() };
        let connect_timeout = tool.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        let given = (Giver::of_send(&tool.with, &send.with), &extra[..]);
        let mut request = self.http_request(at, &own, given, timeout, connect_timeout)?;
        if body.is_none() {
            let own = json!({ "part": done + 1, "parts": parts.len(), "content": part.content });
            request.body = Some(("application/json".into(), own.to_string().into_bytes()));
        }
        key.add_to(&mut request);
        Ok(request)
    }

    /// Whether what is sent was made for a channel as HTML, however it was handed on.
    fn is_html(&self, at: NodeRef, send: &SendStep) -> Result<bool, Failure> {
        Ok(self.state.made.is_html(&self.fill(at, &send.of)?))
    }

    /// The parts to send: those that a `format` step made, otherwise the text as one part.
    ///
    /// # Errors
    /// There is nothing to send.
    fn parts_to_send(&self, at: NodeRef, send: &SendStep) -> Result<Vec<MessagePart>, Failure> {
        let value = self.fill(at, &send.of)?;
        let parts = self.state.made.made_parts(&value).unwrap_or_else(|| {
            let text = plain(&value);
            vec![MessagePart { number: 1, indicator: String::new(), content: Value::String(text.clone()), plain: text.clone(), text }]
        });
        let is_empty = is_gap(&value)
            || matches!(&value, Value::Array(list) if list.iter().all(is_gap))
            || !parts.iter().any(|part| shows(&part.text));
        match is_empty {
            true => Err(Failure::new(FailureKind::BadRequest, format!("there is nothing to send: {} is empty", send.of.source.trim()))),
            false => Ok(parts),
        }
    }

    /// The recipients of a mail that a test does not send.
    fn would_accept(&self, at: NodeRef, send: &SendStep) -> Result<Vec<String>, Failure> {
        let Some(tool) = self.tool(at, &send.to.value).ok().filter(|tool| matches!(tool.kind, ToolKind::Smtp { .. })) else {
            return Ok(vec![]);
        };
        let FilledArguments { with, shown: _ } = self.with_shown(at, tool, self.arguments(at, &send.with)?)?;
        let MailHead { to, cc, bcc, .. } = mail_head(send, tool, with)?;
        Ok([to, cc, bcc].concat())
    }
}

/// The head of a mail, of what the step and its tool say.
fn mail_head(send: &SendStep, tool: &Tool, mut with: Map<String, Value>) -> Result<MailHead, Failure> {
    // What the tool fixes takes the place of what the step says.
    let of_step = send.with.iter().filter(|(name, _)| !tool.with.iter().any(|(fixed, _)| fixed.value == name.value));
    mail::as_written(of_step.chain(&tool.with), &mut with);
    mail::head(&with)
}

/// How a file is written; where nothing is said, it holds the text alone.
fn file_mode(mode: Option<&Value>) -> Result<FileMode, Failure> {
    let Some(mode) = mode else { return Ok(FileMode::Replace) };
    let known = mode.as_str().and_then(|word| word.parse().ok());
    known.ok_or_else(|| Failure::new(FailureKind::BadRequest, format!("mode of send is replace or append, and not {mode}")))
}

/// The text that people read in a part, without the number of the part.
fn said_text(part: &MessagePart) -> String {
    let text = if part.plain.is_empty() { &part.text } else { &part.plain };
    let text = text.strip_suffix(part.indicator.as_str()).or_else(|| text.strip_prefix(part.indicator.as_str())).unwrap_or(text);
    text.trim().to_owned()
}

/// The contents of parts as text.
fn contents(parts: &[MessagePart]) -> Vec<String> {
    parts.iter().map(content_text).collect()
}

/// The content of a part as text; a card as its JSON.
fn content_text(part: &MessagePart) -> String {
    match &part.content {
        Value::String(text) => text.clone(),
        card => serde_json::to_string_pretty(card).unwrap_or_default(),
    }
}
