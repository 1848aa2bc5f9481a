//! Lengths, emojis, and whether a text keeps to its channel and its style guide.

use std::borrow::Cow;

use super::verdict::{CheckResult, JudgedText, are, beginning, counted, end, place, quoted};
use crate::channel::{
    Phrases, closing, count_emojis, fits, greeting, greets, is_emoji, is_greeted, is_signed, measure, opening, sign_off, without_greeting,
    without_sign_off,
};
use crate::model::{Channel, LengthUnit, Phrase, StyleGuide};
use unicode_segmentation::UnicodeSegmentation;

/// No longer than `most`, in the channel's unit; without a channel in characters.
pub(super) fn max_length(most: u64, judged: &JudgedText) -> CheckResult {
    let (length, unit) = length(judged);
    if length <= most {
        return CheckResult::passed();
    }
    CheckResult::failed(format!("The text has {length} {unit}; at most {} allowed.", are(most)), end(judged.text))
}

/// No shorter than `least`, in the channel's unit; without a channel in characters.
pub(super) fn min_length(least: u64, judged: &JudgedText) -> CheckResult {
    let (length, unit) = length(judged);
    if length >= least {
        return CheckResult::passed();
    }
    CheckResult::failed(format!("The text has {length} {unit}; at least {} needed.", are(least)), beginning(judged.text))
}

fn length(judged: &JudgedText) -> (u64, &'static str) {
    let unit = judged.channel.map_or(LengthUnit::Characters, |channel| channel.length_unit);
    (measure(judged.text, unit), unit.in_words())
}

/// What is sent fits the channel: of a formatted value each part as it is sent; a text that was not formatted as one message.
pub(super) fn fits_channel(judged: &JudgedText) -> CheckResult {
    let Some(channel) = judged.channel else {
        return CheckResult::failed("There is no channel that the text could fit.", "");
    };
    let Some(formatted) = judged.formatted else { return fits_as_one(judged.text, channel) };
    match fits(formatted, channel) {
        Ok(()) => CheckResult::passed(),
        Err(why) => CheckResult::failed(why.to_string(), end(judged.text)),
    }
}

fn fits_as_one(text: &str, channel: &Channel) -> CheckResult {
    let length = measure(text, channel.length_unit);
    if let Some(most) = channel.max_length.filter(|most| length > *most) {
        let unit = channel.length_unit.in_words();
        return CheckResult::failed(format!("The text has {length} {unit}; channel \"{}\" allows {most}.", channel.name), end(text));
    }
    match first_emoji(text).filter(|_| !channel.emojis) {
        Some(at) => CheckResult::failed(format!("The text has emojis; channel \"{}\" has none.", channel.name), place(text, at..at)),
        None => CheckResult::passed(),
    }
}

/// At most so many emojis.
pub(super) fn emojis(most: u64, text: &str) -> CheckResult {
    let count = count_emojis(text);
    if count <= most {
        return CheckResult::passed();
    }
    let at = first_emoji(text).unwrap_or_default();
    let allowed = if most == 0 { "none is allowed".to_owned() } else { format!("at most {} allowed", are(most)) };
    CheckResult::failed(format!("The text has {}; {allowed}.", counted(count, "emoji", "emojis")), place(text, at..at))
}

fn first_emoji(text: &str) -> Option<usize> {
    text.grapheme_indices(true).find(|(_, grapheme)| is_emoji(grapheme)).map(|(at, _)| at)
}

/// No banned word; emojis, greeting and sign-off as the style guide sets them. Without a greeting set, the text must not greet. A text
/// that was cut to fit its channel may have lost its sign-off.
pub(super) fn style_guide(judged: &JudgedText) -> CheckResult {
    let Some(style) = judged.style else {
        return CheckResult::failed("There is no style guide that the text could keep to.", "");
    };
    let text = judged.text;
    let phrases = Phrases::new(style.words.banned.iter().map(String::as_str));
    // A link inside a word does not part it for those who read it.
    for text in [Some(Cow::Borrowed(text)), judged.unlinked()].into_iter().flatten() {
        if let Some((range, index)) = phrases.find(&text).into_iter().next() {
            let word = style.words.banned.get(index).map(String::as_str).unwrap_or_default();
            return CheckResult::failed(format!("The style guide bans the word {}.", quoted(word)), place(&text, range));
        }
    }
    if !style.emojis.enabled
        && let Some(at) = first_emoji(text)
    {
        return CheckResult::failed("The style guide allows no emojis.", place(text, at..at));
    }
    match greeting(style, judged.person_name) {
        Some(greeting) if !is_greeted(text, style, &greeting) => {
            CheckResult::failed(format!("The text does not begin with the greeting {}.", quoted(&greeting)), beginning(text))
        }
        Some(greeting) if let Some(second) = opening(without_greeting(text, &greeting)).filter(|own| opening(text) != Some(own)) => {
            CheckResult::failed(
                format!("The text greets twice: {} is not the greeting of the style guide.", quoted(second)),
                beginning(text),
            )
        }
        Some(greeting)
            if without_greeting(text, &greeting) == text
                && let Some(other) = opening(text).filter(|own| names_another(own, &greeting, style)) =>
        {
            CheckResult::failed(format!("The text greets with {} in place of {}.", quoted(other), quoted(&greeting)), beginning(text))
        }
        None if greets(text) => CheckResult::failed("The text greets, but the style guide sets no greeting.", beginning(text)),
        _ => signed(style, judged),
    }
}

/// Whether a text greets somebody else than the greeting of the style guide does: `Hi there` where it names a person.
fn names_another(opening: &str, greeting: &str, style: &StyleGuide) -> bool {
    let names = |text: &str| text.unicode_words().skip(1).map(str::to_lowercase).collect::<Vec<_>>();
    let (said, wanted) = (names(opening), names(greeting));
    style.formatting.greeting == Phrase::On && !said.is_empty() && !wanted.iter().all(|name| said.contains(name))
}

/// Ends with the sign-off of the style guide, and with no other.
fn signed(style: &StyleGuide, judged: &JudgedText) -> CheckResult {
    let was_cut = judged.formatted.is_some_and(|formatted| formatted.shortened);
    let own = sign_off(style);
    match &own {
        Some(sign_off) if !was_cut && !is_signed(judged.text, sign_off) => {
            CheckResult::failed(format!("The text does not end with the sign-off {}.", quoted(sign_off)), end(judged.text))
        }
        own => match closing(own.as_ref().map_or(judged.text, |own| without_sign_off(judged.text, own))) {
            Some(foreign) => {
                let message = format!("The text signs off with {}, which is not the sign-off of the style guide.", quoted(foreign));
                CheckResult::failed(message, end(judged.text))
            }
            None => CheckResult::passed(),
        },
    }
}
