//! The tree that `parse` gives and `lower` reads.

use crate::source::Span;

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// From the first to the last character of the value, quotes included, trailing line ends not.
    pub span: Span,
    /// What it is.
    pub kind: NodeKind,
}

/// The four shapes a value can have.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// A text, number, true/false or empty value.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A list of keys.
    Map(Map),
    /// Something that could not be read and has been reported; checks say nothing more about it.
    Broken,
}

/// A list of keys in file order. Repeated keys have been reported; the first of them stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// Keys and values in file order.
    pub entries: Vec<(MapKey, Node)>,
    /// The reading of the file ended in here (reported): what is missing may be below.
    pub is_cut: bool,
}

/// A key and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapKey {
    /// The key without quotes.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuoteStyle {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// A block after `|`.
    Literal,
    /// A block after `>`.
    Folded,
}

/// A scalar: its text, how it was written, and what YAML 1.2's core schema makes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The text after quotes, escapes, folding and indentation are gone.
    pub text: String,
    /// How it was written.
    pub style: QuoteStyle,
    /// Its value: `Null`, `Bool`, `Number` only for plain scalars (core schema: `null ~ true false 12 0x1f 0o17 1.5e3`), else `String`.
    pub value: serde_json::Value,
    /// Pairs (offset in `text`, offset in the file), ascending in the first: between two pairs both run in step. Empty when
    /// the places inside cannot be reported; then the start of the value stands for all.
    pub offsets: Vec<(u32, u32)>,
    /// Where the `|` or `>` of a block stands, which is on the line of its key.
    pub header: Option<u32>,
}

impl Scalar {
    pub(crate) fn new(text: impl Into<String>, style: QuoteStyle, value: serde_json::Value) -> Scalar {
        Scalar { text: text.into(), style, value, offsets: vec![], header: None }
    }
}

impl Node {
    pub(crate) fn broken(span: Span) -> Node {
        Node { span, kind: NodeKind::Broken }
    }

    /// Where a finding about the value as a whole stands: of a block the `|` or `>`, so that it is on the line of the key.
    pub fn head(&self) -> Span {
        let header = self.as_scalar().and_then(|scalar| scalar.header);
        header.map_or(self.span, |at| Span { start: at, end: at + 1, ..self.span })
    }

    /// The list of keys, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.kind {
            NodeKind::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.kind {
            NodeKind::List(list) => Some(list),
            _ => None,
        }
    }

    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text under a key, as it was read.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        Some(self.as_map()?.get(key)?.as_scalar()?.text.as_str())
    }

    /// The value as plain data, places forgotten. `Broken` becomes empty.
    pub fn to_value(&self) -> serde_json::Value {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.value.clone(),
            NodeKind::List(list) => list.iter().map(Node::to_value).collect(),
            NodeKind::Map(map) => map.entries.iter().map(|(key, node)| (key.text.clone(), node.to_value())).collect(),
            NodeKind::Broken => serde_json::Value::Null,
        }
    }
}

impl Map {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// A key with its place, and its value.
    pub fn entry(&self, key: &str) -> Option<(&MapKey, &Node)> {
        self.entries.iter().find(|(k, _)| k.text == key).map(|(k, n)| (k, n))
    }
}
