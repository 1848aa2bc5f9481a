//! Known phone numbers in the ways that people write them: what counts are the digits at the end.

use std::ops::Range;

use super::PiiKind;
use super::known::PersonalValue;

/// So many digits at the end are enough to know a number by.
const FEWEST: usize = 7;
/// No phone number has more digits (E.164 has 15), with `00` before it.
const MOST: usize = 17;

/// The digits of known numbers, without zeros before them, each with its owner.
#[derive(Debug, Clone, Default)]
pub(super) struct Phones(Vec<(String, usize)>);

impl Phones {
    /// Adds the values that are phone numbers; the place of the first is `first`.
    pub fn add(&mut self, values: &[PersonalValue], first: usize) {
        let digits = |(owner, value): (usize, &PersonalValue)| {
            let digits: String = groups(&value.text).flatten().map(|group| value.text[group].to_owned()).collect();
            let digits = digits.trim_start_matches('0').to_owned();
            (is_phone(value) && (FEWEST..=MOST).contains(&digits.len())).then_some((digits, first + owner))
        };
        self.0.extend(values.iter().enumerate().filter_map(digits));
    }

    /// Where the numbers stand, with their owners; places may overlap.
    pub fn find(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let mut found = vec![];
        if self.0.is_empty() {
            return found;
        }
        for run in groups(text) {
            let mut first = 0;
            while first < run.len() {
                if let Some((count, owner)) = self.longest(text, &run[first..]) {
                    // With the marks before its first digit.
                    let start = text[..run[first].start].trim_end_matches(['(', '+']).len();
                    found.push((start..run[first + count - 1].end, owner));
                    first += count;
                } else {
                    first += 1;
                }
            }
        }
        found
    }

    /// The most of these groups, from the first, that are a known number.
    fn longest(&self, text: &str, groups: &[Range<usize>]) -> Option<(usize, usize)> {
        let (mut digits, mut longest) = (String::new(), None);
        for (at, group) in groups.iter().enumerate() {
            digits.push_str(&text[group.clone()]);
            if digits.len() > MOST {
                break;
            }
            let own = digits.trim_start_matches('0');
            let is_it = |known: &str| own.len() >= FEWEST && (known.ends_with(own) || own.ends_with(known));
            if let Some((_, owner)) = self.0.iter().find(|(known, _)| is_it(known)) {
                longest = Some((at + 1, *owner));
            }
        }
        longest
    }
}

/// Whether a value is a phone number: it has the shape of one, or is written with nothing but digits and marks and begins as one does.
fn is_phone(value: &PersonalValue) -> bool {
    let is_written_so = |text: &str| text.starts_with(['+', '0', '(']) && text.chars().all(|c| c.is_ascii_digit() || is_mark(c));
    value.kind == PiiKind::Phone || value.kind == PiiKind::Person && is_written_so(&value.text)
}

fn is_mark(c: char) -> bool {
    matches!(c, ' ' | '+' | '(' | ')' | '-' | '.' | '/' | '\u{a0}' | '\u{202f}' | '\u{2010}'..='\u{2013}')
}

/// The digits that stand together but for marks, by their groups. A zero in brackets, as in `+49 (0)151`, belongs to none; nor does what
/// a letter is beside.
fn groups(text: &str) -> impl Iterator<Item = Vec<Range<usize>>> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut run: Vec<Range<usize>> = vec![];
        while at < bytes.len() {
            let end = at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if end > at {
                let is_zero = &bytes[at..end] == b"0" && bytes.get(at.wrapping_sub(1)) == Some(&b'(') && bytes.get(end) == Some(&b')');
                let beside = [text[..at].chars().next_back(), text[end..].chars().next()];
                if !is_zero && !beside.into_iter().flatten().any(char::is_alphanumeric) {
                    run.push(at..end);
                }
                at = end;
                continue;
            }
            let Some(c) = text[at..].chars().next() else { break };
            at += c.len_utf8();
            if !is_mark(c) && !run.is_empty() {
                return Some(run);
            }
        }
        (!run.is_empty()).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use crate::redact::Redactor;

    #[test]
    fn a_known_number_is_found_however_it_is_written() {
        let redactor = Redactor::new([], [&json!({ "phone": "+49 151 2345 6789" })]);
        for form in [
            "+49 151 2345 6789",
            "(49)151-2345-6789",
            "0151 2345 6789",
            "151 2345 6789",
            "0049.151.2345.6789",
            "+49 (0)151/23456789",
            "15123456789",
            "2345-6789",
            "０１５１　２３４５　６７８９",
            "0151\u{a0}2345\u{a0}6789",
        ] {
            let masked = redactor.redact(&format!("Call {form}, please."));
            assert_eq!(masked, "Call <PHONE_1>, please.", "{form}");
        }
        for other in ["Call 456789 now", "Order 2345 6788", "a15123456789"] {
            assert_eq!(redactor.redact(other), other);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_grouping_of_the_digits_is_the_number(gaps in prop::collection::vec(prop::sample::select(vec!["", " ", "-", ".", "/", " (", ") "]), 10)) {
            let redactor = Redactor::new([], [&json!("+49 151 2345 6789")]);
            let number: String = "15123456789".chars().enumerate().map(|(at, c)| format!("{}{c}", at.checked_sub(1).map_or("", |at| gaps[at]))).collect();
            let masked = redactor.redact(&format!("x {number} y"));
            prop_assert!(!masked.contains(|c: char| c.is_ascii_digit() && c != '1') , "{} {}", number, masked);
        }
    }
}
