//! What all programs that flow starts have in common, MCP servers and those in a sandbox: where they are found, how they begin, and the small process
//! that ends them when this process is gone.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::environment::{compiled_folder, program_path};
use super::os::{self, ProcessGroup};
use crate::diagnostic::behind_cut;

/// How much of the end of standard error is kept, in bytes.
const KEPT_OF_STDERR: usize = 8 << 10;
/// How long a program has to end after SIGTERM.
pub(super) const TERM_TIME: Duration = Duration::from_secs(3);
/// The shell that starts programs. Its scripts are fixed; programs and their arguments are passed as they are.
const SHELL: &str = "/bin/sh";
/// Where Python keeps compiled modules, and the only place where it looks for them
/// (<https://docs.python.org/3/using/cmdline.html#envvar-PYTHONPYCACHEPREFIX>). A compiled module beside a script would run whatever the script says.
pub(super) const PYTHON_CACHE: &str = "PYTHONPYCACHEPREFIX";
/// Sets the umask and, unless the author did, the place of compiled modules, and then becomes the program.
const BECOME: &str = "umask 077; PYTHONPYCACHEPREFIX=\"${PYTHONPYCACHEPREFIX:-$0}\"; export PYTHONPYCACHEPREFIX; exec \"$@\"";
/// The watcher: waits for `done`, or for the end of its input when this process is gone, and in the latter case ends the group, and removes what
/// belongs to it: first a folder of files (empty: none), in it folders before files, then empty folders.
const WATCH: &str = "read -r word; [ \"$word\" = done ] && exit 0; g=$1; f=$2; shift 2; \
    if kill -s TERM -- \"-$g\" 2>/dev/null; then sleep 3; kill -s KILL -- \"-$g\" 2>/dev/null; sleep 1; fi; \
    if [ -n \"$f\" ]; then chmod -R u+rwx -- \"$f\"; rm -rf -- \"$f\"/*/ \"$f\"/.[!.]*/; rm -rf -- \"$f\"; fi; \
    [ $# -eq 0 ] || rmdir -- \"$@\"";

/// A command that becomes the program, with a umask under which its files are its user's alone. A Python in it reads no compiled modules of the project.
pub(super) fn becoming(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(SHELL);
    command.arg("-c").arg(BECOME).arg(compiled_folder()).arg(program);
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

/// The end of an output, of which only the last part is kept.
#[derive(Default)]
pub(super) struct KeptEnd {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl KeptEnd {
    /// Adds a piece.
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        let over = self.bytes.len().saturating_sub(KEPT_OF_STDERR);
        self.is_cut |= over > 0;
        self.bytes.drain(..over);
    }

    /// Forgets what came so far.
    pub(super) fn forget(&mut self) {
        if let Some(last) = self.bytes.last() {
            self.is_cut = !last.is_ascii_whitespace();
        }
        self.bytes.clear();
    }

    /// What is kept, in whole lines or words: a secret that the cut goes through is not in it.
    pub(super) fn whole(&self) -> &[u8] {
        if self.is_cut { behind_cut(&self.bytes) } else { &self.bytes }
    }

    /// Whether there was more.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Why there is no such program, in words that follow its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoProgramError {
    /// Nothing is at its path.
    #[error("was not found")]
    NotThere,
    /// No folder of `PATH` has it.
    #[error("was not found in PATH")]
    NotInPath,
    /// It is neither a name nor an absolute path.
    #[error("was not found; write a name, or a whole path")]
    Relative,
    /// Its path is a folder.
    #[error("is a folder, and not a program")]
    IsFolder,
    /// A file that may not be executed; in `PATH`, there is no other of this name.
    #[error("is not executable (chmod +x makes a script so)")]
    NotExecutable,
}

/// The absolute path of a program.
///
/// # Errors
/// Says why there is none.
pub fn require(command: &str) -> Result<PathBuf, NoProgramError> {
    let is_program = |path: &PathBuf| os::is_executable(path);
    if command.starts_with('/') {
        let path = PathBuf::from(command);
        return match std::fs::metadata(&path) {
            Ok(what) if what.is_dir() => Err(NoProgramError::IsFolder),
            Ok(_) if is_program(&path) => Ok(path),
            Ok(_) => Err(NoProgramError::NotExecutable),
            Err(_) => Err(NoProgramError::NotThere),
        };
    }
    if command.contains('/') {
        return Err(NoProgramError::Relative);
    }
    let path = program_path();
    let all = || std::env::split_paths(&path).map(|folder| folder.join(command)).filter(|path| !command.is_empty() && path.is_file());
    let why = if all().next().is_some() { NoProgramError::NotExecutable } else { NoProgramError::NotInPath };
    all().find(is_program).ok_or(why)
}

/// The same, where it does not matter why.
pub(super) fn find(command: &str) -> Option<PathBuf> {
    require(command).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_word_is_kept_wherever_the_cut_goes() {
        let secret = "Kd81qq72Zp9-Kd82qq73Zp8";
        for at in 0..secret.len() {
            for (behind, kept) in [("\nlast line", "last line"), (" last line", "last line"), ("", "")] {
                let mut end = KeptEnd::default();
                let rest = KEPT_OF_STDERR - at;
                let text = format!("first {secret}{behind}{}", if kept.is_empty() { "x" } else { " " }.repeat(rest - behind.len()));
                text.as_bytes().chunks(1_000).for_each(|piece| end.add(piece));
                assert!(end.is_cut());
                assert_eq!(String::from_utf8_lossy(end.whole()).trim_end(), kept, "{at}");
            }
        }
    }

    #[test]
    fn what_was_forgotten_in_the_middle_of_a_word_leaves_no_rest() {
        let mut end = KeptEnd::default();
        end.add(b"for one run: Kd81qq");
        end.forget();
        end.add(b"72Zp9\nfor another\n");
        assert_eq!(end.whole(), b"for another\n");
        end.forget();
        end.add(b"and one more\n");
        assert_eq!(end.whole(), b"and one more\n");
    }
}
