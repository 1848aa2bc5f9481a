//! Different values and how often each occurs, exactly.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// How many of the most frequent values are kept.
const TOP: usize = 3;
/// The most bits of a hash by which values are parted.
const MOST_BITS: u32 = 32;

/// The different values of a column, or those of one part of them.
pub(super) struct Counts {
    part: FigurePart,
    values: Values,
}

/// Values are parted by the first bits of their hashes.
#[derive(Default)]
struct FigurePart {
    /// The same for all parts of a column. It is random, so that no file can be made whose values all have one hash.
    hasher: DefaultHashBuilder,
    bits: u32,
    /// Parts below this one were counted before.
    index: u64,
}

/// A number. Each has one form: whole numbers that a floating-point number does not hold exactly are whole, all others are not.
#[derive(Debug, Clone, Copy)]
pub(super) enum CountedNumber {
    Real(f64),
    Long(i64),
}

impl CountedNumber {
    /// A whole number.
    pub(super) fn of_whole(whole: i64) -> CountedNumber {
        if (whole as f64) as i128 == i128::from(whole) { CountedNumber::of_real(whole as f64) } else { CountedNumber::Long(whole) }
    }

    /// A number; -0.0 is 0.0.
    pub(super) fn of_real(number: f64) -> CountedNumber {
        CountedNumber::Real(number + 0.0)
    }

    fn key(self) -> (u64, bool) {
        match self {
            CountedNumber::Real(number) => (number.to_bits(), false),
            CountedNumber::Long(whole) => (whole as u64, true),
        }
    }

    fn order(self, other: CountedNumber) -> Ordering {
        // Beside a long whole number, a column has whole numbers alone.
        let whole = |figure: CountedNumber| match figure {
            CountedNumber::Real(number) => number as i128,
            CountedNumber::Long(whole) => i128::from(whole),
        };
        match (self, other) {
            (CountedNumber::Real(one), CountedNumber::Real(other)) => one.total_cmp(&other),
            (CountedNumber::Long(_), _) | (_, CountedNumber::Long(_)) => whole(self).cmp(&whole(other)),
        }
    }
}

impl PartialEq for CountedNumber {
    fn eq(&self, other: &CountedNumber) -> bool {
        self.key() == other.key()
    }
}

enum Values {
    Numbers(HashTable<NumberCount>),
    /// With the bytes of all texts.
    Texts(HashTable<TextCount>, Vec<u8>),
}

struct NumberCount {
    figure: CountedNumber,
    count: u64,
}

struct TextCount {
    start: usize,
    length: u32,
    count: u64,
}

impl TextCount {
    fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..).and_then(|rest| rest.get(..self.length as usize)).unwrap_or_default()
    }
}

impl FigurePart {
    fn holds(&self, hash: u64) -> bool {
        // The table itself uses the first seven and the last bits.
        let place = (hash >> 24) & u64::from(u32::MAX);
        self.bits == 0 || place >> (MOST_BITS - self.bits) == self.index
    }
}

impl Counts {
    /// Creates counts of numbers, or of texts, which are ordered by their bytes.
    pub(super) fn new(of_texts: bool) -> Counts {
        let values = if of_texts { Values::Texts(HashTable::new(), Vec::new()) } else { Values::Numbers(HashTable::new()) };
        Counts { part: FigurePart::default(), values }
    }

    /// Whether these are counts of texts.
    pub(super) fn are_of_texts(&self) -> bool {
        matches!(self.values, Values::Texts(..))
    }

    /// Counts a number. Counts of texts ignore it.
    pub(super) fn add_number(&mut self, figure: CountedNumber) {
        let Values::Numbers(table) = &mut self.values else { return };
        let hasher = &self.part.hasher;
        let hash = hasher.hash_one(figure.key());
        if self.part.holds(hash) {
            let entry = table.entry(hash, |known| known.figure == figure, |known| hasher.hash_one(known.figure.key()));
            entry.or_insert_with(|| NumberCount { figure, count: 0 }).into_mut().count += 1;
        }
    }

