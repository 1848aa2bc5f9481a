//! Texts of authors inside messages.

use super::visible::escaped;

/// Longest message, in characters.
pub const LONGEST_MESSAGE: usize = 160;
/// Longest text of an author that a message repeats, in characters.
pub const LONGEST_QUOTE: usize = 40;

/// A text of an author inside a message: in quotes, on one line, control characters as escapes, at most 40 characters.
pub fn quoted(text: &str) -> String {
    let mut shown = String::new();
    // One character more shows that the text continues.
    for c in text.chars().take(LONGEST_QUOTE + 1) {
        if c.is_control() { shown.push_str(&escaped(c)) } else { shown.push(c) }
    }
    format!("\"{}\"", cut(&shown, LONGEST_QUOTE))
}

/// A text in quotes, as YAML: double ones if nothing needs an escape in them, else single ones.
pub fn yaml_quoted(text: &str) -> String {
    if text.contains(['"', '\\']) { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") }
}

/// So far from where a text was cut an end of a line is preferred to a blank, in bytes.
const MOST_TORN: usize = 4 << 10;

/// A text of at most so many characters; `…` stands for what was cut off.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The same, but no word is cut, so that what is shown of a text holds no part of a key: the last word that does not fit is left out as a whole. Where no
/// blank is near, a sign that JSON has between texts ends a word, too.
pub fn cut_words(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most).map(|_| text.char_indices().nth(most - 1).unwrap_or_default()) else {
        return text.to_owned();
    };
    let beginning = &text[..end];
    let is_end = text[end..].starts_with(char::is_whitespace);
    let half = text.floor_char_boundary(end / 2);
    let blank = || beginning[half..].rfind(char::is_whitespace).map(|at| half + at);
    let sign = || beginning.rfind(|c: char| c.is_whitespace() || "\"'`,;{}[]()<>".contains(c));
    let whole = if is_end { beginning } else { &beginning[..blank().or_else(sign).unwrap_or(0)] };
    format!("{}…", whole.trim_end())
}

/// What is whole in the end of a longer text: what follows the first end of a line in its first 4 KiB, else the first blank. Bytes, since the cut may go
/// through a character.
pub fn behind_cut(end: &[u8]) -> &[u8] {
    let near = &end[..end.len().min(MOST_TORN)];
    let is_rest = |at: &usize| end[at + 1..].iter().any(|byte| !byte.is_ascii_whitespace());
    let line = near.iter().position(|byte| *byte == b'\n').filter(is_rest);
    let start = line.or_else(|| end.iter().position(u8::is_ascii_whitespace));
    start.map_or(&[], |at| &end[at + 1..])
}

/// The same for a text of at most so many bytes.
pub fn cut_bytes(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most - '…'.len_utf8()));
        text.push('…');
    }
    text
}

/// The beginning and the end of a text of more than so many characters.
pub fn ends(text: &str, most: usize, beginning: usize, end: usize) -> Option<(&str, &str)> {
    let count = text.chars().count();
    let at = |place| text.char_indices().nth(place).map_or(text.len(), |(at, _)| at);
    (count > most).then(|| (&text[..at(beginning)], &text[at(count - end)..]))
}

/// The first characters of a text on one line, control characters as blanks; `…` stands for the rest.
pub fn one_line(text: &str, most: usize) -> String {
    let shown = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c });
    shown.chain(text.chars().nth(most).map(|_| '…')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_cut() {
        for (text, cut) in [
            ("one two", "one two"),
            ("one two three", "one two…"),
            ("one two 3", "one two 3"),
            ("one two3 four", "one two3…"),
            ("onetwothreefour", "…"),
            ("one twothreefour", "one…"),
            ("{\"a\":\"bcdefgh\"}", "{\"a\":…"),
            ("ööö ööööööö", "ööö…"),
        ] {
            assert_eq!(cut_words(text, 9), cut, "{text}");
        }
    }

    #[test]
    fn behind_a_cut_nothing_torn_is_left() {
        let long = "x".repeat(5_000);
        for (end, whole) in [
            ("torn\nwhole line\n".to_owned(), "whole line\n"),
            ("torn words and\nmore".to_owned(), "more"),
            ("\nwhole".to_owned(), "whole"),
            ("torn whole\n".to_owned(), "whole\n"),
            ("torn".to_owned(), ""),
            (format!("torn whole {long}\nline"), "whole"),
            (format!("{long} whole"), "whole"),
            (long.clone(), ""),
        ] {
            assert!(String::from_utf8_lossy(behind_cut(end.as_bytes())).starts_with(whole), "{whole}");
        }
        assert!(behind_cut(long.as_bytes()).is_empty() && behind_cut(b"torn").is_empty());
    }

    #[test]
    fn a_quote_is_one_short_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"é".repeat(40)), format!("\"{}\"", "é".repeat(40)));
        assert_eq!(quoted(&"é".repeat(41)), format!("\"{}…\"", "é".repeat(39)));
        assert_eq!(quoted(&"\u{7}".repeat(41)).chars().count(), 42);
    }
}
