//! Filters that make texts.

use super::super::Value;
use super::super::print::PrintedText;
use super::super::stop::FillStop;
use super::super::value::from_json;
use super::call::FilterCall;
use crate::channel::cleaned;

pub(super) fn upper(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = call.text()?;
    call.give(text.to_uppercase())
}

pub(super) fn lower(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = call.text()?;
    call.give(text.to_lowercase())
}

/// Each word with a capital; words are parted as in Jinja, by blanks, hyphens and opening brackets.
pub(super) fn title(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = call.text()?;
    let mut titled = String::with_capacity(text.len());
    let mut begins = true;
    for character in text.chars() {
        if begins {
            titled.extend(character.to_uppercase());
        } else {
            titled.extend(character.to_lowercase());
        }
        begins = character.is_whitespace() || matches!(character, '-' | '(' | '{' | '[' | '<');
    }
    call.give(titled)
}

pub(super) fn trim(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = call.text_to_cut()?;
    let (trimmed, per_byte) = match call.text_argument(0)? {
        Some(characters) => (text.trim_matches(|c| characters.contains(c)), 1 + characters.len() / 8),
        None => (text.trim(), 1),
    };
    call.budget.bytes((text.len() - trimmed.len()).saturating_mul(per_byte))?;
    call.give(trimmed.to_owned())
}

pub(super) fn replace(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = call.text()?;
    let old = call.text_argument(0)?.unwrap_or_default();
    let new = call.text_argument(1)?.unwrap_or_default();
    if old.is_empty() {
        return Err(FillStop::failed("the filter replace cannot look for an empty text"));
    }
    let count = text.matches(old).count();
    call.budget.text((text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::from(text.replace(old, new)))
}

pub(super) fn split(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = call.text()?;
    let separator = call.text_argument(0)?;
    let most = match call.whole_argument(1)? {
        Some(splits) => usize::try_from(splits).map_or(usize::MAX, |splits| splits.saturating_add(1)),
        None => usize::MAX,
    };
    let parts: Vec<&str> = match separator {
        Some("") => return Err(FillStop::failed("the filter split cannot part a text at an empty text")),
        Some(separator) => text.splitn(most, separator).collect(),
        None => split_at_blanks(&text, most),
    };
    call.budget.list(parts.len())?;
    Ok(parts.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

fn split_at_blanks(text: &str, most: usize) -> Vec<&str> {
    let mut parts = vec![];
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = if parts.len() + 1 >= most { rest.len() } else { rest.find(char::is_whitespace).unwrap_or(rest.len()) };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after.trim_start();
    }
    parts
}

/// At most `length` characters, `end` included; between words unless `killwords`.
pub(super) fn truncate(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = call.text_to_cut()?;
    let length = usize::try_from(call.whole_argument(0)?.unwrap_or(255)).unwrap_or(0);
    let end = call.text_argument(2)?.unwrap_or("...");
    let Some((whole, _)) = text.char_indices().nth(length) else { return call.give(text.to_string()) };
    call.budget.bytes(whole)?;
    let room = length.saturating_sub(end.chars().count());
    let cut = text.char_indices().nth(room).map_or(text.len(), |(index, _)| index);
    let (kept, rest) = text.split_at(cut);
    let kept = match kept.rfind(char::is_whitespace) {
        Some(space) if !call.flag(1) && !rest.starts_with(char::is_whitespace) => kept.split_at(space).0,
        _ => kept,
    };
    let end: String = end.chars().take(length).collect();
    call.give(format!("{}{end}", kept.trim_end()))
}

pub(super) fn tojson(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let indent = call.whole_argument(0)?.map(|width| usize::try_from(width).unwrap_or(0));
    let mut output = PrintedText::default();
    output.json(&call.value, indent)?;
    call.give(output.into_text())
}

/// The value as it prints.
pub(super) fn string(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let mut output = PrintedText::default();
    output.print(&call.value)?;
    call.give(output.into_text())
}

/// What a text of JSON holds; what deceives is taken out of its texts.
pub(super) fn fromjson(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let Some(text) = call.value.as_str() else { return Err(call.wrong_value("a text that holds JSON")) };
    // Each value takes one sign at least, and more room than that.
    call.budget.bytes(text.len())?;
    call.budget.elements(text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count())?;
    let read: serde_json::Value = serde_json::from_str(text).map_err(|_| call.wrong_value("a text that holds JSON"))?;
    Ok(from_json(&cleaned(read)))
}
