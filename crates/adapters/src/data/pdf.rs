//! The text of PDF files, page by page.

use std::cell::Cell;
use std::path::Path;

use lopdf::{Document, LoadOptions, Object, ObjectId};

use super::super::guarded::guarded;
use super::blocking::CancelFlag;
use super::pdf_page::{PageReader, Unread};
use super::sentence::{damaged, file_name, too_large, wrong_type};
use super::source::Content;
use crate::event::Failure;
use crate::port::PageText;

/// Maximum number of pages.
const MOST_PAGES: usize = 2_000;
/// Maximum unpacked size of all packed objects of a file together, in bytes.
const MOST_UNPACKED: usize = 32 << 20;
/// The same for an encrypted file, in which each stream gets an equal share of it.
const MOST_ENCRYPTED: usize = 64 << 20;
/// Maximum number of words, numbers and names in a file and its packed objects. In memory each takes up to 80 bytes.
const MOST_PARTS: usize = 6_000_000;

thread_local! {
    /// How many bytes the packed objects of the current file may still unpack to. `LoadOptions::filter` is a plain function without state, so the
    /// count is kept here; one thread reads a file.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// How many parts they may still have.
    static PARTS_LEFT: Cell<usize> = const { Cell::new(0) };
}

/// The pages of a document.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) pages: Vec<PageText>,
    /// The numbers of those whose content was not read, because it is too large.
    pub(super) left_out: Vec<u64>,
}

/// Reads the pages of a document.
pub(super) fn pages(path: &Path, bytes: &[u8], most_text: usize, cancel: &CancelFlag) -> Result<Pages, Failure> {
    let name = file_name(path);
    if Content::of(bytes) != Content::Pdf {
        return Err(wrong_type(format!("{name} is not a PDF document. Correct its file extension.")));
    }
    // A damaged file may trigger a bug in the PDF library. A panic then only affects this file.
    guarded(|| read(&name, bytes, most_text, MOST_UNPACKED, cancel)).unwrap_or_else(|| Err(damaged(&name)))
}

fn read(name: &str, bytes: &[u8], most_text: usize, most_unpacked: usize, cancel: &CancelFlag) -> Result<Pages, Failure> {
    let too_large = |what: &str| too_large(format!("{name} was not read: {what}. Save the pages you need as a smaller file."));
    LEFT.set(most_unpacked);
    PARTS_LEFT.set(MOST_PARTS.saturating_sub(parts(bytes)));
    if PARTS_LEFT.get() == 0 {
        return Err(too_large("it has too many parts"));
    }
    // The library applies no filter to the objects of an encrypted document, so each of its streams gets an equal share.
    let most_of_one = if may_be_encrypted(bytes) { MOST_ENCRYPTED / (1 + count(bytes, b"stream")) } else { most_unpacked };
    let options =
        LoadOptions { filter: Some(within_budget), max_decompressed_size: Some(most_unpacked.min(most_of_one)), ..LoadOptions::default() };
    let loaded = Document::load_mem_with_options(bytes, options);
    if LEFT.get() == 0 || PARTS_LEFT.get() == 0 {
        return Err(too_large("it unpacks to far more than its size"));
    }
    let unreadable = |why: &dyn std::fmt::Display| wrong_type(format!("{name} cannot be read: {why}."));
    let with_password = || unreadable(&"it has a password. Save it again without one");
    let document = loaded.map_err(|error| match error {
        lopdf::Error::Decryption(_) | lopdf::Error::InvalidPassword => with_password(),
        error => unreadable(&format!("it is damaged ({error}). Open it in its program and save it again")),
    })?;
    // Without its password, the library loads nothing but how the document is encrypted.
    if document.trailer.has(b"Encrypt") && !document.was_encrypted() {
        return Err(with_password());
    }
    let mut numbered = document.page_iter();
    let ids: Vec<ObjectId> = numbered.by_ref().take(MOST_PAGES).collect();
    if numbered.next().is_some() {
        return Err(too_large(&format!("it has more than {MOST_PAGES} pages")));
    }
    if ids.is_empty() {
        return Err(unreadable(&"it is damaged (it has no pages). Open it in its program and save it again"));
    }
    let mut total = 0;
    let mut read = Pages { pages: Vec::with_capacity(ids.len()), left_out: vec![] };
    let mut reader = PageReader::new(&document, cancel);
    for (number, id) in (1..).zip(ids) {
        cancel.check()?;
        let page = match reader.page(number, id) {
            Ok(page) => page,
            Err(Unread::Page) => {
                read.left_out.push(number);
                PageText { number, ..PageText::default() }
            }
            Err(Unread::Document) => return Err(too_large("its pages draw too much")),
            Err(Unread::Stopped(failure)) => return Err(failure),
        };
        total += page.text.len();
        if total > most_text {
            return Err(too_large(&format!("it contains more than {} MB of text", most_text >> 20)));
        }
        read.pages.push(page);
    }
    Ok(read)
}

