//! Characters nobody can see, written so that people can.

use std::borrow::Cow;

/// Whether a character would not show, or would change how others show. U+200C and U+200D stay: words and emoji need them.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A character as YAML writes it in double quotes: `\x1B`, `\u202E`, `\U000E0041`; `\t`, `\n` and `\r` by name.
pub fn escaped(c: char) -> String {
    match c {
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        _ => match c as u32 {
            code @ 0..=0xff => format!("\\x{code:02X}"),
            code @ 0x100..=0xffff => format!("\\u{code:04X}"),
            code => format!("\\U{code:08X}"),
        },
    }
}

/// The text with every invisible character escaped.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_invisible(c) { out.push_str(&escaped(c)) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// The same for a text of several lines: line ends and tabs stay.
pub fn visible_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) && !matches!(c, '\n' | '\t') { out.push_str(&escaped(c)) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_seen_is_escaped() {
        assert_eq!(visible("a\u{1b}[31m\u{202e}\u{e0041}\tb\n"), "a\\x1B[31m\\u202E\\U000E0041\\tb\\n");
        assert!(matches!(visible("Grüße 👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم"), Cow::Borrowed(_)));
    }
}
