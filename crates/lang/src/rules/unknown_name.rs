//! F201: a name that nothing has.

use super::names::Names;
use super::seat::Seat;
use super::wording::listed;
use crate::diagnostic::{About, Code, Diagnostic};
use crate::model::Read;

/// Longest path that a message repeats, in characters.
const LONGEST_PATH: usize = 60;

/// The name a path begins with.
pub(super) fn name(names: &Names, seat: &Seat, read: &Read, name: &str) -> Diagnostic {
    let known = names.known(seat);
    let path: String = read.path.join(".").chars().take(LONGEST_PATH).collect();
    let rest = path.strip_prefix(name).unwrap_or_default();
    let whole: Vec<String> = names.hints.nearest(name, known.iter().copied()).into_iter().map(|near| format!("\"{near}{rest}\"")).collect();
    let near = if whole.is_empty() { String::new() } else { format!("; did you mean {}?", whole.join(" or ")) };
    found(read, format!("\"{path}\" is not known{near}"), !whole.is_empty())
        .help(format!("use one of the names known here: {}", known.join(", ")))
}

/// The id of a step.
pub(super) fn step(names: &Names, read: &Read, id: &str) -> Diagnostic {
    let near = names.hints.did_you_mean(id, names.ids());
    found(read, format!("there is no step \"{id}\"{near}"), !near.is_empty())
        .help(format!("name one of the steps: {}", listed(names.ids())))
}

fn found(read: &Read, message: String, is_near: bool) -> Diagnostic {
    Diagnostic::new(Code::UnknownName, read.span, message).about(if is_near { About::NearName } else { About::Other })
}
