//! The scratch folder of a program: made fresh, filled, measured, read, and removed. Nothing here follows a link that the program left.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, chmodat, fstat, mkdirat, openat, openat2, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use crate::adapter::os;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::plain_name;

/// The folder in the scratch folder whose files come back.
const OUT: &CStr = c"out";
/// How the names of scratch folders begin, and the file in each that is locked while it is in use; it is made under another name, so that nobody finds
/// it before it is locked.
const PREFIX: &str = "flow-";
const LOCK: &CStr = c"flow-scratch.lock";
const LOCK_FILE: &str = "flow-scratch.lock";
const NEW_LOCK: &str = "flow-scratch.new";
/// Maximum number of entries of the folder for temporary files that are looked at for folders that were left, and how old an empty one must be to be no
/// folder that is just being made.
const MOST_LOOKED_AT: usize = 20_000;
const AGE_OF_EMPTY: Duration = Duration::from_secs(600);
/// Maximum number of files that come back, and of their bytes together.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 100 << 20;
/// What an entry of a folder takes at least, in bytes: also empty files fill a disk.
const ENTRY: u64 = 4 << 10;
/// How deep a tree is measured. A deeper one counts as too large.
const DEEPEST: usize = 128;

/// A folder that only this user can open, with two in it: `work`, which the program may change, and `stage`, in which flow and the first stage talk.
/// It is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    root: OwnedFd,
    work: OwnedFd,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl Scratch {
    /// Makes a scratch folder in the system's folder for temporary files, with these files in it, and an empty `out`.
    ///
    /// # Errors
    /// Fails with `denied` if a name is not a plain one, and with `unavailable` if the folder cannot be written.
    pub(super) fn new(files: &[(String, Vec<u8>)]) -> Result<Scratch, Failure> {
        let cannot = |e: std::io::Error| Failure::new(FailureKind::Unavailable, format!("a scratch folder cannot be made: {e}"));
        let made = tempfile::Builder::new().prefix(PREFIX).permissions(os::permissions(0o700)).tempdir().map_err(cannot)?;
        let folder = made.path().canonicalize().map_err(cannot)?;
        let lock = File::create_new(folder.join(NEW_LOCK)).map_err(cannot)?;
        lock.try_lock().map_err(|e| cannot(e.into()))?;
        std::fs::rename(folder.join(NEW_LOCK), folder.join(LOCK_FILE)).map_err(cannot)?;
        // Once is enough: what this process leaves, the next one removes.
        static LEFT: Once = Once::new();
        LEFT.call_once(|| folder.parent().into_iter().for_each(remove_left));
        let open = |from: &OwnedFd, name: &CStr| -> Result<OwnedFd, Errno> {
            mkdirat(from, name, Mode::RWXU)?;
            folder_at(from, name)
        };
        let root = OwnedFd::from(File::open(&folder).map_err(cannot)?);
        let scratch = Scratch { work: open(&root, c"work").map_err(|e| cannot(e.into()))?, folder, root, _lock: lock };
        let _removed_by_scratch = made.keep();
        open(&scratch.root, c"stage")
            .and_then(|_| open(&scratch.work, c"tmp"))
            .and_then(|_| open(&scratch.work, OUT))
            .map_err(|e| cannot(e.into()))?;
        for (name, content) in files {
            plain_name(name)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let to_file = |e: std::io::Error| match e.kind() {
                std::io::ErrorKind::AlreadyExists => Failure::new(FailureKind::Denied, format!("two files of a program are named {name}")),
                _ => cannot(e),
            };
            let file = openat(&scratch.work, name.as_str(), flags, Mode::RUSR | Mode::WUSR).map_err(|e| to_file(e.into()))?;
            File::from(file).write_all(content).map_err(cannot)?;
        }
        Ok(scratch)
    }

    /// The whole folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the program may change: its `HOME`.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Where flow and the first stage talk.
    pub(super) fn stage(&self) -> PathBuf {
        self.folder.join("stage")
    }

    /// The file system's free space, in bytes: a cheap hint whether it is worth measuring.
    pub(super) fn free(&self) -> u64 {
        rustix::fs::fstatvfs(&self.work).map_or(0, |what| what.f_bfree.saturating_mul(what.f_frsize))
    }

    /// The bytes that the folder takes on the disk; `None`: it is too deep to be measured. Stops counting above `most`.
    pub(super) fn used(&self, most: u64) -> Option<u64> {
        let mut used = 0;
        let mut levels = vec![Dir::read_from(&self.root).ok()?];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.read() else {
                levels.pop();
                continue;
            };
            let Ok(entry) = entry else { continue };
            if [c".", c".."].contains(&entry.file_name()) {
                continue;
            }
            let at = level.fd().ok()?;
            let Ok(what) = statat(at, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            used += ENTRY.max(u64::try_from(what.st_blocks).unwrap_or(0).saturating_mul(512));
            if used > most {
                return Some(used);
            }
            if FileType::from_raw_mode(what.st_mode) != FileType::Directory {
                continue;
            }
            // A folder that cannot be opened can hold nothing new.
            let Ok(inner) = folder_at(at, entry.file_name()).and_then(Dir::new) else { continue };
            if levels.len() >= DEEPEST {
                return None;
            }
            levels.push(inner);
        }
        Some(used)
    }

    /// The regular files directly in `out`, by name. Links, pipes, sockets and folders are left out, and so is what only a link names.
    ///
    /// # Errors
    /// Fails with `denied` if the name of a file is not a plain one, and with `too_large` if there are too many files or bytes.
    pub(super) fn files(&self) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let Ok(out) = folder_at(&self.work, OUT) else { return Ok(vec![]) };
        let cannot = |e: std::io::Error| Failure::new(FailureKind::Unavailable, format!("the files of a program cannot be read: {e}"));
        let (mut files, mut bytes) = (vec![], 0);
        for entry in Dir::read_from(&out).map_err(|e| cannot(e.into()))? {
            let entry = entry.map_err(|e| cannot(e.into()))?;
            let Some(file) = regular_at(&out, entry.file_name()) else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            plain_name(&name)
                .map_err(|failure| Failure { message: format!("a file that the program left in out: {}", failure.message), ..failure })?;
            let mut content = vec![];
            file.take(MOST_BYTES - bytes + 1).read_to_end(&mut content).map_err(cannot)?;
            bytes += content.len() as u64;
            files.push((name, content));
            if files.len() > MOST_FILES || bytes > MOST_BYTES {
                let message = format!("the program left more than {MOST_FILES} files or {} MiB in out", MOST_BYTES >> 20);
                return Err(Failure::new(FailureKind::TooLarge, message));
            }
        }
        files.sort();
        Ok(files)
    }
}

