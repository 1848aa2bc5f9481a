//! The audit beside a journal: a file of lines, each a record with its place in the chain. Several processes may append; nobody changes what is there, but
//! a last line that was torn is cut off, which is a record of its own.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use super::os::{self, FileId};
use crate::journal::{AuditAction, AuditCheck, AuditFault, AuditHead, AuditKind, AuditRecord};
use crate::port::StoreError;

/// The file's name.
const NAME: &str = "audit.jsonl";
/// How often to look whether other processes have appended, and how long to wait in between: about 5 seconds.
const TRIES: u32 = 5_000;
const PAUSE: Duration = Duration::from_millis(1);
/// The longest line, in bytes.
const LONGEST: u64 = 256 * 1024;

/// The audit of the runs of a journal.
pub struct AuditFile {
    path: PathBuf,
    /// How long the file was after the last append, and its last record.
    known: Option<(FileId, u64, AuditHead)>,
    /// A record that the file should have, and has not.
    lost: Option<AuditHead>,
}

/// How a file ends.
struct AuditTail {
    /// Its last record.
    head: AuditHead,
    /// Where that ends.
    end: u64,
}

impl AuditFile {
    /// The audit beside a journal. Nothing is opened.
    pub fn beside(journal: &Path) -> AuditFile {
        AuditFile::at(journal.with_file_name(NAME))
    }

