//! Implements the ports of `flow-base` on this machine, one a file: files, stores, models, HTTP, mail, SQL and MCP servers.
//!
//! How to add an adapter: add a file here that implements a trait of `port`, a feature in `Cargo.toml` if it has its own dependencies, and its line
//! in `runtime/world.rs`.

#![cfg_attr(
    not(all(feature = "data", feature = "mail", feature = "mcp", feature = "model", feature = "sandbox", feature = "store")),
    allow(dead_code, unused_imports, reason = "what backends share is used up by all of them together")
)]

#[cfg(feature = "sandbox")]
pub mod agent;
pub mod agreed;
#[cfg(feature = "store")]
pub mod audit_file;
pub mod cassette;
pub mod clock;
mod code_text;
mod command_words;
#[cfg(feature = "data")]
pub mod data;
pub mod disk_files;
mod env_file;
pub mod environment;
#[cfg(test)]
#[path = "../../../tests/it/extras.rs"]
mod extras;
pub mod files;
pub mod folder;
pub mod git;
pub mod guarded;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "knowledge")]
pub mod knowledge;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(unix)]
mod os;
#[cfg(not(unix))]
compile_error!("flow supports Unix only so far; system calls are in adapters/os.rs");
#[cfg(feature = "store")]
pub mod encryption;
#[cfg(any(feature = "mcp", feature = "sandbox"))]
mod kept_files;
mod kept_name;
mod launchers;
pub mod named_files;
#[cfg(feature = "telemetry")]
pub mod otlp;
pub mod own;
#[cfg(any(feature = "model", feature = "sandbox"))]
mod picture_kind;
#[cfg(any(feature = "mcp", feature = "sandbox"))]
mod program;
#[cfg(feature = "model")]
pub mod providers;
#[cfg(feature = "sandbox")]
pub mod python;
pub mod reach;
pub mod run_lock;
#[cfg(feature = "sandbox")]
pub mod sandbox;
mod scrub;
#[cfg(feature = "store")]
pub mod shared_store;
#[cfg(feature = "mail")]
pub mod smtp;
#[cfg(feature = "store")]
pub mod sqlite_cache;
#[cfg(feature = "store")]
pub mod sqlite_conversations;
#[cfg(feature = "store")]
mod sqlite_file;
#[cfg(feature = "store")]
pub mod sqlite_store;
pub mod started;
pub mod stdout;
#[cfg(feature = "store")]
mod store_block;
#[cfg(feature = "store")]
mod store_files;
#[cfg(feature = "store")]
mod store_heads;
#[cfg(feature = "store")]
mod store_list;
#[cfg(feature = "store")]
mod store_tables;
pub mod trusted;
#[cfg(feature = "sandbox")]
mod walked;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use os::{open_files, raise_open_files};

/// Locks a mutex, even if a thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(feature = "http")]
mod faultd;

// So that `crate::model` is the same path in each crate.
#[cfg(feature = "telemetry")]
use flow_base::telemetry;
use flow_base::{diagnostic, event, journal, model, port, redact, said, sql};
