//! The value of a cell, and how it is handed from the process that reads a file.

use std::borrow::Cow;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The value of a cell, for any SQL engine.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Datum<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Text(Cow<'a, str>),
    /// A cell that is not what its column is declared to be: its line or row, and what is wrong, as a sentence.
    Unreadable {
        row: u64,
        why: Cow<'a, str>,
    },
}

impl Datum<'_> {
    /// What is wrong with the cell, if it is not what its column is declared to be.
    pub(super) fn unreadable(&self) -> Option<&str> {
        if let Datum::Unreadable { why, .. } = self { Some(why) } else { None }
    }
}

impl Serialize for Datum<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Datum::Null => to.serialize_unit(),
            Datum::Boolean(value) => to.serialize_bool(*value),
            Datum::Integer(value) => to.serialize_i64(*value),
            Datum::Number(value) => to.serialize_f64(*value),
            Datum::Text(text) => to.serialize_str(text),
            Datum::Unreadable { row, why } => (row, why).serialize(to),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Datum<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Datum<'a>, D::Error> {
        from.deserialize_any(DatumVisitor)
    }
}

/// Reads what [`Datum`] writes: a whole number of type `Number` has a fraction, as in `5.0`.
struct DatumVisitor;

impl<'de> Visitor<'de> for DatumVisitor {
    type Value = Datum<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value of a table")
    }

    fn visit_unit<E>(self) -> Result<Datum<'de>, E> {
        Ok(Datum::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Datum<'de>, E> {
        Ok(Datum::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Datum<'de>, E> {
        Ok(Datum::Integer(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Datum<'de>, E> {
        i64::try_from(value).map(Datum::Integer).map_err(E::custom)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Datum<'de>, E> {
        Ok(Datum::Number(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Datum<'de>, E> {
        Ok(Datum::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Datum<'de>, E> {
        Ok(Datum::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Datum<'de>, A::Error> {
        let (row, why) = (parts.next_element::<u64>()?, parts.next_element::<String>()?);
        Ok(Datum::Unreadable { row: row.unwrap_or_default(), why: Cow::Owned(why.unwrap_or_default()) })
    }
}
