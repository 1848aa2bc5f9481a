//! The author's files, for reading only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::TableSource;
use crate::model::{FilePattern, PreparedQuery, TableLook};

/// Files as `load` sees them. Nothing here writes, starts or opens anything but the path it is given.
pub trait Files {
    /// The whole text of a file. Never blocks on anything that is no regular file.
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError>;
    /// Whether there is a regular file.
    fn exists(&self, path: &Path) -> bool;
    /// Whether anything is there, also what cannot be read: a folder, a pipe, a link that leads nowhere.
    fn is_there(&self, path: &Path) -> bool {
        self.exists(path)
    }
    /// Names of the files in a folder, in alphabetical order; none if there is no such folder.
    fn names(&self, folder: &Path) -> Vec<String>;
    /// Whether any file fits an entry of `files` of a knowledge. Hidden files and those behind links do not count. What cannot be told is yes.
    fn has_fitting(&self, _: &FilePattern) -> bool {
        true
    }
    /// Where a path leads when links are followed; `None` if there is nothing. An empty path is the current folder.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;
    /// The columns of a table: of its file only the first line, the sheet or the schema is looked at. `None`: they cannot be read.
    fn columns(&self, _: &TableSource) -> Option<Vec<String>> {
        None
    }
    /// What is seen of the file of a table: in a text of rows, as far as its beginning shows.
    fn look_of(&self, _: &TableSource) -> TableLook {
        TableLook::default()
    }
    /// What SQLite says of each of these queries, which it compiles against empty tables with these columns and never runs. `None`: it cannot be
    /// said, since it is too large, or nobody is there to ask. Nothing is read.
    fn prepare(&self, _: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
        vec![None; queries.len()]
    }
}

/// Texts that stand in for files, over the files below: what an editor has open, what an edit would make of a file.
pub struct Overlay<'a> {
    /// The files below.
    pub below: &'a dyn Files,
    /// The texts, by path.
    pub texts: BTreeMap<PathBuf, Arc<str>>,
}

impl Overlay<'_> {
    /// The text of a path, whichever way it is reached.
    fn text(&self, path: &Path) -> Option<&Arc<str>> {
        self.texts.get(path).or_else(|| self.texts.get(&self.below.real_path(path)?))
    }
}

impl Files for Overlay<'_> {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        match self.text(path) {
            Some(text) if text.len() > LARGEST => Err(ReadFileError::TooLarge),
            Some(text) => Ok(text.to_string()),
            None => self.below.read_text(path),
        }
    }

    fn exists(&self, path: &Path) -> bool {
        self.text(path).is_some() || self.below.exists(path)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.text(path).is_some() || self.below.is_there(path)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let mut names = self.below.names(folder);
        let own = self.texts.keys().filter(|path| path.parent() == Some(folder));
        names.extend(own.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())));
        names.sort();
        names.dedup();
        names
    }

    fn columns(&self, table: &TableSource) -> Option<Vec<String>> {
        self.below.columns(table)
    }

    fn look_of(&self, table: &TableSource) -> TableLook {
        self.below.look_of(table)
    }

    fn prepare(&self, tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
        self.below.prepare(tables, queries)
    }

    fn has_fitting(&self, pattern: &FilePattern) -> bool {
        self.below.has_fitting(pattern)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.below.real_path(path).or_else(|| self.texts.contains_key(path).then(|| path.to_path_buf()))
    }
}

/// A disk in memory. A folder is there when a file lies in it, relative paths start in `/disk`, and the columns of a table are the first line of its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryFiles(
    /// The texts, by path.
    pub BTreeMap<PathBuf, String>,
);

impl<P: Into<PathBuf>, T: Into<String>> FromIterator<(P, T)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(files: I) -> MemoryFiles {
        MemoryFiles(files.into_iter().map(|(path, text)| (path.into(), text.into())).collect())
    }
}

impl Files for MemoryFiles {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        self.0.get(path).cloned().ok_or(ReadFileError::Missing)
    }

    fn exists(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let inside = self.0.keys().filter(|path| path.parent() == Some(folder));
        inside.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect()
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        let is_there = path.as_os_str().is_empty() || self.0.keys().any(|file| file.starts_with(path));
        is_there.then(|| Path::new("/disk").join(path))
    }

    fn has_fitting(&self, pattern: &FilePattern) -> bool {
        let matcher = pattern.matcher();
        self.0.keys().any(|path| match (&matcher, path.strip_prefix(&pattern.root)) {
            (Some(matcher), Ok(inside)) => matcher.fits(inside),
            (None, _) => *path == pattern.root,
            (Some(_), Err(_)) => false,
        })
    }

    fn columns(&self, table: &TableSource) -> Option<Vec<String>> {
        let header = self.0.get(&table.file)?.lines().next()?;
        Some(header.split(',').map(str::to_owned).collect())
    }
}

/// Most bytes of a file that a person writes.
const LARGEST: usize = 1024 * 1024;

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFileError {
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
    #[error("it is not a file")]
    NoFile,
    /// The system rejected.
    #[error("{0}")]
    Refused(String),
}

impl ReadFileError {
    /// What to do about it, as a line of help.
    pub fn help(&self) -> &'static str {
        match self {
            ReadFileError::Missing => "correct the path",
            ReadFileError::TooLarge => "split it, or move data into a table",
            ReadFileError::NotText => "save the file again as UTF-8; most editors offer that under \"Save as\"",
            ReadFileError::NoFile => "name a file",
            ReadFileError::Refused(_) => "check whether you may open the file, or name another one",
        }
    }
}
