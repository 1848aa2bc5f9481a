//! A file of audit records is whole, whoever appends, and what becomes of its end is noticed.

use std::cell::RefCell;
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
    audit.verify(&mut BTreeSet::new(), || Ok(None)).unwrap().chain
}

#[test]
fn the_chain_continues_whoever_appends_and_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut one, mut other) = (audit(folder.path()), audit(folder.path()));
    assert!(!one.verify(&mut BTreeSet::new(), || Ok(None)).unwrap().is_there);
    assert_eq!(one.head().unwrap(), None);
    for round in 0..5 {
        one.append(&[record(round), record(round)], None).unwrap();
        other.append(&[record(round)], None).unwrap();
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
                (0..25).for_each(|event| own.append(&[record(event)], None).unwrap());
            });
        }
    });
    assert_eq!(verified(&audit(folder.path())).unwrap().record_id, 100);
}

#[test]
fn a_torn_line_is_cut_off_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut own = audit(folder.path());
    own.append(&[record(1), record(2), record(3)], None).unwrap();
    let whole = std::fs::read(own.path()).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|place| whole[*place] == b'\n').map(|place| place + 1).collect();
    for length in 1..whole.len() {
        std::fs::write(own.path(), &whole[..length]).unwrap();
        let mut own = audit(folder.path());
        let kept = ends.iter().filter(|end| **end <= length).count() as u64;
        let is_torn = !ends.contains(&length);
        assert_eq!(verified(&own).err().map(|fault| fault.damage), is_torn.then_some(AuditDamage::Torn));
        own.append(&[record(4)], None).unwrap();
        assert_eq!(verified(&own).unwrap().record_id, kept + 1 + u64::from(is_torn), "{length}");
        let text = std::fs::read_to_string(own.path()).unwrap();
        assert_eq!(text.contains("audit_repaired") && text.contains("a torn line of"), is_torn);
    }
}

#[test]
fn nothing_is_appended_to_what_is_no_audit() {
    let folder = tempfile::tempdir().unwrap();
    let mut own = audit(folder.path());
    own.append(&[record(1), record(2)], None).unwrap();
    let mut bytes = std::fs::read(own.path()).unwrap();
    *bytes.iter_mut().rfind(|byte| **byte == b'r').unwrap() = b'x';
    bytes.extend(b"\n");
    std::fs::write(own.path(), &bytes).unwrap();
    assert!(matches!(own.check(), Err(StoreError::Audit { .. })));
    assert!(own.append(&[record(3)], None).unwrap_err().to_string().contains("flow audit verify"));
    assert_eq!(std::fs::read(own.path()).unwrap(), bytes);
    assert!(own.head().is_err());
    std::fs::remove_file(own.path()).unwrap();
    std::fs::create_dir(own.path()).unwrap();
    assert!(own.append(&[record(3)], None).unwrap_err().to_string().contains("directory"));
}

#[test]
fn a_file_that_grows_too_little_keeps_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let mut own = audit(folder.path());
    own.append(&[record(1)], None).unwrap();
    let before = std::fs::read(own.path()).unwrap();
    let read_only = File::open(own.path()).unwrap();
    let end = tail(&read_only, before.len() as u64).unwrap();
    assert!(append(&read_only, end.end, &new_lines(&end, [record(2)].iter()).unwrap()).is_err());
    assert_eq!(std::fs::read(own.path()).unwrap(), before);
}

#[test]
fn a_line_that_never_ends_is_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut own = audit(folder.path());
    own.append(&[record(1)], None).unwrap();
    let mut bytes = std::fs::read(own.path()).unwrap();
    bytes.extend(std::iter::repeat_n(b'x', 3 * LONGEST as usize));
    std::fs::write(own.path(), bytes).unwrap();
    assert_eq!(verified(&own), Err(AuditFault { line: 2, damage: AuditDamage::NoRecord }));
    assert!(own.append(&[record(2)], None).is_err());
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
        AuditFile::at(path.to_path_buf()).append(&vec![record(9); 9], None).unwrap();
    }),
];

fn first_line(all: &[u8]) -> &[u8] {
    &all[..=all.iter().position(|byte| *byte == b'\n').unwrap()]
}

/// A store of the end alone.
#[derive(Default)]
struct KeptEnd {
    end: RefCell<Option<AuditEnd>>,
    is_full: bool,
}

impl KeptEnd {
    /// What the store does when the events are written.
    fn confirm(&self) {
        self.end.borrow_mut().iter_mut().for_each(|end| end.written = end.begun.clone().unwrap());
    }
}

impl AuditEnds for KeptEnd {
    fn end(&self) -> std::result::Result<Option<AuditEnd>, StoreError> {
        Ok(self.end.borrow().clone())
    }

    fn begin_write(&self, written: &AuditHead, begun: &AuditHead) -> std::result::Result<(), StoreError> {
        if self.is_full {
            return Err(StoreError::unusable(Path::new("runs.db"), "the disk is full"));
        }
        *self.end.borrow_mut() = Some(AuditEnd { written: written.clone(), begun: Some(begun.clone()) });
        Ok(())
    }
}

