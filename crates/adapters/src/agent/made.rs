//! Files that a program made or changed while it worked on an answer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::{Touch, own_by_name};
use crate::os;

/// Most files and folders that are looked at; in folders with more, none is named.
const MOST_SEEN: usize = 20_000;
/// Most files that are named.
const MOST_NAMED: usize = 50;

/// The files of some folders, each with its size and the time of its last change, which no program can set (`st_ctime`, inode(7)).
pub(super) struct SeenFiles(Option<HashMap<PathBuf, (u64, Duration)>>);

impl SeenFiles {
    /// Those that are there now. Links are not followed, and what no step reads is left out.
    pub(super) fn find(folders: &[PathBuf]) -> SeenFiles {
        let (mut left, mut seen, mut files) = (folders.to_vec(), 0_usize, HashMap::new());
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(data) = entry.metadata() else { continue };
                seen += 1;
                if seen > MOST_SEEN {
                    return SeenFiles(None);
                }
                let path = entry.path();
                if own_by_name(Path::new(&entry.file_name()), Touch::Read).is_some() {
                    continue;
                }
                if data.is_dir() {
                    left.push(path);
                } else if data.is_file() {
                    files.insert(path, (data.len(), os::changed(&data)));
                }
            }
        }
        SeenFiles(Some(files))
    }

    /// Those that were made or changed since, in order.
    pub(super) fn changed(&self, folders: &[PathBuf]) -> Vec<String> {
        let (Some(before), Some(now)) = (&self.0, SeenFiles::find(folders).0) else { return vec![] };
        let mut changed: Vec<String> = now
            .into_iter()
            .filter(|(path, state)| before.get(path) != Some(state))
            .map(|(path, _)| path.to_string_lossy().into_owned())
            .collect();
        changed.sort();
        changed.truncate(MOST_NAMED);
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_or_changed_is_named_and_nothing_that_is_hidden_or_a_link() {
        let place = tempfile::tempdir().unwrap();
        let folders = [place.path().to_path_buf()];
        let put = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
        std::fs::create_dir(place.path().join("sub")).unwrap();
        put("same.txt", "a");
        put("sub/changed.txt", "a");
        let before = SeenFiles::find(&folders);
        put("sub/changed.txt", "ab");
        put("new\n.txt", "a");
        put(".env", "KEY=x");
        std::os::unix::fs::symlink("/etc/passwd", place.path().join("link")).unwrap();
        let named = |name: &str| place.path().join(name).to_string_lossy().into_owned();
        assert_eq!(before.changed(&folders), [named("new\n.txt"), named("sub/changed.txt")]);
        assert_eq!(before.changed(&[]), Vec::<String>::new());
    }

    #[test]
    fn of_very_many_files_none_is_named() {
        let place = tempfile::tempdir().unwrap();
        let folders = [place.path().to_path_buf()];
        let before = SeenFiles::find(&folders);
        for number in 0..=MOST_SEEN {
            std::fs::write(place.path().join(number.to_string()), "").unwrap();
        }
        assert!(before.changed(&folders).is_empty());
    }
}
