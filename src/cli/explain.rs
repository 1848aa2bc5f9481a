//! `flow explain`: a pipeline in plain words, or the page of a code.

use std::path::Path;

use super::arguments::SharedOptions;
use super::refusal::{Refusal, told};
use super::{Exit, checked, stdout};
use crate::diagnostic::{Code, did_you_mean, visible};
use crate::report;

/// Explains what is named: a file if there is one of that name, else a code.
pub(super) fn run(what: &str, shared: &SharedOptions) -> Exit {
    let path = Path::new(what);
    if path.exists() {
        return told(pipeline(path, shared));
    }
    if let Some(found) = Code::find(what) {
        return stdout::print(&page(found));
    }
    if looks_like_a_path(what) {
        tell!("no file found: {} does not exist", visible(what));
        return Exit::NothingRan;
    }
    let names = Code::ALL.iter().flat_map(|c| [c.id(), c.name()]);
    tell!("there is no file and no code \"{}\"{}", visible(what), did_you_mean(what, names));
    Exit::Usage
}

fn pipeline(path: &Path, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let checked = checked::pipeline(path, shared)?;
    let text = report::explain::explain(&checked.plan).ok_or_else(|| checked::no_pipeline(path))?;
    Ok(stdout::print(&text))
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

fn looks_like_a_path(what: &str) -> bool {
    what.contains(['/', '\\']) || what.ends_with(".yaml") || what.ends_with(".yml")
}
