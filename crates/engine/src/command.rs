//! The inputs and commands of a run.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::channel::{clean, cleaned};
use crate::event::{Canceller, Failure, RunStart};
use crate::port::{
    AgentCall, Embedding, FileContent, FileToWrite, FoundPieces, HttpReply, HttpRequest, Mail, MailReceipt, ModelReply, ModelRequest,
    ProgramCall, ProgramReply, PythonCall, PythonReply, QueryRequest, ReadRequest, ResourceCall, ResourceReply, Rows, SearchRequest,
    ServerAnswers, ServerCall, ServerReply, TableSource, ToolList, ToolServer,
};

/// An input of a run.
#[derive(Debug)]
pub enum Input {
    /// Start the run. Sent once, as the first input.
    Start(Box<RunStart>),
    /// The reply to a call.
    Reply {
        /// Number of the call.
        call: u64,
        /// The reply, or why the call failed.
        result: Result<CallReply, Failure>,
    },
    /// Continue after the process that ran it ended; see [`Run::resumed`](crate::Run::resumed).
    Resume {
        /// How long no process ran it, in milliseconds.
        away_ms: u64,
    },
    /// A person decided about a step that waits for a decision; see [`RunState::undecided`](crate::RunState::undecided).
    Decided {
        /// The step.
        step: String,
        /// The question it answers: the number of the event that asked it. The input is ignored if that question is no longer open.
        question: u64,
        /// Whether the person approved.
        approved: bool,
        /// The person's comment.
        comment: String,
        /// Who decided, if known.
        by: String,
        /// Whether nobody could be asked, which counts as a no.
        nobody: bool,
        /// The fields that the person filled in, if the question has a form; see [`Context::form_problems`](crate::Context::form_problems).
        fields: Option<Value>,
    },
    /// Time has passed.
    Tick,
    /// Cancel the run; `by` is `interrupt`, `terminate` or `person`.
    Cancel {
        /// Who cancels it.
        by: Canceller,
    },
}

/// A command to carry out outside the engine.
#[derive(Debug)]
pub enum Command {
    /// Carry out a request, and return the reply as [`Input::Reply`].
    Call {
        /// Number of the call.
        call: u64,
        /// The request.
        request: Box<CallRequest>,
    },
    /// Store the result of a step; no reply is expected.
    Keep {
        /// The key to store it under.
        key: String,
        /// When it expires.
        until: DateTime<Utc>,
        /// Output and details.
        value: Value,
    },
    /// Start an MCP server that is needed later, once all events so far are durable; no reply is expected.
    StartServer(Box<ToolServer>),
    /// Cancel a call; its reply is no longer expected.
    Cancel {
        /// Number of the call.
        call: u64,
    },
}

/// A request to carry out outside the engine.
#[derive(Debug)]
pub enum CallRequest {
    /// Call a model.
    Model(ModelRequest),
    /// Ask a program that is an agent.
    Agent(Box<AgentCall>),
    /// Return a scripted reply.
    Scripted(Result<ModelReply, Failure>),
    /// Return the stored result of an equal step, or null.
    Recall {
        /// The key it is stored under.
        key: String,
        /// The time at which it must still be valid.
        now: DateTime<Utc>,
    },
    /// Run a query.
    Query(QueryRequest),
    /// Read files.
    Read(Vec<ReadRequest>),
    /// Start a program.
    Program(Box<ProgramCall>),
    /// Run Python code.
    Python(Box<PythonCall>),
    /// Search documents.
    Search(SearchRequest),
    /// Send an HTTP request.
    Http(HttpRequest),
    /// List the tools of an MCP server.
    Tools(ToolServer),
    /// Call a tool of an MCP server.
    Tool(ServerCall),
    /// Read a resource of an MCP server.
    Resource(ResourceCall),
    /// Send a mail.
    Mail(Mail),
    /// Print parts on standard output, separated by an empty line.
    Print(Vec<String>),
    /// Write a file of a `file` tool atomically.
    Write {
        /// The tool's folder.
        folder: PathBuf,
        /// Name of the file in the folder.
        name: String,
        /// What is written into it.
        content: FileToWrite,
    },
    /// List the files of a `file` tool.
    List {
        /// The tool's folder.
        folder: PathBuf,
    },
    /// Read a text file of a `file` tool.
    Open {
        /// The tool's folder.
        folder: PathBuf,
        /// Name of the file in the folder.
        name: String,
    },
    /// Carry out a request only if its files are where their paths say. A rule about paths allowed the request, and a link could lead elsewhere.
    Held {
        /// The project's folder.
        project: PathBuf,
        /// Each file: its path, and the location that the decision was made on, relative to the project.
        files: Vec<(PathBuf, String)>,
        /// Whether links that stay inside the project are allowed.
        within: bool,
        /// The request.
        request: Box<CallRequest>,
    },
}

