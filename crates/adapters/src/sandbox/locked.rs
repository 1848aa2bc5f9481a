//! Folders of this process for programs: removed when they are no longer needed, and by the next process if this one was killed. Nothing here follows a link that a program left.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, chmodat, fstat, openat, openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::os;

/// How the names of these folders begin, and the file in each that is locked while it is in use; it is made under another name, so that nobody finds
/// it before it is locked.
const PREFIX: &str = "flow-";
const LOCK: &CStr = c"flow-scratch.lock";
const LOCK_FILE: &str = "flow-scratch.lock";
const NEW_LOCK: &CStr = c"flow-scratch.new";
const NEW_LOCK_FILE: &str = "flow-scratch.new";
/// Maximum number of entries of the folder for temporary files that are looked at for folders that were left, and how old an empty one must be to be no
/// folder that is just being made.
const MOST_LOOKED_AT: usize = 20_000;
const AGE_OF_EMPTY: Duration = Duration::from_secs(600);

/// A folder in the system's folder for temporary files that only this user can open. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    folder: PathBuf,
    root: OwnedFd,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl LockedFolder {
    /// Makes one; `kind` is a part of its name.
    ///
    /// # Errors
    /// Fails if there is no room for it, or no right to make it.
    pub(crate) fn new(kind: &str) -> std::io::Result<LockedFolder> {
        let made = tempfile::Builder::new().prefix(&format!("{PREFIX}{kind}")).permissions(os::permissions(0o700)).tempdir()?;
        let folder = made.path().canonicalize()?;
        let lock = File::create_new(folder.join(NEW_LOCK_FILE))?;
        lock.try_lock()?;
        std::fs::rename(folder.join(NEW_LOCK_FILE), folder.join(LOCK_FILE))?;
        // Once is enough: what this process leaves, the next one removes.
        static LEFT: Once = Once::new();
        LEFT.call_once(|| folder.parent().into_iter().for_each(remove_left));
        let root = OwnedFd::from(File::open(&folder)?);
        let _removed_by_this = made.keep();
        Ok(LockedFolder { folder, root, _lock: lock })
    }

    /// Where it is, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder itself, whatever lies at its path.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        // What cannot be removed stays: there is nobody left to be told.
        let _ = removed(&self.root, &self.folder);
    }
}

/// Removes scratch folders of this user that nobody uses: of a process that was killed before there was anybody to remove its folder.
fn remove_left(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_LOOKED_AT);
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(left) = openat(CWD, entry.path(), flags, Mode::empty()) else { continue };
        if !fstat(&left).is_ok_and(|what| what.st_uid == os::this_user() && what.st_mode & 0o077 == 0) {
            continue;
        }
        match regular_at(&left, LOCK) {
            Some(lock) if lock.try_lock().is_ok() => drop(removed(&left, &entry.path())),
            Some(_) => {}
            // It may just be being made, or be somebody else's: the file goes last. Only an empty folder can be removed.
            None => {
                let modified = entry.metadata().and_then(|what| what.modified());
                if modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > AGE_OF_EMPTY)) {
                    // All that is in it if its process was killed before the file had its name.
                    let _ = unlinkat(&left, NEW_LOCK, AtFlags::empty());
                    let _ = std::fs::remove_dir(entry.path());
                }
            }
        }
    }
}

