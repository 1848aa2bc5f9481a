//! What a file's first bytes say it is.

/// A kind of content, told by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Excel, Word, or another zip.
    Zip,
    /// Excel before 2007, or an Office file with a password.
    OldOffice,
    Sqlite,
    Pdf,
    Parquet,
    DuckDb,
    Image,
    /// Text, or something unknown.
    Other,
}

impl Content {
    /// Looks at the first bytes; a few hundred are enough.
    pub(super) fn of(bytes: &[u8]) -> Content {
        const MARKS: [(&[u8], Content); 6] = [
            (b"PK\x03\x04", Content::Zip),
            (b"PK\x05\x06", Content::Zip),
            (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", Content::OldOffice),
            (b"SQLite format 3\0", Content::Sqlite),
            (b"%PDF-", Content::Pdf),
            (b"PAR1", Content::Parquet),
        ];
        match MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)) {
            Some((_, Content::Pdf)) => Content::Pdf,
            _ if looks_like_text(bytes) => Content::Other, // a table whose first column is called PAR1 or BMI
            Some((_, content)) => *content,
            None if bytes.get(8..12) == Some(b"DUCK") => Content::DuckDb,
            None if imagesize::image_type(bytes).is_ok() => Content::Image,
            None => Content::Other,
        }
    }

    /// What to call it to people; `None` for [`Content::Other`].
    pub(super) fn as_file_kind(self) -> Option<&'static str> {
        match self {
            Content::Zip => Some("an Excel, Word or zip file"),
            Content::OldOffice => Some("an Office file of an old kind or with a password"),
            Content::Sqlite => Some("a SQLite database"),
            Content::Pdf => Some("a PDF document"),
            Content::Parquet => Some("a Parquet file"),
            Content::DuckDb => Some("a DuckDB database"),
            Content::Image => Some("a picture"),
            Content::Other => None,
        }
    }
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(512)).unwrap_or_default();
    let valid = match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(), // only cut inside a character
    };
    valid && !start.iter().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_whose_header_begins_like_a_picture_stays_a_text() {
        assert_eq!(Content::of(b"BMI,weight\n22,70\n"), Content::Other);
        assert_eq!(Content::of(b"PAR1,PAR2\n"), Content::Other);
        assert_eq!(Content::of(b"PAR1\x15\x04\x15"), Content::Parquet);
        assert_eq!(Content::of(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Content::Image);
    }
}
