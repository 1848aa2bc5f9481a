//! The audit beside a journal: a file of lines, each a record with its place in the chain. Several processes may append; nobody changes what is there, but
//! a last line that was torn is cut off, which is a record of its own.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use super::os::{self, FileId};
use crate::journal::{AuditAction, AuditCheck, AuditEnd, AuditEnding, AuditFault, AuditHead, AuditKind, AuditNote, AuditRecord, EndSearch};
use crate::port::StoreError;

/// The file's name.
const NAME: &str = "audit.jsonl";
/// How often to look whether other processes have appended, and how long to wait in between: about a minute, since who appends may wait for the store.
const TRIES: u32 = 60_000;
const PAUSE: Duration = Duration::from_millis(1);
/// The longest line, in bytes.
const LONGEST: u64 = 256 * 1024;

/// Where the end of the audit is kept.
pub trait AuditEnds {
    /// The end that is known; `None`: none was kept yet.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn end(&self) -> std::result::Result<Option<AuditEnd>, StoreError>;

    /// A write begins: `begun` will be the last record, `written` is. Durable when this returns.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn begin_write(&self, written: &AuditHead, begun: &AuditHead) -> std::result::Result<(), StoreError>;
}

/// The audit of the runs of a journal.
pub struct AuditFile {
    path: PathBuf,
    /// How long the file was after the last append, and its last record.
    known: Option<(FileId, u64, AuditHead)>,
}

/// How a file ends.
struct AuditTail {
    /// Its last record.
    head: AuditHead,
    /// Where that ends.
    end: u64,
}

/// What is to be appended: the lines, and the last record of them.
struct NewLines {
    text: String,
    head: AuditHead,
}

/// What was found in a file.
pub struct VerifiedAudit {
    /// Whether there is one.
    pub is_there: bool,
    /// Its last record, or the first damage.
    pub chain: std::result::Result<AuditHead, AuditFault>,
    /// How its end compares with the one that the store knows; `None`: it knows none.
    pub ending: Option<(AuditEnd, AuditEnding)>,
    /// Records that were added, as records say.
    pub added: Vec<String>,
}

impl AuditFile {
    /// The audit beside a journal. Nothing is opened.
    pub fn beside(journal: &Path) -> AuditFile {
        AuditFile::at(journal.with_file_name(NAME))
    }

