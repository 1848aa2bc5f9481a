//! F211: a field of an output that is plain text.

use super::names::PipelineNames;
use super::{Code, Diagnostic};
use crate::model::Read;
use crate::plan::StepIx;

pub(super) fn report(names: &PipelineNames, read: &Read, step: StepIx) -> Diagnostic {
    let id = &names.step(step).id;
    let field = read.path.get(3).map_or("", String::as_str);
    let message = format!("steps.{}.output.{field} is read, but \"{}\" has no output: it returns plain text", id.value, id.value);
    Diagnostic::new(Code::NoOutputFields, read.span, message)
        .help(format!("add output: {{ {field}: text }} to \"{}\"", id.value))
        .related(id.span, "this step")
}
