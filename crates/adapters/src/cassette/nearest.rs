//! The report for a call without a recording: the most similar recording, and how it differs.

use std::collections::HashMap;

use serde_json::Value;
use similar::{Algorithm, DiffTag, DiffableStr, capture_diff_slices};

use super::comparable;
use super::folder::{Recording, Steps};
use super::placeholder::unnumbered;
use crate::diagnostic;

/// Number of words, and spaces between them, shown on each side of a change.
const AROUND: usize = 12;
/// Maximum length of a difference, in characters.
const LONGEST: usize = 900;
/// How much of a request is compared to find the most similar recording, in bytes.
const COMPARED: usize = 20_000;
/// How many words, and spaces between them, are compared from the first difference on. This limits the time.
const COMPARED_WORDS: usize = 2_000;
/// Maximum number of differences reported.
const MOST_TOLD: usize = 3;

/// The sentence for a call that has no matching recording. `asked` is masked.
pub fn sentence(steps: &Steps, step: &str, call: u64, asked: &Value) -> String {
    let own = steps.get(step).map(Vec::as_slice).unwrap_or_default();
    if let Some(same) = own.iter().find(|recording| recording.call == call) {
        return format!("call {call} of step \"{step}\" was recorded with another request: {}", difference(&same.asked, asked));
    }
    let none = format!("no recording of call {call} of step \"{step}\"");
    let all = steps.iter().flat_map(|(step, list)| list.iter().map(move |recording| (step, recording)));
    let of_kind = all.filter(|(_, recording)| recording.asked["to"] == asked["to"]);
    let near = |(other, recording): &(&String, &Recording)| (likeness(asked, &recording.asked), *other == step);
    let rated = of_kind.map(|found| (near(&found), found));
    let nearest = rated.max_by(|(one, _), (two, _)| one.0.total_cmp(&two.0).then(one.1.cmp(&two.1)));
    match nearest {
        None => format!("{none}, and of no other like it"),
        Some((_, (other, recording))) => {
            let how = difference(&recording.asked, asked);
            format!("{none}; the nearest is call {} of step \"{other}\": {how}", recording.call)
        }
    }
}

/// The share of words that the beginnings of two requests have in common, in any order, from 0 to 1. This is enough to find the most similar
/// recording, and takes no longer than reading both.
fn likeness(one: &Value, two: &Value) -> f64 {
    let counted = |asked: &Value| {
        let whole = leaves(asked).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
        let mut times: HashMap<String, usize> = HashMap::new();
        whole[..whole.floor_char_boundary(COMPARED)].split_whitespace().for_each(|word| *times.entry(word.to_owned()).or_default() += 1);
        times
    };
    let (one, two) = (counted(one), counted(two));
    let common: usize = one.iter().filter_map(|(word, times)| two.get(word).map(|found| found.min(times))).sum();
    2.0 * common as f64 / (one.values().sum::<usize>() + two.values().sum::<usize>()).max(1) as f64
}

/// The first differences between two requests.
fn difference(recorded: &Value, asked: &Value) -> String {
    let (recorded, asked) = (leaves(&comparable(recorded, asked)), leaves(asked));
    let named = |list: &[(String, String)]| list.iter().cloned().collect::<HashMap<_, _>>();
    let (before, now) = (named(&recorded), named(&asked));
    let changed =
        asked.iter().filter(|(name, text)| before.get(name) != Some(text)).map(|(name, text)| (name, before.get(name), Some(text)));
    let gone = recorded.iter().filter(|(name, _)| !now.contains_key(name)).map(|(name, text)| (name, Some(text), None));
    let mut all = changed.chain(gone);
    let first = all.by_ref().take(MOST_TOLD).map(|(name, before, now)| match (before, now) {
        (Some(before), Some(now)) => format!("{name}: {}", words(before, now)),
        (None, now) => format!("{name} is new: {}", shortened(now.map_or("", |now| now), 80)),
        (Some(before), None) => format!("{name} is gone: {}", shortened(before, 80)),
    });
    let told = first.collect::<Vec<_>>().join("; ");
    match (told.is_empty(), all.count()) {
        (true, _) => "it was asked the same".to_owned(),
        (false, 0) => shortened(&told, LONGEST),
        (false, more) => shortened(&format!("{told}; and {more} more"), LONGEST),
    }
}

