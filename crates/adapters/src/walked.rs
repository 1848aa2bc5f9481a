//! Which files below a folder are hidden by their names. A folder is read again only if it changed, so that a project of many files is walked once in a
//! run, and then costs one look at each folder.
//!
//! A file that is made, renamed or removed changes the time of its folder that no program can set (`st_ctime`, inode(7)). A folder that changed just before it
//! was read may change once more within the same tick of the clock: it is read again.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use super::os::{self, FileId, file_id};
use crate::model::{Touch, own_by_name, stays_hidden};

/// How long ago a folder must have changed when it is read, to be known from then on: more than a tick of any clock of a file system.
const SETTLED: Duration = Duration::from_secs(2);

/// Which names are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum HiddenNames {
    /// What no step reads.
    Own,
    /// These, and what holds keys in the folder of an installation.
    Keys,
}

impl HiddenNames {
    /// Whether this name in this folder is hidden.
    pub(super) fn has(self, place: &Path, name: &OsStr) -> bool {
        // A compiled module runs whatever the script beside it says. Installed packages are as their installer left them, and there are many.
        let is_installed = || place.iter().any(|part| part == "site-packages" || part == "dist-packages");
        match self {
            HiddenNames::Own => own_by_name(Path::new(name), Touch::Read).is_some() || name == "__pycache__" && !is_installed(),
            HiddenNames::Keys => stays_hidden(&name.to_string_lossy()),
        }
    }
}

/// Folders that were read, with what matters of them.
#[derive(Debug)]
pub struct WalkedFolders {
    known: Mutex<HashMap<(HiddenNames, PathBuf), KnownFolder>>,
    settled: Duration,
}

impl Default for WalkedFolders {
    fn default() -> WalkedFolders {
        WalkedFolders { known: Mutex::default(), settled: SETTLED }
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownFolder {
    id: FileId,
    changed: Duration,
    /// How many entries it has.
    count: usize,
    folders: Vec<OsString>,
    hidden: Vec<OsString>,
}

/// What a walk found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HiddenFiles {
    /// Hidden files and folders; nothing below such a folder.
    pub(super) paths: Vec<PathBuf>,
    /// Folders that had to be read.
    pub(super) read: usize,
}

impl WalkedFolders {
    /// Finds the hidden names below a folder; links are not followed. `None`: there are more than `most` files and folders.
    pub(super) fn hidden(&self, top: &Path, names: HiddenNames, most: usize) -> Option<HiddenFiles> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut left, mut seen, mut found) = (vec![top.to_path_buf()], 0_usize, HiddenFiles::default());
        while let Some(folder) = left.pop() {
            // Looked at before it is read: what changes meanwhile is read the next time.
            let Ok(now) = fs::symlink_metadata(&folder) else { continue };
            let (id, changed, key) = (file_id(&now), os::changed(&now), (names, folder));
            let (folder, is_settled) = match known.remove(&key).filter(|folder| (&folder.id, folder.changed) == (&id, changed)) {
                Some(folder) => (folder, true),
                None => {
                    found.read += 1;
                    let folder = read(&key.1, names, id, changed, most)?;
                    let age = UNIX_EPOCH.checked_add(changed).and_then(|at| at.elapsed().ok());
                    (folder, age.is_some_and(|age| age > self.settled))
                }
            };
            seen += folder.count;
            left.extend(folder.folders.iter().map(|name| key.1.join(name)));
            found.paths.extend(folder.hidden.iter().map(|name| key.1.join(name)));
            if is_settled {
                known.insert(key, folder);
            }
            if seen > most {
                return None;
            }
        }
        Some(found)
    }
}

fn read(place: &Path, names: HiddenNames, id: FileId, changed: Duration, most: usize) -> Option<KnownFolder> {
    let mut folder = KnownFolder { id, changed, count: 0, folders: vec![], hidden: vec![] };
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        folder.count += 1;
        if folder.count > most {
            return None;
        }
        let name = entry.file_name();
        if names.has(place, &name) {
            folder.hidden.push(name);
        } else if entry.file_type().as_ref().is_ok_and(FileType::is_dir) {
            folder.folders.push(name);
        }
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_changed_are_read_again_and_a_new_secret_is_found() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for folder in ["a/deep", "b", ".flow/inner", "c"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("a/deep/.env"), "").unwrap();
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        // More than a tick, so that each later change has another time.
        let walked = WalkedFolders { settled: Duration::from_millis(100), ..WalkedFolders::default() };
        let look = |most| {
            std::thread::sleep(Duration::from_millis(150));
            let found = walked.hidden(place.path(), HiddenNames::Own, most)?;
            let mut names: Vec<String> =
                found.paths.iter().map(|path| path.strip_prefix(place.path()).unwrap().display().to_string()).collect();
            names.sort();
            Some((names.join(" "), found.read))
        };
        assert_eq!(look(100), Some((".flow a/deep/.env".to_owned(), 5)));
        assert_eq!(look(100), Some((".flow a/deep/.env".to_owned(), 0)));
        fs::write(at("b/.env"), "").unwrap();
        assert_eq!(look(100), Some((".flow a/deep/.env b/.env".to_owned(), 1)));
        // A time that a program sets back hides nothing.
        fs::write(at("c/.env.local"), "").unwrap();
        fs::File::open(at("c")).unwrap().set_modified(UNIX_EPOCH).unwrap();
        fs::rename(at("a/deep/.env"), at("a/deep/plain")).unwrap();
        assert_eq!(look(100), Some((".flow b/.env c/.env.local".to_owned(), 2)));
        // Another folder under the name of a known one.
        fs::rename(at("b"), at("old")).unwrap();
        fs::rename(at("c"), at("b")).unwrap();
        assert_eq!(look(100).unwrap().0, ".flow b/.env.local old/.env");
        assert_eq!((look(3), walked.hidden(&at("none"), HiddenNames::Own, 9)), (None, Some(HiddenFiles::default())));
    }

    #[test]
    fn a_folder_that_just_changed_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let walked = WalkedFolders::default();
        for _ in 0..3 {
            assert_eq!(walked.hidden(place.path(), HiddenNames::Own, 9), Some(HiddenFiles { paths: vec![], read: 1 }));
        }
        fs::write(place.path().join(".env"), "").unwrap();
        assert_eq!(walked.hidden(place.path(), HiddenNames::Own, 9).unwrap().paths.len(), 1);
    }
}
