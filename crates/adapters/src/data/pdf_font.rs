//! What a font of a PDF file says: which letters its codes are, and how wide each is (ISO 32000-1, 9.6 to 9.10).

use std::collections::BTreeMap;

use lopdf::{Dictionary, Document, Object};

use super::pdf_letters::{FontBytes, Letters};

/// What an entry of a table of widths takes, in bytes.
const BYTES_OF_WIDTH: usize = 16;
/// The width of a letter of which nothing is known, in thousandths of its size; and of one of a font of many thousand letters.
const USUAL_WIDTH: f64 = 500.0;
const WIDTH_IN_LARGE_FONT: f64 = 1000.0;

/// A font.
pub(super) struct Font {
    pub(super) letters: Letters,
    widths: Widths,
    /// Whether its lines go down.
    pub(super) is_vertical: bool,
    /// How large its letters are at the size of 1: those that the file itself draws have a measure of their own.
    pub(super) scale: f64,
}

/// How wide the codes are, in thousandths of the size.
enum Widths {
    /// By code.
    Listed { widths: BTreeMap<u16, f64>, otherwise: f64 },
    /// Those of a font that each reader knows, from the blank on, and of its other letters.
    Standard(&'static [u16; 95], f64),
}

impl Widths {
    /// How wide a letter is on average.
    fn middle(&self) -> f64 {
        match self {
            Widths::Listed { widths, .. } if widths.values().any(|width| *width > 0.0) => {
                let seen = || widths.values().filter(|width| **width > 0.0);
                seen().sum::<f64>() / seen().count() as f64
            }
            _ => USUAL_WIDTH,
        }
    }
}

impl Font {
    /// Reads a font. `None`: its letters are not known, or its tables are larger than what is left.
    pub(super) fn of(document: &Document, font: &Dictionary, bytes_left: &mut FontBytes) -> Option<Font> {
        let letters = Letters::of(document, font, bytes_left)?;
        let (widths, is_vertical) = match letters {
            Letters::OfByte(_) => (small_widths(document, font, bytes_left), false),
            Letters::OfTwo(_) | Letters::Utf16 => {
                let encoding = font.get(b"Encoding").and_then(Object::as_name);
                (large_widths(document, font, bytes_left), encoding.is_ok_and(|name| name.ends_with(b"V")))
            }
        };
        let is_drawn = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Type3");
        let scale = if is_drawn { widths.middle() / USUAL_WIDTH } else { 1.0 };
        Some(Font { letters, widths, is_vertical, scale })
    }

    /// The codes of a text, in order: how wide each is, in thousandths of the size, and whether it is the blank that a distance between words widens.
    pub(super) fn widths<'b>(&'b self, bytes: &'b [u8]) -> impl Iterator<Item = (f64, bool)> + 'b {
        bytes.chunks(self.letters.bytes_of_code()).map(|code| match *code {
            [byte] => (self.width(u16::from(byte)), byte == b' '),
            [high, low] => (self.width(u16::from_be_bytes([high, low])), false),
            _ => (0.0, false),
        })
    }

    /// How wide its blank is; 0 if it has none.
    pub(super) fn blank(&self) -> f64 {
        match (&self.letters, &self.widths) {
            (Letters::OfTwo(_) | Letters::Utf16, _) => 0.0,
            (_, Widths::Listed { widths, .. }) if !widths.is_empty() => widths.get(&32).copied().unwrap_or_default(),
            _ => self.width(32),
        }
    }