    /// Counts a text. Counts of numbers ignore it. Returns how many bytes were kept.
    pub(super) fn add_text(&mut self, text: &str) -> usize {
        let Values::Texts(table, bytes) = &mut self.values else { return 0 };
        let text = text.as_bytes();
        let hasher = &self.part.hasher;
        let hash = hasher.hash_one(text);
        if !self.part.holds(hash) {
            return 0;
        }
        match table.entry(hash, |known| known.of(bytes) == text, |known| hasher.hash_one(known.of(bytes))) {
            Entry::Occupied(mut known) => {
                known.get_mut().count += 1;
                0
            }
            Entry::Vacant(place) => {
                // A row has at most a few megabytes.
                place.insert(TextCount { start: bytes.len(), length: u32::try_from(text.len()).unwrap_or(u32::MAX), count: 1 });
                bytes.extend_from_slice(text);
                text.len()
            }
        }
    }

    /// What the values take in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            Values::Numbers(table) => table.allocation_size(),
            Values::Texts(table, bytes) => table.allocation_size() + bytes.capacity(),
        }
    }

    /// Halves the part that is counted: the values of the other half are dropped, and left to a later pass. `false` if it cannot be halved.
    pub(super) fn narrow(&mut self) -> bool {
        let is_one = match &self.values {
            Values::Numbers(table) => table.len() <= 1,
            Values::Texts(table, _) => table.len() <= 1,
        };
        if is_one || self.part.bits == MOST_BITS {
            return false;
        }
        self.part.bits += 1;
        self.part.index *= 2;
        let part = &self.part;
        match &mut self.values {
            Values::Numbers(table) => {
                table.retain(|known| part.holds(part.hasher.hash_one(known.figure.key())));
                table.shrink_to_fit(|known| part.hasher.hash_one(known.figure.key()));
            }
            Values::Texts(table, bytes) => {
                let mut kept = Vec::with_capacity(bytes.len() / 2);
                table.retain(|known| {
                    let text = known.of(bytes);
                    let is_kept = part.holds(part.hasher.hash_one(text));
                    if is_kept {
                        known.start = kept.len();
                        kept.extend_from_slice(text);
                    }
                    is_kept
                });
                kept.shrink_to_fit();
                *bytes = kept;
                table.shrink_to_fit(|known| part.hasher.hash_one(known.of(bytes)));
            }
        }
        true
    }

    /// Adds the part that was counted, and turns to the next one. `false` if it was the last.
    pub(super) fn merge_into(&mut self, merged: &mut Merged) -> bool {
        match &mut self.values {
            Values::Numbers(table) => {
                let found = |known: &NumberCount| CountedValue::Number(known.figure);
                merged.merge(table, |known| known.count, |one, other| one.figure.order(other.figure), found);
                table.clear();
            }
            Values::Texts(table, bytes) => {
                let found = |known: &TextCount| CountedValue::Text(String::from_utf8_lossy(known.of(bytes)).into_owned());
                merged.merge(table, |known| known.count, |one, other| known_order(one, other, bytes), found);
                table.clear();
                bytes.clear();
            }
        }
        self.part.index += 1;
        self.part.index < 1 << self.part.bits
    }
}

fn known_order(one: &TextCount, other: &TextCount, bytes: &[u8]) -> Ordering {
    one.of(bytes).cmp(other.of(bytes))
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CountedValue {
    Number(CountedNumber),
    Text(String),
}

impl CountedValue {
    fn order(&self, other: &CountedValue) -> Ordering {
        match (self, other) {
            (CountedValue::Number(one), CountedValue::Number(other)) => one.order(*other),
            (CountedValue::Text(one), CountedValue::Text(other)) => one.cmp(other),
            // A column has one kind.
            (CountedValue::Number(_), CountedValue::Text(_)) => Ordering::Less,
            (CountedValue::Text(_), CountedValue::Number(_)) => Ordering::Greater,
        }
    }
}

/// What is known of all parts counted so far.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Merged {
    pub(super) distinct: u64,
    pub(super) min: Option<CountedValue>,
    pub(super) max: Option<CountedValue>,
    /// The most frequent values, at most three; of equally frequent ones the smaller ones.
    pub(super) top: Vec<(CountedValue, u64)>,
}

