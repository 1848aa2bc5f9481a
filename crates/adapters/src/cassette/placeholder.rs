//! Placeholders in recordings for a personal value (`<PERSON_1>`, or `<PERSON_1.2>` for a word of it) or a secret (`***`): inserting them, matching
//! texts against them, and restoring the values.
//!
//! The numbers are the same everywhere in a run. `.2` is the second word of the value; a letter means that it is written in lower case (`l`), in
//! upper case (`u`) or with a capital first letter (`t`); `~2` is the second other spelling in this call, which is only known from the text of a
//! request; `#` at the end means that the value was a number. So a placeholder represents one exact text.
//! A text that only looks like a placeholder, because a person wrote it so, has a `\` after its `<`: `<\PERSON_1>` is the text `<PERSON_1>`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use serde_json::{Map, Value};

use crate::redact::{PersonalPlace, PiiKind, Redactor};

/// The placeholder for a secret.
const SECRET: &str = "***";
/// The placeholder for the id of the run.
const RUN: &str = "<RUN>";
/// Follows the `<` of a text that only looks like a placeholder.
const ESCAPE: char = '\\';
/// Maximum length of a placeholder, in bytes.
const LONGEST: usize = 40;

/// A placeholder for a personal value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Placeholder {
    kind: &'static str,
    number: usize,
    /// Which word of the value; 0 for the whole value.
    word: usize,
    /// `l`, `u` or `t`; `None` if it is written like the value.
    style: Option<char>,
    /// Which other spelling; 0 for none.
    form: usize,
    is_number: bool,
}

/// Kind and number of a value.
type PlaceholderId = (&'static str, usize);

impl Placeholder {
    fn id(&self) -> PlaceholderId {
        (self.kind, self.number)
    }

    /// Parses the placeholder at the beginning of a text. Returns it with its length.
    fn at_start(text: &str) -> Option<(Placeholder, usize)> {
        let end = text.bytes().take(LONGEST).position(|byte| byte == b'>')?;
        let inside = text.get(..end)?.strip_prefix('<')?;
        let (inside, is_number) = inside.strip_suffix('#').map_or((inside, false), |inside| (inside, true));
        let (kind, rest) = inside.split_once('_')?;
        let kind = kind.parse::<PiiKind>().ok()?.word();
        let (rest, form) = rest.split_once('~').unwrap_or((rest, "0"));
        let (number, variant) = rest.split_once('.').unwrap_or((rest, "0"));
        let (word, style) = match variant.strip_suffix(['l', 'u', 't']) {
            Some(word) => (word, variant.chars().next_back()),
            None => (variant, None),
        };
        let (number, word, form) = (number.parse().ok()?, word.parse().ok()?, form.parse().ok()?);
        Some((Placeholder { kind, number, word, style, form, is_number }, end + 1))
    }

    /// The written form.
    pub fn written(&self) -> String {
        let variant = match (self.word, self.style) {
            (0, None) => String::new(),
            (word, style) => format!(".{word}{}", style.map(String::from).unwrap_or_default()),
        };
        let form = if self.form == 0 { String::new() } else { format!("~{}", self.form) };
        format!("<{}_{}{variant}{form}{}>", self.kind, self.number, if self.is_number { "#" } else { "" })
    }

    /// The placeholder for the whole value.
    pub fn whole(&self) -> Placeholder {
        Placeholder { word: 0, style: None, form: 0, is_number: false, ..self.clone() }
    }

    /// The text that it represents, derived from the whole value; `None` if the value does not determine the spelling.
    fn text_of(&self, whole: &str) -> Option<String> {
        let word = match self.word {
            0 => whole,
            word => words(whole).nth(word - 1).unwrap_or(whole),
        };
        (self.form == 0).then(|| styled(word, self.style))
    }
}

fn words(whole: &str) -> impl Iterator<Item = &str> {
    whole.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn styled(text: &str, style: Option<char>) -> String {
    match style {
        Some('l') => text.to_lowercase(),
        Some('u') => text.to_uppercase(),
        Some('t') => {
            let mut letters = text.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters.flat_map(char::to_lowercase)).collect()).unwrap_or_default()
        }
        _ => text.to_owned(),
    }
}