impl CallRequest {
    /// Adds a person's answers to the server's questions, if this is a call of a server's tool.
    pub(crate) fn with_answers(mut self, answers: Option<ServerAnswers>) -> CallRequest {
        if let CallRequest::Tool(call) = &mut self {
            call.answers = answers;
        }
        self
    }

    /// Whether the request costs or changes something outside, so that all events before it must be durable first.
    pub(crate) fn acts_outside(&self) -> bool {
        match self {
            CallRequest::Held { request, .. } => request.acts_outside(),
            CallRequest::Search(request) => match &request.embed {
                Some(Embedding::Endpoint(_)) => true,
                Some(Embedding::Scripted { .. }) | None => false,
            },
            CallRequest::Model(_)
            | CallRequest::Agent(_)
            | CallRequest::Program(_)
            | CallRequest::Http(_)
            | CallRequest::Tools(_)
            | CallRequest::Tool(_)
            | CallRequest::Resource(_)
            | CallRequest::Mail(_)
            | CallRequest::Print(_)
            | CallRequest::Write { .. } => true,
            CallRequest::Scripted(_)
            | CallRequest::Recall { .. }
            | CallRequest::Query(_)
            | CallRequest::Python(_)
            | CallRequest::Read(_)
            | CallRequest::List { .. }
            | CallRequest::Open { .. } => false,
        }
    }
}

/// The reply to a request.
#[derive(Debug)]
pub enum CallReply {
    /// The answer of a model.
    Model(ModelReply),
    /// The rows of a query.
    Rows(Rows),
    /// Files, each with the tables it contains.
    Files(Vec<(FileContent, Vec<TableSource>)>),
    /// What a program gave.
    Program(ProgramReply),
    /// What Python code gave.
    Python(PythonReply),
    /// Pieces of documents.
    Found(FoundPieces),
    /// The reply to an HTTP request.
    Http(HttpReply),
    /// The tools of an MCP server.
    Tools(ToolList),
    /// The result of a tool of an MCP server.
    Tool(ServerReply),
    /// A resource of an MCP server, and its content as a file if it is not text.
    Resource(ResourceReply, Option<Box<FileContent>>),
    /// A print or a write succeeded: the path of the file, or empty.
    Sent(String),
    /// A mail was accepted.
    Mailed(MailReceipt),
    /// The result of listing or opening files, or a stored step result.
    Value(Value),
}

impl CallReply {
    /// The reply without deceptive characters in the values that others wrote. Rows, files, documents and the values of code are the author's own and
    /// stay as they are; what a program printed is cleaned where it is read, and a model's text where it is read as JSON or sent.
    pub(crate) fn cleaned(self) -> CallReply {
        match self {
            CallReply::Http(reply) => {
                let headers = reply.headers.into_iter().map(|(name, value)| (name, clean(&value).0.into_owned())).collect();
                CallReply::Http(HttpReply { headers, body: cleaned(reply.body), ..reply })
            }
            CallReply::Tool(reply) => CallReply::Tool(ServerReply { value: cleaned(reply.value), ..reply }),
            CallReply::Model(_)
            | CallReply::Rows(_)
            | CallReply::Files(_)
            | CallReply::Program(_)
            | CallReply::Python(_)
            | CallReply::Found(_)
            | CallReply::Tools(_)
            | CallReply::Resource(..)
            | CallReply::Sent(_)
            | CallReply::Mailed(_)
            | CallReply::Value(_) => self,
        }
    }
}
