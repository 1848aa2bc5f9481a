//! `flow audit`: verifies and exports the audit of runs.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::arguments::{AuditCommand, AuditFormat, SharedOptions};
use super::refusal::Refusal;
use super::runs::time_of;
use super::{Exit, stdout};
use crate::adapter::audit_file::{AuditEnds, AuditFile};
use crate::adapter::encryption::Sealing;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::{counted, visible};
use crate::journal::{AuditEnd, AuditEnding};
use crate::port::StoreError;
use crate::runtime::kept;

/// Columns of the table, each with its path in a record.
const COLUMNS: &str = "record_id timestamp event_type session_id trace_id event step agent_id action target result reason policy_applied \
                       resource_usage/duration_ms resource_usage/input_tokens resource_usage/output_tokens resource_usage/cost_usd \
                       security_context/decided_by security_context/pipeline_hash security_context/origin security_context/served \
                       security_context/scripted previous hash";
/// Number of bytes printed at once.
const AT_ONCE: usize = 1 << 16;

/// Formats a number of records in words.
pub(super) fn records(count: u64) -> String {
    counted(count, "record", "records")
}

/// Verifies or exports the audit of the project.
pub(super) fn run(command: &AuditCommand, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let journal = kept::journal_file(&shared.current_project())?;
    let audit = AuditFile::beside(&journal);
    match command {
        AuditCommand::Verify { head, earlier } => verify(&audit, &journal, head.as_deref(), earlier),
        AuditCommand::Export { run, since, until, format } => {
            let time = |option, text: &Option<String>| text.as_deref().map(|text| time_of(option, text)).transpose();
            let wanted = Wanted { run: run.as_deref(), since: time("--since", since)?, until: time("--until", until)? };
            export(&audit, &wanted, *format)
        }
    }
}

fn none(audit: &AuditFile) -> Refusal {
    refusal!(NothingRan, "no audit yet: {} does not exist", audit.path().display())
}

