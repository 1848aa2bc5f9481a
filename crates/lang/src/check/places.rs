//! Findings of rules about a key stand at that key. The model keeps the place of a step, a channel or a style guide, and not that of each of its keys; so a
//! rule says which key it is ([`About::Value`], with dots for sections), and the place is looked up in the file here. It stays a pass: a place for each key
//! in the model would be kept in each run for the few findings that stand at one.

use std::collections::{BTreeSet, HashMap};

use crate::diagnostic::{About, Diagnostic};
use crate::source::{FileId, Sources, Span};
use crate::syntax::{self, Map, Node, NodeKind};

/// Moves findings to the keys that they are about, where these are written out.
pub(super) fn settle(found: &mut [Diagnostic], sources: &Sources) {
    let files: BTreeSet<FileId> =
        found.iter().filter(|found| matches!(found.about, About::Value(_))).map(|found| found.span.file).collect();
    let trees: Vec<Node> = files.into_iter().map(|file| syntax::parse(file, sources.file(file), &mut vec![])).collect();
    let mut owners = HashMap::new();
    trees.iter().for_each(|tree| note(tree, &mut owners));
    for found in found {
        let About::Value(path) = &found.about else { continue };
        if let Some(span) = owners.get(&found.span).and_then(|map| key(map, path)) {
            found.span = span;
        }
    }
}

/// Notes for each name whose keys it has: for a name that is a key those below it, for one that is a value those beside it.
fn note<'t>(node: &'t Node, owners: &mut HashMap<Span, &'t Map>) {
    match &node.kind {
        NodeKind::Map(map) => {
            for (key, value) in &map.entries {
                match value.as_map() {
                    Some(own) => owners.insert(key.span, own),
                    None => owners.insert(value.span, map),
                };
                note(value, owners);
            }
        }
        NodeKind::List(list) => list.iter().for_each(|node| note(node, owners)),
        NodeKind::Scalar(_) | NodeKind::Broken => {}
    }
}

fn key(map: &Map, path: &str) -> Option<Span> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let (key, value) = map.entry(name)?;
    Some(rest.and_then(|rest| self::key(value.as_map()?, rest)).unwrap_or(key.span))
}