/// Removes a scratch folder. The file that is locked goes last: what is left of a removal that was broken off is known by it.
fn removed(root: &OwnedFd, folder: &Path) -> std::io::Result<()> {
    emptied(root)?;
    match unlinkat(root, LOCK, AtFlags::empty()) {
        Err(Errno::NOENT) | Ok(()) => std::fs::remove_dir(folder),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder right in another one; a link is none.
pub(super) fn folder_at(from: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(&from, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV) {
        // Older than Linux 5.6. One name is one step, so `NOFOLLOW` says the same.
        Err(Errno::NOSYS) => openat(from, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// Opens a regular file right in a folder, without waiting for what is at the other end of a pipe.
pub(super) fn regular_at(from: &OwnedFd, name: &CStr) -> Option<File> {
    let is_regular = |what: &Stat| FileType::from_raw_mode(RawMode::from(what.st_mode)) == FileType::RegularFile;
    // Opening some devices has an effect.
    statat(from, name, AtFlags::SYMLINK_NOFOLLOW).ok().filter(is_regular)?;
    let file = openat(from, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    is_regular(&fstat(&file).ok()?).then(|| File::from(file))
}

/// Removes everything in a scratch folder but the file that is locked, whatever its depth and whatever rights the program left on it. What is in a folder of the folder moves up before that
/// folder goes, so there is never more than one of them open.
fn emptied(top: &OwnedFd) -> Result<(), Errno> {
    let mut moved = 0_u64;
    loop {
        let (mut folders, mut is_empty): (Vec<CString>, bool) = (vec![], true);
        for entry in Dir::read_from(top)? {
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c"..", LOCK].contains(&name) {
                continue;
            }
            is_empty = false;
            match unlinkat(top, name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => folders.push(name.to_owned()),
                Err(Errno::NOENT) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        // Removing may hide entries from who reads the folder; the next round sees them.
        if is_empty {
            return Ok(());
        }
        for name in folders {
            let inner = opened_for_all(top, &name)?;
            for entry in Dir::read_from(&inner)? {
                let entry = entry?;
                let inside = entry.file_name();
                if [c".", c".."].contains(&inside) {
                    continue;
                }
                match unlinkat(&inner, inside, AtFlags::empty()) {
                    Err(Errno::ISDIR | Errno::PERM) => {
                        // A folder can only be moved by who may change it.
                        drop(opened_for_all(&inner, inside)?);
                        moved += 1;
                        renameat(&inner, inside, top, format!(".moved-{moved}"))?;
                    }
                    Err(Errno::NOENT) | Ok(()) => {}
                    Err(error) => return Err(error),
                }
            }
            match unlinkat(top, &*name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Opens a folder right in another one, after its owner got all rights on it. No process of the program is left that could put a link in its place.
fn opened_for_all(from: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let is_folder = |what: Stat| FileType::from_raw_mode(RawMode::from(what.st_mode)) == FileType::Directory;
    if !is_folder(statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        return Err(Errno::NOTDIR);
    }
    chmodat(from, name, Mode::RWXU, AtFlags::empty())?;
    folder_at(from, name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_a_killed_process_left_goes_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let made = |name: &str, mode: u32| {
            let folder = place.path().join(name);
            fs::create_dir_all(folder.join("work/deep")).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            folder
        };
        let [left, used, new, others, another] =
            [("flow-left", 0o700), ("flow-used", 0o700), ("flow-new", 0o700), ("flow-open", 0o755), ("left", 0o700)]
                .map(|(name, mode)| made(name, mode));
        [&left, &used, &others, &another].iter().for_each(|folder| drop(File::create(folder.join(LOCK_FILE)).unwrap()));
        symlink(&another, place.path().join("flow-link")).unwrap();
        let lock = File::open(used.join(LOCK_FILE)).unwrap();
        lock.try_lock().unwrap();
        remove_left(place.path());
        assert_eq!(
            [&left, &used, &new, &others, &another].map(|folder| folder.join("work/deep").exists()),
            [false, true, true, true, true]
        );
        assert!(!left.exists());
        drop(lock);
        remove_left(place.path());
        assert!(!used.exists() && another.exists());
        // Without the file it goes only if it is empty and old.
        let [empty, old, cut] = ["flow-empty", "flow-old", "flow-cut"].map(|name| place.path().join(name));
        for folder in [&empty, &old, &cut, &new] {
            fs::create_dir_all(folder).unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        File::create(cut.join(NEW_LOCK_FILE)).unwrap();
        for folder in [&old, &cut, &new] {
            File::open(folder).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        remove_left(place.path());
        assert_eq!([&empty, &old, &cut, &new].map(|folder| folder.exists()), [true, false, false, true]);
    }

    #[test]
    fn the_file_that_is_locked_is_there_as_long_as_anything_else_is() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("flow-left");
        fs::create_dir_all(folder.join("work")).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        File::create(folder.join(LOCK_FILE)).unwrap();
        (0..20_000).for_each(|n| fs::write(folder.join("work").join(n.to_string()), "").unwrap());
        let (removal, from) = (place.path().to_path_buf(), folder.clone());
        let removing = std::thread::spawn(move || remove_left(&removal));
        let mut looks = 0;
        while from.exists() {
            let is_locked = from.join(LOCK_FILE).exists();
            // Looked at afterwards: it was there, too, when the file was not.
            assert!(is_locked || !from.join("work").exists(), "a removal that ends here would leave the folder for ever");
            looks += 1;
        }
        removing.join().unwrap();
        assert!(looks > 1);
    }
}
