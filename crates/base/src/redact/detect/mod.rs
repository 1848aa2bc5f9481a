//! Shapes of personal data and of secrets, one file per family.

pub(super) mod address;
mod email;
mod iban;
pub(super) mod keys;
mod numbers;
mod phone;

pub(super) use keys::begins_as_key;

use super::{Detection, PiiKind, merged};

/// Everything in a text that has the shape of personal data or of a secret, in order; places that overlap are one, of the graver
/// kind. Shapes with a checksum are checked.
pub fn find_pii(text: &str) -> Vec<Detection> {
    let mut found = vec![];
    keys::find(text, &mut found);
    address::find(text, &mut found);
    email::find(text, &mut found);
    numbers::find(text, &mut found);
    merged(found, PiiKind::gt)
}

/// Digits that stand together.
#[derive(Debug, Clone, Copy)]
struct Group<'t> {
    start: usize,
    end: usize,
    /// The marks before it, empty for the first of a chain.
    gap: &'t [u8],
}

impl Group<'_> {
    fn len(&self) -> usize {
        self.end - self.start
    }
}

fn add(found: &mut Vec<Detection>, kind: PiiKind, start: usize, end: usize) {
    found.push(Detection { kind, range: start..end });
}

/// The byte before a place, and the one at it; 0 outside the text.
fn before(text: &[u8], at: usize) -> u8 {
    at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(0)
}

fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The words shortly before a place, in small letters; not beyond a marker or a mask, which say nothing about what follows.
fn words_before(text: &[u8], at: usize) -> String {
    let near = text.get(at.saturating_sub(28)..at).unwrap_or_default();
    let from = near.iter().rposition(|byte| matches!(byte, b'<' | b'>' | b'*' | b'\n')).map_or(0, |at| at + 1);
    String::from_utf8_lossy(near.get(from..).unwrap_or_default()).to_lowercase()
}

/// Whether one of the words ends somewhere in `near` and begins a word there.
fn has_word<'w>(near: &str, words: impl IntoIterator<Item = &'w str>) -> bool {
    words.into_iter().any(|word| {
        near.match_indices(word).any(|(at, _)| {
            let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphabetic());
            edge(near[..at].chars().next_back()) && edge(near[at + word.len()..].chars().next())
        })
    })
}
