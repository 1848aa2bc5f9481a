//! Headers of a mail whose text arrives as it was written (RFC 5322, RFC 2047).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::message::header::{HeaderName, HeaderValue};

/// The most bytes of a line that servers accept (RFC 5322, 2.1.1).
pub(super) const LONGEST_LINE: usize = 998;
/// The most bytes of a line as people like it, and of a line with an encoded word.
const LINE: usize = 76;
/// How an encoded word begins and ends.
const WORD: (&str, &str) = ("=?utf-8?b?", "?=");

/// A header whose text readers decode: what would not arrive as written is in encoded words.
///
/// # Errors
/// The name is none.
pub(super) fn text_header(name: &str, text: &str) -> Result<HeaderValue, String> {
    let encoded = if is_plain(text) { folded(name, text) } else { encoded(name, text) };
    header(name, text, encoded)
}

/// A header that programs read by a grammar of its own, in which nothing can be encoded.
///
/// # Errors
/// The name is none, or the text has other characters than ASCII.
pub(super) fn grammar_header(name: &str, text: &str) -> Result<HeaderValue, String> {
    if !text.is_ascii() {
        return Err(format!("header {name} of the mail has a character that is not ASCII, and nothing can be encoded in it"));
    }
    header(name, text, folded(name, text))
}

/// Whether programs read a header by a grammar of its own.
pub(super) fn has_grammar(name: &str) -> bool {
    let small = name.to_ascii_lowercase();
    small.starts_with("list-") || small.ends_with("-to") || ["auto-submitted", "sender"].contains(&&*small)
}

fn header(name: &str, text: &str, encoded: String) -> Result<HeaderValue, String> {
    let header = HeaderName::new_from_ascii(name.to_owned()).map_err(|_| format!("{name:?} is no name of a header"))?;
    Ok(HeaderValue::dangerous_new_pre_encoded(header, text.to_owned(), encoded))
}

/// Whether a text arrives as it is: readers take it for no encoded word, strip no blank of it, and it can be folded.
fn is_plain(text: &str) -> bool {
    let longest = text.split(' ').map(str::len).max().unwrap_or(0);
    // A line break may come before a blank; a run of blanks is not parted.
    let blanks = text.split(|c| c != ' ').map(str::len).max().unwrap_or(0);
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !text.contains("=?") && text.trim() == text && longest.max(blanks) < LINE * 2
}

/// A text with line breaks before blanks, so that lines are short where they can be.
fn folded(name: &str, text: &str) -> String {
    let (mut out, mut length, mut rest) = (String::with_capacity(text.len()), name.len() + 2, text);
    while !rest.is_empty() {
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let word = rest[blanks..].find(' ').map_or(rest.len(), |end| blanks + end);
        if blanks > 0 && !out.is_empty() && length + word > LINE {
            out.push_str("\r\n");
            length = 0;
        }
        out.push_str(&rest[..word]);
        length += word;
        rest = &rest[word..];
    }
    out
}

/// A text as encoded words, one a line: readers join them without what stands between them.
fn encoded(name: &str, text: &str) -> String {
    let (mut out, mut length, mut rest) = (String::with_capacity(text.len() * 2), name.len() + 2, text);
    while !rest.is_empty() {
        // Behind a long name there is room on the next line.
        let room = LINE.saturating_sub(length + WORD.0.len() + WORD.1.len()) / 4 * 3;
        let end = rest.floor_char_boundary(room.min(rest.len()));
        if end > 0 {
            out.push_str(&format!("{}{}{}", WORD.0, STANDARD.encode(&rest[..end]), WORD.1));
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            out.push_str("\r\n ");
            length = 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The header as it stands in a mail.
    fn written(name: &str, text: &str) -> String {
        let mut headers = lettre::message::header::Headers::new();
        headers.insert_raw(text_header(name, text).unwrap());
        headers.to_string()
    }

    /// What a reader makes of it: unfolded, and decoded if it is of encoded words.
    fn read(written: &str) -> String {
        let whole = written.strip_suffix("\r\n").unwrap();
        let (_, value) = whole.split_once(':').unwrap();
        let unfolded = value.replace("\r\n", "");
        let text = unfolded.strip_prefix(' ').unwrap();
        if !text.trim_start().starts_with(WORD.0) {
            return text.to_owned();
        }
        text.split_whitespace()
            .map(|word| {
                assert!(word.len() <= 75, "{word}");
                let inner = word.strip_prefix(WORD.0).and_then(|word| word.strip_suffix(WORD.1)).unwrap();
                String::from_utf8(STANDARD.decode(inner).unwrap()).expect("no character is cut")
            })
            .collect()
    }

    fn check(name: &str, text: &str) {
        let written = written(name, text);
        assert_eq!(read(&written), text, "{written}");
        for line in written.lines() {
            assert!(line.len() <= LINE || !line.contains(WORD.0) && line.len() < 400, "{line}");
            assert!(!line.trim().is_empty() && line.is_ascii(), "{written:?}");
        }
    }

    #[test]
    fn subjects_arrive_as_they_were_written() {
        let long = "a".repeat(1_386);
        let words = "Report of the month ".repeat(30);
        for text in [
            "Monthly report",
            "=?utf-8?q?a?= literal",
            "  leading",
            "trailing ",
            "two  blanks, and https://example.com/a?b=c",
            "a =? b",
            &long,
            words.trim_end(),
            &format!("see https://example.com/{}", "x".repeat(140)),
            &format!("a{}b", " ".repeat(500)),
            &"\u{e4}".repeat(400),
            "Gr\u{fc}\u{df}e \u{1f600} \u{65e5}\u{672c}",
            " ",
        ] {
            check("Subject", text);
            check(&"X-".repeat(38), text);
        }
        assert_eq!(written("Subject", "Monthly report"), "Subject: Monthly report\r\n");
    }

    #[test]
    fn nothing_is_encoded_where_a_grammar_reads() {
        let address = format!("<https://example.com/{}>", "u".repeat(300));
        let written = grammar_header("List-Unsubscribe", &address).unwrap();
        let mut headers = lettre::message::header::Headers::new();
        headers.insert_raw(written);
        assert_eq!(headers.to_string(), format!("List-Unsubscribe: {address}\r\n"));
        assert!(grammar_header("List-Id", "<\u{fc}.example.com>").is_err());
        assert!(has_grammar("list-unsubscribe-post") && has_grammar("Errors-To") && !has_grammar("X-Topic"));
    }

    proptest! {
        #[test]
        fn any_text_arrives_as_it_was_written(text in "[ -~\u{e4}\u{65e5}]{1,300}|[a-z ]{1,600}|[=? a-z]{1,40}") {
            check("Subject", &text);
        }
    }
}
