//! The text of PDF files, page by page.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use lopdf::{Document, LoadOptions, Object};

use super::blocking::CancelFlag;
use super::sentence::{file_name, too_large, wrong_type};
use super::source::Content;
use crate::event::Failure;
use crate::port::PageText;

/// Maximum number of pages.
const MOST_PAGES: usize = 2_000;
/// Maximum unpacked size of all packed objects of a file together, and maximum size of a page's content, in bytes.
const MOST_UNPACKED: usize = 32 << 20;
const MOST_PAGE_BYTES: usize = 8 << 20;

thread_local! {
    /// How many bytes the packed objects of the current file may still unpack to. `LoadOptions::filter` is a plain function without state, so the
    /// count is kept here; one thread reads a file.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Reads the pages of a document.
pub(super) fn pages(path: &Path, bytes: &[u8], most_text: usize, cancel: &CancelFlag) -> Result<Vec<PageText>, Failure> {
    let name = file_name(path);
    if Content::of(bytes) != Content::Pdf {
        return Err(wrong_type(format!("{name} is not a PDF document. Correct its file extension.")));
    }
    // A damaged file may trigger a bug in the PDF library. A panic then only affects this file.
    catch_unwind(AssertUnwindSafe(|| read(&name, bytes, most_text, MOST_UNPACKED, cancel)))
        .unwrap_or_else(|_| Err(wrong_type(format!("{name} is damaged. Open it in its program and save it again."))))
}

fn read(name: &str, bytes: &[u8], most_text: usize, most_unpacked: usize, cancel: &CancelFlag) -> Result<Vec<PageText>, Failure> {
    LEFT.set(most_unpacked);
    let options = LoadOptions { filter: Some(within_budget), max_decompressed_size: Some(most_unpacked), ..LoadOptions::default() };
    let loaded = Document::load_mem_with_options(bytes, options);
    let too_large = |what: &str| too_large(format!("{name} was not read: {what}. Save the pages you need as a smaller file."));
    if LEFT.get() == 0 {
        return Err(too_large("it unpacks to far more than its size"));
    }
    let document = loaded.map_err(|error| {
        let why =
            if matches!(error, lopdf::Error::Decryption(_)) { "it has a password".to_owned() } else { format!("it is damaged ({error})") };
        wrong_type(format!("{name} cannot be read: {why}. Save it again without a password."))
    })?;
    let numbered = document.get_pages();
    if numbered.len() > MOST_PAGES {
        return Err(too_large(&format!("it has {} pages, more than {MOST_PAGES}", numbered.len())));
    }
    let mut total = 0;
    let mut pages = Vec::with_capacity(numbered.len());
    for (number, id) in numbered {
        cancel.check()?;
        // Fonts without a character table produce no text; such a page is empty rather than wrong.
        let text: String = document.extract_text_chunks_with_limit(&[number], MOST_PAGE_BYTES).into_iter().flatten().collect();
        let images = document.get_page_images(id).map_or(0, |images| images.len() as u64);
        total += text.len();
        if total > most_text {
            return Err(too_large(&format!("it contains more than {} MB of text", most_text >> 20)));
        }
        pages.push(PageText { number: u64::from(number), text: text.trim().to_owned(), images });
    }
    Ok(pages)
}

/// Skips packed objects that would unpack to more than the remaining bytes, before the library unpacks them.
fn within_budget(id: (u32, u16), object: &mut Object) -> Option<((u32, u16), Object)> {
    let Object::Stream(stream) = object else { return Some((id, object.clone())) };
    if stream.dict.has_type(b"ObjStm") {
        let left = LEFT.get();
        let unpacked = stream
            .get_plain_content_with_limit(left)
            .map_or_else(|error| if matches!(error, lopdf::Error::Decompress(_)) { left } else { 0 }, |content| content.len());
        LEFT.set(left.saturating_sub(unpacked));
        if LEFT.get() == 0 {
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
        pages(Path::new("data/report.pdf"), bytes, 8 << 20, &CancelFlag::default())
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
        assert_eq!(within(500 << 10), Err(FailureKind::TooLarge));
        assert_eq!(within(700 << 10).map(|pages| pages.len()), Ok(1));
    }
}
