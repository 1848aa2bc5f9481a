//! Options of the commands that run something, and of those about runs.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use strum::VariantNames;

use super::examples;
use crate::event::RunStatus;

/// What is run, with what, and within which bounds.
#[derive(Debug, Args)]
pub struct RunRequest {
    /// The pipeline file
    pub file: PathBuf,
    /// An input; may be repeated
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
    /// Inputs from a JSON file; - for standard input
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
    /// The most money the run may spend, in US dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = money)]
    pub max_cost_usd: Option<f64>,
}

fn money(text: &str) -> Result<f64, &'static str> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount > 0.0);
    amount.ok_or("write an amount above 0, in US dollars, such as 0.50")
}

#[derive(Debug, Args)]
pub struct RunOptions {
    #[command(flatten)]
    pub wanted: RunRequest,
    #[command(flatten)]
    pub trust: TrustOption,
    /// Shows what would run, without running it: same as flow plan
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub printed: OutputOptions,
    /// Records requests to models and web services, and their answers, in a new folder, with secrets and personal data masked
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Replays the answers from such a folder and calls nobody; a call that was not recorded fails
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub replay: Option<PathBuf>,
}

/// The option of every command that would start something of a file.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct TrustOption {
    /// Lets the files start their programs, call their hosts and read their secrets, this time only
    #[arg(long = "trust")]
    pub is_given: bool,
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
    /// With --events: includes the texts of prompts, replies and outputs, with personal data and secrets masked
    #[arg(long, requires = "events")]
    pub events_content: bool,
    /// Prints one JSON object: run_id, status, outputs, steps, usage, cost, failure
    #[arg(long)]
    pub json: bool,
    /// Treats a partial run as failed (exit 6)
    #[arg(long)]
    pub fail_on_partial: bool,
}

/// Most messages of a session that a model sees, where nobody says otherwise.
pub const MOST_MESSAGES: u64 = 50;

#[derive(Debug, Args)]
pub struct ChatOptions {
    /// A pipeline, or a file with agents
    pub file: PathBuf,
    /// Talks with this agent of the file; a file that is no pipeline and has one agent needs no name
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// An input besides the message; may be repeated
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
    /// The channel [default: the first the pipeline lists]
    #[arg(long)]
    pub channel: Option<String>,
    /// Sets the clock to this time when the chat begins: 2026-11-18T09:00:00Z
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// Continues the session with this id, or its beginning
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// The most messages of the session that a model sees
    #[arg(long, value_name = "N", default_value_t = MOST_MESSAGES, value_parser = clap::value_parser!(u64).range(2..=10_000))]
    pub max_messages: u64,
    /// Reads one message per line from standard input, and prints the answers only
    #[arg(long)]
    pub no_tty: bool,
    /// With --no-tty: prints one JSON object per answer: session, run, text, status, tool_calls, usage, cost_usd
    #[arg(long, requires = "no_tty")]
    pub json: bool,
    #[command(flatten)]
    pub trust: TrustOption,
}

#[derive(Debug, Args)]
pub struct PlanOptions {
    /// An input; one that is not set is shown as ⟨inputs.name⟩
    #[command(flatten)]
    pub wanted: RunRequest,
    /// Prints one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct McpOptions {
    /// Pipeline files; each becomes a tool
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub trust: TrustOption,
    /// Serves over HTTP at this port of 127.0.0.1; 0 takes a free one [default: standard input and output]
    #[arg(long, value_name = "PORT")]
    pub http: Option<u16>,
    /// Serves at another address; FLOW_MCP_TOKEN must be set
    #[arg(long, value_name = "IP", requires = "http")]
    pub address: Option<std::net::IpAddr>,
    /// A host name that clients may use, besides its address and localhost; may be repeated
    #[arg(long = "allow-host", value_name = "HOST", requires = "http")]
    pub allow_hosts: Vec<String>,
    /// The most calls that run at once; others wait
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub max_calls: u32,
    /// Ends each call after this time
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// The most money each call may spend, in US dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = money)]
    pub max_cost_usd: Option<f64>,
}

