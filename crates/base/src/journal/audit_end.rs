//! The end of the audit as the store of runs knows it. The store saves the last record before records are appended. So records only in the
//! file were not written by flow; records only in the store were lost or, for the last write only, never written.

use super::{AuditAction, AuditHead, AuditRecord};

/// The end of the audit that a store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEnd {
    /// The last record that was certainly written to the file.
    pub written: AuditHead,
    /// The last record of the next write, equal to `written` if none started. `None`: only records of runs were counted; others may follow.
    pub begun: Option<AuditHead>,
}

/// How the end of a file compares with the known end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditEnding {
    /// It ends as expected.
    Sound,
    /// The last write was interrupted: these of its records are missing.
    Unfinished {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// Records were added without a write of flow.
    Added {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// Written records are missing.
    Lost,
}

/// A record about the audit itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditNote {
    /// The record with this hash was the last one, and is missing from the file.
    Lost(String),
    /// These records were not written by flow.
    Added(String),
}

impl AuditNote {
    /// What this line notes, if it is such a record.
    pub fn from_line(line: &[u8]) -> Option<AuditNote> {
        let text = std::str::from_utf8(line).ok().filter(|text| text.contains("\"action\":\"audit_"))?;
        let record: AuditRecord = serde_json::from_str(text).ok()?;
        match record.action {
            AuditAction::AuditLost => Some(AuditNote::Lost(record.target)),
            AuditAction::AuditAdded => Some(AuditNote::Added(record.target)),
            _ => None,
        }
    }
}

/// Compares a file with a known end, record by record.
#[derive(Debug)]
pub struct EndSearch {
    end: AuditEnd,
    has_written: bool,
    has_begun: bool,
}

impl EndSearch {
    /// Starts before the first record.
    pub fn new(end: AuditEnd) -> EndSearch {
        let mut search = EndSearch { end, has_written: false, has_begun: false };
        search.meet(&AuditHead::default());
        search
    }

    /// Takes the next record of the file.
    pub fn meet(&mut self, record: &AuditHead) {
        self.has_written |= *record == self.end.written;
        self.has_begun |= self.end.begun.as_ref() == Some(record);
    }

    /// Returns the result; `last` is the last record of the file.
    pub fn finish(&self, last: &AuditHead) -> AuditEnding {
        let added = |known: &AuditHead| AuditEnding::Added { first: known.record_id + 1, last: last.record_id };
        match &self.end.begun {
            Some(begun) if begun == last => AuditEnding::Sound,
            Some(begun) if self.has_begun => added(begun),
            Some(begun) if self.has_written && last.record_id < begun.record_id => {
                AuditEnding::Unfinished { first: last.record_id + 1, last: begun.record_id }
            }
            Some(_) if self.has_written => added(&self.end.written),
            None if self.has_written => AuditEnding::Sound,
            Some(_) | None => AuditEnding::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(record_id: u64) -> AuditHead {
        if record_id == 0 { AuditHead::default() } else { AuditHead { record_id, hash: format!("{record_id:064}") } }
    }

    #[test]
    fn each_end_of_a_file_is_told_apart() {
        let (unfinished, added) = (|first, last| AuditEnding::Unfinished { first, last }, |first, last| AuditEnding::Added { first, last });
        for (written, begun, length, expected) in [
            (0, 0, 0, AuditEnding::Sound),
            (4, 4, 4, AuditEnding::Sound),
            (4, 4, 3, AuditEnding::Lost),
            (4, 4, 0, AuditEnding::Lost),
            (4, 4, 5, added(5, 5)),
            (0, 0, 2, added(1, 2)),
            (4, 6, 6, AuditEnding::Sound),
            (4, 6, 5, unfinished(6, 6)),
            (4, 6, 4, unfinished(5, 6)),
            (0, 2, 0, unfinished(1, 2)),
            (4, 6, 3, AuditEnding::Lost),
            (4, 6, 9, added(7, 9)),
        ] {
            let mut search = EndSearch::new(AuditEnd { written: head(written), begun: Some(head(begun)) });
            (1..=length).for_each(|record| search.meet(&head(record)));
            assert_eq!(search.finish(&head(length)), expected, "{written} {begun} {length}");
        }
    }

    #[test]
    fn records_of_another_chain_are_not_those_that_are_known() {
        let other = |record_id| AuditHead { record_id, hash: format!("f{record_id:063}") };
        for (written, begun, last, expected) in
            [(4, Some(4), other(4), AuditEnding::Lost), (4, Some(4), other(9), AuditEnding::Lost), (4, None, other(9), AuditEnding::Lost)]
        {
            let mut search = EndSearch::new(AuditEnd { written: head(written), begun: begun.map(head) });
            (1..=last.record_id).for_each(|record| search.meet(&other(record)));
            assert_eq!(search.finish(&last), expected);
        }
        // An end that an older version of flow stored.
        let mut search = EndSearch::new(AuditEnd { written: head(4), begun: None });
        (1..=6).for_each(|record| search.meet(&head(record)));
        assert_eq!(search.finish(&head(6)), AuditEnding::Sound);
    }
}
