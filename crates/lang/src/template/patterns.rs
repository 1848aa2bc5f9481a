//! Patterns: compiled by an engine that needs time in step with the text's length, and explained when they cannot be read.

use std::cell::Cell;

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::ErrorKind as ClassErrorKind;

/// Bytes that a compiled pattern may take: most take the least, and no pattern may take more than the last.
const SIZES: [usize; 3] = [16 * 1024, 256 * 1024, 4 * 1024 * 1024];
/// Bytes that the compiled patterns of one file may take together.
const ALL: usize = 64 * 1024 * 1024;

/// How much of a file's room for patterns is left.
#[derive(Debug)]
pub struct Room(Cell<usize>);

impl Default for Room {
    fn default() -> Room {
        Room(Cell::new(ALL))
    }
}

/// Why a pattern cannot be used, as words that follow `the pattern …`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum PatternError {
    /// Others have taken the room.
    #[error("is too large beside the others of this file")]
    NoRoom,
    /// It would take more than one pattern may.
    #[error("is too large; make its repetitions smaller")]
    TooLarge,
    /// It cannot be read.
    #[error("{0}")]
    Syntax(&'static str),
}

impl Room {
    /// Compiles a pattern into what is left.
    pub fn compile(&self, pattern: &str) -> Result<Regex, PatternError> {
        for size in SIZES.into_iter().filter(|size| *size <= self.0.get()) {
            match RegexBuilder::new(pattern).size_limit(size).build() {
                Ok(regex) => {
                    self.0.set(self.0.get() - size);
                    return Ok(regex);
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(_) => return Err(PatternError::Syntax(explain(pattern))),
            }
        }
        let is_full = self.0.get() < SIZES[SIZES.len() - 1];
        Err(if is_full { PatternError::NoRoom } else { PatternError::TooLarge })
    }
}

/// Compiles one pattern alone.
pub fn compile(pattern: &str) -> Result<Regex, PatternError> {
    Room::default().compile(pattern)
}

/// What is wrong with a pattern that cannot be read.
fn explain(pattern: &str) -> &'static str {
    match regex_syntax::parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => match error.kind() {
            ErrorKind::GroupUnclosed => "has a \"(\" that is never closed",
            ErrorKind::GroupUnopened => "has a \")\" that closes nothing",
            ErrorKind::ClassUnclosed => "has a \"[\" that is never closed",
            ErrorKind::RepetitionMissing => "has a \"*\", \"+\" or \"?\" with nothing before it to repeat",
            ErrorKind::UnsupportedLookAround => "looks ahead or behind (such as \"(?=\"), which is not possible here",
            ErrorKind::UnsupportedBackreference => "refers back to a group (such as \"\\1\"), which is not possible here",
            ErrorKind::RepetitionCountUnclosed
            | ErrorKind::RepetitionCountDecimalEmpty
            | ErrorKind::DecimalEmpty
            | ErrorKind::DecimalInvalid => "has a \"{\" that is not a repetition such as {2,5}; write \\{ for the sign",
            ErrorKind::ClassRangeInvalid => "has a range such as [z-a] that runs backwards",
            ErrorKind::RepetitionCountInvalid => "has a repetition such as {5,2} that runs backwards",
            ErrorKind::EscapeUnexpectedEof => "ends with a single \"\\\"",
            ErrorKind::EscapeUnrecognized => "has a \"\\\" before a letter that means nothing there",
            _ => "cannot be read",
        },
        Err(regex_syntax::Error::Translate(error)) => match error.kind() {
            ClassErrorKind::UnicodePropertyNotFound | ClassErrorKind::UnicodePropertyValueNotFound => {
                "names a class of characters that does not exist"
            }
            _ => "cannot be read",
        },
        _ => "cannot be read",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_patterns_are_told_in_plain_words() {
        for (pattern, why) in [
            ("(a", "has a \"(\" that is never closed"),
            ("a)", "has a \")\" that closes nothing"),
            ("[a", "has a \"[\" that is never closed"),
            ("*a", "has a \"*\", \"+\" or \"?\" with nothing before it to repeat"),
            ("(?=a)b", "looks ahead or behind (such as \"(?=\"), which is not possible here"),
            ("(a)\\1", "refers back to a group (such as \"\\1\"), which is not possible here"),
            ("[z-a]", "has a range such as [z-a] that runs backwards"),
            ("a{5,2}", "has a repetition such as {5,2} that runs backwards"),
            ("a\\", "ends with a single \"\\\""),
            ("unclosed group[z-a]", "has a range such as [z-a] that runs backwards"),
            ("decimal literal(a", "has a \"(\" that is never closed"),
            ("a{x", "has a \"{\" that is not a repetition such as {2,5}; write \\{ for the sign"),
            ("a{2", "has a \"{\" that is not a repetition such as {2,5}; write \\{ for the sign"),
            ("\\y", "has a \"\\\" before a letter that means nothing there"),
            ("\\p{Foo}", "names a class of characters that does not exist"),
            ("\\w{1000}{1000}", "is too large; make its repetitions smaller"),
        ] {
            assert_eq!(compile(pattern).unwrap_err().to_string(), why, "{pattern}");
        }
    }

    #[test]
    fn patterns_of_one_file_share_their_room() {
        let room = Room::default();
        let large = (0..100).take_while(|_| room.compile("\\w{20}").is_ok()).count();
        assert!((10..=16).contains(&large), "{large}");
        assert_eq!(room.compile("\\w{20}").unwrap_err(), PatternError::NoRoom);
        assert_eq!((0..3000).filter(|_| Room::default().compile("^[a-z]+$").is_ok()).count(), 3000);
    }
}
