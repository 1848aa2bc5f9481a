//! Untrusted JSON, with limits that are checked before it is parsed.

use serde_json::Value;

use crate::model::FailureKind;

/// Maximum number of values in one text. Each takes up to about 70 bytes in memory, but may take only two bytes in the text.
const MOST_VALUES: usize = 400_000;

/// Why a text is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonBodyError {
    /// More than [`MOST_VALUES`].
    #[error("JSON of more than {MOST_VALUES} values")]
    TooMany,
    /// Not JSON (RFC 8259), or nested deeper than 128 levels. A byte order mark, `NaN`, lone surrogates, invalid UTF-8 and text after the value are
    /// not JSON either. Of duplicate keys, the last one is used.
    #[error("broken JSON: {0}")]
    Broken(#[from] serde_json::Error),
}

impl JsonBodyError {
    /// The failure kind.
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            JsonBodyError::TooMany => FailureKind::TooLarge,
            JsonBodyError::Broken(_) => FailureKind::BadResponse,
        }
    }
}

/// Parses one JSON text.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Value, JsonBodyError> {
    if values(bytes) > MOST_VALUES {
        return Err(JsonBodyError::TooMany);
    }
    Ok(serde_json::from_slice(bytes)?)
}

/// An upper bound for the number of values in the text: one, plus one for each character outside strings that can start another value.
fn values(bytes: &[u8]) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (1, false, false);
    for &byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' | b':' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_value_and_lists_are_many() {
        assert_eq!(values(br#""[,,{\"[,:""#), 1);
        assert_eq!(values(b"[1,2,3]"), 4);
        let long = format!("[{}1]", "1,".repeat(MOST_VALUES));
        assert!(matches!(read_json(long.as_bytes()), Err(JsonBodyError::TooMany)));
        let text = format!("{:?}", ",".repeat(MOST_VALUES));
        assert!(read_json(text.as_bytes()).is_ok());
    }

    #[test]
    fn what_the_standard_leaves_open_has_one_outcome() {
        assert_eq!(read_json(br#"{"a": 1, "a": 2}"#).unwrap(), serde_json::json!({ "a": 2 }));
        for broken in [&b""[..], b"NaN", b"{} {}", b"\xef\xbb\xbf{}", br#""\ud800""#, b"\"\xff\"", b"\"\0\"", b"[1,]", b"01"] {
            assert!(matches!(read_json(broken), Err(JsonBodyError::Broken(_))), "{broken:?}");
        }
        assert!(read_json("[".repeat(127).as_bytes()).is_err());
        assert!(read_json(("[".repeat(127) + &"]".repeat(127)).as_bytes()).is_ok());
        assert!(read_json(("[".repeat(129) + &"]".repeat(129)).as_bytes()).is_err());
    }
}
