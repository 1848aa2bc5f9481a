//! Pipelines as tools for others: an MCP server over standard input and output, or over HTTP.
//!
//! | file | what |
//! |---|---|
//! | `messages` | JSON-RPC: a message read, an answer written |
//! | `protocol` | what is asked, in which version, and what is rejected; pure |
//! | `tool` | a pipeline as a tool; pure |
//! | `calls` | calls under way: how many at once, progress, cancelling |
//! | `stdio` | lines in, lines out |
//! | `http` | streamable HTTP: who may ask, sessions, streams |
//!
//! How a call runs is not known here: [`PipelineService`] is given from outside, and in tests it is a stand-in.
//!
//! How to add a request of the protocol: its arm in `protocol`, a test there; if it takes time, in `calls`.

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

/// What is served.
pub trait PipelineService: Send + Sync + 'static {
    /// The tools.
    fn tools(&self) -> &[Tool];

    /// Begins a call of one of the tools; it must not block. A sender that is dropped without a word means a fault of ours.
    fn begin(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        line: CallLine,
    ) -> oneshot::Receiver<Result<ServedOutcome, InvalidArguments>>;
}

/// What a call hears and tells while it runs.
pub struct CallLine {
    /// Somebody wants it to end, and who: `client`, `interrupt`, `terminate`.
    pub stop: UnboundedReceiver<Canceller>,
    /// How it goes, a sentence each.
    pub progress: UnboundedSender<String>,
    /// The place in a trace from which it was called.
    pub caller: Option<TraceContext>,
}

/// The arguments do not fit, in plain words; nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidArguments(pub String);

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServedOutcome {
    /// For people and models.
    pub texts: Vec<String>,
    /// For programs.
    pub structured: Option<Value>,
    /// It did not do what it was called for; the last text says why.
    pub is_error: bool,
    /// What is known of the run: names without prefix.
    pub meta: Map<String, Value>,
}

/// How much is taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Calls that run at once; others wait.
    pub running: usize,
    /// Calls that wait; further ones are rejected.
    pub waiting: usize,
    /// How long an HTTP client may take for its headers, for its body, and to take anything of an answer; and be idle.
    pub patience: Duration,
}

/// [`Bounds::patience`] unless a test says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Most bytes of a message.
pub const LONGEST_MESSAGE: usize = 1 << 20;
