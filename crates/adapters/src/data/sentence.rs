//! Failures whose message is safe to show: control characters are escaped, and the length is at most 2 KiB.

use std::path::Path;

use crate::diagnostic::escaped;
use crate::event::Failure;
use crate::model::FailureKind;

/// Maximum length of a failure's message, in bytes (`port`: `Failure::message`).
const MOST_BYTES: usize = 2048;

/// Creates a failure with this message.
pub(crate) fn failure(kind: FailureKind, message: impl AsRef<str>) -> Failure {
    Failure::new(kind, shown(message.as_ref(), MOST_BYTES))
}

/// A query or table that must be written differently.
pub(super) fn bad_request(message: impl AsRef<str>) -> Failure {
    failure(FailureKind::BadRequest, message)
}

/// Something that a query may not do.
pub(super) fn denied(message: impl AsRef<str>) -> Failure {
    failure(FailureKind::Denied, message)
}

/// An internal error of flow.
pub(super) fn internal(message: impl AsRef<str>) -> Failure {
    failure(FailureKind::Internal, message)
}

/// A file, query or result that exceeds a limit.
pub(super) fn too_large(message: impl AsRef<str>) -> Failure {
    failure(FailureKind::TooLarge, message)
}

/// A file or engine that is missing or cannot be used.
pub(super) fn unavailable(message: impl AsRef<str>) -> Failure {
    failure(FailureKind::Unavailable, message)
}

/// A file whose reader panicked.
pub(super) fn damaged(name: &str) -> Failure {
    wrong_type(format!("{name} is damaged. Open it in its program and save it again."))
}

/// A file or value that does not have the expected type.
pub(super) fn wrong_type(message: impl AsRef<str>) -> Failure {
    failure(FailureKind::WrongType, message)
}

/// Escapes control characters and shortens the text to this many bytes. A cut is marked with `…`.
pub(crate) fn shown(text: &str, most_bytes: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most_bytes));
    for character in text.chars() {
        let before = out.len();
        if character.is_control() || is_direction_mark(character) {
            out.push_str(&escaped(character))
        } else {
            out.push(character)
        }
        if out.len() > most_bytes.saturating_sub('…'.len_utf8()) {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

/// Characters that change the reading direction and could disguise a message (CVE-2021-42574).
fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The name of a file without its folders.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// `a, b, c`, with at most 20 names.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.len() {
        0 => "none".to_owned(),
        many if many > 20 => format!("{}, … ({many} in all)", names.iter().take(20).copied().collect::<Vec<_>>().join(", ")),
        _ => names.join(", "),
    }
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_direction_marks_are_shown_as_escapes() {
        assert_eq!(shown("a\u{1b}[31m\nb\u{202e}", 100), "a\\x1B[31m\\nb\\u202E");
    }

    #[test]
    fn a_long_sentence_is_cut_at_a_character_and_marked() {
        let cut = shown(&"é".repeat(5000), 2048);
        assert!(cut.len() <= 2048 && cut.ends_with("é…"), "{} bytes", cut.len());
    }

    #[test]
    fn many_names_are_counted_instead_of_listed() {
        let names: Vec<String> = (0..30).map(|n| format!("t{n}")).collect();
        assert!(listed(names.iter().map(String::as_str)).ends_with("t19, … (30 in all)"));
    }
}
