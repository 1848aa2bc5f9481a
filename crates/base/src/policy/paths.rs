//! Paths as policies see them: from the project's folder.

use std::path::Path;

use crate::source::normalised;

/// A path from the project's folder, tidied as text; one outside stays whole.
pub fn from_project(project: &Path, path: &Path) -> String {
    let (project, path) = (normalised(project), normalised(path));
    path.strip_prefix(&project).unwrap_or(&path).to_string_lossy().into_owned()
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
