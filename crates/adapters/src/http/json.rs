//! Untrusted JSON, with limits that are checked before it is parsed.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
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
    /// Not JSON (RFC 8259), or nested deeper than 128 levels. `NaN`, lone surrogates and text after the value are not JSON either. Of duplicate keys,
    /// the last one is used.
    #[error("broken JSON: {0}")]
    Broken(#[from] serde_json::Error),
    /// Not text.
    #[error(transparent)]
    Text(#[from] TextError),
}

impl JsonBodyError {
    /// The failure kind.
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            JsonBodyError::TooMany => FailureKind::TooLarge,
            JsonBodyError::Broken(_) => FailureKind::BadResponse,
            JsonBodyError::Text(error) => error.kind(),
        }
    }
}

/// Why bytes cannot be read as text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TextError {
    /// The content type names an encoding that does not exist.
    #[error("text in the unknown encoding {0:?}")]
    Unknown(String),
    /// The bytes are not of the encoding.
    #[error("text that is not {0}")]
    Broken(&'static str),
}

impl TextError {
    /// The failure kind.
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            TextError::Unknown(_) => FailureKind::WrongType,
            TextError::Broken(_) => FailureKind::BadResponse,
        }
    }
}

/// The text in a body, without a byte order mark. The mark says which encoding it is, else the content type does, else it is UTF-8.
pub(crate) fn read_text<'b>(bytes: &'b [u8], charset: Option<&str>) -> Result<Cow<'b, str>, TextError> {
    let (encoding, mark) = match (Encoding::for_bom(bytes), charset) {
        (Some(marked), _) => marked,
        (None, None) => (UTF_8, 0),
        (None, Some(label)) => {
            (Encoding::for_label_no_replacement(label.as_bytes()).ok_or_else(|| TextError::Unknown(label.to_owned()))?, 0)
        }
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes.get(mark..).unwrap_or_default());
    text.ok_or(TextError::Broken(encoding.name()))
}

/// Parses one JSON text in UTF-8 or UTF-16.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Value, JsonBodyError> {
    read_json_in(bytes, None)
}

/// The same of a body whose content type may name an encoding.
pub(crate) fn read_json_in(bytes: &[u8], charset: Option<&str>) -> Result<Value, JsonBodyError> {
    // JSON begins with a character of ASCII, so its first bytes tell UTF-16 without a mark.
    let told = match bytes {
        _ if bytes.len() % 2 == 1 => charset,
        [0, first, ..] if *first != 0 => Some(UTF_16BE.name()),
        [first, 0, ..] if *first != 0 => Some(UTF_16LE.name()),
        _ => charset,
    };
    let text = read_text(bytes, told)?;
    if values(text.as_bytes()) > MOST_VALUES {
        return Err(JsonBodyError::TooMany);
    }
    Ok(serde_json::from_str(&text)?)
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
        for broken in [&b""[..], b"NaN", b"{} {}", br#""\ud800""#, b"\"\0\"", b"[1,]", b"01"] {
            assert!(matches!(read_json(broken), Err(JsonBodyError::Broken(_))), "{broken:?}");
        }
        assert!(matches!(read_json(b"\"\xff\""), Err(JsonBodyError::Text(TextError::Broken("UTF-8")))));
        assert!(read_json("[".repeat(127).as_bytes()).is_err());
        assert!(read_json(("[".repeat(127) + &"]".repeat(127)).as_bytes()).is_ok());
        assert!(read_json(("[".repeat(129) + &"]".repeat(129)).as_bytes()).is_err());
    }

    #[test]
    fn json_is_read_in_every_encoding_that_is_told() {
        let text = "{\"city\": \"Zürich\"}";
        let utf_16 = |order: fn(u16) -> [u8; 2], mark: bool| {
            mark.then_some('\u{feff}')
                .into_iter()
                .chain(text.chars())
                .collect::<String>()
                .encode_utf16()
                .flat_map(order)
                .collect::<Vec<u8>>()
        };
        let latin: Vec<u8> = text.chars().map(|c| u32::from(c) as u8).collect();
        for (name, bytes, charset) in [
            ("UTF-8", text.as_bytes().to_vec(), None),
            ("UTF-8 with a mark", [b"\xef\xbb\xbf", text.as_bytes()].concat(), None),
            ("UTF-8 with a mark, told otherwise", [b"\xef\xbb\xbf", text.as_bytes()].concat(), Some("iso-8859-1")),
            ("UTF-16LE with a mark", utf_16(u16::to_le_bytes, true), None),
            ("UTF-16BE with a mark", utf_16(u16::to_be_bytes, true), Some("utf-16")),
            ("UTF-16LE", utf_16(u16::to_le_bytes, false), None),
            ("UTF-16BE", utf_16(u16::to_be_bytes, false), Some("utf-8")),
            ("Latin 1", latin.clone(), Some("ISO-8859-1")),
            ("windows-1252", latin.clone(), Some("windows-1252")),
        ] {
            assert_eq!(read_json_in(&bytes, charset).unwrap(), serde_json::json!({ "city": "Zürich" }), "{name}");
        }
        assert!(matches!(read_json_in(&latin, None), Err(JsonBodyError::Text(TextError::Broken("UTF-8")))));
        assert!(matches!(read_json_in(text.as_bytes(), Some("utf-99")), Err(JsonBodyError::Text(TextError::Unknown(_)))));
        assert_eq!(read_text(b"\xff\xfeh\0i\0", None).unwrap(), "hi");
    }
}
