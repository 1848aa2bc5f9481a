//! Functions that only exist on Unix: ownership and permissions of files, file identity, and process groups. Another system needs a second file like
//! this one, and its own signals in the program's `cli/signals.rs`; no other module uses Unix-only functions.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
#[cfg(feature = "data")]
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
#[cfg(feature = "store")]
use std::os::unix::fs::FileExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
#[cfg(any(feature = "mcp", feature = "sandbox"))]
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

#[cfg(feature = "data")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
#[cfg(any(feature = "mcp", feature = "sandbox"))]
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

/// Identifies a file or folder independently of its name: its device, and its number there.
pub(super) type FileId = (u64, u64);

pub(super) fn file_id(what: &Metadata) -> FileId {
    (what.dev(), what.ino())
}

/// Whether a file has more than one name.
pub(super) fn has_names(what: &Metadata) -> bool {
    what.nlink() > 1
}

/// Whether an open file no longer has a name.
#[cfg(feature = "store")]
pub(super) fn is_removed(what: &Metadata) -> bool {
    what.nlink() == 0
}

/// The permissions: the lowest nine bits, and 0o1000 (the sticky bit), with which users cannot replace the files of others in a folder.
pub(super) fn mode(what: &Metadata) -> u32 {
    what.permissions().mode()
}

pub(super) fn permissions(mode: u32) -> Permissions {
    Permissions::from_mode(mode)
}

/// When it last changed, with its rights, names and entries: since 1970, and never set by a program.
#[cfg(feature = "sandbox")]
pub(super) fn changed(what: &Metadata) -> std::time::Duration {
    let (seconds, rest) = (u64::try_from(what.ctime()).unwrap_or_default(), u32::try_from(what.ctime_nsec()).unwrap_or_default());
    std::time::Duration::new(seconds, rest)
}

/// A path as the bytes that the system knows it by.
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Whether it is a file that someone may execute.
pub(super) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|what| what.is_file() && mode(&what) & 0o111 != 0)
}

pub(super) fn is_pipe(what: &Metadata) -> bool {
    what.file_type().is_fifo()
}

/// The user and the group that own it.
pub(super) fn owner(what: &Metadata) -> (u32, u32) {
    (what.uid(), what.gid())
}

/// More files than this are open at once only where a person set it so: programs that flow starts have the same limit, and some are slow with a large one.
const WANTED_FILES: u64 = 8_192;

/// Lets this process open more files, sockets and pipes at once, as far as the system allows: the limit that shells set is often 256 or 1,024.
pub fn raise_open_files() {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.map_or(WANTED_FILES, |most| most.min(WANTED_FILES));
    if now.current.is_some_and(|current| current < most) {
        // What cannot be raised stays as it is, and bounds how many calls are out at once.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum });
    }
}

/// How many files, sockets and pipes this process may open at once.
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The user that runs this process.
pub(super) fn this_user() -> u32 {
    geteuid().as_raw()
}

/// Changes the owner and the group of a file to those of another.
pub(super) fn give(file: &File, like: &Metadata) -> io::Result<()> {
    let (user, group) = owner(like);
    fchown(file, Some(user), Some(group))
}

/// Files that these options create are readable by their owner only.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Folders that this builder creates are accessible to their owner only.
pub(super) fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}

/// Opens without blocking on a pipe. With `is_own`, does not follow a link in the last part of the path.
pub(super) fn at_once(options: &mut OpenOptions, is_own: bool) -> &mut OpenOptions {
    let flags = if is_own { OFlags::NONBLOCK | OFlags::NOFOLLOW } else { OFlags::NONBLOCK };
    options.custom_flags(flags.bits().cast_signed())
}

/// Fills the buffer from a position in the file.
#[cfg(feature = "store")]
pub(super) fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<()> {
    file.read_exact_at(buffer, place)
}

/// A program and all processes that it started.
#[cfg(any(feature = "mcp", feature = "sandbox"))]
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessGroup(Pid);

#[cfg(any(feature = "mcp", feature = "sandbox"))]
impl ProcessGroup {
    /// The group that a program leads.
    pub(super) fn with_leader(leader: u32) -> Option<ProcessGroup> {
        Pid::from_raw(leader.cast_signed()).map(ProcessGroup)
    }

    /// Starts a program in its own process group.
    pub(super) fn led_by(command: &mut std::process::Command) -> &mut std::process::Command {
        command.process_group(0)
    }

    pub(super) fn number(self) -> String {
        self.0.as_raw_nonzero().to_string()
    }

    /// Sends SIGTERM to the group.
    pub(super) fn terminate(self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    pub(super) fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// Waits so many seconds until something can be read, or the other end is closed. `false`: neither happened.
#[cfg(feature = "data")]
pub(super) fn comes(input: impl AsFd, seconds: i64) -> std::io::Result<bool> {
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&time))? > 0)
}
