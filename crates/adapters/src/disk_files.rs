//! The files of a check, on the disk of this machine.

#[cfg(feature = "data")]
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::files::{self, LARGEST, here, read_table, read_text};
use crate::model::{DataKind, FilePattern};
#[cfg(feature = "data")]
use crate::model::{PreparedQuery, TableLook};
use crate::port::{Files, ReadFileError, TableSource};

/// Maximum number of names read from a folder.
const MOST_NAMES: usize = 1_000;

/// Files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn has_fitting(&self, pattern: &FilePattern) -> bool {
        match pattern.matcher() {
            Some(matcher) => files::fitting(&pattern.root, &|path| matcher.fits(path), 0).is_none_or(|found| !found.is_empty()),
            None => self.exists(&pattern.root),
        }
    }

    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        let kind = path.extension().and_then(|ending| DataKind::of_ending(ending.to_str()?));
        let is_table = matches!(kind, Some(DataKind::Csv | DataKind::Tsv));
        if is_table { read_table(path, LARGEST) } else { read_text(path, LARGEST) }.map_err(problem)
    }

    fn exists(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|what| what.is_file())
    }

    fn is_there(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(here(folder)) else { return vec![] };
        let names = entries.take(MOST_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[cfg(feature = "data")]
    fn columns(&self, table: &TableSource) -> Option<Vec<String>> {
        super::data::header(table)
    }

    #[cfg(feature = "data")]
    fn look_of(&self, table: &TableSource) -> TableLook {
        super::data::look_of(table)
    }

    #[cfg(feature = "data")]
    fn prepare(&self, tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
        super::data::prepare(tables, queries)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        fs::canonicalize(here(path)).ok()
    }
}

fn problem(error: std::io::Error) -> ReadFileError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ReadFileError::Missing,
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => ReadFileError::NoFile,
        ErrorKind::FileTooLarge => ReadFileError::TooLarge,
        ErrorKind::InvalidData => ReadFileError::NotText,
        ErrorKind::PermissionDenied => ReadFileError::Refused("it may not be read".to_owned()),
        _ => ReadFileError::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_texts_of_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.yaml"), "flow: 1\n").unwrap();
        fs::write(at("big.yaml"), vec![b'x'; LARGEST as usize + 1]).unwrap();
        fs::write(at("bytes.yaml"), [0xff, 0xfe]).unwrap();
        assert_eq!(DiskFiles.read_text(&at("a.yaml")), Ok("flow: 1\n".to_owned()));
        assert_eq!(DiskFiles.read_text(&at("none.yaml")), Err(ReadFileError::Missing));
        assert_eq!(DiskFiles.read_text(&at("a.yaml/b")), Err(ReadFileError::Missing));
        assert_eq!(DiskFiles.read_text(&at("big.yaml")), Err(ReadFileError::TooLarge));
        assert_eq!(DiskFiles.read_text(&at("bytes.yaml")), Err(ReadFileError::NotText));
        assert_eq!(DiskFiles.read_text(folder.path()), Err(ReadFileError::NoFile));
        assert_eq!(DiskFiles.names(folder.path()), ["a.yaml", "big.yaml", "bytes.yaml"]);
        assert!(DiskFiles.exists(&at("a.yaml")) && !DiskFiles.exists(folder.path()));
    }
}
