//! F204: something that may not be there when it is read.

use super::{Code, Diagnostic};
use crate::model::Read;

/// A guard that stands behind other filters, where it guards what they give and not the path.
pub(super) fn after_filters(found: Diagnostic, read: &Read, source: &str) -> Diagnostic {
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

pub(super) fn report(read: &Read, why: String) -> Diagnostic {
    let path = read.path.join(".");
    // A field may be there and empty, too.
    let default = if path.ends_with(".output") { "default('')" } else { "default('', true)" };
    Diagnostic::new(Code::MaybeSkipped, read.span, why).help(format!(
        "write {path} | {default}, with the text or the path that belongs there in place of ''; or ask first whether it is defined"
    ))
}