/// Inserts placeholders for one call: first into its request, then into its answer.
pub(crate) struct Masker<'a> {
    redactor: &'a Redactor,
    run: &'a str,
    /// What was known when the call was made, if that differs from now.
    then: Option<&'a Redactor>,
    /// The value of each number, in its first spelling.
    wholes: HashMap<PlaceholderId, String>,
    /// Other spellings.
    forms: HashMap<PlaceholderId, Vec<String>>,
    /// The text and the whole value that each inserted placeholder represents.
    pub used: BTreeMap<Placeholder, (String, String)>,
    /// Placeholders inserted where nothing, or something else, was known to be personal when the call was made.
    pub late: BTreeSet<Placeholder>,
}

impl<'a> Masker<'a> {
    /// Creates a masker with what is known about a run.
    pub fn new(redactor: &'a Redactor, run: &'a str) -> Masker<'a> {
        let (wholes, forms, used, late) = Default::default();
        Masker { redactor, run, then: None, wholes, forms, used, late }
    }

    /// Compares with what was known when the call was made.
    pub fn since(self, then: &'a Redactor) -> Masker<'a> {
        Masker { then: Some(then), ..self }
    }

    /// Masks the secrets and personal values of a text.
    pub fn text(&mut self, text: &str) -> String {
        let text = &named_run(&escaped(text, |text| text == RUN), self.run);
        let known = self.then.map(|then| then.places(text));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for place in self.redactor.places(text) {
            out.push_str(&escaped(text.get(at..place.range.start).unwrap_or_default(), is_placeholder));
            let raw = text.get(place.range.clone()).unwrap_or_default();
            at = place.range.end;
            let Some(kind) = place.kind else {
                out.push_str(SECRET);
                continue;
            };
            let is_late =
                known.as_ref().is_some_and(|known| !known.iter().any(|then| (&then.range, &then.whole) == (&place.range, &place.whole)));
            out.push_str(&self.placeholder((kind.word(), place.number), raw, place.whole, is_late).written());
        }
        out.push_str(&escaped(text.get(at..).unwrap_or_default(), is_placeholder));
        out
    }

    /// The placeholder for a personal value or a part of it. `is_late`: it was not known when the call was made.
    fn placeholder(&mut self, (kind, number): PlaceholderId, raw: &str, whole: String, is_late: bool) -> Placeholder {
        let plain = Placeholder { kind, number, word: 0, style: None, form: 0, is_number: false };
        let whole = self.wholes.entry(plain.id()).or_insert(whole).clone();
        let spelled = |word: usize| {
            let styles = [None, Some('l'), Some('u'), Some('t')].into_iter();
            let mut spelled = styles.map(|style| Placeholder { word, style, ..plain.clone() });
            spelled.find(|placeholder| placeholder.text_of(&whole).as_deref() == Some(raw))
        };
        let found = (0..=words(&whole).count()).find_map(spelled).unwrap_or_else(|| {
            let forms = self.forms.entry(plain.id()).or_default();
            let form = forms.iter().position(|form| form == raw).unwrap_or_else(|| {
                forms.push(raw.to_owned());
                forms.len() - 1
            });
            Placeholder { form: form + 1, ..plain.clone() }
        });
        self.used.insert(found.clone(), (raw.to_owned(), whole));
        self.late.extend(is_late.then(|| found.clone()));
        found
    }

    /// Masks all texts and keys of a value. A number that is a personal value, or contains one, becomes a text.
    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) => {
                let text = number.to_string();
                match whole_number(self.redactor, &text) {
                    None => value.clone(),
                    Some(PersonalPlace { kind: None, .. }) => Value::String(SECRET.to_owned()),
                    Some(PersonalPlace { kind: Some(kind), number, whole, .. }) => {
                        let is_late = self.then.is_some_and(|then| whole_number(then, &text).is_none_or(|place| place.whole != whole));
                        let placeholder = self.placeholder((kind.word(), number), &text, whole, is_late);
                        Value::String(Placeholder { is_number: true, ..placeholder }.written())
                    }
                }
            }
            Value::Array(list) => Value::Array(list.iter().map(|value| self.value(value)).collect()),
            Value::Object(map) => Value::Object(map.iter().map(|(key, value)| (self.text(key), self.value(value))).collect()),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

