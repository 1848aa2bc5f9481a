//! Agents, models and tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use strum::VariantArray;

use super::{
    AgentProgram, EndpointSettings, Field, Filling, Knowledge, Limits, Method, PipelineId, ProgramCommand, PythonCode, Replies, Retry,
    Shape, Text,
};
use crate::source::{Span, Spanned};

/// An agent: a model with instructions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agent {
    /// Where its name stands.
    pub span: Span,
    /// Its model; `None`: the one called `default`.
    pub model: Option<Spanned<String>>,
    /// The system message.
    pub instructions: Option<Text>,
    /// Tools it may call: `server` or `server.tool`.
    pub tools: Vec<Spanned<String>>,
    /// Agents that it may ask; each is among its tools, too, by its [`asking_tool`](super::asking_tool).
    pub agents: Vec<Spanned<String>>,
    /// The shape of its answers; `None`: text.
    pub output: Option<Shape>,
    /// Most rounds of tool calls (10).
    pub max_turns: Option<u64>,
    /// Its own bounds.
    pub limits: Limits,
    /// Its own policy.
    pub policy: Option<Spanned<String>>,
    /// What `style` means in its prompts.
    pub style_guide: Option<Arc<super::StyleGuide>>,
}

/// A model of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    /// Where its name stands.
    pub span: Span,
    /// Who answers.
    pub provider: Provider,
    /// How an OpenAI-compatible endpoint is spoken to.
    pub api: Api,
    /// How it asks for tool calls.
    pub tool_calls: ToolCalls,
    /// The provider's name for it.
    pub model: Option<Text>,
    /// Base URL of the endpoint.
    pub base_url: Option<Text>,
    /// The key; reads `secrets` or `env`.
    pub api_key: Option<Text>,
    /// What its endpoint wants beside that.
    pub endpoint: EndpointSettings,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// Seed of the sampling.
    pub seed: Option<i64>,
    /// Time for one attempt (10 minutes, of which 60 s in silence).
    pub timeout: Option<Duration>,
    /// Retries of its calls.
    pub retry: Option<Retry>,
    /// Models tried after it.
    pub fallback: Vec<Spanned<String>>,
    /// US dollars per million tokens; `None`: unpriced.
    pub price: Option<Price>,
}

impl Model {
    /// A model of which only this is known.
    pub fn new(provider: Provider) -> Model {
        Model { provider, ..Model::default() }
    }

    /// Whether something says what a call may cost: its price, or of a program the most US dollars of a call.
    pub fn is_priced(&self) -> bool {
        self.price.is_some() || self.provider.program().is_some_and(|program| program.max_cost_usd.is_some())
    }
}

/// Who answers for a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Provider {
    /// An endpoint of this service, or one that speaks as it does.
    Service(Service),
    /// Replies of a file.
    Scripted(Arc<Replies>),
    /// Recordings in this folder.
    Replay(PathBuf),
    /// A program that is an agent.
    Program(Arc<AgentProgram>),
    /// A tool of the file, which gets each prompt and whose result is the answer.
    Tool(Box<ToolModel>),
    /// Could not be read or is not yet available; reported. It still counts as a known model.
    #[default]
    Broken,
}

/// A tool that answers as a model does: of an MCP server, an HTTP endpoint, a program, a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolModel {
    /// `tool` or `tool.part`.
    pub tool: Spanned<String>,
    /// The argument that holds the prompt.
    pub prompt: String,
    /// The argument that holds the agent's instructions; `None`: they stand before the prompt.
    pub system: Option<String>,
    /// Names of fields, and places in lists from 0, the outermost first, under which the answer stands in the result; empty: the result is the answer.
    pub answer: Vec<String>,
}

