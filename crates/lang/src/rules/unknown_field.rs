//! F202: a field that a value does not have.

use super::names::PipelineNames;
use super::problem::{KnownFields, Owner};
use super::{Code, Diagnostic, listed};
use crate::diagnostic::{About, LONGEST_MESSAGE};
use crate::model::Read;
use crate::source::Span;
use crate::template::types::{Object, Type};

fn found(span: Span, message: String) -> Diagnostic {
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
        return found(span, format!("{owner} has no \"{field}\"")).help("read the value itself");
    };
    let fields = || known.fields.keys().map(String::as_str);
    let near = names.hints.did_you_mean(field, fields());
    let message = format!("{owner} has no \"{field}\"{near}");
    let about = if known.is_of_file { About::Columns } else { About::Other };
    found(span, message).about(about).near(near).help(format!("use one of: {}", listed(fields())))
}
