//! Completion at the cursor. A placeholder word that occurs in no file is inserted there and the text is parsed; the tables of the language
//! for the place of the word give the proposals. This finds the place in an unfinished file, too.

use strum::VariantNames;

use super::expression::{open_expression, proposals};
use super::slot::{Keys, Slot};
use super::spot::{Spot, SpotPart, SpotTarget, find};
use super::things::{self, FileContext};
use crate::check::Checked;
use crate::lower::keys::{KeyRule, Takes, Thing};
use crate::model::FieldKind;
use crate::source::{FileId, SourceFile};
use crate::syntax::{self, Map, Node};

/// The placeholder word that is inserted at the cursor.
const LETTERS: &str = "zzcursorzz";

/// A proposal.
#[derive(Debug, PartialEq, Eq)]
pub struct CompletionItem {
    /// The text that is shown and filtered by.
    pub label: String,
    /// The text that is inserted.
    pub text: String,
    /// A short note beside the label.
    pub detail: String,
    /// The description.
    pub about: String,
    /// The item kind of the protocol: 10 a key, 12 a value, 18 a name, 3 a filter.
    pub kind: u8,
}

/// Returns the proposals at a byte, and the range of bytes that they replace.
pub fn complete(source: &SourceFile, at: usize, last: Option<&Checked>, around: &FileContext) -> (Vec<CompletionItem>, (usize, usize)) {
    let text: &str = &source.text;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (head, tail) = (text.get(..at).unwrap_or(text), text.get(at..).unwrap_or(""));
    let start = head.len() - head.chars().rev().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
    let end = at + tail.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
    let (before, after) = (&text[..start], text.get(end..).unwrap_or(""));
    let line = before.rsplit('\n').next().unwrap_or("");
    let has_colon = after.starts_with(':');
    let may_be_key = line.trim().is_empty() || line.trim_end().ends_with(['-', '{', ',']);
    let mut items = vec![];
    let mut read = |text: String, is_key: bool| {
        let tree = syntax::parse(FileId::default(), &SourceFile::new("", text), &mut vec![]);
        let is_it = |spot: &Spot| match &spot.part {
            SpotPart::Key { key, .. } => key.text.contains(LETTERS),
            SpotPart::Value { scalar, .. } => scalar.text.contains(LETTERS),
        };
        // In an incomplete text, positions may be wrong; then the placeholder is searched for.
        let there = find(&tree, SpotTarget::Byte(start as u32 + 1)).filter(is_it);
        let Some(spot) = there.or_else(|| find(&tree, SpotTarget::Letters(LETTERS))) else { return };
        match &spot.part {
            SpotPart::Key { keys, map, .. } if is_key => items.extend(keys_of(keys, map, has_colon)),
            SpotPart::Value { slot: Some(slot), scalar, .. } if !is_key => {
                let before = scalar.text.split(LETTERS).next().unwrap_or("");
                items.extend(values_of(*slot, before, &spot, &tree, last, around));
            }
            _ => {}
        }
    };
    if has_colon || may_be_key {
        read(format!("{before}{LETTERS}{}{after}", if has_colon { "" } else { ": 0" }), true);
    }
    if !has_colon {
        read(format!("{before}{LETTERS}{after}"), false);
    }
    if items.is_empty() && line.is_empty() && may_be_key && text.trim_end_matches(is_word).trim().is_empty() {
        items.push(key_item("flow: 1", "flow: 1", "version of the language: 1"));
    }
    (items, (start, end))
}

fn key_item(label: &str, text: &str, about: &str) -> CompletionItem {
    CompletionItem { label: label.to_owned(), text: text.to_owned(), detail: String::new(), about: about.to_owned(), kind: 10 }
}