fn verify(audit: &AuditFile, journal: &Path, saved: Option<&str>, earlier: &[PathBuf]) -> Result<Exit, Refusal> {
    let saved = saved.map(str::to_ascii_lowercase);
    if saved.as_ref().is_some_and(|hash| hash.len() != 64 || !hash.bytes().all(|digit| digit.is_ascii_hexdigit())) {
        return Err(Refusal::usage("--head is no hash: write the 64 digits that flow audit verify printed"));
    }
    let store = match SqliteStore::existing(journal, &Sealing::default()) {
        Ok(store) => Some(store),
        Err(StoreError::Empty { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let mut wanted: BTreeSet<String> = saved.iter().cloned().collect();
    let found = audit.verify(&mut wanted, || store.as_ref().map(AuditEnds::end).transpose().map(Option::flatten))?;
    let is_lost = found.ending.as_ref().is_some_and(|(_, ending)| *ending == AuditEnding::Lost);
    if !found.is_there && saved.is_none() && earlier.is_empty() && !is_lost {
        return Err(none(audit));
    }
    let at = |file: &Path, fault: &dyn Display| refusal!(Findings, "{}: {fault}", file.display());
    let head = found.chain.map_err(|fault| at(audit.path(), &fault))?;
    let mut added = found.added;
    match &found.ending {
        Some((end, AuditEnding::Lost)) => _ = wanted.insert(end.written.hash.clone()),
        Some((_, AuditEnding::Added { first, last })) => added.push(format!("{first} to {last}")),
        Some((_, AuditEnding::Sound | AuditEnding::Unfinished { .. })) | None => {}
    }
    for file in earlier.iter().rev() {
        let found = AuditFile::at(file.clone()).verify(&mut wanted, || Ok(None))?;
        if !found.is_there {
            return Err(refusal!(Usage, "--earlier {} does not exist", file.display()));
        }
        found.chain.map_err(|fault| at(file, &fault))?;
        added.extend(found.added);
    }
    if saved.is_some_and(|hash| wanted.contains(&hash)) {
        let cut = "the record of the saved hash is not in the file: the end was cut off, or written anew";
        return Err(at(audit.path(), &cut));
    }
    if let Some(hash) = wanted.first() {
        let lost = format!(
            "the record with the hash {hash}, once the last one, is missing: the audit was removed, emptied, cut off or replaced; if you moved it away, name that file with --earlier FILE"
        );
        return Err(at(audit.path(), &lost));
    }
    if !added.is_empty() {
        let added = format!("flow did not write records {}: they were added, or runs.db is an older copy", added.join(" and "));
        return Err(at(audit.path(), &added));
    }
    match found.ending {
        Some((_, AuditEnding::Unfinished { first, last })) => {
            tell!("the last write did not end: records {first} to {last} are not there; flow was killed, or could not write them");
        }
        Some((AuditEnd { begun: Some(_), .. }, _)) => {}
        Some((AuditEnd { begun: None, .. }, _)) | None => {
            tell!("what was cut off or added at the end is not known: runs.db, which has the last record, is missing or of an older flow");
        }
    }
    Ok(stdout::print(&format!("{}, nothing changed; head {}\n", records(head.record_id), head.hash)))
}

/// Selects records.
struct Wanted<'a> {
    run: Option<&'a str>,
    since: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
}

impl Wanted<'_> {
    fn fits(&self, record: &Value) -> bool {
        let is_of_run = |run: &str| record["session_id"].as_str().is_some_and(|id| id.starts_with(run));
        let time = record["timestamp"].as_str().and_then(|text| text.parse::<DateTime<Utc>>().ok());
        self.run.is_none_or(is_of_run)
            && self.since.is_none_or(|since| time.is_some_and(|time| time >= since))
            && self.until.is_none_or(|until| time.is_some_and(|time| time < until))
    }
}

fn export(audit: &AuditFile, wanted: &Wanted<'_>, format: AuditFormat) -> Result<Exit, Refusal> {
    let (mut text, mut printed, mut unread, mut found) = (vec![], Exit::Ok, 0, false);
    if format == AuditFormat::Csv {
        row(&mut text, COLUMNS.split(' ').map(|place| place.rsplit('/').next().unwrap_or(place).to_owned()));
    }
    let mut print = |text: &mut Vec<u8>| {
        printed = printed.or(stdout::print_file(&String::from_utf8_lossy(text)));
        text.clear();
        printed == Exit::Ok
    };
    let is_there = audit.each_line(|line, _| {
        match serde_json::from_slice::<Value>(line) {
            Ok(record) if !wanted.fits(&record) => {}
            Ok(record) => {
                found = true;
                match format {
                    AuditFormat::Jsonl => text.extend([line, b"\n"].concat()),
                    AuditFormat::Csv => row(&mut text, COLUMNS.split(' ').map(|place| cell(record.pointer(&format!("/{place}"))))),
                }
            }
            Err(_) => unread += 1,
        }
        text.len() < AT_ONCE || print(&mut text)
    })?;
    if !is_there {
        return Err(none(audit));
    }
    if let (false, Some(run)) = (found, wanted.run) {
        return Err(refusal!(NothingRan, "no record is of a run \"{}\"", visible(run)));
    }
    print(&mut text);
    if unread > 0 {
        tell!("{} left out: no record; flow audit verify says where", counted(unread, "line is", "lines are"));
        printed = printed.or(Exit::Findings);
    }
    Ok(printed)
}

/// Formats a cell so that no spreadsheet reads it as a formula.
fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text }
}

fn row(text: &mut Vec<u8>, cells: impl IntoIterator<Item = String>) {
    // Writing to a vector cannot fail.
    let _ = csv::Writer::from_writer(text).write_record(cells);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        for (value, shown) in [("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("\t=1", "'\t=1"), ("a=1", "a=1"), ("", "")]
        {
            assert_eq!(cell(Some(&Value::from(value))), shown);
        }
        assert_eq!((cell(None), cell(Some(&Value::from(7)))), (String::new(), "7".to_owned()));
        let mut text = vec![];
        row(&mut text, ["a,b".to_owned(), "say \"no\"\n".to_owned()]);
        assert_eq!(String::from_utf8(text).unwrap(), "\"a,b\",\"say \"\"no\"\"\n\"\n");
    }
}
