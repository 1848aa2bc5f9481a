//! One port implementation per file.
//!
//! How to add an adapter: a file here that implements a trait of `port`, and its line in `runtime/world.rs`.

pub mod cassette;
pub mod clock;
pub mod data;
pub mod environment;
pub mod files;
pub mod folder;
pub mod http;
pub mod mcp;
pub mod model;
pub mod own;
pub mod reach;
pub mod run_lock;
pub mod sealing;
pub mod shared_store;
pub mod smtp;
pub mod sqlite_cache;
mod sqlite_file;
pub mod sqlite_store;
pub mod started;
pub mod stdout;
mod store_block;
mod store_tables;
pub mod trusted;
mod wording;

#[cfg(test)]
mod faultd;
