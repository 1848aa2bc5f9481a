//! What a run writes for people and programs beside it.

use std::path::{Path, PathBuf};

use super::Pending;
use crate::diagnostic::{is_invisible, visible};
use crate::event::{Failure, FailureKind};

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub struct PrintError(#[from] std::io::Error);

/// Standard output: prints the parts of a `send`.
pub trait Printer: Send + Sync {
    /// Prints parts, an empty line between them, also between this and an earlier printing. Control characters of the parts are shown as
    /// escapes when it prints to a terminal. A reader that closed the pipe ends the printing, not the run.
    fn print(&self, parts: &[String]) -> Result<(), PrintError>;
}

/// The longest name of a file, in bytes: that of the usual file systems.
const LONGEST_NAME: usize = 255;
/// Names that stand for devices on Windows, without an ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// That a name of a file in a folder leads nowhere else and can be seen: one part of a path, not hidden, without control characters and characters that
/// nobody sees or that turn the text around.
///
/// # Errors
/// It is not (`denied`).
pub fn plain_name(name: &str) -> Result<(), Failure> {
    let why = match name {
        "" => "it is empty",
        _ if name.starts_with('.') => "it begins with \".\", as hidden files and the folders above do",
        _ if name.contains('/') => "it has \"/\" in it: write the name of one file, without a folder",
        // What is escaped takes up to four times as much.
        _ if name.len() > LONGEST_NAME * if name.contains('\\') { 4 } else { 1 } => "it is longer than 255 bytes",
        _ if name.contains(is_invisible) => "it has characters that cannot be seen",
        _ => return Ok(()),
    };
    let shown: String = name.chars().take(80).collect();
    Err(Failure::new(FailureKind::Denied, format!("\"{}\" is not a plain file name: {why}", visible(&shown))))
}

/// The same for a file that is made: its name means this file on other systems, too.
///
/// # Errors
/// It does not (`denied`).
pub fn new_name(name: &str) -> Result<(), Failure> {
    plain_name(name)?;
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered =
        |port: &str| stem.strip_prefix(port).is_some_and(|rest| rest.len() == 1 && rest != "0" && rest.bytes().all(|b| b.is_ascii_digit()));
    let why = match name {
        _ if name.contains(['\\', ':', '*', '?', '"', '<', '>', '|']) => "it has one of \\ : * ? \" < > | in it",
        _ if name.starts_with(char::is_whitespace) || name.ends_with(|c: char| c.is_whitespace() || c == '.') => {
            "it begins or ends with a blank, or ends with \".\""
        }
        _ if DEVICES.contains(&&*stem) || numbered("com") || numbered("lpt") => "it is the name of a device on Windows",
        _ => return Ok(()),
    };
    let shown: String = name.chars().take(80).collect();
    Err(Failure::new(FailureKind::Denied, format!("\"{}\" is no name for a new file: {why}", visible(&shown))))
}

/// What is written into a file of a `file` tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileToWrite {
    /// A text.
    Text(String),
    /// A text below what the file holds.
    Added {
        /// The text.
        text: String,
        /// The most bytes that the file may have then.
        most: u64,
    },
    /// A copy of a picture that the run has: one that it read, or that its code made.
    Picture {
        /// Where it is.
        path: PathBuf,
        /// The most bytes that it may have.
        most: u64,
    },
}

/// The folder of a `file` tool.
pub trait Folder: Send + Sync {
    /// Names of the files in it, sorted.
    fn list(&self, folder: &Path) -> Pending<Vec<String>>;

    /// The text of a file in it. A name that leads outside is `denied`.
    fn read(&self, folder: &Path, name: &str) -> Pending<String>;

    /// Writes a file in it, whole or not at all, and gives its path.
    fn write(&self, folder: &Path, name: &str, text: &str) -> Pending<String>;

    /// Writes a text into a file of it, on lines of its own below what the file holds, whole or not at all, also while others do the same, and gives the
    /// path of the file. A file that would have more than `most` bytes stays as it is.
    fn append(&self, folder: &Path, name: &str, text: &str, most: u64) -> Pending<String>;

    /// Copies a picture of at most `most` bytes into it, whole or not at all, and gives the path of the copy.
    fn copy(&self, picture: &Path, most: u64, folder: &Path, name: &str) -> Pending<String>;

    /// Whether a path leads where it seems to: no link takes it from `told` (seen from the project) elsewhere; with `within`, not out of
    /// the project. A link that does is `denied`.
    fn check_links(&self, project: &Path, path: &Path, told: &str, within: bool) -> Pending<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_people_give_them_are_plain_and_those_that_lead_elsewhere_are_not() {
        for name in [
            "a",
            "Jahresbericht 2026.txt",
            "Größe.txt",
            "Gro\u{308}ße.txt",
            "报告.txt",
            "a+b (final) [1] {x}'26.txt",
            "-dash",
            "100%",
            "two..dots",
            &"x".repeat(255),
        ] {
            assert!(plain_name(name).is_ok() && new_name(name).is_ok(), "{name}");
        }
        for name in ["a:b", "star*.csv", "dq\".csv", "a\\b", " a", "a ", "a.", "con", "NUL.txt", "com1.log", "LPT9"] {
            assert!(plain_name(name).is_ok() && new_name(name).is_err(), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            ".env",
            "a/b",
            "../a",
            "/a",
            "a\0b",
            "a\nb",
            "a\u{200b}b",
            "a\u{202e}txt.exe",
            "\u{feff}a",
            "a\u{7}",
            &"x".repeat(256),
            &"ä".repeat(128),
        ] {
            assert_eq!(plain_name(name).unwrap_err().kind, FailureKind::Denied, "{name:?}");
        }
        for name in ["console", "com", "com10", "null", "auxiliary.txt"] {
            assert!(new_name(name).is_ok(), "{name}");
        }
    }
}
