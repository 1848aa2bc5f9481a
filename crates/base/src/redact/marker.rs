//! What is put in the place of a value: `<EMAIL_1>`, or `***` for a secret.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::PiiKind;

/// After so many different values of a run no more are told apart.
const MOST_NUMBERS: usize = 100_000;

/// The number of each value, by its hash, and the last number of each kind.
type MarkerNumbers = (HashMap<u64, usize>, HashMap<PiiKind, usize>);

/// The numbers that values were given, in the order of their first places. Values are kept as hashes only.
/// A clone counts on with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    given: Arc<Mutex<MarkerNumbers>>,
}

impl Numbers {
    /// The number of a value, the same each time.
    pub fn of(&self, kind: PiiKind, value: &str) -> usize {
        let mut hasher = DefaultHasher::new();
        (kind, normal(kind, value)).hash(&mut hasher);
        let key = hasher.finish();
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let (numbers, last) = &mut *given;
        if let Some(number) = numbers.get(&key) {
            return *number;
        }
        let last = last.entry(kind).or_insert(0);
        if numbers.len() >= MOST_NUMBERS {
            return *last;
        }
        *last += 1;
        numbers.insert(key, *last);
        *last
    }
}

/// The same number for `+49 151` and `+49151`, `A@b.de` and `a@b.de`.
fn normal(kind: PiiKind, value: &str) -> String {
    match kind {
        PiiKind::Phone | PiiKind::Card | PiiKind::Ssn => value.chars().filter(char::is_ascii_digit).collect(),
        PiiKind::Iban => value.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_uppercase(),
        PiiKind::Person => value.split_whitespace().collect::<Vec<_>>().join(" ").nfc().collect::<String>().to_lowercase(),
        PiiKind::Email | PiiKind::Ip => value.to_lowercase(),
        _ => value.to_owned(),
    }
}

/// What stands for a value.
pub(super) fn marker(kind: PiiKind, number: usize) -> String {
    format!("<{}_{number}>", kind.word())
}

static MASKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\*{3,}|<([A-Z]{1,16})_[0-9]{1,20}>").ok());

/// The places of markers and stars: what was masked before is left alone.
pub(super) fn masked(text: &str) -> Vec<Range<usize>> {
    let masks = MASKS.iter().flat_map(|masks| masks.captures_iter(text));
    let known = masks.filter(|mask| mask.get(1).is_none_or(|word| PiiKind::from_str(word.as_str()).is_ok()));
    known.filter_map(|mask| mask.get(0)).map(|mask| mask.range()).collect()
}
