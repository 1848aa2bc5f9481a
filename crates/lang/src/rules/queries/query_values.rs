//! F217: a query and the values it is given do not fit: its steps would fail before anything is read.

use crate::diagnostic::did_you_mean;
use crate::model::{PreparedQuery, QueryFault, Shape, SqlEngine, WrittenQuery};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::{Span, Spanned};
use crate::sql;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
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
            of_query(&query, (of_duckdb, &file.inputs), out);
        }
    }
}

fn found(span: Span, message: String) -> Diagnostic {
    finding(Code::QueryValues, span, &message)
}

/// Where the name of a value stands as a whole word.
fn quoted_place(text: &str, name: &str) -> Option<usize> {
    let written = format!("${name}");
    let is_whole = |at: &usize| !text[at + written.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices(&written).map(|(at, _)| at).find(is_whole)
}

/// The text in quotes around a value, with the value joined to its parts: from, to, and `'%' || $word || '%'`.
fn joined(text: &str, at: usize, written: &str) -> Option<(usize, usize, String)> {
    let from = text[..at].rfind('\'')?;
    let behind = at + written.len();
    let to = behind + text[behind..].find('\'')? + 1;
    let (before, after) = (&text[from + 1..at], &text[behind..to - 1]);
    let part = |part: &str| (!part.is_empty()).then(|| format!("'{part}'"));
    let parts: Vec<String> = [part(before), Some(written.to_owned()), part(after)].into_iter().flatten().collect();
    (!before.contains('\n') && !after.contains('$')).then(|| (from, to, parts.join(" || ")))
}

/// What a value of this name most likely is: the input of that name.
fn value_of(inputs: &Shape, name: &str) -> String {
    match inputs {
        Shape::Fields(fields) if fields.iter().any(|field| field.name == name) => format!("\"{{{{ inputs.{name} }}}}\""),
        Shape::Fields(_) | Shape::Schema(_) => "…".to_owned(),
    }
}

fn of_query(query: &WrittenQuery, (of_duckdb, inputs): (bool, &Shape), out: &mut Vec<Diagnostic>) {
    let Some(places) = sql::read(query.text).map(|query| query.places) else { return };
    let given: Vec<&str> = query.values.iter().map(|name| name.value.as_str()).collect();
    let mut used = vec![];
    let is_filled = |name: &str| query.filled.iter().any(|filled| filled.name == name);
    let named: Vec<&str> = places.iter().filter_map(|place| place.text.strip_prefix('$')).filter(|name| !is_filled(name)).collect();
    let mut missing: Vec<&str> = named.iter().copied().filter(|name| !given.contains(name)).collect();
    missing.dedup();
    let unused: Vec<&Spanned<String>> = query.values.iter().filter(|name| !named.contains(&name.value.as_str())).copied().collect();
    if let ([missing], [unused]) = (missing.as_slice(), unused.as_slice())
        && did_you_mean(missing, given.iter().copied()).is_empty()
        && quoted_place(query.text, &unused.value).is_none()
    {
        let message = format!("\"with\" has {}, and the query has ${missing}", quoted(&unused.value));
        out.push(found(unused.span, message).help(format!("write {missing}")).proposed_fix(vec![(unused.span, (*missing).to_owned())]));
        return;
    }
    // In DuckDB, `:` and `@` also stand for other things.
    for place in places.iter().filter(|place| !of_duckdb || place.text.starts_with(['$', '?'])) {
        let span = query.inside(place.start, place.start + place.text.len());
        let Some(name) = place.text.strip_prefix('$') else {
            let plain = place.text.trim_start_matches(['?', ':', '@']);
            let name = if plain.starts_with(char::is_alphabetic) { plain } else { given.first().copied().unwrap_or("name") };
            used.push(name);
            let message = format!("a value is filled in by name, as ${name}, and not by {}", quoted(place.text));
            let help = if given.contains(&name) {
                format!("write ${name}")
            } else {
                format!("write ${name}, and with: {{ {name}: {} }}", value_of(inputs, name))
            };
            out.push(found(span, message).help(help));
            continue;
        };
        if is_filled(name) {
            continue;
        }
        used.push(name);
        if !given.contains(&name) {
            let near = did_you_mean(name, given.iter().copied());
            used.extend(near.names.first().and_then(|near| given.iter().find(|given| *given == near)));
            let message = format!("the query has ${name}, but \"with\" has no {}{near}", quoted(name));
            let meant = near.names.first().and_then(|near| query.values.iter().find(|given| given.value == *near));
            let help = match meant {
                Some(meant) => format!("write {name} in place of {} in with, or ${} in the query", meant.value, meant.value),
                None => match query.values.last() {
                    Some(last) => format!("add {name}: {} to with, beside {}", value_of(inputs, name), last.value),
                    None => format!("add with: {{ {name}: {} }} to the step", value_of(inputs, name)),
                },
            };
            // What is missing is written beside what is given already.
            let place = query.values.last().filter(|_| near.is_empty()).map_or(span, |given| given.span);
            let found = found(place, message).near(near).help(help);
            out.push(match meant {
                Some(meant) => found.related(meant.span, format!("write {name} here")),
                None if place == span => found,
                None => found.related(span, "asked for here"),
            });
        }
    }
    for name in query.values.iter().filter(|name| !used.contains(&name.value.as_str())) {
        let written = format!("${}", name.value);
        let found = match quoted_place(query.text, &name.value) {
            Some(at) => {
                let before = query.text[..at].chars().next_back();
                let span = query.inside(at, at + written.len());
                let message = format!("{} is in quotes or in a remark, so no value is filled in there", quoted(&written));
                match joined(query.text, at, &written) {
                    Some((from, to, joined)) => {
                        let help = match joined == written {
                            true => format!("write {joined} without the quotes around it"),
                            false => format!("write {joined} in place of the whole text in quotes"),
                        };
                        found(span, message).help(help).proposed_fix(vec![(query.inside(from, to), joined)])
                    }
                    None if before == Some('\'') => found(span, message).help(format!("write {written} without quotes")),
                    None => found(span, message).help(format!("write {written} in the query, or remove it from with")),
                }
            }
            None => found(name.span, format!("\"with\" has {}, but the query has no {written}", quoted(&name.value)))
                .help(format!("write {written} in the query, or remove it")),
        };
        out.push(found);
    }
}
