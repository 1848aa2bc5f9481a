//! What can be written on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Multi-agent workflows from YAML: checked like a compiler, run as a graph.
#[derive(Debug, Parser)]
#[command(name = "flow", version, about, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub shared: Shared,
}

/// The table of exit codes in `--help`.
const EXIT_CODES: &str = "Exit codes:
    0  ok
    1  errors in a file, failed test, golden differs
    2  wrong command line, inputs or channel, no such person
    3  internal error
    4  nothing ran
    5  quality gate not met
    6  run failed
    7  timeout or budget
    8  waiting for an answer
  130  interrupted (Ctrl-C)
  143  interrupted (SIGTERM)";

/// Options of every command.
#[derive(Debug, Args)]
pub struct Shared {
    /// Only the result, or why there is none: no progress, no warnings
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// More: remarks of the check, every event
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = When::Auto)]
    pub color: When,
    /// No progress lines
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// The project's folder [default: the nearest folder upwards with flow.toml, else the current one]
    #[arg(long, global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Reads NAME=value lines for secrets and env; variables that are set win
    #[arg(long, global = true, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs a pipeline
    Run(RunOptions),
    /// Checks files and starts nothing
    Validate(ValidateOptions),
    /// Runs tests with scripted replies and compares with goldens
    Test(TestOptions),
    /// Mends what has only one possible meaning, in the files
    Fix(FixOptions),
    /// Shows the order, the filled prompts and the upper bounds of a run, and starts nothing
    Plan(PlanOptions),
    /// Shows which programs, hosts and secrets pipelines want, and trusts them until something of them changes
    Trust(TrustOptions),
    /// Draws a pipeline, or what really ran of it
    Graph(GraphOptions),
    /// Tells a pipeline in plain words, or shows the page of a code
    Explain {
        /// A pipeline file, a code (F101) or its name (cycle)
        what: String,
    },
    /// Writes a first project, with tests, that runs without any key
    Init {
        /// Its folder; made if it is not there
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Looks whether everything is here that the project needs: secrets, data, engines, hosts
    Doctor(DoctorOptions),
    /// The tools of MCP servers
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Prints a JSON Schema for editors
    Schema {
        /// The kind of file [default: all, told apart by their keys]
        #[arg(value_enum)]
        kind: Option<Kind>,
    },
    /// Serves an editor over standard input and output
    Lsp,
    /// Serves pipelines to MCP clients as tools, over standard input and output or HTTP
    Mcp(McpOptions),
    /// Prints the completions of a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Past runs: list, show, export, resume, rm
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Decides about a `once` step that was started before a crash
    Approve {
        /// The run's id, or the beginning of it
        run: String,
        /// The step
        step: String,
        /// Lets it fail instead of running it again
        #[arg(long)]
        reject: bool,
        /// A sentence for the record
        #[arg(long, value_name = "TEXT", default_value = "")]
        comment: String,
    },
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Kind {
    /// A pipeline.
    Pipeline,
    /// A channel.
    Channel,
    /// A style guide.
    StyleGuide,
    /// A test.
    Test,
    /// Scripted replies.
    Replies,
    /// Shared definitions, for imports.
    Definitions,
}

/// The shells that completions are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

/// What is run, with what, and within which bounds.
#[derive(Debug, Args)]
pub struct Wanted {
    /// The pipeline file
    pub file: PathBuf,
    /// An input; may be repeated
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
    /// Inputs from a JSON file
    #[arg(long = "inputs", value_name = "FILE")]
    pub inputs_file: Option<PathBuf>,
    /// The channel [default: the first the pipeline lists]
    #[arg(long)]
    pub channel: Option<String>,
    /// Sets the clock: 2026-11-18T09:00:00Z
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// Ends the run after this time
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Most money the run may spend, in US dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = money)]
    pub max_cost_usd: Option<f64>,
}

fn money(text: &str) -> Result<f64, String> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| "write an amount above 0, in US dollars, such as 0.50".to_string())
}

/// Options of `flow run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// What is run
    #[command(flatten)]
    pub wanted: Wanted,
    /// Whether what it wants is allowed
    #[command(flatten)]
    pub trust: TrustOption,
    /// Starts nothing and shows what would run: flow plan
    #[arg(long)]
    pub dry_run: bool,
    /// What is printed and written
    #[command(flatten)]
    pub printed: OutputOptions,
    /// Keeps what models and web services are asked and answer in a new folder, secrets and personal data masked
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Answers from such a folder and asks nobody; a call that was not recorded so fails
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub replay: Option<PathBuf>,
}

/// The option of every command that would start something of a file.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct TrustOption {
    /// Lets the files start their programs, call their hosts and read their secrets this one time; nothing of it is kept
    #[arg(long = "trust")]
    pub is_given: bool,
}

