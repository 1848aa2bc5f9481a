//! Patterns: compiled by an engine that needs time in step with the text's length, and explained when they cannot be read.

use std::cell::Cell;

use regex::{Regex, RegexBuilder};

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
    #[error("{}", explain(&.0.to_string()))]
    Syntax(#[from] regex::Error),
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
                Err(error) => return Err(error.into()),
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

fn explain(error: &str) -> &'static str {
    const KNOWN: &[(&str, &str)] = &[
        ("unclosed group", "has a \"(\" that is never closed"),
        ("unopened group", "has a \")\" that closes nothing"),
        ("unclosed character class", "has a \"[\" that is never closed"),
        ("missing expression", "has a \"*\", \"+\" or \"?\" with nothing before it to repeat"),
        ("look-around", "looks ahead or behind (such as \"(?=\"), which is not possible here"),
        ("backreferences", "refers back to a group (such as \"\\1\"), which is not possible here"),
        ("repetition quantifier", "has a \"{\" that is no repetition such as {2,5}; write \\{ for the sign"),
        ("decimal literal", "has a \"{\" that is no repetition such as {2,5}; write \\{ for the sign"),
        ("character class range", "has a range such as [z-a] that runs backwards"),
        ("count range", "has a repetition such as {5,2} that runs backwards"),
        ("incomplete escape", "ends with a single \"\\\""),
        ("unrecognized escape", "has a \"\\\" before a letter that means nothing there"),
        ("Unicode property", "names a class of characters that does not exist"),
    ];
    KNOWN.iter().find(|(part, _)| error.contains(part)).map_or("cannot be read", |(_, words)| words)
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
