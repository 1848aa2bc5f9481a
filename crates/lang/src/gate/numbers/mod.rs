//! `numbers_from`: every figure of a text occurs in a value, as a number or inside its texts.
//!
//! The way: [`normal`](normal::normal) gives text and value one form, [`scan`] finds the figures of both, [`key`] says what each asks
//! for (in the text) or gives (in the value), and what is asked for but not given is reported. What counts:
//! - A number is its value: `32`, `32.0`, `"32"`; `1,250.5`, `1.250,5` and `1 250.5`. A single mark before three digits may part
//!   thousands or a fraction; either will do. A [`minus`] or plus must be there in both; a number without one also fits its negative ("5
//!   hours less"). A percentage occurs only if it is in the value. What multiplies a number belongs to it: `3k` is 3000 and no 3, `1.2 million`
//!   is 1200000, and `1.5 × 10^6` is 1500000, in text and value; in a range (`5–10 million`) it multiplies both. The words are in [`scale`].
//! - A date is a date, however written: `16 November`, `Nov 16th`, `16.11.2026` and `11/16` are `2026-11-16`; months are known in
//!   English, German, French, Spanish and Italian. So is a time: `9:30 pm` is `21:30`. The day of such a date also counts beside a
//!   weekday (`Mon 16`) and as `16th`, but `16 hours` needs a 16 of its own. A date or time that does not occur passes if each of its
//!   figures does; so does a phone number.
//! - Digits inside a word (`p7`, `40h`) count if that word occurs, else as figures. Figures inside [`names`] of fields count only as those names.
//! - The text is read twice: as it is, and [`joined`](joined::joined) as it is shown where its marks have an effect. Numbers in words are not read.
//! - No figures are: the [`asides`](asides::asides) of a text, raised and lowered digits behind a word (`m²`, `CO₂`), the person's name in the greeting,
//!   and what the channel and the style guide add themselves (greeting, sign-off, the sentence of a text cut short).

mod asides;
mod calendar;
mod decimal;
mod joined;
mod key;
mod minus;
mod names;
mod normal;
mod scale;
mod scan;
mod signs;

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use self::asides::asides;
use self::joined::joined;
use self::key::FigureKey;
use self::names::is_named;
use self::normal::normal;
use self::scan::figures;
use super::verdict::{CheckResult, JudgedText, all_occur, listed, place, shortened};
use crate::channel::{Phrases, format, greeting, greets, sign_off};

/// Every figure of the text occurs in the value: of the text as it is, and of what a reader sees where marks and addresses of links are not shown.
pub(super) fn numbers_from(value: &Value, judged: &JudgedText) -> CheckResult {
    let mut known = None;
    let result = all_known(judged.text, value, judged, &mut known);
    // Of a text that nothing formatted, `joined` knows the links.
    let unlinked = judged.formatted.and_then(|_| judged.unlinked());
    let texts = [joined(judged.text), unlinked.as_deref().and_then(joined), unlinked.as_deref().map(str::to_owned)];
    texts
        .into_iter()
        .flatten()
        .fold(result, |result, text| if result.passed { all_known(&text, value, judged, &mut known) } else { result })
}

/// Every figure of this text is one of those of the value, which are read once.
fn all_known(text: &str, value: &Value, judged: &JudgedText, read: &mut Option<HashSet<FigureKey>>) -> CheckResult {
    let text = normal(text);
    let ignored = [added(&text, judged), asides(&text)].concat();
    let mut figures = figures(&without(&text, &ignored));
    if figures.is_empty() {
        return CheckResult::passed();
    }
    let known = read.get_or_insert_with(|| known(value));
    figures.retain(|figure| {
        let is_amount = minus::is_amount(&text, &figure.range);
        !figure.meaning.needs.iter().all(|need| need.is_met(known, is_amount)) && !is_named(&text, &figure.range, known)
    });
    let Some(first) = figures.first() else { return CheckResult::passed() };
    let mut missing: Vec<String> = vec![];
    let mut told: HashSet<&str> = HashSet::new();
    for figure in &figures {
        let written = text.get(figure.range.clone()).unwrap_or_default();
        if told.insert(written) {
            let shown = shortened(written);
            missing.push(if shown.contains(char::is_alphabetic) { format!("\"{shown}\"") } else { shown });
        }
    }
    let (noun, verb) = if missing.len() == 1 { ("figure", "does") } else { ("figures", "do") };
    CheckResult::failed(format!("The {noun} {} {verb} not occur in the data.", listed(&missing)), place(&text, first.range.clone()))
}

