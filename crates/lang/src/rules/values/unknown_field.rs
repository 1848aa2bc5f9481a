//! F202: a field that a value does not have.

use crate::diagnostic::{About, Hints, LONGEST_MESSAGE};
use crate::model::{Read, Step, StepKind, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, listed};
use crate::rules::support::meant;
use crate::rules::support::names::is_place;
use crate::rules::support::problem::{KnownFields, Owner};
use crate::source::Span;
use crate::template::FieldOwner;
use crate::template::types::Type;

pub(in crate::rules) fn new_finding(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownField, span, message)
}

pub(in crate::rules) fn report(names: &PipelineNames, read: &Read, owner: &Owner, field: &str, known: &KnownFields) -> Diagnostic {
    let near = names.hints.did_you_mean(field, known.names());
    let what = match owner {
        Owner::Inputs => format!("there is no input \"{field}\""),
        Owner::Step(id) if matches!(known, KnownFields::Names(_)) => format!("step \"{id}\" has no \"{field}\""),
        Owner::Step(id) => format!("the output of step \"{id}\" has no \"{field}\""),
        Owner::Value(path) => format!("\"{path}\" has no \"{field}\""),
        Owner::Plain(path, kind) => format!("\"{path}\" is {} and has no \"{field}\"", kind.words()),
    };
    let list = listed(known.names());
    let about = if known.is_of_file() { About::Columns } else { About::Other };
    let found = |message: String| new_finding(read.span, message).about(about.clone());
    let names_known: Vec<&str> = known.names().collect();
    if let Some(meant) = meant::field(names, read, owner, field, &names_known).filter(|_| near.is_empty()) {
        let mut found = found(format!("{what}{}", meant.why)).help(meant.help);
        found.related.extend(meant.at);
        return match meant.path {
            Some(path) => found.proposed_fix(vec![(read.span, path)]),
            None => found,
        };
    }
    if let (Owner::Value(value), [one]) = (owner, names_known.as_slice())
        && value == "with"
        && near.is_empty()
        && let Some(place) = given_in_gate(names, one)
    {
        return found(format!("{what}; the gate gives {one}"))
            .related(place, format!("{one} is given here"))
            .help(format!("write with.{one} here, or {field} in place of {one} in with of the gate"));
    }
    if names_known.is_empty() {
        let why = match owner {
            Owner::Inputs => "; the pipeline has none",
            Owner::Step(_) => "; it returns nothing",
            Owner::Value(_) | Owner::Plain(..) => "",
        };
        return found(format!("{what}{why}")).help(without_fields(names, read, owner, field));
    }
    let place = read.path.iter().rposition(|part| part == field).unwrap_or(read.path.len());
    let (base, rest) =
        (written(read.path.get(..place).unwrap_or_default().iter().map(String::as_str)), read.path.get(place + 1..).unwrap_or_default());
    let path = |parts: &[&str], rest: &[String]| {
        let rest = rest.iter().map(String::as_str);
        written([base.as_str()].into_iter().chain(parts.iter().copied()).chain(rest))
    };
    if let Some(name) = near.names.first() {
        let help = format!("write {}", path(&[name], rest));
        return found(format!("{what}{near}")).near(near).help(help);
    }
    let whole = format!("{what}; available: {list}");
    let fits = whole.chars().count() <= LONGEST_MESSAGE;
    let found = found(if fits { whole } else { what });
    let kind_of = |name: &str| match known {
        KnownFields::Of(object) => object.fields.get(name).map(|member| &member.kind),
        KnownFields::None | KnownFields::Names(_) => None,
    };
    if let Some(meant) = nested(&names.hints, (owner, field), &names_known, kind_of).map(|name| path(&[name, field], rest)) {
        return found.help(format!("write {meant}"));
    }
    // What stands behind the field is there itself: `output.outputs.summary`.
    if let Some(behind) = rest.first().filter(|behind| names_known.contains(&behind.as_str())) {
        return found.help(format!("write {}", path(&[behind], rest.get(1..).unwrap_or_default())));
    }
    if let Some(name) = names.hints.akin(field, names_known.iter().copied()) {
        // A text has nothing below it, whatever the other tool's field had.
        let is_plain = !matches!(kind_of(name), None | Some(Type::Any | Type::Object(_) | Type::List(_)));
        return found.help(format!("write {}", path(&[name], if is_plain { &[] } else { rest })));
    }
    match names_known.as_slice() {
        _ if *owner == Owner::Inputs => found.help(of_inputs(names, read, field, &names_known)),
        [one] => found.help(format!("write {}", path(&[one], &[]))),
        [one, other] => found.help(format!("write {} or {}", path(&[one], &[]), path(&[other], &[]))),
        _ if fits => found.help(format!("write one of these behind {base}, such as {}", path(&names_known[..1], &[]))),
        _ => found.help(format!("use one of: {list}")),
    }
}

/// What to do about a field of what has none.
fn without_fields(names: &PipelineNames, read: &Read, owner: &Owner, field: &str) -> String {
    match owner {
        Owner::Inputs => "add it under inputs".to_owned(),
        Owner::Step(_) => "read another step, or give it outputs".to_owned(),
        Owner::Plain(path, Type::List(_)) => {
            // Between whole documents a line shows where the next one begins.
            let is_read = meant::step_of(names, &read.path).is_some_and(|step| matches!(step.kind, StepKind::Read(_)));
            of_list(path, field, if is_read && field == "text" { "\\n---\\n" } else { ", " })
        }
        Owner::Plain(path, _) | Owner::Value(path) => format!("write {path}"),
    }
}