impl Drop for Scratch {
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
fn folder_at(from: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(&from, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV) {
        // Older than Linux 5.6. One name is one step, so `NOFOLLOW` says the same.
        Err(Errno::NOSYS) => openat(from, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// Opens a regular file right in a folder, without waiting for what is at the other end of a pipe.
fn regular_at(from: &OwnedFd, name: &CStr) -> Option<File> {
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn names(files: &[(String, Vec<u8>)]) -> Vec<&str> {
        files.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn files_go_in_by_plain_names_and_only_regular_ones_come_out() {
        let scratch = Scratch::new(&[("a.csv".into(), b"1".to_vec()), ("b".into(), vec![])]).unwrap();
        assert_eq!(fs::read(scratch.work().join("a.csv")).unwrap(), b"1");
        assert_eq!(fs::metadata(scratch.folder()).unwrap().permissions().mode() & 0o777, 0o700);
        let out = scratch.work().join("out");
        fs::write(out.join("x.png"), "picture").unwrap();
        symlink("/etc/passwd", out.join("passwd")).unwrap();
        symlink(scratch.work().join("a.csv"), out.join("a.csv")).unwrap();
        fs::create_dir(out.join("folder")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(out.join("pipe")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(out.join("socket")).unwrap();
        assert_eq!(scratch.files().unwrap(), [("x.png".to_owned(), b"picture".to_vec())]);
        fs::write(out.join(".hidden"), "").unwrap();
        assert_eq!(scratch.files().unwrap_err().kind, FailureKind::Denied);
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a\0b", "a b"] {
            assert_eq!(Scratch::new(&[(name.into(), vec![])]).unwrap_err().kind, FailureKind::Denied, "{name:?}");
        }
        assert_eq!(Scratch::new(&[("a".into(), vec![]), ("a".into(), vec![])]).unwrap_err().kind, FailureKind::Denied);
    }

    #[test]
    fn a_folder_in_place_of_out_that_is_a_link_holds_no_files() {
        let scratch = Scratch::new(&[]).unwrap();
        fs::remove_dir(scratch.work().join("out")).unwrap();
        symlink("/etc", scratch.work().join("out")).unwrap();
        assert_eq!(scratch.files().unwrap(), []);
    }

    #[test]
    fn a_file_that_is_swapped_for_a_link_ten_thousand_times_is_never_read_through_it() {
        let scratch = Scratch::new(&[]).unwrap();
        let (out, stop) = (scratch.work().join("out"), Arc::new(AtomicBool::new(false)));
        let (is_over, folder) = (Arc::clone(&stop), out.clone());
        let swaps = std::thread::spawn(move || {
            let (spare, file) = (folder.with_file_name("spare"), folder.join("file"));
            // A new name of one file: a new file each time would have to reach the disk before it takes the place of another.
            let fine = folder.with_file_name("fine");
            fs::write(&fine, "fine").unwrap();
            let mut swapped = 0;
            while !is_over.load(Ordering::Relaxed) || swapped < 10_000 {
                symlink("/etc/passwd", &spare).unwrap();
                fs::rename(&spare, &file).unwrap();
                fs::hard_link(&fine, &spare).unwrap();
                fs::rename(&spare, &file).unwrap();
                swapped += 1;
            }
        });
        let mut read = 0;
        for _ in 0..10_000 {
            for (name, content) in scratch.files().unwrap() {
                assert_eq!((name.as_str(), content.as_slice()), ("file", b"fine".as_slice()));
                read += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
        swaps.join().unwrap();
        assert!(read > 0);
    }

    #[test]
    fn a_swapped_out_folder_is_never_read_through_a_link() {
        let (scratch, elsewhere) = (Scratch::new(&[]).unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("secret"), "secret").unwrap();
        let (work, target, stop) = (scratch.work(), elsewhere.path().to_path_buf(), Arc::new(AtomicBool::new(false)));
        fs::write(work.join("out/fine"), "fine").unwrap();
        let is_over = Arc::clone(&stop);
        let swaps = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(work.join("out"), work.join("kept")).unwrap();
                symlink(&target, work.join("out")).unwrap();
                fs::remove_file(work.join("out")).unwrap();
                fs::rename(work.join("kept"), work.join("out")).unwrap();
            }
        });
        for _ in 0..10_000 {
            assert!(names(&scratch.files().unwrap()).iter().all(|name| *name == "fine"));
        }
        stop.store(true, Ordering::Relaxed);
        swaps.join().unwrap();
    }

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
        let [empty, old] = ["flow-empty", "flow-old"].map(|name| place.path().join(name));
        for folder in [&empty, &old, &new] {
            fs::create_dir_all(folder).unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        for folder in [&old, &new] {
            File::open(folder).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        remove_left(place.path());
        assert_eq!([&empty, &old, &new].map(|folder| folder.exists()), [true, false, true]);
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

    #[test]
    fn too_many_files_and_too_many_bytes_do_not_come_back() {
        let scratch = Scratch::new(&[]).unwrap();
        let out = scratch.work().join("out");
        // Nothing is written: it is a file with a hole.
        File::create(out.join("big")).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(scratch.files().unwrap_err().kind, FailureKind::TooLarge);
        fs::remove_file(out.join("big")).unwrap();
        (0..=MOST_FILES).for_each(|n| fs::write(out.join(n.to_string()), "").unwrap());
        assert_eq!(scratch.files().unwrap_err().kind, FailureKind::TooLarge);
    }

    #[test]
    fn what_is_used_counts_empty_files_and_stops_at_the_bound() {
        let scratch = Scratch::new(&[]).unwrap();
        let before = scratch.used(u64::MAX).unwrap();
        (0..100).for_each(|n| fs::write(scratch.work().join(n.to_string()), "").unwrap());
        fs::write(scratch.work().join("large"), vec![1; 1 << 20]).unwrap();
        let used = scratch.used(u64::MAX).unwrap() - before;
        assert!(used >= 100 * ENTRY, "{used}");
        assert!(scratch.used(before).unwrap() < before + 2 * ENTRY + (2 << 20));
    }

    #[test]
    fn a_scratch_folder_goes_whatever_the_program_left_in_it() {
        let scratch = Scratch::new(&[]).unwrap();
        let (folder, work) = (scratch.folder().to_path_buf(), scratch.work());
        let shut = work.join("shut/inner");
        fs::create_dir_all(&shut).unwrap();
        fs::write(shut.join("file"), "").unwrap();
        for folder in [&shut, &work.join("shut")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o0)).unwrap();
        }
        // Deeper than a path can be long, and than files can be open.
        let deep = "import os\nfor _ in range(3000):\n    os.mkdir('d' * 100)\n    os.chdir('d' * 100)\n    open('f', 'w').close()\n";
        assert!(std::process::Command::new("python3").args(["-c", deep]).current_dir(&work).status().unwrap().success());
        assert_eq!(scratch.used(u64::MAX), None);
        for n in 0..5_000 {
            fs::write(work.join(n.to_string()), "").unwrap();
        }
        symlink("/etc", work.join("etc")).unwrap();
        drop(scratch);
        assert!(!folder.exists() && Path::new("/etc/passwd").exists());
    }
}
