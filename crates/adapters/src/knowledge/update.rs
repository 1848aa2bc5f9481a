//! Brings an index up to date: reads the documents that are new or have changed, forgets those that are gone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::super::data::{CancelFlag, counted, failure, searchable, shown};
use super::super::files;
use super::super::own::ManyReads;
use super::collect::{DocumentFile, DocumentOrigin, documents, is_in_place, stamp};
use super::index::{DocumentIndex, IndexError, KnownDocument};
use super::kept::{IndexUse, file_of, file_of_run, of_disk};
use super::pieces::pieces;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{Clock, FoundPieces, Listener, SearchRequest};

/// The most pieces whose vectors are compared, each with the question's.
pub(super) const MOST_VECTORS: u64 = 100_000;
/// The most bytes of a document; its text may have a quarter of it.
const MOST_BYTES: u64 = 32 << 20;
/// A file that was changed so shortly before it was looked at may have been changed again at the same time of its clock.
const RACE: i64 = 2_000_000_000;
/// How much is read before it is made to last.
const EACH_COMMIT: usize = 2 << 20;
/// How often is told how far it is.
const EACH_TOLD: Duration = Duration::from_millis(100);
/// The longest reason why a document was left out, in bytes.
const LONGEST_REASON: usize = 300;

/// What an update needs of this machine.
#[derive(Clone, Copy)]
pub(super) struct UpdateWorld<'w> {
    pub(super) own: &'w ManyReads<'w>,
    pub(super) clock: &'w dyn Clock,
    pub(super) cancel: &'w CancelFlag,
}

/// An index that is up to date but perhaps for vectors.
pub(super) struct UpToDate {
    pub(super) index: DocumentIndex,
    /// What was done, without pieces.
    pub(super) report: FoundPieces,
    /// The lock, where vectors are missing.
    pub(super) lock: Option<File>,
    /// Keeps an index of files of a run from being cleared away.
    pub(super) in_use: Option<IndexUse>,
}

/// Opens the index of a knowledge, and brings it up to date. `damage`: it was found to be damaged, and is made anew.
pub(super) fn up_to_date(request: &SearchRequest, world: UpdateWorld, damage: Option<String>) -> Result<UpToDate, IndexError> {
    let found = documents(request, world.own)?;
    let file = place(request, &found);
    let in_use = match &request.given {
        Some(_) => Some(IndexUse::begin(&file, &request.run, world.clock.now().into(), world.cancel)?),
        None => None,
    };
    let identity = request.embed.as_ref().map(|embed| embed.identity());
    let is_damaged = damage.is_some();
    let mut report = FoundPieces { rebuilt: damage.unwrap_or_default(), ..FoundPieces::default() };
    if !is_damaged
        && let Ok(Some(index)) = DocumentIndex::open(&file)
        && let Ok(known) = index.documents()
        && known.len() == found.len()
        && found.iter().all(|(path, document)| known.get(path).is_some_and(|known| is_fresh(known, document)))
        && identity.as_deref().is_none_or(|identity| index.has_vectors_of(identity).unwrap_or(false))
    {
        report.left_out = left_out(known.iter().map(|(path, known)| (path.as_str(), known.problem.as_str())));
        return counts(index, report, found.len()).map(|(index, report)| UpToDate { index, report, lock: None, in_use });
    }
    let lock = lock(&file, request, world.cancel)?;
    let kept = if is_damaged { None } else { DocumentIndex::open(&file)? };
    let mut index = kept.map_or_else(|| DocumentIndex::make(&file), Ok)?;
    update(&mut index, request, world, &found, &mut report)?;
    let lock = match &identity {
        None => None,
        Some(identity) => {
            index.use_vectors_of(identity)?;
            Some(lock)
        }
    };
    let (index, report) = counts(index, report, found.len())?;
    if let Some(in_use) = &in_use {
        in_use.clear_others(world.clock.now().into());
    }
    if identity.is_some() && report.all_pieces > MOST_VECTORS {
        let pieces = report.all_pieces;
        let message = format!(
            "knowledge {} has {pieces} pieces of text, more than the {MOST_VECTORS} whose vectors are compared; search it by words, or split it",
            request.knowledge
        );
        return Err(failure(FailureKind::TooLarge, message).into());
    }
    Ok(UpToDate { index, report, lock, in_use })
}

