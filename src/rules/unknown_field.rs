//! F202: a field that a value does not have.

use super::names::Names;
use super::problem::Known;
use super::wording::listed;
use crate::diagnostic::{About, Code, Diagnostic};
use crate::model::Read;

/// Longest message, in characters.
const LONGEST: usize = 160;

pub(super) fn report(names: &Names, read: &Read, owner: &str, field: &str, known: &Known) -> Diagnostic {
    let near = names.hints.did_you_mean(field, known.names());
    let what = match owner {
        "\"inputs\"" => format!("there is no input \"{field}\""),
        owner if owner.starts_with("step ") && matches!(known, Known::Names(_)) => format!("{owner} has no \"{field}\""),
        owner if owner.starts_with("step ") => format!("{owner} gives no \"{field}\""),
        owner => format!("{owner} has no \"{field}\""),
    };
    let list = listed(known.names());
    let found = |message: String| Diagnostic::new(Code::UnknownField, read.span, message);
    if known.names().next().is_none() {
        let help = if owner.ends_with("a list and") {
            "write [0] for its first element, or go through it with for"
        } else {
            "read the value itself"
        };
        return match owner {
            "\"inputs\"" => found(format!("{what}; the pipeline has none")).help("add it under inputs"),
            owner if owner.starts_with("step ") => found(format!("{what}; it gives nothing")).help("read another step, or give it outputs"),
            _ => found(what).help(help),
        };
    }
    if !near.is_empty() {
        return found(format!("{what}{near}")).about(About::NearName).help(format!("use one of: {list}"));
    }
    let whole = format!("{what}; there is: {list}");
    let fits = whole.chars().count() <= LONGEST;
    found(if fits { whole } else { what }).help(if owner == "\"inputs\"" {
        "add it under inputs, or read another".to_owned()
    } else if fits {
        "read one of these".to_owned()
    } else {
        format!("use one of: {list}")
    })
}
