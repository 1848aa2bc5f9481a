//! The values of one run, and the masking of texts.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::alike::alike;
use super::encoded::{DecodedText, inside};
use super::known::{KnownValues, PersonalValue, is_wide};
use super::marker::{Numbers, marker, masked};
use super::names::{is_name_key, is_short, looks_like_name, names_in};
use super::phones::Phones;
use super::secrets::STARS;
use super::{Detection, PersonalPlace, PiiKind, Secrets, find_pii, merged, replaced};

/// Knows the secrets and personal values of a run. A value has the same marker everywhere in the run.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Secrets,
    /// The personal values in parts, each longer than the next: a new value makes few of them anew.
    known: Vec<KnownPart>,
    phones: Phones,
    /// The personal values, by owner: what counts is the value as it was made known.
    values: Arc<Vec<PersonalValue>>,
    /// Those values, and whether each counts as a name.
    learned: Arc<HashMap<String, bool>>,
    numbers: Numbers,
}

/// The personal values from one on, up to the next part.
#[derive(Debug, Clone)]
struct KnownPart {
    first: usize,
    personal: KnownValues,
    /// Words of names that are also common words, such as `An` and `Will`: found only as they are written.
    exact: KnownValues,
}

/// A place to mask. Of places that overlap the first in this order gives the mask.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MaskPlace {
    /// Of a personal value: its place in `values`.
    Personal(usize),
    Found(PiiKind),
    Secret,
}

pub(super) type Hit = Detection<MaskPlace>;