    fn width(&self, code: u16) -> f64 {
        match &self.widths {
            Widths::Listed { widths, otherwise } => widths.get(&code).copied().unwrap_or(*otherwise),
            Widths::Standard(widths, otherwise) => {
                code.checked_sub(32).and_then(|at| widths.get(usize::from(at))).map_or(*otherwise, |width| f64::from(*width))
            }
        }
    }
}

/// The widths of a font whose codes have one byte.
fn small_widths(document: &Document, font: &Dictionary, bytes_left: &mut FontBytes) -> Widths {
    let list = font.get_deref(b"Widths", document).and_then(Object::as_array);
    let Ok(list) = list else { return standard(font) };
    let number = |name: &[u8]| font.get_deref(name, document).and_then(Object::as_i64).ok();
    let first = number(b"FirstChar").and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
    let described = font.get_deref(b"FontDescriptor", document).and_then(Object::as_dict);
    let missing = described.and_then(|described| described.get_deref(b"MissingWidth", document)).and_then(Object::as_float);
    // The widths of a font that is drawn by the file itself have a measure of their own.
    let matrix = font.get_deref(b"FontMatrix", document).and_then(Object::as_array);
    let scale = matrix.ok().and_then(|matrix| matrix.first()?.as_float().ok()).map_or(1.0, |scale| f64::from(scale) * 1000.0);
    let mut widths = BTreeMap::new();
    for (code, width) in (first..256).zip(list) {
        if bytes_left.take(BYTES_OF_WIDTH).is_none() {
            break;
        }
        if let Some(width) = value(document, width) {
            widths.insert(code, width * scale);
        }
    }
    Widths::Listed { widths, otherwise: missing.map_or(USUAL_WIDTH, f64::from) }
}

/// The widths of one of the fonts that each reader knows (ISO 32000-1, 9.6.2.2). Another font without widths gets those that fit best.
fn standard(font: &Dictionary) -> Widths {
    let name =
        font.get(b"BaseFont").and_then(Object::as_name).map_or_else(|_| String::new(), |name| String::from_utf8_lossy(name).to_lowercase());
    let has = |word: &str| name.contains(word);
    let is_italic = has("italic") || has("oblique");
    match (has("bold"), is_italic) {
        _ if has("courier") => Widths::Listed { widths: BTreeMap::new(), otherwise: 600.0 },
        (false, false) if has("times") => Widths::Standard(&TIMES, 500.0),
        (true, false) if has("times") => Widths::Standard(&TIMES_BOLD, 500.0),
        (false, true) if has("times") => Widths::Standard(&TIMES_ITALIC, 500.0),
        (true, true) if has("times") => Widths::Standard(&TIMES_BOLD_ITALIC, 500.0),
        (true, _) => Widths::Standard(&HELVETICA_BOLD, 556.0),
        (false, _) => Widths::Standard(&HELVETICA, 556.0),
    }
}

/// The widths of a font whose codes have two bytes: `first [width …]` or `first last width`.
fn large_widths(document: &Document, font: &Dictionary, bytes_left: &mut FontBytes) -> Widths {
    let mut widths = BTreeMap::new();
    let mut otherwise = WIDTH_IN_LARGE_FONT;
    let fonts = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array).ok();
    let inner = fonts.and_then(|fonts| document.dereference(fonts.first()?).ok()).and_then(|(_, inner)| inner.as_dict().ok());
    let Some(inner) = inner else { return Widths::Listed { widths, otherwise } };
    if let Some(width) = inner.get(b"DW").ok().and_then(|width| value(document, width)) {
        otherwise = width;
    }
    let mut list = inner.get_deref(b"W", document).and_then(Object::as_array).map_or(&[][..], Vec::as_slice);
    let code = |object: &Object| value(document, object).map(|code| code.clamp(0.0, 65535.0) as u16);
    while let [first, second, behind @ ..] = list {
        let Some(first) = code(first) else { break };
        let listed = document.dereference(second).ok().and_then(|(_, second)| second.as_array().ok());
        let (entries, rest): (Vec<(u16, f64)>, &[Object]) = match (listed, behind) {
            (Some(listed), rest) => ((first..=u16::MAX).zip(listed.iter().filter_map(|width| value(document, width))).collect(), rest),
            (None, [width, rest @ ..]) => {
                let (Some(last), Some(width)) = (code(second), value(document, width)) else { break };
                ((first..=last).map(|code| (code, width)).collect(), rest)
            }
            (None, []) => break,
        };
        if bytes_left.take(BYTES_OF_WIDTH * (1 + entries.len())).is_none() {
            break;
        }
        widths.extend(entries);
        list = rest;
    }
    Widths::Listed { widths, otherwise }
}

fn value(document: &Document, object: &Object) -> Option<f64> {
    document.dereference(object).ok().and_then(|(_, object)| object.as_float().ok()).map(f64::from)
}

const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278,
    278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722,
    667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556,
    556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
const HELVETICA_BOLD: [u16; 95] = [
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333,
    333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722,
    667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611,
    611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
];
const TIMES: [u16; 95] = [
    250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 278,
    278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722,
    722, 944, 722, 722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500,
    500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
];
const TIMES_BOLD: [u16; 95] = [
    250, 333, 555, 500, 500, 1000, 833, 278, 333, 333, 500, 570, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 333,
    333, 570, 570, 570, 500, 930, 722, 667, 722, 722, 667, 611, 778, 778, 389, 500, 778, 667, 944, 722, 778, 611, 778, 722, 556, 667, 722,
    722, 1000, 722, 722, 667, 333, 278, 333, 581, 500, 333, 500, 556, 444, 556, 444, 333, 500, 556, 278, 333, 556, 278, 833, 556, 500, 556,
    556, 444, 389, 333, 556, 500, 722, 500, 500, 444, 394, 220, 394, 520,
];
const TIMES_ITALIC: [u16; 95] = [
    250, 333, 420, 500, 500, 833, 778, 214, 333, 333, 500, 675, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 333,
    333, 675, 675, 675, 500, 920, 611, 611, 667, 722, 611, 611, 722, 722, 333, 444, 667, 556, 833, 667, 722, 611, 722, 611, 500, 556, 722,
    611, 833, 611, 556, 556, 389, 278, 389, 422, 500, 333, 500, 500, 444, 500, 444, 278, 500, 500, 278, 278, 444, 278, 722, 500, 500, 500,
    500, 389, 389, 278, 500, 444, 667, 444, 444, 389, 400, 275, 400, 541,
];
const TIMES_BOLD_ITALIC: [u16; 95] = [
    250, 389, 555, 500, 500, 833, 778, 278, 333, 333, 500, 570, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 333,
    333, 570, 570, 570, 500, 832, 667, 667, 667, 722, 667, 667, 722, 778, 389, 500, 667, 611, 889, 722, 722, 611, 722, 667, 556, 611, 722,
    667, 889, 667, 611, 611, 333, 278, 333, 570, 500, 333, 500, 500, 444, 500, 444, 333, 500, 556, 278, 278, 500, 278, 778, 556, 500, 500,
    500, 389, 389, 278, 556, 444, 667, 500, 444, 389, 348, 220, 348, 570,
];

