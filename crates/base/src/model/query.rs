//! What is known of a query before it runs.

use std::collections::HashSet;

use serde_json::Value;

use super::{Filling, Pipeline, SqlStep, StepKind, TextPlace, Tool, ToolKind, ToolName};
use crate::source::{Span, Spanned};

/// What an engine says of a query that it compiled against empty tables, and never ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreparedQuery {
    /// It can run.
    Gives(CompiledQuery),
    /// It fails, whatever the tables hold.
    Fails(QueryMistake),
}

/// A query that can run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompiledQuery {
    /// The names of the columns of its rows.
    pub columns: Vec<String>,
    /// Whether it names each of them, so that none follows from a table alone.
    pub names_its_columns: bool,
    /// The table and the column that each of them passes on as it is; `None`: it is made of something, or that is not sure.
    pub origins: Vec<Option<(String, String)>>,
    /// The tables and columns that it reads, in lower case; `None`: not all are known.
    pub reads: Option<HashSet<(String, String)>>,
}

impl CompiledQuery {
    /// Whether it may read a column of a table.
    pub fn may_read(&self, table: &str, column: &str) -> bool {
        self.reads.as_ref().is_none_or(|reads| reads.contains(&(table.to_lowercase(), column.to_lowercase())))
    }
}

/// Why a query fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryMistake {
    /// What is wrong.
    pub fault: QueryFault,
    /// Where, in bytes from the beginning of the query; `None`: not known.
    pub at: Option<usize>,
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryFault {
    /// It is no SQL of this engine.
    Syntax,
    /// It ends too early.
    Incomplete,
    /// A bracket, a quote or a character has no place there; the piece of text.
    Unreadable(String),
    /// It reads a table that was not given: one whose columns cannot be known, or none.
    UnknownTable(String),
    /// No table that it reads has this column, which may be written with its table (`e.hours`).
    UnknownColumn(String),
    /// No column has this name, which is in double quotes.
    QuotedText(String),
    /// Several of its tables have this column.
    AmbiguousColumn(String),
    /// The engine has no function of this name, but those of names like it.
    UnknownFunction(String, Vec<String>),
    /// A query may not call this function.
    DeniedFunction(String),
    /// A query may not read this table, which is the engine's own.
    DeniedTable(String),
    /// A function is given more or fewer values than it takes: its name, and how many it takes; none: any number but this one.
    ArgumentCount(String, Vec<u32>),
    /// An aggregate or a window function stands where rows are still chosen, or without its window.
    Aggregate,
    /// It does more than read.
    Writes,
    /// It is several statements.
    Several,
    /// It has no statement.
    Empty,
    /// Anything else, in the words of the engine.
    Other(String),
}

/// A value that stands in a query as `{{ … }}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledValue {
    /// The name it is given to the engine by; empty: it is given to none.
    pub name: String,
    /// As it is written, with its braces.
    pub written: String,
    /// Where it stands.
    pub span: Span,
    /// What it is there.
    pub place: FilledPlace,
}

/// What a `{{ … }}` of a query is at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilledPlace {
    /// A value.
    Value,
    /// A part of a text in quotes: where that stands, and the same as a text joined to the value.
    Quotes(Span, String),
    /// A name, or a part of one, where no value can be; which, in words.
    Name(&'static str),
    /// A column that rows are ordered or grouped by.
    Column,
    /// In square brackets: a name in SQLite, a list in DuckDB.
    Brackets,
    /// The list behind `in`.
    In,
    /// No value: `{% … %}` or `{# … #}`.
    Statement,
}

/// A query that stands in a file as it is, and what it is given.
#[derive(Debug, Clone)]
pub struct WrittenQuery<'p> {
    /// The query.
    pub text: &'p str,
    /// Where the value is that holds it.
    pub span: Span,
    /// Where its parts are; `None`: not known.
    pub place: Option<&'p TextPlace>,
    /// The id of the step that runs it; `None`: a tool holds it.
    pub step: Option<&'p str>,
    /// The tables that it may read; `None`: all of `data`, and those of `read` steps.
    pub tables: Option<&'p [Spanned<String>]>,
    /// The names of the values for its `$name`.
    pub values: Vec<&'p Spanned<String>>,
    /// The values that stand in it as `{{ … }}`.
    pub filled: &'p [FilledValue],
}

impl WrittenQuery<'_> {
    /// The place of a part of it.
    pub fn inside(&self, start: usize, end: usize) -> Span {
        self.place.map_or(self.span, |place| place.inside(start, end))
    }

    /// A piece of it as its author wrote it: of a value in braces, these.
    pub fn written<'a>(&'a self, piece: &'a str) -> &'a str {
        let filled = self.filled.iter().find(|filled| piece.strip_prefix('$').is_some_and(|name| name == filled.name));
        filled.map_or(piece, |filled| &filled.written)
    }
}

impl Pipeline {
    /// The queries of its steps and tools, but for those with a `{{ … }}` where no value can be.
    pub fn queries(&self) -> Vec<WrittenQuery<'_>> {
        let steps = self.all_steps();
        let of_steps = steps.into_iter().filter_map(|step| {
            if let StepKind::Sql(SqlStep { query, with, filled, one: _, max_rows: _ }) = &step.kind {
                let is_filled = |name: &str| filled.iter().any(|filled| filled.name == name);
                let values = with.iter().map(|(name, _)| name).filter(|name| !is_filled(&name.value)).collect();
                return filled.iter().all(|filled| filled.place == FilledPlace::Value).then(|| WrittenQuery {
                    text: &query.source,
                    span: query.place.span,
                    place: Some(&query.place),
                    step: Some(step.id.as_str()),
                    tables: None,
                    values,
                    filled,
                });
            }
            if let StepKind::Tool(call) = &step.kind {
                return self.tools.get(ToolName::parse(&call.tool.value).tool).and_then(|tool| of_tool(tool, &call.with));
            }
            None
        });
        of_steps.chain(self.tools.values().filter_map(|tool| of_tool(tool, &[]))).collect()
    }
}

/// The query that a tool runs: its own, or the one that a step gives it.
fn of_tool<'p>(tool: &'p Tool, given: &'p [(Spanned<String>, Filling)]) -> Option<WrittenQuery<'p>> {
    let ToolKind::Sql(tables) = &tool.kind else { return None };
    let (name, value) = tool.with.iter().chain(given).find(|(name, _)| name.value == QUERY)?;
    let Filling::Constant(Value::String(text)) = value else { return None };
    let values = tool.with.iter().chain(given).map(|(name, _)| name).filter(|name| name.value != QUERY).collect();
    Some(WrittenQuery { text, span: name.span, place: None, step: None, tables: Some(tables), values, filled: &[] })
}

/// The argument of an `sql` tool that is the query.
const QUERY: &str = "query";
