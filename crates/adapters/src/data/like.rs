//! `like` and the collation `nocase` for letters of all languages. SQLite's own know A–Z.

use std::cmp::Ordering;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

/// The longest pattern, in bytes: its length times that of the text is the work to do.
pub(super) const MOST_PATTERN: usize = 256;

/// Adds both.
pub(super) fn add(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("like", 2, flags, |context| like(context, None))?;
    connection.create_scalar_function("like", 3, flags, |context| {
        let escape = text(context.get_raw(2));
        let mut letters = escape.iter().flat_map(|escape| escape.chars());
        match (escape.is_some(), letters.next(), letters.next()) {
            (false, ..) => Ok(None),
            (true, Some(escape), None) => like(context, Some(escape)),
            _ => Err(Error::UserFunctionError("ESCAPE expression must be a single character".into())),
        }
    })?;
    set_nocase(connection, true)
}

/// Sets what `nocase` orders by. The indexes of a SQLite file are in the order of SQLite's own, of A–Z.
pub(super) fn set_nocase(connection: &Connection, for_all_letters: bool) -> rusqlite::Result<()> {
    match for_all_letters {
        true => connection.create_collation("NOCASE", order),
        false => connection.create_collation("NOCASE", |one, other| one.to_ascii_lowercase().cmp(&other.to_ascii_lowercase())),
    }
}

fn order(one: &str, other: &str) -> Ordering {
    one.chars().map(folded).cmp(other.chars().map(folded))
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(whole) => Some(whole.to_string()),
        ValueRef::Real(number) => Some(format!("{number:?}")),
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text).into_owned()),
    }
}

/// `text like pattern`, which SQLite calls as `like(pattern, text)`.
fn like(context: &Context<'_>, escape: Option<char>) -> rusqlite::Result<Option<bool>> {
    let (Some(pattern), Some(text)) = (text(context.get_raw(0)), text(context.get_raw(1))) else { return Ok(None) };
    if pattern.len() > MOST_PATTERN {
        return Err(Error::UserFunctionError("LIKE or GLOB pattern too complex".into()));
    }
    Ok(Some(fits(&parts(&pattern, escape), &text)))
}

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq)]
enum LikePart {
    /// `%`
    Any,
    /// `_`
    One,
    Letter(char),
}

fn parts(pattern: &str, escape: Option<char>) -> Vec<LikePart> {
    let mut letters = pattern.chars();
    let mut parts = vec![];
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            _ if Some(letter) == escape => letters.next().map_or(LikePart::Letter(letter), |next| LikePart::Letter(folded(next))),
            '%' => LikePart::Any,
            '_' => LikePart::One,
            letter => LikePart::Letter(folded(letter)),
        });
    }
    parts
}

/// Goes back to the last `%` only, so the work is bounded by the product of both lengths.
fn fits(parts: &[LikePart], text: &str) -> bool {
    let letters: Vec<char> = text.chars().map(folded).collect();
    let (mut part, mut letter) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while letter < letters.len() {
        match parts.get(part) {
            Some(LikePart::Any) => {
                last = Some((part, letter));
                part += 1;
            }
            Some(LikePart::One) => (part, letter) = (part + 1, letter + 1),
            Some(LikePart::Letter(wanted)) if Some(wanted) == letters.get(letter) => (part, letter) = (part + 1, letter + 1),
            Some(LikePart::Letter(_)) | None => {
                let Some((any, taken)) = last else { return false };
                last = Some((any, taken + 1));
                (part, letter) = (any + 1, taken + 1);
            }
        }
    }
    parts.iter().skip(part).all(|part| *part == LikePart::Any)
}

/// A letter without its case: `É` and `é`, `Σ`, `σ` and `ς` are one.
fn folded(letter: char) -> char {
    let single = |mut letters: std::char::ToUppercase| letters.next().filter(|_| letters.next().is_none());
    let upper = single(letter.to_uppercase()).unwrap_or(letter);
    let mut lower = upper.to_lowercase();
    lower.next().filter(|_| lower.next().is_none()).unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Option<i64> {
        let connection = Connection::open_in_memory().unwrap();
        add(&connection).unwrap();
        connection.query_row(&format!("select {query}"), [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn letters_of_all_languages_are_alike_in_both_cases() {
        for (query, expected) in [
            ("'MÜLLER' like 'mü%'", Some(1)),
            ("'Éva' like 'éVA'", Some(1)),
            ("'ЖУК' like '%ук'", Some(1)),
            ("'ΟΔΟΣ' like 'οδος'", Some(1)),
            ("'ẞ' like 'ß'", Some(1)),
            ("'Ana' like 'an_'", Some(1)),
            ("'Ana' like 'a'", Some(0)),
            ("'aXbXc' like 'a%b%c'", Some(1)),
            ("'' like '%'", Some(1)),
            ("'50%' like '50\\%' escape '\\'", Some(1)),
            ("'505' like '50\\%' escape '\\'", Some(0)),
            ("'müller' not like 'MÜLLER'", Some(0)),
            ("12.5 like '12%'", Some(1)),
            ("null like 'a'", None),
            ("'É' = 'é' collate nocase", Some(1)),
            ("'É' = 'e' collate nocase", Some(0)),
            ("'Ä' < 'ö' collate nocase", Some(1)),
        ] {
            assert_eq!(asked(query), expected, "{query}");
        }
    }

    #[test]
    fn a_pattern_that_is_made_to_take_long_ends() {
        let text = "a".repeat(100_000);
        assert_eq!(asked(&format!("'{text}' like '{}b'", "%a".repeat(120))), Some(0));
        let connection = Connection::open_in_memory().unwrap();
        add(&connection).unwrap();
        let failed = connection.query_row(&format!("select 'a' like '{}'", "%a".repeat(200)), [], |row| row.get::<_, i64>(0));
        assert!(failed.unwrap_err().to_string().contains("too complex"));
    }
}
