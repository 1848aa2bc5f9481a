//! The chain of audit records: each line has a running number, the hash of the line before and its own hash. A change, removal, reordering
//! or insertion between two lines is therefore detected. Comparing with a stored hash of the last line also detects a cut end.
//!
//! A line is `{"record_id":N,…,"previous":"H"` and then `,"hash":"H"}`; its hash is the SHA-256 of the bytes before `,"hash":`. Bytes are
//! hashed, not values, so every flipped bit is detected.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::AuditRecord;

const BEFORE: &str = ",\"hash\":\"";
const AFTER: &str = "\"}";
/// Number of hexadecimal digits of a hash.
const DIGITS: usize = 64;

/// The last record of a chain. The default stands for an empty chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHead {
    /// Its number, from 1; 0: the chain is empty.
    pub record_id: u64,
    /// Its hash, 64 hexadecimal digits.
    pub hash: String,
}

impl Default for AuditHead {
    fn default() -> AuditHead {
        AuditHead { record_id: 0, hash: "0".repeat(DIGITS) }
    }
}

#[derive(Serialize)]
struct NewLine<'r> {
    record_id: u64,
    #[serde(flatten)]
    record: &'r AuditRecord,
    previous: &'r str,
}

#[derive(Deserialize)]
struct KeptLine {
    record_id: u64,
    previous: String,
}

impl AuditHead {
    /// Returns the line of the next record, without its line end, and makes it the head.
    ///
    /// # Errors
    /// The record cannot be written as JSON.
    pub fn line(&mut self, record: &AuditRecord) -> serde_json::Result<String> {
        let record_id = self.record_id + 1;
        let mut line = serde_json::to_string(&NewLine { record_id, record, previous: &self.hash })?;
        line.pop();
        let hash = hex::encode(Sha256::digest(&line));
        line.extend([BEFORE, &hash, AFTER]);
        *self = AuditHead { record_id, hash };
        Ok(line)
    }

    /// Returns whether a line is the next record after `head`.
    pub fn follows(line: &[u8], head: &AuditHead) -> bool {
        read(line).is_ok_and(|(next, previous)| next.record_id == head.record_id + 1 && previous == head.hash)
    }

    /// The head of a chain that ends with this line; `None`: it is not as it was written.
    pub fn from_line(line: &[u8]) -> Option<AuditHead> {
        read(line).ok().map(|(head, _)| head)
    }
}

/// Reads the head that a line makes, and the hash of the line before. Fails if the line is damaged.
fn read(line: &[u8]) -> Result<(AuditHead, String), AuditDamage> {
    let text = std::str::from_utf8(line).map_err(|_| AuditDamage::NoRecord)?;
    let (told, end) = text.rsplit_once(BEFORE).ok_or(AuditDamage::NoRecord)?;
    let hash = hex::encode(Sha256::digest(told));
    if end.strip_suffix(AFTER) != Some(&hash) {
        return Err(AuditDamage::Changed);
    }
    let kept: KeptLine = serde_json::from_str(text).map_err(|_| AuditDamage::NoRecord)?;
    Ok((AuditHead { record_id: kept.record_id, hash }, kept.previous))
}

/// Damage of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditDamage {
    /// The line is not a record.
    NoRecord,
    /// The line was changed after it was written.
    Changed,
    /// The file ends in the middle of the line.
    Torn,
    /// These records are missing.
    Missing {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// The record comes before one that precedes it.
    OutOfOrder {
        /// Its number.
        found: u64,
        /// The number expected here.
        expected: u64,
    },
    /// The record is repeated, or belongs further up.
    Again {
        /// Its number.
        found: u64,
    },
    /// The record does not follow the line before it.
    OtherChain,
}

impl fmt::Display for AuditDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditDamage::NoRecord => f.write_str("it is no record of an audit"),
            AuditDamage::Changed => f.write_str("it was changed"),
            AuditDamage::Torn => {
                f.write_str("the file ends in the middle of it: a process was killed while it wrote, or the end was cut off")
            }
            AuditDamage::Missing { first, last } if first == last => write!(f, "record {first} is missing before it"),
            AuditDamage::Missing { first, last } => write!(f, "records {first} to {last} are missing before it"),
            AuditDamage::OutOfOrder { found, expected } => write!(f, "it is record {found}, out of order: record {expected} belongs here"),
            AuditDamage::Again { found } => write!(f, "it is record {found} again: it was inserted here, or moved down"),
            AuditDamage::OtherChain => f.write_str("it does not follow the line before: one of the two was replaced"),
        }
    }
}

/// The first damage of an audit, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {damage}")]
pub struct AuditFault {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub damage: AuditDamage,
}

/// Verifies an audit line by line.
#[derive(Debug, Default)]
pub struct AuditCheck {
    head: AuditHead,
    lines: u64,
    fault: Option<AuditFault>,
}

impl AuditCheck {
    /// Checks the next line, given without its line end; `is_whole`: it had one. Returns its record if everything so far is sound.
    pub fn take(&mut self, line: &[u8], is_whole: bool) -> Option<&AuditHead> {
        self.lines += 1;
        let found = if is_whole { read(line) } else { Err(AuditDamage::Torn) };
        match (&mut self.fault, found) {
            (None, found) => {
                if let Err(damage) = found.and_then(|(head, previous)| self.follow(head, &previous)) {
                    self.fault = Some(AuditFault { line: self.lines, damage });
                }
            }
            // The record that seemed to be missing comes later.
            (Some(AuditFault { damage, .. }), Ok((head, _))) => {
                if let AuditDamage::Missing { first, last } = *damage
                    && head.record_id == first
                {
                    *damage = AuditDamage::OutOfOrder { found: last + 1, expected: first };
                }
            }
            (Some(_), Err(_)) => {}
        }
        self.fault.is_none().then_some(&self.head)
    }

