//! Where indexes are kept, and which of them are cleared away: those of files that runs have filled in, since each set of files has one.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::super::data::{CancelFlag, failure};
use super::super::files;
use super::super::os;
use super::super::sqlite_file;
use crate::diagnostic::visible;
use crate::event::Failure;
use crate::model::FailureKind;

/// The most indexes of files of runs in a project.
const MOST_KEPT: usize = 20;
/// The most bytes of all of them.
const MOST_BYTES: u64 = 1 << 30;
/// How long one is kept that no run uses.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How often another file is tried where a mark of use is cleared away while it is taken.
const MOST_TRIES: u32 = 100;
/// The folder of the indexes of files of runs, in that of all indexes.
const OF_RUNS: &str = "runs";
/// What the name of a mark of use ends with.
const MARK: &str = "use";

/// The file of an index: below the project, named by its knowledge and the place of its documents.
pub(super) fn file_of(project: &Path, knowledge: &str, place: &str) -> PathBuf {
    folder(project).join(format!("{knowledge}-{}.db", short(place, 4)))
}

/// The same where a run filled in the documents.
pub(super) fn file_of_run(project: &Path, knowledge: &str, place: &str) -> PathBuf {
    folder(project).join(OF_RUNS).join(format!("{knowledge}-{}.db", short(place, 16)))
}

fn folder(project: &Path) -> PathBuf {
    project.join(".flow").join("knowledge")
}

fn short(place: &str, bytes: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(place);
    hex::encode(hash.finalize().get(..bytes).unwrap_or_default())
}

pub(super) fn of_disk(file: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the index {} cannot be written: {error}", visible(&file.display().to_string()));
    failure(FailureKind::Unavailable, message)
}

/// A search that uses an index of files of a run, from its beginning to its end: nobody clears that index away meanwhile. The system ends the use
/// when the process ends, in any way.
#[derive(Debug)]
pub(super) struct IndexUse {
    /// A file beside the index, with the runs that used it, one a line. Who searches shares its lock, and who clears the index away has it alone; its time
    /// is that of the last use.
    _mark: File,
    index: PathBuf,
}

impl IndexUse {
    /// Begins a use by a run.
    pub(super) fn begin(index: &Path, run: &str, now: SystemTime, cancel: &CancelFlag) -> Result<IndexUse, Failure> {
        let of_disk = |error: std::io::Error| of_disk(index, &error);
        files::private_folder(index.parent().unwrap_or(Path::new(""))).map_err(of_disk)?;
        let path = index.with_extension(MARK);
        for _ in 0..MOST_TRIES {
            let mark = files::open_private(&path).map_err(of_disk)?;
            match mark.try_lock_shared() {
                Ok(()) => {
                    noted(&path, run).and_then(|()| mark.set_modified(now)).map_err(of_disk)?;
                    if !is_gone(&mark) {
                        return Ok(IndexUse { _mark: mark, index: index.to_path_buf() });
                    }
                }
                // It is cleared away at this moment.
                Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
                Err(std::fs::TryLockError::Error(error)) => return Err(of_disk(error)),
            }
            cancel.check()?;
        }
        Err(of_disk(std::io::Error::other("other programs clear it away again and again")))
    }

    /// Clears away what is more than may be kept: the indexes whose last use is longest ago, but for this one and those in use. One that cannot be
    /// removed stays for the next time.
    pub(super) fn clear_others(&self, now: SystemTime) {
        let folder = self.index.parent().unwrap_or(Path::new(""));
        let mut marks: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == MARK) && *path != self.index.with_extension(MARK))
            .filter_map(|path| Some((std::fs::symlink_metadata(&path).ok()?.modified().ok()?, path)))
            .collect();
        marks.sort_by(|one, other| other.cmp(one));
        let mut bytes = size(&self.index);
        for (place, (used, mark)) in marks.into_iter().enumerate() {
            let index = mark.with_extension("db");
            bytes = bytes.saturating_add(size(&index));
            let is_old = now.duration_since(used).is_ok_and(|age| age > KEPT_FOR);
            if place + 1 >= MOST_KEPT || bytes > MOST_BYTES || is_old {
                let _ = clear(&index, &mark);
            }
        }
    }
}

/// Notes a run in a mark of use, once.
fn noted(mark: &Path, run: &str) -> std::io::Result<()> {
    if std::fs::read_to_string(mark)?.lines().any(|line| line == run) {
        return Ok(());
    }
    // At the end, whoever else writes there.
    File::options().append(true).open(mark)?.write_all(format!("{run}\n").as_bytes())
}

/// Removes the indexes of documents that runs filled in, but for those that one of the runs `kept` used and those that a search uses now.
///
/// # Errors
/// Fails if one of them cannot be removed.
pub fn forget_runs(project: &Path, kept: &BTreeSet<String>) -> std::io::Result<()> {
    let folder = folder(project).join(OF_RUNS);
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let marks: BTreeSet<PathBuf> = entries.map(|entry| Ok(entry?.path().with_extension(MARK))).collect::<std::io::Result<_>>()?;
    for mark in marks {
        let runs = match std::fs::read_to_string(&mark) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            runs => runs?,
        };
        if !runs.lines().any(|run| kept.contains(run)) {
            clear(&mark.with_extension("db"), &mark)?;
        }
    }
    Ok(())
}

/// Removes an index that no search uses.
fn clear(index: &Path, mark: &Path) -> std::io::Result<()> {
    let taken = files::open_private(mark)?;
    if taken.try_lock().is_err() || is_gone(&taken) {
        return Ok(());
    }
    sqlite_file::remove_whole(index)?;
    let lock = index.with_extension("lock");
    if lock.exists() {
        std::fs::remove_file(lock)?;
    }
    std::fs::remove_file(mark)
}

/// Whether an open file has been cleared away.
fn is_gone(file: &File) -> bool {
    file.metadata().is_ok_and(|data| os::is_removed(&data))
}

/// The bytes of an index with its log.
fn size(index: &Path) -> u64 {
    let of = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
    let log = PathBuf::from(format!("{}-wal", index.display()));
    of(index).saturating_add(of(&log))
}
