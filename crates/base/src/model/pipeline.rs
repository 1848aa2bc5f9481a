//! A pipeline file and its head.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Agent, Channel, Conversation, Data, Field, Filling, Limits, Model, PreparedQuery, Scorecard, Shape, Step, StyleGuide, Text, Tool,
    UntrustedRule,
};
use crate::source::{Span, Spanned, from_folder};

/// A pipeline and all pipelines it calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// The pipelines; the first is the one that was asked for.
    pub pipelines: Vec<Arc<Pipeline>>,
}

/// Which pipeline of a [`Program`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct PipelineId(pub usize);

impl Program {
    /// The pipeline of an id.
    pub fn pipeline(&self, id: PipelineId) -> &Arc<Pipeline> {
        &self.pipelines[id.0]
    }
}

/// One pipeline with its imports merged in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pipeline {
    /// Its id.
    pub name: Spanned<String>,
    /// One sentence for people.
    pub description: Option<String>,
    /// The agent that it is, if it stands for one that other agents ask; no file holds such a pipeline.
    pub asked: Option<Spanned<String>>,
    /// The folder of its file; paths in it are relative to this.
    pub folder: PathBuf,
    /// The project's folder; patterns of policies start there.
    pub project: PathBuf,
    /// SHA-256 (hex) over the file and everything it brings in; a run remembers it.
    pub hash: String,
    /// What a run is given.
    pub inputs: Shape,
    /// Tables by name.
    pub data: IndexMap<String, Data>,
    /// What an engine says of its queries, by their text; those of which nothing is known are left out.
    pub prepared: BTreeMap<String, PreparedQuery>,
    /// Who the run is for.
    pub person: Option<Person>,
    /// What its runs remember of each other.
    pub conversation: Option<Conversation>,
    /// Declared secrets: name and the sentence for people.
    pub secrets: IndexMap<String, Spanned<String>>,
    /// Agents by name.
    pub agents: IndexMap<String, Agent>,
    /// Models by name.
    pub models: IndexMap<String, Model>,
    /// Tools by name.
    pub tools: IndexMap<String, Tool>,
    /// Scorecards by name.
    pub scorecards: IndexMap<String, Scorecard>,
    /// Its channels; the first is the default. Empty: a run without channel.
    pub channels: Vec<Arc<Channel>>,
    /// Whether it says `channels`, though none of them may be there.
    pub lists_channels: bool,
    /// Its style guide.
    pub style_guide: Option<Arc<StyleGuide>>,
    /// Where it names its style guide, though that may not be there.
    pub style_guide_at: Option<Span>,
    /// The names of those that there are, where it has none.
    pub style_guides_there: Vec<String>,
    /// Policies by name.
    pub policies: IndexMap<String, Policy>,
    /// The policy in force for the whole file.
    pub policy: Option<Spanned<String>>,
    /// Bounds of a whole run.
    pub limits: Limits,
    /// What must hold for every run.
    pub guarantees: Vec<Spanned<super::Guarantee>>,
    /// The work.
    pub steps: Vec<Arc<Step>>,
    /// What a run gives.
    pub outputs: Outputs,
    /// Steps that run when it failed.
    pub on_failure: Vec<Arc<Step>>,
    /// Steps that run after every ending.
    pub finally: Vec<Arc<Step>>,
}