    fn follow(&mut self, head: AuditHead, previous: &str) -> Result<(), AuditDamage> {
        let (found, expected) = (head.record_id, self.head.record_id + 1);
        if found > expected {
            return Err(AuditDamage::Missing { first: expected, last: found - 1 });
        }
        if found < expected {
            return Err(AuditDamage::Again { found });
        }
        if previous != self.head.hash {
            return Err(AuditDamage::OtherChain);
        }
        self.head = head;
        Ok(())
    }

    /// Returns the last record, after the last line.
    ///
    /// # Errors
    /// The first damage found.
    pub fn end(self) -> Result<AuditHead, AuditFault> {
        self.fault.map_or(Ok(self.head), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{AuditAction, AuditKind};

    fn lines(count: u64) -> (Vec<String>, AuditHead) {
        let mut head = AuditHead::default();
        let lines = (1..=count).map(|number| {
            let fields = serde_json::json!({ "timestamp": "2026-01-01T00:00:00Z", "event_type": AuditKind::Action, "session_id": "r_1",
                "trace_id": "t", "event": number, "action": AuditAction::ToolCall, "target": "a \"quoted\",\"hash\":\"name" });
            head.line(&serde_json::from_value(fields).unwrap()).unwrap()
        });
        (lines.collect(), head)
    }

    fn verified(bytes: &[u8]) -> Result<AuditHead, AuditFault> {
        let mut check = AuditCheck::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let whole = line.strip_suffix(b"\n");
            check.take(whole.unwrap_or(line), whole.is_some());
        }
        check.end()
    }

    fn text<L: AsRef<str>>(lines: &[L]) -> Vec<u8> {
        lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect::<String>().into_bytes()
    }

    fn damage(lines: &[String]) -> (u64, AuditDamage) {
        let fault = verified(&text(lines)).unwrap_err();
        (fault.line, fault.damage)
    }

    #[test]
    fn every_flipped_bit_is_found_in_its_line() {
        let (lines, head) = lines(4);
        let mut bytes = text(&lines);
        assert_eq!(verified(&bytes), Ok(head));
        for place in 0..bytes.len() {
            let line = 1 + bytes[..place].iter().filter(|byte| **byte == b'\n').count() as u64;
            for bit in 0..8 {
                bytes[place] ^= 1 << bit;
                let found = verified(&bytes).unwrap_err();
                assert_eq!(found.line, line, "byte {place}, bit {bit}: {found}");
                bytes[place] ^= 1 << bit;
            }
        }
    }

    #[test]
    fn a_record_that_is_dropped_moved_or_added_is_found_and_said_where() {
        let (all, _) = lines(6);
        for place in 0..all.len() - 1 {
            let mut less = all.clone();
            less.remove(place);
            let number = place as u64 + 1;
            assert_eq!(damage(&less), (number, AuditDamage::Missing { first: number, last: number }));
        }
        for (one, other) in (0..all.len()).flat_map(|one| (one + 1..all.len()).map(move |other| (one, other))) {
            let mut moved = all.clone();
            moved.swap(one, other);
            let (expected, found) = (one as u64 + 1, other as u64 + 1);
            assert_eq!(damage(&moved), (expected, AuditDamage::OutOfOrder { found, expected }), "{one} {other}");
        }
        for (from, to) in (0..all.len()).flat_map(|from| (from + 1..=all.len()).map(move |to| (from, to))) {
            let mut more = all.clone();
            more.insert(to, all[from].clone());
            assert_eq!(damage(&more), (to as u64 + 1, AuditDamage::Again { found: from as u64 + 1 }), "{from} {to}");
        }
        // A chain that starts in the middle, and one joined from two.
        assert_eq!(damage(&all[3..]), (1, AuditDamage::Missing { first: 1, last: 3 }));
        let mut head = AuditHead::default();
        let other: Vec<String> = all
            .iter()
            .map(|line| {
                let mut record: AuditRecord = serde_json::from_str(line).unwrap();
                record.target = "other".to_owned();
                head.line(&record).unwrap()
            })
            .collect();
        assert_eq!(damage(&[&all[..3], &other[3..]].concat()), (4, AuditDamage::OtherChain));
    }

    #[test]
    fn an_end_that_was_cut_in_a_line_is_found() {
        let (all, _) = lines(5);
        let whole = text(&all);
        for length in 1..whole.len() {
            let is_between = whole[length - 1] == b'\n';
            let found = verified(&whole[..length]);
            assert_eq!(found.is_ok(), is_between, "{length}");
            assert!(is_between || found.unwrap_err().damage == AuditDamage::Torn);
        }
    }

    #[test]
    fn a_line_is_as_the_manual_says() {
        let (all, _) = lines(2);
        let (told, rest) = all[1].rsplit_once(",\"hash\":").unwrap();
        assert_eq!(rest, format!("\"{}\"}}", hex::encode(Sha256::digest(told))));
        let value: serde_json::Value = serde_json::from_str(&all[1]).unwrap();
        assert_eq!(value["previous"], AuditHead::from_line(all[0].as_bytes()).unwrap().hash);
    }
}
