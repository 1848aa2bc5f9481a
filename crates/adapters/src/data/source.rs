//! Opens data files, detects their content by its first bytes, and decodes text. Only regular files are opened, sizes are limited, and encodings are
//! never guessed.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

use encoding_rs::{Encoding, UTF_8};

use super::super::files;
use super::super::picture_kind::picture_kind;
use super::sentence::{file_name, internal, too_large, unavailable, wrong_type};
use crate::event::Failure;
use crate::model::TextEncoding;

/// Detects whether a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    /// Size in bytes.
    pub(super) size: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp { modified: metadata.modified().ok(), size: metadata.len() }
    }

    /// The current stamp of the file; `None` if it cannot be read.
    pub(super) fn now(path: &Path) -> Option<Stamp> {
        std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
    }

    /// Fails if the open file has changed since.
    pub(super) fn check(self, path: &Path, file: &File) -> Result<(), Failure> {
        let now = file.metadata().map_err(|error| cannot_open(path, &error))?;
        if Stamp::of(&now) == self {
            Ok(())
        } else {
            Err(unavailable(format!("{} changed while it was read. Try again.", file_name(path))))
        }
    }
}

/// Opens a file. Only regular files are accepted, because a pipe or device could block or never end.
pub(super) fn open(path: &Path) -> Result<(File, Stamp), Failure> {
    let file = files::open(path).map_err(|error| cannot_open(path, &error))?;
    let metadata = file.metadata().map_err(|error| cannot_open(path, &error))?;
    Ok((file, Stamp::of(&metadata)))
}

/// Checks that the first bytes of a file match its extension. `what` ends the message of the failure.
pub(super) fn checked(path: &Path, content: Content, what: &str) -> Result<Stamp, Failure> {
    let (found, stamp) = content_of(path)?;
    if found == content { Ok(stamp) } else { Err(wrong_type(format!("{} is not {what}.", file_name(path)))) }
}

/// The content of a file, by its first bytes.
pub(super) fn content_of(path: &Path) -> Result<(Content, Stamp), Failure> {
    let (file, stamp) = open(path)?;
    let mut start = Vec::new();
    file.take(512).read_to_end(&mut start).map_err(|error| cannot_open(path, &error))?;
    Ok((Content::of(&start), stamp))
}

/// The absolute path as text, so that it is never taken for a URI with options.
pub(super) fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path).map_err(|error| cannot_open(path, &error))?;
    path.into_os_string().into_string().map_err(|path| {
        let file = file_name(Path::new(&path));
        unavailable(format!("The path of {file} is not UTF-8. Rename the file or its folder."))
    })
}

/// Reads the whole file. Fails if it has more than this many bytes.
pub(super) fn read_all(path: &Path, most_bytes: u64) -> Result<(Vec<u8>, Stamp), Failure> {
    let (file, stamp) = open(path)?;
    Ok((read_rest(path, file, stamp, most_bytes)?, stamp))
}

/// Reads an open file to its end, like [`read_all`].
pub(super) fn read_rest(path: &Path, file: File, stamp: Stamp, most_bytes: u64) -> Result<Vec<u8>, Failure> {
    if stamp.size > most_bytes {
        return Err(larger_than(path, most_bytes));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0));
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(|error| cannot_open(path, &error))?;
    if bytes.len() as u64 > most_bytes { Err(larger_than(path, most_bytes)) } else { Ok(bytes) }
}

/// The failure of a file that is too large.
pub(super) fn larger_than(path: &Path, most_bytes: u64) -> Failure {
    too_large(format!(
        "{} is larger than {} MB, the most that is read at once. Split it, or put the table into a SQLite file.",
        file_name(path),
        most_bytes >> 20
    ))
}

/// The failure of a file that cannot be opened or read.
pub(super) fn cannot_open(path: &Path, error: &std::io::Error) -> Failure {
    let shown = path.display();
    let sentence = match error.kind() {
        ErrorKind::NotFound => {
            format!("The file {shown} does not exist{}. Check the path, or put the file there.", super::super::files::looked_in(path))
        }
        ErrorKind::IsADirectory => format!("{shown} is a folder, not a file."),
        ErrorKind::InvalidInput => format!("{shown} is not a regular file."),
        ErrorKind::PermissionDenied => format!("You are not allowed to read the file {shown}. Change its permissions."),
        _ => format!("The file {shown} cannot be read: {error}."),
    };
    unavailable(sentence)
}

/// Decodes a text: UTF-8 (with or without a byte order mark), or UTF-16 with one. Anything else fails with `wrong_type`, because a wrong guess would
/// silently change names.
pub(super) fn decode(path: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes).filter(|_| is_utf16(&bytes)) {
        let text = encoding.decode_without_bom_handling_and_without_replacement(bytes.get(mark..).unwrap_or_default());
        let damaged = || format!("{} begins like UTF-16 text but is damaged. Save it with the encoding UTF-8.", file_name(path));
        return text.filter(|text| !text.contains('\0')).map(Cow::into_owned).ok_or_else(|| wrong_type(damaged()));
    }
    if let Some(what) = Content::of(&bytes).as_file_kind() {
        return Err(not_a_text(path, what));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        not_utf8(path, line as u64)
    })?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    if text.contains('\0') {
        return Err(with_zeros(path));
    }
    Ok(text)
}

