//! Checks of zip archives (Excel, Word) before they are parsed: the number of entries, the unpacked size, and the compression ratio.
//!
//! The sizes that an archive states may be false, so every entry is unpacked once and counted (reliability.md, D5).

use std::io::{Cursor, Read};
use std::path::Path;

use zip::result::ZipError;

use super::blocking::CancelFlag;
use super::sentence::{file_name, too_large, wrong_type};
use crate::event::Failure;

/// Maximum number of entries.
const MOST_ENTRIES: usize = 2_000;
/// Maximum unpacked size of all entries, in bytes.
const MOST_BYTES: u64 = 256 << 20;
/// Maximum ratio of unpacked to packed size.
const MOST_RATIO: u64 = 100;
/// The ratio is not limited for archives that unpack to less than this, in bytes.
const RATIO_COUNTS_FROM: u64 = 1 << 20;

/// An archive that was unpacked once and is within the limits.
pub(super) type Archive<'a> = zip::ZipArchive<Cursor<&'a [u8]>>;

/// Checks an archive. Rejects one that is damaged, encrypted or a zip bomb.
pub(super) fn checked<'a>(path: &Path, bytes: &'a [u8], cancel: &CancelFlag) -> Result<Archive<'a>, Failure> {
    let name = file_name(path);
    let damaged = |error: ZipError| match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            wrong_type(format!("{name} cannot be read: it has a password. Save it again without one."))
        }
        error => wrong_type(format!("{name} is damaged or packed in an unknown way ({error}). Save it again in its program.")),
    };
    let bomb = |why: String| too_large(format!("{name} was not opened: {why}. Save the parts you need as a smaller file."));
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    if archive.len() > MOST_ENTRIES {
        return Err(bomb(format!("it packs {} files, more than {MOST_ENTRIES}", archive.len())));
    }
    let most = MOST_BYTES.min((bytes.len() as u64).saturating_mul(MOST_RATIO).max(RATIO_COUNTS_FROM));
    let mut total = 0_u64;
    let mut buffer = vec![0; 64 << 10];
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(damaged)?;
        if entry.enclosed_name().is_none() {
            return Err(wrong_type(format!("{name} was not opened: it contains a file whose path leads out of the archive.")));
        }
        loop {
            cancel.check()?;
            let read = entry.read(&mut buffer).map_err(|error| damaged(error.into()))?;
            if read == 0 {
                break;
            }
            total += read as u64;
            if total > most {
                let limit = if most == MOST_BYTES { format!("{} MB", MOST_BYTES >> 20) } else { format!("{MOST_RATIO} times its size") };
                return Err(bomb(format!("it unpacks to more than {limit}")));
            }
        }
    }
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::super::testing::zip_of;
    use super::*;
    use crate::model::FailureKind;

    fn refusal(bytes: &[u8]) -> Failure {
        checked(Path::new("book.xlsx"), bytes, &CancelFlag::default()).map(|_| ()).unwrap_err()
    }

    #[test]
    fn an_ordinary_archive_passes() {
        let bytes = zip_of(&[("a.xml", b"<a/>"), ("b/c.xml", b"<c/>")]);
        assert_eq!(checked(Path::new("book.xlsx"), &bytes, &CancelFlag::default()).unwrap().len(), 2);
    }

    #[test]
    fn an_archive_that_unpacks_to_more_than_a_hundred_times_its_size_is_not_opened() {
        let zeros = vec![0_u8; 3 << 20];
        let failure = refusal(&zip_of(&[("a.xml", &zeros)]));
        assert_eq!(failure.kind, FailureKind::TooLarge);
        assert!(failure.message.contains("unpacks to more than 100 times its size"), "{}", failure.message);
    }

    #[test]
    fn an_entry_that_lies_about_its_size_is_counted_as_it_unpacks() {
        let zeros = vec![0_u8; 3 << 20];
        let mut bytes = zip_of(&[("a.xml", &zeros)]);
        let size = (3_u32 << 20).to_le_bytes();
        let places: Vec<usize> = bytes.windows(4).enumerate().filter(|(_, window)| *window == size).map(|(at, _)| at).collect();
        assert!(!places.is_empty(), "the stated size is in the file");
        for at in places {
            bytes[at..at + 4].copy_from_slice(&16_u32.to_le_bytes());
        }
        refusal(&bytes);
    }

    #[test]
    fn too_many_entries_names_that_lead_out_and_damage_are_refused() {
        let names: Vec<String> = (0..=MOST_ENTRIES).map(|n| n.to_string()).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert_eq!(refusal(&zip_of(&many)).kind, FailureKind::TooLarge);
        assert!(refusal(&zip_of(&[("../../etc/x", b"x")])).message.contains("leads out of the archive"));
        let good = zip_of(&[("a.xml", b"hello hello hello")]);
        assert_eq!(refusal(&good[..good.len() - 5]).kind, FailureKind::WrongType);
    }

    #[test]
    fn an_archive_with_a_password_says_so() {
        let mut bytes = zip_of(&[("a.xml", b"<a/>")]);
        for (mark, place) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
            let at = bytes.windows(4).position(|window| window == mark).unwrap();
            bytes[at + place] |= 1;
        }
        let failure = refusal(&bytes);
        assert_eq!(failure.message, "book.xlsx cannot be read: it has a password. Save it again without one.");
        assert_eq!(failure.kind, FailureKind::WrongType);
    }

    #[test]
    fn every_cut_of_an_archive_is_a_sentence() {
        let bytes = zip_of(&[("a.xml", b"hello hello hello"), ("b.xml", b"x")]);
        for length in 0..bytes.len() {
            refusal(&bytes[..length]);
        }
    }
}
