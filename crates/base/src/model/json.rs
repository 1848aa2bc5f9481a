//! JSON from outside that has one meaning only.
//!
//! RFC 8259 leaves open what equal keys, long whole numbers and a byte order mark mean. Here: equal keys are an error, and so is a whole number
//! that 64 bits do not hold; a byte order mark is skipped. `NaN`, a number beyond a double, half a surrogate pair, text after the value, and
//! more than 127 levels are no JSON.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Most characters of a key or number that a message repeats.
const MOST_SHOWN: usize = 60;
/// Most levels of what is written here: those of a value, and of what it stands in.
const DEEPEST_OWN: usize = 256;

/// Why a text is not taken, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} (line {line}, column {column})")]
pub struct JsonError {
    /// One clause.
    pub what: String,
    /// From 1.
    pub line: usize,
    /// From 1, in bytes.
    pub column: usize,
}

/// Whether a field has nothing to say, so that it is left out of JSON.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads one JSON text that has one meaning.
///
/// # Errors
/// It is no JSON, or could mean several things.
pub fn read_json(text: &str) -> Result<Value, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some((at, number)) = long_number(text) {
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let what = format!("the whole number {} has more than 64 bits; write it as a text", shortened(number));
        return Err(JsonError { what, line: before.matches('\n').count() + 1, column: at - line_start + 1 });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = One.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let told = error.to_string();
        let what = told.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&told);
        let what = match what {
            "expected value" => "it is not valid JSON".to_owned(),
            _ if text.trim().is_empty() => "it is empty".to_owned(),
            "unexpected end of hex escape" | "lone leading surrogate in hex escape" => {
                "it is not valid JSON: a \\u escape is cut off, or only half of a surrogate pair; write the character itself".to_owned()
            }
            what if error.is_data() => what.to_owned(),
            what if error.is_eof() => format!("it is not valid JSON: it ends too early, {}", what.trim_start_matches("EOF ")),
            what => format!("it is not valid JSON: {what}"),
        };
        JsonError { what, line, column }
    })
}

/// The first whole number that neither an `i64` nor a `u64` holds, and where it begins.
fn long_number(text: &str) -> Option<(usize, &str)> {
    let bytes = text.as_bytes();
    let (mut at, mut is_text) = (0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if is_text => at += 1,
            b'"' => is_text = !is_text,
            b'-' | b'0'..=b'9' if !is_text => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let end = bytes[at..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| at + length);
                let number = &text[at..end];
                let is_whole = number.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                if is_whole && number.len() > 1 && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Some((at, number));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn shortened(text: &str) -> String {
    text.char_indices().nth(MOST_SHOWN).map_or_else(|| text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}

/// The JSON that a text begins with, if it has one meaning, and the length of it in bytes.
pub fn leading_json(text: &str) -> Option<(Value, usize)> {
    struct Leading(Value);
    impl<'de> Deserialize<'de> for Leading {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Leading, D::Error> {
            One.deserialize(deserializer).map(Leading)
        }
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Leading>();
    let Leading(value) = stream.next()?.ok()?;
    let length = stream.byte_offset();
    long_number(&text[..length]).is_none().then_some((value, length))
}

/// Builds a value; a key that an object has already is an error.
struct One;

impl<'de> DeserializeSeed<'de> for One {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for One {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is beyond what a double holds"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = vec![];
        while let Some(item) = from.next_element_seed(One)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let (mut map, mut known) = (Map::new(), HashSet::new());
        while let Some(key) = from.next_key::<String>()? {
            if !known.insert(key.clone()) {
                return Err(A::Error::custom(format!("the key {:?} is there twice", shortened(&key))));
            }
            map.insert(key, from.next_value_seed(One)?);
        }
        Ok(Value::Object(map))
    }
}

/// Reads what was written here: a value of a run has at most 128 levels, and what holds it some more than other readers of JSON take.
///
/// # Errors
/// It is no JSON, not of this type, or has more levels than anything that is written here.
pub fn read_own<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if deepest > DEEPEST_OWN {
        return Err(serde::de::Error::custom("too many levels"));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end().map(|()| value)
}

/// What kind of value it is, in the words of messages.
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_standard_leaves_open_has_one_outcome() {
        for (text, what, line) in [
            (r#"{"a": 1, "a": 1}"#, "the key \"a\" is there twice", 1),
            ("{\"a\": [\n{\"b\": 1, \"c\": 2, \"b\": 3}]}", "the key \"b\" is there twice", 2),
            (r#"{"a": 1, "\u0061": 2}"#, "the key \"a\" is there twice", 1),
            ("[1,\n 12345678901234567890123]", "the whole number 12345678901234567890123 has more than 64 bits; write it as a text", 2),
            ("-9223372036854775809", "the whole number -9223372036854775809 has more than 64 bits; write it as a text", 1),
            ("1e999", "it is not valid JSON: number out of range", 1),
            ("NaN", "it is not valid JSON", 1),
            ("{} {}", "it is not valid JSON: trailing characters", 1),
            (
                "\"\\ud800\"",
                "it is not valid JSON: a \\u escape is cut off, or only half of a surrogate pair; write the character itself",
                1,
            ),
            ("", "it is empty", 1),
            (" \n", "it is empty", 2),
            ("[1,2", "it is not valid JSON: it ends too early, while parsing a list", 1),
            ("[1,]", "it is not valid JSON: trailing comma", 1),
        ] {
            let error = read_json(text).expect_err(text);
            assert_eq!((error.what.as_str(), error.line), (what, line.max(usize::from(!text.is_empty()))), "{text}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read_json(&deep(127)).is_ok());
        assert_eq!(read_json(&deep(100_000)).unwrap_err().what, "it is not valid JSON: recursion limit exceeded");
    }

    #[test]
    fn what_has_one_meaning_is_read_as_others_read_it() {
        for text in [
            r#"{"b": [1, -2, 3.5, 1e30, true, null, "x\"\\1234567890123456789012"], "a": {"b": {}}}"#,
            "18446744073709551615",
            "-9223372036854775808",
            "-0",
            "-0.0",
            "0.1234567890123456789",
        ] {
            assert_eq!(read_json(text), Ok(serde_json::from_str(text).unwrap()), "{text}");
        }
        assert_eq!(read_json("\u{feff}[1]"), Ok(json!([1])));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_as_others_read_it_or_refused(text in r#"[\[\]{}",:0-9eE.\\ a\-]{0,30}"#) {
            match (read_json(&text), serde_json::from_str::<Value>(&text)) {
                (Ok(own), Ok(other)) => proptest::prop_assert_eq!(own, other),
                (Ok(own), Err(error)) => proptest::prop_assert!(false, "{} is {} here: {}", text, own, error),
                (Err(_), _) => {}
            }
        }
    }
}
