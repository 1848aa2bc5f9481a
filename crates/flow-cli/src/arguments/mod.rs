//! What can be written on the command line: here the commands and what all of them take, beside it the options of each.

mod checking;
mod examples;
mod running;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use strum::VariantNames;
use terminal_size::{Width, terminal_size};

use crate::adapter::environment::is_set;
use crate::diagnostic::shell_path;
use crate::lower::FileKind;
use crate::report::Look;
use crate::typing::is_dumb;

pub use checking::{
    AllowOptions, ChangedOption, DoctorOptions, ExplainOptions, FixOptions, Format, GraphFormat, GraphOptions, ImportOptions, LoginOptions,
    NoTests, TestFormat, TestOptions, ToolsCommand, ValidateOptions,
};
pub use running::{
    ApproveOptions, AuditCommand, AuditFormat, ChatOptions, ConversationOptions, ConversationsCommand, ForkOptions, MOST_MESSAGES,
    McpOptions, OutputOptions, PlanOptions, RunOptions, RunRequest, RunsCommand, RunsListOptions, StoreOption, TrustOptions,
};

/// Multi-agent workflows from YAML: checked like a compiler, run as a graph.
#[derive(Debug, Parser)]
#[command(name = "flow", version, about, after_help = super::exit::table(), disable_help_subcommand = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: FlowCommand,
    #[command(flatten)]
    pub shared: SharedOptions,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct SharedOptions {
    /// Prints only the result, or why there is none: no progress, no warnings
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Prints more: remarks of the check, every event
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = When::Auto)]
    pub color: When,
    /// Prints no progress
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// The project's folder [default: the nearest folder above with a flow.toml, else the current one]
    #[arg(long, global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Reads secrets and env from NAME=value lines; variables that are already set take precedence
    #[arg(long, global = true, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
}

impl SharedOptions {
    /// The project of a file.
    pub(crate) fn project_of(&self, file: &Path) -> PathBuf {
        crate::runtime::project(file, self.project.as_deref())
    }

    /// The project in which the command was called.
    pub(crate) fn current_project(&self) -> PathBuf {
        self.project.clone().map_or_else(SharedOptions::found_project, |named| crate::runtime::project(&named, Some(&named)))
    }

    /// What a command needs to reach a project from here: ` --project DIR`; empty: it is found.
    pub(crate) fn reach(&self, project: &Path) -> String {
        let place = |path: &Path| std::path::absolute(path).and_then(|path| path.canonicalize()).unwrap_or_else(|_| path.to_path_buf());
        let found = SharedOptions::found_project();
        let project = if project.as_os_str().is_empty() { Path::new(".") } else { project };
        if place(&found) == place(project) { String::new() } else { format!(" --project {}", shell_path(&project.display().to_string())) }
    }

    /// The project that a command without `--project` works in here.
    fn found_project() -> PathBuf {
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        crate::runtime::project(&here.join("x"), None)
    }

    /// How what is printed on standard output looks.
    pub(crate) fn look(&self) -> Look {
        self.look_of(std::io::stdout().is_terminal())
    }

    /// How what is printed on standard error looks.
    pub(crate) fn look_of_stderr(&self) -> Look {
        self.look_of(std::io::stderr().is_terminal())
    }

    /// Colours and width of an output: the one place that asks what a terminal can do.
    fn look_of(&self, is_terminal: bool) -> Look {
        let is_wanted = || is_terminal && !is_dumb() || is_set("CLICOLOR_FORCE");
        let is_coloured = self.color == When::Always || self.color == When::Auto && !is_set("NO_COLOR") && is_wanted();
        let width = terminal_size().filter(|_| is_terminal).map(|(Width(width), _)| usize::from(width));
        Look { is_coloured, width: width.filter(|width| *width > 0) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub enum FlowCommand {
    /// Runs a pipeline
    #[command(after_help = examples::RUN)]
    Run(RunOptions),
    /// Talks with an agent or a pipeline
    #[command(after_help = examples::CHAT)]
    Chat(ChatOptions),
    /// Checks files without running anything
    #[command(after_help = examples::VALIDATE)]
    Validate(ValidateOptions),
    /// Runs tests with scripted replies and compares with goldens
    #[command(after_help = examples::TEST)]
    Test(TestOptions),
    /// Applies the fixes of findings that can have only one meaning
    #[command(after_help = examples::FIX)]
    Fix(FixOptions),
    /// Shows the order, the prompts and the upper bounds of a run, without running it
    #[command(after_help = examples::PLAN)]
    Plan(PlanOptions),
    /// Shows which programs, hosts and secrets pipelines use, and trusts them until they change
    #[command(after_help = examples::TRUST)]
    Trust(TrustOptions),
    /// Draws a pipeline, or a past run of it
    #[command(after_help = examples::GRAPH)]
    Graph(GraphOptions),
    /// Explains a pipeline in plain words, or the code of a finding
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainOptions),
    /// Creates a first project, with tests, that runs without an API key
    #[command(after_help = examples::INIT)]
    Init {
        /// Its folder; created if it does not exist
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Writes the shipped policies (policies/) and nothing else
        #[arg(long)]
        policies: bool,
    },
    /// Translates a workflow file of another program into one of this language
    #[command(after_help = examples::IMPORT_FILE)]
    Import(ImportOptions),
    /// Checks that everything a project needs is available: secrets, data, engines, hosts
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorOptions),
    /// Pins the tools of MCP servers, signs in and out
    #[command(subcommand, after_help = examples::TOOLS)]
    Tools(ToolsCommand),
    /// Prints a JSON Schema for editors
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// The kind of file [default: all, distinguished by their keys]
        #[arg(value_parser = PossibleValuesParser::new(FileKind::VARIANTS).try_map(|word| word.parse::<FileKind>()))]
        kind: Option<FileKind>,
    },
    /// Runs the language server for editors, over standard input and output
    #[command(after_help = examples::LSP)]
    Lsp,
    /// Serves pipelines to MCP clients as tools, over standard input and output or HTTP
    #[command(after_help = examples::MCP)]
    Mcp(McpOptions),
    /// Prints the completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Works with past runs: list, show, export, resume, rm, prune
    #[command(subcommand, after_help = examples::RUNS)]
    Runs(RunsCommand),
    /// Verifies and exports the audit: what runs did, what was allowed and blocked
    #[command(subcommand, after_help = examples::AUDIT)]
    Audit(AuditCommand),
    /// Works with stored conversations: list, show, export, erase
    #[command(subcommand, after_help = examples::CONVERSATIONS)]
    Conversations(ConversationsCommand),
    /// Answers what a run waits for: an `approval` step, a call that needs approval, or a `once` step in doubt after a crash
    #[command(after_help = examples::APPROVE)]
    Approve(ApproveOptions),
}