    /// An audit in this file.
    pub fn at(path: PathBuf) -> AuditFile {
        AuditFile { path, known: None, lost: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A run begins. `kept`: the newest record that the store knows; if the file has it no more, the next record says so.
    ///
    /// # Errors
    /// Fails with [`StoreError::Audit`] if the file cannot be read.
    pub fn begin(&mut self, kept: Option<AuditHead>) -> std::result::Result<(), StoreError> {
        let file = self.opened().map_err(|error| self.unwritten(&error))?;
        self.known.take_if(|known| continued(&file, known).is_err());
        let Some(kept) = kept.filter(|_| self.known.is_none()) else { return Ok(()) };
        let last = file.metadata().and_then(|about| tail(&file, about.len())).map_err(|error| self.unwritten(&error))?;
        drop(file);
        if last.head != kept {
            let mut is_there = false;
            self.each_line(|line, _| {
                is_there = AuditHead::of(line).as_ref() == Some(&kept);
                !is_there
            })?;
            self.lost = Some(kept).filter(|_| !is_there);
        }
        Ok(())
    }

    /// The last record that was appended.
    pub fn last(&self) -> Option<&AuditHead> {
        self.known.as_ref().map(|(_, _, head)| head)
    }

    /// Appends records durably, all or none. The file, and a folder created for it, are accessible to their owner only.
    ///
    /// # Errors
    /// Fails with [`StoreError::Audit`] if the file cannot be written, its last whole line is no record, or it is not the file any more to which this
    /// appended before.
    pub fn append(&mut self, records: &[AuditRecord]) -> std::result::Result<(), StoreError> {
        let Some(first) = records.first() else { return Ok(()) };
        let file = self.opened().map_err(|error| self.unwritten(&error))?;
        let end = match &self.known {
            // It stays known, so that trying again is no way around.
            Some(known) => continued(&file, known),
            None => file.metadata().and_then(|about| tail(&file, about.len())),
        };
        let end = end.map_err(|error| self.unwritten(&error))?;
        let noted = self.lost.iter().map(|lost| {
            let reason = format!("record {} with the hash {} was the last one, and is not in this file", lost.record_id, lost.hash);
            noted(first, AuditAction::AuditLost, reason)
        });
        let all: Vec<AuditRecord> = noted.chain(records.iter().cloned()).collect();
        self.known = None;
        self.known = Some(append(&file, end, &all).map_err(|error| self.unwritten(&error))?);
        self.lost = None;
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
        let unusable = |error: Error| StoreError::unusable(&self.path, error);
        let Some(file) = files::open_if_there(&self.path).map_err(unusable)? else { return Ok(None) };
        let length = settled_length(&file).map_err(unusable)?;
        tail(&file, length).map(|tail| Some(tail.head)).map_err(unusable)
    }

    /// Verifies the whole file. `saved`: hashes of records that were once the last; those that are met are removed. `None`: there is no file.
    ///
    /// # Errors
    /// Fails with [`StoreError::Unusable`] if the file cannot be read.
    pub fn verify(
        &self,
        saved: &mut HashMap<String, String>,
    ) -> std::result::Result<Option<std::result::Result<AuditHead, AuditFault>>, StoreError> {
        let mut check = AuditCheck::default();
        let found = self.each_line(|line, is_whole| {
            if let Some(head) = check.take(line, is_whole) {
                saved.remove(&head.hash);
            }
            true
        });
        Ok(found?.then(|| check.end()))
    }

    /// Gives each line without its line end, and whether it had one, until `take` returns false. Whether there is a file.
    ///
    /// # Errors
    /// Fails with [`StoreError::Unusable`] if the file cannot be read.
    pub fn each_line(&self, mut take: impl FnMut(&[u8], bool) -> bool) -> std::result::Result<bool, StoreError> {
        let unusable = |error: Error| StoreError::unusable(&self.path, error);
        let Some(file) = files::open_if_there(&self.path).map_err(unusable)? else { return Ok(false) };
        let length = settled_length(&file).map_err(unusable)?;
        let (mut rest, mut line) = (BufReader::new(file).take(length), vec![]);
        loop {
            line.clear();
            // What is longer is no record, and the rest of it none either.
            (&mut rest).take(LONGEST).read_until(b'\n', &mut line).map_err(unusable)?;
            if line.is_empty() {
                return Ok(true);
            }
            let whole = line.strip_suffix(b"\n");
            let is_whole = whole.is_some() || line.len() as u64 == LONGEST;
            if !take(whole.unwrap_or(&line), is_whole) {
                return Ok(true);
            }
        }
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

/// The length of a file that nobody is in the middle of appending to.
fn settled_length(file: &File) -> Result<u64> {
    locked(file, File::try_lock_shared)?;
    let length = file.metadata()?.len();
    file.unlock()?;
    Ok(length)
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

fn append(mut file: &File, tail: AuditTail, records: &[AuditRecord]) -> Result<(FileId, u64, AuditHead)> {
    let about = file.metadata()?;
    let (id, length) = (os::file_id(&about), about.len());
    let AuditTail { mut head, end } = tail;
    let repaired = records.first().filter(|_| end < length);
    let repaired =
        repaired.map(|first| noted(first, AuditAction::AuditRepaired, format!("a torn line of {} bytes was cut off", length - end)));
    let mut text = String::new();
    for record in repaired.iter().chain(records) {
        text.push_str(&head.line(record)?);
        text.push('\n');
    }
    let mut write = || {
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    };
    if let Err(error) = write() {
        // Half a batch would be records of what does not happen.
        let _ = file.set_len(end).and_then(|()| file.sync_data());
        return Err(error);
    }
    Ok((id, end + text.len() as u64, head))
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
    let head = AuditHead::of(last).ok_or_else(|| {
        let message =
            "its last line is not as it was written; flow audit verify says what is wrong; move the file away, and a new one begins";
        Error::new(ErrorKind::InvalidData, message)
    })?;
    Ok(AuditTail { head, end: from + end as u64 })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::journal::{AuditDamage, AuditResult};

    fn record(event: u64) -> AuditRecord {
        let fields = serde_json::json!({ "timestamp": "2026-01-01T00:00:00Z", "event_type": "action", "session_id": "r_1", "trace_id": "t",
            "event": event, "action": "tool_call" });
        AuditRecord { result: Some(AuditResult::Success), ..serde_json::from_value(fields).unwrap() }
    }

    fn audit(folder: &Path) -> AuditFile {
        AuditFile::beside(&folder.join("kept/runs.db"))
    }

    fn verified(audit: &AuditFile) -> std::result::Result<AuditHead, AuditFault> {
        audit.verify(&mut HashMap::new()).unwrap().unwrap()
    }

    #[test]
    fn the_chain_continues_whoever_appends_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (audit(folder.path()), audit(folder.path()));
        assert_eq!(one.verify(&mut HashMap::new()).unwrap(), None);
        assert_eq!(one.head().unwrap(), None);
        for round in 0..5 {
            one.append(&[record(round), record(round)]).unwrap();
            other.append(&[record(round)]).unwrap();
        }
        let head = verified(&one).unwrap();
        assert_eq!((head.record_id, one.head().unwrap()), (15, Some(head)));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(one.path()), mode(one.path().parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn threads_that_append_at_once_make_one_chain() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut own = audit(folder.path());
                    (0..25).for_each(|event| own.append(&[record(event)]).unwrap());
                });
            }
        });
        assert_eq!(verified(&audit(folder.path())).unwrap().record_id, 100);
    }

