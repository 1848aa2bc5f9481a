//! Takes out characters that are there to deceive: they are not seen, or change how the text around them is shown.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::diagnostic::terminal_sequence;

/// The text without hostile characters, and how many were taken out: bidirectional overrides and isolates (CVE-2021-42574), tag
/// characters (but those of the three flag emojis that have them), sequences for a terminal, control characters other than tab and line
/// break, and zero-width characters (but in emojis and in scripts that join their letters). `\r\n`, a lone `\r` and the other ends of lines and
/// pages become `\n`, uncounted.
pub fn clean(text: &str) -> (Cow<'_, str>, usize) {
    if text.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\t')) {
        return (Cow::Borrowed(text), 0);
    }
    let mut made = String::with_capacity(text.len());
    let mut removed = 0;
    let mut rest = text;
    while let Some(now) = rest.chars().next() {
        let after = &rest[now.len_utf8()..];
        if now == '\u{1F3F4}'
            && let Some(flag) = flag(rest)
        {
            made.push_str(flag);
            rest = &rest[flag.len()..];
            continue;
        }
        let sequence = terminal_sequence(rest);
        if sequence > 0 {
            removed += 1;
            rest = &rest[sequence..];
            continue;
        }
        match now {
            '\r' => {
                if !after.starts_with('\n') {
                    made.push('\n');
                }
            }
            // Ends of lines and pages, as PDF and word processors have them.
            '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => made.push('\n'),
            // Signs that part fields.
            '\u{1C}'..='\u{1F}' => {
                removed += 1;
                made.push(' ');
            }
            '\u{200C}' | '\u{200D}' => match (made.chars().next_back(), after.chars().next()) {
                (Some(before), Some(next)) if joins(before) && joins(next) => made.push(now),
                _ => removed += 1,
            },
            // Variants of a Chinese character; after anything else they carry hidden data.
            '\u{E0100}'..='\u{E01EF}' if made.chars().next_back().is_some_and(is_ideograph) => made.push(now),
            _ if is_hostile(now) => removed += 1,
            _ => made.push(now),
        }
        rest = after;
    }
    if made == text { (Cow::Borrowed(text), 0) } else { (Cow::Owned(made), removed) }
}

/// The value with each of its texts and keys as [`clean`] leaves them. JSON can write any character as an escape, so a text that was cleaned
/// may hold JSON whose texts were not: whoever reads JSON of others cleans what was read.
pub fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text).0.into_owned()),
        Value::Array(list) => list.into_iter().map(cleaned).collect(),
        Value::Object(map) => map.into_iter().map(|(name, value)| (clean(&name).0.into_owned(), cleaned(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Whether a text shows anything to a reader: a character that is neither blank nor invisible (white space, controls, Unicode's
/// "default ignorable" ones, and four that are drawn as nothing).
pub fn shows(text: &str) -> bool {
    static SEEN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\x{2800}\x{16FE4}\x{1D159}\x{FFF9}-\x{FFFB}]").ok());
    SEEN.as_ref().is_none_or(|seen| seen.is_match(text))
}

/// A flag made of tag characters at the start of the text, if it is one that exists.
fn flag(text: &str) -> Option<&str> {
    let mut end = 0;
    for (at, now) in text.char_indices().take(9) {
        end = at + now.len_utf8();
        if now == '\u{E007F}' {
            break;
        }
    }
    text.get(..end).filter(|flag| flag.ends_with('\u{E007F}') && emojis::get(flag).is_some())
}

fn is_hostile(now: char) -> bool {
    let listed = matches!(now,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}'          // direction: overrides, isolates, old forms
        | '\u{E0000}'..='\u{E0FFF}'                                // tags, variation selectors supplement
        | '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{00AD}' | '\u{034F}' | '\u{180B}'..='\u{180F}'
        | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{3164}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}');
    listed || now.is_control() && !matches!(now, '\n' | '\t')
}

/// May be beside a zero-width joiner: emojis, and scripts whose letters join (Arabic to Khmer in the order of Unicode).
fn joins(now: char) -> bool {
    matches!(now, '\u{0600}'..='\u{109F}' | '\u{1780}'..='\u{18AF}' | '\u{A840}'..='\u{ABFF}' | '\u{FB50}'..='\u{FDFF}'
        | '\u{FE0F}' | '\u{FE70}'..='\u{FEFC}' | '\u{10A00}'..='\u{11FFF}' | '\u{1F000}'..='\u{1FAFF}' | '\u{2190}'..='\u{2BFF}')
}

fn is_ideograph(now: char) -> bool {
    matches!(now, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_tags_and_controls_are_taken_out_and_counted() {
        let (text, removed) = clean("a\u{202E}b\u{2066}c\u{E0041}d\u{7}e\u{9b}f\u{200B}g");
        assert_eq!((text.as_ref(), removed), ("abcdefg", 6));
    }

    #[test]
    fn a_sequence_for_a_terminal_goes_whole() {
        for (text, kept, count) in [
            ("\u{1b}[1;31mRed\u{1b}[0m, \u{1b}[38:5:2mgreen\u{1b}[m", "Red, green", 4),
            ("\u{1b}]8;;https://example.com\u{7}a link\u{1b}]8;;\u{1b}\\.", "a link.", 3),
            ("\u{1b}]0;a title without an end\nthe text", "\nthe text", 1),
            ("\u{1b}(Bplain\u{1b}7\u{1b}", "plain", 3),
            ("\u{1b}[12", "", 1),
            ("no\u{1b}\u{e9}", "no\u{e9}", 1),
            ("a\u{9b}31mb\u{9b}?", "ab?", 2),
            ("[31m", "[31m", 0),
        ] {
            assert_eq!(clean(text), (Cow::Borrowed(kept), count), "{text:?}");
        }
    }

    #[test]
    fn emojis_flags_and_joining_scripts_stay_whole() {
        for text in ["👩‍💻 ok", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "می‌خواهم", "क्‍ष", "❤️‍🔥", "🏳️‍🌈", "e\u{301}", "שלום\u{200F}"]
        {
            assert_eq!(clean(text), (Cow::Borrowed(text), 0), "{text}");
        }
    }

    #[test]
    fn a_black_flag_does_not_smuggle_hidden_letters() {
        assert_eq!(clean("🏴\u{E0068}\u{E0069}\u{E007F}!"), (Cow::Owned("🏴!".into()), 3));
    }

    #[test]
    fn line_ends_become_one_kind_and_joiners_between_letters_go() {
        assert_eq!(clean("a\r\nb\rc").0, "a\nb\nc");
        assert_eq!(clean("exa\u{200D}mple.com"), (Cow::Owned("example.com".into()), 1));
    }
}
