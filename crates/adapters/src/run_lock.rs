//! A lock that lets one process at a time continue a run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::os;
use crate::port::StoreError;

/// Holds the lock of a run. The operating system releases it when the process ends, in any way.
pub struct RunLock {
    file: std::fs::File,
    path: PathBuf,
}

/// How often to retry, and how long to wait in between, when a process that only checks the lock holds it briefly.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);
/// The extension of the file that requests the end of a run.
const ASKED: &str = "cancel";

impl RunLock {
    /// Whether a process currently holds the lock of this run.
    pub fn is_held(store: &Path, run: &str) -> bool {
        let file = std::fs::File::open(store.with_file_name(format!("{run}.lock")));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
    }

    /// The id of the process that holds the lock of this run; `?` if it is unknown.
    pub fn holder(store: &Path, run: &str) -> String {
        let told = std::fs::read_to_string(store.with_file_name(format!("{run}.lock"))).unwrap_or_default();
        if told.trim().is_empty() { "?".to_owned() } else { told.trim().to_owned() }
    }

    /// Requests that the process which holds the lock ends the run ([`RunLock::is_asked_to_end`]). The request does not apply to a process that takes
    /// the lock later.
    ///
    /// # Errors
    /// Fails if the file beside the store cannot be created.
    pub fn ask_to_end(store: &Path, run: &str) -> Result<(), StoreError> {
        let path = store.with_file_name(format!("{run}.{ASKED}"));
        super::files::open_private(&path).map(drop).map_err(|error| StoreError::unusable(&path, error))
    }

    /// Whether another process requested the end of this run.
    pub fn is_asked_to_end(&self) -> bool {
        self.path.with_extension(ASKED).exists()
    }

    fn forget_asked(&self) {
        let _ = std::fs::remove_file(self.path.with_extension(ASKED));
    }

    /// The runs of a store that are currently locked.
    pub fn held_beside(store: &Path) -> Vec<String> {
        let folder = store.parent().into_iter().flat_map(std::fs::read_dir).flatten().flatten();
        let names = folder.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".lock")?.to_owned()));
        names.filter(|run| RunLock::is_held(store, run)).collect()
    }

    /// Takes the lock of a run that is about to be removed. `None` if the disk is full and the lock file does not exist, so that no process holds the
    /// lock.
    ///
    /// # Errors
    /// See [`RunLock::take`].
    pub fn take_to_remove(store: &Path, run: &str) -> Result<Option<RunLock>, StoreError> {
        let path = store.with_file_name(format!("{run}.lock"));
        let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        match super::files::open_private(&path) {
            Err(error) if full.contains(&error.kind()) => Ok(None),
            _ => RunLock::take(store, run).map(Some),
        }
    }

    /// Takes the lock of a run of the store in `store`.
    ///
    /// # Errors
    /// Fails if another process holds the lock (the error names its id), or the file beside the store cannot be created.
    pub fn take(store: &Path, run: &str) -> Result<RunLock, StoreError> {
        use std::io::{Read, Seek, Write};
        let path = store.with_file_name(format!("{run}.lock"));
        let unusable = |error: std::io::Error| StoreError::unusable(&path, error);
        let mut file = super::files::open_private(&path).map_err(unusable)?;
        let mut taken = file.try_lock();
        for _ in 0..TRIES {
            if !matches!(taken, Err(std::fs::TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(PAUSE);
            taken = file.try_lock();
        }
        match taken {
            Ok(()) => {
                // The previous holder may have removed the file in the meantime.
                let is_there =
                    std::fs::metadata(&path).is_ok_and(|there| file.metadata().is_ok_and(|own| os::file_id(&own) == os::file_id(&there)));
                if !is_there {
                    return RunLock::take(store, run);
                }
                let mut lock = RunLock { file, path: path.clone() };
                lock.forget_asked();
                let file = &mut lock.file;
                // The process id is only informative, so a failure to write it is ignored: the lock also works on a full disk.
                let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
                Ok(lock)
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let process = if holder.is_empty() { "?" } else { holder.trim() };
                Err(StoreError::Held { run: run.to_string(), process: process.to_string() })
            }
            Err(std::fs::TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        self.forget_asked();
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_lock_is_its_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let lock = RunLock::take(&home.path().join("runs.db"), "r_1").unwrap();
        assert_eq!(std::fs::metadata(&lock.path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
