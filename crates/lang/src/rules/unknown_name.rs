//! F201: a name that nothing has.

use super::names::PipelineNames;
use super::seat::Seat;
use super::{Code, Diagnostic, listed};
use crate::diagnostic::Near;
use crate::model::Read;

/// Longest path that a message repeats, in characters.
const LONGEST_PATH: usize = 60;

/// The name a path begins with.
pub(super) fn name(names: &PipelineNames, seat: &Seat, read: &Read, name: &str) -> Diagnostic {
    let known = names.known(seat);
    let path: String = read.path.join(".").chars().take(LONGEST_PATH).collect();
    let rest = path.strip_prefix(name).unwrap_or_default();
    let near = names.hints.nearest(name, known.iter().copied()).into_iter().map(|near| format!("{near}{rest}"));
    let near = Near::new(&path, near);
    found(read, format!("\"{path}\" is not known{near}"), near).help(format!("use one of the names known here: {}", known.join(", ")))
}

/// The id of a step.
pub(super) fn step(names: &PipelineNames, read: &Read, id: &str) -> Diagnostic {
    let near = names.hints.did_you_mean(id, names.ids());
    found(read, format!("there is no step \"{id}\"{near}"), near).help(format!("name one of the steps: {}", listed(names.ids())))
}

fn found(read: &Read, message: String, near: Near) -> Diagnostic {
    Diagnostic::new(Code::UnknownName, read.span, message).near(near)
}