#[test]
fn whoever_wrote_to_a_file_notices_that_it_was_lost_and_a_new_run_says_so() {
    for (name, lose) in LOSSES {
        let (folder, kept) = (tempfile::tempdir().unwrap(), KeptEnd::default());
        let mut own = audit(folder.path());
        own.append(&[record(1), record(2), record(3)], Some(&kept)).unwrap();
        // Others may append.
        audit(folder.path()).append(&[record(4)], Some(&kept)).unwrap();
        own.append(&[record(5)], Some(&kept)).unwrap();
        kept.confirm();
        let last = own.last().unwrap().clone();
        lose(own.path(), &std::fs::read(own.path()).unwrap());
        for _ in 0..2 {
            let told = own.append(&[record(6)], Some(&kept)).unwrap_err().to_string();
            assert!(told.contains("removed, emptied or replaced"), "{name}: {told}");
        }
        for mut own in [own, audit(folder.path())] {
            own.begin().unwrap();
            own.append(&[record(7)], Some(&kept)).unwrap();
            let text = std::fs::read_to_string(own.path()).unwrap();
            let noted = format!("record 5 with the hash {} was the last one", last.hash);
            assert_eq!(text.matches(&noted).count(), usize::from(name != "replaced by the same"), "{name}: {text}");
            verified(&own).unwrap();
        }
    }
}

/// How the file ends for a store, and what a next write notes.
fn ending(folder: &Path, kept: &KeptEnd) -> (AuditEnding, Vec<String>) {
    let verified = audit(folder).verify(&mut BTreeSet::new(), || kept.end()).unwrap();
    audit(folder).append(&[record(99)], Some(kept)).unwrap();
    let text = std::fs::read_to_string(audit(folder).path()).unwrap();
    let noted = text.lines().filter_map(|line| line.split_once("\"action\":\"audit_")).map(|(_, after)| after[..5].to_owned());
    (verified.ending.unwrap().1, noted.collect())
}

#[test]
fn a_process_that_is_killed_at_any_place_of_a_write_raises_no_alarm() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), KeptEnd::default());
    let mut own = audit(folder.path());
    own.append(&[record(1), record(2)], Some(&kept)).unwrap();
    kept.confirm();
    let before = std::fs::read(own.path()).unwrap();
    own.append(&[record(3), record(4)], Some(&kept)).unwrap();
    let (after, end) = (std::fs::read(own.path()).unwrap(), kept.end().unwrap());
    for length in before.len()..=after.len() {
        // Each is as if the process had been killed there; the store was told of the write first.
        std::fs::write(own.path(), &after[..length]).unwrap();
        kept.end.borrow_mut().clone_from(&end);
        let at_line_end = after[length - 1] == b'\n';
        if !at_line_end {
            assert_eq!(verified(&own).unwrap_err().damage, AuditDamage::Torn);
            audit(folder.path()).append(&[record(9)], Some(&kept)).unwrap();
        }
        let (ending, noted) = ending(folder.path(), &kept);
        let records = after[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
        let expected = match records {
            2 | 3 if at_line_end => AuditEnding::Unfinished { first: records + 1, last: 4 },
            _ => AuditEnding::Sound,
        };
        assert_eq!((ending, noted), (expected, if at_line_end { vec![] } else { vec!["repai".to_owned()] }), "{length}");
        verified(&own).unwrap();
    }
}

#[test]
fn records_that_were_added_or_cut_off_are_noticed_by_who_reads_and_noted_by_who_writes() {
    type Touch = fn(&Path, &[u8]);
    let cases: [(&str, Touch, AuditEnding, &[&str]); 5] = [
        ("nothing", |_, _| (), AuditEnding::Sound, &[]),
        (
            "one added",
            |path, _| AuditFile::at(path.into()).append(&[record(8)], None).unwrap(),
            AuditEnding::Added { first: 4, last: 4 },
            &["added"],
        ),
        (
            "two added",
            |path, _| AuditFile::at(path.into()).append(&[record(8), record(8)], None).unwrap(),
            AuditEnding::Added { first: 4, last: 5 },
            &["added"],
        ),
        ("cut", |path, all| std::fs::write(path, first_line(all)).unwrap(), AuditEnding::Lost, &["lost\""]),
        (
            "cut and added",
            |path, all| {
                std::fs::write(path, first_line(all)).unwrap();
                AuditFile::at(path.into()).append(&[record(8), record(8)], None).unwrap();
            },
            AuditEnding::Lost,
            &["lost\""],
        ),
    ];
    for (name, touch, expected, noted) in cases {
        let (folder, kept) = (tempfile::tempdir().unwrap(), KeptEnd::default());
        let mut own = audit(folder.path());
        own.append(&[record(1), record(2), record(3)], Some(&kept)).unwrap();
        kept.confirm();
        touch(own.path(), &std::fs::read(own.path()).unwrap());
        let found = ending(folder.path(), &kept);
        assert_eq!((found.0, found.1.iter().map(String::as_str).collect::<Vec<_>>()), (expected, noted.to_vec()), "{name}");
        // Once noted it is no news, and verifying still tells of it.
        assert_eq!(ending(folder.path(), &kept).1.len(), noted.len(), "{name}");
        let mut wanted = BTreeSet::new();
        let again = audit(folder.path()).verify(&mut wanted, || kept.end()).unwrap();
        assert_eq!(
            (again.added.len(), wanted.len()),
            (noted.iter().filter(|word| **word == "added").count(), noted.iter().filter(|word| **word != "added").count()),
            "{name}"
        );
    }
}

#[test]
fn nothing_is_appended_of_which_the_store_cannot_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut own = audit(folder.path());
    own.append(&[record(1)], Some(&KeptEnd::default())).unwrap();
    let before = std::fs::read(own.path()).unwrap();
    let told = own.append(&[record(2)], Some(&KeptEnd { is_full: true, ..KeptEnd::default() })).unwrap_err().to_string();
    assert!(told.contains("runs.db") && told.contains("disk is full"), "{told}");
    assert_eq!(std::fs::read(own.path()).unwrap(), before);
}
