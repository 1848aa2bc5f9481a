//! Which ids are taken: looked up, never searched for, so that long lists cost no more than their length.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use crate::diagnostic::one_line;
use crate::source::{Span, Spanned};
use crate::syntax::Node;

/// The ids of one list, each with the place where it was used first.
#[derive(Debug, Default)]
pub struct Ids(HashMap<String, Span>);

impl Ids {
    /// Takes an id; gives the place of its first use if it was taken before.
    pub fn take(&mut self, id: &Spanned<String>) -> Option<Span> {
        match self.0.entry(id.value.clone()) {
            Entry::Occupied(first) => Some(*first.get()),
            Entry::Vacant(free) => {
                free.insert(id.span);
                None
            }
        }
    }
}

/// The ids of the lists of steps around a list. Lists inside one another share those around them.
#[derive(Debug, Clone, Default)]
pub(crate) struct OuterIds(Option<Rc<(OuterIds, Ids)>>);

impl OuterIds {
    /// These lists, and inside them one more, whose ids count as far as they can be read.
    pub fn and(&self, list: &[Node]) -> OuterIds {
        let mut ids = Ids::default();
        for node in list {
            let id = node.as_map().and_then(|map| map.get("id"));
            if let Some((id, scalar)) = id.and_then(|node| Some((node, node.as_scalar()?))) {
                ids.take(&Spanned::new(scalar.text.clone(), id.span));
            }
        }
        OuterIds(Some(Rc::new((self.clone(), ids))))
    }

    /// Where an id was used first, in the outermost list that has it.
    pub fn first(&self, id: &str) -> Option<Span> {
        let (outer, ids) = self.0.as_deref()?;
        outer.first(id).or_else(|| ids.0.get(id).copied())
    }
}

/// What to write where a step, or something else with an id, has a `name` for people and no id; `None`: its name has no letter for one.
pub(super) fn id_of_name(name: &str, is_first: bool, is_step: bool) -> Option<String> {
    let id = in_words(name);
    // The line of the dash begins the step: what is put above it belongs to the step before.
    let place = match is_first {
        true if is_step => format!("write - id: {id} in place of - name, and name on the next line"),
        true => format!("write - id: {id} in place of - name: {}", one_line(name, 80)),
        false => format!("add id: {id} below name"),
    };
    let why = if is_step { format!("; others read its output as steps.{id}.output") } else { String::new() };
    (!id.is_empty()).then(|| place + &why)
}

/// A text as an id: small letters, and `_` between the words.
fn in_words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase);
    words.collect::<Vec<_>>().join("_").trim_start_matches(|c: char| !c.is_ascii_lowercase()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;
    use crate::syntax::{QuoteStyle, Scalar};

    fn at(id: &str, start: usize) -> Spanned<String> {
        Spanned::new(id.to_owned(), Span::new(FileId(0), start, start + 1))
    }

    fn step(id: &str, start: usize) -> Node {
        use crate::syntax::{Map, MapKey, NodeKind};
        let span = Span::new(FileId(0), start, start + 1);
        let scalar = Scalar { text: id.to_owned(), style: QuoteStyle::Plain, value: id.into(), offsets: vec![], header: None };
        let entries = vec![(MapKey { text: "id".to_owned(), span }, Node { span, kind: NodeKind::Scalar(scalar) })];
        Node { span, kind: NodeKind::Map(Map { entries, is_cut: false }) }
    }

    #[test]
    fn the_first_use_of_an_id_is_kept() {
        let mut ids = Ids::default();
        assert_eq!(ids.take(&at("a", 1)), None);
        assert_eq!(ids.take(&at("a", 5)), Some(at("a", 1).span));
        assert_eq!(ids.take(&at("a", 9)), Some(at("a", 1).span));
    }

    #[test]
    fn the_outermost_list_that_has_an_id_is_named_first() {
        let outer = OuterIds::default().and(&[step("a", 1), step("b", 3), step("b", 5)]);
        let inner = outer.and(&[step("b", 7), step("c", 9)]);
        let starts = ["a", "b", "c", "d"].map(|id| inner.first(id).map(|span| span.start));
        assert_eq!(starts, [Some(1), Some(3), Some(9), None]);
        assert_eq!(outer.first("c"), None);
    }
}
