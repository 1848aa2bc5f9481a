//! Hides secrets in what flow builds itself: a template, a `format` or an answer that is read can join pieces that came in separately. This
//! complements the driver's door: no event is applied and no request is sent with a secret in it, except for those that the author wrote for that
//! request.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::command::CallRequest;
use crate::event::{Happening, HasTexts, Message, TextHolds, TextMut};
use crate::model::Text;
use crate::parts::{Gatekeeper, Rules};
use crate::port::{FileToWrite, HttpRequest, Mail, ProgramCall, PythonCall, QueryRequest, ResourceCall, SearchRequest, Secret, ServerCall};
use crate::redact::Secrets;
use crate::state::NodeRef;
use crate::tools::servers::reads;

impl Gatekeeper<'_> {
    /// Sends a request, for the tool with that name if there is one.
    pub(crate) fn send_out(&mut self, at: NodeRef, tool: &str, call: u64, mut request: CallRequest) {
        hide_in_request(&|| self.rules().unwritten(at, tool), &mut request);
        self.outbox.call(call, request);
    }
}

impl<'c> Rules<'c> {
    /// All secrets except those that the author's own texts of this tool or step read: these go where the author sends them.
    fn unwritten(self, at: NodeRef, tool: &str) -> Cow<'c, Secrets> {
        let step = self.step(at);
        let mut texts: Vec<&Text> = self.tool(at, tool).map(|tool| tool.texts()).unwrap_or_default();
        texts.extend(step.texts_with_secrets());
        let roots = [("secrets", &self.options.secrets), ("env", &self.options.env)];
        let values = roots.into_iter().flat_map(|(root, values)| values.iter().map(move |(name, value)| (root, name, value)));
        let written: Vec<&str> = values
            .filter(|(root, name, _)| reads(&texts, root, name))
            .map(|(.., value)| value.reveal())
            .filter(|value| !value.is_empty())
            .collect();
        let is_written = |hidden: &str| written.iter().any(|value| value.contains(hidden) || hidden.contains(value));
        let all = || self.options.hidden.iter().map(Secret::reveal);
        if all().any(is_written) {
            Cow::Owned(Secrets::new(all().filter(|hidden| !is_written(hidden))))
        } else {
            Cow::Borrowed(&self.0.hidden)
        }
    }

    /// Hides secrets in the result of a step. Rows and files have passed the driver's door and stay as they are.
    pub(crate) fn hide_in_result(&self, at: NodeRef, output: &mut Value, details: &mut Value) {
        self.hidden.hide_in_value(details);
        if !self.step(at).kind.facts().is_hidden_at_door {
            self.hidden.hide_in_value(output);
        }
    }

    /// Hides secrets in messages to a model.
    pub(crate) fn hide_in_messages(&self, messages: &mut [Message]) {
        messages.iter_mut().for_each(|message| message.each_text_mut(&mut |text| hide_in_text(&self.hidden, text)));
    }

    /// Hides secrets in an event before it is applied. Texts that the driver's door or the engine has already checked are not checked again.
    pub(crate) fn hide_in_event(&self, happening: &mut Happening) {
        // These have passed the driver's door, or contain no text from data; `succeed` and `send` have checked the last two, since they also store
        // and send them.
        let is_checked = matches!(
            happening,
            Happening::RunStarted(_)
                | Happening::ModelReplied { .. }
                | Happening::PlanAccepted { .. }
                | Happening::ToolsListed { .. }
                | Happening::ResultKept { .. }
                | Happening::StepSucceeded { .. }
                | Happening::ModelCalled { .. }
        );
        if !is_checked {
            happening.each_text_mut(&mut |holds, text| {
                if holds != TextHolds::Hash {
                    hide_in_text(&self.hidden, text);
                }
            });
        }
    }
}