/// Options of `flow trust`.
#[derive(Debug, Args)]
pub struct TrustOptions {
    /// Pipeline files
    #[arg(required_unless_present = "list", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Shows everything that is trusted
    #[arg(long, conflicts_with = "files")]
    pub list: bool,
    /// Trusts the files no more
    #[arg(long, conflicts_with_all = ["list", "json"])]
    pub remove: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `flow mcp`.
#[derive(Debug, Args)]
pub struct McpOptions {
    /// Pipeline files; each becomes a tool
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Whether what it wants is allowed
    #[command(flatten)]
    pub trust: TrustOption,
    /// Serves over HTTP at this port of 127.0.0.1; 0 takes a free one [default: standard input and output]
    #[arg(long, value_name = "PORT")]
    pub http: Option<u16>,
    /// Another address to serve at; FLOW_MCP_TOKEN must be set then
    #[arg(long, value_name = "IP", requires = "http")]
    pub address: Option<std::net::IpAddr>,
    /// A name that clients may ask it by, besides its address and localhost; may be repeated
    #[arg(long = "allow-host", value_name = "HOST", requires = "http")]
    pub allow_hosts: Vec<String>,
    /// Most calls that run at once; others wait
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub max_calls: u32,
    /// Ends each call after this time
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Most money each call may spend, in US dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = money)]
    pub max_cost_usd: Option<f64>,
}

/// Options of `flow plan`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    /// What would be run; an input that is not given is shown as ⟨inputs.name⟩
    #[command(flatten)]
    pub wanted: Wanted,
    /// Prints one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `flow graph`.
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

/// What a graph is written as.
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

/// What a run prints and writes.
#[derive(Debug, Default, Args)]
pub struct OutputOptions {
    /// Writes the outputs to a file as JSON
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Writes the events to a file, one JSON object per line; - for standard output
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// With --events: the texts of prompts, replies and outputs too, personal data and secrets masked
    #[arg(long, requires = "events")]
    pub events_content: bool,
    /// Prints one JSON object: run_id, status, outputs, steps, usage, cost, failure
    #[arg(long)]
    pub json: bool,
    /// A partial run counts as failed (exit 6)
    #[arg(long)]
    pub fail_on_partial: bool,
}

/// Options of `flow validate`.
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

/// Options of `flow fix`.
#[derive(Debug, Args)]
pub struct FixOptions {
    /// Files and folders [default: all files of the project]
    pub paths: Vec<PathBuf>,
    /// Shows the edits and writes nothing; exit 1 if there are any
    #[arg(long)]
    pub diff: bool,
}

/// What can be done with the tools of MCP servers.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum ToolsCommand {
    /// Starts the MCP servers of pipelines, shows how their tools differ from the pinned ones, and accepts them as they are now
    Pin {
        /// Pipelines, and folders in which they are looked for [default: the project]
        paths: Vec<PathBuf>,
        /// Only shows the differences; exit 1 if there are some
        #[arg(long)]
        check: bool,
        /// Whether what they want is allowed
        #[command(flatten)]
        trust: TrustOption,
    },
}

/// Options of `flow doctor`.
#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// Pipelines, and folders in which they are looked for [default: the project]
    pub paths: Vec<PathBuf>,
    /// Whether what it wants is allowed
    #[command(flatten)]
    pub trust: TrustOption,
    /// Which value each setting has, and where it comes from; nothing is tested
    #[arg(long)]
    pub config: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `flow test`.
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
    /// Whether what it wants is allowed
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

/// How the report of tests is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// For people.
    Human,
    /// One JSON object.
    Json,
    /// JUnit XML.
    Junit,
}

/// What it means that there are no tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NoTests {
    /// Exit 4.
    Fail,
    /// Exit 0.
    Pass,
}

/// How findings are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Human,
    Json,
    Jsonl,
    Sarif,
    Github,
    Junit,
}

/// `flow runs …`
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Lists runs, newest first
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows a run: its phases, steps, verdicts, cost and cause
    Show {
        /// Its id, or the beginning of it; the newest when left out
        run: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Writes a run's record as JSON, personal data and secrets masked
    Export {
        /// Its id, or the beginning of it; the newest when left out
        run: Option<String>,
    },
    /// Goes on with a run whose process was killed; finished steps do not run again
    Resume {
        /// Its id, or the beginning of it
        run: String,
        /// What is printed and written
        #[command(flatten)]
        printed: OutputOptions,
        /// Whether what it wants is allowed
        #[command(flatten)]
        trust: TrustOption,
    },
    /// Removes a run
    Rm {
        /// Its id
        run: String,
    },
}
