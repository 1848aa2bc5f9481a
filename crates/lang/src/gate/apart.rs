//! What a text quotes from data is not the writer's own wording: a project with a German name does not make a reply German.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CheckResult, FilledCheck, JudgedText, check};
use crate::channel::{Formatted, Phrases, escape_markdown, format};
use crate::model::{Phrase, StyleGuide};

/// Most texts of a value that are looked for.
const MOST: usize = 10_000;

/// Does a check; a text that does not pass is looked at once more without what it quotes from the value.
pub fn check_apart_from(filled: &FilledCheck, judged: &JudgedText, quoted: Option<&Value>) -> CheckResult {
    let result = check(filled, judged);
    let Some(quoted) = quoted.filter(|_| !result.passed) else { return result };
    let text = own_words(quoted, judged, judged.text);
    let formatted = judged.formatted.map(|made| Formatted {
        text: own_words(quoted, judged, &made.text),
        unlinked: own_words(quoted, judged, &made.unlinked),
        ..made.clone()
    });
    check(filled, &JudgedText { text: &text, formatted: formatted.as_ref(), ..*judged })
}

/// The text without the texts of a value, as they are in it: as whole words, in any case, in the form that the channel gives them.
fn own_words(quoted: &Value, judged: &JudgedText, text: &str) -> String {
    let mut texts = BTreeSet::new();
    texts_of(quoted, &mut texts);
    let silent = judged.style.map(|style| {
        let mut style: StyleGuide = style.clone();
        (style.formatting.greeting, style.formatting.sign_off) = (Phrase::Off, Phrase::Off);
        style
    });
    let as_sent = |text: &str, style: Option<&StyleGuide>| {
        let sent = judged.channel.and_then(|channel| format(&escape_markdown(text), channel, style, None).ok());
        sent.map_or_else(Default::default, |sent| [sent.text, sent.plain])
    };
    let forms: BTreeSet<String> = texts
        .iter()
        .take(MOST)
        .filter(|quote| text.len() >= quote.len() / 2)
        .flat_map(|quote| [[(*quote).to_owned(), String::new()], as_sent(quote, None), as_sent(quote, silent.as_ref())].concat())
        .filter(|form| form.chars().any(|c| !c.is_whitespace()))
        .collect();
    let mut left = text.to_owned();
    for (range, _) in Phrases::new(forms.iter().map(String::as_str)).find(text).into_iter().rev() {
        left.replace_range(range, "");
    }
    left
}

fn texts_of<'a>(value: &'a Value, texts: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) if text.chars().any(|c| !c.is_ascii_digit() && !c.is_ascii_punctuation() && !c.is_whitespace()) => {
            texts.insert(text);
        }
        Value::Array(list) => list.iter().for_each(|value| texts_of(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| texts_of(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::PlainCheck;

    fn passes(filled: &FilledCheck, text: &str, quoted: Option<&Value>) -> bool {
        let value = json!(text);
        check_apart_from(
            filled,
            &JudgedText { value: &value, text, formatted: None, channel: None, style: None, person_name: None },
            quoted,
        )
        .passed
    }

    #[test]
    fn what_is_quoted_is_not_held_against_the_writer_and_all_else_is() {
        let facts =
            json!({ "rows": [{ "project": "Überarbeitung der Internetseite und der Kundenbetreuung", "note": "🚀🚀 los", "hours": 7.5 }] });
        let english = FilledCheck::Plain(PlainCheck::Language("en".into()));
        let text = "Today: 7.5 hours, überarbeitung der Internetseite und der Kundenbetreuung, well done.";
        assert!(!passes(&english, text, None) && passes(&english, text, Some(&facts)));
        let german = "Du hast heute an der Überarbeitung der Internetseite und der Kundenbetreuung gearbeitet, und das war sehr gut so.";
        assert!(!passes(&english, german, Some(&facts)));
        let none = FilledCheck::Plain(PlainCheck::Emojis(0));
        assert!(passes(&none, "The note says: 🚀🚀 los", Some(&facts)) && !passes(&none, "🚀🚀 los and 🎉", Some(&facts)));
        let banned = FilledCheck::NotContains(vec!["los".into()], crate::model::LetterCase::Exact);
        assert!(!passes(&banned, "los, lossy", Some(&json!(["lossy"]))));
    }
}
