//! Which letters the codes of a font of a PDF file are (ISO 32000-1, 9.6.6 and 9.10).

use lopdf::{Dictionary, Document, Encoding, Object};

use super::pdf_unicode::Table;

/// Maximum size of the tables of all fonts, which stay in memory, and of the fonts themselves that are looked into, in bytes.
const MOST_FONT_BYTES: usize = 32 << 20;
const MOST_PROGRAM_BYTES: usize = 64 << 20;
/// What the letters of a font of 256 codes take, in bytes; and at most a byte of a table of letters.
const BYTES_OF_LETTERS: usize = 256 * size_of::<String>();
const BYTES_OF_TABLE: usize = 8;

/// Letters that a font joins.
const JOINED: [(char, &str); 7] = [
    ('\u{FB00}', "ff"),
    ('\u{FB01}', "fi"),
    ('\u{FB02}', "fl"),
    ('\u{FB03}', "ffi"),
    ('\u{FB04}', "ffl"),
    ('\u{FB05}', "st"),
    ('\u{FB06}', "st"),
];

/// How many bytes the fonts may still take.
pub(super) struct FontBytes {
    tables: usize,
    programs: usize,
}

impl FontBytes {
    /// Those of a document.
    pub(super) fn of_document() -> FontBytes {
        FontBytes { tables: MOST_FONT_BYTES, programs: MOST_PROGRAM_BYTES }
    }

    /// Takes the size of a table. `None`: too few are left.
    pub(super) fn take(&mut self, bytes: usize) -> Option<()> {
        self.tables = self.tables.checked_sub(bytes)?;
        Some(())
    }
}

/// Which letters the codes are.
pub(super) enum Letters {
    /// Of each code of one byte.
    OfByte(Vec<String>),
    /// Of codes of two bytes.
    OfTwo(Table),
    /// The codes are UTF-16.
    Utf16,
}

impl Letters {
    /// Reads what a font says. `None`: it is not known, or larger than what is left.
    pub(super) fn of(document: &Document, font: &Dictionary, bytes_left: &mut FontBytes) -> Option<Letters> {
        let mut table = None;
        if let Ok(stream) = font.get_deref(b"ToUnicode", document).and_then(Object::as_stream) {
            let content = match stream.get_plain_content_with_limit(bytes_left.tables) {
                Err(lopdf::Error::Decompress(_)) => return None,
                content => content.unwrap_or_default(),
            };
            bytes_left.take(content.len() * BYTES_OF_TABLE)?;
            table = Some(Table::of(&content)).filter(|table| !table.is_empty());
        }
        if font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Type0") {
            return match font.get_deref(b"Encoding", document) {
                Ok(Object::Name(name)) if name.starts_with(b"Identity") => table.map(Letters::OfTwo),
                // The codes of another named encoding are not always of two bytes.
                Ok(Object::Name(name)) => {
                    let has = |word: &[u8]| name.windows(word.len()).any(|part| part == word);
                    (name.starts_with(b"Uni") && (has(b"UCS2") || has(b"UTF16"))).then_some(Letters::Utf16)
                }
                _ => table.map(Letters::OfTwo),
            };
        }
        bytes_left.take(BYTES_OF_LETTERS)?;
        Some(Letters::OfByte(of_bytes(document, font, table, bytes_left)))
    }

    /// How many bytes a code has.
    pub(super) fn bytes_of_code(&self) -> usize {
        match self {
            Letters::OfByte(_) => 1,
            Letters::OfTwo(_) | Letters::Utf16 => 2,
        }
    }

    /// The letters of a text. Bytes that are no letter of the font are left out, and joined letters are written as those that they are.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        let mut text = String::new();
        match self {
            Letters::OfByte(letters) => text.extend(bytes.iter().filter_map(|byte| letters.get(usize::from(*byte))).map(String::as_str)),
            Letters::OfTwo(table) => {
                for code in units(bytes) {
                    table.write(code.into(), &mut text).unwrap_or_else(|| text.push(char::REPLACEMENT_CHARACTER));
                }
            }
            Letters::Utf16 => text = String::from_utf16_lossy(&units(bytes).collect::<Vec<_>>()),
        }
        for (joined, letters) in JOINED {
            if text.contains(joined) {
                text = text.replace(joined, letters);
            }
        }
        text
    }
}

