//! Traits to the world. Adapters implement them, the driver calls them, tests replace them.
//!
//! How to add a port: a trait in a file here, one adapter per implementation, a field in `driver::Ports`.

mod agent;
mod asked_files;
mod cache;
mod clock;
mod conversation;
mod data;
mod files;
mod http;
mod mail;
mod model;
mod output;
mod program;
mod search;
mod server;
mod store;
mod tape;
mod telemetry;
mod written;

use std::future::Future;
use std::pin::Pin;

pub use crate::event::{Message, ToolCall};
pub use crate::model::{Data, DataKind, FieldKind, HostSource, Method, SqlEngine, ToolCalls, WireFormat};
pub use agent::{AgentCall, AgentDecision, AgentPrograms, AgentRule, AgentVerdict, AgentWish, AskPerson, PersonAnswer};
pub use asked_files::{AskedFiles, AskedPaths};
pub use cache::Cache;
pub use clock::Clock;
pub use conversation::{ConversationRun, ConversationSummary, Conversations, EarlierMessages, KeptMessage, MessageThread};
pub use data::{
    ColumnSummary, DocumentFigures, FileContent, FileReader, PageText, QueryRequest, ReadRequest, Rows, SqlDatabase, TableSource,
    TableSummary, ValueCount,
};
pub use files::{Files, MemoryFiles, Overlay, ReadFileError};
pub use http::{HttpClient, HttpReply, HttpRequest};
pub use mail::{Mail, MailHead, MailReceipt, MailSender};
pub use model::{EndpointOptions, Listener, ModelClient, ModelReply, ModelRequest, Secret, ToolDescription};
pub use output::{FileToWrite, Folder, PrintError, Printer, new_name, plain_name};
pub use program::{
    MOST_REFUSED, ProgramBounds, ProgramCall, ProgramDetails, ProgramEnd, ProgramReply, Programs, Python, PythonCall, PythonError,
    PythonFault, PythonReply, RefusedHost,
};
pub use search::{DocumentSearch, EmbedEndpoint, Embedded, Embedder, Embedding, FoundPiece, FoundPieces, SearchRequest, TextMask};
pub use server::{
    INSTRUCTIONS, ResourceCall, ResourceFile, ResourceReply, ServerAnswers, ServerCall, ServerReply, ServerSignIn, ServerTransport,
    ToolList, ToolServer, ToolServers,
};
pub use store::{EventLog, MOST_COUNTED, RunFilter, RunMatch, RunPage, RunSummary, Store, StoreError, Synced};
pub use tape::{NoTape, Tape};
pub use telemetry::{
    AttributeValue, Attributes, CallFacts, Measurement, Metric, SharedTelemetry, SpanEvent, SpanParent, SpanRecord, Telemetry,
};
pub use written::WrittenCheck;

use crate::event::Failure;

/// An answer that comes later. Dropping it cancels the call and frees what it held.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;