/// A provider that is asked over HTTP.
///
/// How to add one: its variant, in small letters its name in files, and its arm in [`Service::preset`], which the compiler asks for; its row in
/// `lower/keys/work.rs`, which a test there asks for; its name in `docs/language.md`, section 3. Nothing else knows providers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Service {
    /// OpenAI, or any endpoint that is compatible.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Ollama on this machine, which is compatible with OpenAI.
    Ollama,
}

/// What a service brings with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Where it is asked when the file names no `base_url`.
    pub base_url: &'static str,
    /// Whether its answers cost money.
    pub is_paid: bool,
    /// How it is spoken to.
    pub chat: WireFormat,
    /// How with `api: responses`, if it knows that.
    pub responses: Option<WireFormat>,
}

impl Preset {
    /// How it is spoken to with this `api`.
    pub fn wire(&self, api: Api) -> WireFormat {
        match api {
            Api::Chat => self.chat,
            Api::Responses => self.responses.unwrap_or(self.chat),
        }
    }
}

impl Service {
    /// What it brings with it.
    pub fn preset(self) -> Preset {
        let of = |base_url, chat| Preset { base_url, is_paid: true, chat, responses: None };
        match self {
            Service::OpenAi => {
                Preset { responses: Some(WireFormat::OpenAiResponses), ..of("https://api.openai.com/v1", WireFormat::OpenAiChat) }
            }
            Service::Anthropic => of("https://api.anthropic.com", WireFormat::AnthropicMessages),
            Service::Ollama => Preset { is_paid: false, ..of("http://127.0.0.1:11434/v1", WireFormat::OpenAiChat) },
        }
    }
}

impl Service {
    /// Whether it makes vectors of texts: `POST {base_url}/embeddings`.
    pub fn embeds(self) -> bool {
        match self {
            Service::OpenAi | Service::Ollama => true,
            Service::Anthropic => false,
        }
    }
}

impl Provider {
    /// What its service brings with it; `None`: it asks nobody.
    pub fn preset(&self) -> Option<Preset> {
        match self {
            Provider::Service(service) => Some(service.preset()),
            Provider::Scripted(_) | Provider::Replay(_) | Provider::Program(_) | Provider::Tool(_) | Provider::Broken => None,
        }
    }

    /// Whether nobody is asked.
    pub fn answers_from_a_file(&self) -> bool {
        match self {
            Provider::Scripted(_) | Provider::Replay(_) => true,
            Provider::Service(_) | Provider::Program(_) | Provider::Tool(_) | Provider::Broken => false,
        }
    }

    /// The replies of a file that it gives.
    pub fn scripted(&self) -> Option<&Arc<Replies>> {
        if let Provider::Scripted(replies) = self { Some(replies) } else { None }
    }

    /// The program that it starts.
    pub fn program(&self) -> Option<&Arc<AgentProgram>> {
        if let Provider::Program(program) = self { Some(program) } else { None }
    }

    /// The tool that answers.
    pub fn tool(&self) -> Option<&ToolModel> {
        if let Provider::Tool(tool) = self { Some(tool) } else { None }
    }

    /// The folder of recordings that it gives.
    pub fn recorded(&self) -> Option<&PathBuf> {
        if let Provider::Replay(folder) = self { Some(folder) } else { None }
    }
}

/// How an endpoint is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    /// `POST {base_url}/chat/completions`, OpenAI's chat format.
    OpenAiChat,
    /// `POST {base_url}/responses`, OpenAI's responses format.
    OpenAiResponses,
    /// `POST {base_url}/v1/messages`, Anthropic's messages format.
    AnthropicMessages,
    /// No endpoint: the recordings in the folder that the base URL names. Only a [`Tape`](crate::port::Tape) answers it.
    Recorded,
}

impl Model {
    /// Where it is asked: its `base_url` as it is written, else that of its provider; `None`: it asks nobody.
    pub fn address(&self) -> Option<&str> {
        let preset = self.provider.preset()?;
        Some(self.base_url.as_ref().map_or(preset.base_url, |url| &url.source))
    }
}

