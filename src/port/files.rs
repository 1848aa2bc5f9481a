//! The author's files, for reading only.

use std::path::{Path, PathBuf};

/// Files as `load` sees them. Nothing here writes, starts or opens anything but the path it is given.
pub trait Files {
    /// The whole text of a file. Never blocks on anything that is no regular file.
    fn read_text(&self, path: &Path) -> Result<String, FileProblem>;
    /// Whether there is a regular file.
    fn exists(&self, path: &Path) -> bool;
    /// Names of the files in a folder, in alphabetical order; none if there is no such folder.
    fn names(&self, folder: &Path) -> Vec<String>;
    /// Where a path leads when links are followed; `None` if there is nothing. An empty path is the current folder.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    /// There is none.
    #[error("no such file")]
    Missing,
    /// It is larger than any file of this language may be.
    #[error("it is larger than 1 MiB")]
    TooLarge,
    /// It is no text in UTF-8.
    #[error("it is not text in UTF-8")]
    NotText,
    /// It is a folder, a device or the like.
    #[error("it is no file")]
    NoFile,
    /// The system refused.
    #[error("{0}")]
    Refused(String),
}
