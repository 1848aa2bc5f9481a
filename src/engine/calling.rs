//! Requests of steps that call something: queries, files, HTTP, tools, sending.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::Run;
use super::asking::named;
use super::command::Request;
use super::state::{FrameKind, NodeRef};
use crate::event::{Failure, FailureKind, Happening, StepStatus};
use crate::model::{
    DataKind, Filling, HttpStep, Pipeline, ReadStep, SendStep, SqlEngine, SqlStep, Step, StepKind, Text, Tool, ToolKind, ToolStep,
};
use crate::port::{HttpRequest, Mail, QueryRequest, ReadRequest, Secret, TableSource};
use crate::source::Spanned;

const HTTP_TIMEOUT: Duration = Duration::from_secs(60);
const SQL_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_ROWS: u64 = 1_000;

impl Run {
    /// Starts a step that calls something.
    pub(super) fn start_calling(&mut self, at: NodeRef, step: &Step) -> Result<(), Failure> {
        match &step.kind {
            StepKind::Sql(sql) => self.start_sql(at, step, sql),
            StepKind::Read(read) => self.start_read(at, step, read),
            StepKind::Http(http) => self.start_http(at, step, http),
            StepKind::Tool(tool) => self.start_tool(at, step, tool),
            StepKind::Send(send) => self.start_send(at, step, send),
            _ => Err(Failure::new(FailureKind::Internal, "this step calls nothing")),
        }
    }

    fn start_sql(&mut self, at: NodeRef, step: &Step, sql: &SqlStep) -> Result<(), Failure> {
        let with = self.arguments(at, &sql.with)?;
        let timeout = step.timeout.unwrap_or(SQL_TIMEOUT);
        let request = self.query(at, None, sql.query.source.to_string(), with.clone(), sql.max_rows, timeout);
        self.call_out(at, "sql", json!({ "query": *sql.query.source, "with": with }), Request::Query(request), ms(timeout));
        Ok(())
    }

    /// A query over the tables of `data` (or only `tables` of them) and those read by steps before.
    fn query(
        &self,
        at: NodeRef,
        tables: Option<&[Spanned<String>]>,
        query: String,
        with: Map<String, Value>,
        max_rows: Option<u64>,
        timeout: Duration,
    ) -> QueryRequest {
        let pipeline = &self.planned_of(at).pipeline;
        let allowed = |name: &str| tables.is_none_or(|t| t.iter().any(|t| t.value == name));
        let mut sources: Vec<TableSource> = data_sources(pipeline).filter(|t| allowed(&t.name)).collect();
        if tables.is_none() {
            sources.extend(self.read_tables(at));
        }
        let uses_duckdb = pipeline.data.iter().any(|(name, d)| d.engine() == SqlEngine::DuckDb && mentions(&query, name));
        let engine = if uses_duckdb { SqlEngine::DuckDb } else { SqlEngine::Sqlite };
        let with: BTreeMap<String, Value> = with.into_iter().collect();
        QueryRequest { engine, tables: sources, query, with, max_rows: max_rows.unwrap_or(MOST_ROWS), timeout }
    }

    /// Tables of `read` steps that are over, in this list and the lists around it.
    fn read_tables(&self, at: NodeRef) -> Vec<TableSource> {
        let mut sources = vec![];
        let mut frame = Some(at.frame);
        while let Some(ix) = frame {
            let here = self.state.frame(ix);
            if let FrameKind::Block(_) = here.kind {
                for node in here.nodes.iter().filter(|n| n.status == StepStatus::Succeeded) {
                    let step = &self.planned(here.instance).step(node.step).step;
                    let tables = node.details.as_ref().and_then(|d| d.get("tables")).and_then(Value::as_array);
                    if let (StepKind::Read(_), Some(tables)) = (&step.kind, tables) {
                        sources.extend(tables.iter().filter_map(table_source));
                    }
                }
            }
            frame = here.parent.map(|p| p.frame);
        }
        sources
    }

