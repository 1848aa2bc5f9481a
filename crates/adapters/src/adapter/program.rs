//! What all programs that flow starts have in common, MCP servers and those in a sandbox: where they are found, how they begin, and the small process
//! that ends them when this process is gone.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::environment::program_path;
use super::os::{self, ProcessGroup};

/// How much of the end of standard error is kept, in bytes.
pub(super) const KEPT_OF_STDERR: usize = 8 << 10;
/// How long a program has to end after SIGTERM.
pub(super) const TERM_TIME: Duration = Duration::from_secs(3);
/// The shell that starts programs. Its scripts are fixed; programs and their arguments are passed as they are.
const SHELL: &str = "/bin/sh";
/// Sets the umask, and then becomes the program.
const BECOME: &str = "umask 077; exec \"$@\"";
/// The watcher: waits for `done`, or for the end of its input when this process is gone, and in the latter case ends the group, and removes what
/// belongs to it: first a folder of files (empty: none), then empty folders.
const WATCH: &str = "read -r word; [ \"$word\" = done ] && exit 0; g=$1; f=$2; shift 2; \
    if kill -s TERM -- \"-$g\" 2>/dev/null; then sleep 3; kill -s KILL -- \"-$g\" 2>/dev/null; sleep 1; fi; \
    if [ -n \"$f\" ]; then chmod -R u+rwx -- \"$f\"; rm -rf -- \"$f\"; fi; [ $# -eq 0 ] || rmdir -- \"$@\"";

/// A command that becomes the program, with a umask under which its files are its user's alone.
pub(super) fn becoming(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(SHELL);
    command.arg("-c").arg(BECOME).arg("sh").arg(program);
    command
}

/// A small process that ends the group when this process is gone. It is told `done` when there is nothing left to end. `folder`: what it removes then,
/// with all files in it; `empty`: folders that it removes if they are empty.
pub(super) fn watching(group: ProcessGroup, folder: Option<&OsStr>, empty: &[PathBuf]) -> Command {
    let mut command = Command::new(SHELL);
    command.arg("-c").arg(WATCH).arg("sh").arg(group.number()).arg(folder.unwrap_or_default()).args(empty);
    ProcessGroup::led_by(&mut command).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Adds to the end of an output, of which only the last part is kept.
pub(super) fn keep_end(end: &mut Vec<u8>, piece: &[u8]) {
    end.extend_from_slice(piece);
    let over = end.len().saturating_sub(KEPT_OF_STDERR);
    end.drain(..over);
}

/// The absolute path of a program.
pub(super) fn find(command: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| os::is_executable(path);
    if command.starts_with('/') {
        return Some(PathBuf::from(command)).filter(is_program);
    }
    if command.is_empty() || command.contains('/') {
        return None;
    }
    std::env::split_paths(&program_path()).map(|folder| folder.join(command)).find(is_program)
}
