//! What `build` holds in its hands while it reads, and what it gives away in the end.

use std::collections::HashMap;

use granit_parser::ErrorKind;

use super::tree::{Map, MapKey, Node};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// What one reading gave.
pub(super) struct ParsedFile {
    pub(super) root: Node,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) failure: Option<ParseError>,
}

/// Where and why the parser gave up, and what it had seen by then.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) kind: ErrorKind,
    /// Where the parser noticed.
    pub(super) at: usize,
    /// The end of the last key or value it could read.
    pub(super) seen: usize,
    /// Where the last scalar it could read begins.
    pub(super) last: usize,
    /// The lists and lists of keys that were open, outermost first.
    pub(super) open: Vec<OpenFrame>,
    /// Those that ended after the last key or value.
    pub(super) closed: Vec<OpenFrame>,
    /// Whether the last value was a block text (`|`, `>`).
    pub(super) after_block_text: bool,
    /// The last value that began with `{{` and its end, if the parser had got past it.
    pub(super) braces: Option<(OpenFrame, usize)>,
}

/// A list or a list of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenFrame {
    /// Where it begins: its first key, "-" or bracket.
    pub(super) start: usize,
    pub(super) is_list: bool,
    /// Written in brackets.
    pub(super) in_brackets: bool,
}

/// A list or a list of keys that is being read.
pub(super) struct OpenCollection {
    pub(super) open: OpenFrame,
    /// The number of its anchor, 0 without one.
    pub(super) anchor: usize,
    /// What had been counted before it.
    pub(super) size_before: Size,
    /// Depth of the deepest value in it.
    pub(super) deepest: usize,
    /// Where the last value in it ends.
    pub(super) end: usize,
    /// Something in it was so wrong that the whole cannot be judged.
    pub(super) is_broken: bool,
    pub(super) inside: CollectionContent,
}

/// What it holds so far.
pub(super) enum CollectionContent {
    List(Vec<Node>),
    Map { map: Map, places: HashMap<String, Span>, pending: PendingKey },
}

/// The key whose value comes next.
pub(super) enum PendingKey {
    /// A key comes next.
    Nothing,
    /// Its value comes next.
    Key(MapKey),
    /// The value belongs to a key that was reported and left out.
    Dropped,
}

/// A value that "*" can repeat.
pub(super) struct Anchored {
    pub(super) node: Node,
    pub(super) size: Size,
    pub(super) depth: usize,
}

/// How much was read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) nodes: usize,
    pub(super) bytes: usize,
}