/// How an OpenAI-compatible endpoint is spoken to (`api`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Api {
    /// `chat/completions`, which most endpoints speak.
    #[default]
    Chat,
    /// `responses`.
    Responses,
}

/// How a model asks for tool calls (`tool_calls`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum ToolCalls {
    /// As the endpoint's own format has it.
    #[default]
    Native,
    /// As JSON that fits a schema, in the text of its answer: for endpoints that know no tools.
    Schema,
}

/// Price of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

/// A tool of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tool {
    /// Where its name stands.
    pub span: Span,
    /// What it is.
    pub kind: ToolKind,
    /// A sentence for models and people.
    pub description: Option<String>,
    /// Arguments the author fixes.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Names that may be used; `None`: all it gives by default.
    pub allow: Option<Vec<Spanned<String>>>,
    /// Names that may not.
    pub deny: Vec<Spanned<String>>,
    /// Time for one call.
    pub timeout: Option<Duration>,
    /// Time to connect (10 s).
    pub connect_timeout: Option<Duration>,
    /// Whether a person is asked each time.
    pub approve: Approve,
    /// Of an MCP server: a run does without it when it does not start or answer.
    pub optional: bool,
    /// Of an MCP server: what it says of itself as a whole is not told to agents.
    pub without_instructions: bool,
    /// Of an MCP server: pictures in its results are shown to the agents that call it.
    pub pictures: bool,
    /// Of an MCP server: it may ask a person during a call.
    pub questions: bool,
}

impl Tool {
    /// What a `file` tool does: `list` and `read`, or what `allow` lists; nothing that `deny` lists.
    pub fn parts(&self) -> Vec<FilePart> {
        FilePart::VARIANTS.iter().copied().filter(|part| self.opens(*part)).collect()
    }

    /// Whether a `file` tool does this.
    pub fn opens(&self, part: FilePart) -> bool {
        let is_allowed = match &self.allow {
            // `read(notes/*)`: which files is decided when they are read.
            Some(_) => self.allowed_names().any(|name| name.parse() == Ok(part)),
            None => !part.changes(),
        };
        is_allowed && self.deny.iter().all(|name| !name.value.trim().eq_ignore_ascii_case(part.into()))
    }

    /// The part of a `file` tool that a name means, open or not.
    pub fn file_part(&self, part: Option<&str>) -> Option<FilePart> {
        part.filter(|_| self.kind.folder().is_some())?.parse().ok()
    }

    /// What `allow` lists without patterns for arguments: of an MCP server the names that are known before it runs.
    pub fn allowed_names(&self) -> impl Iterator<Item = &str> {
        self.allow.iter().flatten().map(|entry| entry.value.split('(').next().unwrap_or_default().trim())
    }

    /// Whether it is an entry of `knowledge`.
    pub fn knowledge(&self) -> Option<&Knowledge> {
        if let ToolKind::Knowledge(knowledge) = &self.kind { Some(knowledge) } else { None }
    }

    /// Whether it is an MCP server.
    pub fn is_server(&self) -> bool {
        matches!(self.kind, ToolKind::Server(_))
    }

    /// Whether it is an MCP server that is a program.
    pub fn is_program(&self) -> bool {
        matches!(self.kind, ToolKind::Server(ServerKind::Program { .. }))
    }
}

/// What a `file` tool can do: `tool.part` names it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::Display, strum::IntoStaticStr, strum::VariantArray, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum FilePart {
    /// Lists the names of its files.
    List,
    /// Reads a file.
    Read,
    /// Writes a file.
    Write,
}

impl FilePart {
    /// Whether it changes files. Then it is open only where `allow` lists it.
    pub fn changes(self) -> bool {
        match self {
            FilePart::Write => true,
            FilePart::List | FilePart::Read => false,
        }
    }
}

/// Whether a person is asked before a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Approve {
    /// No.
    #[default]
    Never,
    /// For each call.
    Always,
    /// For calls of these names.
    Names(Vec<String>),
}

