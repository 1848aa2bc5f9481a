//! Paths as policies see them: from the project's folder.

use std::path::{Component, Path, PathBuf};

/// A path from the project's folder, tidied as text; one outside stays whole.
pub fn from_project(project: &Path, path: &Path) -> String {
    let (project, path) = (tidy(project), tidy(path));
    path.strip_prefix(&project).unwrap_or(&path).to_string_lossy().into_owned()
}

fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if tidied.file_name().is_some_and(|name| name != "..") => {
                tidied.pop();
            }
            part => tidied.push(part),
        }
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_the_project() {
        let from = |project: &str, path: &str| from_project(Path::new(project), Path::new(path));
        assert_eq!(from("/p", "/p/a/../b.md"), "b.md");
        assert_eq!(from(".", "./a/b.md"), "a/b.md");
        assert_eq!(from("", "a.md"), "a.md");
        assert_eq!(from("/p", "/p/../etc/hosts"), "/etc/hosts");
        assert_eq!(from(".", "../x.md"), "../x.md");
    }
}