#[derive(Debug, Args)]
pub struct ApproveOptions {
    /// The id of the run, or its beginning
    pub run: String,
    /// The step
    pub step: String,
    /// The number of the question that is answered, where the step asks again: an answer to an earlier question does not count for it
    #[arg(long, value_name = "NUMBER")]
    pub question: Option<u64>,
    /// Prints the whole question without answering it; only secrets are masked
    #[arg(long, conflicts_with_all = ["reject", "happened", "comment"])]
    pub show: bool,
    /// Answers no: nothing is done, and the step fails
    #[arg(long, conflicts_with = "happened")]
    pub reject: bool,
    /// For a `once` step in doubt: it has happened, and this is its output (JSON, or @FILE with JSON). It does not run again
    #[arg(long, value_name = "OUTPUT")]
    pub happened: Option<String>,
    /// For an `approval` step: answers yes and fills in its form (a JSON object, or @FILE with one). Fields left out have their defaults
    #[arg(long, value_name = "JSON", conflicts_with_all = ["reject", "show", "happened"])]
    pub answer: Option<String>,
    /// For an `approval` step: answers yes and fills in one field: name=value. May be repeated
    #[arg(long = "field", value_name = "NAME=VALUE", conflicts_with_all = ["reject", "show", "happened"])]
    pub fields: Vec<String>,
    /// A comment for the record
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub comment: String,
}

#[derive(Debug, Args)]
pub struct RunsListOptions {
    /// Only runs with this status: how they ended, or running, waiting (for a person), killed
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(RunStatus::VARIANTS.iter().chain(&OPEN)))]
    pub status: Option<String>,
    /// Only runs of the pipeline with this name
    #[arg(long, value_name = "NAME")]
    pub pipeline: Option<String>,
    /// Only runs that started since then: 2026-11-18, 2026-11-18T09:00:00Z, or how long ago: 2h, 7d
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// The most runs to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Prints JSON
    #[arg(long)]
    pub json: bool,
}

/// The status of a run that has not ended.
const OPEN: [&str; 3] = ["running", "waiting", "killed"];

#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Lists runs, newest first
    #[command(after_help = examples::LIST)]
    List(RunsListOptions),
    /// Shows a run: its phases, steps, verdicts, cost and cause
    #[command(after_help = examples::SHOW)]
    Show {
        /// Its id, or its beginning [default: the newest run]
        run: Option<String>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
        /// Writes all of it as one HTML page, with graph, timeline, prompts and calls; - for standard output
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        html: Option<PathBuf>,
    },
    /// Prints the record of a run as JSON, with personal data and secrets masked
    #[command(after_help = examples::EXPORT)]
    Export {
        /// Its id, or its beginning [default: the newest run]
        run: Option<String>,
        /// All events as JSON lines, with personal data, for `flow runs import` elsewhere
        #[arg(long)]
        events: bool,
    },
    /// Takes in the events of a run that `flow runs export --events` printed, so that it can be shown and continued here. What they say is taken as what happened: import only what you trust
    #[command(after_help = examples::IMPORT)]
    Import {
        /// The file; - for standard input
        log: PathBuf,
        /// Where its pipeline file is here, if not at the same path
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
    },
    /// Continues a run that was killed, that Ctrl-C or SIGTERM ended, or that waited for a person; finished steps do not run again
    #[command(after_help = examples::RESUME)]
    Resume {
        /// Its id, or its beginning
        #[arg(required_unless_present = "all")]
        run: Option<String>,
        /// Continues every run that was cut off, and those that waited for a person and can continue, oldest first; one line for each
        #[arg(long, conflicts_with_all = ["run", "output", "events", "json"])]
        all: bool,
        /// With --all: only runs that started since then: 2026-11-18, 2026-11-18T09:00:00Z, or how long ago: 2h, 7d
        #[arg(long, value_name = "TIME", requires = "all")]
        since: Option<String>,
        #[command(flatten)]
        printed: OutputOptions,
        #[command(flatten)]
        trust: TrustOption,
    },
    /// Starts a new run with the finished steps of another one, from a step on
    #[command(after_help = examples::FORK)]
    Fork(ForkOptions),
    /// Starts a new run of the elements (for_each) that failed in another one; what succeeded is not done again
    #[command(after_help = examples::RETRY)]
    Retry {
        /// The id of the other run, or its beginning
        run: String,
        /// Lets steps act again that acted in that run and stand beside its elements, or inside what an element holds
        #[arg(long)]
        again: bool,
        #[command(flatten)]
        printed: OutputOptions,
        #[command(flatten)]
        trust: TrustOption,
    },
    /// Runs a run again against its own record, touching nothing outside, and compares the outputs (exit 1: they differ)
    #[command(after_help = examples::REPLAY)]
    Replay {
        /// Its id, or its beginning
        run: String,
    },
    /// Ends a run for good: one that waits or was killed at once, one that another process is executing in order
    #[command(after_help = examples::CANCEL)]
    Cancel {
        /// Its id, or its beginning
        run: String,
    },
    /// Removes runs and erases everything they stored
    #[command(after_help = examples::RM)]
    Rm {
        /// Their ids, or the beginnings of their ids
        #[arg(value_name = "RUN", required_unless_present = "all")]
        runs: Vec<String>,
        /// Removes all runs; needs --yes
        #[arg(long, conflicts_with = "runs", requires = "yes")]
        all: bool,
        /// Confirms that all runs are to be removed
        #[arg(long)]
        yes: bool,
    },
    /// Removes old runs, and erases what earlier removals left behind
    #[command(after_help = examples::PRUNE)]
    Prune {
        /// Removes runs that began longer ago than this: 30d, 12h
        #[arg(long, value_name = "TIME")]
        older_than: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Looks for changed, missing, moved and added records, and says where (exit 1)
    #[command(after_help = examples::AUDIT_VERIFY)]
    Verify {
        /// The hash of a record that was once the last, as this command printed it: finds an end that was cut off
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
        /// A file that was the audit before it was moved away, with records of runs that are still stored (may be repeated)
        #[arg(long, value_name = "FILE")]
        earlier: Vec<std::path::PathBuf>,
    },
    /// Prints records
    #[command(after_help = examples::AUDIT_EXPORT)]
    Export {
        /// Only those of this run: its id, or its beginning
        #[arg(long, value_name = "ID")]
        run: Option<String>,
        /// Only since then: 2026-11-18, 2026-11-18T09:00:00Z, or how long ago: 2h, 7d
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Only before then
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// How they are printed
        #[arg(long, value_enum, default_value_t = AuditFormat::Jsonl)]
        format: AuditFormat,
    },
}

