//! Paths as text.

use std::path::{Component, Path, PathBuf};

/// Without `.` and, as far as text can tell, without `..`.
pub fn normalised(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match tidy.components().next_back() {
                Some(Component::Normal(_)) => drop(tidy.pop()),
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => tidy.push(".."),
            },
            other => tidy.push(other),
        }
    }
    tidy
}