/// Returns the keys that may be added to those present.
fn keys_of(keys: &Keys, map: &Map, has_colon: bool) -> Vec<CompletionItem> {
    let places = &keys.places;
    let is_free = |key: &&KeyRule| map.get(key.name).is_none();
    // If no kind is chosen yet, the key of each kind is proposed, but no key that only one kind has.
    let of_place = |place: &'static crate::lower::keys::KeyTable| {
        let is_kind = place.keys.first().is_some_and(|key| key.name == place.name) && places.len() > 1;
        let is_open = is_kind && map.get(place.name).is_none();
        place.keys.iter().take(if is_open { 1 } else { usize::MAX })
    };
    let mut items: Vec<CompletionItem> = vec![];
    let mut free: Vec<&'static KeyRule> = places.iter().flat_map(|place| of_place(place)).filter(is_free).collect();
    // Required keys come first, then those that choose a kind.
    let is_kind = |key: &KeyRule| places.iter().any(|place| place.name == key.name);
    free.sort_by_key(|key| (!key.is_required, !is_kind(key)));
    for key in free {
        if !items.iter().any(|item| item.label == key.name) {
            let text = if has_colon { key.name.to_owned() } else { format!("{}: ", key.name) };
            let detail = if key.is_required { "required" } else { "" };
            items.push(CompletionItem { detail: detail.to_owned(), ..key_item(key.name, &text, key.about) });
        }
    }
    items
}

fn values_of(slot: Slot, before: &str, spot: &Spot, tree: &Node, last: Option<&Checked>, around: &FileContext) -> Vec<CompletionItem> {
    let value = |label: &str, about: &str| CompletionItem { kind: 12, ..key_item(label, label, about) };
    let name = |label: &str, detail: &str| CompletionItem { kind: 18, detail: detail.to_owned(), ..key_item(label, label, "") };
    let mut items = vec![];
    for takes in slot.values() {
        let expression = match takes {
            Takes::Expression => Some(before),
            Takes::Of(Thing::Scorecard) if before.contains('.') => Some(before),
            Takes::Template | Takes::Loose | Takes::Request | Takes::Value | Takes::Moment | Takes::Zone => open_expression(before),
            _ => None,
        };
        if let Some(expression) = expression {
            let found = proposals(expression, spot, last);
            let kind = if expression.trim_end().ends_with('|') { 3 } else { 18 };
            items.extend(found.into_iter().map(|found| CompletionItem { kind, ..name(&found.name, &found.detail) }));
            continue;
        }
        match takes {
            Takes::Word(words) => items.extend(words.iter().map(|word| value(word, ""))),
            Takes::Zone => items.extend(chrono_tz::TZ_VARIANTS.iter().map(|zone| value(zone.name(), ""))),
            Takes::Boolean => items.extend(["true", "false"].map(|word| value(word, ""))),
            Takes::True => items.push(value("true", "")),
            Takes::Version => items.push(value("1", "")),
            Takes::Field | Takes::Fields => items.extend(FieldKind::VARIANTS.iter().map(|word| value(word, "a type"))),
            Takes::Replies => items.push(value("passed", "the judge lets everything pass")),
            Takes::Of(Thing::Step) => {
                let key = spot.way.last().copied().unwrap_or_default();
                let more: &[&str] = if key == "on_failure" { &["stop", "continue"] } else { &[] };
                items.extend(more.iter().map(|word| value(word, "")));
                let own = spot.ids.last();
                items.extend(spot.siblings.iter().filter(|id| Some(*id) != own && !id.contains(LETTERS)).map(|id| name(id, "step")));
            }
            Takes::Of(thing) => {
                if *thing == Thing::Tool && spot.way.last() == Some(&"send") {
                    items.push(value("stdout", "standard output"));
                }
                let known = last.and_then(|last| last.loaded.program.pipelines.first());
                let names = around.names(*thing, tree, known.map(|pipeline| pipeline.as_ref()));
                items.extend(names.iter().map(|found| name(found, things::word(*thing))));
            }
            _ => {}
        }
    }
    items
}
