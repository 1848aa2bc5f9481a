//! What is told when there is no recording: the one that comes nearest, and how it differs.

use std::collections::HashMap;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::comparable;
use super::folder::{Recording, Steps};
use super::placeholder::unnumbered;

/// Words that are shown on each side of a change, and the longest difference, in characters.
const AROUND: usize = 6;
const LONGEST: usize = 900;
/// So much of a request is compared to find the nearest recording, in bytes.
const COMPARED: usize = 20_000;
/// So much of two texts is compared word by word, from a little before the first difference, in bytes.
const COMPARED_WORDS: usize = 6_000;
/// So much of what two texts have in common is kept before the first difference and after the last, in bytes.
const KEPT: usize = 300;
/// Most places that are told.
const MOST_TOLD: usize = 3;

/// The sentence for a call that was never recorded so. `asked` is masked.
pub fn sentence(steps: &Steps, step: &str, call: u64, asked: &Value) -> String {
    let own = steps.get(step).map(Vec::as_slice).unwrap_or_default();
    if let Some(same) = own.iter().find(|recording| recording.call == call) {
        return format!("call {call} of step \"{step}\" was recorded with another request: {}", difference(&same.asked, asked));
    }
    let none = format!("there is no recording of call {call} of step \"{step}\"");
    let of_kind = |recording: &&Recording| recording.asked["to"] == asked["to"];
    let all = steps.iter().flat_map(|(step, list)| list.iter().map(move |recording| (step, recording)));
    let wanted = Bag::of(asked);
    let near = |(other, recording): (&String, &Recording)| (wanted.likeness(&Bag::of(&recording.asked)), other == step);
    let alike = all.filter(|(_, recording)| of_kind(recording)).map(|found| (near(found), found));
    let nearest = alike.max_by(|(one, _), (two, _)| one.0.total_cmp(&two.0).then(one.1.cmp(&two.1))).map(|(_, found)| found);
    match nearest {
        None => format!("{none}, and of no other like it"),
        Some((other, recording)) => {
            let how = difference(&recording.asked, asked);
            format!("{none}; the nearest is call {} of step \"{other}\": {how}", recording.call)
        }
    }
}

/// How often each word stands in the beginning of a request. That is enough to find what is most like it, and takes no longer than
/// reading both.
struct Bag {
    words: HashMap<String, usize>,
    count: usize,
}

impl Bag {
    fn of(asked: &Value) -> Bag {
        let whole = leaves(asked).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
        let (mut words, mut count) = (HashMap::new(), 0);
        for word in cut(&whole, COMPARED).split_whitespace() {
            *words.entry(word.to_owned()).or_insert(0) += 1;
            count += 1;
        }
        Bag { words, count }
    }

    /// From 0 to 1.
    fn likeness(&self, other: &Bag) -> f64 {
        let common: usize = self.words.iter().map(|(word, times)| other.words.get(word).map_or(0, |found| *found.min(times))).sum();
        2.0 * common as f64 / (self.count + other.count).max(1) as f64
    }
}

