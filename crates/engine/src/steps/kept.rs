//! `cache`: the result of an equal filled-in step is used again for a while.
//!
//! A result depends only on the request that the step sends, so it is stored under that request.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::command::{CallReply, CallRequest, Command};
use crate::event::{Failure, Happening};
use crate::parts::{Rules, Scheduler};
use crate::port::{EndpointOptions, ModelRequest, PythonCall};
use crate::state::{CacheStage, NodeRef};

/// Time limit of a lookup, in milliseconds.
const RECALL_MS: u64 = 5_000;

impl Scheduler<'_> {
    /// Looks up a stored result before a step's own request is sent. Returns false if there is nothing to look up.
    pub(crate) fn recalls(&mut self, at: NodeRef, request: &CallRequest) -> bool {
        let is_new = !matches!(self.state.node(at).cache, CacheStage::Missed(_));
        if !is_new || self.step(at).cache.is_none() || self.options.mocks.refuses_effects {
            return false;
        }
        let form = format!("{:?} {:?}", self.rules().form(at), self.policies(at, None));
        let Some(key) = key(request, &form) else { return false };
        let call = self.state.last_call + 1;
        let recall = CallRequest::Recall { key: key.clone(), now: self.now.wall };
        self.0.emit(Happening::CacheAsked { step: self.path(at), call, key, timeout_at_ms: self.now.ms + RECALL_MS });
        self.gatekeeper().send_out(at, "", call, recall);
        true
    }

    /// Handles the result of a lookup: ends the step, or lets it do its work. A cache that cannot be read counts as empty.
    pub(crate) fn recalled(&mut self, at: NodeRef, call: u64, result: Result<CallReply, Failure>) {
        match result {
            Ok(CallReply::Value(Value::Object(mut kept))) => {
                let output = kept.remove("output").unwrap_or_default();
                let mut details = kept.remove("details").and_then(|d| d.as_object().cloned()).unwrap_or_default();
                details.retain(|name, _| name != "attempts" && name != "duration_ms");
                details.insert("cached".into(), true.into());
                self.succeed(at, output, Some(Value::Object(details)));
            }
            _ => {
                self.0.emit(Happening::CacheMissed { step: self.path(at), call });
                self.steps().goes_on_with_permit(at);
            }
        }
    }

    /// Stores the result of a step whose lookup found nothing.
    pub(crate) fn keep(&mut self, at: NodeRef, output: &Value, details: &Value) {
        let (CacheStage::Missed(key), Some(time)) = (&self.state.node(at).cache, self.step(at).cache) else { return };
        let until = chrono::TimeDelta::from_std(time).ok().and_then(|time| self.now.wall.checked_add_signed(time));
        let value = json!({ "output": output, "details": details });
        let until = until.unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC);
        let keep = Command::Keep { key: key.clone(), until, value };
        self.commands.push_back(keep);
    }
}

impl Rules<'_> {
    /// How a step turns a reply into its output.
    fn form(&self, at: NodeRef) -> (&'static str, bool, Option<Value>) {
        let step = self.step(at);
        let is_single = super::of(&step.kind, |kind| kind.is_single(self, at));
        (step.kind.word(), is_single, step.kind.facts().output.map(crate::shape::schema))
    }
}

/// The key for the result of a request: a hash of everything in the request. `None` if its result may not be stored.
fn key(request: &CallRequest, form: &str) -> Option<String> {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    };
    add(form);
    match request {
        // The content of a picture is not known here.
        CallRequest::Model(request) if request.messages.iter().any(|message| !message.pictures.is_empty()) => return None,
        CallRequest::Model(request) => add_model(request, &mut add),
        CallRequest::Query(query) => {
            add("query");
            add(&format!("{:?}", query.engine));
            add(&query.query);
            add(&format!("{:?}", query.with));
            add(&query.max_rows.to_string());
            query.tables.iter().for_each(|table| add(&format!("{table:?}")));
        }
        CallRequest::Read(files) => {
            add("read");
            files.iter().for_each(|file| add(&format!("{:?} {:?}", file.path, file.kind)));
        }
        CallRequest::Http(request) => {
            add("http");
            add(request.method.word());
            add(&request.url);
            for (name, value) in &request.headers {
                add(name);
                add(value.reveal());
            }
            add(&format!("{:?}", request.body));
        }
        // What a program reads is not known here.
        CallRequest::Program(_) | CallRequest::Agent(_) => return None,
        CallRequest::Python(call) => {
            let PythonCall { code, variables, returns, reads, tables, venv, requires, .. } = &**call;
            if !reads.is_empty() {
                return None;
            }
            add("python");
            add(code);
            add(&json!(variables).to_string());
            add(&format!("{returns:?} {tables:?} {venv:?} {requires:?}"));
        }
        // What the documents hold is not known here.
        CallRequest::Search(_) => return None,
        CallRequest::List { folder } => add(&format!("list {folder:?}")),
        CallRequest::Open { folder, name } => add(&format!("open {folder:?} {name:?}")),
        CallRequest::Scripted(_)
        | CallRequest::Recall { .. }
        | CallRequest::Tools(_)
        | CallRequest::Tool(_)
        | CallRequest::Resource(_)
        | CallRequest::Mail(_)
        | CallRequest::Print(_)
        | CallRequest::Held { .. }
        | CallRequest::Write { .. } => return None,
    }
    Some(hex::encode(hash.finalize()))
}

fn add_model(request: &ModelRequest, add: &mut dyn FnMut(&str)) {
    add("model");
    add(&request.base_url);
    add(&request.model);
    let most = request.max_output_tokens.filter(|_| request.bounded_as.is_none());
    add(&format!("{:?} {:?} {:?} {:?}", request.wire, request.temperature, most, request.seed));
    let EndpointOptions { service: _, headers: _, query, reasoning, context: _, extra, omit: _ } = &request.endpoint;
    if !query.is_empty() || reasoning.is_some() || !extra.is_empty() {
        add(&format!("{query} {reasoning:?} {}", Value::Object(extra.clone())));
    }
    for message in &request.messages {
        add(&format!("{:?}", message.role));
        add(&message.text);
    }
    add(&request.schema.as_ref().map(Value::to_string).unwrap_or_default());
    for tool in &request.tools {
        add(&tool.name);
        add(&tool.description);
        add(&tool.parameters.to_string());
    }
}
