//! What a page of a PDF file shows: its text and its pictures, also those of forms (drawings that a page uses like a stamp) and those written between the
//! letters. Operators: ISO 32000-1, 8.10 (forms), 8.9.7 (inline images) and 9.4 (texts).

use std::collections::{BTreeMap, HashSet};

use lopdf::content::Content;
use lopdf::{Dictionary, Document, Error, Object, ObjectId, Stream};

use super::blocking::CancelFlag;
use super::pdf_font::Font;
use super::pdf_layout::Drawn;
use super::pdf_letters::FontBytes;
use super::pdf_state::{Matrix, State, States};
use crate::event::Failure;
use crate::port::PageText;

/// Maximum size of what a page draws, its forms included, in bytes.
const MOST_PAGE_BYTES: usize = 8 << 20;
/// Maximum size of what all pages draw together, in bytes.
const MOST_DRAWN: usize = 256 << 20;
/// How many forms may lie in each other.
const MOST_DEPTH: usize = 16;
/// What a form counts at least towards the size of a page, in bytes: an empty one takes time, too.
const LEAST_FORM: usize = 256;

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
    /// The fonts of the document; `None` if one cannot be read. By the place of its dictionary.
    fonts: BTreeMap<*const Dictionary, Option<Font>>,
    font_bytes_left: FontBytes,
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
    drawn: Drawn,
    inline_images: u64,
    bytes_left: usize,
}

