//! Serves pipelines as tools: an MCP server over standard input and output, or over HTTP.
//!
//! | file | what |
//! |---|---|
//! | `messages` | JSON-RPC: parses messages, formats answers |
//! | `protocol` | requests, versions and rejections; pure |
//! | `tool` | a pipeline as a tool; pure |
//! | `calls` | calls in progress: concurrency, progress, cancelling |
//! | `stdio` | one message per line |
//! | `http` | streamable HTTP: access, sessions, streams |
//!
//! This module does not know how a call runs: [`PipelineService`] is passed in, and tests use a stand-in.
//!
//! How to add a request of the protocol: its arm in `protocol`, a test there; if it takes long, in `calls`.

mod calls;
mod http;
mod messages;
mod protocol;
mod stdio;
#[cfg(test)]
mod tests;
mod tool;

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::event::{Canceller, TraceContext};

pub use http::{Doors, serve_http};
pub use rmcp::model::Tool;
pub use stdio::serve_stdio;
pub use tool::tool;

/// The served tools.
pub trait PipelineService: Send + Sync + 'static {
    /// Returns the tools.
    fn tools(&self) -> &[Tool];

    /// Starts a call of a tool without blocking. Dropping the sender without a result means an internal error.
    fn begin(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        line: CallLine,
    ) -> oneshot::Receiver<Result<ServedOutcome, InvalidArguments>>;
}

/// The channels of a call while it runs.
pub struct CallLine {
    /// Receives requests to end it, with the requester: `client`, `interrupt`, `terminate`.
    pub stop: UnboundedReceiver<Canceller>,
    /// Sends its progress, one sentence each.
    pub progress: UnboundedSender<String>,
    /// The caller's position in a trace.
    pub caller: Option<TraceContext>,
}

/// The arguments are invalid, with the reason in plain words; nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidArguments(pub String);

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServedOutcome {
    /// Texts for people and models.
    pub texts: Vec<String>,
    /// The result for programs.
    pub structured: Option<Value>,
    /// Whether it failed; the last text gives the reason.
    pub is_error: bool,
    /// Metadata about the run: names without a prefix.
    pub meta: Map<String, Value>,
}

/// Limits on concurrent work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Calls that run concurrently; others wait.
    pub running: usize,
    /// Calls that wait; further ones are rejected.
    pub waiting: usize,
    /// Time limit for an HTTP client to send headers or a body, to read from an answer, and to be idle.
    pub patience: Duration,
}

/// The default for [`Bounds::patience`].
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum size of a message in bytes.
pub const LONGEST_MESSAGE: usize = 1 << 20;
