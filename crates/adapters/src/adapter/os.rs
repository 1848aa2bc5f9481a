//! What only a Unix gives: who owns a file and may use it, what tells two files apart, and groups of processes. For another system a second file like
//! this one is needed, and its signals in the program's `cli/signals.rs`; nothing else names what only Unix has.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
#[cfg(feature = "store")]
use std::os::unix::fs::FileExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
#[cfg(feature = "mcp")]
use rustix::process::{Pid, Signal, kill_process_group};

/// A file or folder, whatever it is called: the device and its number there.
pub(super) type FileId = (u64, u64);

pub(super) fn file_id(what: &Metadata) -> FileId {
    (what.dev(), what.ino())
}

/// Whether a file has more than one name.
pub(super) fn has_names(what: &Metadata) -> bool {
    what.nlink() > 1
}

/// Whether an open file has no name any more.
#[cfg(feature = "store")]
pub(super) fn is_removed(what: &Metadata) -> bool {
    what.nlink() == 0
}

/// Who may use it: the lowest nine bits, and 0o1000, where in a folder nobody replaces what is another's.
pub(super) fn mode(what: &Metadata) -> u32 {
    what.permissions().mode()
}

pub(super) fn permissions(mode: u32) -> Permissions {
    Permissions::from_mode(mode)
}

/// Whether it is a file that somebody may execute.
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

/// The user of this process.
pub(super) fn this_user() -> u32 {
    geteuid().as_raw()
}

/// Gives a file to the owner and the group of another.
pub(super) fn give(file: &File, like: &Metadata) -> io::Result<()> {
    let (user, group) = owner(like);
    fchown(file, Some(user), Some(group))
}

/// What it makes new can be read by its owner only.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// What it makes new can be opened by its owner only.
pub(super) fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}

/// Opening waits for nobody at the other end of a pipe; and with `is_own` it follows no link in the last part of the path.
pub(super) fn at_once(options: &mut OpenOptions, is_own: bool) -> &mut OpenOptions {
    let flags = if is_own { OFlags::NONBLOCK | OFlags::NOFOLLOW } else { OFlags::NONBLOCK };
    options.custom_flags(flags.bits().cast_signed())
}

/// Reads all of the buffer from a place in the file.
#[cfg(feature = "store")]
pub(super) fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<()> {
    file.read_exact_at(buffer, place)
}

/// A program with all that it has started.
#[cfg(feature = "mcp")]
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessGroup(Pid);

#[cfg(feature = "mcp")]
impl ProcessGroup {
    /// The group that a program leads.
    pub(super) fn of(leader: u32) -> Option<ProcessGroup> {
        Pid::from_raw(leader.cast_signed()).map(ProcessGroup)
    }

    /// Lets a program lead a group of its own.
    pub(super) fn led_by(command: &mut tokio::process::Command) -> &mut tokio::process::Command {
        command.process_group(0)
    }

    pub(super) fn number(self) -> String {
        self.0.as_raw_nonzero().to_string()
    }

    /// Asks it to end.
    pub(super) fn terminate(self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    pub(super) fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
