//! The secrets of a run, taken out of texts: as they are, escaped, encoded, and broken over lines.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::encoded::{BytePlaces, DecodedText, bare, inside, joined, of_each_kind, seen};
use super::known::KnownValues;
use super::parts::with_parts;
use super::{Detection, merged, replaced};

/// What is put in the place of a secret.
pub(crate) const STARS: &str = "***";
/// Fewest characters of a secret that is recognised.
const SHORTEST: usize = 8;
/// A text of letters alone that is shorter is taken for a word.
const LONGEST_WORD: usize = 20;
/// Fewest bytes of the beginning of a secret that are masked at the end of a text that was cut.
const SHORTEST_BEGINNING: usize = 4;
/// Most bytes that are shown of a text that still grows.
const LONGEST_END: usize = 1024;
/// Texts are decoded piece by piece, so that a long one takes little memory.
const PIECE: usize = 1 << 16;

/// Whether a secret is recognised in texts: it has 8 characters or more and is not just a word of fewer than 20 letters. A shorter one (`1234`, `test`)
/// and a word (`password`) are in ordinary texts, too, which would be damaged.
pub fn is_recognised(secret: &str) -> bool {
    let secret = secret.trim();
    let count = secret.chars().count();
    count >= SHORTEST && (count >= LONGEST_WORD || !secret.chars().all(char::is_alphabetic))
}

/// Known secrets. A clone costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    known: Arc<KnownValues>,
}

