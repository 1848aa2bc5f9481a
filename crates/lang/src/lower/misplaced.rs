//! Sections of a file that slid into the section above them: a line, or several, indented by accident.

use super::keys::{KINDS, KeyRule, KeyTable, PROVIDERS, TOOL_KINDS, Takes};
use crate::syntax::{self, Map, Node, NodeKind};

/// A section that stands inside another one.
pub(super) struct Misplaced<'a> {
    /// The section it stands in.
    pub(super) section: &'a syntax::MapKey,
    /// Its own key.
    pub(super) key: &'a syntax::MapKey,
    /// What it is.
    pub(super) rule: &'static KeyRule,
}

/// The first of each section of a file with such a head.
pub(super) fn misplaced<'a>(head: &'static KeyTable, map: &'a Map) -> Vec<Misplaced<'a>> {
    let sections = map.entries.iter().filter_map(|(section, node)| {
        let each = each_of(&head.key(&section.text)?.takes)?;
        let slid = node.as_map()?.entries.iter().find_map(|(key, node)| {
            let rule = head.key(&key.text).filter(|rule| is_section(&rule.takes))?;
            (!may_be(each, node)).then_some((key, rule))
        });
        slid.map(|(key, rule)| Misplaced { section, key, rule })
    });
    sections.collect()
}

/// What each entry takes, of a section with names of the author's choice.
fn each_of(takes: &'static Takes) -> Option<&'static Takes> {
    match takes {
        Takes::Defined(each) => Some(each),
        Takes::Either(several) => several.iter().find_map(each_of),
        _ => None,
    }
}

fn is_section(takes: &Takes) -> bool {
    match takes {
        Takes::Defined(_) | Takes::Named(_) | Takes::Steps | Takes::Filled(_) | Takes::List(_) | Takes::Secrets | Takes::Environment => {
            true
        }
        Takes::Either(several) => several.iter().any(is_section),
        _ => false,
    }
}

/// Whether a value may be what an entry takes, perhaps with mistakes in it.
fn may_be(each: &'static Takes, node: &Node) -> bool {
    match &node.kind {
        NodeKind::Broken => true,
        NodeKind::List(_) => false,
        NodeKind::Scalar(scalar) => !scalar.value.is_null(),
        NodeKind::Map(map) => {
            let own: &[&KeyTable] = match each {
                Takes::Keys(place) => &[*place],
                Takes::Field => &[&super::keys::FIELD],
                _ => return true,
            };
            let mut places = own.iter().chain(PROVIDERS).chain(TOOL_KINDS).chain(KINDS);
            map.entries.is_empty() || places.any(|place| map.entries.iter().any(|(key, _)| place.key(&key.text).is_some()))
        }
    }
}