    fn start_read(&mut self, at: NodeRef, step: &Step, read: &ReadStep) -> Result<(), Failure> {
        let paths = match self.filling(at, &read.paths)? {
            Value::Array(list) => list,
            one => vec![one],
        };
        let timeout = step.timeout.unwrap_or(SQL_TIMEOUT);
        let from_file = !matches!(&read.paths, Filling::Text(t) if !t.reads.is_empty());
        let folder = self.planned_of(at).pipeline.folder.clone();
        let mut requests = vec![];
        for path in &paths {
            let Some(path) = path.as_str() else {
                return Err(Failure::new(FailureKind::WrongType, "read needs a path or a list of paths"));
            };
            // A path in a file is relative to that file, one given as an input to the current folder.
            let path = if from_file { folder.join(path) } else { PathBuf::from(path) };
            requests.push(ReadRequest { path, kind: read.kind.as_ref().map(|k| k.value.clone()), timeout });
        }
        self.call_out(at, "read", json!({ "paths": paths }), Request::Read(requests), ms(timeout));
        Ok(())
    }

    fn start_http(&mut self, at: NodeRef, step: &Step, http: &HttpStep) -> Result<(), Failure> {
        let timeout = step.timeout.unwrap_or(HTTP_TIMEOUT);
        let parts =
            HttpParts { method: &http.method, url: &http.url, headers: &http.headers, query: &http.query, body: http.body.as_ref() };
        let mut request = self.http_request(at, &parts, &[], timeout, CONNECT_TIMEOUT)?;
        let key = self.idempotency_key(at, http.idempotency_key.as_ref(), 0)?;
        add_key(&mut request, key);
        let shown = json!({ "method": request.method, "url": shown_url(&request.url) });
        self.call_out(at, "http", shown, Request::Http(request), ms(timeout));
        Ok(())
    }

    fn start_tool(&mut self, at: NodeRef, step: &Step, call: &ToolStep) -> Result<(), Failure> {
        let (name, part) = call.tool.value.split_once('.').unwrap_or((&call.tool.value, ""));
        let tool = self.tool(at, name)?;
        let timeout = step.timeout.or(tool.timeout).unwrap_or(HTTP_TIMEOUT);
        let mut with = self.arguments(at, &call.with)?;
        for (name, value) in &tool.with {
            with.insert(name.value.clone(), self.filling(at, value)?);
        }
        let shown = Value::Object(with.clone());
        let request = match &tool.kind {
            ToolKind::Http { method, url, headers, query, body, .. } => {
                let extra = [("with", named(&shown))];
                let parts = HttpParts { method, url, headers, query, body: body.as_ref() };
                let mut request = self.http_request(at, &parts, &extra, timeout, tool.connect_timeout.unwrap_or(CONNECT_TIMEOUT))?;
                let key = self.idempotency_key(at, call.idempotency_key.as_ref(), 0)?;
                add_key(&mut request, key);
                Request::Http(request)
            }
            ToolKind::Sql(tables) => {
                let query = with.get("query").and_then(Value::as_str).unwrap_or_default().to_string();
                with.remove("query");
                Request::Query(self.query(at, Some(tables), query, with, None, timeout))
            }
            ToolKind::File(folder) => {
                let text = |key: &str| with.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
                let may_write = tool.allow.as_ref().is_some_and(|list| list.iter().any(|n| n.value == "write"));
                match part {
                    "list" => Request::List { folder: folder.clone() },
                    "read" => Request::Open { folder: folder.clone(), name: text("name") },
                    "write" if may_write => Request::Write { folder: folder.clone(), name: text("name"), text: text("text") },
                    "write" => return Err(Failure::new(FailureKind::Denied, format!("tool \"{name}\" writes only if allow lists write"))),
                    _ => return Err(Failure::new(FailureKind::BadRequest, format!("tool \"{name}\" has list, read and write"))),
                }
            }
            ToolKind::Smtp { .. } => return Err(Failure::new(FailureKind::BadRequest, format!("tool \"{name}\" is for send only"))),
            ToolKind::Broken => return Err(Failure::new(FailureKind::Internal, format!("tool \"{name}\" could not be read"))),
            ToolKind::Pipeline { file, .. } => {
                return Err(Failure::new(FailureKind::Unavailable, format!("pipeline \"{}\" could not be read", file.value)));
            }
        };
        let tool_name = call.tool.value.clone();
        self.call_out(at, &tool_name, shown, request, ms(timeout));
        Ok(())
    }

