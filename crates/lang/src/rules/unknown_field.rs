//! F202: a field that a value does not have.

use super::names::PipelineNames;
use super::problem::{KnownFields, Owner};
use super::{Code, Diagnostic, listed, meant};
use crate::diagnostic::{About, LONGEST_MESSAGE};
use crate::model::{Read, Step, StepKind};
use crate::source::Span;
use crate::template::types::{Object, Type};

pub(super) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownField, span, message)
}

pub(super) fn report(names: &PipelineNames, read: &Read, owner: &Owner, field: &str, known: &KnownFields) -> Diagnostic {
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
    let found = |message: String| found(read.span, message).about(about.clone());
    let names_known: Vec<&str> = known.names().collect();
    if let Some(meant) = meant::field(names, read, owner, field, &names_known).filter(|_| near.is_empty()) {
        let mut found = found(format!("{what}{}", meant.why)).help(meant.help);
        found.related.extend(meant.at);
        return match meant.path {
            Some(path) => found.proposed_fix(vec![(read.span, path)]),
            None => found,
        };
    }
    if known.names().next().is_none() {
        return match owner {
            Owner::Inputs => found(format!("{what}; the pipeline has none")).help("add it under inputs"),
            Owner::Step(_) => found(format!("{what}; it returns nothing")).help("read another step, or give it outputs"),
            Owner::Plain(_, Type::List(_)) => found(what).help("write [0] for its first element, or go through it with for"),
            Owner::Plain(..) | Owner::Value(_) => found(what).help("read the value itself"),
        };
    }
    if !near.is_empty() {
        return found(format!("{what}{near}")).near(near).help(format!("use one of: {list}"));
    }
    let whole = format!("{what}; available: {list}");
    let fits = whole.chars().count() <= LONGEST_MESSAGE;
    found(if fits { whole } else { what }).help(if *owner == Owner::Inputs {
        "add it under inputs, or read another".to_owned()
    } else if fits {
        "read one of these".to_owned()
    } else {
        format!("use one of: {list}")
    })
}

/// The finding of a field that the value of a loop or a filter does not have.
pub(super) fn of_value(names: &PipelineNames, span: Span, owner: &str, field: &str, known: Option<&Object>) -> Diagnostic {
    let Some(known) = known else {
        let help = match owner.starts_with(|c: char| c.is_ascii_digit()) {
            true => "write steps.ID.output with the id of a step: steps are not numbered",
            false => "read the value itself",
        };
        return found(span, format!("{owner} has no \"{field}\"")).help(help);
    };
    let fields = || known.fields.keys().map(String::as_str);
    let near = names.hints.did_you_mean(field, fields());
    let message = format!("{owner} has no \"{field}\"{near}");
    let about = if known.is_of_file { About::Columns } else { About::Other };
    if fields().eq(["item", "status", "output", "error"]) {
        let message = format!("{owner} has no \"{field}\": with on_failure: continue each has item, status, output and error");
        return found(span, message).help(format!("write .output.{field} in place of .{field}"));
    }
    let found = found(span, message).about(about).near(near);
    let all: Vec<&str> = fields().collect();
    let query = names
        .pipeline
        .steps
        .iter()
        .map(|planned| &planned.step)
        .find(|step| matches!(&step.kind, StepKind::Sql(_)) && all.iter().any(|name| name.contains('(') && is_in_query(step, name)));
    if let Some(meant) = query.and_then(|step| meant::unnamed(step, field, &all)) {
        let mut found = found.help(meant.help);
        found.related.extend(meant.at);
        return found;
    }
    found.help(format!("use one of: {}", listed(fields())))
}

fn is_in_query(step: &Step, column: &str) -> bool {
    matches!(&step.kind, StepKind::Sql(sql) if sql.query.source.contains(column))
}
