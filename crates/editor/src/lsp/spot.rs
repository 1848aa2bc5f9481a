//! The key or value at the cursor, with its tables and the steps around it.

use super::slot::{Keys, Slot};
use crate::lower::keys::{CASE, Takes};
use crate::lower::kind_of;
use crate::syntax::{self, Map, Node, NodeKind, Scalar};

/// The target of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SpotTarget<'a> {
    /// The key or value that covers this byte.
    Byte(u32),
    /// The first key or text that contains these letters.
    Letters(&'a str),
}

/// A key or a value.
#[derive(Debug)]
pub(crate) struct Spot<'t> {
    /// The key or the value.
    pub part: SpotPart<'t>,
    /// The keys on the path from the top, innermost last.
    pub way: Vec<&'t str>,
    /// The ids of the surrounding steps and cases, outermost first.
    pub ids: Vec<&'t str>,
    /// The ids in the list of steps that contains it.
    pub(crate) siblings: Vec<&'t str>,
}

/// A key or a value.
#[derive(Debug)]
pub(crate) enum SpotPart<'t> {
    /// A key.
    Key {
        /// The key.
        key: &'t syntax::MapKey,
        /// Keys that the map accepts.
        keys: Keys,
        /// The map with the present keys.
        map: &'t Map,
    },
    /// A value.
    Value {
        /// The slot of the value, if the tables define it.
        slot: Option<Slot>,
        /// The value.
        scalar: &'t Scalar,
    },
}

/// Finds a key or value in a file.
pub fn find<'t>(tree: &'t Node, target: SpotTarget<'_>) -> Option<Spot<'t>> {
    let mut finder = Finder { target, way: vec![], ids: vec![], siblings: vec![] };
    let part = finder.node(tree, Some(Slot::File(kind_of(tree))))?;
    Some(Spot { part, way: finder.way, ids: finder.ids, siblings: finder.siblings })
}

struct Finder<'t, 'a> {
    target: SpotTarget<'a>,
    way: Vec<&'t str>,
    ids: Vec<&'t str>,
    siblings: Vec<&'t str>,
}

impl<'t> Finder<'t, '_> {
    fn is_here(&self, text: &str, span: crate::source::Span) -> bool {
        match self.target {
            SpotTarget::Byte(at) => (span.start..=span.end).contains(&at),
            SpotTarget::Letters(letters) => text.contains(letters),
        }
    }

    fn may_be_in(&self, node: &Node) -> bool {
        match self.target {
            SpotTarget::Byte(at) => (node.span.start..=node.span.end).contains(&at),
            SpotTarget::Letters(_) => true,
        }
    }

    fn node(&mut self, node: &'t Node, slot: Option<Slot>) -> Option<SpotPart<'t>> {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.is_here(&scalar.text, node.span).then_some(SpotPart::Value { slot, scalar }),
            NodeKind::List(list) => {
                let element = slot.and_then(Slot::element);
                let before = self.siblings.len();
                let outer = matches!(element, Some(Slot::Step)).then(|| std::mem::replace(&mut self.siblings, ids(list)));
                let found = list.iter().filter(|node| self.may_be_in(node)).collect::<Vec<_>>();
                let found = found.into_iter().find_map(|node| self.node(node, element));
                if let (None, Some(outer)) = (&found, outer) {
                    self.siblings = outer;
                    debug_assert_eq!(self.siblings.len(), before);
                }
                found
            }
            NodeKind::Map(map) => self.map(map, slot),
            NodeKind::Broken => None,
        }
    }

    fn map(&mut self, map: &'t Map, slot: Option<Slot>) -> Option<SpotPart<'t>> {
        let known = std::cell::OnceCell::new();
        let keys = || known.get_or_init(|| slot.map(|slot| slot.keys(map)).unwrap_or_default());
        let depth = self.ids.len();
        match slot {
            Some(Slot::Step) => self.ids.extend(id(map)),
            Some(Slot::Takes(Takes::Keys(place))) if std::ptr::eq(*place, &CASE) => self.ids.extend(id(map)),
            Some(Slot::Takes(Takes::Otherwise)) => self.ids.push("otherwise"),
            _ => {}
        }
        for (key, node) in &map.entries {
            if self.is_here(&key.text, key.span) {
                return Some(SpotPart::Key { key, keys: keys().clone(), map });
            }
            if self.may_be_in(node) {
                self.way.push(&key.text);
                if let Some(part) = self.node(node, keys().under(&key.text)) {
                    return Some(part);
                }
                self.way.pop();
            }
        }
        self.ids.truncate(depth);
        None
    }
}

fn id(map: &Map) -> Option<&str> {
    map.get("id")?.as_scalar().map(|scalar| scalar.text.as_str())
}

fn ids(list: &[Node]) -> Vec<&str> {
    list.iter().filter_map(|node| id(node.as_map()?)).collect()
}
