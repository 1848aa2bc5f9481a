//! The command line: one file per command.
//!
//! How to add a command: a variant of [`FlowCommand`], a file here with `fn run(…) -> Result<Exit, Refusal>`, a section in `docs/cli.md`.

#[macro_use]
mod tell;
#[macro_use]
mod refusal;

mod allow;
mod approve;
mod arguments;
mod asking;
mod audit;
mod changed;
mod chat;
mod conversations;
mod doctor;
mod drawn;
mod exit;
mod explain;
mod fix;
mod form;
mod import;
mod init;
mod inputs;
mod login;
mod lsp;
mod mcp;
mod outcome;
mod page;
mod plan;
mod progress;
mod run;
mod runs;
mod serve;
mod signals;
mod stdout;
mod telemetry;
mod test;
mod tools;
mod trust;
mod typing;
mod validate;

// Gives `crate::model` the same path in each crate.
use flow::{golden, runtime};
use flow_adapters as adapter;
use flow_base::{diagnostic, event, journal, model, policy, port, redact, source};
use flow_editor::report;
use flow_engine::{self as engine, driver};
use flow_lang::{channel, check, gate, load, lower, rules, syntax, template};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};

use crate::adapter::raise_open_files;
use crate::runtime::{STACK, first_stage, shown_path};

use arguments::{CommandLine, FlowCommand, SharedOptions, ToolsCommand};
pub use exit::Exit;
pub use init::{POLICIES, STARTER};
use refusal::Refusal;

/// Parses the command line and runs the command.
pub fn main() -> std::process::ExitCode {
    // First, because the process may have been started for a sandbox.
    if let Some(code) = first_stage() {
        return code;
    }
    raise_open_files();
    std::panic::set_hook(Box::new(tell::panicked));
    let worker = std::thread::Builder::new().name("flow".into()).stack_size(STACK).spawn(command);
    let exit = match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit,
        Ok(Err(_)) => {
            tell!("internal error of flow; please report it with the lines above");
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
    let arguments = match CommandLine::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if !error.use_stderr() {
                return stdout::exit_after(error.print());
            }
            // The error repeats arguments.
            let told = error.render().to_string();
            match inner_command(&error) {
                Some(command) => tell::refused(&format!("{}\n\ntip: flow {command}", told.trim_end())),
                None => tell::refused(told.trim_end()),
            }
            return Exit::Usage;
        }
    };
    let exit = run_command(&arguments.command, &arguments.shared).unwrap_or_else(refusal::report);
    telemetry::close(arguments.shared.quiet);
    exit
}

/// Returns the command whose last word alone was typed: `runs resume` for `resume`.
fn inner_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let all = CommandLine::command();
    let mut outer = all.get_subcommands().filter(|command| command.get_subcommands().any(|inner| inner.get_name() == word));
    let first = outer.next().filter(|_| outer.next().is_none())?;
    Some(format!("{} {word}", first.get_name()))
}

fn run_command(command: &FlowCommand, shared: &SharedOptions) -> Result<Exit, Refusal> {
    tell::show_spans().map_err(Refusal::usage)?;
    if let Some(folder) = shared.project.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(refusal!(Usage, "--project {}: folder not found", shown_path(folder)));
    }
    match command {
        FlowCommand::Run(options) if options.dry_run => plan::run(&options.wanted, options.printed.json, shared),
        FlowCommand::Run(options) => run::run(options, shared),
        FlowCommand::Chat(options) => chat::run(options, shared),
        FlowCommand::Plan(options) => plan::run(&options.wanted, options.json, shared),
        FlowCommand::Graph(options) => explain::graph(options, shared),
        FlowCommand::Validate(options) => validate::run(options, shared),
        FlowCommand::Test(options) => test::run(options, shared),
        FlowCommand::Init { folder, policies } => init::run(folder, *policies, shared),
        FlowCommand::Import(options) => import::run(options, shared),
        FlowCommand::Doctor(options) => doctor::run(options, shared),
        FlowCommand::Trust(options) => trust::run(options, shared),
        FlowCommand::Tools(ToolsCommand::Login(options)) => login::login(options, shared),
        FlowCommand::Tools(ToolsCommand::Logout { server, paths }) => login::logout(server, paths, shared),
        FlowCommand::Tools(ToolsCommand::Allow(options)) => allow::run(options, shared),
        FlowCommand::Tools(ToolsCommand::Pin { paths, check, trust }) => tools::pin(paths, *check, trust.is_given, shared),
        FlowCommand::Fix(options) => fix::run(options, shared),
        FlowCommand::Explain(options) => explain::run(options, shared),
        FlowCommand::Schema { kind } => Ok(explain::schema(*kind)),
        FlowCommand::Lsp => lsp::run(),
        FlowCommand::Mcp(options) => mcp::serve(options, shared),
        FlowCommand::Completions { shell } => Ok(explain::completions(*shell)),
        FlowCommand::Conversations(command) => conversations::run(command, shared),
        FlowCommand::Runs(command) => runs::run(command, shared),
        FlowCommand::Audit(command) => audit::run(command, shared),
        FlowCommand::Approve(options) => approve::run(options, shared),
    }
}