/// At most so many bytes from the beginning.
fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// The first places where two requests differ.
fn difference(recorded: &Value, asked: &Value) -> String {
    let (recorded, asked) = (leaves(&comparable(recorded, asked)), leaves(asked));
    let named = |list: &[(String, String)]| list.iter().cloned().collect::<HashMap<_, _>>();
    let (before, now) = (named(&recorded), named(&asked));
    let changed =
        asked.iter().filter(|(name, text)| before.get(name) != Some(text)).map(|(name, text)| (name, before.get(name), Some(text)));
    let gone = recorded.iter().filter(|(name, _)| !now.contains_key(name)).map(|(name, text)| (name, Some(text), None));
    let all: Vec<(&String, Option<&String>, Option<&String>)> = changed.chain(gone).collect();
    let told = all.iter().take(MOST_TOLD).map(|(name, before, now)| match (before, now) {
        (Some(before), Some(now)) => format!("{name}: {}", words(before, now)),
        (None, now) => format!("{name} is new: {}", shortened(now.map_or("", |now| now), 80)),
        (Some(before), None) => format!("{name} is gone: {}", shortened(before, 80)),
    });
    let told = told.collect::<Vec<_>>().join("; ");
    match all.len() {
        0 => "it was asked the same".to_owned(),
        few if few <= MOST_TOLD => shortened(&told, LONGEST),
        more => shortened(&format!("{told}; and {} more", more - MOST_TOLD), LONGEST),
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

/// The words that changed, each with a few around it. Blanks between two changes belong to both.
fn words(before: &str, now: &str) -> String {
    let head = common(before, now, false);
    let (before, now) = (before.get(head..).unwrap_or_default(), now.get(head..).unwrap_or_default());
    let tail = common(before, now, true);
    let inner = |text: &str| cut(text.get(..text.len() - tail).unwrap_or(text), COMPARED_WORDS).to_owned();
    let is_cut = tail > 0 || before.len().max(now.len()) > COMPARED_WORDS;
    let (before, now) = (inner(before), inner(now));
    let told = changes(&before, &now);
    format!("{}{told}{}", if head > 0 && !told.starts_with('…') { "…" } else { "" }, if is_cut && !told.ends_with('…') { "…" } else { "" })
}

/// The bytes that two texts have in common at their beginning or end and that need not be shown: all but the last words, whole words only.
fn common(one: &str, two: &str, at_end: bool) -> usize {
    let (one, two) = (one.as_bytes(), two.as_bytes());
    let count = match at_end {
        false => one.iter().zip(two).take_while(|(one, two)| one == two).count(),
        true => one.iter().rev().zip(two.iter().rev()).take_while(|(one, two)| one == two).count(),
    };
    let (Some(kept), true) = (count.checked_sub(KEPT), count < one.len().max(two.len())) else { return 0 };
    // From there back to a blank, where a word cannot be cut.
    let blank = |at: usize| match at_end {
        false => one[at],
        true => one[one.len() - 1 - at],
    };
    (0..kept).rev().find(|at| matches!(blank(*at), b' ' | b'\n')).unwrap_or(0)
}

/// The words that changed in what is left of two texts.
fn changes(before: &str, now: &str) -> String {
    let diff = TextDiff::from_words(before, now);
    let mut out = String::new();
    let (mut gone, mut new) = (String::new(), String::new());
    let mut equal: Vec<&str> = vec![];
    let mut is_first = true;
    for change in diff.iter_all_changes() {
        let text = change.value();
        if change.tag() == ChangeTag::Equal {
            equal.push(text);
            continue;
        }
        let has_changed = !gone.is_empty() || !new.is_empty();
        if has_changed && equal.iter().all(|text| text.trim().is_empty()) {
            let blanks = equal.concat();
            gone.push_str(&blanks);
            new.push_str(&blanks);
            equal.clear();
        } else {
            write_change(&mut out, &mut gone, &mut new);
            around(&mut out, &mut equal, !is_first, true);
        }
        is_first = false;
        if change.tag() == ChangeTag::Delete { gone.push_str(text) } else { new.push_str(text) }
    }
    write_change(&mut out, &mut gone, &mut new);
    around(&mut out, &mut equal, true, false);
    one_line(&out)
}

fn write_change(out: &mut String, gone: &mut String, new: &mut String) {
    let (gone, new) = (std::mem::take(gone), std::mem::take(new));
    if !gone.is_empty() {
        out.push_str(&format!("[-{gone}-]"));
    }
    if !new.is_empty() {
        out.push_str(&format!("{{+{new}+}}"));
    }
}

/// Equal words between two changes: all if they are few, else the ends.
fn around(out: &mut String, equal: &mut Vec<&str>, after: bool, before: bool) {
    // Words and the blanks between them.
    let words: Vec<String> = equal.iter().map(|word| inner_cut(word)).collect();
    let most = 2 * AROUND;
    let (head, tail) = (if after { most } else { 0 }, if before { most } else { 0 });
    if words.len() <= head + tail {
        out.push_str(&words.concat());
    } else {
        out.push_str(&words[..head].concat());
        out.push('…');
        out.push_str(&words[words.len() - tail..].concat());
    }
    equal.clear();
}

/// A word that goes on for lines, such as a piece of JSON, by its ends.
fn inner_cut(word: &str) -> String {
    const ENDS: usize = 20;
    let letters: Vec<char> = word.chars().collect();
    if letters.len() <= 3 * ENDS {
        return word.to_owned();
    }
    letters[..ENDS].iter().chain(&['…']).chain(&letters[letters.len() - ENDS..]).collect()
}

fn one_line(text: &str) -> String {
    text.replace('\n', "⏎")
}

fn shortened(text: &str, most: usize) -> String {
    crate::diagnostic::cut(&one_line(text), most)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn asked(text: &str) -> Value {
        json!({ "to": "model", "model": "m", "messages": [{ "role": "system", "text": "Be brief." }, { "role": "user", "text": text }] })
    }

    fn steps(all: &[(&str, u64, &str)]) -> Steps {
        let mut steps = Steps::new();
        for (step, call, text) in all {
            let recording = Recording { call: *call, asked: asked(text), answer: Ok(json!({})), lengths: Map::new(), origins: Map::new() };
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
            told.starts_with("there is no recording of call 2 of step \"c\"; the nearest is call 1 of step \"b\": message 2 (user): "),
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