impl Approve {
    /// Whether a person is asked before each call of the tool, of a server of its part.
    pub fn asks(&self, part: Option<&str>) -> bool {
        match self {
            Approve::Never => false,
            Approve::Always => true,
            Approve::Names(names) => names.iter().any(|own| part == Some(own)),
        }
    }
}

/// What a tool is.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ToolKind {
    /// `http: POST https://…`
    Http {
        /// Upper-case method.
        method: Method,
        /// The address; `with.<name>` in it is percent-encoded.
        url: Text,
        /// Header names and values.
        headers: Vec<(String, Text)>,
        /// Query names and values.
        query: Vec<(String, Filling)>,
        /// The body.
        body: Option<Filling>,
        /// Its arguments.
        arguments: Vec<Field>,
    },
    /// `sql: [names of data]`
    Sql(Vec<Spanned<String>>),
    /// `program: [name, argument]`
    Program {
        /// What is started; `with.<name>` stands in its arguments.
        run: ProgramCommand,
        /// Its arguments.
        arguments: Vec<Field>,
    },
    /// `python: code`
    Python {
        /// The code.
        run: PythonCode,
        /// Its arguments, as variables.
        arguments: Vec<Field>,
    },
    /// `file: folder`
    File(PathBuf),
    /// An entry of `knowledge`, whose `search` agents call like a tool.
    Knowledge(Knowledge),
    /// `pipeline: file`
    Pipeline {
        /// As written.
        file: Spanned<String>,
        /// What it names; `None`: could not be read, reported.
        pipeline: Option<PipelineId>,
    },
    /// `smtp: host:port`
    Smtp {
        /// `host:port`.
        address: Text,
        /// Sender address.
        from: Text,
        /// User name.
        user: Option<Text>,
        /// Password.
        password: Option<Text>,
    },
    /// An MCP server: `command: …` or `url: …`. Its tools are known only when it runs.
    Server(ServerKind),
    /// Could not be read or is not yet available; reported. It still counts as a known tool.
    #[default]
    Broken,
}

/// How an MCP server is reached. Its texts may read `inputs`, `env` and, where nobody else can look, `secrets`.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerKind {
    /// A program that is spoken to over its standard input and output.
    Program {
        /// Its name, looked up in `PATH`, or its absolute path.
        command: Spanned<String>,
        /// Its arguments. A template fills a whole one.
        args: Vec<Text>,
        /// Names and values of its environment; it gets no other but `PATH`.
        env: Vec<(Spanned<String>, Text)>,
    },
    /// A web address.
    Url {
        /// The address.
        url: Text,
        /// Header names and values.
        headers: Vec<(String, Text)>,
        /// How a token is fetched.
        auth: Option<Box<ServerAuth>>,
    },
}

/// `auth` of an MCP server behind a web address (OAuth 2.1).
#[derive(Debug, Clone, PartialEq)]
pub struct ServerAuth {
    /// How a token is fetched.
    pub grant: Grant,
    /// The name under which the authorization server knows us.
    pub client_id: Option<Text>,
    /// What proves it.
    pub client_secret: Option<Text>,
    /// A key (PKCS#8 in PEM, P-256) that proves it in its place.
    pub private_key: Option<Text>,
    /// What is asked for.
    pub scopes: Vec<Spanned<String>>,
    /// The authorization server; without it, the MCP server names one.
    pub issuer: Option<Spanned<String>>,
    /// Where tokens are fetched; without it, the authorization server says so.
    pub token_url: Option<Spanned<String>>,
}

impl ServerAuth {
    /// The addresses that the file names.
    pub fn addresses(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.issuer.iter().chain(&self.token_url)
    }
}

/// How a token is fetched (`grant`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Grant {
    /// A person signed in before the run (`flow tools login`).
    #[default]
    Login,
    /// The client itself has the right.
    ClientCredentials,
}
