//! Requests of steps that call something: queries, files, HTTP, tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::engine::Run;
use crate::engine::command::Request;
use crate::engine::model_calls::named;
use crate::engine::reach::Giver;
use crate::engine::state::{FrameKind, NodeRef};
use crate::event::{Failure, FailureKind, StepStatus};
use crate::model::{
    CALL_TIMEOUT, CONNECT_TIMEOUT, DataKind, Filling, HostSource, HttpStep, MOST_ROWS, Method, Pipeline, QUERY_TIMEOUT, ReadStep,
    SqlEngine, SqlStep, Step, StepKind, Text, Tool, ToolKind, ToolName, ToolStep,
};
use crate::port::{HttpRequest, QueryRequest, ReadRequest, Secret, TableSource};
use crate::source::Spanned;
use crate::template::percent;

impl Run {
    pub(crate) fn start_sql(&mut self, at: NodeRef, step: &Step, sql: &SqlStep) -> Result<(), Failure> {
        let with = self.arguments(at, &sql.with)?;
        let timeout = step.timeout.unwrap_or(QUERY_TIMEOUT);
        let request = Request::Query(self.query(at, None, sql.query.source.to_string(), with.clone(), sql.max_rows, timeout));
        self.permit(at, None, None, &request)?;
        self.call_out(at, "sql", json!({ "query": *sql.query.source, "with": with }), request, ms(timeout));
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
        let uses_duckdb = sources.iter().any(|table| table.engine == SqlEngine::DuckDb && table.is_named_in(&query));
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

    pub(crate) fn start_read(&mut self, at: NodeRef, step: &Step, read: &ReadStep) -> Result<(), Failure> {
        let paths = match self.filling(at, &read.paths)? {
            Value::Array(list) => list,
            one => vec![one],
        };
        let timeout = step.timeout.unwrap_or(QUERY_TIMEOUT);
        let from_file = !matches!(&read.paths, Filling::Text(t) if !t.reads.is_empty());
        let told_by_data = self.told_by_data(at, step, read);
        let (folder, project) = (self.planned_of(at).pipeline.folder.clone(), self.planned_of(at).pipeline.project.clone());
        let mut requests = vec![];
        for path in &paths {
            let Some(path) = path.as_str() else {
                return Err(Failure::new(FailureKind::WrongType, "read needs a path or a list of paths"));
            };
            // A path in a file is relative to that file, one that data gives to the project, one given as an input to the current folder.
            let path = match (from_file, told_by_data) {
                (true, _) => folder.join(path),
                (false, true) => project.join(path),
                (false, false) => PathBuf::from(path),
            };
            if told_by_data && !self.is_in_project(at, &path) {
                let message = format!(
                    "read \"{}\" is not allowed: a path that a step, a model or a client gives must lie in the project",
                    path.display()
                );
                return Err(Failure::new(FailureKind::Denied, message));
            }
            requests.push(ReadRequest { path, kind: read.kind.as_ref().map(|k| k.value.clone()), timeout });
        }
        let request = Request::Read(requests);
        self.permit(at, None, None, &request)?;
        self.call_out(at, "read", json!({ "paths": paths }), request, ms(timeout));
        Ok(())
    }

    /// Whether data chose the path of a `read` step: a step of its pipeline, or who filled in the inputs of a called or served one.
    pub(crate) fn told_by_data(&self, at: NodeRef, step: &Step, read: &ReadStep) -> bool {
        let is_data = |text| self.text_named_by(at, text, Giver::NOBODY) == HostSource::Data;
        told_by_step(step, read) || read.paths.texts().into_iter().any(is_data)
    }

    pub(crate) fn start_http(&mut self, at: NodeRef, step: &Step, http: &HttpStep) -> Result<(), Failure> {
        let timeout = step.timeout.unwrap_or(CALL_TIMEOUT);
        let parts = HttpParts { method: http.method, url: &http.url, headers: &http.headers, query: &http.query, body: http.body.as_ref() };
        let mut request = self.http_request(at, &parts, (Giver::NOBODY, &[]), timeout, CONNECT_TIMEOUT)?;
        let key = self.idempotency_key(at, http.idempotency_key.as_ref(), 0)?;
        add_key(&mut request, key.filter(|_| http.idempotency_key.is_some() || !http.method.is_safe()));
        let shown = json!({ "method": request.method.as_str(), "url": shown_url(&request.url) });
        let request = Request::Http(request);
        self.permit(at, None, None, &request)?;
        self.call_out(at, "http", shown, request, ms(timeout));
        Ok(())
    }

    pub(crate) fn start_tool(&mut self, at: NodeRef, step: &Step, call: &ToolStep) -> Result<(), Failure> {
        let name = &call.tool.value;
        self.permit_tool(at, name)?;
        let servers = self.servers_among(at, None, std::slice::from_ref(&call.tool));
        if self.lists_tools(at, &servers)? {
            return Ok(());
        }
        let given = self.arguments(at, &call.with)?;
        let timeout = step.timeout.unwrap_or(self.tool_timeout(at, name)?);
        let key = (self.idempotency_key(at, call.idempotency_key.as_ref(), 0)?, call.idempotency_key.is_some());
        let (request, shown) = self.tool_request(at, name, given, key, timeout)?;
        let planner = self.planner_of(at);
        if !self.agreed(at, planner.as_deref(), name, &shown)? {
            return Ok(());
        }
        self.permit(at, planner.as_deref(), Some((name, &shown)), &request)?;
        self.call_out(at, name, shown, request, ms(timeout));
        Ok(())
    }

    /// Time for one call of a tool.
    pub(crate) fn tool_timeout(&self, at: NodeRef, name: &str) -> Result<Duration, Failure> {
        Ok(self.tool(at, name)?.call_timeout())
    }

    /// A call of a tool (`tool` or `tool.part`) as a request with a key by which a receiver knows it again (and whether the author wrote that), and its arguments as the record shows them: without secrets.
    pub(crate) fn tool_request(
        &self,
        at: NodeRef,
        name: &str,
        given: Map<String, Value>,
        (key, own_key): (Option<String>, bool),
        timeout: Duration,
    ) -> Result<(Request, Value), Failure> {
        let part = ToolName::of(name).part.unwrap_or_default();
        let tool = self.tool(at, name)?;
        let (mut with, mut shown) = (given.clone(), given);
        let secrets = self.secret_names();
        for (name, value) in &tool.with {
            let is_secret = value.texts().iter().flat_map(|text| &text.reads).any(reads_secret);
            let value = self.filling_with(at, value, &secrets)?;
            shown.insert(name.value.clone(), if is_secret { Value::from("***") } else { value.clone() });
            with.insert(name.value.clone(), value);
        }
        let request = match &tool.kind {
            ToolKind::Http { method, url, headers, query, body, .. } => {
                let extra = [("with", named(&Value::Object(with)))];
                let parts = HttpParts { method: *method, url, headers, query, body: body.as_ref() };
                let step = self.step(at);
                let giver = self.giver(at, name, &step.kind);
                let connect_timeout = tool.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
                let mut request = self.http_request(at, &parts, (giver, &extra), timeout, connect_timeout)?;
                add_key(&mut request, key.filter(|_| own_key || !method.is_safe()));
                Request::Http(request)
            }
            ToolKind::Sql(tables) => {
                let query = with.get("query").and_then(Value::as_str).unwrap_or_default().to_string();
                with.remove("query");
                Request::Query(self.query(at, Some(tables), query, with, None, timeout))
            }
            ToolKind::File(folder) => {
                let text = |key: &str| with.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
                match part {
                    part if !tool.opens(part) => {
                        let message = format!("tool \"{name}\" is not open: it allows {}", tool.parts().join(", "));
                        return Err(Failure::new(FailureKind::Denied, message));
                    }
                    "list" => Request::List { folder: folder.clone() },
                    "read" => Request::Open { folder: folder.clone(), name: text("name") },
                    _ => Request::Write { folder: folder.clone(), name: text("name"), text: plain(&with["text"]) },
                }
            }
            ToolKind::Smtp { .. } => return Err(Failure::new(FailureKind::BadRequest, format!("tool \"{name}\" is for send only"))),
            ToolKind::Server(_) => self.server_request(at, ToolName::of(name), with, timeout)?,
            ToolKind::Broken => return Err(Failure::new(FailureKind::Internal, format!("tool \"{name}\" could not be read"))),
            ToolKind::Pipeline { file, .. } => {
                return Err(Failure::new(FailureKind::Unavailable, format!("pipeline \"{}\" could not be read", file.value)));
            }
        };
        Ok((request, Value::Object(shown)))
    }

    pub(crate) fn http_request(
        &self,
        at: NodeRef,
        parts: &HttpParts,
        (giver, extra): (Giver, crate::engine::names::Extra),
        timeout: Duration,
        connect_timeout: Duration,
    ) -> Result<HttpRequest, Failure> {
        let secrets = self.secret_names();
        let all: Vec<(&str, crate::template::Value)> = extra.iter().cloned().chain(secrets).collect();
        let (mut url, host_from) = self.address(at, parts.url, giver, &all)?;
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
        Ok(HttpRequest { method: parts.method, url, host_from, headers, body, timeout, connect_timeout })
    }

    /// The key a receiver may know a repeated call by: equal for all tries of one call.
    pub(crate) fn idempotency_key(&self, at: NodeRef, own: Option<&Text>, part: u64) -> Result<Option<String>, Failure> {
        match own {
            Some(text) => {
                let key = self.fill_text(at, text)?;
                Ok(Some(if part > 1 { format!("{key}-{part}") } else { key }))
            }
            None if part > 0 => Ok(Some(format!("{}-{part}", self.own_key(at)))),
            None => Ok(Some(self.own_key(at))),
        }
    }

    /// What no other step, element or round of this run has: run, path, and the rounds of the pipelines around it, from the first that
    /// is in its second one.
    pub(crate) fn own_key(&self, at: NodeRef) -> String {
        let mut rounds = self.state.rounds(at);
        let first_again = rounds.iter().position(|round| *round > 1).unwrap_or(rounds.len() - 1);
        let rounds: Vec<String> = rounds.drain(first_again..).map(|round| round.to_string()).collect();
        format!("{}-{}-{}", self.id, self.state.node(at).path, rounds.join("."))
    }

    pub(crate) fn arguments(&self, at: NodeRef, with: &[(Spanned<String>, Filling)]) -> Result<Map<String, Value>, Failure> {
        let mut arguments = Map::new();
        for (name, value) in with {
            arguments.insert(name.value.clone(), self.filling(at, value)?);
        }
        Ok(arguments)
    }

    /// The tool of `tool` or `tool.part`.
    pub(crate) fn tool(&self, at: NodeRef, name: &str) -> Result<&Tool, Failure> {
        let missing = || Failure::new(FailureKind::Internal, format!("there is no tool \"{name}\""));
        self.planned_of(at).pipeline.tool(name).map(|(tool, _)| tool).ok_or_else(missing)
    }
}

/// Whether a step before gave a path of this one, or the elements it is made from.
fn told_by_step(step: &Step, read: &ReadStep) -> bool {
    let gives = |read: &crate::model::Read| read.path.first().is_some_and(|root| root == "steps");
    let elements = step.for_each.iter().flat_map(|for_each| for_each.list.texts());
    read.paths.texts().into_iter().chain(elements).flat_map(|text| &text.reads).any(gives)
}

/// The parts of a request as they are written.
pub(crate) struct HttpParts<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Text,
    pub(crate) headers: &'a [(String, Text)],
    pub(crate) query: &'a [(String, Filling)],
    pub(crate) body: Option<&'a Filling>,
}

/// Whether a text reads `secrets` or `env`.
fn reads_secret(read: &crate::model::Read) -> bool {
    read.path.first().is_some_and(|root| root == "secrets" || root == "env")
}

pub(crate) fn ms(duration: Duration) -> u64 {
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
        pii: data.pii.iter().map(|column| column.value.clone()).collect(),
        engine: data.engine(),
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
        pii: vec![],
        engine: kind.engine(),
    })
}

/// Whether a query names a table, as a word.
pub(crate) fn mentions(query: &str, table: &str) -> bool {
    query.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word.eq_ignore_ascii_case(table))
}

/// A value as it prints.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(crate) fn add_key(request: &mut HttpRequest, key: Option<String>) {
    if let Some(key) = key {
        request.headers.push(("Idempotency-Key".to_string(), Secret::new(key)));
    }
}

/// An address without its query, for the record.
fn shown_url(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}
