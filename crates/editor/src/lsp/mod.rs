//! The language server: messages of an editor in, messages to it out. It touches nothing: files come through the port, and the stream
//! belongs to `cli`.
//!
//! The way of a text: `documents` hold what is open over what is on disk → `check` (the same as `flow validate`) → `findings`. For a place
//! in a text `spot` walks the tree with `slot`, which goes by the tables of `lower::keys`; `complete` and `look` say what belongs there.
//!
//! How to add a request: an arm in `LanguageServer::answer`, its line in the capabilities, a sentence in `tests/it/lsp.rs`.

mod complete;
mod documents;
mod expression;
mod findings;
mod look;
mod server;
mod slot;
mod spot;
#[cfg(test)]
mod tests;
mod things;
mod wire;

pub use server::LanguageServer;
pub use wire::{EditorMessage, parse_error, read, write};