/// The file of the index of a request: one for the patterns of a knowledge, and where a run fills files in, one for each set of them.
fn place(request: &SearchRequest, found: &BTreeMap<String, DocumentFile>) -> PathBuf {
    let mut files: Vec<String> = request
        .files
        .iter()
        .map(|pattern| {
            let whole = pattern.whole();
            whole.strip_prefix(&request.project).unwrap_or(&whole).to_string_lossy().into_owned()
        })
        .collect();
    if request.given.is_none() {
        return file_of(&request.project, &request.knowledge, &files.join("\n"));
    }
    let given = found.iter().filter(|(_, document)| document.origin == DocumentOrigin::Given);
    files.extend(given.map(|(path, _)| format!("\0{path}")));
    file_of_run(&request.project, &request.knowledge, &files.join("\n"))
}

fn counts(index: DocumentIndex, report: FoundPieces, files: usize) -> Result<(DocumentIndex, FoundPieces), IndexError> {
    let all_pieces = index.count()?;
    Ok((index, FoundPieces { files: files as u64, all_pieces, ..report }))
}

fn is_fresh(known: &KnownDocument, document: &DocumentFile) -> bool {
    known.stamp == document.stamp && known.stamp.modified < known.checked - RACE
}

/// Waits until no other process changes the index. The system frees the lock when a process ends, in any way.
fn lock(file: &Path, request: &SearchRequest, cancel: &CancelFlag) -> Result<File, Failure> {
    let path = file.with_extension("lock");
    let folder = path.parent().unwrap_or(Path::new(""));
    let opened = files::private_folder(folder).and_then(|()| files::open_private(&path));
    let lock = opened.map_err(|error| of_disk(file, &error))?;
    while let Err(std::fs::TryLockError::WouldBlock) = lock.try_lock() {
        tell(request.listener.as_ref(), || format!("{}: another run reads the documents", request.knowledge));
        cancel.check()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(lock)
}

fn update(
    index: &mut DocumentIndex,
    request: &SearchRequest,
    world: UpdateWorld,
    found: &BTreeMap<String, DocumentFile>,
    report: &mut FoundPieces,
) -> Result<(), IndexError> {
    let known = index.documents()?;
    let gone: Vec<i64> = known.iter().filter(|(path, _)| !found.contains_key(*path)).map(|(_, known)| known.id).collect();
    let is_old = |path: &String, document: &DocumentFile| known.get(path).is_none_or(|known| !is_fresh(known, document));
    let to_read: Vec<(&String, &DocumentFile)> = found.iter().filter(|(path, document)| is_old(path, document)).collect();
    let mut problems: BTreeMap<&str, String> = known.iter().map(|(path, known)| (path.as_str(), known.problem.clone())).collect();
    let mut progress = IndexProgress::default();
    let mut change = index.change()?;
    for id in &gone {
        change.remove(*id)?;
    }
    let mut unsaved = 0;
    for (done, (path, document)) in to_read.iter().enumerate() {
        world.cancel.check().map_err(IndexError::Failed)?;
        progress.tell(world.clock, request.listener.as_ref(), || {
            format!("{}: {done} of {} read", request.knowledge, counted(to_read.len() as u64, "document"))
        });
        let (stamp, checked) = (stamp(&document.path).unwrap_or(document.stamp), now(world.clock));
        let hash = hash_of(&document.path);
        let before = known.get(*path);
        if let (Some(before), Ok(hash)) = (before, &hash)
            && before.hash == *hash
        {
            change.is_unchanged(before.id, stamp, checked)?;
            continue;
        }
        let read = hash.and_then(|hash| Ok((hash, document_of(&document.path, world.cancel)?)));
        if !is_in_place(&request.project, document, world.own) {
            // It was replaced by a link meanwhile: what was read may be another file's.
            continue;
        }
        if let Some(before) = before {
            change.remove(before.id)?;
        }
        let (hash, pieces, problem) = match read {
            Ok((hash, pieces)) => {
                let problem = if pieces.is_empty() && stamp.size > 0 { "there is no text in it" } else { "" };
                (hash, pieces, problem.to_owned())
            }
            Err(failure) if failure.kind == FailureKind::Timeout => return Err(IndexError::Failed(failure)),
            Err(failure) => (vec![], vec![], shown(&failure.message, LONGEST_REASON)),
        };
        unsaved += pieces.iter().map(|piece| piece.text.len()).sum::<usize>() + 1_000;
        problems.insert(path, problem.clone());
        change.add(path, &KnownDocument { id: 0, stamp, checked, hash, problem }, &pieces)?;
        report.read += 1;
        if unsaved > EACH_COMMIT {
            change.commit()?;
            change = index.change()?;
            unsaved = 0;
        }
    }
    if !to_read.is_empty() || !gone.is_empty() {
        change.forget_vectors()?;
    }
    change.commit()?;
    problems.retain(|path, _| found.contains_key(*path));
    report.left_out = left_out(problems.iter().map(|(path, problem)| (*path, problem.as_str())));
    Ok(())
}

/// The pieces of a document.
fn document_of(path: &Path, cancel: &CancelFlag) -> Result<Vec<super::pieces::Piece>, Failure> {
    let content = searchable(path, cancel)?;
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let has_headings = matches!(ending.as_str(), "md" | "markdown" | "mdx");
    Ok(pieces(&content, has_headings, ending == "pdf"))
}

/// Documents that could not be read, each with the reason.
fn left_out<'a>(problems: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut told: Vec<String> =
        problems.filter(|(_, problem)| !problem.is_empty()).map(|(path, problem)| format!("{path}: {problem}")).collect();
    told.sort();
    told.truncate(100);
    told
}

