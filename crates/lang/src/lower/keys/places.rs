//! All places that keys stand in, and what a key takes in words: for people who ask for a key.

use super::{
    CASE, CASE_STEPS, CHANNEL, DEFINITIONS, EVERY_STEP, FIELD, KINDS, KeyRule, KeyTable, MOCK_ERROR, PIPELINE, PROJECT_SETTINGS, PROVIDERS,
    REPLIES, REPLY, SCHEMA_INPUTS, STEP, STYLE_GUIDE, TEST, TOOL_KINDS, Takes, Thing, USER_SETTINGS,
};
use crate::diagnostic::listed;

/// Every place that keys may stand in, each once: the files first, then what stands in them.
fn places() -> Vec<&'static KeyTable> {
    let files = [&PIPELINE, &DEFINITIONS, &CHANNEL, &STYLE_GUIDE, &TEST, &REPLIES, &PROJECT_SETTINGS, &USER_SETTINGS];
    let parts = [&EVERY_STEP, &STEP, &CASE, &CASE_STEPS, &FIELD, &REPLY, &MOCK_ERROR, &SCHEMA_INPUTS];
    places_from(files.into_iter().chain(parts).chain([KINDS, TOOL_KINDS, PROVIDERS].concat()).collect())
}

/// These places, and all that stand in them, each once.
pub(crate) fn places_from(mut places: Vec<&'static KeyTable>) -> Vec<&'static KeyTable> {
    let mut at = 0;
    while let Some(place) = places.get(at) {
        for inner in place.keys.iter().flat_map(|key| inside(&key.takes)) {
            if !places.iter().any(|known| std::ptr::eq(*known, inner)) {
                places.push(inner);
            }
        }
        at += 1;
    }
    places
}

fn inside(takes: &'static Takes) -> Vec<&'static KeyTable> {
    match takes {
        Takes::Keys(place) => vec![place],
        Takes::Either(several) => several.iter().flat_map(inside).collect(),
        other => other.each().map(inside).unwrap_or_default(),
    }
}

/// The keys of a name, each with the place it stands in: `retry`, or in one place alone `retry.delay`, `step.when`.
pub fn keys_named(name: &str) -> Vec<(&'static KeyTable, &'static KeyRule)> {
    let (of, key) = name.rsplit_once('.').map_or((None, name), |(of, key)| (Some(of.rsplit('.').next().unwrap_or(of)), key));
    let all = places().into_iter().filter(|place| of.is_none_or(|of| place.name == of));
    all.filter_map(|place| Some((place, place.key(key)?))).collect()
}

/// The names of all keys, each once.
pub fn key_names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&'static str> = places().iter().flat_map(|place| place.keys).map(|key| key.name).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}

impl Takes {
    /// What a key takes, in words.
    pub fn in_words(&self) -> String {
        let said = match self {
            Takes::Sentence => "a text, taken as it is",
            Takes::Fixed => "a text that is fixed before the run",
            Takes::Template => "a text, with {{ … }} for values",
            Takes::Loose => "a text, a number, true or false, with {{ … }} for values",
            Takes::Request => "a method and an address, with {{ … }} for values",
            Takes::Expression => "an expression, without {{ }}",
            Takes::Id => "a new id: letters, digits and _",
            Takes::Name => "a name",
            Takes::Path => "a path, relative to the file it stands in",
            Takes::Program => "the name of a program, or its absolute path",
            Takes::Whole => "a whole number, 0 or more",
            Takes::Limit => "a whole number, 1 or more",
            Takes::Number => "a number",
            Takes::Positive => "a number above 0",
            Takes::Boolean => "true or false",
            Takes::True => "true",
            Takes::Duration => "a time with its unit, such as 5s",
            Takes::Size => "a size with its unit, such as 10MB",
            Takes::Moment => "a time to wait, or a date and time with a time zone",
            Takes::Language => "a language, two small letters",
            Takes::Zone => "a time zone, such as Europe/Berlin",
            Takes::Version => "1",
            Takes::Value => "any value, with {{ … }} in its texts",
            Takes::Constant => "any value, taken as it is",
            Takes::Fields => "fields by name, each a type or its rules",
            Takes::Field => "a type such as text, or the rules of a field",
            Takes::Schema => "a JSON Schema, or { file }",
            Takes::Steps => "a list of steps",
            Takes::Otherwise => "one step without an id, or { steps }",
            Takes::Replies => "replies: a text, or keys such as text, data, calls, error",
            Takes::Mock => "an output, or { error }",
            Takes::Expected => "a value to compare with, or checks",
            Takes::Secrets => "names of secrets, each with a sentence",
            Takes::Environment => "names of variables, each with a text",
            Takes::Of(thing) => return format!("the name of {}", named(*thing)),
            Takes::Word(words) => return format!("one of {}", words.join(", ")),
            Takes::Keys(place) => return format!("keys: {}", place.keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")),
            Takes::Named(each) | Takes::Defined(each) => return format!("names of your own, each with {}", each.in_words()),
            Takes::List(each) | Takes::Filled(each) => return format!("a list, each element {}", each.in_words()),
            Takes::Many(each) => return format!("{}, or a list of these", each.in_words()),
            Takes::Either(several) => return listed(&several.iter().map(Takes::in_words).collect::<Vec<_>>(), "or"),
        };
        said.to_owned()
    }
}

fn named(thing: Thing) -> String {
    let word: &str = thing.into();
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { format!("an {word}") } else { format!("a {word}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_name_and_in_its_place() {
        let places = |name: &str| keys_named(name).into_iter().map(|(place, _)| place.name).collect::<Vec<_>>();
        assert_eq!(places("retry.delay"), ["retry"]);
        assert_eq!(places("too_long"), ["channel", "channel in one language"]);
        assert!(places("timeout").len() > 2);
        assert_eq!(places("nowhere"), [""; 0]);
        assert!(key_names().count() > 200);
    }

    #[test]
    fn every_key_says_what_it_takes_in_one_short_line() {
        for place in super::places() {
            for key in place.keys {
                let takes = key.takes.in_words();
                assert!(!takes.is_empty() && takes.len() < 1_200 && !takes.contains('\n'), "{}.{}: {takes}", place.name, key.name);
            }
        }
    }
}
