//! `sql`: a query over the tables of `data` and of `read` steps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::decision::{StepCall, StepDecision, Then};
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, SqlDetails, StepStatus};
use crate::model::{DataKind, MOST_ROWS, QUERY_TIMEOUT, Sample, SqlEngine, SqlStep, Step, StepKind};
use crate::parts::{Files, Requests};
use crate::port::{QueryRequest, Rows, TableSource};
use crate::source::Spanned;
use crate::sql::mentions;
use crate::state::{FrameKind, NodeRef, StepNode};
use crate::words::ms;

impl Kind for SqlStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let with = context.arguments(at, &self.with)?;
        let timeout = step.timeout.unwrap_or(QUERY_TIMEOUT);
        let request =
            CallRequest::Query(context.requests().query(at, None, self.query.source.to_string(), with.clone(), self.max_rows, timeout));
        Ok(StepCall::new("sql", json!({ "query": *self.query.source, "with": with }), request, ms(timeout)).into())
    }

    fn take(&self, _context: &Context, _at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        match reply {
            CallReply::Rows(rows) => {
                let (output, details) = sql_output(rows, self.one.is_some());
                Ok(Then::Give(output, details).into())
            }
            _ => wrong_answer_decision(),
        }
    }

    fn is_single(&self, _context: &Context, _at: NodeRef) -> bool {
        self.one.is_some()
    }
}

impl Requests<'_> {
    /// A query over the tables of `data` and those of earlier `read` steps, or only over these `tables` of `data`.
    pub(crate) fn query(
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
        let declared = pipeline.data.iter().filter(|(name, _)| allowed(name));
        let mut sources: Vec<TableSource> = declared.map(|(name, data)| TableSource::find(name, data)).collect();
        if tables.is_none() {
            sources.extend(self.files().read_tables(at));
        }
        let uses_duckdb = sources.iter().any(|table| table.engine == SqlEngine::DuckDb && mentions(&query, &table.name));
        let engine = if uses_duckdb { SqlEngine::DuckDb } else { SqlEngine::Sqlite };
        let with: BTreeMap<String, Value> = with.into_iter().collect();
        QueryRequest { engine, tables: sources, query, with, max_rows: max_rows.unwrap_or(MOST_ROWS), timeout }
    }
}

impl Files<'_> {
    /// The tables that a query of a step sees: of `data`, and of `read` steps before it.
    pub(crate) fn tables_here(&self, at: NodeRef) -> Vec<TableSource> {
        let pipeline = &self.planned_of(at).pipeline;
        pipeline.data.iter().map(|(name, data)| TableSource::find(name, data)).chain(self.read_tables(at)).collect()
    }

    /// Why files of `read` steps gave no table: of those that could not be read.
    pub(crate) fn unreadable_here(&self, at: NodeRef) -> Vec<String> {
        let outputs = self.reads_here(at).filter_map(|node| node.output.as_deref());
        let files = outputs.flat_map(|output| output.as_array().map_or(std::slice::from_ref(output), Vec::as_slice));
        let told = |file: &Value| Some(file["summary"].as_str()?.trim_end_matches('.').to_owned());
        files.filter(|file| file["type"] == "unreadable").filter_map(told).collect()
    }

    /// Tables of `read` steps that have succeeded, in this list and the lists around it.
    fn read_tables(&self, at: NodeRef) -> Vec<TableSource> {
        self.reads_here(at)
            .flat_map(|node| node.details().tables())
            .filter_map(|table| table_source(table, &|told| self.opened_at(at, told)))
            .collect()
    }

    /// `read` steps that have succeeded, in this list and the lists around it.
    fn reads_here(&self, at: NodeRef) -> impl Iterator<Item = &StepNode> {
        let lists = self
            .state
            .steps
            .holders(at)
            .map(|at| self.state.steps.frame(at.frame))
            .filter(|frame| matches!(frame.kind, FrameKind::Block(_)));
        let nodes = lists.flat_map(|frame| frame.nodes.iter().map(|node| (self.planned(frame.instance).step(node.step), node)));
        let reads = nodes.filter(|(planned, node)| node.status == StepStatus::Succeeded && matches!(planned.step.kind, StepKind::Read(_)));
        reads.map(|(_, node)| node)
    }
}

fn table_source(value: &Value, opened_at: &dyn Fn(&str) -> PathBuf) -> Option<TableSource> {
    let file = opened_at(value.get("file")?.as_str()?);
    let kind = DataKind::of_ending(file.extension()?.to_str()?).unwrap_or(DataKind::Sqlite);
    Some(TableSource {
        name: value.get("name")?.as_str()?.to_string(),
        file,
        kind,
        table: value.get("table").and_then(Value::as_str).map(str::to_string),
        columns: BTreeMap::new(),
        pii: vec![],
        engine: kind.engine(),
        form: Default::default(),
    })
}

pub(super) fn sql_output(rows: Rows, one: bool) -> (Value, Option<Value>) {
    let columns: Vec<Value> = rows.columns.iter().map(|(name, kind)| json!({ "name": name, "type": kind })).collect();
    let details = SqlDetails { columns, row_count: rows.rows.len(), cut: rows.is_cut, personal: rows.personal };
    let mut list = rows.rows.into_iter().map(Value::Object);
    let output = if one { list.next().unwrap_or(Value::Null) } else { Value::Array(list.collect()) };
    (output, Some(details.into_value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_read_is_asked_as_what_it_is() {
        let kind = |file: &str| {
            table_source(&json!({ "name": "book", "file": file, "table": null }), &|told| told.into()).map(|source| source.kind)
        };
        assert_eq!(kind("a/book.XLSM"), Some(DataKind::Excel));
        assert_eq!((kind("book.sqlite3"), kind("book.parquet")), (Some(DataKind::Sqlite), Some(DataKind::Parquet)));
    }
}
