//! Files, and which of them were asked for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::TableSource;
use super::files::{Files, ReadFileError};
use crate::model::{FilePattern, PreparedQuery, TableLook};

/// Everything that a check asked for: as long as none of it changes, the check gives the same.
#[derive(Debug, Clone, Default)]
pub struct AskedPaths {
    /// Files and folders, whether they are there or not.
    pub paths: BTreeSet<PathBuf>,
    /// Folders whose names were listed.
    pub folders: BTreeSet<PathBuf>,
    /// Patterns that files were looked for with.
    pub patterns: Vec<FilePattern>,
    /// Whether a file is there and cannot be read, so that nobody knows what it brings in.
    pub has_unreadable: bool,
}

/// The files below, noting what is asked for.
pub struct AskedFiles<'a> {
    below: &'a dyn Files,
    asked: RefCell<AskedPaths>,
}

impl<'a> AskedFiles<'a> {
    /// Nothing was asked for yet.
    pub fn over(below: &'a dyn Files) -> AskedFiles<'a> {
        AskedFiles { below, asked: RefCell::default() }
    }

    /// What was asked for.
    pub fn asked(self) -> AskedPaths {
        self.asked.into_inner()
    }

    fn note(&self, path: &Path) {
        let mut asked = self.asked.borrow_mut();
        if !asked.paths.contains(path) {
            asked.paths.insert(path.to_path_buf());
        }
    }
}

impl Files for AskedFiles<'_> {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        self.note(path);
        let text = self.below.read_text(path);
        self.asked.borrow_mut().has_unreadable |= text.as_ref().is_err_and(|why| *why != ReadFileError::Missing);
        text
    }

    fn exists(&self, path: &Path) -> bool {
        self.note(path);
        self.below.exists(path)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.note(path);
        self.below.is_there(path)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        self.asked.borrow_mut().folders.insert(folder.to_path_buf());
        self.below.names(folder)
    }

    fn has_fitting(&self, pattern: &FilePattern) -> bool {
        self.note(&pattern.root);
        self.asked.borrow_mut().patterns.push(pattern.clone());
        self.below.has_fitting(pattern)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.note(path);
        self.below.real_path(path)
    }

    fn columns(&self, table: &TableSource) -> Option<Vec<String>> {
        self.note(&table.file);
        self.below.columns(table)
    }

    fn look_of(&self, table: &TableSource) -> TableLook {
        self.note(&table.file);
        self.below.look_of(table)
    }

    fn prepare(&self, tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
        self.below.prepare(tables, queries)
    }
}