impl Pipeline {
    /// The policies of the file that are in force for an agent of it, or for its own steps, with their names: the agent's before the file's.
    pub fn policies_of<'p>(&'p self, agent: Option<&'p Agent>) -> impl Iterator<Item = (&'p str, &'p Policy)> {
        let named = agent.and_then(|agent| agent.policy.as_ref()).into_iter().chain(&self.policy);
        named.filter_map(|name| Some((name.value.as_str(), self.policies.get(&name.value)?)))
    }

    /// The input fields; none for a JSON Schema.
    pub fn input_fields(&self) -> &[Field] {
        match &self.inputs {
            Shape::Fields(fields) => fields,
            Shape::Schema(_) => &[],
        }
    }

    /// Whether a stranger wrote what is typed in its conversation, or a part of it.
    pub fn is_talked_to_by_a_stranger(&self) -> bool {
        let typed = self.conversation.iter().flat_map(|own| &own.message.reads);
        let mut of_inputs = typed.filter_map(|read| read.path.split_first().filter(|(root, _)| *root == "inputs")).map(|(_, rest)| rest);
        of_inputs.any(|path| match path.split_first() {
            Some((name, rest)) => self.input_fields().iter().any(|field| field.name == *name && field.is_untrusted_at(rest)),
            None => self.input_fields().iter().any(|field| field.is_untrusted_at(&[])),
        })
    }

    /// The default of an input as a run has it. A path in a file is relative to that file; that of an input to the project's folder.
    pub fn default_of(&self, field: &Field) -> Option<Value> {
        let tell = |path: &str| from_folder(&self.project, &self.folder.join(path)).to_string_lossy().into_owned();
        field.default.as_ref().map(|default| field.with_paths(default, &tell))
    }

    /// Its `limits`, narrowed by the policy in force for the file.
    pub fn bounds(&self) -> Limits {
        self.narrowed(&self.limits, self.policy.as_ref())
    }

    /// An agent's `limits`, narrowed by its own policy.
    pub fn bounds_of(&self, agent: &Agent) -> Limits {
        self.narrowed(&agent.limits, agent.policy.as_ref())
    }

    fn narrowed(&self, limits: &Limits, policy: Option<&Spanned<String>>) -> Limits {
        let named = policy.and_then(|name| Some((name, self.policies.get(&name.value)?)));
        let Some((name, policy)) = named else { return limits.clone() };
        limits.within(&policy.bounds(&name.value))
    }
}

/// What happens to what no list of a policy names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// It is done.
    Auto,
    /// A person is asked.
    Prompt,
    /// It is rejected.
    #[default]
    Deny,
}

/// Whether programs are shut in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// They are not.
    None,
    /// They are where there is a sandbox; else they start without one, which is told and recorded.
    Preferred,
    /// They are, or they do not start.
    #[default]
    Required,
}

/// What a policy is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ActKind {
    /// A call of a tool.
    Tool,
    /// A request to a host.
    Host,
    /// A resource of a server that is read.
    Resource,
    /// A file that is read.
    Read,
    /// A file that is written.
    Write,
    /// An argument of a call that a model, a tool or a stranger wrote.
    Argument,
}

/// Who may read `secrets` and `env`, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretReader<'p> {
    /// A model of the file.
    Model(&'p str),
    /// A tool of the file.
    Tool(&'p str),
    /// An `http` step.
    Step(&'p str),
}

impl std::fmt::Display for SecretReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SecretReader::Model(name) => write!(f, "model {name}"),
            SecretReader::Tool(name) => write!(f, "tool {name}"),
            SecretReader::Step(id) => write!(f, "step {id}"),
        }
    }
}

/// Variables that change what `flow` does.
pub const VARIABLES: [&str; 12] = [
    "FLOW_MODEL",
    "FLOW_MODEL_BASE_URL",
    "FLOW_MODEL_PROVIDER",
    "FLOW_MODEL_API",
    "FLOW_MODEL_TOOL_CALLS",
    "FLOW_MODEL_MAX_OUTPUT_TOKENS",
    "FLOW_API_KEY",
    "FLOW_CONFIG",
    "FLOW_STATE_DIR",
    "FLOW_LOG",
    "FLOW_JOURNAL_KEY",
    "FLOW_MCP_TOKEN",
];

/// Variables that are `flow`'s own and go where it sends them: no file reads them.
const OWN_VARIABLES: [&str; 3] = ["FLOW_API_KEY", "FLOW_JOURNAL_KEY", "FLOW_MCP_TOKEN"];

/// Whether a variable of the environment is a key or token of `flow` itself.
pub fn is_own_variable(name: &str) -> bool {
    OWN_VARIABLES.contains(&name)
}

/// What a pipeline gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Outputs {
    /// No `outputs`.
    #[default]
    None,
    /// Names and values, in file order.
    Named(Vec<(Spanned<String>, Filling)>),
    /// One text, whose value is the whole result.
    Whole(Text),
}

impl Outputs {
    /// All texts in them.
    pub fn texts(&self) -> Vec<&Text> {
        match self {
            Outputs::None => vec![],
            Outputs::Named(outputs) => outputs.iter().flat_map(|(_, value)| value.texts()).collect(),
            Outputs::Whole(text) => vec![text],
        }
    }
}

/// What a data file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DataKind {
    #[default]
    Csv,
    Tsv,
    Excel,
    JsonLines,
    Sqlite,
    Parquet,
    DuckDb,
}

/// How a `read` step reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ReadKind {
    Text,
    Table(DataKind),
    Pdf,
    Word,
    Picture,
}

