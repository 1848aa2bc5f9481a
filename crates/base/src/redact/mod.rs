//! Masks secrets and personal data. Pure.
//!
//! [`Secrets`] takes the secrets of a run, and their parts (`parts`), out of texts that come from outside. [`Redactor`] knows the secrets and personal values of a run and finds them in any text; [`find_pii`] finds what has the shape of
//! personal data or of a secret without knowing it. Names and addresses in running text have no shape: mark their fields `pii`.
//! A personal value counts as a whole; if it is a name (`names`), each of its words counts too, a common word (`common`) only where it
//! stands as a name.
//!
//! How to add a shape: a file in `detect` with `find`, a variant of [`PiiKind`], a line in `detect::find_pii`, and lines in
//! `tests/labelled.rs` that it must find and must not find.

mod alike;
mod common;
mod detect;
mod encoded;
mod known;
mod lists;
mod marker;
mod names;
mod parts;
mod phones;
mod redactor;
mod seats;
mod secrets;
mod stream;
mod written;

pub use detect::find_pii;
pub use marker::values_behind;
pub use parts::keys_in_address;
pub use redactor::Redactor;
pub use seats::{each_seat, placed};
pub use secrets::{Secrets, is_recognised};
pub use stream::Stream;
pub(crate) use written::names_a_secret;
pub use written::{keys_in, keys_in_source, looks_like_key, parts_of_key, private_keys_in};

use std::ops::Range;

/// What was found; where places overlap, the later of these counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum PiiKind {
    /// A personal value that was made known: a name, an address.
    Person,
    /// A phone number.
    Phone,
    /// An IPv4 or IPv6 address that is no loopback address and no mask.
    Ip,
    /// An e-mail address.
    Email,
    /// A social security number of the United States.
    Ssn,
    /// A payment card number (Luhn).
    Card,
    /// An international bank account number (mod 97).
    Iban,
    /// An API key or token.
    Key,
    /// A JSON web token.
    Jwt,
    /// A PEM block.
    Pem,
    /// The user or token in a web address.
    Url,
}

has_word!(PiiKind);

impl PiiKind {
    /// In a sentence: "the text holds an e-mail address".
    pub fn described(self) -> &'static str {
        match self {
            PiiKind::Person => "a personal value",
            PiiKind::Phone => "a phone number",
            PiiKind::Ip => "an IP address",
            PiiKind::Email => "an e-mail address",
            PiiKind::Ssn => "a social security number",
            PiiKind::Card => "a card number",
            PiiKind::Iban => "a bank account number",
            PiiKind::Url => "a web address with a user or token in it",
            PiiKind::Key => "a key or token",
            PiiKind::Jwt => "a JSON web token",
            PiiKind::Pem => "a PEM block",
        }
    }
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection<K = PiiKind> {
    /// What is there.
    pub kind: K,
    /// Where, in bytes.
    pub range: Range<usize>,
}

/// Joins places that overlap: the graver kind counts, of equal ones that of the longer.
fn merged<K>(mut places: Vec<Detection<K>>, is_graver: impl Fn(&K, &K) -> bool) -> Vec<Detection<K>> {
    places.sort_by_key(|place| (place.range.start, std::cmp::Reverse(place.range.end)));
    let mut merged: Vec<Detection<K>> = Vec::with_capacity(places.len());
    for place in places {
        match merged.last_mut() {
            Some(last) if place.range.start < last.range.end => {
                last.range.end = last.range.end.max(place.range.end);
                if is_graver(&place.kind, &last.kind) {
                    last.kind = place.kind;
                }
            }
            _ => merged.push(place),
        }
    }
    merged
}

/// A piece of a text with other texts at these places, which are in order and apart.
fn replaced<T: AsRef<str>>(text: &str, piece: Range<usize>, others: impl IntoIterator<Item = (Range<usize>, T)>) -> String {
    let (mut out, mut at) = (String::with_capacity(piece.len()), piece.start);
    for (place, other) in others {
        out.push_str(text.get(at..place.start).unwrap_or_default());
        out.push_str(other.as_ref());
        at = place.end;
    }
    out.push_str(text.get(at..piece.end).unwrap_or_default());
    out
}

/// A place to mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonalPlace {
    /// Where, in bytes.
    pub range: Range<usize>,
    /// Of which kind the value is; `None`: a secret.
    pub kind: Option<PiiKind>,
    /// The number in its marker.
    pub number: usize,
    /// The personal value that it is, or is a word of, as it was made known; of what was found by its shape alone, the text itself.
    pub whole: String,
}

#[cfg(test)]
mod tests;