impl Redactor {
    /// With these secrets (4 bytes or longer) and personal values (texts and numbers; those in lists and objects too), which are masked
    /// as a whole, and names also by word, in any case. Both are also found base64-, URL-, hex-, JSON- and HTML-encoded.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>, personal: impl IntoIterator<Item = &'a Value>) -> Redactor {
        let mut redactor = Redactor { secrets: Secrets::for_logs(secrets), ..Redactor::default() };
        redactor.learn(personal);
        redactor
    }

    /// Adds personal values, such as those of a table that was read. Keys of objects that say `name` make their values names. Costs
    /// less for many at once.
    pub(crate) fn learn<'a>(&mut self, personal: impl IntoIterator<Item = &'a Value>) {
        let mut texts = vec![];
        personal.into_iter().for_each(|value| texts_of(value, false, &mut texts));
        let mut new = vec![];
        for (text, is_of_name) in texts {
            let kind = match find_pii(&text).as_slice() {
                [one] if one.range == (0..text.len()) => one.kind,
                _ => PiiKind::Person,
            };
            let is_name = kind == PiiKind::Person && (is_of_name && is_short(&text) || looks_like_name(&text));
            let inner: Vec<String> = match kind {
                PiiKind::Person if !is_name => names_in(&text).into_iter().map(str::to_owned).collect(),
                _ => vec![],
            };
            new.push(PersonalValue { kind, text, is_name });
            new.extend(inner.into_iter().map(|text| PersonalValue { kind: PiiKind::Person, text, is_name: true }));
        }
        new.retain(|value| self.learned.get(&value.text).is_none_or(|was_name| value.is_name && !was_name));
        if new.is_empty() {
            return;
        }
        let learned = Arc::make_mut(&mut self.learned);
        for value in &new {
            learned.insert(value.text.clone(), value.is_name);
        }
        let mut first = self.values.len();
        self.phones.add(&new, first);
        Arc::make_mut(&mut self.values).append(&mut new);
        while let Some(part) = self.known.pop_if(|part| first - part.first <= self.values.len() - first) {
            first = part.first;
        }
        let values = &self.values[first..];
        self.known.push(KnownPart { first, personal: KnownValues::personal(values), exact: KnownValues::exact(values) });
    }

    /// Learns values and numbers them in that order. What is not numbered so gets its number where it is masked first.
    pub(crate) fn learn_in_order(&mut self, personal: &[Value]) {
        let first = self.values.len();
        self.learn(personal);
        self.values.iter().skip(first).for_each(|value| {
            self.numbers.number(value.kind, &value.text);
        });
    }

    /// Numbers a value that is masked as a whole at its place.
    pub(crate) fn number_whole(&self, value: &str) {
        self.numbers.number(PiiKind::Person, value.trim());
    }

    /// Numbers what would be masked in these texts, in their order.
    pub fn number(&self, value: &Value) {
        match value {
            Value::String(text) => drop(self.places(text)),
            Value::Array(list) => list.iter().for_each(|value| self.number(value)),
            Value::Object(map) => map.values().for_each(|value| self.number(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The text with every secret as `***` and every personal value and shape of one as a marker such as `<EMAIL_1>`. Doing it again
    /// changes nothing.
    pub fn redact(&self, text: &str) -> String {
        let hits = self.hits(text);
        self.write(text, &hits, 0..text.len())
    }

    /// The text of a place that is marked as personal: as a whole, however short and common it is.
    pub(crate) fn redact_whole(&self, text: &str) -> String {
        let redacted = self.redact(text);
        let value = text.trim();
        let masked = masked(&redacted);
        let is_all = !masked.is_empty() && {
            let rest = replaced(&redacted, 0..redacted.len(), masked.into_iter().map(|mask| (mask, "")));
            !rest.contains(char::is_alphanumeric)
        };
        if value.is_empty() || is_all { redacted } else { marker(PiiKind::Person, self.numbers.number(PiiKind::Person, value)) }
    }

    /// The value with all its texts and keys masked; a number that is a personal value or a secret becomes a text.
    pub(crate) fn redact_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(text)),
            Value::Number(number) => {
                let text = number.to_string();
                let masked = self.redact(&text);
                if masked == text { value.clone() } else { Value::String(masked) }
            }
            Value::Array(list) => Value::Array(list.iter().map(|value| self.redact_value(value)).collect()),
            Value::Object(map) => Value::Object(map.iter().map(|(key, value)| (self.redact(key), self.redact_value(value))).collect()),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// What [`redact`](Self::redact) would mask in a text, in order and apart.
    pub fn places(&self, text: &str) -> Vec<PersonalPlace> {
        let place = |hit: Hit| {
            let (kind, whole) = self.value_of(&hit.kind, text.get(hit.range.clone()).unwrap_or_default()).unzip();
            let whole = whole.unwrap_or_default();
            let number = kind.map_or(0, |kind| self.numbers.number(kind, whole));
            PersonalPlace { range: hit.range, kind, number, whole: whole.to_owned() }
        };
        self.hits(text).into_iter().map(place).collect()
    }

    /// The longest value that is known, in bytes.
    pub(super) fn longest(&self) -> usize {
        // The longest way to write a byte is `\u00eb` for two.
        self.secrets.longest().max(6 * self.known.iter().map(|part| part.personal.longest).max().unwrap_or(0))
    }

    /// All places to mask, in order and apart. What a mask uncovers (a number that stood next to a secret, say) is looked for again,
    /// so that a second redaction finds nothing new.
    pub(super) fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.secrets.places(text).into_iter().map(|range| Hit { range, kind: MaskPlace::Secret }).collect();
        for _ in 0..4 {
            let covered = (!hits.is_empty()).then(|| cover(text, &hits));
            let now = covered.as_deref().unwrap_or(text);
            let mut new = self.look(now);
            if new.is_empty() {
                break;
            }
            hits.append(&mut new);
            hits = merged(hits, is_graver);
        }
        hits
    }

    fn look(&self, text: &str) -> Vec<Hit> {
        let found = |found: Detection| Hit { range: found.range, kind: MaskPlace::Found(found.kind) };
        let mut hits: Vec<Hit> = find_pii(text).into_iter().map(found).collect();
        let personal = |(range, owner)| Hit { range, kind: MaskPlace::Personal(owner) };
        hits.extend(self.named(text).map(personal));
        if !self.values.is_empty() {
            let mut read = inside(text);
            let again = read.iter().filter_map(|outer| alike(&outer.text)?.within(outer));
            let again: Vec<DecodedText> = again.chain(alike(text)).collect();
            read.extend(again);
            for inside in read {
                let named = self.named(&inside.text).filter_map(|(range, owner)| Some((inside.place(&range)?, owner)));
                hits.extend(named.map(personal));
                self.add_phones(&inside.text, |range| inside.place(&range), &mut hits);
            }
            self.add_phones(text, Some, &mut hits);
        }
        if hits.is_empty() {
            return hits;
        }
        let masked = masked(text);
        hits.into_iter().flat_map(|hit| without(text, hit, &masked)).collect()
    }

    /// Adds known phone numbers: what was found by its shape alone is told by its owner, unless it has all the digits of that.
    fn add_phones(&self, text: &str, place: impl Fn(Range<usize>) -> Option<Range<usize>>, hits: &mut Vec<Hit>) {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        for (range, owner) in self.phones.find(text) {
            let is_same =
                self.values.get(owner).is_some_and(|value| digits(&value.text) == digits(text.get(range.clone()).unwrap_or_default()));
            let Some(range) = place(range) else { continue };
            let is_inside =
                |hit: &Hit| hit.kind == MaskPlace::Found(PiiKind::Phone) && range.start <= hit.range.start && hit.range.end <= range.end;
            if is_same && hits.iter().any(is_inside) {
                continue;
            }
            hits.retain(|hit| !is_inside(hit));
            hits.push(Hit { range, kind: MaskPlace::Personal(owner) });
        }
    }

    /// Where personal values stand by themselves, with their owners.
    fn named<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Range<usize>, usize)> + 'a {
        let found = self.known.iter().flat_map(|part| {
            let exact = part.exact.find(text).filter(|(range, _)| !is_a_word(text, range));
            part.personal.find(text).chain(exact).map(|(range, owner)| (range, part.first + owner))
        });
        found.filter(|(range, _)| is_whole(text, range.start, range.end))
    }

    /// Writes a piece of the text with its hits masked.
    pub(super) fn write(&self, text: &str, hits: &[Hit], piece: Range<usize>) -> String {
        let mask = |hit: &Hit| {
            let range = hit.range.start.max(piece.start)..hit.range.end;
            let value = self.value_of(&hit.kind, text.get(range.clone()).unwrap_or_default());
            (range, value.map_or(STARS.to_owned(), |(kind, value)| marker(kind, self.numbers.number(kind, value))))
        };
        let inside = hits.iter().filter(|hit| piece.start < hit.range.end && hit.range.end <= piece.end);
        replaced(text, piece.clone(), inside.map(mask))
    }

    /// The value that a mask stands for, with its kind; `None`: a secret. What was found by its shape is what is `written`.
    fn value_of<'a>(&'a self, mask: &MaskPlace, written: &'a str) -> Option<(PiiKind, &'a str)> {
        match mask {
            MaskPlace::Secret | MaskPlace::Found(PiiKind::Url) => None,
            MaskPlace::Found(kind) => Some((*kind, written)),
            MaskPlace::Personal(owner) => self.values.get(*owner).map(|value| (value.kind, value.text.as_str())),
        }
    }
}

