//! The language server: converts messages of an editor to replies. It makes no I/O: files come through the port, and the command-line
//! program owns the stream.
//!
//! Data flow: `documents` hold open files over those on disk → `check` (as in `flow validate`) → `findings`. For a place in a text, `spot`
//! walks the tree with `slot`, which uses the tables of `lower::keys`; `complete` and `look` build the replies.
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
