//! YAML text → a tree with a span on every key and value. Never fails: it gives the tree it could read, and diagnostics.
//!
//! How to add a check of the text itself (not of the language): a file here, called from [`parse`].

mod tree;

pub use tree::{Key, Map, Node, NodeKind, Scalar, Style};
