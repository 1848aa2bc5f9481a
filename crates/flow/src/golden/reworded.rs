//! Texts with errors that a model might make and no rule of form detects: other figures, another subject, another person, a negation.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use whatlang::{Lang, Script, detect};

/// Friendly sentences, without figures, on subjects that few texts are about.
const ENGLISH_TOPICS: [&str; 2] = [
    "The roses behind the castle are in bloom, and the bakery by the pond brings fresh pies for everybody who strolls along.",
    "The choir sings old sailor songs in the lighthouse, and everybody who likes music is welcome to join them for soup.",
];
const SPANISH_TOPICS: [&str; 2] = [
    "Las rosas detrás del castillo están en flor, y la panadería del estanque trae tartas recientes para quien pasee por allí.",
    "El coro canta viejas canciones de marineros en el faro, y quien ama la música está invitado a quedarse para la sopa.",
];
/// Names of people who occur in no data.
const NAMES: [&str; 3] = ["Nora Lindqvist", "Felix Moreau", "Ingrid Castell"];
/// Words of nearly every English text that related languages do not have.
const ENGLISH_WORDS: [&str; 12] = ["the", "you", "your", "you've", "and", "this", "that", "there", "our", "they", "from", "with"];
/// Minimum number of letters needed to detect a language.
const FEWEST_LETTERS: usize = 30;

/// The language of a text, as far as this module can generate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    /// English, or a text that is too short to decide.
    English,
    Spanish,
    Another,
}

pub(super) fn tongue(text: &str) -> Tongue {
    let Some(found) = detect(text).filter(|found| found.lang() != Lang::Eng && !has_english_words(text)) else { return Tongue::English };
    let is_long = text.chars().filter(|c| c.is_alphabetic()).count() >= FEWEST_LETTERS;
    match found.lang() {
        Lang::Spa => Tongue::Spanish,
        _ if found.script() != Script::Latin || is_long && found.is_reliable() => Tongue::Another,
        _ => Tongue::English,
    }
}

/// Whether a text has words that are rare in texts of other languages.
pub(super) fn has_english_words(text: &str) -> bool {
    text.to_lowercase().split(|c: char| !c.is_alphabetic() && c != '\'').any(|word| ENGLISH_WORDS.contains(&word))
}

/// Returns a text about another subject.
pub(super) fn other_topic(text: &str) -> Option<&'static str> {
    let topics = match tongue(text) {
        Tongue::English => ENGLISH_TOPICS,
        Tongue::Spanish => SPANISH_TOPICS,
        Tongue::Another => return None,
    };
    let text = text.to_lowercase();
    let shared = |topic: &&str| {
        topic.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 4 && text.contains(&word.to_lowercase())).count()
    };
    topics.into_iter().min_by_key(shared)
}

/// Returns `topic` with the figures of `text` added.
pub(super) fn with_figures(topic: &str, text: &str) -> Option<String> {
    let found: Vec<&str> = own_figures(text, &WRITTEN).into_iter().filter_map(|range| text.get(range)).collect();
    let (ask, and) = if tongue(text) == Tongue::Spanish { ("Pregunte por", " y ") } else { ("Ask for", " and ") };
    (!found.is_empty()).then(|| format!("{topic} {ask} {}.", found.join(and)))
}

/// Replaces the name of `person` (in full or its first word) with another name; if the text has none, adds a sentence with one.
pub(super) fn other_name(text: &str, person: &str, data: &Value) -> Option<String> {
    let known = format!("{text} {person} {data}").to_lowercase();
    let other = NAMES.into_iter().find(|name| name.to_lowercase().split(' ').all(|part| !known.contains(part)))?;
    let first = |name: &str| name.split_whitespace().next().unwrap_or_default().to_owned();
    let whole = if person.trim().contains(' ') { other.to_owned() } else { first(other) };
    let renamed = replace_words(&replace_words(text, person.trim(), &whole), &first(person), &first(other));
    if renamed != text {
        return Some(renamed);
    }
    let is_for = if tongue(text) == Tongue::Spanish { "Esto es para" } else { "This is for" };
    Some(format!("{}\n\n{is_for} {other}.\n", text.trim_end()))
}

