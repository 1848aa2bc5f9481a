//! What a run writes for people and programs beside it.

use std::path::{Path, PathBuf};

use super::Pending;
use crate::diagnostic::visible;
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

/// That a name of a file in a folder is a plain one: 1 to 80 of letters, digits, `.`, `_`, `-`, no leading dot.
///
/// # Errors
/// It is not (`denied`).
pub fn plain_name(name: &str) -> Result<(), Failure> {
    let is_plain =
        (1..=80).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if is_plain {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    let message = format!("\"{}\" is not a plain file name: use letters, digits, \".\", \"_\" and \"-\", at most 80", visible(&shown));
    Err(Failure::new(FailureKind::Denied, message))
}

/// What is written into a file of a `file` tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileToWrite {
    /// A text.
    Text(String),
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

    /// Copies a picture of at most `most` bytes into it, whole or not at all, and gives the path of the copy.
    fn copy(&self, picture: &Path, most: u64, folder: &Path, name: &str) -> Pending<String>;

    /// Whether a path leads where it seems to: no link takes it from `told` (seen from the project) elsewhere; with `within`, not out of
    /// the project. A link that does is `denied`.
    fn held(&self, project: &Path, path: &Path, told: &str, within: bool) -> Pending<()>;
}