#[cfg(test)]
mod tests {
    use lopdf::{Stream, dictionary};

    use super::*;

    fn widths(font: &Font, bytes: &[u8]) -> Vec<f64> {
        font.widths(bytes).map(|(width, _)| width.round()).collect()
    }

    /// A table in which the code 1 is `ffi`, and 2 the sign of the euro.
    fn table(document: &mut Document, code: &str) -> Object {
        let table = format!(
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def 2 beginbfchar\n<{code}01> <FB03>\n<{code}02> <20AC>\nendbfchar\n\
             endcmap CMapName currentdict /CMap defineresource pop end end"
        );
        document.add_object(Stream::new(dictionary! {}, table.into_bytes())).into()
    }

    #[test]
    fn widths_are_those_of_the_file_or_of_the_fonts_that_each_reader_knows() {
        let mut document = Document::new();
        let descriptor = document.add_object(dictionary! { "MissingWidth" => 250 });
        let list = |widths: &[i64]| Object::Array(widths.iter().map(|width| (*width).into()).collect());
        let listed = dictionary! { "Type" => "Font", "FirstChar" => 65, "Widths" => list(&[700, 300]), "FontDescriptor" => descriptor };
        let drawn = dictionary! { "Type" => "Font", "FirstChar" => 65, "Widths" => list(&[7, 3]), "FontMatrix" => vec![0.1.into()] };
        let named = |name: &str| dictionary! { "Type" => "Font", "BaseFont" => name };
        let large = |name: &str, inner: Dictionary, table: &Object| {
            dictionary! {
                "Type" => "Font", "Subtype" => "Type0", "Encoding" => name, "ToUnicode" => table.clone(),
                "DescendantFonts" => vec![Object::Dictionary(inner)],
            }
        };
        let table = table(&mut document, "00");
        let ranges = Object::Array(vec![1.into(), list(&[11, 22]), 5.into(), 6.into(), 33.into()]);
        for (font, bytes, expected) in [
            (listed, &b"ABC"[..], [700.0, 300.0, 250.0].as_slice()),
            (drawn, b"AB", &[700.0, 300.0]),
            (named("Helvetica"), b"i1 \xFC", &[222.0, 556.0, 278.0, 556.0]),
            (named("Times-BoldItalic"), b"i1", &[278.0, 500.0]),
            (named("ABCDEF+CourierNew"), b"i1\xFC", &[600.0; 3]),
            (large("Identity-H", dictionary! { "W" => ranges }, &table), b"\0\x01\0\x02\0\x06\0\x07", &[11.0, 22.0, 33.0, 1000.0]),
            (large("Identity-V", dictionary! { "DW" => 500 }, &table), b"\0\x01\0", &[500.0, 500.0]),
        ] {
            let font = Font::of(&document, &font, &mut FontBytes::of_document()).unwrap();
            assert_eq!(widths(&font, bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
        // Letters that the file draws itself, on a grid of 100 by 100.
        let drawn = dictionary! { "Type" => "Font", "Subtype" => "Type3", "Widths" => list(&[60, 0, 40]), "FontMatrix" => vec![1.into()] };
        assert_eq!(Font::of(&document, &drawn, &mut FontBytes::of_document()).unwrap().scale, 100.0);
        // Without a table that can be read, a font of two bytes has no letters.
        let empty = document.add_object(Stream::new(dictionary! {}, vec![])).into();
        assert!(Font::of(&document, &large("Identity-H", dictionary! {}, &empty), &mut FontBytes::of_document()).is_none());
        // The widths of many fonts take no more memory than their tables may.
        let font = large("Identity-H", dictionary! { "W" => Object::Array(vec![0.into(), 65_535.into(), 9.into()]) }, &table);
        let mut left = FontBytes::of_document();
        let read: Vec<Vec<f64>> = (0..99).map(|_| widths(&Font::of(&document, &font, &mut left).unwrap(), b"\0\x01")).collect();
        assert_eq!((&read[0], &read[98]), (&vec![9.0], &vec![1000.0]));
    }
}
