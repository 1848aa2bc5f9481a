//! How values are written, for lines of help: the author's own words in the form that is meant.

use serde_json::Value;

/// Most characters of a value in a line of help.
const LONGEST: usize = 200;

/// A value on one line, as an author writes it: `{ type: list, items: text }`. `None`: it is too long for a line of help.
pub(super) fn written_form(value: &Value) -> Option<String> {
    let mut text = String::new();
    write(value, &mut text);
    (text.chars().count() <= LONGEST).then_some(text)
}

fn write(value: &Value, to: &mut String) {
    match value {
        Value::String(text) => to.push_str(&word(text)),
        Value::Array(list) => {
            to.push('[');
            for (index, value) in list.iter().enumerate() {
                to.push_str(if index == 0 { "" } else { ", " });
                write(value, to);
            }
            to.push(']');
        }
        Value::Object(map) if map.is_empty() => to.push_str("{}"),
        Value::Object(map) => {
            to.push_str("{ ");
            for (index, (name, value)) in map.iter().enumerate() {
                to.push_str(if index == 0 { "" } else { ", " });
                to.push_str(&word(name));
                to.push_str(": ");
                write(value, to);
            }
            to.push_str(" }");
        }
        other => to.push_str(&other.to_string()),
    }
}

/// A text without quotes where it is plain in a list and in a group of keys, else in quotes.
pub(super) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ');
    let begins = text.starts_with(char::is_alphabetic) || text.starts_with(['.', '/']);
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
    if begins && !is_word && !text.ends_with(' ') && text.chars().all(is_plain) { text.to_owned() } else { crate::syntax::quoted(text) }
}
