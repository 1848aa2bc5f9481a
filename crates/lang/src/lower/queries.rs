//! The columns of the tables of a pipeline, and what an engine says of its queries before any runs.

use std::collections::{BTreeMap, BTreeSet};

use super::case_rows;
use super::context::Lower;
use crate::model::{DataKind, NumberForm, PersonSource, Pipeline, SqlEngine, TableOddity};
use crate::sql;

/// Looks at the columns of the tables that queries and the person read, and has the queries compiled that SQLite would answer.
pub fn prepare(lower: &Lower, pipeline: &mut Pipeline) {
    let queries: BTreeSet<String> = pipeline.queries().iter().map(|query| query.text.to_owned()).collect();
    let of_person = match pipeline.person.as_ref().map(|person| &person.from) {
        Some(PersonSource::Table(table)) => Some(&table.value),
        _ => None,
    };
    for (name, data) in &mut pipeline.data {
        let is_read = || of_person == Some(name) || queries.iter().any(|query| sql::mentions(query, name));
        if !data.pii.is_empty() || !data.columns.is_empty() || is_read() {
            data.header = lower.world().columns(name, data);
            let look = lower.world().look_of(name, data);
            let mut odd = look.oddities;
            data.looks = look.columns;
            // Numbers stand where names belong.
            if data.kind != DataKind::JsonLines && data.header.iter().flatten().any(|name| name.parse::<f64>().is_ok()) {
                odd.push(TableOddity::NoNames);
            }
            let is_quiet = |odd: &TableOddity| matches!(odd, TableOddity::TextNumbers { form: NumberForm::OneShape, .. });
            let text = if odd.iter().all(is_quiet) || !data.is_read_as_it_stands() { None } else { lower.world().table_text(data) };
            let place = |odd: &TableOddity| text.as_ref().and_then(|(file, text)| case_rows::odd_place(*file, text, odd));
            data.oddities = odd.into_iter().map(|odd| (place(&odd), odd)).map(|(place, odd)| (odd, place)).collect();
        }
    }
    let of_duckdb = |query: &str| pipeline.data.iter().any(|(name, data)| data.engine() == SqlEngine::DuckDb && sql::mentions(query, name));
    let queries: Vec<&str> = queries.iter().map(String::as_str).filter(|query| !of_duckdb(query)).collect();
    if queries.is_empty() {
        return;
    }
    let tables = pipeline.data.iter().filter_map(|(name, data)| Some((name.as_str(), data.header.as_deref()?)));
    let answers = lower.world().prepare(&tables.collect::<BTreeMap<_, _>>(), &queries);
    let prepared = queries.iter().zip(answers).filter_map(|(query, answer)| Some(((*query).to_owned(), answer?)));
    pipeline.prepared = prepared.collect();
}