/// Whether a text begins with the mark of UTF-16.
pub(super) fn is_utf16(bytes: &[u8]) -> bool {
    Encoding::for_bom(bytes).is_some_and(|(encoding, _)| encoding != UTF_8)
}

/// Decodes a text whose encoding its author names.
pub(super) fn decode_as(path: &Path, bytes: &[u8], encoding: TextEncoding) -> Result<String, Failure> {
    let (name, word) = (file_name(path), encoding.word());
    let mark = "\u{FEFF}".as_bytes();
    let known = Encoding::for_label(word.as_bytes());
    let Some(known) = known else { return Err(internal(format!("the encoding {word} is not known"))) };
    if bytes.starts_with(mark) && encoding != TextEncoding::Utf8 {
        return Err(wrong_type(format!("{name} begins with the mark of UTF-8, and not as {word}. Remove `encoding`.")));
    }
    let (text, had_errors) = known.decode_with_bom_removal(bytes);
    match (had_errors, text.contains('\0')) {
        (true, _) => Err(wrong_type(format!("{name} is not {word} text. Name its encoding with `encoding`, or save it as UTF-8."))),
        (_, true) => Err(with_zeros(path)),
        _ => Ok(text.into_owned()),
    }
}

/// The failure of a file that should be a text but has another kind of content.
pub(super) fn not_a_text(path: &Path, what: &str) -> Failure {
    wrong_type(format!("{} is not a text: its content is {what}. Correct its file extension.", file_name(path)))
}

/// The failure of a text in another encoding.
pub(super) fn not_utf8(path: &Path, line: u64) -> Failure {
    wrong_type(format!(
        "{} is not UTF-8 text (first unreadable character in line {line}). Save it with the encoding UTF-8, in Excel as \"CSV UTF-8\".",
        file_name(path)
    ))
}

/// The failure of a text with zero bytes.
pub(super) fn with_zeros(path: &Path) -> Failure {
    wrong_type(format!("{} is not a text: it contains zero bytes. Save it with the encoding UTF-8.", file_name(path)))
}

/// A kind of content, detected by its first bytes.
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
    /// Detects the kind of content. A few hundred bytes are enough.
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
            None if picture_kind(bytes).is_some() => Content::Image,
            None => Content::Other,
        }
    }

    /// The kind for messages; `None` for [`Content::Other`].
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
    use crate::model::FailureKind;

    fn decoded(bytes: &[u8]) -> Result<String, String> {
        decode(Path::new("data/people.csv"), bytes.to_vec()).map_err(|failure| failure.message)
    }

    #[test]
    fn utf8_with_a_mark_and_utf16_with_a_mark_are_read() {
        assert_eq!(decoded(b"\xEF\xBB\xBFid,name\n").unwrap(), "id,name\n");
        assert_eq!(decoded(b"\xFF\xFEi\0d\0\xE9\0").unwrap(), "idé");
        assert_eq!(decoded(b"\xFE\xFF\0i\0d\0\xE9").unwrap(), "idé");
    }

    #[test]
    fn another_encoding_is_an_error_with_its_line() {
        let sentence = decoded(b"id,name\n1,Ren\xE9\n").unwrap_err();
        assert!(sentence.starts_with("people.csv is not UTF-8 text (first unreadable character in line 2)."), "{sentence}");
        assert!(decoded(b"\xFF\xFEi\0d").unwrap_err().contains("damaged"));
        assert!(decoded(b"a\0b").unwrap_err().contains("zero bytes"));
    }

    #[test]
    fn an_excel_file_with_the_wrong_ending_is_named() {
        assert!(decoded(b"PK\x03\x04....").unwrap_err().contains("an Excel, Word or zip file"));
    }

    #[test]
    fn a_missing_file_a_folder_and_a_device_are_unavailable() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_all(&folder.path().join("no.csv"), 10).unwrap_err().message.contains("does not exist"));
        assert!(read_all(folder.path(), 10).unwrap_err().message.contains("is a folder"));
        #[cfg(unix)]
        assert!(read_all(Path::new("/dev/zero"), 10).unwrap_err().message.contains("not a regular file"));
    }

    #[test]
    fn a_file_above_its_cap_is_too_large() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "12345").unwrap();
        assert_eq!(read_all(file.path(), 4).unwrap_err().kind, FailureKind::TooLarge);
        assert_eq!(read_all(file.path(), 5).unwrap().0, b"12345");
    }

    #[test]
    fn a_table_whose_header_begins_like_a_picture_stays_a_text() {
        assert_eq!(Content::of(b"BMI,weight\n22,70\n"), Content::Other);
        assert_eq!(Content::of(b"PAR1,PAR2\n"), Content::Other);
        assert_eq!(Content::of(b"PAR1\x15\x04\x15"), Content::Parquet);
        assert_eq!(Content::of(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Content::Image);
    }
}
