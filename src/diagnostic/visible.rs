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

/// The same for a text that was drawn with colours: `ESC [ … m` stays, too.
pub fn visible_drawn(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let codes = rest[at + 2..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        let is_colour = rest[at + 2 + codes..].starts_with('m');
        let end = if is_colour { at + 2 + codes + 1 } else { at + 1 };
        out.push_str(&visible_lines(&rest[..if is_colour { at } else { end }]));
        out.push_str(&rest[if is_colour { at } else { end }..end]);
        rest = &rest[end..];
    }
    out + &visible_lines(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_seen_is_escaped() {
        assert_eq!(visible("a\u{1b}[31m\u{202e}\u{e0041}\tb\n"), "a\\x1B[31m\\u202E\\U000E0041\\tb\\n");
        assert_eq!(
            visible_drawn("\u{1b}[1;31merror\u{1b}[0m\n\u{1b}[2J \u{1b}[31\u{9b}m \u{1b}"),
            "\u{1b}[1;31merror\u{1b}[0m\n\\x1B[2J \\x1B[31\\x9Bm \\x1B"
        );
        assert!(matches!(visible("Grüße 👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم"), Cow::Borrowed(_)));
    }
}
