//! Escapes texts for other formats.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// Formats JSON on one line, or on several lines indented by two blanks per level; see [`json_visible`].
pub fn json_text(value: &Value, on_one_line: bool) -> String {
    json_visible(&if on_one_line { value.to_string() } else { format!("{value:#}") })
}

/// Replaces all invisible characters in JSON with JSON escapes of equal meaning, including those that JSON allows unescaped.
pub fn json_visible(json: &str) -> String {
    let escape = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    replace(json, |c| (c >= '\u{7f}' && crate::diagnostic::is_invisible(c)).then(|| escape(c)))
}

/// Escapes a text or attribute for XML 1.0. Control characters that XML cannot represent become YAML escapes.
pub fn xml(text: &str) -> String {
    replace(text, |c| match c {
        '&' => Some("&amp;".to_owned()),
        '<' => Some("&lt;".to_owned()),
        '>' => Some("&gt;".to_owned()),
        '"' => Some("&quot;".to_owned()),
        '\'' => Some("&apos;".to_owned()),
        '\n' => Some("&#10;".to_owned()),
        '\u{fffe}' | '\u{ffff}' => Some(crate::diagnostic::escaped(c)),
        _ => crate::diagnostic::is_invisible(c).then(|| crate::diagnostic::escaped(c)),
    })
}

/// Converts a path to a relative URI reference (RFC 3986, section 2.3: letters, digits and `-._~` stay).
pub(super) fn uri(path: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
    utf8_percent_encode(path, KEPT).to_string()
}

fn replace(text: &str, with: impl Fn(char) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match with(c) {
            Some(new) => out.push_str(&new),
            None => out.push(c),
        }
    }
    out
}
