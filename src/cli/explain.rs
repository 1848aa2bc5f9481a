//! `flow explain`: a pipeline in plain words, or the page of a code.

use std::path::Path;

use super::arguments::SharedOptions;
use super::refusal::Refusal;
use super::{Exit, checked, stdout};
use crate::diagnostic::{Code, did_you_mean, visible};
use crate::report;
use crate::runtime::CheckError;

/// Explains what is named: a file if there is one of that name, else a code.
pub(super) fn run(what: &str, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let path = Path::new(what);
    if path.exists() {
        let workflow = checked::pipeline(path, shared)?;
        let text = report::explain::explain(&workflow.checked.plan);
        return text.map(|text| stdout::print(&text)).ok_or_else(|| Refusal::usage(CheckError::NoPipeline(workflow.file)));
    }
    if let Some(found) = Code::find(what) {
        return Ok(stdout::print(&page(found)));
    }
    if what.contains(['/', '\\']) || what.ends_with(".yaml") || what.ends_with(".yml") {
        return Err(Refusal::new(Exit::NothingRan, format!("no file found: {} does not exist", visible(what))));
    }
    let names = Code::ALL.iter().flat_map(|c| [c.id(), c.name()]);
    Err(Refusal::usage(format!("there is no file and no code \"{}\"{}", visible(what), did_you_mean(what, names))))
}

fn page(code: Code) -> String {
    match report::page(code) {
        "" => {
            let (id, name, severity) = (code.id(), code.name(), code.severity().word());
            format!("# {id} {name}\n\nAn {severity} of a part of the language that is not yet available.\n")
        }
        page => page.to_string(),
    }
}
