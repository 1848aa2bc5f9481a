//! Traits to the world. Adapters implement them, the driver calls them, tests replace them.
//!
//! How to add a port: a trait in a file here, one adapter per implementation, a field in [`Ports`].

mod data;
mod http;
mod mail;
mod model;

use std::future::Future;
use std::pin::Pin;

pub use data::{ColumnSummary, FileContent, PageText, QueryRequest, ReadRequest, Reader, Rows, SqlDatabase, TableSource, TableSummary};
pub use http::{HttpClient, HttpReply, HttpRequest};
pub use mail::{Mail, MailSender};
pub use model::{Message, ModelClient, ModelReply, ModelRequest, Role, Secret, ToolCall, ToolDescription, WireFormat};

use crate::event::Failure;

/// An answer that comes later. Dropping it cancels the call and frees what it held.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;
