//! F217: a query and the values it is given do not fit: its steps would fail before anything is read.

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::diagnostic::did_you_mean;
use crate::model::{PreparedQuery, QueryFault, SqlEngine, WrittenQuery};
use crate::source::Span;
use crate::sql;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for query in file.queries() {
        let is_unread = match file.prepared.get(query.text) {
            Some(PreparedQuery::Fails(mistake)) => {
                matches!(
                    mistake.fault,
                    QueryFault::Syntax | QueryFault::Incomplete | QueryFault::Unreadable(_) | QueryFault::Several | QueryFault::Writes
                )
            }
            Some(PreparedQuery::Gives(_)) | None => false,
        };
        let of_duckdb = file.data.iter().any(|(name, data)| data.engine() == SqlEngine::DuckDb && sql::mentions(query.text, name));
        if !is_unread {
            of_query(&query, of_duckdb, out);
        }
    }
}

fn found(span: Span, message: String) -> Diagnostic {
    finding(Code::QueryValues, span, &message)
}

fn of_query(query: &WrittenQuery, of_duckdb: bool, out: &mut Vec<Diagnostic>) {
    let Some(places) = sql::read(query.text).map(|query| query.places) else { return };
    let given: Vec<&str> = query.values.iter().map(|name| name.value.as_str()).collect();
    let mut used = vec![];
    // In DuckDB, `:` and `@` also stand for other things.
    for place in places.iter().filter(|place| !of_duckdb || place.text.starts_with(['$', '?'])) {
        let span = query.inside(place.start, place.start + place.text.len());
        let Some(name) = place.text.strip_prefix('$') else {
            let plain = place.text.trim_start_matches(['?', ':', '@']);
            let name = if plain.starts_with(char::is_alphabetic) { plain } else { given.first().copied().unwrap_or("name") };
            used.push(name);
            let message = format!("a value is filled in by name, as ${name}, and not by {}", quoted(place.text));
            let help =
                if given.contains(&name) { format!("write ${name}") } else { format!("write ${name}, and add with: {{ {name}: … }}") };
            out.push(found(span, message).help(help));
            continue;
        };
        used.push(name);
        if !given.contains(&name) {
            let near = did_you_mean(name, given.iter().copied());
            used.extend(near.names.first().and_then(|near| given.iter().find(|given| *given == near)));
            let message = format!("the query has ${name}, but \"with\" has no {}{near}", quoted(name));
            let help = if near.is_empty() { format!("add with: {{ {name}: … }}") } else { format!("use one of: {}", given.join(", ")) };
            out.push(found(span, message).near(near).help(help));
        }
    }
    for name in query.values.iter().filter(|name| !used.contains(&name.value.as_str())) {
        let written = format!("${}", name.value);
        let found = match query.text.find(&written) {
            Some(at) => {
                let before = query.text[..at].chars().next_back();
                let span = query.inside(at, at + written.len());
                let message = format!("{} is in quotes or in a remark, so no value is filled in there", quoted(&written));
                let help = if before == Some('\'') {
                    format!("write {written} without quotes")
                } else {
                    format!("write {written} in the query, or remove it from with")
                };
                found(span, message).help(help)
            }
            None => found(name.span, format!("\"with\" has {}, but the query has no {written}", quoted(&name.value)))
                .help(format!("write {written} in the query, or remove it")),
        };
        out.push(found);
    }
}
