//! The command line: one file per command.
//!
//! How to add a command: a variant of [`Command`], a file here with `pub fn run(…) -> Exit`, a section in `docs/cli.md`.

#[macro_use]
mod tell;

mod approve;
mod arguments;
mod checked;
mod completions;
mod doctor;
mod exit;
mod explain;
mod fix;
mod graph;
mod init;
mod inputs;
mod limits;
mod log;
mod lsp;
mod mcp;
mod outcome;
mod plan;
mod progress;
mod refusal;
mod resume;
mod run;
mod runs;
mod schema;
mod signals;
mod stdout;
mod test;
mod tools;
mod trust;
mod validate;

use clap::Parser;

use crate::diagnostic;
use crate::runtime::STACK;

pub use arguments::{Arguments, Command, Shared};
use arguments::{RunsCommand, ToolsCommand};
pub use exit::Exit;
pub use init::STARTER;

/// Reads the command line and does what it says.
pub fn main() -> std::process::ExitCode {
    std::panic::set_hook(Box::new(tell::panicked));
    let worker = std::thread::Builder::new().name("flow".into()).stack_size(STACK).spawn(command);
    let exit = match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit,
        Ok(Err(_)) => {
            tell!("flow met a fault of its own; please report it with the lines above");
            Exit::Internal
        }
        Err(error) => {
            tell!("flow cannot start: {error}");
            Exit::Failed
        }
    };
    exit.code()
}

fn command() -> Exit {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if !error.use_stderr() {
                return stdout::told(error.print());
            }
            // It repeats arguments.
            tell::refused(error.render().to_string().trim_end());
            return Exit::Usage;
        }
    };
    if let Err(refusal) = log::start() {
        return refusal::told(Err(refusal));
    }
    let shared = &arguments.shared;
    if let Some(folder) = shared.project.as_ref().filter(|folder| !folder.is_dir()) {
        tell!("--project {}: there is no such folder", diagnostic::visible(&folder.display().to_string()));
        return Exit::Usage;
    }
    match &arguments.command {
        Command::Run(options) if options.dry_run => plan::run(&options.wanted, options.printed.json, shared),
        Command::Run(options) => run::run(options, shared),
        Command::Plan(options) => plan::run(&options.wanted, options.json, shared),
        Command::Graph(options) => graph::run(options, shared),
        Command::Validate(options) => validate::run(options, shared),
        Command::Test(options) => test::run(options, shared),
        Command::Init { folder } => init::run(folder, shared),
        Command::Doctor(options) => doctor::run(options, shared),
        Command::Trust(options) => trust::run(options, shared),
        Command::Tools(ToolsCommand::Pin { paths, check, trust }) => tools::pin(paths, *check, trust.is_given, shared),
        Command::Fix(options) => fix::run(options, shared),
        Command::Explain { what } => explain::run(what, shared),
        Command::Schema { kind } => schema::run(*kind),
        Command::Lsp => lsp::run(),
        Command::Mcp(options) => mcp::serve(options, shared),
        Command::Completions { shell } => completions::run(*shell),
        Command::Runs(RunsCommand::Resume { run, printed, trust }) => resume::resume(run, printed, trust.is_given, shared),
        Command::Runs(command) => runs::run(command, shared),
        Command::Approve { run, step, show: true, .. } => approve::show(run, step, shared),
        Command::Approve { run, step, reject, happened, comment, show: false } => {
            let answer = match happened {
                Some(output) => approve::Answer::Happened(output),
                None if *reject => approve::Answer::No,
                None => approve::Answer::Yes,
            };
            approve::answer(run, step, answer, comment, shared)
        }
    }
}
