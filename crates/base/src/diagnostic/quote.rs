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

/// A text of at most so many characters; `…` stands for what was cut off.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
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
    fn a_quote_is_one_short_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"é".repeat(40)), format!("\"{}\"", "é".repeat(40)));
        assert_eq!(quoted(&"é".repeat(41)), format!("\"{}…\"", "é".repeat(39)));
        assert_eq!(quoted(&"\u{7}".repeat(41)).chars().count(), 42);
    }
}
