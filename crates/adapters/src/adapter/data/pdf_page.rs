//! What a page of a PDF file shows: its text and its pictures, also those of forms (drawings that a page uses like a stamp) and those written between the
//! letters. Operators: ISO 32000-1, 8.10 (forms), 8.9.7 (inline images) and 9.4 (texts).

use std::collections::{BTreeMap, HashSet};

use lopdf::content::Content;
use lopdf::{Dictionary, Document, Encoding, Error, Object, ObjectId, Stream};

use super::blocking::CancelFlag;
use crate::event::Failure;
use crate::port::PageText;

/// Maximum size of what a page draws, its forms included, in bytes.
const MOST_PAGE_BYTES: usize = 8 << 20;
/// Maximum size of what all pages draw together, and of the tables of all fonts, in bytes.
const MOST_DRAWN: usize = 256 << 20;
const MOST_FONT_BYTES: usize = 32 << 20;
/// How many forms may lie in each other.
const MOST_DEPTH: usize = 16;
/// What a form counts at least towards the size of a page, in bytes: an empty one takes time, too.
const LEAST_FORM: usize = 256;
/// A shift to the left of more than this many thousandths of the letters' size is a space between words.
const WORD_SPACE: f32 = -100.0;

/// Why a page has no text.
pub(super) enum Unread {
    /// It draws too much.
    Page,
    /// All pages together draw too much.
    Document,
    Stopped(Failure),
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Unread {
        Unread::Stopped(failure)
    }
}

/// Reads the pages of a document.
pub(super) struct PageReader<'a> {
    document: &'a Document,
    cancel: &'a CancelFlag,
    /// How each font of the document says which letters it shows; `None` if that cannot be read. By the place of its dictionary.
    fonts: BTreeMap<*const Dictionary, Option<Encoding<'a>>>,
    font_bytes_left: usize,
    bytes_left: usize,
}

/// What names mean in a content, the nearest ones first.
#[derive(Clone)]
struct Resources<'a>(Vec<&'a Dictionary>);

impl<'a> Resources<'a> {
    /// The entry of a category (`Font`, `XObject`).
    fn get(&self, document: &'a Document, category: &[u8], name: &[u8]) -> Option<&'a Object> {
        let entry = |resources: &&'a Dictionary| document.get_dict_in_dict(resources, category).ok()?.get(name).ok();
        let object = self.0.iter().find_map(entry)?;
        document.dereference(object).ok().map(|(_, object)| object)
    }
}

/// A page that is being read.
#[derive(Default)]
struct ShownObject {
    text: String,
    inline_images: u64,
    bytes_left: usize,
}

impl<'a> PageReader<'a> {
    /// Creates a reader.
    pub(super) fn new(document: &'a Document, cancel: &'a CancelFlag) -> PageReader<'a> {
        PageReader { document, cancel, fonts: BTreeMap::new(), font_bytes_left: MOST_FONT_BYTES, bytes_left: MOST_DRAWN }
    }

    /// Reads a page. Fonts without a table of letters give no text; such a page is empty rather than wrong.
    pub(super) fn page(&mut self, number: u64, id: ObjectId) -> Result<PageText, Unread> {
        let (direct, referenced) = self.document.get_page_resources(id).unwrap_or_default();
        let referenced = referenced.into_iter().filter_map(|id| self.document.get_dictionary(id).ok());
        let resources = Resources(direct.into_iter().chain(referenced).collect());
        let mut shown = ShownObject { bytes_left: MOST_PAGE_BYTES, ..ShownObject::default() };
        match self.document.get_page_content_with_limit(id, MOST_PAGE_BYTES.min(self.bytes_left)) {
            Ok(content) => self.content(&content, &resources, &mut shown, 0, None)?,
            Err(Error::Decompress(_)) => return Err(self.too_much()),
            Err(_) => {}
        }
        let images = shown.inline_images + resources.0.first().map_or(0, |nearest| self.images(nearest));
        Ok(PageText { number, text: shown.text.trim().to_owned(), images })
    }

    fn too_much(&self) -> Unread {
        if self.bytes_left < MOST_PAGE_BYTES { Unread::Document } else { Unread::Page }
    }

    /// Takes the size of a content off what may be drawn.
    fn draw(&mut self, bytes: usize, shown: &mut ShownObject) -> Result<(), Unread> {
        match (self.bytes_left.checked_sub(bytes), shown.bytes_left.checked_sub(bytes)) {
            (Some(document), Some(page)) => (self.bytes_left, shown.bytes_left) = (document, page),
            (None, _) => return Err(Unread::Document),
            (Some(_), None) => return Err(Unread::Page),
        }
        Ok(())
    }

