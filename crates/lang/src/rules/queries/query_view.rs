//! A query as the rules about its values look at it: its tables, what is seen of their columns, and what it is given.

use super::query_never;
use super::query_operands::Operand;
use crate::model::{CellForm, ColumnLook, Data, Filling, SqlEngine, SqlStep, StepKind};
use crate::plan::StepIx;
use crate::rules::prelude::{Diagnostic, PipelineNames};
use crate::rules::support::asked_query::AskedQuery;
use crate::sql::{Name, QueryNode};
use crate::template::types::Type;

/// A query that is looked at.
pub(in crate::rules) struct QueryView<'a, 'n> {
    names: &'a PipelineNames<'n>,
    pub(in crate::rules) query: &'a AskedQuery<'n>,
    /// The columns of its tables that are texts.
    looks: Vec<(&'a str, &'a ColumnLook)>,
    /// All columns of its tables that are known.
    pub(in crate::rules) columns: Vec<&'a str>,
    step: Option<(StepIx, &'a SqlStep)>,
    found: Vec<Diagnostic>,
}

/// Has each query of a pipeline looked at that SQLite answers.
pub(in crate::rules) fn each(names: &PipelineNames, out: &mut Vec<Diagnostic>, look: fn(&mut QueryView, &[QueryNode])) {
    let file = &names.pipeline.pipeline;
    for query in names.queries().iter().filter(|query| query.engine == SqlEngine::Sqlite) {
        let (Some(nodes), Some(own)) = (query.read.nodes(), query.read.names()) else { continue };
        let tables: Vec<&Data> =
            file.data.iter().filter(|(name, _)| own.tables.iter().any(|table| table.is(name))).map(|(_, data)| data).collect();
        let step = query.step.and_then(|id| names.pipeline.numbered_steps().find(|(_, planned)| planned.step.id.value == id));
        let step = step.and_then(|(ix, planned)| if let StepKind::Sql(step) = &planned.step.kind { Some((ix, step)) } else { None });
        let looks = tables.iter().flat_map(|data| &data.looks).map(|(name, look)| (name.as_str(), look)).collect();
        // A table that the query makes may have a column of the same name.
        let is_made = |part: &&[QueryNode]| part[0].name().is_some() && part[2].is("as") && part[3].inner().is_some();
        let made = nodes.windows(4).filter(is_made).filter_map(|part| part[1].inner());
        let made = made.flatten().filter_map(QueryNode::name).map(|name| name.text);
        let columns = tables.iter().flat_map(|data| data.header.iter().flatten()).map(String::as_str).chain(made).collect();
        let mut view = QueryView { names, query, looks, columns, step, found: vec![] };
        look(&mut view, nodes);
        out.append(&mut view.found);
    }
}

impl QueryView<'_, '_> {
    /// Says what is wrong from one place to another.
    pub(in crate::rules) fn say(&mut self, (start, end): (usize, usize), message: &str, help: String) {
        self.found.push(query_never::found(self.query.inside(start, end), message).help(help));
    }

    /// What the query says there, with values of the run as their author wrote them.
    pub(in crate::rules) fn written(&self, (start, end): (usize, usize)) -> String {
        let mut written = self.query.text.get(start..end).unwrap_or_default().to_owned();
        for filled in self.query.filled.iter().filter(|filled| !filled.name.is_empty()) {
            written = written.replace(&format!("${}", filled.name), &filled.written);
        }
        written
    }

    /// What is seen of a column, if only one table has it and the query gives no other value its name.
    pub(in crate::rules) fn look(&self, column: &str) -> Option<&ColumnLook> {
        let mut known = self.columns.iter().filter(|name| name.eq_ignore_ascii_case(column));
        let is_one = known.next().is_some() && known.next().is_none();
        let text = self.query.text.to_lowercase();
        let made = format!(" as {}", column.to_lowercase());
        let ends = |at: usize| !text[at + made.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_made = text.match_indices(&made).any(|(at, _)| ends(at));
        let look = self.looks.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, look)| *look);
        look.filter(|_| is_one && !is_made)
    }

    /// What the cells of a column are.
    pub(in crate::rules) fn form(&self, operand: &Operand) -> Option<CellForm> {
        if let Operand::Column(name) = operand { self.look(name.text).map(|look| look.form) } else { None }
    }

    /// What a place for a value is given, and how that is written.
    pub(in crate::rules) fn given(&self, place: Name) -> Option<(Type, &str)> {
        let (ix, step) = self.step?;
        let name = place.text.strip_prefix('$')?;
        let (_, value) = step.with.iter().find(|(known, _)| known.value == name)?;
        let written = if let Filling::Text(text) = value { &*text.source } else { "" };
        Some((self.names.filling(&self.names.seat(ix), value), written))
    }
}