    /// An audit in this file.
    pub fn at(path: PathBuf) -> AuditFile {
        AuditFile { path, known: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A run begins: if the file is not the one any more to which this appended before, that is no error for it.
    ///
    /// # Errors
    /// Fails with [`StoreError::Audit`] if the file cannot be read.
    pub fn begin(&mut self) -> std::result::Result<(), StoreError> {
        let file = self.opened().map_err(|error| self.unwritten(&error))?;
        self.known.take_if(|known| continued(&file, known).is_err());
        Ok(())
    }

    /// The last record that was appended.
    pub fn last(&self) -> Option<&AuditHead> {
        self.known.as_ref().map(|(_, _, head)| head)
    }

    /// Appends records durably, all or none. The file, and a folder created for it, are accessible to their owner only. `ends` keeps the end first; if the
    /// file ends in another way than it should, a record says so. `None`: there is no store.
    ///
    /// # Errors
    /// Fails with [`StoreError::Audit`] if the file cannot be written, its last whole line is no record, or it is not the file any more to which this
    /// appended before, and with the error of `ends`.
    pub fn append(&mut self, records: &[AuditRecord], ends: Option<&dyn AuditEnds>) -> std::result::Result<(), StoreError> {
        let Some(first) = records.first() else { return Ok(()) };
        let unwritten = |error: Error| self.unwritten(&error);
        let file = self.opened().map_err(unwritten)?;
        let tail = match &self.known {
            // It stays known, so that trying again is no way around.
            Some(known) => continued(&file, known),
            None => file.metadata().and_then(|about| tail(&file, about.len())),
        };
        let tail = tail.map_err(unwritten)?;
        let differs = match ends.map(AuditEnds::end).transpose()?.flatten() {
            Some(end) => differing(&file, end, &tail).map_err(unwritten)?,
            None => None,
        };
        let differs = differs.map(|(action, target, reason)| AuditRecord { target, ..noted(first, action, reason) });
        let length = file.metadata().map_err(unwritten)?.len() - tail.end;
        let torn = (length > 0).then(|| noted(first, AuditAction::AuditRepaired, format!("a torn line of {length} bytes was cut off")));
        let new = new_lines(&tail, torn.iter().chain(&differs).chain(records)).map_err(unwritten)?;
        if let Some(ends) = ends {
            ends.begin_write(&tail.head, &new.head)?;
        }
        let written = append(&file, tail.end, &new);
        self.known = None;
        let (id, length) = written.map_err(|error| self.unwritten(&error))?;
        self.known = Some((id, length, new.head));
        Ok(())
    }

    /// Checks that records could be appended.
    ///
    /// # Errors
    /// See [`AuditFile::append`].
    pub fn check(&self) -> std::result::Result<(), StoreError> {
        self.opened().and_then(|file| tail(&file, file.metadata()?.len())).map(drop).map_err(|error| self.unwritten(&error))
    }

    /// The last record, of which a torn line is none; `None`: there is no file.
    ///
    /// # Errors
    /// Fails with [`StoreError::Unusable`] if the file cannot be read, or its last whole line is no record.
    pub fn head(&self) -> std::result::Result<Option<AuditHead>, StoreError> {
        let (settled, ()) = self.settled(|| Ok(()))?;
        let head = settled.map(|(file, length)| tail(&file, length).map(|tail| tail.head)).transpose();
        head.map_err(|error| StoreError::unusable(&self.path, error))
    }

    /// Verifies the whole file. `wanted`: hashes of records that must be in an audit; those that are met are removed, those that the file says are missing
    /// are added. `end`: how it should end, asked while nobody appends.
    ///
    /// # Errors
    /// Fails with [`StoreError::Unusable`] if the file cannot be read, and with the error of `end`.
    pub fn verify(
        &self,
        wanted: &mut BTreeSet<String>,
        end: impl FnOnce() -> std::result::Result<Option<AuditEnd>, StoreError>,
    ) -> std::result::Result<VerifiedAudit, StoreError> {
        let (settled, end) = self.settled(end)?;
        let mut search = end.clone().map(EndSearch::new);
        let (mut check, mut added) = (AuditCheck::default(), vec![]);
        if let Some((file, length)) = &settled {
            let mut take = |line: &[u8], is_whole| {
                let Some(head) = check.take(line, is_whole) else { return true };
                wanted.remove(&head.hash);
                search.iter_mut().for_each(|search| search.meet(head));
                match AuditNote::from_line(line) {
                    Some(AuditNote::Lost(hash)) => _ = wanted.insert(hash),
                    Some(AuditNote::Added(records)) => added.push(records),
                    None => {}
                }
                true
            };
            each_line(file, *length, &mut take).map_err(|error| StoreError::unusable(&self.path, error))?;
        }
        let chain = check.end();
        let ending = end.zip(search).zip(chain.as_ref().ok()).map(|((end, search), head)| (end, search.finish(head)));
        Ok(VerifiedAudit { is_there: settled.is_some(), chain, ending, added })
    }

    /// Gives each line without its line end, and whether it had one, until `take` returns false. Whether there is a file.
    ///
    /// # Errors
    /// Fails with [`StoreError::Unusable`] if the file cannot be read.
    pub fn each_line(&self, mut take: impl FnMut(&[u8], bool) -> bool) -> std::result::Result<bool, StoreError> {
        let (settled, ()) = self.settled(|| Ok(()))?;
        let Some((file, length)) = settled else { return Ok(false) };
        each_line(&file, length, &mut take).map_err(|error| StoreError::unusable(&self.path, error))?;
        Ok(true)
    }

    /// The file and its length, if there is one, and what `beside` gives while nobody is in the middle of appending to it.
    fn settled<T>(
        &self,
        beside: impl FnOnce() -> std::result::Result<T, StoreError>,
    ) -> std::result::Result<(Option<(File, u64)>, T), StoreError> {
        let unusable = |error: Error| StoreError::unusable(&self.path, error);
        let Some(file) = files::open_if_there(&self.path).map_err(unusable)? else { return Ok((None, beside()?)) };
        locked(&file, File::try_lock_shared).map_err(unusable)?;
        let found = (file.metadata().map_err(unusable)?.len(), beside()?);
        file.unlock().map_err(unusable)?;
        Ok((Some((file, found.0)), found.1))
    }

    /// Opened to append, and locked.
    fn opened(&self) -> Result<File> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        files::private_folder(folder)?;
        let is_new = !self.path.exists();
        let file = files::open_private(&self.path)?;
        locked(&file, File::try_lock)?;
        if is_new {
            File::open(files::here(folder))?.sync_all()?;
        }
        Ok(file)
    }

    fn unwritten(&self, error: &Error) -> StoreError {
        StoreError::Audit { file: self.path.display().to_string(), message: error.to_string() }
    }
}

/// Takes a lock, which ends when the file is closed, in any way.
fn locked(file: &File, lock: fn(&File) -> std::result::Result<(), TryLockError>) -> Result<()> {
    for _ in 0..TRIES {
        match lock(file) {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
    Err(Error::new(ErrorKind::WouldBlock, "another process holds its lock"))
}

/// Gives each line of so many bytes without its line end, and whether it had one, until `take` returns false.
fn each_line(mut file: &File, length: u64, take: &mut dyn FnMut(&[u8], bool) -> bool) -> Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let (mut rest, mut line) = (BufReader::new(file).take(length), vec![]);
    loop {
        line.clear();
        // What is longer is no record, and the rest of it none either.
        (&mut rest).take(LONGEST).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let whole = line.strip_suffix(b"\n");
        let is_whole = whole.is_some() || line.len() as u64 == LONGEST;
        if !take(whole.unwrap_or(&line), is_whole) {
            return Ok(());
        }
    }
}

/// What a record says, and of what, if a file ends in another way than the store knows. A write that did not end is none of it: a process was killed.
fn differing(file: &File, end: AuditEnd, tail: &AuditTail) -> Result<Option<(AuditAction, String, String)>> {
    if end.begun.as_ref() == Some(&tail.head) {
        return Ok(None);
    }
    let mut search = EndSearch::new(end.clone());
    let mut meet = |line: &[u8], _| {
        AuditHead::from_line(line).iter().for_each(|head| search.meet(head));
        true
    };
    each_line(file, tail.end, &mut meet)?;
    Ok(match search.finish(&tail.head) {
        AuditEnding::Sound | AuditEnding::Unfinished { .. } => None,
        AuditEnding::Lost => {
            let AuditHead { record_id, hash } = end.written;
            let reason = format!("record {record_id} with the hash {hash} was the last one, and is not in this file");
            Some((AuditAction::AuditLost, hash, reason))
        }
        AuditEnding::Added { first, last } => {
            let reason = "no write of flow was begun for these records; they were added, or the store is an older copy".to_owned();
            Some((AuditAction::AuditAdded, format!("{first} to {last}"), reason))
        }
    })
}

/// The end of a file to which others may have appended since. What is known of it must still be there.
fn continued(mut file: &File, (id, known, head): &(FileId, u64, AuditHead)) -> Result<AuditTail> {
    let about = file.metadata()?;
    let lost = || {
        let message = "it was removed, emptied or replaced since flow last wrote to it; flow audit verify says what is wrong; put it back, or let a new run begin a new one";
        Err(Error::new(ErrorKind::InvalidData, message))
    };
    let length = about.len();
    if os::file_id(&about) != *id || length < *known {
        return lost();
    }
    let mut next = vec![];
    file.seek(SeekFrom::Start(*known))?;
    BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut next)?;
    match next.strip_suffix(b"\n") {
        Some(next) if AuditHead::follows(next, head) => tail(file, length),
        Some(_) => lost(),
        // A torn line is cut off; one that never ends is no record that was torn.
        None if next.len() as u64 >= LONGEST => lost(),
        None => Ok(AuditTail { head: head.clone(), end: *known }),
    }
}

/// A record about the audit itself, at the time of another.
fn noted(other: &AuditRecord, action: AuditAction, reason: String) -> AuditRecord {
    AuditRecord {
        event_type: AuditKind::Security,
        step: String::new(),
        agent_id: String::new(),
        action,
        target: String::new(),
        result: None,
        reason,
        policy_applied: String::new(),
        resource_usage: None,
        security_context: None,
        ..other.clone()
    }
}

fn new_lines<'r>(tail: &AuditTail, records: impl Iterator<Item = &'r AuditRecord>) -> Result<NewLines> {
    let mut new = NewLines { text: String::new(), head: tail.head.clone() };
    for record in records {
        new.text.push_str(&new.head.line(record)?);
        new.text.push('\n');
    }
    Ok(new)
}

