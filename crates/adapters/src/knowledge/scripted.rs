//! Vectors of a scripted model: they follow from the words of a text alone, so a test always finds the same. Words that its file declares to mean the
//! same count as one word.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::words;

/// Numbers of a vector.
const LENGTH: usize = 256;
/// Shorter words (a, of, in) say little.
const SHORTEST: usize = 3;

/// The vector of a text. Each word has a place and a sign, which its hash chooses.
pub(super) fn vector(text: &str, meanings: &[Vec<String>]) -> Vec<f32> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for word in words::split(text).into_iter().filter(|word| word.chars().count() >= SHORTEST) {
        *counts.entry(meaning(&word, meanings)).or_default() += 1;
    }
    let mut vector = vec![0.0_f32; LENGTH];
    for (word, count) in counts {
        let hash = Sha256::digest(word.as_bytes());
        let place = usize::from(u16::from_le_bytes([hash[0], hash[1]])) % LENGTH;
        let sign = if hash[2] & 1 == 0 { 1.0 } else { -1.0 };
        vector[place] += sign * (1.0 + (count as f32).ln());
    }
    vector
}

/// The word that stands for this one: the first of its group.
fn meaning(word: &str, meanings: &[Vec<String>]) -> String {
    let is_in = |group: &&Vec<String>| group.iter().any(|other| words::split(other).iter().any(|other| other == word));
    let stem = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    meanings.iter().find(is_in).and_then(|group| group.first()).map_or_else(|| stem(word), |first| words::split(first).join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str, meanings: &[Vec<String>]) -> f32 {
        let (a, b) = (vector(a, meanings), vector(b, meanings));
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        product(&a, &b) / (product(&a, &a).sqrt() * product(&b, &b).sqrt())
    }

    #[test]
    fn declared_words_mean_the_same() {
        let groups = [vec!["holiday".to_owned(), "vacation".to_owned(), "Urlaub".to_owned()]];
        assert!(cosine("How much vacation", "Holiday", &groups) > 0.5);
        assert!(cosine("vacation", "holiday", &[]).abs() < 0.5);
        assert_eq!(vector("Urlaub, Urlaub", &groups), vector("vacation vacation", &groups));
        assert_eq!(vector("a of", &groups), vec![0.0; LENGTH]);
    }
}