fn units(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.chunks(2).map(|code| code.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte)))
}

/// The letters of a font whose codes have one byte. What stands later here goes before what stands earlier.
fn of_bytes(document: &Document, font: &Dictionary, table: Option<Table>, bytes_left: &mut FontBytes) -> Vec<String> {
    let (mut base, mut differences) = (None, None);
    match font.get_deref(b"Encoding", document) {
        Ok(Object::Name(name)) => base = Some(name.as_slice()),
        Ok(Object::Dictionary(encoding)) => {
            base = encoding.get_deref(b"BaseEncoding", document).and_then(Object::as_name).ok();
            differences = encoding.get_deref(b"Differences", document).and_then(Object::as_array).ok();
        }
        _ => {}
    }
    let mut letters = vec![String::new(); 256];
    let encoded = base.map_or_else(Dictionary::new, |name| Dictionary::from_iter([("Encoding", Object::Name(name.to_vec()))]));
    overlay(&mut letters, document, encoded);
    if base.is_none() {
        for (code, name) in built_in(document, font, bytes_left) {
            set(&mut letters, document, code, &name);
        }
    }
    let mut code = 0;
    for object in differences.into_iter().flatten() {
        match object {
            Object::Integer(number) => code = usize::try_from(*number).unwrap_or(256),
            Object::Name(name) => {
                set(&mut letters, document, code, name);
                code += 1;
            }
            _ => {}
        }
    }
    if let Some(table) = table {
        for (code, letter) in (0..).zip(&mut letters) {
            let mut listed = String::new();
            if table.write(code, &mut listed).is_some() {
                *letter = listed;
            }
        }
    }
    // A tab between two figures is no letter, but it parts them.
    for code in [b'\t', b'\n', b'\r'] {
        if let Some(letter) = letters.get_mut(usize::from(code)).filter(|letter| letter.is_empty()) {
            *letter = " ".to_owned();
        }
    }
    letters
}

/// Sets the letters that a font with this encoding has.
fn overlay(letters: &mut [String], document: &Document, mut font: Dictionary) {
    font.set("Type", Object::Name(b"Font".to_vec()));
    let Ok(encoding) = font.get_font_encoding_with_limit(document, MOST_FONT_BYTES) else { return };
    for (code, letter) in (0..=u8::MAX).zip(letters) {
        letter.clear();
        drop(encoding.write_to_string(&[code], letter));
    }
}

/// Sets the letter of a code by its name in the font. A name that nobody knows changes nothing.
fn set(letters: &mut [String], document: &Document, code: usize, name: &[u8]) {
    let Some(letter) = letters.get_mut(code) else { return };
    let name = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    if name.is_empty() {
        // The name `.notdef`.
        return letter.clear();
    }
    let parts: Option<String> = name.split(|byte| *byte == b'_').map(|part| named(document, part)).collect();
    if let Some(parts) = parts {
        *letter = parts;
    }
}

/// The letters that a name stands for.
fn named(document: &Document, name: &[u8]) -> Option<String> {
    let digits = name.strip_prefix(b"uni").or_else(|| name.strip_prefix(b"u")).filter(|digits| digits.len() >= 4);
    if let Some(digits) = digits.and_then(|digits| u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()) {
        return char::from_u32(digits).map(String::from);
    }
    let differences = Object::Array(vec![0.into(), Object::Name(name.to_vec())]);
    let encoding = Object::Dictionary(Dictionary::from_iter([("Differences", differences)]));
    let alone = Dictionary::from_iter([("Type", Object::Name(b"Font".to_vec())), ("Encoding", encoding)]);
    match alone.get_font_encoding_with_limit(document, MOST_FONT_BYTES).ok()? {
        encoding @ Encoding::Differences(_) => encoding.bytes_to_string(&[0]).ok(),
        _ => None,
    }
}