    fn start_send(&mut self, at: NodeRef, step: &Step, send: &SendStep) -> Result<(), Failure> {
        let value = self.fill(at, &send.of)?;
        let parts = parts_of(&value);
        if send.to.value == "stdout" {
            let texts: Vec<String> = parts.iter().map(content_text).collect();
            self.call_out(at, "stdout", json!({ "parts": texts.len() }), Request::Print(texts), ms(HTTP_TIMEOUT));
            return Ok(());
        }
        let with = self.arguments(at, &send.with)?;
        if self.options.mocks.refuses_effects {
            let texts: Vec<String> = parts.iter().map(content_text).collect();
            self.call_out(at, &send.to.value, json!({ "parts": texts.len() }), Request::Print(texts), ms(HTTP_TIMEOUT));
            return Ok(());
        }
        let tool = self.tool(at, &send.to.value)?;
        let timeout = step.timeout.or(tool.timeout).unwrap_or(HTTP_TIMEOUT);
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
                names.insert("content".into(), part["content"].clone());
                names.insert("text".into(), part["text"].clone());
                names.insert("part".into(), (done + 1).into());
                names.insert("parts".into(), parts.len().into());
                let names = Value::Object(names);
                let extra = [("with", named(&names))];
                let own = HttpParts { method, url, headers, query, body: body.as_ref() };
                let mut request = self.http_request(at, &own, &extra, timeout, tool.connect_timeout.unwrap_or(CONNECT_TIMEOUT))?;
                if body.is_none() {
                    let own = json!({ "part": done + 1, "parts": parts.len(), "content": part["content"] });
                    request.body = Some(("application/json".into(), own.to_string().into_bytes()));
                }
                add_key(&mut request, Some(key.clone().unwrap_or_default()).filter(|k| !k.is_empty()));
                Request::Http(request)
            }
            ToolKind::File(folder) => {
                let name = text("name").ok_or_else(|| Failure::new(FailureKind::BadRequest, "send to a file needs with: { name: … }"))?;
                let all: Vec<String> = parts.iter().map(content_text).collect();
                Request::Write { folder: folder.clone(), name, text: all.join("\n\n") }
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
                Request::Mail(Mail {
                    server: fill(address)?,
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
            _ => return Err(Failure::new(FailureKind::BadRequest, format!("nothing can be sent to tool \"{}\"", send.to.value))),
        };
        let shown = json!({ "part": done + 1, "parts": parts.len() });
        let to = send.to.value.clone();
        self.call_out(at, &to, shown, request, ms(timeout));
        Ok(())
    }

    /// One sending is done. Gives the step's output, or goes on with the next part.
    pub(super) fn sent(&mut self, at: NodeRef, send: &SendStep, id: String) -> Result<Option<Value>, Failure> {
        let value = self.fill(at, &send.of)?;
        let count = parts_of(&value).len();
        let at_once = send.to.value == "stdout"
            || self.options.mocks.refuses_effects
            || self.tool(at, &send.to.value).is_ok_and(|t| matches!(t.kind, ToolKind::File(_) | ToolKind::Smtp { .. }));
        let first = self.state.node(at).delivered.len();
        let last = if at_once { count } else { first + 1 };
        for part in first..last {
            let step = self.state.node(at).path.clone();
            self.emit(Happening::OutputWritten { step, to: send.to.value.clone(), part: part as u64 + 1, id: id.clone() });
        }
        if last < count {
            if self.has_permit() {
                self.start_again(at);
            } else {
                self.woken.insert(self.state.key(at));
            }
            return Ok(None);
        }
        let delivered: Vec<Value> = self.state.node(at).delivered.iter().map(|d| (**d).clone()).collect();
        Ok(Some(json!({ "delivered": delivered })))
    }

    fn http_request(
        &self,
        at: NodeRef,
        parts: &HttpParts,
        extra: super::names::Extra,
        timeout: Duration,
        connect_timeout: Duration,
    ) -> Result<HttpRequest, Failure> {
        let secrets = self.secret_names();
        let all: Vec<(&str, crate::template::Value)> = extra.iter().cloned().chain(secrets).collect();
        let mut url = self.fill_address(at, parts.url, &all)?;
        let mut pairs = vec![];
        for (name, value) in parts.query {
            let value = self.filling_with(at, value, &all)?;
            if !value.is_null() {
                pairs.push(format!("{}={}", percent(name), percent(&plain(&value))));
            }
        }
        if !pairs.is_empty() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&pairs.join("&"));
        }
        let mut headers = vec![];
        for (name, text) in parts.headers {
            headers.push((name.clone(), Secret::new(self.fill_text_with(at, text, &all)?)));
        }
        let body = match parts.body.map(|b| self.filling_with(at, b, &all)).transpose()? {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(("text/plain; charset=utf-8".to_string(), text.into_bytes())),
            Some(value) => Some(("application/json".to_string(), value.to_string().into_bytes())),
        };
        Ok(HttpRequest { method: parts.method.to_string(), url, headers, body, timeout, connect_timeout })
    }

    /// The key a receiver may know a repeated call by: equal for all tries of one call.
    fn idempotency_key(&self, at: NodeRef, own: Option<&Text>, part: u64) -> Result<Option<String>, Failure> {
        let node = self.state.node(at);
        match own {
            Some(text) => {
                let key = self.fill_text(at, text)?;
                Ok(Some(if part > 1 { format!("{key}-{part}") } else { key }))
            }
            None if part > 0 => Ok(Some(format!("{}-{}-{}-{part}", self.id, node.path, node.round))),
            None => Ok(None),
        }
    }

    fn arguments(&self, at: NodeRef, with: &[(Spanned<String>, Filling)]) -> Result<Map<String, Value>, Failure> {
        let mut arguments = Map::new();
        for (name, value) in with {
            arguments.insert(name.value.clone(), self.filling(at, value)?);
        }
        Ok(arguments)
    }

    fn tool(&self, at: NodeRef, name: &str) -> Result<Tool, Failure> {
        let missing = || Failure::new(FailureKind::Internal, format!("there is no tool \"{name}\""));
        self.planned_of(at).pipeline.tools.get(name).cloned().ok_or_else(missing)
    }
}

