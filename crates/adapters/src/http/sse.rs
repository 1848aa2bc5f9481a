//! Server-sent events (WHATWG HTML, section 9.2.6), decoded chunk by chunk within limits.
//!
//! This is not a library because a stream may be hostile: the line length is bounded while the line arrives, each byte is examined once however small
//! the chunks are, invalid UTF-8 and NUL are errors, and a comment produces no event, so that it does not count as progress.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseEvent {
    /// Its `event` field; empty if there is none.
    pub(crate) event: String,
    /// Its `data` lines, joined by line breaks; never empty.
    pub(crate) data: String,
}

/// The position and retry time that a stream reports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseMarks {
    /// The last `id`.
    pub(crate) last_id: Option<String>,
    /// The last `retry`, in milliseconds.
    pub(crate) retry_ms: Option<u64>,
}

/// Why a stream cannot be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SseError {
    /// A line exceeds the limit.
    LongLine,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A NUL character.
    Nul,
}

/// Decodes events from chunks of bytes.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    longest_line: usize,
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// Where the stream can be resumed, and how long to wait before that, as far as the stream was read.
    pub(crate) marks: SseMarks,
    is_after_cr: bool,
    has_lines: bool,
}

impl SseDecoder {
    /// Creates a decoder that accepts lines of at most `longest_line` bytes.
    pub(crate) fn new(longest_line: usize) -> SseDecoder {
        SseDecoder { longest_line, ..SseDecoder::default() }
    }

    /// Decodes the next bytes and adds the completed events to `events`. An incomplete event at the end of the stream is dropped.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.is_after_cr) && first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + part.len() > self.longest_line {
                return Err(SseError::LongLine);
            }
            self.line.extend_from_slice(part);
            if end.is_some() {
                self.is_after_cr = rest.first() == Some(&b'\r');
                self.end_line(events)?;
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&bytes).map_err(|_| SseError::NotUtf8)?;
        if line.contains('\0') {
            return Err(SseError::Nul);
        }
        if !std::mem::replace(&mut self.has_lines, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) && !event.data.is_empty() {
                events.push(event);
            }
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "id" => self.marks.last_id = Some(value.to_owned()),
            "retry" if value.len() < 10 && value.bytes().all(|byte| byte.is_ascii_digit()) => self.marks.retry_ms = value.parse().ok(),
            // Comments (an empty field name) and unknown fields.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<SseEvent>, SseError> {
        let mut decoder = SseDecoder::new(64);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece, &mut events)?;
        }
        Ok(events)
    }

    fn event(event: &str, data: &str) -> SseEvent {
        SseEvent { event: event.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_have_a_name_and_joined_data_lines() {
        let text = b"event: delta\ndata: one\ndata:two\n\n: comment\nid: 3\nretry: 4\nwhat\n\ndata: [DONE]\n\n";
        assert_eq!(read(&[text]).unwrap(), [event("delta", "one\ntwo"), event("", "[DONE]")]);
    }

    #[test]
    fn all_line_ends_and_a_byte_order_mark_are_read() {
        assert_eq!(
            read(&["\u{feff}data: a\r\n\r\ndata: b\r\rdata: c\n\n".as_bytes()]).unwrap(),
            [event("", "a"), event("", "b"), event("", "c")]
        );
    }

    #[test]
    fn an_event_without_data_or_without_its_empty_line_is_none() {
        assert_eq!(read(&[b"event: x\n\ndata\n\ndata:\n\ndata: cut\n"]).unwrap(), []);
    }

    #[test]
    fn long_lines_broken_characters_and_nul_are_faults() {
        assert_eq!(read(&[b"data: 0123456789", &[b'x'; 60]]), Err(SseError::LongLine));
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
        assert_eq!(read(&[b"data: \xc3\ndata: \xa9\n\n"]), Err(SseError::NotUtf8));
        assert_eq!(read(&[b"data: a\0b\n\n"]), Err(SseError::Nul));
    }

    proptest! {
        #[test]
        fn any_cutting_into_pieces_gives_the_same_events(
            text in "((data|event)?:?( |é|🎈|x){0,4}(\r\n|\n|\r)){0,20}",
            cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.push(0);
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = read(&[&bytes]);
        }
    }
}
