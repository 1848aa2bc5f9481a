//! Options of the commands that check, draw, fix and test.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use flow_import::ImportFormat;
use strum::{VariantArray, VariantNames};

use super::examples;
use super::running::TrustOption;
use crate::model::Guarantee;

#[derive(Debug, Args)]
pub struct GraphOptions {
    /// The pipeline file
    #[arg(required_unless_present = "run")]
    pub file: Option<PathBuf>,
    /// Draws what actually ran: the id of a run, or its beginning
    #[arg(long, value_name = "RUN", conflicts_with = "file")]
    pub run: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub format: GraphFormat,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Also says what holds for every run of the pipeline
    #[arg(long, conflicts_with = "run")]
    pub guarantees: bool,
}

#[derive(Debug, Args)]
pub struct ExplainOptions {
    /// A pipeline file, a code (F101) or its name (cycle), or a key (retry, retry.delay)
    pub what: String,
    /// Shows what holds for every run of the pipeline, and on which ways something would not
    #[arg(long)]
    pub guarantees: bool,
    /// Prints the guarantees as one JSON object
    #[arg(long, requires = "guarantees")]
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

/// Takes the words of the language.
fn guarantee_parser() -> impl TypedValueParser<Value = Guarantee> {
    PossibleValuesParser::new(<Guarantee as VariantNames>::VARIANTS).try_map(|word| word.parse::<Guarantee>())
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
    /// Treats warnings as errors
    #[arg(long)]
    pub deny_warnings: bool,
    /// Also shows findings that comments hide
    #[arg(long)]
    pub no_ignore: bool,
    /// Lists hidden findings in SARIF too, marked as suppressed; some readers show them as open
    #[arg(long)]
    pub suppressed: bool,
    /// A guarantee that must hold for every run of each pipeline; may be repeated, or a list with commas
    #[arg(long, value_name = "GUARANTEE", value_delimiter = ',', value_parser = guarantee_parser())]
    pub require: Vec<Guarantee>,
    #[command(flatten)]
    pub changed: ChangedOption,
}

/// Limits a command to what a change touches.
#[derive(Debug, Args)]
pub struct ChangedOption {
    /// Only files that have changed since this commit, and those that import, call, test or read them; asks git
    #[arg(long = "changed-since", value_name = "REV")]
    pub since: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Human,
    Json,
    Jsonl,
    Sarif,
    Github,
    Gitlab,
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
    /// Starts the MCP servers of pipelines, shows how their tools differ from the pinned ones, and accepts the differences
    #[command(after_help = examples::PIN)]
    Pin {
        /// Pipelines, or folders to search for them [default: the project]
        paths: Vec<PathBuf>,
        /// Only shows the differences; exit 1 if there are some
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        trust: TrustOption,
    },
    /// Writes the names of the tools that there are now in place of "*": in allow of a server, and in allowed_tools of a policy
    #[command(after_help = examples::ALLOW)]
    Allow(AllowOptions),
    /// Signs in to an MCP server (OAuth) and stores the login for this project; runs use and refresh it
    #[command(after_help = examples::LOGIN)]
    Login(LoginOptions),
    /// Removes the stored login of an MCP server
    #[command(after_help = examples::LOGOUT)]
    Logout {
        /// The name of the server in `tools`
        server: String,
        /// Pipelines, or folders to search for it [default: the project]
        paths: Vec<PathBuf>,
    },
}

#[derive(Debug, Clone, Args)]
pub struct AllowOptions {
    /// Pipelines, or folders to search for them
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Shows the edits and writes nothing; exit 1 if there are any
    #[arg(long)]
    pub diff: bool,
    #[command(flatten)]
    pub trust: TrustOption,
}

#[derive(Debug, Clone, Args)]
pub struct ImportOptions {
    /// The program whose file it is
    #[arg(value_parser = import_formats())]
    pub format: ImportFormat,
    /// The workflow file
    pub file: PathBuf,
    /// Writes new files into this folder instead of to standard output; nothing is overwritten
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// The formats by their words, each with what it reads.
fn import_formats() -> impl clap::builder::TypedValueParser<Value = ImportFormat> {
    let formats = ImportFormat::VARIANTS.iter().map(|format| PossibleValue::new(<&str>::from(format)).help(format.files()));
    PossibleValuesParser::new(formats).try_map(|word| word.parse::<ImportFormat>())
}

#[derive(Debug, Clone, Args)]
pub struct LoginOptions {
    /// The name of the server in `tools`
    pub server: String,
    /// Pipelines, or folders to search for it [default: the project]
    pub paths: Vec<PathBuf>,
    /// A scope to request in addition to those of the server; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub scopes: Vec<String>,
    /// Allows a host that the server names as its login host; may be repeated
    #[arg(long = "yes-host", value_name = "HOST")]
    pub hosts: Vec<String>,
    /// Signs in with a code typed on another device, if the authorization server supports it
    #[arg(long)]
    pub device: bool,
    /// Prints the address and opens no browser
    #[arg(long)]
    pub no_browser: bool,
    #[command(flatten)]
    pub trust: TrustOption,
}

#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// Pipelines, or folders to search for them [default: the project]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub trust: TrustOption,
    /// Shows the value of each setting and its source; tests nothing
    #[arg(long)]
    pub config: bool,
    /// Prints JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TestOptions {
    /// Test files, or folders to search for them [default: the project]
    pub paths: Vec<PathBuf>,
    /// Writes goldens instead of comparing with them; not allowed where CI is set
    #[arg(long)]
    pub update: bool,
    /// Calls the models that have no scripted reply, and records their answers for later tests; not allowed where CI is set
    #[arg(long)]
    pub record: bool,
    /// Calls the models that have no scripted reply, even where an answer is recorded, and records nothing
    #[arg(long, conflicts_with = "record")]
    pub live: bool,
    #[command(flatten)]
    pub trust: TrustOption,
    /// Runs each test this many times, and fails those with different results, with counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "record")]
    pub repeat: u32,
    /// Compares with the results in this file, as Markdown, and fails only if something got worse; with --update writes the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "json", "record", "since"])]
    pub baseline: Option<PathBuf>,
    /// Breaks the texts that passed each gate, one way at a time, and fails if no check of the gate notices
    #[arg(long, conflicts_with_all = ["update", "record", "repeat", "baseline"])]
    pub mutate: bool,
    /// Runs only tests whose FILE/CASE/CHANNEL contains this text
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// How the report is shown
    #[arg(long, value_enum)]
    pub format: Option<TestFormat>,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Also writes the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also appends a summary in Markdown to this file, such as $GITHUB_STEP_SUMMARY
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    #[command(flatten)]
    pub changed: ChangedOption,
    /// The result when there are no tests
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
    /// For a pull request.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NoTests {
    /// Exit 4.
    Fail,
    /// Exit 0.
    Pass,
}