fn hash_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = || {
        let mut file = files::open(path)?.take(MOST_BYTES + 1);
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut total = 0;
        loop {
            let length = file.read(&mut buffer)?;
            if length == 0 {
                return Ok((hash.finalize().to_vec(), total));
            }
            total += length as u64;
            hash.update(buffer.get(..length).unwrap_or_default());
        }
    };
    let (hash, total) = read().map_err(|error: std::io::Error| failure(FailureKind::Unavailable, format!("it cannot be read: {error}")))?;
    if total > MOST_BYTES {
        return Err(failure(FailureKind::TooLarge, format!("it is larger than {} MB", MOST_BYTES >> 20)));
    }
    Ok(hash)
}

fn now(clock: &dyn Clock) -> i64 {
    clock.now().timestamp_nanos_opt().unwrap_or(i64::MAX)
}

/// An error of an index that nothing more can be done about.
pub(super) fn of_index(error: IndexError) -> Failure {
    match error {
        IndexError::Failed(failure) => failure,
        IndexError::Damaged(why) => failure(
            FailureKind::Unavailable,
            format!("the index of the documents {why}, also after it was made anew; is the disk in order?"),
        ),
    }
}

/// Tells how far the work is, but not too often.
#[derive(Default)]
pub(super) struct IndexProgress(Option<Duration>);

impl IndexProgress {
    pub(super) fn tell(&mut self, clock: &dyn Clock, listener: Option<&Listener>, text: impl FnOnce() -> String) {
        let now = clock.elapsed();
        if listener.is_some() && self.0.is_none_or(|last| now.saturating_sub(last) >= EACH_TOLD) {
            self.0 = Some(now);
            tell(listener, text);
        }
    }
}

fn tell(listener: Option<&Listener>, text: impl FnOnce() -> String) {
    if let Some(listener) = listener {
        listener.hear(&text());
    }
}