/// Which file it is, and how long then.
fn append(mut file: &File, end: u64, new: &NewLines) -> Result<(FileId, u64)> {
    let id = os::file_id(&file.metadata()?);
    let mut write = || {
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(new.text.as_bytes())?;
        file.sync_data()
    };
    if let Err(error) = write() {
        // Half a batch would be records of what does not happen.
        let _ = file.set_len(end).and_then(|()| file.sync_data());
        return Err(error);
    }
    Ok((id, end + new.text.len() as u64))
}

/// The last record of so many bytes of a file; where a torn line follows it, that is behind its end.
fn tail(mut file: &File, length: u64) -> Result<AuditTail> {
    let from = length.saturating_sub(2 * LONGEST);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = vec![];
    file.take(length - from).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    if end == 0 && from == 0 {
        return Ok(AuditTail { head: AuditHead::default(), end: 0 });
    }
    let whole = &bytes[..end.saturating_sub(1)];
    let last = &whole[whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1)..];
    let head = AuditHead::from_line(last).ok_or_else(|| {
        let message =
            "its last line is not as it was written; flow audit verify says what is wrong; move the file away, and a new one begins";
        Error::new(ErrorKind::InvalidData, message)
    })?;
    Ok(AuditTail { head, end: from + end as u64 })
}

#[cfg(test)]
mod tests;
