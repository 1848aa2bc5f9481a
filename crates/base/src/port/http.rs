//! Plain HTTP calls, for `http` steps and tools.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Pending, Secret};
use crate::model::{HostSource, Method};

/// One request.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// Its method.
    pub method: Method,
    /// The whole address, query included, values already percent-encoded.
    pub url: String,
    /// What is told of the address, if it holds a secret: its scheme, host and port, and the query that is no part of it.
    pub told: Option<String>,
    /// Who named its host.
    pub host_from: HostSource,
    /// Header names and values; values may be secrets.
    pub headers: Vec<(String, Secret)>,
    /// The body and its content type.
    pub body: Option<(String, Vec<u8>)>,
    /// Time for the whole attempt.
    pub timeout: Duration,
    /// Time to connect.
    pub connect_timeout: Duration,
}

impl HttpRequest {
    /// The address as the record, recordings and questions show it.
    pub fn recorded_url(&self) -> &str {
        self.told.as_deref().unwrap_or(&self.url)
    }
}

/// What came back, whatever its status below 400.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Header names in small letters, and values; invalid ones left out.
    pub headers: Vec<(String, String)>,
    /// The body: JSON where the content type says so, else text (UTF-8 or the charset it names).
    pub body: serde_json::Value,
}

/// Sends requests: no redirects, caps after decompression, hosts checked by `policy` before it is asked.
pub trait HttpClient: Send + Sync {
    /// Makes one attempt. 400 and above are failures (classes of the fault table in `docs/language.md`). A request that is not GET or
    /// HEAD and may have acted (timed out after sending, cut, 5xx) fails with `unknown_outcome`.
    fn send(&self, request: HttpRequest) -> Pending<HttpReply>;
}
