//! The scratch folder of a program: made fresh, filled, measured, read, and removed. Nothing here follows a link that the program left.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, statat};
use rustix::io::Errno;

use super::locked::{LockedFolder, folder_at, regular_at};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::new_name;

/// The folder in the scratch folder whose files come back.
const OUT: &CStr = c"out";
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
    locked: LockedFolder,
    work: OwnedFd,
}

impl Scratch {
    /// Makes a scratch folder in the system's folder for temporary files, with these files in it, and an empty `out`.
    ///
    /// # Errors
    /// Fails with `denied` if a name is not a plain one, and with `unavailable` if the folder cannot be written.
    pub(super) fn new(files: &[(String, Vec<u8>)]) -> Result<Scratch, Failure> {
        let cannot = |e: std::io::Error| Failure::new(FailureKind::Unavailable, format!("a scratch folder cannot be made: {e}"));
        let locked = LockedFolder::new("").map_err(cannot)?;
        let open = |from: &OwnedFd, name: &CStr| -> Result<OwnedFd, Errno> {
            mkdirat(from, name, Mode::RWXU)?;
            folder_at(from, name)
        };
        let scratch = Scratch { work: open(locked.root(), c"work").map_err(|e| cannot(e.into()))?, locked };
        open(scratch.locked.root(), c"stage")
            .and_then(|_| open(&scratch.work, c"tmp"))
            .and_then(|_| open(&scratch.work, OUT))
            .map_err(|e| cannot(e.into()))?;
        for (name, content) in files {
            new_name(name)?;
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
        self.locked.path()
    }

    /// What the program may change: its `HOME`.
    pub(super) fn work(&self) -> PathBuf {
        self.folder().join("work")
    }

    /// Where flow and the first stage talk.
    pub(super) fn stage(&self) -> PathBuf {
        self.folder().join("stage")
    }

    /// The file system's free space, in bytes: a cheap hint whether it is worth measuring.
    pub(super) fn free(&self) -> u64 {
        rustix::fs::fstatvfs(&self.work).map_or(0, |what| what.f_bfree.saturating_mul(what.f_frsize))
    }

    /// The bytes that the folder takes on the disk; `None`: it is too deep to be measured. Stops counting above `most`.
    pub(super) fn used(&self, most: u64) -> Option<u64> {
        let mut used = 0;
        let mut levels = vec![Dir::read_from(self.locked.root()).ok()?];
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
            new_name(&name)
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
    fn files_go_in_by_new_names_and_only_regular_ones_come_out() {
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
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a\0b", "a:b", "a "] {
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
        let name = std::ffi::CString::new("d".repeat(100)).unwrap();
        let mut level = OwnedFd::from(File::open(&work).unwrap());
        for _ in 0..3000 {
            mkdirat(&level, &*name, Mode::RWXU).unwrap();
            level = folder_at(&level, &name).unwrap();
            openat(&level, c"f", OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC, Mode::RUSR).unwrap();
        }
        assert_eq!(scratch.used(u64::MAX), None);
        for n in 0..5_000 {
            fs::write(work.join(n.to_string()), "").unwrap();
        }
        symlink("/etc", work.join("etc")).unwrap();
        drop(scratch);
        assert!(!folder.exists() && Path::new("/etc/passwd").exists());
    }
}
