//! What a run remembers of its files: one number that changes with any of them.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::source::{FileId, Sources};

/// SHA-256 in hex over a file and all that it brings in, by way of others too. Each file counts with its name and its text,
/// both with their length before them, in the order of the names.
pub fn hash(file: FileId, brings: &BTreeMap<FileId, BTreeSet<FileId>>, names: &[String], sources: &Sources) -> String {
    let mut all = BTreeSet::from([file]);
    let mut open = vec![file];
    while let Some(next) = open.pop() {
        for inner in brings.get(&next).into_iter().flatten() {
            if all.insert(*inner) {
                open.push(*inner);
            }
        }
    }
    let mut parts: Vec<(&str, &str)> =
        all.into_iter().map(|id| (names.get(id.0 as usize).map_or("", String::as_str), &*sources.file(id).text)).collect();
    parts.sort_unstable();
    let mut digest = Sha256::new();
    for (name, text) in parts {
        for part in [name, text] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
