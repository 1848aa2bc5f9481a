//! `cache`: the result of an equal filled-in step is used again for a while.
//!
//! A result depends only on the request that the step sends, so it is stored under that request.

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::command::{CallReply, CallRequest, Command};
use crate::event::{Failure, Happening};
use crate::model::Policy;
use crate::parts::Scheduler;
use crate::port::{EndpointOptions, HttpRequest, ModelRequest, PythonCall, QueryRequest};
use crate::state::{CacheStage, NodeRef};

/// Time limit of a lookup, in milliseconds.
const RECALL_MS: u64 = 5_000;

impl Scheduler<'_> {
    /// Looks up a stored result before a step's own request is sent. Returns false if there is nothing to look up.
    pub(crate) fn recalls(&mut self, at: NodeRef, request: &CallRequest) -> bool {
        let is_new = !matches!(self.state.steps.node(at).cache, CacheStage::Missed(_));
        if !is_new || self.step(at).cache.is_none() || self.options.mocks.refuses_effects {
            return false;
        }
        let step = self.step(at);
        let form = ResultForm {
            kind: step.kind.word(),
            is_single: super::with_kind(&step.kind, |kind| kind.is_single(self, at)),
            output: step.kind.facts().output.map(crate::shape::schema),
            policies: self.policies(at, None),
        };
        let Some(key) = key(request, form) else { return false };
        let call = self.state.calls.last() + 1;
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
        let (CacheStage::Missed(key), Some(time)) = (&self.state.steps.node(at).cache, self.step(at).cache) else { return };
        let until = chrono::TimeDelta::from_std(time).ok().and_then(|time| self.now.wall.checked_add_signed(time));
        let value = json!({ "output": output, "details": details });
        let until = until.unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC);
        let keep = Command::Keep { key: key.clone(), until, value };
        self.outbox.push(keep);
    }
}

/// How a step turns a reply into its output, and what it may do meanwhile.
#[derive(Serialize)]
struct ResultForm<'r> {
    kind: &'static str,
    is_single: bool,
    output: Option<Value>,
    policies: Vec<(&'r str, &'r Policy)>,
}

/// All that a result depends on. Its key is a hash of this as JSON with sorted names: another name of a field in it drops what is kept.
#[derive(Serialize)]
struct KeptUnder<'r> {
    form: ResultForm<'r>,
    request: Value,
}

/// The key for the result of a request. `None` if its result may not be stored.
fn key(request: &CallRequest, form: ResultForm<'_>) -> Option<String> {
    let mut all = written(&KeptUnder { form, request: kept_request(request)? })?;
    all.sort_all_objects();
    Some(hex::encode(Sha256::digest(all.to_string())))
}

/// What the result of a request depends on.
fn kept_request(request: &CallRequest) -> Option<Value> {
    Some(match request {
        CallRequest::Model(request) => json!({ "model": model_request(request)? }),
        CallRequest::Query(QueryRequest { engine, tables, query, with, max_rows, timeout: _ }) => {
            json!({ "query": query, "engine": engine, "tables": written(tables)?, "with": with, "max_rows": max_rows })
        }
        CallRequest::Read(files) => json!({ "read": written(&files.iter().map(|file| (&file.path, &file.kind)).collect::<Vec<_>>())? }),
        CallRequest::Http(HttpRequest { method, url, headers, body, told: _, host_from: _, timeout: _, connect_timeout: _ }) => {
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
            let body = body.as_ref().map(|(kind, bytes)| (kind, hex::encode(bytes)));
            json!({ "http": url, "method": method.word(), "headers": headers, "body": body })
        }
        // What code reads is not known here.
        CallRequest::Python(call) if !call.reads.is_empty() => return None,
        CallRequest::Python(call) => {
            let PythonCall { code, variables, returns, tables, venv, requires, .. } = &**call;
            let (tables, venv) = (written(tables)?, written(venv)?);
            json!({ "python": code, "variables": variables, "returns": returns, "tables": tables, "venv": venv, "requires": requires })
        }
        CallRequest::List { folder } => json!({ "list": written(folder)? }),
        CallRequest::Open { folder, name } => json!({ "open": name, "folder": written(folder)? }),
        // What a program reads, and what documents hold, is not known here.
        CallRequest::Program(_)
        | CallRequest::Agent(_)
        | CallRequest::Search(_)
        | CallRequest::Scripted(_)
        | CallRequest::Recall { .. }
        | CallRequest::Tools(_)
        | CallRequest::Tool(_)
        | CallRequest::Resource(_)
        | CallRequest::Mail(_)
        | CallRequest::Print(_)
        | CallRequest::Held { .. }
        | CallRequest::Write { .. } => return None,
    })
}

/// `None`: a path is no text.
fn written(value: &impl Serialize) -> Option<Value> {
    serde_json::to_value(value).ok()
}

fn model_request(request: &ModelRequest) -> Option<Value> {
    // The content of a picture is not known here.
    if request.messages.iter().any(|message| !message.pictures.is_empty()) {
        return None;
    }
    let EndpointOptions { service: _, headers: _, query, reasoning, context: _, extra, omit: _ } = &request.endpoint;
    Some(json!({
        "name": request.model,
        "base_url": request.base_url,
        "wire": request.wire,
        "temperature": request.temperature,
        "most": request.max_output_tokens.filter(|_| request.bounded_as.is_none()),
        "seed": request.seed,
        "query": query,
        "reasoning": reasoning,
        "extra": extra,
        "messages": request.messages.iter().map(|message| json!([message.role, message.text])).collect::<Value>(),
        "schema": request.schema,
        "tools": request.tools,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::model::{DataKind, PermissionMode, SqlEngine};
    use crate::port::TableSource;
    use crate::source::Span;

    #[test]
    fn a_key_is_the_same_in_every_build() {
        let policy = Policy {
            allowed_tools: Some(vec!["files".into()]),
            permission_mode: Some(PermissionMode::Auto),
            max_time: Some(Duration::from_secs(60)),
            ..Policy::default()
        };
        let form = |policy| ResultForm { kind: "sql", is_single: true, output: None, policies: vec![("p", policy)] };
        let table = TableSource {
            name: "book".into(),
            file: "book.csv".into(),
            kind: DataKind::Csv,
            table: None,
            columns: BTreeMap::new(),
            pii: vec![],
            engine: SqlEngine::Sqlite,
            form: Default::default(),
        };
        let request = CallRequest::Query(QueryRequest {
            engine: SqlEngine::Sqlite,
            tables: vec![table],
            query: "SELECT 1".into(),
            with: [("a".to_owned(), 1.into())].into(),
            max_rows: 10,
            timeout: Duration::from_secs(1),
        });
        assert_eq!(key(&request, form(&policy)).as_deref(), Some("2cd057a128144c53863b549c9f62bdb2a22f066640a4eebe746ec340aaf138e9"));
        let moved = Policy { span: Span::new(Default::default(), 3, 4), description: Some("Said otherwise.".into()), ..policy.clone() };
        assert_eq!(key(&request, form(&moved)), key(&request, form(&policy)), "where a policy stands is nothing to its steps");
        let other = Policy { max_time: None, ..policy.clone() };
        assert_ne!(key(&request, form(&other)), key(&request, form(&policy)));
    }
}
