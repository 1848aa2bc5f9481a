//! What flow knows of itself and of files: `flow explain` (a pipeline in plain words, the page of a code), `flow schema`, `flow completions`.

use std::path::Path;

use clap::CommandFactory;

use super::arguments::{CommandLine, SchemaKind, SharedOptions, Shell};
use super::refusal::Refusal;
use super::{Exit, checked, stdout};
use crate::diagnostic::{Code, did_you_mean, visible};
use crate::lower::FileKind;
use crate::lower::keys::json_schema;
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

/// Prints the JSON Schema of a kind of file, or of all.
pub(super) fn schema(kind: Option<SchemaKind>) -> Exit {
    let kind = kind.map(|kind| match kind {
        SchemaKind::Pipeline => FileKind::Pipeline,
        SchemaKind::Channel => FileKind::Channel,
        SchemaKind::StyleGuide => FileKind::StyleGuide,
        SchemaKind::Test => FileKind::Test,
        SchemaKind::Replies => FileKind::Replies,
        SchemaKind::Definitions => FileKind::Definitions,
    });
    stdout::print(&format!("{:#}\n", json_schema(kind)))
}

/// Prints what a shell has to read so that it completes the commands and options of `flow`.
pub(super) fn completions(shell: Shell) -> Exit {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::Powershell => clap_complete::Shell::PowerShell,
    };
    let mut text = vec![];
    clap_complete::generate(shell, &mut CommandLine::command(), "flow", &mut text);
    stdout::print(&String::from_utf8_lossy(&text))
}
