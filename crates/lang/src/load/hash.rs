//! What a run remembers of its files: one number that changes with any of them.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::source::{FileId, Sources};

/// What each file counts with: the SHA-256 of its text, made once however many pipelines bring it in.
pub fn texts(sources: &Sources) -> Vec<[u8; 32]> {
    sources.files().map(|(_, file)| Sha256::digest(file.text.as_bytes()).into()).collect()
}

/// SHA-256 in hex over a file and all that it brings in, by way of others too. Each file counts with its name, its length before
/// it, and with the hash of its text, in the order of the names.
pub fn hash(file: FileId, brings: &BTreeMap<FileId, BTreeSet<FileId>>, names: &[String], texts: &[[u8; 32]]) -> String {
    let mut all = BTreeSet::from([file]);
    let mut open = vec![file];
    while let Some(next) = open.pop() {
        for inner in brings.get(&next).into_iter().flatten() {
            if all.insert(*inner) {
                open.push(*inner);
            }
        }
    }
    let mut parts: Vec<_> = all.into_iter().filter_map(|id| Some((names.get(id.0 as usize)?, texts.get(id.0 as usize)?))).collect();
    parts.sort_unstable();
    let mut digest = Sha256::new();
    for (name, text) in parts {
        digest.update((name.len() as u64).to_be_bytes());
        digest.update(name.as_bytes());
        digest.update(text);
    }
    hex::encode(digest.finalize())
}
