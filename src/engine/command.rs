//! What goes in and what comes out.

use std::path::PathBuf;

use serde_json::Value;

use crate::event::{Failure, RunStart};
use crate::port::{FileContent, HttpReply, HttpRequest, Mail, ModelReply, ModelRequest, QueryRequest, ReadRequest, Rows, TableSource};

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
        result: Result<Reply, Failure>,
    },
    /// Time went on.
    Tick,
    /// End; `by` is `interrupt`, `terminate` or `person`.
    Cancel {
        /// Who asks.
        by: String,
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
        request: Box<Request>,
    },
    /// Stop doing it; an answer is not awaited any more.
    Cancel {
        /// Number of the call.
        call: u64,
    },
}

/// What to do outside.
#[derive(Debug)]
pub enum Request {
    /// Ask a model.
    Model(ModelRequest),
    /// Hand a scripted reply back.
    Scripted(Result<ModelReply, Failure>),
    /// Run a query.
    Query(QueryRequest),
    /// Read files.
    Read(Vec<ReadRequest>),
    /// Send a request.
    Http(HttpRequest),
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
}

/// What came back.
#[derive(Debug)]
pub enum Reply {
    /// Of a model.
    Model(ModelReply),
    /// Of a query.
    Rows(Rows),
    /// Files, each with the tables it holds.
    Files(Vec<(FileContent, Vec<TableSource>)>),
    /// Of a request.
    Http(HttpReply),
    /// Of a mail, a printing, a writing: the receiver's id, or empty.
    Sent(String),
    /// Of listing or opening.
    Value(Value),
}
