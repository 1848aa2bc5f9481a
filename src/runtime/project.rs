//! The project of a file.

use std::path::{Path, PathBuf};

use crate::adapter::files::DiskFiles;
use crate::load::project_of;

/// The project of a file: as named, else the nearest folder upwards with `flow.toml`, else the current one. Below the current folder it is named from
/// there, as the files are, so that one file has one name.
pub(crate) fn project(path: &Path, named: Option<&Path>) -> PathBuf {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let found = named.map(Path::to_path_buf).unwrap_or_else(|| project_of(path, &current, &DiskFiles));
    match found.strip_prefix(&current) {
        Ok(rest) if rest.as_os_str().is_empty() => PathBuf::from("."),
        Ok(rest) => rest.to_path_buf(),
        Err(_) => found,
    }
}
