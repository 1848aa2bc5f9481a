//! The text of Word files (`.docx`).

use std::io::{BufReader, Read};
use std::path::Path;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::archive;
use super::blocking::CancelFlag;
use super::sentence::{file_name, too_large, wrong_type};
use super::source::Content;
use crate::event::Failure;
use crate::port::PageText;

/// Reads a document as one page, because Word files do not store page breaks. Cells of a table are separated by tabs.
pub(super) fn word(path: &Path, bytes: &[u8], most_text: usize, cancel: &CancelFlag) -> Result<PageText, Failure> {
    let name = file_name(path);
    let wrong = |why: &dyn std::fmt::Display| {
        wrong_type(format!("{name} cannot be read as a Word file: {why}. Save it as \"Word document (.docx)\"."))
    };
    if Content::of(bytes) != Content::Zip {
        return Err(wrong(&"its content is something else"));
    }
    let mut archive = archive::checked(path, bytes, cancel)?;
    let body = archive.by_name("word/document.xml").map_err(|_| wrong(&"it holds no document"))?;
    let mut reader = Reader::from_reader(BufReader::new(body));
    let mut page = PageText { number: 1, ..PageText::default() };
    let mut buffer = Vec::new();
    let mut is_text = false;
    loop {
        cancel.check()?;
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(|error| wrong(&error))? {
            Event::Start(element) | Event::Empty(element) if matches!(element.name().as_ref(), "w:drawing" | "w:pict") => page.images += 1,
            Event::Start(element) => is_text = element.name().as_ref() == "w:t",
            Event::Empty(element) => match element.name().as_ref() {
                "w:tab" => page.text.push('\t'),
                "w:br" | "w:cr" => page.text.push('\n'),
                _ => {}
            },
            Event::End(element) => {
                is_text = false;
                match element.name().as_ref() {
                    "w:p" => page.text.push('\n'),
                    "w:tc" => {
                        page.text.truncate(page.text.trim_end_matches('\n').len());
                        page.text.push('\t');
                    }
                    "w:tr" => {
                        page.text.truncate(page.text.trim_end_matches('\t').len());
                        page.text.push('\n');
                    }
                    _ => {}
                }
            }
            Event::Text(text) if is_text => page.text.push_str(&text),
            Event::GeneralRef(reference) if is_text => match reference.resolve_char_ref() {
                Ok(Some(character)) => page.text.push(character),
                _ => page.text.push_str(quick_xml::escape::resolve_predefined_entity(&reference).unwrap_or_default()),
            },
            Event::Eof => break,
            _ => {}
        }
        if page.text.len() > most_text {
            return Err(too_large(format!("{name} contains more than {} MB of text. Split it.", most_text >> 20)));
        }
    }
    page.text = page.text.trim().to_owned();
    Ok(page)
}

/// Whether a zip archive contains this entry, which identifies the kind of Office file.
pub(super) fn holds(path: &Path, bytes: &[u8], entry: &str, cancel: &CancelFlag) -> bool {
    archive::checked(path, bytes, cancel)
        .is_ok_and(|mut archive| archive.by_name(entry).is_ok_and(|mut entry| entry.read(&mut [0; 1]).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::word_of;
    use super::*;

    fn read(bytes: &[u8]) -> Result<PageText, String> {
        word(Path::new("data/offer.docx"), bytes, 8 << 20, &CancelFlag::default()).map_err(|failure| failure.message)
    }

    #[test]
    fn paragraphs_tables_and_marks_become_text() {
        let body = "<w:p><w:r><w:t>Hours &amp; costs&#33;</w:t></w:r></w:p>\
            <w:tbl><w:tr><w:tc><w:p><w:r><w:t>Mon</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>8</w:t></w:r></w:p></w:tc></w:tr></w:tbl>\
            <w:p><w:r><w:delText>gone</w:delText><w:t>a</w:t><w:br/><w:t>b</w:t></w:r><w:r><w:drawing><x/></w:drawing></w:r></w:p>";
        let page = read(&word_of(body)).unwrap();
        assert_eq!((page.text.as_str(), page.images), ("Hours & costs!\nMon\t8\na\nb", 1));
    }

    #[test]
    fn entities_of_a_file_are_not_expanded() {
        let bytes =
            super::super::testing::zip_of(&[("word/document.xml", b"<!DOCTYPE d [<!ENTITY a \"boom\">]><w:p><w:t>x&a;y</w:t></w:p>")]);
        assert_eq!(read(&bytes).unwrap().text, "xy");
    }

    #[test]
    fn another_file_is_a_sentence() {
        assert!(read(b"hello").unwrap_err().starts_with("offer.docx cannot be read as a Word file: its content is something else."));
        assert!(read(&super::super::testing::zip_of(&[("a", b"b")])).unwrap_err().contains("it holds no document"));
        assert!(read(&word_of("<w:p><w:t>x</w:r>")).is_err());
    }
}
