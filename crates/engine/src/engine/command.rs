//! What goes in and what comes out.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::event::{Canceller, Failure, RunStart};
use crate::port::{
    FileContent, HttpReply, HttpRequest, Mail, ModelReply, ModelRequest, QueryRequest, ReadRequest, ResourceCall, ResourceReply, Rows,
    ServerAnswers, ServerCall, ServerReply, TableSource, ToolList, ToolServer,
};

/// Something that reaches a run.
#[derive(Debug)]
pub enum Input {
    /// Begin. Once, first.
    Start(Box<RunStart>),
    /// An answer to a call.
    Reply {
        /// The call.
        call: u64,
        /// What came.
        result: Result<CallReply, Failure>,
    },
    /// Continue after the process that ran it has ended; see [`Run::resumed`](crate::engine::Run::resumed).
    Resume {
        /// How long nothing ran.
        away_ms: u64,
    },
    /// A person has decided about a step that waits for that; see [`RunState::undecided`](crate::engine::RunState::undecided).
    Decided {
        /// The step.
        step: String,
        /// Which question it answers: the number of the event that asked. One that is not open any more is not answered.
        question: u64,
        /// Yes.
        approved: bool,
        /// What the person says about it.
        comment: String,
        /// Who it is, where that is known.
        by: String,
        /// Nobody could be asked, which counts as a no.
        nobody: bool,
        /// Of an `approval` step: what they filled in; see [`Run::form_problems`](crate::engine::Run::form_problems).
        fields: Option<Value>,
    },
    /// Time went on.
    Tick,
    /// End; `by` is `interrupt`, `terminate` or `person`.
    Cancel {
        /// Who asks.
        by: Canceller,
    },
}

/// Something to do outside.
#[derive(Debug)]
pub enum Command {
    /// Do this, and hand the answer back as [`Input::Reply`].
    Call {
        /// Number of the call.
        call: u64,
        /// What to do.
        request: Box<CallRequest>,
    },
    /// Keep the result of a step; nothing is awaited.
    Keep {
        /// What it is kept under.
        key: String,
        /// Until when.
        until: DateTime<Utc>,
        /// Output and details.
        value: Value,
    },
    /// Start an MCP server that is needed later, once all events so far are durable; nothing is awaited.
    StartServer(Box<ToolServer>),
    /// Stop doing it; an answer is not awaited any more.
    Cancel {
        /// Number of the call.
        call: u64,
    },
}

/// What to do outside.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a command holds it in a box")]
pub enum CallRequest {
    /// Ask a model.
    Model(ModelRequest),
    /// Hand a scripted reply back.
    Scripted(Result<ModelReply, Failure>),
    /// Give the kept result of an equal step, or empty.
    Recall {
        /// What it is kept under.
        key: String,
        /// The time it must still be good at.
        now: DateTime<Utc>,
    },
    /// Run a query.
    Query(QueryRequest),
    /// Read files.
    Read(Vec<ReadRequest>),
    /// Send a request.
    Http(HttpRequest),
    /// Ask an MCP server for its tools.
    Tools(ToolServer),
    /// Call a tool of an MCP server.
    Tool(ServerCall),
    /// Read a resource of an MCP server.
    Resource(ResourceCall),
    /// Send a mail.
    Mail(Mail),
    /// Print parts on standard output, an empty line between them.
    Print(Vec<String>),
    /// Write a text file of a `file` tool, whole or not at all.
    Write {
        /// The tool's folder.
        folder: PathBuf,
        /// The name in it.
        name: String,
        /// The text.
        text: String,
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
        /// The name in it.
        name: String,
    },
    /// Do this, if its files lie where their paths say: a rule about paths let it through, and a link could lead elsewhere.
    Held {
        /// The project's folder.
        project: PathBuf,
        /// Each file: its path, and where that lies as it was decided on, seen from the project.
        files: Vec<(PathBuf, String)>,
        /// Links inside the project are fine.
        within: bool,
        /// What to do.
        request: Box<CallRequest>,
    },
}

impl CallRequest {
    /// The same with what a person answered to its server.
    pub(crate) fn with_answers(mut self, answers: Option<ServerAnswers>) -> CallRequest {
        if let CallRequest::Tool(call) = &mut self {
            call.answers = answers;
        }
        self
    }

    /// Whether it costs or changes something outside, so that what came before must be durable.
    pub(crate) fn acts_outside(&self) -> bool {
        match self {
            CallRequest::Held { request, .. } => request.acts_outside(),
            CallRequest::Model(_)
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
            | CallRequest::Read(_)
            | CallRequest::List { .. }
            | CallRequest::Open { .. } => false,
        }
    }
}

/// What came back.
#[derive(Debug)]
pub enum CallReply {
    /// Of a model.
    Model(ModelReply),
    /// Of a query.
    Rows(Rows),
    /// Files, each with the tables it holds.
    Files(Vec<(FileContent, Vec<TableSource>)>),
    /// Of a request.
    Http(HttpReply),
    /// Of an MCP server that was asked for its tools.
    Tools(ToolList),
    /// Of a tool of an MCP server.
    Tool(ServerReply),
    /// Of a resource of an MCP server, and its content as a file where that is no text.
    Resource(ResourceReply, Option<Box<FileContent>>),
    /// Of a mail, a printing, a writing: the receiver's id, or empty.
    Sent(String),
    /// Of listing or opening.
    Value(Value),
}
