//! Paths: tidied as text, and held inside the project by where they really lead.

use std::path::{Component, Path, PathBuf};

use crate::port::Files;

/// The project of a file: the nearest folder upwards with a `flow.toml`, else `current`.
pub fn project_of(path: &Path, current: &Path, files: &dyn Files) -> PathBuf {
    let real = files.real_path(path).unwrap_or_else(|| path.to_path_buf());
    let found = real.ancestors().skip(1).find(|folder| files.is_there(&folder.join("flow.toml")));
    found.unwrap_or(current).to_path_buf()
}

/// Folders whose YAML files are ours whatever they begin with.
const OURS: [&str; 4] = ["pipelines", "channels", "style_guides", "policies"];

/// Whether a file stands in one of the folders that hold files of this language.
pub fn in_our_folder(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|folder| OURS.iter().any(|ours| folder == *ours))
}

/// Whether the first key of a file is `flow`.
pub fn begins_with_flow(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
    first.is_some_and(|line| line.starts_with("flow:"))
}

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

/// A path as people see it, with `/`.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Where a path really leads; of one that does not exist, where it would be.
pub fn real(path: &Path, files: &dyn Files) -> PathBuf {
    for folder in path.ancestors() {
        if let (Some(real), Ok(rest)) = (files.real_path(folder), path.strip_prefix(folder)) {
            return normalised(&real.join(rest));
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_tidied_without_leaving_the_root() {
        for (path, tidy) in [
            ("a/../b.yaml", "b.yaml"),
            ("./a/./b.yaml", "a/b.yaml"),
            ("../../x", "../../x"),
            ("a/../../x", "../x"),
            ("/../x", "/x"),
            ("/a/b/../c", "/a/c"),
        ] {
            assert_eq!(normalised(Path::new(path)), Path::new(tidy), "{path}");
        }
    }
}
