//! Options of the commands that check, draw, fix and test.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::examples;
use super::running::TrustOption;

#[derive(Debug, Args)]
pub struct GraphOptions {
    /// The pipeline file
    #[arg(required_unless_present = "run")]
    pub file: Option<PathBuf>,
    /// Draws what really ran: the run's id, or the beginning of it
    #[arg(long, value_name = "RUN", conflicts_with = "file")]
    pub run: Option<String>,
    /// What is written
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub format: GraphFormat,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// A Mermaid flowchart.
    Mermaid,
    /// The DOT language of Graphviz.
    Dot,
    /// A picture.
    Svg,
    /// One JSON object.
    Json,
}

#[derive(Debug, Args)]
pub struct ValidateOptions {
    /// Files and folders; - reads standard input [default: all files of the project]
    pub paths: Vec<PathBuf>,
    /// How findings are shown
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Warnings count as errors
    #[arg(long)]
    pub deny_warnings: bool,
    /// Shows what comments hide, too
    #[arg(long)]
    pub no_ignore: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Human,
    Json,
    Jsonl,
    Sarif,
    Github,
    Junit,
}

#[derive(Debug, Args)]
pub struct FixOptions {
    /// Files and folders [default: all files of the project]
    pub paths: Vec<PathBuf>,
    /// Shows the edits and writes nothing; exit 1 if there are any
    #[arg(long)]
    pub diff: bool,
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum ToolsCommand {
    /// Starts the MCP servers of pipelines, shows how their tools differ from the pinned ones, and accepts them as they are now
    #[command(after_help = examples::PIN)]
    Pin {
        /// Pipelines, and folders in which they are looked for [default: the project]
        paths: Vec<PathBuf>,
        /// Only shows the differences; exit 1 if there are some
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        trust: TrustOption,
    },
    /// Signs in to an MCP server (OAuth) and keeps the login for this project; runs use it and refresh it
    #[command(after_help = examples::LOGIN)]
    Login(LoginOptions),
    /// Forgets the login of an MCP server
    #[command(after_help = examples::LOGOUT)]
    Logout {
        /// The name of the server in `tools`
        server: String,
        /// Pipelines, and folders in which it is looked for [default: the project]
        paths: Vec<PathBuf>,
    },
}

#[derive(Debug, Clone, Args)]
pub struct LoginOptions {
    /// The name of the server in `tools`
    pub server: String,
    /// Pipelines, and folders in which it is looked for [default: the project]
    pub paths: Vec<PathBuf>,
    /// A scope to ask for, besides those that the server wants; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub scopes: Vec<String>,
    /// A host that the server names for its logins and that may be asked for a token; may be repeated
    #[arg(long = "yes-host", value_name = "HOST")]
    pub hosts: Vec<String>,
    /// With a code that is typed on another device, if the authorization server offers it
    #[arg(long)]
    pub device: bool,
    /// Prints the address only
    #[arg(long)]
    pub no_browser: bool,
    #[command(flatten)]
    pub trust: TrustOption,
}

#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// Pipelines, and folders in which they are looked for [default: the project]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub trust: TrustOption,
    /// Which value each setting has, and where it comes from; nothing is tested
    #[arg(long)]
    pub config: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TestOptions {
    /// Files with tests, and folders in which they are looked for [default: the project]
    pub paths: Vec<PathBuf>,
    /// Writes goldens instead of comparing with them; refused where CI is set
    #[arg(long)]
    pub update: bool,
    /// Asks models that have no scripted reply, and keeps their answers for the tests after; refused where CI is set
    #[arg(long)]
    pub record: bool,
    /// Asks models that have no scripted reply, whatever was recorded, and keeps nothing
    #[arg(long, conflicts_with = "record")]
    pub live: bool,
    #[command(flatten)]
    pub trust: TrustOption,
    /// Runs each test so often and fails those that do not come out the same each time, with counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "record")]
    pub repeat: u32,
    /// Prints what became worse or better than this file says, as Markdown, and fails only for what became worse; with --update writes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "json", "record"])]
    pub baseline: Option<PathBuf>,
    /// Breaks what gates let through, one way at a time, and fails when no check of the gate notices
    #[arg(long, conflicts_with_all = ["update", "record", "repeat", "baseline"])]
    pub mutate: bool,
    /// Only tests with this text in FILE/CASE/CHANNEL
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// How the report is shown
    #[arg(long, value_enum)]
    pub format: Option<TestFormat>,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Writes the report as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// What it means that there are no tests
    #[arg(long, value_enum, default_value_t = NoTests::Fail)]
    pub no_tests: NoTests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// For people.
    Human,
    /// One JSON object.
    Json,
    /// JUnit XML.
    Junit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NoTests {
    /// Exit 4.
    Fail,
    /// Exit 0.
    Pass,
}