impl ReadKind {
    /// By the ending of a file's name; `None`: what is in it decides, and most are texts.
    pub fn of_ending(ending: &str) -> Option<ReadKind> {
        Some(match ending.to_lowercase().as_str() {
            "pdf" => ReadKind::Pdf,
            "docx" => ReadKind::Word,
            "png" | "jpg" | "jpeg" | "gif" | "webp" | "bmp" | "tif" | "tiff" => ReadKind::Picture,
            "tab" => ReadKind::Table(DataKind::Tsv),
            ending => ReadKind::Table(DataKind::of_ending(ending)?),
        })
    }

    /// What is in its result, besides `path`, `type` and `summary`.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            ReadKind::Text => &["text"],
            ReadKind::Table(_) => &["tables"],
            ReadKind::Pdf => &["text", "pages", "page_count", "image_count", "text_length", "longest_page", "median_page"],
            ReadKind::Word => &["text", "pages", "image_count", "text_length"],
            ReadKind::Picture => &["width", "height"],
        }
    }
}

/// Which program answers SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::EnumString, strum::VariantNames, Serialize, Deserialize)]
#[strum(serialize_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SqlEngine {
    Sqlite,
    DuckDb,
}

impl DataKind {
    /// Whether it is a text of rows whose cells are separated.
    pub fn is_delimited(self) -> bool {
        match self {
            DataKind::Csv | DataKind::Tsv => true,
            DataKind::Excel | DataKind::JsonLines | DataKind::Sqlite | DataKind::Parquet | DataKind::DuckDb => false,
        }
    }

    /// Whether `flow` reads its cells, and no database.
    pub fn is_of_cells(self) -> bool {
        match self {
            DataKind::Csv | DataKind::Tsv | DataKind::Excel | DataKind::JsonLines => true,
            DataKind::Sqlite | DataKind::Parquet | DataKind::DuckDb => false,
        }
    }

    /// Whether a knowledge reads it as a document.
    pub fn is_searched(self) -> bool {
        match self {
            DataKind::JsonLines => true,
            DataKind::Csv | DataKind::Tsv | DataKind::Excel | DataKind::Sqlite | DataKind::Parquet | DataKind::DuckDb => false,
        }
    }

    /// By the ending of a file's name.
    pub fn of_ending(ending: &str) -> Option<DataKind> {
        Some(match ending.to_lowercase().as_str() {
            "csv" => DataKind::Csv,
            "tsv" => DataKind::Tsv,
            "xlsx" | "xls" | "xlsm" | "xlsb" | "ods" => DataKind::Excel,
            "jsonl" | "ndjson" => DataKind::JsonLines,
            "sqlite" | "sqlite3" | "db" => DataKind::Sqlite,
            "parquet" => DataKind::Parquet,
            "duckdb" => DataKind::DuckDb,
            _ => return None,
        })
    }

    /// The engine that queries such a file when none is asked for.
    pub fn engine(self) -> SqlEngine {
        match self {
            DataKind::Parquet | DataKind::DuckDb => SqlEngine::DuckDb,
            _ => SqlEngine::Sqlite,
        }
    }
}

/// Who the run is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Person {
    /// Whose row it is.
    pub id: Filling,
    /// Where the other fields come from.
    pub from: PersonSource,
}

/// Fields of a person that are personal data.
pub const PERSONAL: [&str; 3] = ["name", "email", "phone"];

/// Where the fields of a person come from.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonSource {
    /// Nothing but the id is known.
    Nothing,
    /// The row of a table of `data` whose `id` column has the person's id.
    Table(Spanned<String>),
    /// Fields written out: `language, time_zone, name, email, phone`.
    Fields(Vec<(Spanned<String>, Filling)>),
}

/// A policy: what may be done. See `policy` for how it is decided. As JSON it is what it decides by.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[expect(missing_docs, reason = "the keys of the language page, one by one")]
pub struct Policy {
    #[serde(skip)]
    pub span: Span,
    #[serde(skip)]
    pub description: Option<String>,
    pub allowed_tools: Option<Vec<Spanned<String>>>,
    pub disallowed_tools: Vec<Spanned<String>>,
    pub permission_mode: Option<PermissionMode>,
    pub max_time: Option<Duration>,
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub max_memory: Option<u64>,
    pub max_file_size: Option<u64>,
    pub read: Option<Vec<Spanned<String>>>,
    pub write: Option<Vec<Spanned<String>>>,
    pub hosts: Option<Vec<Spanned<String>>>,
    pub sandbox: Option<SandboxMode>,
    pub approval_required: Vec<Spanned<String>>,
    pub untrusted: Vec<UntrustedRule>,
}
