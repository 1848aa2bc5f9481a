//! The keys of a whole file, which begin with its version.

use super::context::{Lower, found};
use super::keys::KeyTable;
use super::reader::KeyReader;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::{Node, NodeKind};

impl<'w> Lower<'w> {
    /// The keys of a whole file: `flow: 1` first, then those of `place`.
    pub fn root<'a>(&'a self, tree: &'a Node, place: &'static KeyTable, owner: &'static str) -> Option<KeyReader<'a, 'w>> {
        if let Some(found) = enveloped(tree) {
            self.report(found);
            return None;
        }
        wrong_version(tree).into_iter().for_each(|found| self.report(found));
        match &tree.kind {
            NodeKind::Map(_) => KeyReader::new(self, owner, &[place], tree),
            _ => None,
        }
    }
}

/// F014 for a file inside the envelope of Kubernetes, of which nothing else is to be said.
fn enveloped(tree: &Node) -> Option<Diagnostic> {
    let map = tree.as_map().filter(|map| map.get("spec").is_some() && map.get("flow").is_none())?;
    let (key, _) = map.entries.iter().find(|(key, _)| key.text == "apiVersion" || key.text == "kind")?;
    let message = "apiVersion, kind, metadata and spec are of Kubernetes; a file begins with flow: 1";
    let name = map.get("metadata").and_then(|node| node.text_of("name")).unwrap_or("NAME");
    let found = language_version(key.span, message.to_owned());
    Some(found.help(format!("write flow: 1 and name: {name} in their place, and what is below spec without its indentation")))
}

/// F014: a file begins with `flow: 1`.
fn wrong_version(tree: &Node) -> Option<Diagnostic> {
    let mut help = "write flow: 1 on the first line";
    let (span, message) = match &tree.kind {
        NodeKind::Broken => return None,
        NodeKind::Map(map) => match map.entries.first() {
            Some((key, value)) if key.text == "flow" => match value.to_value() {
                serde_json::Value::Null if value.kind == NodeKind::Broken => return None,
                version if version == 1 => return None,
                version if version.as_u64().is_some_and(|v| v > 1) => {
                    help = "install a newer flow, which can read this file; write flow: 1 only if the file was made for that version";
                    let message = format!("this file is written in version {version} of the language; this program reads version 1 only");
                    (value.span, message)
                }
                _ => (value.span, "the first key must be flow: 1".to_owned()),
            },
            Some((key, _)) => (key.span, "the first key must be flow: 1".to_owned()),
            None => (tree.span, "the first key must be flow: 1".to_owned()),
        },
        NodeKind::Scalar(scalar) if scalar.value.is_null() => {
            let message = "this file is empty; it must begin with flow: 1".to_owned();
            let help = "write flow: 1 on the first line and what belongs below it, or delete the file and what names it";
            return Some(language_version(tree.span, message).help(help));
        }
        NodeKind::Scalar(scalar) if scalar.text.contains(" = ") => {
            help = "write flow: 1 on the first line, name: value for each name = value, and the blocks as inputs:, agents:, steps: (a list of - id: …) and outputs:, with what is in { } below its name, indented";
            (
                tree.span,
                "this is written with name = value and blocks, as in HCL; a file here begins with flow: 1 and has keys, name: value"
                    .to_owned(),
            )
        }
        _ => (tree.span, format!("a file must be a group of keys that begins with flow: 1, found {}", found(tree))),
    };
    Some(language_version(span, message).help(help))
}

/// F014: a file that does not say `flow: 1` first.
fn language_version(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::LanguageVersion, span, message)
}
