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
    pub fn number(&self, kind: PiiKind, value: &str) -> usize {
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

/// The values behind the markers of a masked text that its author made known (`<PERSON_1>`), told from what stands around them. Where that cannot
/// be told, the whole text.
pub fn values_behind(text: &str, masked_text: &str) -> Vec<String> {
    let mut values = vec![];
    let places = masked(masked_text);
    let Some(first) = places.first() else { return values };
    let whole = || vec![text.to_owned()];
    let Some(mut rest) = text.strip_prefix(&masked_text[..first.start]) else { return whole() };
    for (number, place) in places.iter().enumerate() {
        let after = &masked_text[place.end..places.get(number + 1).map_or(masked_text.len(), |next| next.start)];
        let is_last = number + 1 == places.len();
        let value = match (is_last, after.is_empty()) {
            (true, _) => rest.strip_suffix(after).map(|value| (value, "")),
            (false, true) => None,
            (false, false) => rest.split_once(after),
        };
        let Some((value, more)) = value else { return whole() };
        let marker = &masked_text[place.clone()];
        if marker.starts_with(&format!("<{}_", PiiKind::Person.word())) && value != marker {
            values.push(value.to_owned());
        }
        rest = more;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::values_behind;

    #[test]
    fn values_are_told_from_what_stands_around_their_markers() {
        let behind = |text: &str, masked: &str| values_behind(text, masked);
        assert_eq!(behind("I am Ana Lima, mail a@b.de", "I am <PERSON_1>, mail <EMAIL_1>"), ["Ana Lima"]);
        assert_eq!(behind("Ana and Bo", "<PERSON_1> and <PERSON_2>"), ["Ana", "Bo"]);
        assert_eq!(behind("glaucoma", "<PERSON_1>"), ["glaucoma"]);
        assert!(behind("Hello", "Hello").is_empty() && behind("see <PERSON_1>", "see <PERSON_1>").is_empty());
        assert!(behind("my key is sk-1", "my key is ***").is_empty());
        // What cannot be told is hidden as a whole.
        assert_eq!(behind("AnaBo", "<PERSON_1><PERSON_2>"), ["AnaBo"]);
        assert_eq!(behind("other", "I am <PERSON_1>"), ["other"]);
    }
}
