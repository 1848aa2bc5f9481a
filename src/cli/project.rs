//! The project of a file on the command line.

use std::path::{Path, PathBuf};

use super::Shared;
use crate::adapter::files::DiskFiles;
use crate::load::project_of;

/// The project of a file: as named, else the nearest folder upwards with `flow.toml`, else the current one.
pub(super) fn project(path: &Path, shared: &Shared) -> PathBuf {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    shared.project.clone().unwrap_or_else(|| project_of(path, &current, &DiskFiles))
}