/// How records of the audit are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// The lines as they are in the file.
    Jsonl,
    /// A table.
    Csv,
}

#[derive(Debug, Args)]
pub struct ForkOptions {
    /// The id of the other run, or its beginning
    pub run: String,
    /// The step that runs anew, with all that waits for it
    #[arg(long, value_name = "STEP")]
    pub from: String,
    /// An input that is another one; may be repeated
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
    #[command(flatten)]
    pub printed: OutputOptions,
    #[command(flatten)]
    pub trust: TrustOption,
}

/// Where conversations are stored.
#[derive(Debug, Args)]
pub struct StoreOption {
    /// The file that `store` of the pipeline names [default: the one beside the project's runs]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ConversationsCommand {
    /// Lists conversations, the one with the newest message first
    #[command(after_help = examples::CONVERSATIONS_LIST)]
    List {
        /// Prints JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Shows the messages of a conversation, with personal data masked
    #[command(after_help = examples::CONVERSATION_SHOW)]
    Show(ConversationOptions),
    /// Prints the messages of a conversation as JSON lines, with personal data masked
    #[command(after_help = examples::CONVERSATION_EXPORT)]
    Export(ConversationOptions),
    /// Adds messages at the end of a conversation, from JSON lines as export prints them
    #[command(after_help = examples::CONVERSATION_ADD)]
    Add {
        /// Its id; a conversation that is not there is made
        id: String,
        /// A file with one JSON object per line: role, text, and channel, person, time, agent, content; -: standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Removes the messages of a conversation, so that later runs do not see them; the records of its runs stay
    #[command(after_help = examples::CONVERSATION_CLEAR)]
    Clear(ConversationOptions),
    /// Erases a conversation and the records of its runs
    #[command(after_help = examples::CONVERSATION_ERASE)]
    Erase {
        /// Its id
        id: String,
        /// Records of its runs that are not here were removed before, and are not looked for any more
        #[arg(long)]
        forget_missing: bool,
        #[command(flatten)]
        store: StoreOption,
    },
}

#[derive(Debug, Args)]
pub struct ConversationOptions {
    /// Its id
    pub id: String,
    /// Only what this agent was asked and said (history: own or kept)
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub store: StoreOption,
}

#[derive(Debug, Args)]
pub struct TrustOptions {
    /// Pipeline files
    #[arg(required_unless_present = "list", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Lists everything that is trusted
    #[arg(long, conflicts_with = "files")]
    pub list: bool,
    /// Removes the trust in the files
    #[arg(long, conflicts_with_all = ["list", "json"])]
    pub remove: bool,
    /// Prints JSON
    #[arg(long)]
    pub json: bool,
}