/// Treats a number that contains something to mask as a single place.
fn whole_number(redactor: &Redactor, text: &str) -> Option<PersonalPlace> {
    let first = redactor.places(text).into_iter().next()?;
    Some(PersonalPlace { range: 0..text.len(), ..first })
}

/// Masks only the secrets of a value: the best result that a replay can restore.
pub fn without_secrets(value: &Value, redactor: &Redactor) -> Value {
    let text = |text: &str| {
        let mut out = text.to_owned();
        for place in redactor.places(text).iter().rev().filter(|place| place.kind.is_none()) {
            out.replace_range(place.range.clone(), SECRET);
        }
        out
    };
    match value {
        Value::String(old) => Value::String(text(old)),
        Value::Number(number) => match whole_number(redactor, &number.to_string()) {
            Some(PersonalPlace { kind: None, .. }) => Value::String(SECRET.to_owned()),
            _ => value.clone(),
        },
        Value::Array(list) => Value::Array(list.iter().map(|value| without_secrets(value, redactor)).collect()),
        Value::Object(map) => map.iter().map(|(key, value)| (text(key), without_secrets(value, redactor))).collect(),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

/// Escapes everything in a text that looks like a placeholder.
fn escaped(text: &str, is_ours: impl Fn(&str) -> bool + Copy) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        out.push('<');
        if looks_like(from, is_ours) {
            out.push(ESCAPE);
        }
        rest = from.get(1..).unwrap_or_default();
    }
    out + rest
}

/// Whether a text begins like a placeholder, escaped or not.
fn looks_like(text: &str, is_ours: impl Fn(&str) -> bool) -> bool {
    let Some(inside) = text.strip_prefix('<').map(|inside| inside.trim_start_matches(ESCAPE)) else { return false };
    let end = inside.bytes().take(LONGEST).position(|byte| byte == b'>');
    end.and_then(|end| inside.get(..=end)).is_some_and(|inside| is_ours(&format!("<{inside}")))
}

fn is_placeholder(text: &str) -> bool {
    Placeholder::at_start(text).is_some()
}

fn named_run(text: &str, run: &str) -> String {
    if run.is_empty() { text.to_owned() } else { text.replace(run, RUN) }
}

/// The values of a recording's placeholders in the run that it answers.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    whole: HashMap<PlaceholderId, String>,
    /// The current number of each value.
    numbers: HashMap<PlaceholderId, usize>,
    exact: HashMap<Placeholder, String>,
    run: String,
}

/// A part of a recorded text.
enum RecordedPiece<'t> {
    Plain(&'t str),
    Secret,
    Value(Placeholder),
    /// The `<` and `\` of a text that only looks like a placeholder. They represent a `<`.
    Escaped,
}

fn pieces(text: &str) -> Vec<(Range<usize>, RecordedPiece<'_>)> {
    let mut pieces = vec![];
    let (mut from, mut at) = (0, 0);
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(['<', '*'])) {
        at += offset;
        let rest = text.get(at..).unwrap_or_default();
        let stars = rest.bytes().take_while(|byte| *byte == b'*').count();
        let found = match Placeholder::at_start(rest) {
            Some((placeholder, length)) => Some((RecordedPiece::Value(placeholder), length)),
            None if rest.starts_with("<\\") && looks_like(rest, |text| text == RUN || is_placeholder(text)) => {
                Some((RecordedPiece::Escaped, 2))
            }
            None => (stars >= SECRET.len()).then_some((RecordedPiece::Secret, stars)),
        };
        let Some((piece, length)) = found else {
            at += stars.max(1);
            continue;
        };
        if from < at {
            pieces.push((from..at, RecordedPiece::Plain(text.get(from..at).unwrap_or_default())));
        }
        pieces.push((at..at + length, piece));
        at += length;
        from = at;
    }
    if from < text.len() {
        pieces.push((from..text.len(), RecordedPiece::Plain(text.get(from..).unwrap_or_default())));
    }
    pieces
}

/// Compares a recorded value with a current request.
struct RecordedComparison<'a> {
    redactor: &'a Redactor,
    lengths: &'a Map<String, Value>,
    found: Bindings,
}

