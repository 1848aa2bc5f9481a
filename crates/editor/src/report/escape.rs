//! Texts inside other formats.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// JSON on one line, or on many with two blanks for each level; see [`json_visible`].
pub fn json_text(value: &Value, on_one_line: bool) -> String {
    json_visible(&if on_one_line { value.to_string() } else { format!("{value:#}") })
}

/// JSON without characters that cannot be seen, not even those JSON allows: they are escapes of JSON, and mean the same.
pub fn json_visible(json: &str) -> String {
    let escape = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    replace(json, |c| (c >= '\u{7f}' && crate::diagnostic::is_invisible(c)).then(|| escape(c)))
}

/// Text or attribute of XML 1.0, which has no way to write most control characters: they become YAML escapes.
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

/// A path as a relative URI reference (RFC 3986, section 2.3: letters, digits and `-._~` stay).
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