/// Every number of the value but 0 occurs in the text as a figure of its own: `4` does not in `40`. Nothing has to be said of 0, and of a
/// value that is empty.
pub(super) fn states_numbers(value: &Value, text: &str) -> CheckResult {
    let said = known(&Value::String(text.to_owned()));
    let mut left = vec![value];
    let mut missing: Vec<String> = vec![];
    while let Some(value) = left.pop() {
        match value {
            Value::Number(number) if number.as_f64() != Some(0.0) => {
                let forms = decimal::of_json(number);
                if !forms.iter().any(|form| FigureKey::Number(form.clone()).is_in(&said, false)) {
                    missing.extend(forms.into_iter().last().filter(|form| !missing.contains(form)));
                }
            }
            Value::Array(list) => left.extend(list.iter().rev()),
            Value::Object(fields) => left.extend(fields.values().rev()),
            _ => {}
        }
    }
    all_occur(&missing, text)
}

/// All that the figures of a value mean: its numbers, and the figures inside its texts and names.
fn known(value: &Value) -> HashSet<FigureKey> {
    let mut known = HashSet::new();
    let mut left = vec![(value, None)];
    while let Some((value, scale)) = left.pop() {
        let keys = match value {
            Value::Null | Value::Bool(_) => vec![],
            Value::Number(number) => {
                let forms = decimal::of_json(number);
                let sizes: Vec<FigureKey> =
                    forms.iter().filter_map(|form| form.strip_prefix('-')).map(|size| FigureKey::Size(size.to_owned())).collect();
                forms.into_iter().map(FigureKey::Number).chain(sizes).collect()
            }
            Value::String(text) => in_text(text),
            Value::Array(list) => {
                left.extend(list.iter().map(|value| (value, scale)));
                vec![]
            }
            Value::Object(map) => {
                left.extend(map.iter().map(|(name, value)| (value, scale::of_name(name).or(scale))));
                map.keys().flat_map(|name| names::of_name(name)).collect()
            }
        };
        let scaled = |(factor, tens)| keys.iter().filter_map(move |key| key.times(factor, tens)).collect::<Vec<_>>();
        known.extend(scale.filter(|_| !value.is_object()).map(scaled).into_iter().flatten());
        known.extend(keys);
    }
    known
}

fn in_text(text: &str) -> Vec<FigureKey> {
    if !text.contains(char::is_numeric) {
        return vec![];
    }
    let texts = [Some(normal(text)), joined(text).map(|text| normal(&text))];
    // Also as a text is read that says the same.
    let read = |text: &String| Some(asides(text)).filter(|asides| !asides.is_empty()).map(|asides| without(text, &asides));
    let all = texts.into_iter().flatten().flat_map(|text| [read(&text), Some(text)]);
    all.flatten().flat_map(|text| figures(&text)).flat_map(|figure| figure.meaning.gives).collect()
}

/// What was added to the text, and is not from the data.
fn added(text: &str, judged: &JudgedText) -> Vec<Range<usize>> {
    let as_sent = |text: String| {
        normal(&judged.channel.and_then(|channel| format(&text, channel, None, None).ok()).map_or_else(|| text.clone(), |sent| sent.plain))
    };
    let is_blank = |text: Option<&str>| !text.unwrap_or_default().contains(char::is_alphanumeric);
    let find = |wanted: &str| Phrases::new([wanted]).find(text).into_iter().map(|(range, _)| range).collect::<Vec<_>>();
    let was_cut = judged.value.get("shortened").is_some_and(|cut| cut == true);
    let start = judged.style.and_then(|style| greeting(style, judged.person_name));
    let ends = [judged.style.and_then(sign_off), judged.channel.filter(|_| was_cut).map(|channel| channel.too_long.clone())];
    let mut found: Vec<Range<usize>> = vec![];
    found.extend(start.and_then(|start| find(&as_sent(start)).into_iter().next()).filter(|range| is_blank(text.get(..range.start))));
    for end in ends.into_iter().flatten() {
        found.extend(find(&as_sent(end)).pop().filter(|range| is_blank(text.get(range.end..))));
    }
    if let Some(name) = judged.person_name.filter(|_| greets(text)) {
        let is_first = |range: &Range<usize>| text.get(..range.start).is_some_and(|head| head.split_whitespace().count() == 1);
        found.extend(find(&normal(name)).into_iter().next().filter(is_first));
    }
    found
}

/// The text with spaces in these places, which lie on characters.
fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut left = text.to_owned();
    for range in ranges {
        left.replace_range(range.clone(), &" ".repeat(range.len()));
    }
    left
}
