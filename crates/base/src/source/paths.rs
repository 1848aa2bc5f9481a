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

/// The same place, told from a folder; both paths are told from one place. A whole path that is not in the folder stays whole.
pub fn from_folder(folder: &Path, path: &Path) -> PathBuf {
    let (folder, path) = (normalised(folder), normalised(path));
    if let Ok(inside) = path.strip_prefix(&folder)
        && inside.is_relative()
        && !inside.starts_with("..")
    {
        return inside.to_path_buf();
    }
    let shared = folder.components().zip(path.components()).take_while(|(of_folder, of_path)| of_folder == of_path).count();
    let is_named = folder.components().skip(shared).all(|part| matches!(part, Component::Normal(_)));
    if path.is_absolute() || folder.is_absolute() || !is_named {
        return path;
    }
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_from_a_folder() {
        for (folder, path, told) in [
            ("", "data/x.csv", "data/x.csv"),
            ("pipelines", "data/x.csv", "../data/x.csv"),
            ("pipelines/a", "pipelines/b/x.csv", "../b/x.csv"),
            ("pipelines", "./pipelines/../pipelines/x.csv", "x.csv"),
            ("", "../x.csv", "../x.csv"),
            ("..", "../data/x.csv", "data/x.csv"),
            ("..", "../../x.csv", "../x.csv"),
            ("../pipelines", "../data/x.csv", "../data/x.csv"),
            ("/shop", "/shop/data/x.csv", "data/x.csv"),
            ("/shop/pipelines", "/shop/data/x.csv", "/shop/data/x.csv"),
            ("", "/etc/hosts", "/etc/hosts"),
        ] {
            assert_eq!(from_folder(Path::new(folder), Path::new(path)), Path::new(told), "{path} from {folder}");
        }
    }
}