/// The parts of a request as they are written.
struct HttpParts<'a> {
    method: &'a str,
    url: &'a Text,
    headers: &'a [(String, Text)],
    query: &'a [(String, Filling)],
    body: Option<&'a Filling>,
}

fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

/// The tables of `data`.
fn data_sources(pipeline: &Pipeline) -> impl Iterator<Item = TableSource> + '_ {
    pipeline.data.iter().map(|(name, data)| TableSource {
        name: name.clone(),
        file: data.file.value.clone(),
        kind: data.kind,
        table: data.table.as_ref().map(|t| t.value.clone()),
        columns: data.columns.iter().map(|(name, kind)| (name.clone(), *kind)).collect(),
    })
}

fn table_source(value: &Value) -> Option<TableSource> {
    let file = Path::new(value.get("file")?.as_str()?);
    let kind = match file.extension()?.to_str()?.to_lowercase().as_str() {
        "csv" => DataKind::Csv,
        "tsv" => DataKind::Tsv,
        "xlsx" => DataKind::Excel,
        "parquet" => DataKind::Parquet,
        "duckdb" => DataKind::DuckDb,
        _ => DataKind::Sqlite,
    };
    Some(TableSource {
        name: value.get("name")?.as_str()?.to_string(),
        file: file.to_path_buf(),
        kind,
        table: value.get("table").and_then(Value::as_str).map(str::to_string),
        columns: BTreeMap::new(),
    })
}

/// Whether a query names a table, as a word.
fn mentions(query: &str, table: &str) -> bool {
    query.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word.eq_ignore_ascii_case(table))
}

/// The parts to send: of a `format` output its parts, else the text as one part.
fn parts_of(value: &Value) -> Vec<Value> {
    match value.get("parts").and_then(Value::as_array) {
        Some(parts) => parts.clone(),
        None => vec![json!({ "number": 1, "text": plain(value), "content": plain(value) })],
    }
}

/// What is sent of a part, as text: a card as its JSON.
fn content_text(part: &Value) -> String {
    match &part["content"] {
        Value::String(text) => text.clone(),
        Value::Null => part["text"].as_str().unwrap_or_default().to_string(),
        content => serde_json::to_string_pretty(content).unwrap_or_default(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// All but unreserved characters (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes a value for an address.
pub(super) fn percent(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

fn add_key(request: &mut HttpRequest, key: Option<String>) {
    if let Some(key) = key {
        request.headers.push(("Idempotency-Key".to_string(), Secret::new(key)));
    }
}

/// An address without its query, for the record.
fn shown_url(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}
