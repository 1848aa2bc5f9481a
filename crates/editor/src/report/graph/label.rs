//! Labels: wrapped and shortened texts without invisible characters.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::diagnostic::visible;

/// Returns the width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Shortens a text to one line of at most `most` columns, with `…` for omitted parts.
pub(super) fn short(text: &str, most: usize) -> String {
    wrap(text, most, 1).pop().unwrap_or_default()
}

/// Wraps a text to at most `lines` lines of `columns` each, between words if possible, with `…` for omitted parts.
pub(super) fn wrap(text: &str, columns: usize, lines: usize) -> Vec<String> {
    // Only the part of a long text that may be shown is processed.
    let reach = text.char_indices().nth(columns * lines * 4 + 1).map_or(text.len(), |(at, _)| at);
    let is_cut = reach < text.len();
    let text = text[..reach].split_whitespace().collect::<Vec<_>>().join(" ");
    let text = visible(&text);
    let mut out: Vec<String> = vec![];
    let mut line = String::new();
    let mut words = text.split_inclusive(' ').flat_map(|word| pieces(word, columns)).peekable();
    while let Some(word) = words.next() {
        let is_blank = word.trim().is_empty();
        if width(&line) + width(word.trim_end()) <= columns {
            if !(is_blank && line.is_empty()) {
                line.push_str(&word);
            }
            continue;
        }
        if out.len() + 1 == lines {
            let rest = words.peek().is_some() || !is_blank;
            if rest {
                while width(&line) + 1 > columns {
                    let cut = line.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
                    line.truncate(cut);
                }
                line.truncate(line.trim_end().len());
                line.push('…');
            }
            out.push(line);
            return out;
        }
        out.push(std::mem::take(&mut line).trim_end().to_string());
        if !is_blank {
            line.push_str(&word);
        }
    }
    if !line.trim().is_empty() || out.is_empty() {
        if is_cut {
            line.push('…');
        }
        out.push(line.trim_end().to_string());
    }
    out
}

/// Splits a word into pieces that fit into a line: after dots and similar signs, else between letters.
fn pieces(word: &str, columns: usize) -> Vec<String> {
    if width(word.trim_end()) <= columns {
        return vec![word.to_string()];
    }
    let mut out: Vec<String> = vec![String::new()];
    for part in word.split_inclusive(['.', '/', '_', ',', '(', '[']) {
        let letters = if width(part) > columns { part.graphemes(true).collect() } else { vec![part] };
        for letter in letters {
            match out.last_mut() {
                Some(last) if last.is_empty() || width(last) + width(letter.trim_end()) <= columns => last.push_str(letter),
                _ => out.push(letter.to_string()),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_break_between_words_and_say_where_they_end_early() {
        assert_eq!(wrap("one two three four", 9, 3), ["one two", "three", "four"]);
        assert_eq!(wrap("one two three four", 9, 2), ["one two", "three…"]);
        assert_eq!(short("a\nb\tc", 10), "a b c");
        assert_eq!(short("", 10), "");
        assert_eq!(wrap("abcdefghij", 4, 3), ["abcd", "efgh", "ij"]);
        assert_eq!(short("日本語のとても長い題名", 9), "日本語の…");
        assert_eq!(short("x\u{202e}y\u{1b}[0m", 40), "x\\u202Ey\\x1B[0m");
    }

    #[test]
    fn no_line_is_wider_than_asked_for_and_a_huge_title_is_cheap() {
        let huge = "word ".repeat(200_000) + &"x".repeat(100_000);
        let lines = wrap(&huge, 26, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| width(line) <= 26) && lines[1].ends_with('…'), "{lines:?}");
    }
}
