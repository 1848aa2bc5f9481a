//! F217: a query and the values it is given do not fit: its steps would fail before anything is read.

use crate::diagnostic::did_you_mean;
use crate::model::{QueryFault, Shape, SqlEngine};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding, quoted};
use crate::rules::support::asked_query::AskedQuery;
use crate::source::{Span, Spanned};
use crate::sql::Name;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for query in names.queries() {
        let is_unread = query.mistake.is_some_and(|mistake| {
            use QueryFault::{Incomplete, Several, Syntax, Unreadable, Writes};
            matches!(mistake.fault, Syntax | Incomplete | Unreadable(_) | Several | Writes)
        });
        if !is_unread {
            of_query(query, &names.pipeline.pipeline.inputs, out);
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

fn of_query(query: &AskedQuery, inputs: &Shape, out: &mut Vec<Diagnostic>) {
    let Some(names) = query.read.names() else { return };
    let given: Vec<&str> = query.values.iter().map(|name| name.value.as_str()).collect();
    let is_filled = |name: &str| query.filled.iter().any(|filled| filled.name == name);
    let named: Vec<&str> = names.places.iter().filter_map(|place| place.text.strip_prefix('$')).filter(|name| !is_filled(name)).collect();
    if let Some(found) = misnamed(query, &named, &given) {
        out.push(found);
        return;
    }
    let mut used = vec![];
    // In DuckDB, `:` and `@` also stand for other things.
    for place in names.places.iter().filter(|place| query.engine == SqlEngine::Sqlite || place.text.starts_with(['$', '?'])) {
        match place.text.strip_prefix('$') {
            None => {
                let plain = place.text.trim_start_matches(['?', ':', '@']);
                let name = if plain.starts_with(char::is_alphabetic) { plain } else { given.first().copied().unwrap_or("name") };
                used.push(name);
                let message = format!("a value is filled in by name, as ${name}, and not by {}", quoted(place.text));
                let help = match given.contains(&name) {
                    true => format!("write ${name}"),
                    false => format!("write ${name}, and with: {{ {name}: {} }}", value_of(inputs, name)),
                };
                out.push(found(span_of(query, place), message).help(help));
            }
            Some(name) if is_filled(name) => {}
            Some(name) => {
                used.push(name);
                if !given.contains(&name) {
                    let (found, meant) = not_given(query, inputs, place, name);
                    used.extend(meant);
                    out.push(found);
                }
            }
        }
    }
    let unused = query.values.iter().filter(|name| !used.contains(&name.value.as_str()));
    out.extend(unused.map(|name| not_used(query, name)));
}

fn span_of(query: &AskedQuery, place: &Name) -> Span {
    query.inside(place.start, place.start + place.text.len())
}

/// The one value that is given and not used, where one is used and not given.
fn misnamed(query: &AskedQuery, named: &[&str], given: &[&str]) -> Option<Diagnostic> {
    let mut missing: Vec<&str> = named.iter().copied().filter(|name| !given.contains(name)).collect();
    missing.dedup();
    let unused: Vec<&Spanned<String>> = query.values.iter().filter(|name| !named.contains(&name.value.as_str())).copied().collect();
    let ([missing], [unused]) = (missing.as_slice(), unused.as_slice()) else { return None };
    if !did_you_mean(missing, given.iter().copied()).is_empty() || quoted_place(query.text, &unused.value).is_some() {
        return None;
    }
    let message = format!("\"with\" has {}, and the query has ${missing}", quoted(&unused.value));
    Some(found(unused.span, message).help(format!("write {missing}")).proposed_fix(vec![(unused.span, (*missing).to_owned())]))
}

/// A place whose value is not given, and the value that is meant.
fn not_given<'q>(query: &'q AskedQuery, inputs: &Shape, place: &Name, name: &str) -> (Diagnostic, Option<&'q str>) {
    let span = span_of(query, place);
    let near = did_you_mean(name, query.values.iter().map(|given| given.value.as_str()));
    let message = format!("the query has ${name}, but \"with\" has no {}{near}", quoted(name));
    let meant = near.names.first().and_then(|near| query.values.iter().find(|given| given.value == *near));
    let help = match (meant, query.values.last()) {
        (Some(meant), _) => format!("write {name} in place of {} in with, or ${} in the query", meant.value, meant.value),
        (None, Some(last)) => format!("add {name}: {} to with, beside {}", value_of(inputs, name), last.value),
        (None, None) => format!("add with: {{ {name}: {} }} to the step", value_of(inputs, name)),
    };
    // What is missing is written beside what is given already.
    let beside = query.values.last().filter(|_| near.is_empty()).map_or(span, |given| given.span);
    let found = found(beside, message).near(near).help(help);
    let found = match meant {
        Some(meant) => found.related(meant.span, format!("write {name} here")),
        None if beside == span => found,
        None => found.related(span, "asked for here"),
    };
    (found, meant.map(|meant| meant.value.as_str()))
}

/// A value that is given, and that the query does not use.
fn not_used(query: &AskedQuery, name: &Spanned<String>) -> Diagnostic {
    let written = format!("${}", name.value);
    let Some(at) = quoted_place(query.text, &name.value) else {
        return found(name.span, format!("\"with\" has {}, but the query has no {written}", quoted(&name.value)))
            .help(format!("write {written} in the query, or remove it"));
    };
    let span = query.inside(at, at + written.len());
    let found = found(span, format!("{} is in quotes or in a remark, so no value is filled in there", quoted(&written)));
    match joined(query.text, at, &written) {
        Some((from, to, joined)) => {
            let help = match joined == written {
                true => format!("write {joined} without the quotes around it"),
                false => format!("write {joined} in place of the whole text in quotes"),
            };
            found.help(help).proposed_fix(vec![(query.inside(from, to), joined)])
        }
        None if query.text[..at].ends_with('\'') => found.help(format!("write {written} without quotes")),
        None => found.help(format!("write {written} in the query, or remove it from with")),
    }
}
