//! Which files hold tests.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::adapter::files::{DiskFiles, FileError, cannot, open, yaml_files};
use crate::port::Files;

/// A path that was named is no file or folder.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("no test found: {0}")]
    Unreadable(#[from] FileError),
    #[error("no test found: {} does not exist", .0.display())]
    Missing(PathBuf),
}

/// Files with tests: those that are named, and in folders `*.test.yaml` and pipelines with `tests` of their own. Sorted, each once.
///
/// # Errors
/// A path does not exist.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<PathBuf>, DiscoverError> {
    let mut found = vec![];
    for path in paths {
        if path.is_dir() {
            found.extend(yaml_files(path).into_iter().filter(|file| holds_tests(file)));
        } else if path.is_file() {
            found.push(path.clone());
        } else if let Err(why) = open(path)
            && why.kind() != ErrorKind::NotFound
        {
            return Err(cannot("read", path)(why).into());
        } else {
            return Err(DiscoverError::Missing(path.clone()));
        }
    }
    for path in &mut found {
        if let Ok(plain) = path.strip_prefix(".") {
            *path = plain.to_path_buf();
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn holds_tests(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".test.yaml") || has_own_tests(file)
}

/// Whether a file has `name` and `tests` at its outermost level. What it really is, its reader says.
fn has_own_tests(file: &Path) -> bool {
    let Ok(text) = DiskFiles.read_text(file) else { return false };
    let has = |key: &str| text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')));
    has("flow") && has("name") && has("tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_and_pipelines_with_tests_are_found_wherever_they_stand() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let files = [
            ("a/hours.test.yaml", "flow: 1\ntest: hours.yaml\n"),
            ("a/hours.yaml", "flow: 1\nname: hours\n"),
            ("own.yaml", "flow: 1\nname: own\ntests:\n  - id: a\n"),
            ("channels/sms.yaml", "flow: 1\nchannel: sms\n"),
            ("target/x.test.yaml", "flow: 1\n"),
            ("node_modules/x.test.yaml", "flow: 1\n"),
            (".hidden/x.test.yaml", "flow: 1\n"),
            ("a/other.yaml", "services:\n  tests: 1\n"),
        ];
        for (path, text) in files {
            crate::golden::file::write(&at(path), text).unwrap();
        }
        assert_eq!(discover(&[home.path().to_path_buf(), at("own.yaml")]).unwrap(), [at("a/hours.test.yaml"), at("own.yaml")]);
        assert_eq!(discover(&[at("a/hours.yaml")]).unwrap(), [at("a/hours.yaml")]);
        assert!(discover(&[at("gone")]).unwrap_err().to_string().contains("does not exist"));
    }
}
