//! Every check, with a text that passes all of them and one that fails only it.

mod checks;
mod figures;
mod filling;
mod hostile;
mod numbers;
mod reading;

use serde_json::{Value, json};

use super::{CheckResult, FilledCheck, JudgedText, check};
use crate::model::{
    Body, Channel, Emojis, Features, Formatting, Humor, Languages, LengthUnit, Markup, Phrase, Split, SplitAt, StyleGuide, Tone, Words,
};
use crate::source::Span;

fn channel(body: Body, markdown: Features) -> Channel {
    Channel {
        name: "test".into(),
        span: Span::default(),
        description: None,
        max_length: Some(160),
        length_unit: LengthUnit::Characters,
        markdown,
        emojis: true,
        split: Some(Split { at: SplitAt::Sentence, most_parts: 3, indicator: "({part}/{parts})".into() }),
        too_long: "See page 2 of your timesheet.".into(),
        body,
        markup: Markup::default(),
        languages: Languages::default(),
    }
}

fn plain() -> Channel {
    channel(Body::Text, Features::NONE)
}

/// Greets as set, signs off, bans a word, allows emojis.
fn style() -> StyleGuide {
    StyleGuide {
        name: "acme".into(),
        span: Span::default(),
        version: None,
        brand_name: Some("Acme 36/5".into()),
        personality: None,
        tone: Tone::default(),
        emojis: Emojis { enabled: true, success: None, warning: None, error: None, info: None },
        humor: Humor::default(),
        formatting: Formatting { greeting: Phrase::On, sign_off: Phrase::On, use_user_name: true },
        words: Words { banned: vec!["cheap".into(), "time units".into()], ..Words::default() },
        languages: Languages::default(),
    }
}

/// Judges a text that is its own value, without channel and style guide.
fn of_text(checked: &FilledCheck, text: &str) -> CheckResult {
    check(checked, &JudgedText { value: &json!(text), text, formatted: None, channel: None, style: None, person_name: None })
}

/// Judges what a format step made of a text.
fn of_formatted(
    checked: &FilledCheck,
    text: &str,
    channel: &Channel,
    style: Option<&StyleGuide>,
    person_name: Option<&str>,
) -> CheckResult {
    let formatted = crate::channel::format(text, channel, style, person_name).unwrap();
    let value: Value = serde_json::to_value(&formatted).unwrap();
    let text = crate::channel::Output::formatted(value.clone()).text();
    check(checked, &JudgedText { value: &value, text: &text, formatted: Some(&formatted), channel: Some(channel), style, person_name })
}

fn passes(result: &CheckResult) -> bool {
    assert_eq!(result.passed, result.feedback.is_empty());
    assert!(result.evidence.chars().count() <= 200, "{}", result.evidence);
    result.passed
}
