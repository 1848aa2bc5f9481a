//! Placeholder while the engine grows.

use serde::{Deserialize, Serialize};

/// Tokens and money of one or more calls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}