/// Whether the document says that it is encrypted. A character of a name may be written as `#` and two digits.
fn may_be_encrypted(bytes: &[u8]) -> bool {
    count(bytes, b"/Encrypt") > 0 || bytes.windows(2).any(|pair| pair == b"/#") || {
        let has_escape =
            |name: &[u8]| name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#').any(|byte| *byte == b'#');
        bytes.windows(12).any(|name| name.starts_with(b"/E") && has_escape(name.get(1..).unwrap_or_default()))
    }
}

/// How many words, numbers and names there are at most: each begins behind something else (ISO 32000-1, 7.2.2).
fn parts(bytes: &[u8]) -> usize {
    let is_apart = |byte: &u8| {
        matches!(byte, b'\0' | b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
    };
    // An empty list, text or name is a part, too.
    let opens = |byte: &u8| matches!(byte, b'(' | b'<' | b'[' | b'/');
    let mut was_apart = true;
    let mut found = 0;
    for byte in bytes {
        let is_apart = is_apart(byte);
        found += usize::from(!is_apart && was_apart || opens(byte));
        was_apart = is_apart;
    }
    found
}

fn count(bytes: &[u8], word: &[u8]) -> usize {
    bytes.windows(word.len()).filter(|window| *window == word).count()
}

/// Skips packed objects that would unpack to more than the remaining bytes, before the library unpacks them.
fn within_budget(id: (u32, u16), object: &mut Object) -> Option<((u32, u16), Object)> {
    let Object::Stream(stream) = object else { return Some((id, object.clone())) };
    if stream.dict.has_type(b"ObjStm") {
        let left = LEFT.get();
        let (unpacked, parts) = match stream.get_plain_content_with_limit(left) {
            Ok(content) => (content.len(), parts(&content)),
            Err(lopdf::Error::Decompress(_)) => (left, 0),
            Err(_) => (0, 0),
        };
        LEFT.set(left.saturating_sub(unpacked));
        PARTS_LEFT.set(PARTS_LEFT.get().saturating_sub(parts));
        if LEFT.get() == 0 || PARTS_LEFT.get() == 0 {
            return None;
        }
    }
    // For a stream, the library only checks whether a value is returned, so its bytes are not copied.
    Some((id, Object::Null))
}

#[cfg(test)]
mod tests {
    use super::super::testing::pdf_of;
    use super::*;
    use crate::model::FailureKind;

    fn read_pages(bytes: &[u8]) -> Result<Vec<PageText>, Failure> {
        pages(Path::new("data/report.pdf"), bytes, 8 << 20, &CancelFlag::default()).map(|read| read.pages)
    }

    #[test]
    fn each_page_gives_its_text() {
        let read = read_pages(&pdf_of(&["Hours of September", "Hours of October"])).unwrap();
        let texts: Vec<(u64, &str)> = read.iter().map(|page| (page.number, page.text.as_str())).collect();
        assert_eq!(texts, [(1, "Hours of September"), (2, "Hours of October")]);
    }

    #[test]
    fn another_file_and_a_cut_one_are_sentences() {
        assert_eq!(read_pages(b"id,name").unwrap_err().message, "report.pdf is not a PDF document. Correct its file extension.");
        let bytes = pdf_of(&["Hours"]);
        for length in (5..bytes.len()).step_by(7) {
            if let Err(failure) = read_pages(&bytes[..length]) {
                assert!(matches!(failure.kind, FailureKind::WrongType | FailureKind::TooLarge), "{failure:?}");
            }
        }
    }

    #[test]
    fn packed_objects_that_unpack_to_too_much_are_not_unpacked() {
        let mut document = Document::load_mem(&pdf_of(&["Hours"])).unwrap();
        for _ in 0..3 {
            let mut dictionary = lopdf::Dictionary::new();
            dictionary.set("Type", Object::Name(b"ObjXxx".to_vec()));
            dictionary.set("N", 0);
            dictionary.set("First", 0);
            let mut stream = lopdf::Stream::new(dictionary, vec![b' '; 200 << 10]);
            stream.compress().unwrap();
            document.add_object(stream);
        }
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).unwrap();
        // The library would not write them under their own name.
        let places: Vec<usize> = bytes.windows(6).enumerate().filter(|(_, word)| word == b"ObjXxx").map(|(at, _)| at).collect();
        assert_eq!(places.len(), 3);
        for at in places {
            bytes[at..at + 6].copy_from_slice(b"ObjStm");
        }
        assert!(bytes.len() < 10 << 10, "the bomb is small: {}", bytes.len());
        let within =
            |most_unpacked| read("report.pdf", &bytes, 8 << 20, most_unpacked, &CancelFlag::default()).map_err(|failure| failure.kind);
        assert_eq!(within(500 << 10).unwrap_err(), FailureKind::TooLarge);
        assert_eq!(within(700 << 10).map(|read| read.pages.len()).ok(), Some(1));
    }

    #[test]
    fn a_file_of_too_many_parts_is_not_loaded() {
        assert_eq!(parts(b"<< /Kids [3 0 R] /Name (a b) >>"), 13);
        let bytes = [b"%PDF-1.5\n1 0 obj [".as_slice(), &b"0 ".repeat(MOST_PARTS)].concat();
        let failure = read_pages(&bytes).unwrap_err();
        assert_eq!(failure.kind, FailureKind::TooLarge);
        assert!(failure.message.contains("it has too many parts"), "{}", failure.message);
    }

    #[test]
    fn a_name_with_an_escape_may_say_that_a_document_is_encrypted() {
        for (bytes, expected) in [
            (&b"<< /Encrypt 3 0 R >>"[..], true),
            (b"<< /Encr#79pt 3 0 R >>", true),
            (b"<< /#45ncrypt 3 0 R >>", true),
            (b"<< /Encoding /WinAnsiEncoding /Title (#1) >>", false),
        ] {
            assert_eq!(may_be_encrypted(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_document_with_a_password_is_unreadable_and_one_that_opens_without_is_read() {
        let encrypted = |password: &str| {
            let mut document = Document::load_mem(&pdf_of(&["Hours"])).unwrap();
            document.trailer.set("ID", vec![Object::string_literal("one"), Object::string_literal("two")]);
            let version = lopdf::EncryptionVersion::V2 {
                document: &document,
                owner_password: "owner",
                user_password: password,
                key_length: 128,
                permissions: lopdf::Permissions::all(),
            };
            let state = lopdf::EncryptionState::try_from(version).unwrap();
            document.encrypt(&state).unwrap();
            let mut bytes = Vec::new();
            document.save_to(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(read_pages(&encrypted("")).unwrap()[0].text, "Hours");
        let failure = read_pages(&encrypted("secret")).unwrap_err();
        assert_eq!(failure.message, "report.pdf cannot be read: it has a password. Save it again without one.");
        assert_eq!(failure.kind, FailureKind::WrongType);
    }
}
