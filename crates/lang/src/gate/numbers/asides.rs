//! What of a text holds digits and states no amount: the numbers of lists and of notes, the addresses of links, and a few fixed names.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Names whose digits count nothing; in this case alone, as `3d` is a span and `5g` a weight.
const FIXED: &str =
    "(?:t|kg|g)?CO2(?:e|eq)?|H2O|CH4|N2O|NO2|SO2|NH3|O2|O3|B2B|B2C|B2G|C2C|D2C|P2P|E2E|MP3|MP4|G7|G20|2D|3D|4G|5G|24/7|COVID-19|Covid-19";

/// What an address is made of; brackets belong to it in pairs.
const URL: &str = "[A-Za-z0-9._~:/?#@!$&+=%,;^'-]";

/// Where they stand in a text in [`fn@super::normal`] form.
pub(super) fn asides(text: &str) -> Vec<Range<usize>> {
    [list_numbers(text), notes(text), places(text)].concat()
}

/// The numbers of lists: at the start of a line, before `.` or `)` and a space, from 1 on one by one; not the day of `1. 11. 2026`.
fn list_numbers(text: &str) -> Vec<Range<usize>> {
    static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?m)^[ \t>*_#-]{0,16}(?<number>[0-9]{1,6})[.)][*_]{0,3}(?:[ \t](?<date>[0-9]{1,2}\.\x20?[0-9]{4}\b)?|$)").ok()
    });
    let mut last = 0;
    let mut found = vec![];
    for captures in NUMBER.as_ref().map(|pattern| pattern.captures_iter(text)).into_iter().flatten() {
        let Some(number) = captures.name("number").filter(|_| captures.name("date").is_none()) else { continue };
        let now: u32 = number.as_str().parse().unwrap_or_default();
        if now == 1 || last > 0 && now == last + 1 {
            last = now;
            found.push(number.range());
        }
    }
    found
}

/// The marks of notes: `[^2]`, what stands right behind a word (`hours[2]`), and elsewhere those that count from 1 (`so [1]`). A bracket before an
/// address holds words.
fn notes(text: &str) -> Vec<Range<usize>> {
    static NOTE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?<behind>[\p{Alphabetic}0-9.;!?)\]"'%€*_])?\[(?<mark>\^[0-9]{1,6}|(?<first>[0-9]{1,2})(?:,\x20?[0-9]{1,2})*)\](?<link>\()?"#).ok()
    });
    let mut last = 0;
    let mut found = vec![];
    let mut at = 0;
    while let Some(captures) = NOTE.as_ref().and_then(|note| note.captures_at(text, at)) {
        let Some(mark) = captures.name("mark") else { break };
        // The bracket that closes one note may be what the next one stands behind.
        at = mark.end();
        let now: u32 = captures.name("first").and_then(|first| first.as_str().parse().ok()).unwrap_or_default();
        let is_note = mark.as_str().starts_with('^') || captures.name("behind").is_some() || (1..=last + 1).contains(&now);
        if is_note && captures.name("link").is_none() {
            last = last.max(now);
            found.push(mark.range());
        }
    }
    found
}

/// The addresses of links, and fixed names that are no part of a date or a longer number.
fn places(text: &str) -> Vec<Range<usize>> {
    static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(&format!(r"(?i:\bhttps?://|\bwww\.)(?:{URL}|\({URL}*\))+|\b(?<fixed>{FIXED})\b(?<more>[./,][0-9]+)?")).ok()
    });
    let all = PLACE.as_ref().map(|place| place.captures_iter(text)).into_iter().flatten();
    all.filter(|found| found.name("more").is_none()).map(|found| found.get_match().range()).collect()
}
