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
