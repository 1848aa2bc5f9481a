//! Characters nobody can see, written so that people can.

use std::borrow::Cow;

pub use crate::source::is_invisible;
use crate::source::is_unseen;

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

/// Most blanks in a row that are written as such where a person decides.
const MOST_BLANKS: usize = 4;

/// The text as a person sees it who decides about it: everything that shows as nothing is escaped, white space other than a blank too, and
/// many blanks in a row are counted, `\{2000 blanks}`, so that nothing is pushed out of sight.
pub fn all_visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let blanks = rest.bytes().take_while(|byte| *byte == b' ').count();
        let taken = blanks.max(c.len_utf8());
        match c {
            ' ' if blanks > MOST_BLANKS => out.push_str(&format!("\\{{{blanks} blanks}}")),
            ' ' => out.push_str(&rest[..blanks]),
            // Two signs are drawn as a blank.
            _ if is_unseen(c) || matches!(c, '\u{2800}' | '\u{1d159}') || c.is_whitespace() => out.push_str(&escaped(c)),
            _ => out.push(c),
        }
        rest = &rest[taken..];
    }
    out
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

/// How many bytes a sequence takes by which programs colour and steer a terminal, if the text begins with one; else 0 (ECMA-48, section 5). A string
/// for the terminal that has no end takes no more than its line.
pub fn terminal_sequence(text: &str) -> usize {
    let Some(rest) = text.strip_prefix('\u{1b}') else { return sequence_of_one(text) };
    let rest = rest.trim_start_matches(|c| (' '..='/').contains(&c));
    let kind = rest.chars().next().filter(|c| (' '..='~').contains(c));
    let rest = &rest[kind.map_or(0, char::len_utf8)..];
    let rest = match kind {
        Some('[') => {
            let rest = rest.trim_start_matches(|c| (' '..='?').contains(&c));
            rest.strip_prefix(|c| ('@'..='~').contains(&c)).unwrap_or(rest)
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let rest = rest.trim_start_matches(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}' | '\n'));
            rest.strip_prefix(['\u{7}', '\u{9c}']).unwrap_or(rest)
        }
        Some(_) | None => rest,
    };
    text.len() - rest.len()
}

/// The same for a sequence that begins with one character in place of `ESC` and another, if it is whole: alone it may be part of a text in a wrong
/// encoding.
fn sequence_of_one(text: &str) -> usize {
    let rest = match text.chars().next() {
        Some('\u{9b}') => {
            let end = text['\u{9b}'.len_utf8()..].trim_start_matches(|c| ('0'..='?').contains(&c));
            end.strip_prefix(|c| ('@'..='~').contains(&c)).filter(|_| end.len() + '\u{9b}'.len_utf8() < text.len())
        }
        Some(first @ ('\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')) => {
            let end = text[first.len_utf8()..].trim_start_matches(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}' | '\n'));
            end.strip_prefix(['\u{7}', '\u{9c}'])
        }
        _ => None,
    };
    rest.map_or(0, |rest| text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_that_unicode_calls_unseen_is_escaped_and_no_other() {
        let unseen = regex::Regex::new(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]").unwrap();
        let stays =
            regex::Regex::new("[\u{600}-\u{605}\u{6dd}\u{70f}\u{890}\u{891}\u{8e2}\u{110bd}\u{110cd}\u{200c}\u{200d}\u{fe0e}\u{fe0f}]")
                .unwrap();
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            let is_unseen = unseen.is_match(&text) && !stays.is_match(&text);
            assert_eq!(is_invisible(c), is_unseen, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn only_what_cannot_be_seen_is_escaped() {
        assert_eq!(visible("a\u{1b}[31m\u{202e}\u{e0041}\tb\n"), "a\\x1B[31m\\u202E\\U000E0041\\tb\\n");
        assert_eq!(
            visible_drawn("\u{1b}[1;31merror\u{1b}[0m\n\u{1b}[2J \u{1b}[31\u{9b}m \u{1b}"),
            "\u{1b}[1;31merror\u{1b}[0m\n\\x1B[2J \\x1B[31\\x9Bm \\x1B"
        );
        assert!(matches!(visible("Grüße ❤\u{fe0f} ☎\u{fe0e} 👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم"), Cow::Borrowed(_)));
        let padded = format!("a    b{}EVIL\u{3000}\u{3164}\u{200d}\u{1b}é", " ".repeat(2000));
        assert_eq!(all_visible(&padded), "a    b\\{2000 blanks}EVIL\\u3000\\u3164\\u200D\\x1Bé");
    }
}
