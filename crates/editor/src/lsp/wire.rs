//! Messages on a stream: headers, an empty line, JSON. On any input, reading continues or ends; it never allocates more memory than a
//! message may have.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value, json};

/// Maximum size of one message in bytes: a file of 1 MiB with each character escaped, and the rest of the message.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of one header line in bytes.
const MOST_HEADER: u64 = 4096;

/// The content read from the stream.
#[derive(Debug, PartialEq)]
pub enum EditorMessage {
    /// A message.
    Message(Value),
    /// Invalid input; reading continues after it.
    Garbage(String),
}

/// Reads the next message; `None` at the end of the stream.
pub fn read(stream: &mut impl BufRead) -> io::Result<Option<EditorMessage>> {
    let mut length = None;
    loop {
        let mut line = vec![];
        if stream.by_ref().take(MOST_HEADER).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        match (line.trim(), length) {
            ("", Some(length)) => return body(stream, length).map(Some),
            ("", None) => {}
            (header, _) => match header.split_once(':') {
                Some((name, value)) if name.trim().eq_ignore_ascii_case("content-length") => match value.trim().parse::<u64>() {
                    Ok(bytes) => length = Some(bytes),
                    Err(_) => return Ok(Some(EditorMessage::Garbage("Content-Length is no number".to_owned()))),
                },
                Some(_) => {}
                None => return Ok(Some(EditorMessage::Garbage("a line that is no header".to_owned()))),
            },
        }
    }
}

fn body(stream: &mut impl BufRead, length: u64) -> io::Result<EditorMessage> {
    if length > MOST_BYTES as u64 {
        io::copy(&mut stream.by_ref().take(length), &mut io::sink())?;
        return Ok(EditorMessage::Garbage("the message is larger than 16 MiB".to_owned()));
    }
    let mut bytes = vec![];
    stream.by_ref().take(length).read_to_end(&mut bytes)?;
    Ok(match serde_json::from_slice(&bytes) {
        Ok(message) => EditorMessage::Message(message),
        Err(_) => EditorMessage::Garbage("the message is not JSON".to_owned()),
    })
}

/// Writes a message.
pub fn write(stream: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(stream, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    stream.flush()
}

/// Returns the reply to input that cannot be parsed.
pub fn parse_error(why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": why } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<EditorMessage> {
        let mut stream = bytes;
        std::iter::from_fn(|| read(&mut stream).unwrap()).collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let mut bytes = vec![];
        let messages = [json!({ "id": 1, "text": "ä😀" }), json!([])];
        messages.iter().for_each(|message| write(&mut bytes, message).unwrap());
        assert_eq!(all(&bytes), messages.map(EditorMessage::Message));
    }

    #[test]
    fn reading_goes_on_behind_garbage() {
        let good = "content-length: 4\r\nContent-Type: x\r\n\r\ntrue";
        for bad in ["hello\n", "Content-Length: many\r\n", "Content-Length: 3\r\n\r\n{{{", "\r\n\u{0}\u{1}\n"] {
            let found = all(format!("{bad}{good}").as_bytes());
            assert_eq!(found.last(), Some(&EditorMessage::Message(json!(true))), "{bad:?}");
            assert!(matches!(found.first(), Some(EditorMessage::Garbage(_))), "{bad:?}");
        }
    }

    #[test]
    fn a_length_that_is_not_true_costs_no_memory() {
        assert_eq!(all(b"Content-Length: 18446744073709551615\r\n\r\nx").len(), 1);
        assert_eq!(all(b"Content-Length: 900\r\n\r\n{}").len(), 1);
        assert_eq!(all(&vec![b'x'; 100_000]).len(), 25);
    }
}