/// The texts of a value, and whether each is a name by its key.
fn texts_of(value: &Value, is_name: bool, texts: &mut Vec<(String, bool)>) {
    match value {
        Value::String(text) => texts.push((text.trim().to_owned(), is_name)),
        Value::Number(number) => texts.push((number.to_string(), false)),
        Value::Array(list) => list.iter().for_each(|value| texts_of(value, is_name, texts)),
        Value::Object(map) => map.iter().for_each(|(key, value)| texts_of(value, is_name_key(key), texts)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The pieces of a place that are not masked already and have something to mask.
fn without(text: &str, hit: Hit, masked: &[Range<usize>]) -> Vec<Hit> {
    let mut pieces = vec![];
    let Hit { range: Range { start: mut at, end }, kind } = hit;
    let first = masked.partition_point(|range| range.end <= at);
    let inside = masked.iter().skip(first).take_while(|range| range.start < end).cloned();
    for gap in inside.chain(std::iter::once(end..end)) {
        let is_something = |piece: &str| piece.contains(char::is_alphanumeric);
        if at < gap.start && text.get(at..gap.start).is_some_and(is_something) {
            pieces.push(Hit { range: at..gap.start, kind: kind.clone() });
        }
        at = at.max(gap.end);
    }
    pieces
}

/// Stands by itself, not inside a longer word; in scripts without spaces it may stand anywhere.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let (Some(inside), Some(left), Some(right)) = (text.get(start..end), text.get(..start), text.get(end..)) else { return false };
    let joins = |a: Option<char>, b: Option<char>| match (a, b) {
        (Some(a), Some(b)) => a.is_alphanumeric() && b.is_alphanumeric() && !is_wide(a) && !is_wide(b),
        _ => false,
    };
    !joins(left.chars().next_back(), inside.chars().next()) && !joins(inside.chars().next_back(), right.chars().next())
}

/// Whether a common word that is also a name is just the word: it begins a sentence, and a word in small letters follows.
fn is_a_word(text: &str, range: &Range<usize>) -> bool {
    let follows = text.get(range.end..).unwrap_or_default().strip_prefix(' ');
    if !follows.and_then(|rest| rest.chars().next()).is_some_and(char::is_lowercase) {
        return false;
    }
    let before =
        text.get(..range.start).unwrap_or_default().trim_end_matches(['"', '“', '„', '«', '»', '\'', '(', '-', '#', '_', ' ', '\t']);
    before.chars().next_back().is_none_or(|c| matches!(c, '.' | '!' | '?' | ':' | '\n' | '\r' | '…'))
}

/// Whether a mask counts before another at the same place.
fn is_graver(new: &MaskPlace, old: &MaskPlace) -> bool {
    !matches!((new, old), (MaskPlace::Personal(_), MaskPlace::Personal(_))) && new > old
}

/// The text with stars over the hits, of the same length.
fn cover(text: &str, hits: &[Hit]) -> String {
    replaced(text, 0..text.len(), hits.iter().map(|hit| (hit.range.clone(), "*".repeat(hit.range.len()))))
}