/// The codes that a font in the file names itself, as those of TeX do: `dup 59 /comma put`.
fn built_in(document: &Document, font: &Dictionary, bytes_left: &mut FontBytes) -> Vec<(usize, Vec<u8>)> {
    let described = font.get_deref(b"FontDescriptor", document).and_then(Object::as_dict);
    let program = described.and_then(|described| described.get_deref(b"FontFile", document)).and_then(Object::as_stream);
    let Some(Ok(program)) = program.ok().map(|program| program.get_plain_content_with_limit(bytes_left.programs)) else { return vec![] };
    bytes_left.programs -= program.len();
    let words: Vec<&[u8]> = program.split(u8::is_ascii_whitespace).take_while(|word| !word.ends_with(b"eexec")).collect();
    let entry = |words: &[&[u8]; 4]| match words {
        [b"dup", code, name, b"put"] => Some((str::from_utf8(code).ok()?.parse().ok()?, name.strip_prefix(b"/")?.to_vec())),
        _ => None,
    };
    words.array_windows().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use lopdf::{Stream, dictionary};

    use super::*;

    fn text(document: &Document, font: &Dictionary, bytes: &[u8]) -> String {
        Letters::of(document, font, &mut FontBytes::of_document()).unwrap().text(bytes)
    }

    #[test]
    fn a_table_of_letters_goes_before_an_encoding_and_joined_letters_are_letters() {
        let mut document = Document::new();
        let table = "2 beginbfchar\n<01> <FB03>\n<0002> <20AC>\nendbfchar";
        let table = document.add_object(Stream::new(dictionary! {}, table.into()));
        let font = dictionary! { "Type" => "Font", "Subtype" => "Type1", "Encoding" => "WinAnsiEncoding", "ToUnicode" => table };
        assert_eq!(text(&document, &font, b"O\x01ce \xFCber 5 \x02, 12\t500"), "Office über 5 €, 12 500");
    }

    #[test]
    fn codes_of_two_bytes_are_letters_by_their_table_or_by_their_encoding() {
        let mut document = Document::new();
        // Its range of codes leaves out what it uses.
        let table = "1 begincodespacerange <0003> <1A08> endcodespacerange 1 beginbfrange <0013> <001C> <0030> endbfrange";
        let table = document.add_object(Stream::new(dictionary! {}, table.into()));
        let font = dictionary! { "Type" => "Font", "Subtype" => "Type0", "Encoding" => "Identity-H", "ToUnicode" => table };
        assert_eq!(text(&document, &font, b"\0\x15\0\x13\0\x14\0\x18\0\x7F"), "2015\u{FFFD}");
        let font = dictionary! { "Type" => "Font", "Subtype" => "Type0", "Encoding" => "UniJIS-UTF16-H" };
        assert_eq!(text(&document, &font, "12 円".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>().as_slice()), "12 円");
        let font = dictionary! { "Type" => "Font", "Subtype" => "Type0", "Encoding" => "90ms-RKSJ-H", "ToUnicode" => table };
        assert!(Letters::of(&document, &font, &mut FontBytes::of_document()).is_none());
    }

    #[test]
    fn names_of_letters_are_known_one_by_one() {
        let differences = [65.into(), "nobodyknows".into(), "f_i".into(), "uni20AC".into(), "one.oldstyle".into(), ".notdef".into()];
        let encoding = dictionary! { "BaseEncoding" => "WinAnsiEncoding", "Differences" => differences.to_vec() };
        let font = dictionary! { "Type" => "Font", "Encoding" => encoding };
        assert_eq!(text(&Document::new(), &font, b"ABCDEF\xFC"), "Afi€1Fü");
    }

    #[test]
    fn a_font_in_the_file_says_itself_which_letters_it_has() {
        let mut document = Document::new();
        let program = "%!PS-AdobeFont-1.1: CMMI10\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\ndup 58 /period put\ndup 59 /comma put\n\
                       readonly def\ncurrentfile eexec dup 51 /four put";
        let program = document.add_object(Stream::new(dictionary! {}, program.into()));
        let descriptor = document.add_object(dictionary! { "FontFile" => program });
        let font = dictionary! { "Type" => "Font", "Subtype" => "Type1", "FontDescriptor" => descriptor };
        assert_eq!(text(&document, &font, b"3:14 and 750;000"), "3.14 and 750,000");
    }
}