    #[test]
    fn a_torn_line_is_cut_off_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = audit(folder.path());
        own.append(&[record(1), record(2), record(3)]).unwrap();
        let whole = std::fs::read(own.path()).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|place| whole[*place] == b'\n').map(|place| place + 1).collect();
        for length in 1..whole.len() {
            std::fs::write(own.path(), &whole[..length]).unwrap();
            let mut own = audit(folder.path());
            let kept = ends.iter().filter(|end| **end <= length).count() as u64;
            let is_torn = !ends.contains(&length);
            assert_eq!(verified(&own).err().map(|fault| fault.damage), is_torn.then_some(AuditDamage::Torn));
            own.append(&[record(4)]).unwrap();
            assert_eq!(verified(&own).unwrap().record_id, kept + 1 + u64::from(is_torn), "{length}");
            let text = std::fs::read_to_string(own.path()).unwrap();
            assert_eq!(text.contains("audit_repaired") && text.contains("a torn line of"), is_torn);
        }
    }

    #[test]
    fn nothing_is_appended_to_what_is_no_audit() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = audit(folder.path());
        own.append(&[record(1), record(2)]).unwrap();
        let mut bytes = std::fs::read(own.path()).unwrap();
        *bytes.iter_mut().rfind(|byte| **byte == b'r').unwrap() = b'x';
        bytes.extend(b"\n");
        std::fs::write(own.path(), &bytes).unwrap();
        assert!(matches!(own.check(), Err(StoreError::Audit { .. })));
        assert!(own.append(&[record(3)]).unwrap_err().to_string().contains("flow audit verify"));
        assert_eq!(std::fs::read(own.path()).unwrap(), bytes);
        assert!(own.head().is_err());
        std::fs::remove_file(own.path()).unwrap();
        std::fs::create_dir(own.path()).unwrap();
        assert!(own.append(&[record(3)]).unwrap_err().to_string().contains("directory"));
    }

    #[test]
    fn a_file_that_grows_too_little_keeps_what_it_had() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = audit(folder.path());
        own.append(&[record(1)]).unwrap();
        let before = std::fs::read(own.path()).unwrap();
        let read_only = File::open(own.path()).unwrap();
        let end = tail(&read_only, before.len() as u64).unwrap();
        assert!(append(&read_only, end, &[record(2)]).is_err());
        assert_eq!(std::fs::read(own.path()).unwrap(), before);
    }

    #[test]
    fn a_line_that_never_ends_is_no_record() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = audit(folder.path());
        own.append(&[record(1)]).unwrap();
        let mut bytes = std::fs::read(own.path()).unwrap();
        bytes.extend(std::iter::repeat_n(b'x', 3 * LONGEST as usize));
        std::fs::write(own.path(), bytes).unwrap();
        assert_eq!(verified(&own), Err(AuditFault { line: 2, damage: AuditDamage::NoRecord }));
        assert!(own.append(&[record(2)]).is_err());
    }

    type Loss = fn(&Path, &[u8]);

    /// Ways to lose records that a process has written.
    const LOSSES: [(&str, Loss); 6] = [
        ("removed", |path, _| std::fs::remove_file(path).unwrap()),
        ("emptied", |path, _| std::fs::write(path, b"").unwrap()),
        ("cut", |path, all| std::fs::write(path, first_line(all)).unwrap()),
        ("replaced by an older copy", |path, all| {
            let other = path.with_extension("old");
            std::fs::write(&other, first_line(all)).unwrap();
            std::fs::rename(other, path).unwrap();
        }),
        ("replaced by the same", |path, all| {
            let other = path.with_extension("same");
            std::fs::write(&other, all).unwrap();
            std::fs::rename(other, path).unwrap();
        }),
        ("written anew by somebody else", |path, _| {
            std::fs::write(path, b"").unwrap();
            AuditFile::at(path.to_path_buf()).append(&vec![record(9); 9]).unwrap();
        }),
    ];

    fn first_line(all: &[u8]) -> &[u8] {
        &all[..=all.iter().position(|byte| *byte == b'\n').unwrap()]
    }

    #[test]
    fn whoever_wrote_to_a_file_notices_that_it_was_lost_and_a_new_run_says_so() {
        for (name, lose) in LOSSES {
            let folder = tempfile::tempdir().unwrap();
            let mut own = audit(folder.path());
            own.append(&[record(1), record(2), record(3)]).unwrap();
            // Others may append.
            audit(folder.path()).append(&[record(4)]).unwrap();
            own.append(&[record(5)]).unwrap();
            let last = own.last().unwrap().clone();
            lose(own.path(), &std::fs::read(own.path()).unwrap());
            for _ in 0..2 {
                let told = own.append(&[record(6)]).unwrap_err().to_string();
                assert!(told.contains("removed, emptied or replaced"), "{name}: {told}");
            }
            for mut own in [own, audit(folder.path())] {
                own.begin(Some(last.clone())).unwrap();
                own.append(&[record(7)]).unwrap();
                let text = std::fs::read_to_string(own.path()).unwrap();
                let noted = format!("record 5 with the hash {} was the last one", last.hash);
                assert_eq!(text.contains(&noted), name != "replaced by the same", "{name}: {text}");
                verified(&own).unwrap();
            }
        }
    }
}
