//! MCP servers: programs and web addresses that give tools.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Pending, Secret};
use crate::event::{Failure, ServerQuestions, ServerTool, TraceContext};
use crate::model::{Grant, HostSource};

/// A server. Equal ones are the same: steps and runs of one process share it.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// Its name in the file.
    pub name: String,
    /// How the file writes it, without values: what its pinned tools are kept under.
    pub identity: String,
    /// The project, where its pinned tools are kept.
    pub project: PathBuf,
    /// How it is reached.
    pub transport: ServerTransport,
    /// Secrets that it is shown, by the file's own arguments for its tools, its environment and its headers: only runs with the same ones
    /// share it, and what it says of its tools is kept without them.
    pub secrets: Vec<Secret>,
    /// Time to start it, agree on a version and learn its tools.
    pub connect_timeout: Duration,
    /// Whether a run does without it: one that cannot be reached is told in [`ToolList::absent`].
    pub optional: bool,
    /// Whether pictures in results are kept, for a model to see.
    pub pictures: bool,
    /// Whether it may ask a person during a call.
    pub questions: bool,
    /// The run that asks; a server is started again a few times a run.
    pub run: Arc<str>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum ServerTransport {
    /// Over the standard input and output of a program.
    Program {
        /// A name that is looked up in `PATH`, or an absolute path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment, besides `PATH`.
        env: Vec<(String, Secret)>,
        /// The folder it is started in.
        folder: PathBuf,
    },
    /// Over HTTP.
    Http {
        /// The address.
        url: String,
        /// Who named its host.
        host_from: HostSource,
        /// Header names and values; they go to this server only.
        headers: Vec<(String, Secret)>,
        /// How a token is fetched; `None`: with a login, if there is one.
        auth: Option<ServerSignIn>,
    },
}

/// The name under which a server's instructions are pinned beside its tools. A tool of this name cannot be called.
pub const INSTRUCTIONS: &str = "server instructions";

/// How a token for a server is fetched (`auth`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerSignIn {
    /// With a login of a person, or as the client itself.
    pub grant: Grant,
    /// The name under which the authorization server knows us.
    pub client_id: Option<String>,
    /// What proves it; it goes to an address that the file names or a person has agreed to.
    pub client_secret: Option<Secret>,
    /// A key (PKCS#8 in PEM, P-256) that proves it in its place.
    pub private_key: Option<Secret>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// The authorization server that the file names.
    pub issuer: Option<String>,
    /// Where the file says that tokens are fetched.
    pub token_url: Option<String>,
}

/// The tools of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolList {
    /// The protocol that is spoken with it.
    pub version: String,
    /// Hash of the whole list.
    pub hash: String,
    /// All its tools, in the order of their names.
    pub tools: Vec<ServerTool>,
    /// Tools that cannot be called: the name, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// What it says of itself as a whole; pinned as [`INSTRUCTIONS`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Tools that are not as they were pinned: the name, and how they differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, String>,
    /// Tools that the pins of a known server do not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpinned: Vec<String>,
    /// What it did besides, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why an optional server is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<Failure>,
}

/// Calls a tool of a server.
#[derive(Debug, Clone)]
pub struct ServerCall {
    /// The server.
    pub server: ToolServer,
    /// The tool, as the server calls it.
    pub tool: String,
    /// [`ServerTool::hash`] of the tool that was listed: one that has changed is not called.
    pub hash: String,
    /// Checked arguments.
    pub arguments: Map<String, Value>,
    /// Time for the whole call.
    pub timeout: Duration,
    /// The call was made before, and the server asked something.
    pub answers: Option<ServerAnswers>,
    /// The place in the trace that it goes out from; `None`: it is part of none.
    pub trace: Option<TraceContext>,
}

/// What a person answered to [`ServerQuestions`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerAnswers {
    /// By the server's names of its questions, each as the protocol has it: `action`, and of a form `content`.
    pub answers: Map<String, Value>,
    /// [`ServerQuestions::state`].
    pub state: Option<Value>,
}

/// What a tool of a server gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerReply {
    /// Its structured content, else its text.
    pub value: Value,
    /// Whether `value` is structured content.
    pub is_structured: bool,
    /// The tool says that it did not work; `value` says why.
    pub is_error: bool,
    /// Files of the pictures in it, named by their content; kept as long as the process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PathBuf>,
    /// What the server did besides, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// It asks this first; then there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Box<ServerQuestions>>,
}

/// Reads a resource of a server.
#[derive(Debug, Clone)]
pub struct ResourceCall {
    /// The server.
    pub server: ToolServer,
    /// The resource's URI.
    pub uri: String,
    /// Time for the reading, once the server is there.
    pub timeout: Duration,
    /// The place in the trace that it goes out from; `None`: it is part of none.
    pub trace: Option<TraceContext>,
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResourceReply {
    /// Its text; of several parts one below the other, and what is no text named.
    pub text: String,
    /// Its content, where that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ResourceFile>,
    /// What the server did besides, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The content of a resource that is no text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResourceFile {
    /// What the server calls it (`image/png`); may be empty.
    pub media_type: String,
    /// Its bytes, in base64.
    pub content: String,
}

/// Speaks with MCP servers. They are started when first needed or a little before, shared, and ended with the process.
pub trait ToolServers: Send + Sync {
    /// Starts a server that is needed later, unless it runs or is being started. Why it does not start is told to the next request of this
    /// run that waited for that; a later one starts it again.
    fn start(&self, server: ToolServer) -> Pending<()>;

    /// Asks for the tools of a server, and compares them with the pinned ones. What a server gives for the first time is pinned.
    fn list(&self, server: ToolServer) -> Pending<ToolList>;

    /// Makes one call. One that may have acted, though nobody can say, fails with `unknown_outcome`.
    fn call(&self, call: ServerCall) -> Pending<ServerReply>;

    /// Reads a resource. It only reads, so no failure is `unknown_outcome`.
    fn read(&self, call: ResourceCall) -> Pending<ResourceReply>;

    /// Keeps the content of a resource as a file, named by its content and only for this user, until the process ends.
    fn keep(&self, file: ResourceFile) -> Pending<PathBuf>;

    /// Whether a call in whose middle a server asks a person (`live` of its questions) has ended without an answer.
    fn has_ended(&self, call: &str) -> bool;

    /// Ends the servers that are the run's own; within 5 s nothing of them is left. Those of the whole process continue.
    fn close(&self) -> Pending<()>;
}