    /// Reads a content. A form begins with the font of its surroundings.
    fn content(
        &mut self,
        content: &[u8],
        resources: &Resources<'a>,
        shown: &mut ShownObject,
        depth: usize,
        mut font: Option<*const Dictionary>,
    ) -> Result<(), Unread> {
        self.draw(content.len(), shown)?;
        for (count, operation) in Content::decode_iter(content).enumerate() {
            if count % 1024 == 0 {
                self.cancel.check()?;
            }
            // What comes behind a mistake cannot be read.
            let Ok(operation) = operation else { break };
            let operands = operation.operands.as_slice();
            match operation.operator.as_str() {
                "Tf" => font = self.font(operands.first(), resources),
                "Tj" | "TJ" => self.write(font, operands, shown),
                "'" => {
                    new_line(&mut shown.text);
                    self.write(font, operands, shown);
                }
                // Its first two operands are spaces.
                "\"" => {
                    new_line(&mut shown.text);
                    self.write(font, operands.get(2..).unwrap_or_default(), shown);
                }
                "T*" | "ET" => new_line(&mut shown.text),
                "BI" => shown.inline_images += 1,
                "Do" if depth < MOST_DEPTH => {
                    let named = operands.first().and_then(|name| name.as_name().ok());
                    let object = named.and_then(|name| resources.get(self.document, b"XObject", name));
                    if let Some(Object::Stream(form)) = object
                        && is_form(form)
                    {
                        self.form(form, resources, shown, depth, font)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn form(
        &mut self,
        form: &'a Stream,
        around: &Resources<'a>,
        shown: &mut ShownObject,
        depth: usize,
        font: Option<*const Dictionary>,
    ) -> Result<(), Unread> {
        self.draw(LEAST_FORM, shown)?;
        // A form without resources of its own uses those around it.
        let resources =
            self.document.get_dict_in_dict(&form.dict, b"Resources").map_or_else(|_| around.clone(), |own| Resources(vec![own]));
        match form.get_plain_content_with_limit(shown.bytes_left.min(self.bytes_left)) {
            Ok(content) => self.content(&content, &resources, shown, depth + 1, font),
            Err(Error::Decompress(_)) => Err(self.too_much()),
            Err(_) => Ok(()),
        }
    }

    /// Learns how a font says which letters it shows.
    fn font(&mut self, name: Option<&Object>, resources: &Resources<'a>) -> Option<*const Dictionary> {
        let font = resources.get(self.document, b"Font", name?.as_name().ok()?)?.as_dict().ok()?;
        let place = std::ptr::from_ref(font);
        if !self.fonts.contains_key(&place) {
            let encoding =
                self.has_small_table(font).then(|| font.get_font_encoding_with_limit(self.document, MOST_FONT_BYTES).ok()).flatten();
            self.fonts.insert(place, encoding);
        }
        Some(place)
    }

    /// Whether the table of a font may still be unpacked. The tables of all fonts stay in memory.
    fn has_small_table(&mut self, font: &Dictionary) -> bool {
        let Ok(table) = font.get_deref(b"ToUnicode", self.document).and_then(Object::as_stream) else { return true };
        match table.get_plain_content_with_limit(self.font_bytes_left) {
            Ok(content) => {
                self.font_bytes_left -= content.len();
                true
            }
            Err(error) => !matches!(error, Error::Decompress(_)),
        }
    }

    fn write(&self, font: Option<*const Dictionary>, operands: &[Object], shown: &mut ShownObject) {
        if let Some(Some(encoding)) = font.and_then(|place| self.fonts.get(&place)) {
            write(encoding, operands, &mut shown.text);
        }
    }

    /// The pictures that a content can use, also in its forms.
    fn images(&self, resources: &'a Dictionary) -> u64 {
        let mut images = 0;
        let mut open = vec![resources];
        let mut seen = HashSet::new();
        while let Some(resources) = open.pop() {
            let Ok(objects) = self.document.get_dict_in_dict(resources, b"XObject") else { continue };
            for (_, object) in objects {
                let Ok((id, Object::Stream(stream))) = self.document.dereference(object) else { continue };
                if stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Image") {
                    images += 1;
                } else if is_form(stream) && id.is_none_or(|id| seen.insert(id)) {
                    open.extend(self.document.get_dict_in_dict(&stream.dict, b"Resources"));
                }
            }
        }
        images
    }
}

fn is_form(stream: &Stream) -> bool {
    stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Form")
}

fn new_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn write(encoding: &Encoding<'_>, operands: &[Object], text: &mut String) {
    for operand in operands {
        match operand {
            // Bytes that are no letter of the font are left out.
            Object::String(bytes, _) => drop(encoding.write_to_string(bytes, text)),
            Object::Array(parts) => {
                write(encoding, parts, text);
                text.push(' ');
            }
            Object::Integer(shift) if (*shift as f32) < WORD_SPACE => text.push(' '),
            Object::Real(shift) if *shift < WORD_SPACE => text.push(' '),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use lopdf::dictionary;

    use super::super::testing::pdf_of;
    use super::*;

    const FORM: &str = "Form";

    fn stream(kind: &str, resources: Dictionary, content: &str) -> Object {
        Stream::new(dictionary! { "Type" => "XObject", "Subtype" => kind, "Resources" => resources }, content.as_bytes().to_vec()).into()
    }

    /// A document of one page with this content. Its resources are named `F1` (a font) and as in `objects`.
    fn page_of(content: &str, objects: Vec<(&str, Object)>) -> Document {
        let mut document = Document::load_mem(&pdf_of(&["x"])).unwrap();
        let page = document.page_iter().next().unwrap();
        let font = document.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier" });
        let content = document.add_object(Stream::new(dictionary! {}, content.as_bytes().to_vec()));
        let mut named = Dictionary::new();
        for (name, object) in objects {
            let id = document.add_object(object);
            named.set(name, id);
        }
        let page = document.get_dictionary_mut(page).unwrap();
        page.set("Contents", content);
        page.set("Resources", dictionary! { "Font" => dictionary! { "F1" => font }, "XObject" => named });
        document
    }

    fn read(document: &Document) -> Result<PageText, &'static str> {
        let cancel = CancelFlag::default();
        let id = document.page_iter().next().unwrap();
        PageReader::new(document, &cancel).page(1, id).map_err(|why| match why {
            Unread::Page => "page",
            Unread::Document => "document",
            Unread::Stopped(_) => "stopped",
        })
    }

    #[test]
    fn texts_and_pictures_of_forms_and_pictures_between_letters_are_seen() {
        let inner = dictionary! { "XObject" => dictionary! { "I" => stream("Image", dictionary! {}, "") } };
        let document = page_of(
            "BT /F1 9 Tf (before) Tj ET /X Do BT (after) Tj T* [(wo) -250 (rd) 20 (s)] TJ ET BI /W 1 /H 1 /BPC 8 /CS /G ID X EI BT (end) Tj ET",
            // The form has no font of its own, and the second picture is not in it.
            vec![("X", stream(FORM, inner, "BT (inside) Tj ET")), ("P", stream("Image", dictionary! {}, ""))],
        );
        let page = read(&document).unwrap();
        assert_eq!(page.text, "before\ninside\nafter\nwo rds \nend");
        assert_eq!(page.images, 3);
    }

    #[test]
    fn forms_that_draw_themselves_or_each_other_end() {
        let mut document = page_of("/X Do BT /F1 9 Tf (text) Tj ET", vec![("X", stream(FORM, dictionary! {}, "/X Do /X Do"))]);
        let form = document.objects.iter().find_map(|(id, object)| object.as_stream().is_ok_and(is_form).then_some(*id)).unwrap();
        let inner = dictionary! { "XObject" => dictionary! { "X" => form } };
        document.get_object_mut(form).unwrap().as_stream_mut().unwrap().dict.set("Resources", inner);
        // Two each time, sixteen deep, and each is charged.
        assert_eq!(read(&document).unwrap_err(), "page");
        document.get_object_mut(form).unwrap().as_stream_mut().unwrap().set_content(b"/X Do".to_vec());
        assert_eq!(read(&document).unwrap().text, "text");
    }

    #[test]
    fn a_page_that_draws_too_much_is_left_out() {
        let document = page_of(&"0 0 m ".repeat(2 << 20), vec![]);
        assert_eq!(read(&document).unwrap_err(), "page");
    }

    #[test]
    fn a_mistake_in_a_content_ends_only_what_comes_behind_it() {
        let document = page_of("BT /F1 9 Tf (good) Tj ET ) ] >> BT (lost) Tj ET", vec![]);
        assert_eq!(read(&document).unwrap().text, "good");
    }
}