fn hide_in_text(hidden: &Secrets, text: TextMut<'_>) {
    match text {
        TextMut::Text(text) => hidden.hide_in(text),
        TextMut::Cut(text) => *text = hidden.hide_cut(text),
        TextMut::Value(value) => hidden.hide_in_value(value),
        TextMut::Shared(value) if hidden.are_in(value) => hidden.hide_in_value(Arc::make_mut(value)),
        TextMut::Shared(_) => {}
    }
}

/// `secrets`: all that must not be in the request, computed only for requests that contain texts from data.
fn hide_in_request<'s>(secrets: &dyn Fn() -> Cow<'s, Secrets>, request: &mut CallRequest) {
    let hidden_in = |texts: &mut dyn Iterator<Item = &mut String>| {
        let secrets = secrets();
        texts.for_each(|text| secrets.hide_in(text));
    };
    match request {
        CallRequest::Query(QueryRequest { query, with, .. }) => {
            let secrets = secrets();
            secrets.hide_in(query);
            with.values_mut().for_each(|value| secrets.hide_in_value(value));
        }
        CallRequest::Search(SearchRequest { query, .. }) => secrets().hide_in(query),
        CallRequest::Http(HttpRequest { method: _, url, told, host_from: _, headers, body, timeout: _, connect_timeout: _ }) => {
            let secrets = secrets();
            told.iter_mut().chain([url]).for_each(|text| secrets.hide_in(text));
            for (_, value) in headers {
                if let Cow::Owned(hidden) = secrets.hide(value.reveal()) {
                    *value = Secret::new(hidden);
                }
            }
            if let Some((_, bytes)) = body
                && let Ok(text) = std::str::from_utf8(bytes)
                && let Cow::Owned(hidden) = secrets.hide(text)
            {
                *bytes = hidden.into_bytes();
            }
        }
        CallRequest::Agent(call) => hidden_in(&mut call.program.command.iter_mut()),
        CallRequest::Program(call) => {
            let (secrets, ProgramCall { command, input, .. }) = (secrets(), &mut **call);
            command.iter_mut().for_each(|word| secrets.hide_in(word));
            if let Ok(text) = std::str::from_utf8(input)
                && let Cow::Owned(hidden) = secrets.hide(text)
            {
                *input = hidden.into_bytes();
            }
        }
        CallRequest::Python(call) => {
            let (secrets, PythonCall { code, variables, .. }) = (secrets(), &mut **call);
            secrets.hide_in(code);
            secrets.hide_in_map(variables);
        }
        CallRequest::Tool(ServerCall { arguments, answers, .. }) => {
            secrets().hide_in_map(arguments);
            answers.iter_mut().for_each(|answers| secrets().hide_in_map(&mut answers.answers));
        }
        CallRequest::Resource(ResourceCall { server: _, uri, timeout: _, trace: _ }) => secrets().hide_in(uri),
        CallRequest::Mail(Mail { head, text, html, key, server: _, host_from: _, login: _, from: _, timeout: _ }) => {
            hidden_in(&mut head.texts_mut().chain([text, key]).chain(html));
        }
        CallRequest::Print(parts) => hidden_in(&mut parts.iter_mut()),
        CallRequest::Write { folder: _, name, content: FileToWrite::Text(text) | FileToWrite::Added { text, most: _ } } => {
            hidden_in(&mut [name, text].into_iter())
        }
        CallRequest::Write { folder: _, name, content: FileToWrite::Picture { .. } } => secrets().hide_in(name),
        CallRequest::Open { folder: _, name } => secrets().hide_in(name),
        CallRequest::Held { request, .. } => hide_in_request(secrets, request),
        // Messages were checked when they were added; paths and servers are the author's, or were decided on as they are; a scripted reply passes the
        // driver's door.
        CallRequest::Model(_)
        | CallRequest::Scripted(_)
        | CallRequest::Recall { .. }
        | CallRequest::Read(_)
        | CallRequest::Tools(_)
        | CallRequest::List { .. } => {}
    }
}
