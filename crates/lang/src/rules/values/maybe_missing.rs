//! F204: something that may not be there when it is read.

use crate::model::Read;
use crate::rules::prelude::{Code, Diagnostic};
use crate::source::Span;
use crate::template::FieldAsker;
use crate::template::types::Type;

/// A guard that stands behind other filters, where it guards what they give and not the path.
pub(in crate::rules) fn after_filters(found: Diagnostic, read: &Read, source: &str) -> Diagnostic {
    let path = read.path.join(".");
    let behind = source.find(&path).map(|at| &source[at + path.len()..]).unwrap_or_default();
    let chain = behind.split(['}', '%']).next().unwrap_or_default();
    let filters: Vec<&str> = chain.split('|').map(str::trim).skip(1).collect();
    let Some(place) = filters.iter().position(|filter| filter.starts_with("default")).filter(|place| *place > 0) else { return found };
    let mut first = filters.clone();
    let default = first.remove(place);
    first.insert(0, default);
    let help = format!("write {path} | {}", first.join(" | "));
    let found = Diagnostic { message: format!("{}; default guards only what stands directly before it", found.message), ..found };
    Diagnostic { help: vec![help], ..found }
}

/// A field that an element of a list need not have; `at` is the expression of the text `source` that asks for it.
pub(in crate::rules) fn of_element(span: Span, owner: &str, field: &str, asker: FieldAsker, at: &str, source: &str) -> Diagnostic {
    let help = match asker {
        FieldAsker::Map => format!("write map(attribute='{field}', default=''), with what belongs there in place of ''"),
        FieldAsker::Filter(name) => format!("write selectattr('{field}') before {name}: it leaves out the elements without it"),
        FieldAsker::Path => {
            let path = path_to(field, at, source);
            format!("write {path} | default(''), with what belongs there in place of ''; or ask first whether it is defined")
        }
    };
    found(span, format!("{owner} may have no \"{field}\"")).help(help)
}

/// A field of an element as it is written: behind the name that the loop gives it, where that is found.
pub(in crate::rules) fn path_to(field: &str, at: &str, source: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let below = format!(".{field}");
    let source = if at.contains(&below) { at } else { source };
    let name = source.find(&below).map(|at| &source[..at]).map_or("", |before| &before[before.trim_end_matches(is_name).len()..]);
    format!("{name}{below}")
}

fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::MaybeSkipped, span, message)
}

pub(in crate::rules) fn report(read: &Read, why: String) -> Diagnostic {
    let path = read.path.join(".");
    // A field may be there and empty, too.
    let default = if path.ends_with(".output") { "default('')" } else { "default('', true)" };
    // `failure` is defined in every run, and empty where nothing failed.
    let ask = if read.path.first().is_some_and(|root| root == "failure") { ": failure is not none" } else { " whether it is defined" };
    found(read.span, why)
        .help(format!("write {path} | {default}, with the text or the path that belongs there in place of ''; or ask first{ask}"))
}

/// What is compared, counted with or gone through needs a value of its own type in its place; `kind`: what it is where it is there.
pub(in crate::rules) fn of_kind(found: Diagnostic, read: &Read, kind: &Type, source: &str) -> Diagnostic {
    let path = read.path.join(".");
    let behind = source.find(&path).map(|at| source[at + path.len()..].trim_start_matches(['-', ' ']));
    let (other, what) = match kind {
        _ if behind.is_none_or(|behind| behind.starts_with("}}")) => return found,
        Type::Number | Type::Within(_) => ("0", "the number"),
        Type::Boolean => ("false", "the value"),
        Type::List(_) => ("[]", "the list"),
        Type::Any | Type::Empty | Type::Text | Type::OneOf(_) | Type::Date | Type::Object(_) => return found,
    };
    // A field that is there and empty is defined, and no number.
    let (also, ask) = if path.ends_with(".output") { ("", "; or ask first whether it is defined") } else { (", true", "") };
    let help = format!("write {path} | default({other}{also}), with {what} that belongs there in place of {other}{ask}");
    Diagnostic { help: vec![help], ..found }
}