impl Merged {
    fn merge<T>(
        &mut self,
        table: &HashTable<T>,
        count: fn(&T) -> u64,
        order: impl Fn(&T, &T) -> Ordering,
        found: impl Fn(&T) -> CountedValue,
    ) {
        self.distinct += table.len() as u64;
        let (mut least, mut most): (Option<&T>, Option<&T>) = (None, None);
        // The best one first.
        let mut top: Vec<&T> = Vec::with_capacity(TOP + 1);
        let better = |one: &T, other: &T| count(other).cmp(&count(one)).then_with(|| order(one, other));
        for known in table {
            if least.is_none_or(|least| order(known, least).is_lt()) {
                least = Some(known);
            }
            if most.is_none_or(|most| order(known, most).is_gt()) {
                most = Some(known);
            }
            if top.len() < TOP || top.last().is_some_and(|last| better(known, last).is_lt()) {
                let place = top.partition_point(|other| better(other, known).is_lt());
                top.insert(place, known);
                top.truncate(TOP);
            }
        }
        let (least, most) = (least.map(&found), most.map(&found));
        if let Some(least) = least
            && self.min.as_ref().is_none_or(|min| least.order(min).is_lt())
        {
            self.min = Some(least);
        }
        if let Some(most) = most
            && self.max.as_ref().is_none_or(|max| most.order(max).is_gt())
        {
            self.max = Some(most);
        }
        self.top.extend(top.into_iter().map(|known| (found(known), count(known))));
        self.top.sort_by(|(one, ones), (other, others)| others.cmp(ones).then_with(|| one.order(other)));
        self.top.truncate(TOP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the texts in as many passes as it takes when a pass is halved whenever it holds more than `most` values.
    fn passes(texts: &[&str], most: usize) -> (Merged, usize) {
        let mut counts = Counts::new(true);
        let mut merged = Merged::default();
        for pass in 1.. {
            for text in texts {
                counts.add_text(text);
                while matches!(&counts.values, Values::Texts(table, _) if table.len() > most) {
                    assert!(counts.narrow());
                }
            }
            if !counts.merge_into(&mut merged) {
                return (merged, pass);
            }
        }
        unreachable!()
    }

    #[test]
    fn parts_give_the_same_figures_as_all_at_once() {
        let texts: Vec<String> = (0..2_000_u32).map(|number| format!("t{}", number * number % 977)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (at_once, one) = passes(&texts, usize::MAX);
        let (in_parts, several) = passes(&texts, 40);
        assert_eq!(at_once, in_parts);
        assert_eq!(one, 1);
        assert!(several > 8, "{several}");
        assert_eq!(at_once.distinct, 489);
    }

    #[test]
    fn of_equally_frequent_values_the_smaller_ones_come_first() {
        let mut counts = Counts::new(false);
        let mut merged = Merged::default();
        for number in [3.0, -1.0, 0.0, -0.0, 7.0, 2.0, 7.0] {
            counts.add_number(CountedNumber::of_real(number));
        }
        assert!(!counts.merge_into(&mut merged));
        let of = |number| CountedValue::Number(CountedNumber::of_real(number));
        assert_eq!(merged.top, [(of(0.0), 2), (of(7.0), 2), (of(-1.0), 1)]);
        assert_eq!((merged.distinct, merged.min, merged.max), (5, Some(of(-1.0)), Some(of(7.0))));
    }
}