/// Replaces whole words only.
fn replace_words(text: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(old).filter(|_| !old.is_empty()) {
        let (before, from) = rest.split_at(at);
        let after = from.strip_prefix(old).unwrap_or_default();
        let is_inside = out.chars().chain(before.chars()).next_back().is_some_and(char::is_alphanumeric);
        out.push_str(before);
        out.push_str(if is_inside || after.starts_with(char::is_alphanumeric) { old } else { new });
        rest = after;
    }
    out + rest
}

/// A figure in a text, with its decimals.
static FIGURE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[0-9]+(?:[.,:][0-9]+)*").ok());
/// A figure as a whole, including dates and numbers with spaces between thousands.
static WRITTEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?|[0-9]{1,3}(?:[\u{a0}\u{202f} ][0-9]{3}\b)+(?:[.,][0-9]+)?|[0-9]+(?:[.,:][0-9]+)*").ok()
});

fn matches(text: &str, pattern: &Option<Regex>) -> Vec<Range<usize>> {
    pattern.as_ref().map(|pattern| pattern.find_iter(text).map(|found| found.range()).collect()).unwrap_or_default()
}

/// Returns all figures of a text.
pub(super) fn figures(text: &str) -> Vec<Range<usize>> {
    matches(text, &FIGURE)
}

/// Returns the figures that do not number a list.
fn own_figures(text: &str, pattern: &Option<Regex>) -> Vec<Range<usize>> {
    let is_own = |range: &Range<usize>| {
        let (before, after) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
        let starts_line = before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        !(starts_line && after.starts_with(['.', ')']))
    };
    matches(text, pattern).into_iter().filter(is_own).collect()
}

/// Replaces the first figure that does not number a list with one that occurs neither in the data nor in the text.
pub(super) fn changed(draft: &str, data: &Value) -> Option<String> {
    let found = own_figures(draft, &FIGURE).into_iter().next()?;
    let data = data.to_string();
    let whole: u64 = draft.get(found.clone())?.split(['.', ',', ':']).next()?.parse().ok()?;
    let is_new = |figure: &String| !data.contains(figure.as_str()) && !draft.contains(figure.as_str());
    let other = (1..1000).filter_map(|more| whole.checked_add(more)).map(|figure| figure.to_string()).find(is_new)?;
    let mut text = draft.to_owned();
    text.replace_range(found, &other);
    Some(text)
}

/// Exchanges the first two different figures. Of an enumeration in which the order does not matter ("rooms 2 and 3"), only one is used.
pub(super) fn swapped(text: &str) -> Option<String> {
    let figures = own_figures(text, &WRITTEN);
    let written = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
    let mut rows = 0;
    let mut row_of = vec![0];
    for pair in figures.windows(2) {
        let [one, other] = pair else { continue };
        let (between, after) = (text.get(one.end..other.start).unwrap_or_default(), text.get(other.end..).unwrap_or_default());
        rows += usize::from(!is_row(between, after));
        row_of.push(rows);
    }
    let number = |range: &Range<usize>| written(range).replace(',', ".").parse::<f64>().ok();
    let differ = |a: &Range<usize>, b: &Range<usize>| written(a) != written(b) && (number(a).is_none() || number(a) != number(b));
    let numbered: Vec<_> = figures.iter().zip(row_of).collect();
    let mut pairs = numbered.iter().enumerate().flat_map(|(at, one)| numbered.iter().skip(at + 1).map(move |other| (one, other)));
    let ((one, _), (other, _)) = pairs.find(|(one, other)| one.1 != other.1 && differ(one.0, other.0))?;
    let mut out = text.to_owned();
    out.replace_range((*other).clone(), written(one));
    out.replace_range((*one).clone(), written(other));
    Some(out)
}