/// What to do about an input that is none of these.
fn of_inputs(names: &PipelineNames, read: &Read, field: &str, known: &[&str]) -> String {
    if known.len() > 3 {
        return format!("write one of these as inputs.NAME, or add {field} under inputs: {field}: text");
    }
    // Of two, the one that names the conversation is not its message.
    let is_id = |name: &str| {
        names.pipeline.pipeline.conversation.as_ref().is_some_and(|conversation| {
            let is_read = |text: &Text| text.reads.iter().any(|read| read.path.iter().eq(["inputs", name].iter()));
            conversation.message.reads.iter().any(|own| own.span == read.span) && conversation.id.texts().into_iter().any(is_read)
        })
    };
    let paths: Vec<String> = known.iter().filter(|name| !is_id(name)).map(|name| format!("inputs.{name}")).collect();
    format!("write {}, or add {field} under inputs: {field}: text", paths.join(" or "))
}

/// Where a gate gives its checks a value of this name.
fn given_in_gate(names: &PipelineNames, name: &str) -> Option<Span> {
    names.pipeline.steps.iter().find_map(|planned| {
        let StepKind::Gate(gate) = &planned.step.kind else { return None };
        gate.with.iter().find(|(known, _)| known.value == name).map(|(known, _)| known.span)
    })
}

/// A path as it is written: a place in a list stands in brackets.
fn written<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    parts.fold(String::new(), |path, part| match path.as_str() {
        "" => part.to_owned(),
        _ if is_place(part) => format!("{path}[{part}]"),
        // `report-1` would be reckoned.
        _ if !part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.') => format!("{path}['{part}']"),
        _ => format!("{path}.{part}"),
    })
}

/// How a field of the elements of a list is read.
fn of_list(path: &str, field: &str, between: &str) -> String {
    format!("write {path} | map(attribute='{field}') | join('{between}') for all of them, or {path}[0].{field} for the first")
}

/// The one of these fields that has a field of this name, or may have any.
fn nested<'k>(
    hints: &Hints,
    (owner, field): (&Owner, &str),
    known: &[&'k str],
    kind_of: impl Fn(&str) -> Option<&'k Type>,
) -> Option<&'k str> {
    let has = |name: &&&str| matches!(kind_of(name), Some(Type::Object(inner)) if inner.fields.contains_key(field));
    let may = |name: &&&str| {
        matches!(owner, Owner::Step(_)) && (known.len() == 1 || ["body", "result"].contains(*name)) && kind_of(name) == Some(&Type::Any)
    };
    let is_same = hints.akin(field, known.iter().copied()).is_some();
    known.iter().find(has).or_else(|| known.iter().find(may).filter(|_| !is_same)).copied()
}

/// The finding of a field that the value of a loop or a filter does not have. `written` is what stands at the place.
pub(in crate::rules) fn of_value(
    names: &PipelineNames,
    (span, written): (Span, &str),
    owner: &str,
    field: &str,
    known: &FieldOwner,
) -> Diagnostic {
    let message = format!("{owner} has no \"{field}\"");
    let known = match known {
        FieldOwner::Object(object) => object,
        FieldOwner::Value => return new_finding(span, message).help("write the value by itself, without it"),
        // A module of another tool goes by its number.
        FieldOwner::Number(number) => {
            let help = match number.checked_sub(1).and_then(|place| names.ids().nth(place)) {
                Some(id) => format!("write steps.{id}.output, or the id of another step"),
                None => "write steps.ID.output with the id of a step".to_owned(),
            };
            return new_finding(span, message + ": steps are not numbered, they have names").help(help);
        }
    };
    let fields = || known.fields.keys().map(String::as_str);
    let near = names.hints.did_you_mean(field, fields());
    let message = format!("{owner} has no \"{field}\"{near}");
    let about = if known.is_of_file { About::Columns } else { About::Other };
    if fields().eq(["item", "status", "output", "error"]) {
        let message = format!("{owner} has no \"{field}\": with on_failure: continue each has item, status, output and error");
        let why = "an element that failed has no output";
        return new_finding(span, message).help(match written.strip_suffix(field).and_then(|name| name.strip_suffix('.')) {
            Some(name) => format!(
                "write {name}.output.{field} in place of {written}, and put {{% if {name}.status == 'succeeded' %}} and {{% endif %}} around what reads its fields: {why}"
            ),
            None => format!("write .output.{field} | default('') in place of .{field}, and so for its other fields: {why}"),
        });
    }
    let near_name = near.names.first().cloned();
    let found = new_finding(span, message).about(about).near(near);
    let all: Vec<&str> = fields().collect();
    let query = names
        .pipeline
        .steps
        .iter()
        .map(|planned| &planned.step)
        .find(|step| matches!(&step.kind, StepKind::Sql(_)) && all.iter().any(|name| name.contains('(') && is_in_query(step, name)));
    if let Some(meant) = query.and_then(|step| meant::unnamed(step, field, &all)) {
        let mut found = found.help(meant.help);
        found.message.push_str(meant.why);
        found.related.extend(meant.at);
        return found;
    }
    match names.hints.akin(field.split('.').next().unwrap_or(field), fields()) {
        Some(name) if found.near.is_empty() && field.contains('.') => found.help(format!("write {name} in place of {field}")),
        Some(name) if found.near.is_empty() => found.help(format!("write .{name} in place of .{field}")),
        _ => found.help(match near_name {
            Some(name) => format!("write {name} in place of {field}"),
            None => format!("use one of: {}", listed(fields())),
        }),
    }
}

fn is_in_query(step: &Step, column: &str) -> bool {
    matches!(&step.kind, StepKind::Sql(sql) if sql.query.source.contains(column))
}