impl RecordedComparison<'_> {
    fn fits(&mut self, recorded: &Value, asked: &Value) -> bool {
        match (recorded, asked) {
            (Value::String(recorded), Value::String(asked)) => self.fits_text(recorded, asked),
            (Value::String(recorded), Value::Number(asked)) => {
                let asked = asked.to_string();
                let place = whole_number(self.redactor, &asked);
                match pieces(recorded).as_slice() {
                    [(_, RecordedPiece::Value(placeholder))] if placeholder.is_number => {
                        let plain = Placeholder { is_number: false, ..placeholder.clone() };
                        self.value_length(&plain, &asked, place.as_ref()) == Some(asked.len())
                    }
                    [(_, RecordedPiece::Secret)] => place.is_some_and(|place| place.kind.is_none()),
                    _ => false,
                }
            }
            (Value::Array(recorded), Value::Array(asked)) => {
                recorded.len() == asked.len() && recorded.iter().zip(asked).all(|(one, two)| self.fits(one, two))
            }
            (Value::Object(recorded), Value::Object(asked)) => {
                let mut pairs = recorded.iter().zip(asked);
                recorded.len() == asked.len() && pairs.all(|((name, one), (other, two))| self.fits_text(name, other) && self.fits(one, two))
            }
            _ => recorded == asked,
        }
    }

    fn fits_text(&mut self, recorded: &str, asked: &str) -> bool {
        let asked = &named_run(asked, &self.found.run);
        let places = self.redactor.places(asked);
        let mut at = 0;
        for (_, piece) in pieces(recorded) {
            let Some(rest) = asked.get(at..) else { return false };
            let length = match &piece {
                RecordedPiece::Plain(text) => rest.starts_with(text).then_some(text.len()),
                RecordedPiece::Escaped => rest.starts_with('<').then_some(1),
                RecordedPiece::Secret => secret_length(asked, at, &places),
                RecordedPiece::Value(placeholder) => {
                    self.value_length(placeholder, rest, places.iter().find(|place| place.range.start == at))
                }
            };
            let Some(length) = length else { return false };
            at += length;
        }
        at == asked.len()
    }

    /// The length of the text at the beginning of `rest` that matches a placeholder. `place` is the personal value that is known to be there.
    fn value_length(&mut self, placeholder: &Placeholder, rest: &str, place: Option<&PersonalPlace>) -> Option<usize> {
        let late = self.lengths.get(&placeholder.written()).and_then(Value::as_u64);
        let of_kind = place.filter(|place| place.kind.map(PiiKind::word) == Some(placeholder.kind));
        // A value that was known only later may begin with one that is known now.
        let known = of_kind.filter(|place| {
            let raw = rest.get(..place.range.len()).unwrap_or_default();
            late.is_none_or(|late| raw.chars().count() as u64 >= late)
        });
        let Some(place) = known else { return self.unmarked_length(placeholder, rest, late) };
        let Bindings { whole, numbers, exact, .. } = &mut self.found;
        if *numbers.entry(placeholder.id()).or_insert(place.number) != place.number {
            return None;
        }
        whole.entry(placeholder.id()).or_insert_with(|| place.whole.clone());
        let raw = rest.get(..place.range.len())?;
        (exact.entry(placeholder.clone()).or_insert_with(|| raw.to_owned()) == raw).then_some(raw.len())
    }

    /// The length of the text that matches a placeholder where nothing is known to be personal: another placeholder, from an answer whose values are
    /// lost, or a value of `late` characters that becomes known only later.
    fn unmarked_length(&mut self, placeholder: &Placeholder, rest: &str, late: Option<u64>) -> Option<usize> {
        if let Some((_, length)) = Placeholder::at_start(rest).filter(|(other, _)| other.kind == placeholder.kind) {
            return Some(length);
        }
        if let Some(known) = self.found.exact.get(placeholder) {
            return rest.starts_with(known.as_str()).then_some(known.len());
        }
        let end = rest.char_indices().map(|(at, _)| at).chain([rest.len()]).nth(late? as usize)?;
        let value = rest.get(..end)?.to_owned();
        if placeholder.whole() == *placeholder {
            self.found.whole.insert(placeholder.id(), value.clone());
        }
        self.found.exact.insert(placeholder.clone(), value);
        Some(end)
    }
}