/// Whether two figures with these texts between and after them form an enumeration: "2 and 3", "8 hours and 7 hours".
fn is_row(between: &str, after: &str) -> bool {
    let between = between.trim();
    let unit = [" and", " or", " y", " o", ",", ";", "&", "+"].iter().find_map(|joint| between.strip_suffix(joint.trim_start()));
    unit.is_some_and(|unit| after.trim_start().starts_with(unit.trim().trim_end_matches(',')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_changed_figure_is_one_that_the_data_do_not_have() {
        let data = json!({ "facts": { "logged": 32, "other": 33 } });
        assert_eq!(changed("You logged 32.5 of 40 hours.", &data).unwrap(), "You logged 34 of 40 hours.");
        assert_eq!(changed("1. First\n2. Then 7 hours", &data).unwrap(), "1. First\n2. Then 8 hours");
        assert_eq!(changed("Nothing.", &data), None);
    }

    #[test]
    fn two_figures_are_exchanged_where_that_says_something_else() {
        for (text, wanted) in [
            ("You logged **32** of 40 hours, 8 are left.", "You logged **40** of 32 hours, 8 are left."),
            ("1. Open from 9:00 to 17:30.", "1. Open from 17:30 to 9:00."),
            ("32 of 32.0 hours and 8 left", "8 of 32.0 hours and 32 left"),
            ("On 2026-11-16 it was 50 degrees.", "On 50 it was 2026-11-16 degrees."),
            ("1 250.5 of 2 000 pieces", "2 000 of 1 250.5 pieces"),
            ("Rooms 2, 3 and 5 are free for 4 hours.", "Rooms 4, 3 and 5 are free for 2 hours."),
            ("8 hours on Monday and 7 hours on Tuesday", "7 hours on Monday and 8 hours on Tuesday"),
            ("32/40", "40/32"),
        ] {
            assert_eq!(swapped(text).unwrap(), wanted);
        }
        for text in
            ["", "Nothing.", "7 of 7", "7 of 7.0", "1. Only 7 hours\n2. None", "Rooms 2, 3 and 5", "You logged 8 hours and 7 hours."]
        {
            assert_eq!(swapped(text), None, "{text}");
        }
    }

    #[test]
    fn another_topic_is_told_in_the_language_of_the_text() {
        assert_eq!(other_topic("You logged 32 of 40 hours."), Some(ENGLISH_TOPICS[0]));
        assert_eq!(other_topic("The roses of the castle need water."), Some(ENGLISH_TOPICS[1]));
        assert_eq!(other_topic("28"), Some(ENGLISH_TOPICS[0]));
        let spanish = "Esta semana ha registrado 32 de las 40 horas de su objetivo.";
        assert_eq!(other_topic(spanish), Some(SPANISH_TOPICS[0]));
        assert_eq!(with_figures("Hola.", spanish).unwrap(), "Hola. Pregunte por 32 y 40.");
        assert_eq!(with_figures("Hi.", "1. It was 9:30 on 2026-11-16.").unwrap(), "Hi. Ask for 9:30 and 2026-11-16.");
        assert_eq!(with_figures("Hi.", "1. It was late."), None);
        assert_eq!(other_topic("Sie haben in dieser Woche 32 von 40 Stunden erfasst, es fehlen noch einige."), None);
        assert_eq!(other_topic("Καλημέρα"), None);
        let topics = || ENGLISH_TOPICS.into_iter().chain(SPANISH_TOPICS);
        assert!(topics().all(|topic| figures(topic).is_empty()));
        assert!(ENGLISH_TOPICS.iter().all(|topic| detect(topic).unwrap().lang() == Lang::Eng));
        assert!(SPANISH_TOPICS.iter().all(|topic| detect(topic).unwrap().lang() == Lang::Spa));
    }

    #[test]
    fn another_person_is_one_that_neither_text_nor_data_know() {
        let none = json!(null);
        assert_eq!(other_name("Hi Ana Diaz, Ana!", "Ana Diaz", &none).unwrap(), "Hi Nora Lindqvist, Nora!");
        assert_eq!(other_name("Hi Ana!", "Ana", &none).unwrap(), "Hi Nora!");
        assert_eq!(other_name("Ask Anaïs.", "Ana Diaz", &none).unwrap(), "Ask Anaïs.\n\nThis is for Nora Lindqvist.\n");
        assert_eq!(other_name("Hello.\n", "", &json!({ "team": ["nora"] })).unwrap(), "Hello.\n\nThis is for Felix Moreau.\n");
        assert!(
            other_name("Esta semana ha registrado pocas horas, y todavía le faltan muchas.", "", &none)
                .unwrap()
                .contains("Esto es para Nora")
        );
        assert_eq!(other_name("Nora, Felix and Ingrid", "", &none), None);
    }
}