impl Secrets {
    /// Those that are recognised, see [`is_recognised`]: for texts that work continues with.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Secrets {
        let all = secrets.into_iter().flat_map(with_parts).filter(|secret| is_recognised(secret));
        Secrets { known: Arc::new(KnownValues::secrets(all)) }
    }

    /// All of 4 bytes or more: for texts that people read, where a word too much is hidden rather than a secret shown.
    pub fn for_logs<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Secrets {
        Secrets { known: Arc::new(KnownValues::secrets(secrets.into_iter().flat_map(with_parts))) }
    }

    /// Where secrets stand, in order and apart.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        if self.known.longest == 0 {
            return vec![];
        }
        let mut places: Vec<Range<usize>> = self.known.find(text).map(|(range, _)| range).collect();
        for piece in pieces(text, PIECE, 6 * self.known.longest) {
            let here = &text[piece.clone()];
            if self.decoded::<()>(here).all(|(read, least)| self.at_least(&read.text, least).next().is_none()) {
                continue;
            }
            for (read, least) in self.decoded::<Vec<Range<usize>>>(here) {
                let found = self.at_least(&read.text, least).filter_map(|range| read.place(&range));
                places.extend(found.map(|range| piece.start + range.start..piece.start + range.end));
            }
        }
        let places = places.into_iter().map(|range| Detection { kind: (), range }).collect();
        merged(places, |(), ()| false).into_iter().map(|place| place.range).collect()
    }

    /// Where those stand that have so many bytes.
    fn at_least<'a>(&'a self, text: &'a str, least: usize) -> impl Iterator<Item = Range<usize>> + 'a {
        self.known.find(text).map(|(range, _)| range).filter(move |range| range.len() >= least)
    }

    /// The text with stars for each secret.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let places = self.places(text);
        if places.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(starred(text, &places, 0)) }
    }

    /// Hides them in a text in place.
    pub fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide(text) {
            *text = hidden;
        }
    }

    /// Whether a value holds one, in a text, a key or a number.
    pub fn are_in(&self, value: &Value) -> bool {
        if self.longest() == 0 {
            return false;
        }
        let is_in = |text: &str| !self.places(text).is_empty();
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => is_in(&number.to_string()),
            Value::String(text) => is_in(text),
            Value::Array(list) => list.iter().any(|value| self.are_in(value)),
            Value::Object(map) => map.iter().any(|(key, value)| is_in(key) || self.are_in(value)),
        }
    }

    /// Hides them in all texts of a value, in keys of objects, and in numbers, which become texts then.
    pub fn hide_in_value(&self, value: &mut Value) {
        if self.longest() == 0 {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Cow::Owned(hidden) = self.hide(&number.to_string()) {
                    *value = Value::String(hidden);
                }
            }
            Value::String(text) => self.hide_in(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_in_value(value)),
            Value::Object(map) => self.hide_in_map(map),
        }
    }

    /// The same for the fields of an object. Two keys that are the same without their secrets stay two.
    pub fn hide_in_map(&self, map: &mut Map<String, Value>) {
        map.values_mut().for_each(|value| self.hide_in_value(value));
        if map.keys().all(|key| matches!(self.hide(key), Cow::Borrowed(_))) {
            return;
        }
        for (key, value) in std::mem::take(map) {
            let hidden = self.hide(&key).into_owned();
            let mut free = hidden.clone();
            let mut number = 1;
            while map.contains_key(&free) {
                number += 1;
                free = format!("{hidden}_{number}");
            }
            map.insert(free, value);
        }
    }

    /// A text that may be the end of a longer one, from a word on: there the last words of a secret are hidden, too.
    pub fn hide_torn<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.without_end(text) {
            Cow::Borrowed(text) => self.hide(text),
            Cow::Owned(text) => Cow::Owned(self.hide(&text).into_owned()),
        }
    }

    /// The text with stars for the words of a secret that it begins with.
    fn without_end<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let whole = text.trim_start();
        match self.known.ended(whole) {
            ..SHORTEST_BEGINNING => Cow::Borrowed(text),
            end => Cow::Owned(format!("{}{STARS}{}", &text[..text.len() - whole.len()], &whole[end..])),
        }
    }

    /// A text that may be cut off at its end, or around a `…`: there the beginning of a secret is hidden too, also if blanks follow it, and its end.
    pub fn hide_cut(&self, text: &str) -> String {
        let mut pieces = text.split('…');
        let first = pieces.next().unwrap_or_default().to_owned();
        let text = pieces.fold(first, |before, piece| before + "…" + &self.without_end(piece));
        let hidden = self.hide(&text);
        let ends = hidden.match_indices('…').map(|(at, _)| at).chain([hidden.len()]);
        let (mut out, mut at) = (String::with_capacity(hidden.len()), 0);
        for end in ends {
            let piece = &hidden[at..end];
            let whole = piece.trim_end();
            let begun = self.begun(whole);
            if whole.len() - begun >= SHORTEST_BEGINNING {
                out.push_str(&piece[..begun]);
                out.push_str(STARS);
                out.push_str(&piece[whole.len()..]);
            } else {
                out.push_str(piece);
            }
            at = end;
        }
        out + &hidden[at..]
    }

    /// The end of a text that still grows, as far as it can be shown: whole words, no secret, and not the beginning of one.
    pub fn so_far(&self, text: &str) -> String {
        let whole = &text[..text.rfind(char::is_whitespace).unwrap_or(0)];
        let shown = &whole[..self.begun(whole)];
        // A secret that begins before what is looked at ends before what is shown.
        let reach = 6 * self.known.longest;
        let seen = &shown[shown.floor_char_boundary(shown.len().saturating_sub(LONGEST_END + reach))..];
        let from = if seen.len() == shown.len() { 0 } else { seen.floor_char_boundary(reach) };
        starred(seen, &self.places(seen), from)
    }

    /// Where the beginning of a secret stands that the end of the text cuts off; else the end.
    fn begun(&self, text: &str) -> usize {
        let from = text.floor_char_boundary(text.len().saturating_sub(self.known.longest));
        let starts = text[from..].char_indices().map(|(at, _)| from + at);
        starts.into_iter().find(|at| self.known.begins(&text[*at..])).unwrap_or(text.len())
    }

    /// What can be read in a text, and how long a secret is at least that counts in it: a short one is made by chance where words are joined.
    fn decoded<P: BytePlaces>(&self, text: &str) -> impl Iterator<Item = (DecodedText<P>, usize)> + use<P> {
        let read: Vec<DecodedText<P>> = inside(text).into_iter().chain(of_each_kind(text)).collect();
        let bare = |text: &str| Some(text).filter(|_| self.known.has_quotes).and_then(bare);
        let whole = |text: &str| joined(text).into_iter().chain(seen(text)).chain(bare(text)).collect::<Vec<DecodedText<P>>>();
        // What breaks it may be written as an escape itself: `\n` in JSON, `%0A`, `&#8203;`.
        let inner: Vec<_> = read.iter().flat_map(|outer| whole(&outer.text).into_iter().filter_map(|inner| inner.within(outer))).collect();
        read.into_iter().map(|read| (read, 0)).chain(inner.into_iter().chain(whole(text)).map(|read| (read, SHORTEST)))
    }

    pub(super) fn longest(&self) -> usize {
        self.known.longest
    }
}

/// The text from a place on, with stars for each of these places.
fn starred(text: &str, places: &[Range<usize>], from: usize) -> String {
    replaced(text, from..text.len(), places.iter().filter(|place| place.end > from).map(|place| (place.clone(), STARS)))
}

/// A text in pieces of so many bytes that overlap by so many.
fn pieces(text: &str, size: usize, overlap: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let end = text.floor_char_boundary(start + size + overlap);
        next = (end < text.len()).then(|| text.floor_char_boundary(start + size));
        Some(start..end)
    })
}