impl Bindings {
    /// Compares a recorded value with a current request; `None` if they differ. `lengths` holds the lengths in characters of values that were not
    /// known to be personal when the request was recorded, by their placeholder.
    pub fn compare(recorded: &Value, asked: &Value, redactor: &Redactor, run: &str, lengths: &Map<String, Value>) -> Option<Bindings> {
        let found = Bindings { run: run.to_owned(), ..Bindings::default() };
        let mut comparison = RecordedComparison { redactor, lengths, found };
        comparison.fits(recorded, asked).then_some(comparison.found)
    }

    /// Adds values that only the recording knows, so that nothing is lost.
    pub fn with(mut self, used: &BTreeMap<Placeholder, (String, String)>) -> Bindings {
        for (placeholder, (raw, _)) in used {
            self.exact.entry(placeholder.clone()).or_insert_with(|| raw.clone());
        }
        self
    }

    /// Adds the values of placeholders that did not occur in the request, by their origin.
    pub fn know(&mut self, origins: &Map<String, Value>, values: &BTreeMap<String, String>) {
        for (written, origin) in origins {
            let value = origin.as_str().and_then(|origin| values.get(origin));
            if let (Some((placeholder, _)), Some(value)) = (Placeholder::at_start(written), value) {
                self.whole.entry(placeholder.id()).or_insert_with(|| value.clone());
            }
        }
    }

    /// Restores the known values in a recorded answer.
    pub(crate) fn restored(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let restored = self.restored_text(text);
                let is_number = Placeholder::at_start(text).is_some_and(|(p, length)| p.is_number && length == text.len());
                let number = is_number.then(|| serde_json::from_str::<serde_json::Number>(&restored).ok()).flatten();
                number.map_or(Value::String(restored), Value::Number)
            }
            Value::Array(list) => Value::Array(list.iter().map(|value| self.restored(value)).collect()),
            Value::Object(map) => Value::Object(map.iter().map(|(key, value)| (self.restored_text(key), self.restored(value))).collect()),
            other => other.clone(),
        }
    }

    /// Restores the known values in a recorded text.
    pub(crate) fn restored_text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for (range, piece) in pieces(text) {
            let written = text.get(range).unwrap_or_default();
            match piece {
                RecordedPiece::Value(placeholder) => {
                    let plain = Placeholder { is_number: false, ..placeholder };
                    let whole = || self.whole.get(&plain.id()).and_then(|whole| plain.text_of(whole));
                    out.push_str(&self.exact.get(&plain).cloned().or_else(whole).unwrap_or_else(|| written.to_owned()));
                }
                RecordedPiece::Plain(text) if self.run.is_empty() => out.push_str(text),
                RecordedPiece::Plain(text) => out.push_str(&text.replace(RUN, &self.run)),
                RecordedPiece::Secret => out.push_str(written),
                RecordedPiece::Escaped => out.push('<'),
            }
        }
        out
    }
}

/// The length of a secret including adjacent asterisks, which a recording does not separate from it.
fn secret_length(asked: &str, from: usize, places: &[PersonalPlace]) -> Option<usize> {
    let (mut at, mut has_secret) = (from, false);
    while let Some(rest) = asked.get(at..) {
        let secret = places.iter().find(|place| place.range.start == at && place.kind.is_none());
        match secret {
            Some(place) => (at, has_secret) = (place.range.end, true),
            None if rest.starts_with('*') => at += 1,
            None => break,
        }
    }
    (has_secret || at - from >= SECRET.len()).then_some(at - from)
}

/// Removes the numbers of placeholders, to show how two texts differ.
pub(crate) fn unnumbered(text: &str) -> String {
    let shown = |(range, piece): (Range<usize>, RecordedPiece)| match piece {
        RecordedPiece::Value(placeholder) => format!("<{}>", placeholder.kind),
        RecordedPiece::Escaped => "<".to_owned(),
        RecordedPiece::Plain(_) | RecordedPiece::Secret => text.get(range).unwrap_or_default().to_owned(),
    };
    pieces(text).into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests;