/// The texts of a request with the names of their places.
fn leaves(value: &Value) -> Vec<(String, String)> {
    let mut found = vec![];
    for (name, inner) in value.as_object().into_iter().flatten() {
        match (name.as_str(), inner) {
            ("messages", Value::Array(messages)) => {
                for (place, message) in messages.iter().enumerate() {
                    let role = message["role"].as_str().unwrap_or_default();
                    for (name, part) in message.as_object().into_iter().flatten().filter(|(name, _)| *name != "role") {
                        let part_of = if name == "text" { String::new() } else { format!(", {name}") };
                        found.push((format!("message {} ({role}){part_of}", place + 1), plain(part)));
                    }
                }
            }
            (name, inner) => found.push((name.to_owned(), plain(inner))),
        }
    }
    found
}

fn plain(value: &Value) -> String {
    unnumbered(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// The words that changed, with some words around them. Spaces between two changes belong to both.
fn words(before: &str, now: &str) -> String {
    let (before, now) = (before.tokenize_words(), now.tokenize_words());
    let head = before.iter().zip(&now).take_while(|(one, two)| one == two).count();
    let (begin, before, now) = (&before[..head], &before[head..], &now[head..]);
    let tail = before.iter().rev().zip(now.iter().rev()).take_while(|(one, two)| one == two).count();
    let (before, end) = before.split_at(before.len() - tail);
    let (before, now) = (&before[..before.len().min(COMPARED_WORDS)], &now[..(now.len() - tail).min(COMPARED_WORDS)]);
    let mut told = around(begin, 0, AROUND);
    let (mut gone, mut new) = (String::new(), String::new());
    for part in capture_diff_slices(Algorithm::Myers, before, now) {
        let (old, text) = (&before[part.old_range()], now[part.new_range()].concat());
        let is_equal = part.tag() == DiffTag::Equal && !text.trim().is_empty();
        if is_equal {
            told += &(changed(&std::mem::take(&mut gone), &std::mem::take(&mut new)) + &around(old, AROUND, AROUND));
        } else {
            gone += &old.concat();
            new += &text;
        }
    }
    let is_cut = before.len().max(now.len()) == COMPARED_WORDS;
    told += &(changed(&gone, &new) + &if is_cut { "…".to_owned() } else { around(end, AROUND, 0) });
    one_line(&told)
}

fn changed(gone: &str, new: &str) -> String {
    let gone = if gone.is_empty() { String::new() } else { format!("[-{gone}-]") };
    if new.is_empty() { gone } else { format!("{gone}{{+{new}+}}") }
}

/// Equal words between changes: all of them if they are few, otherwise only their beginning and end.
fn around(equal: &[&str], head: usize, tail: usize) -> String {
    let text = |words: &[&str]| words.iter().map(|word| inner_cut(word)).collect::<String>();
    if equal.len() <= head + tail {
        return text(equal);
    }
    format!("{}…{}", text(&equal[..head]), text(&equal[equal.len() - tail..]))
}

/// Shortens a long word, such as a piece of JSON, to its beginning and end.
fn inner_cut(word: &str) -> String {
    const ENDS: usize = 20;
    diagnostic::ends(word, 3 * ENDS, ENDS, ENDS).map_or_else(|| word.to_owned(), |(start, end)| format!("{start}…{end}"))
}

fn one_line(text: &str) -> String {
    text.replace('\n', "⏎")
}

fn shortened(text: &str, most: usize) -> String {
    diagnostic::cut(&one_line(text), most)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::cassette::folder::RecordedAnswer;

    fn asked(text: &str) -> Value {
        json!({ "to": "model", "model": "m", "messages": [{ "role": "system", "text": "Be brief." }, { "role": "user", "text": text }] })
    }

    fn steps(all: &[(&str, u64, &str)]) -> Steps {
        let mut steps = Steps::new();
        for (step, call, text) in all {
            let answer = RecordedAnswer::Reply(json!({}));
            let recording = Recording { call: *call, asked: asked(text), answer, lengths: Map::new(), origins: Map::new() };
            steps.entry((*step).to_owned()).or_default().push(recording);
        }
        steps
    }

    #[test]
    fn a_changed_word_is_shown_with_the_words_around_it() {
        let long = "one two three four five six seven eight nine ten";
        let told =
            sentence(&steps(&[("a", 1, &format!("{long} short answer {long}"))]), "a", 1, &asked(&format!("{long} long answer {long}")));
        assert_eq!(
            told,
            "call 1 of step \"a\" was recorded with another request: message 2 (user): … five six seven eight nine ten [-short-]{+long+} answer one two three four five…"
                .replace("… five", "…five")
        );
    }

    #[test]
    fn words_that_changed_together_stand_together() {
        assert_eq!(words("a b c d e", "a x y d e"), "a [-b c-]{+x y+} d e");
        assert_eq!(words("Keep to one if you can.", "You may use all."), "[-Keep to one if you can.-]{+You may use all.+}");
        assert_eq!(words("one", "one two"), "one{+ two+}");
    }

    #[test]
    fn the_nearest_recording_is_the_one_most_like_it_not_the_first() {
        let steps = steps(&[("a", 1, "Plan my week."), ("b", 1, "Write a poem of four lines about rain.")]);
        let told = sentence(&steps, "c", 2, &asked("Write a poem of five lines about rain."));
        assert!(
            told.starts_with("no recording of call 2 of step \"c\"; the nearest is call 1 of step \"b\": message 2 (user): "),
            "{told}"
        );
        assert!(told.contains("[-four-]{+five+}"), "{told}");
        let told = sentence(&steps, "a", 2, &asked("Plan my week."));
        assert!(told.ends_with("the nearest is call 1 of step \"a\": it was asked the same"), "{told}");
        assert!(sentence(&Steps::new(), "a", 1, &asked("x")).ends_with("and of no other like it"));
    }

    #[test]
    fn a_change_far_inside_a_long_text_is_shown_and_long_texts_are_not_compared_whole() {
        let long = "The quick brown fox jumps over the lazy dog äöü. ".repeat(2_000);
        let told = words(&format!("{long}Say yes. {long}"), &format!("{long}Say no. {long}"));
        assert!(told.contains("[-yes.-]{+no.+}") && told.starts_with('…') && told.ends_with('…') && told.len() < 300, "{told}");
        // Nothing in common: what is compared is bounded, so that this ends at once.
        let other = (0..20_000).map(|n| format!("w{n} ")).collect::<String>();
        let told = words(&long, &other);
        assert!(told.contains("[-The quick") && told.ends_with('…'), "{}", &told[..200]);
        assert!(told.len() < 20_000);
        let steps = steps(&[("a", 1, &long), ("b", 1, &other)]);
        assert!(sentence(&steps, "c", 1, &asked(&format!("{other} and more"))).contains("call 1 of step \"b\""));
    }

    #[test]
    fn other_settings_and_new_messages_are_named() {
        let recorded = steps(&[("a", 1, "Hi")]);
        let mut now = asked("Hi");
        now["model"] = json!("n");
        now["temperature"] = json!(0.5);
        now["messages"].as_array_mut().unwrap().remove(1);
        let told = sentence(&recorded, "a", 1, &now);
        assert!(told.ends_with("model: [-m-]{+n+}; temperature is new: 0.5; message 2 (user) is gone: Hi"), "{told}");
    }
}