impl<'a> PageReader<'a> {
    /// Creates a reader.
    pub(super) fn new(document: &'a Document, cancel: &'a CancelFlag) -> PageReader<'a> {
        PageReader { document, cancel, fonts: BTreeMap::new(), font_bytes_left: FontBytes::of_document(), bytes_left: MOST_DRAWN }
    }

    /// Reads a page. Fonts without a table of letters give no text; such a page is empty rather than wrong.
    pub(super) fn page(&mut self, number: u64, id: ObjectId) -> Result<PageText, Unread> {
        let (direct, referenced) = self.document.get_page_resources(id).unwrap_or_default();
        let referenced = referenced.into_iter().filter_map(|id| self.document.get_dictionary(id).ok());
        let resources = Resources(direct.into_iter().chain(referenced).collect());
        let state = State::at(Matrix::turned(self.turned(id)));
        let mut shown = ShownObject { bytes_left: MOST_PAGE_BYTES, ..ShownObject::default() };
        match self.document.get_page_content_with_limit(id, MOST_PAGE_BYTES.min(self.bytes_left)) {
            Ok(content) => self.content(&content, &resources, &mut shown, 0, state)?,
            Err(Error::Decompress(_)) => return Err(self.too_much()),
            Err(_) => {}
        }
        let images = shown.inline_images + resources.0.first().map_or(0, |nearest| self.images(nearest));
        Ok(PageText { number, text: shown.drawn.reading_order().trim_matches('\n').to_owned(), images })
    }

    /// By how many degrees a page is turned. A page without a word about it is turned as those above it in the tree of pages.
    fn turned(&self, id: ObjectId) -> i64 {
        let mut node = self.document.get_dictionary(id).ok();
        for _ in 0..MOST_DEPTH {
            let Some(found) = node else { break };
            if let Ok(turned) = found.get_deref(b"Rotate", self.document) {
                return turned.as_float().map_or(0, |degrees| degrees as i64);
            }
            node = found.get_deref(b"Parent", self.document).and_then(Object::as_dict).ok();
        }
        0
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

    /// Reads a content, which begins with the state of its surroundings.
    fn content(
        &mut self,
        content: &[u8],
        resources: &Resources<'a>,
        shown: &mut ShownObject,
        depth: usize,
        state: State,
    ) -> Result<(), Unread> {
        self.draw(content.len(), shown)?;
        let mut states = States::new(state);
        for (count, operation) in Content::decode_iter(content).enumerate() {
            if count % 1024 == 0 {
                self.cancel.check()?;
            }
            // What comes behind a mistake cannot be read.
            let Ok(operation) = operation else { break };
            let operands = operation.operands.as_slice();
            states.set(&operation.operator, operands);
            match operation.operator.as_str() {
                "Tf" => states.current.font = self.font(operands.first(), resources),
                "Tj" | "TJ" | "'" => self.write(&mut states, operands, shown)?,
                // Its first two operands are spaces.
                "\"" => self.write(&mut states, operands.get(2..).unwrap_or_default(), shown)?,
                "BI" => shown.inline_images += 1,
                "Do" if depth < MOST_DEPTH => {
                    let named = operands.first().and_then(|name| name.as_name().ok());
                    let object = named.and_then(|name| resources.get(self.document, b"XObject", name));
                    if let Some(Object::Stream(form)) = object
                        && is_form(form)
                    {
                        self.form(form, resources, shown, depth, states.current)?;
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
        mut state: State,
    ) -> Result<(), Unread> {
        self.draw(LEAST_FORM, shown)?;
        let matrix = form.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array);
        if let Some(matrix) = matrix.ok().and_then(|numbers| Matrix::of(numbers)) {
            state.place = matrix.then(state.place);
        }
        // A form without resources of its own uses those around it.
        let resources =
            self.document.get_dict_in_dict(&form.dict, b"Resources").map_or_else(|_| around.clone(), |own| Resources(vec![own]));
        match form.get_plain_content_with_limit(shown.bytes_left.min(self.bytes_left)) {
            Ok(content) => self.content(&content, &resources, shown, depth + 1, state),
            Err(Error::Decompress(_)) => Err(self.too_much()),
            Err(_) => Ok(()),
        }
    }

    fn font(&mut self, name: Option<&Object>, resources: &Resources<'a>) -> Option<*const Dictionary> {
        let font = resources.get(self.document, b"Font", name?.as_name().ok()?)?.as_dict().ok()?;
        let place = std::ptr::from_ref(font);
        if !self.fonts.contains_key(&place) {
            let read = Font::of(self.document, font, &mut self.font_bytes_left);
            self.fonts.insert(place, read);
        }
        Some(place)
    }

    fn write(&self, states: &mut States, operands: &[Object], shown: &mut ShownObject) -> Result<(), Unread> {
        if let Some(Some(font)) = states.current.font.and_then(|place| self.fonts.get(&place)) {
            states.write(font, operands, &mut shown.drawn);
        }
        if shown.drawn.is_too_much() { Err(Unread::Page) } else { Ok(()) }
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
            "BT /F1 9 Tf 0 90 Td (before) Tj ET 1 0 0 1 0 80 cm /X Do BT 0 -10 Td (after) Tj 9 TL T* [(wo) -250 (rd) 20 (s)] TJ ET BI /W 1 /H 1 /BPC 8 /CS /G ID X EI BT 0 -30 Td (end) Tj ET",
            // The form has no font of its own, and the second picture is not in it.
            vec![("X", stream(FORM, inner, "BT (inside) Tj ET")), ("P", stream("Image", dictionary! {}, ""))],
        );
        let page = read(&document).unwrap();
        assert_eq!(page.text, "before\ninside\nafter\nwo rds\nend");
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

    fn text_of(content: &str) -> String {
        read(&page_of(content, vec![])).unwrap().text
    }

    #[test]
    fn each_way_to_move_to_a_new_line_makes_one() {
        for (content, expected) in [
            ("1 0 0 1 50 700 Tm (12) Tj 1 0 0 1 50 680 Tm (500) Tj", "12\n500"),
            ("50 700 Td (12) Tj 0 -20 Td (500) Tj 60 0 Td (7) Tj", "12\n500  7"),
            ("50 700 Td (12) Tj 0 -12 TD (500) Tj T* (7) Tj", "12\n500\n7"),
            ("9 TL 50 700 Td (12) Tj (500) ' 0 0 (7) \"", "12\n500\n7"),
        ] {
            assert_eq!(text_of(&format!("BT /F1 10 Tf {content} ET")), expected, "{content}");
        }
    }

    #[test]
    fn distances_and_sizes_are_those_of_the_page() {
        for (content, expected) in [
            // Set back with the state; a sheet that is drawn upside down; letters of a negative size.
            ("q /F1 10 Tf 9 Tc Q 50 700 Td /F1 10 Tf (12) Tj 12 0 Td (500) Tj", "12500"),
            ("q .2 0 0 -.2 0 800 cm /F1 50 Tf 1 0 0 -1 9 300 Tm (12) Tj 1 0 0 -1 9 370 Tm (500) Tj Q", "12\n500"),
            ("/F1 -10 Tf -1 0 0 -1 9 300 Tm (12) Tj -12 0 Td (500) Tj 0 20 Td (7) Tj", "12500\n7"),
            // Wide letters, narrow letters, spaced letters, wide blanks, a higher text.
            ("/F1 10 Tf 9 700 Td 200 Tz (12) Tj 24 0 Td (500) Tj", "12500"),
            ("/F1 10 Tf 9 700 Td 50 Tz (12) Tj 12 0 Td (500) Tj", "12  500"),
            ("/F1 10 Tf 9 700 Td 3 Tc (12) Tj 18 0 Td (500) Tj", "12500"),
            // Cells of one digit in one text, and in front of another one.
            ("/F1 10 Tf 9 700 Td 24 Tc (123) Tj 0 Tc (500) Tj", "1  2  3  500"),
            ("/F1 10 Tf 9 700 Td 30 Tw (12 500) Tj", "12  500"),
            ("/F1 10 Tf 9 700 Td (12) Tj 8 Ts (500) Tj", "500\n12"),
            ("/F1 10 Tf 9 700 Td [(1) 20 (2) -300 (500) -2000 (7)] TJ 3 Tr (seen) Tj", "12 500  7seen"),
        ] {
            assert_eq!(text_of(&format!("BT {content} ET")), expected, "{content}");
        }
    }

    #[test]
    fn a_turned_page_and_a_form_with_a_place_of_its_own_are_read_as_they_are_shown() {
        let mut document = page_of("BT /F1 10 Tf 0 1 -1 0 100 50 Tm (12) Tj 0 -20 Td (500) Tj 60 0 Td (7) Tj ET", vec![]);
        let (page, tree) =
            (document.page_iter().next().unwrap(), document.catalog().unwrap().get(b"Pages").unwrap().as_reference().unwrap());
        document.get_dictionary_mut(tree).unwrap().set("Rotate", 90);
        assert_eq!(read(&document).unwrap().text, "12\n500  7");
        document.get_dictionary_mut(page).unwrap().set("Rotate", 0);
        assert_eq!(read(&document).unwrap().text, "12\n500  7");

        let mut form = stream(FORM, dictionary! {}, "BT /F1 10 Tf (form) Tj ET").as_stream().unwrap().clone();
        form.dict.set("Matrix", vec![1.into(), 0.into(), 0.into(), 1.into(), 0.into(), 90.into()]);
        form.dict.remove(b"Resources");
        let document = page_of("BT /F1 10 Tf 0 50 Td (page) Tj ET /X Do q 1 0 0 1 0 -80 cm /X Do Q", vec![("X", form.into())]);
        assert_eq!(read(&document).unwrap().text, "form\npage\nform");
    }
}
