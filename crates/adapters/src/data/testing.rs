//! Files for the tests of this folder, made in memory.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use lopdf::content::{Content, Operation};
use lopdf::{Document, Object, Stream, dictionary};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::model::DataKind;
use crate::port::TableSource;

/// A zip archive, deflated.
pub(super) fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A sheet with these rows; each is the XML of its cells. Style 1 is a date, 2 a date and time, 3 a time, 4 hours beyond 24; 5 writes `min` beside a number,
/// 6 `weeks`, 7 `€` and 8 `$`.
pub(super) fn sheet_xml(rows: &[&str]) -> String {
    let rows: String = rows.iter().enumerate().map(|(index, cells)| format!("<row r=\"{}\">{cells}</row>", index + 1)).collect();
    format!("<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>{rows}</sheetData></worksheet>")
}

/// A sheet of texts and numbers.
pub(super) fn sheet_of(rows: &[&[&str]]) -> String {
    let cell = |(column, text): (usize, &&str)| {
        let name = char::from(b'A' + u8::try_from(column).unwrap());
        match text.parse::<f64>() {
            Ok(_) => format!("<c r=\"{name}ROW\"><v>{text}</v></c>"),
            Err(_) => format!("<c r=\"{name}ROW\" t=\"inlineStr\"><is><t>{text}</t></is></c>"),
        }
    };
    let rows: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(index, cells)| cells.iter().enumerate().map(cell).collect::<String>().replace("ROW", &(index + 1).to_string()))
        .collect();
    sheet_xml(&rows.iter().map(String::as_str).collect::<Vec<_>>())
}

/// An Excel file with these sheets.
pub(super) fn workbook(sheets: &[(&str, &str)]) -> Vec<u8> {
    let names: String = sheets
        .iter()
        .enumerate()
        .map(|(index, (name, _))| format!("<sheet name=\"{name}\" sheetId=\"{0}\" r:id=\"rId{0}\"/>", index + 1))
        .collect();
    let links: String = (1..=sheets.len())
        .map(|number| {
            format!("<Relationship Id=\"rId{number}\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/sheet{number}.xml\"/>")
        })
        .collect();
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let workbook = format!("<workbook xmlns=\"{main}\" xmlns:r=\"{relations}\"><sheets>{names}</sheets></workbook>");
    let links = format!("<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{links}</Relationships>");
    let root = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" \
        Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>";
    let styles = format!(
        "<styleSheet xmlns=\"{main}\"><numFmts count=\"4\"><numFmt numFmtId=\"165\" formatCode=\"0&quot; min&quot;\"/><numFmt numFmtId=\"166\" formatCode=\"0&quot; weeks&quot;\"/><numFmt numFmtId=\"167\" formatCode=\"[$€-407] 0.00\"/><numFmt numFmtId=\"168\" formatCode=\"&quot;$&quot;0.00\"/></numFmts><cellXfs count=\"9\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"22\"/><xf numFmtId=\"20\"/><xf numFmtId=\"46\"/><xf numFmtId=\"165\"/><xf numFmtId=\"166\"/><xf numFmtId=\"167\"/><xf numFmtId=\"168\"/></cellXfs></styleSheet>"
    );
    let paths: Vec<String> = (1..=sheets.len()).map(|number| format!("xl/worksheets/sheet{number}.xml")).collect();
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("_rels/.rels", root.as_bytes()),
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/_rels/workbook.xml.rels", links.as_bytes()),
        ("xl/styles.xml", styles.as_bytes()),
    ];
    entries.extend(paths.iter().zip(sheets).map(|(path, (_, xml))| (path.as_str(), xml.as_bytes())));
    zip_of(&entries)
}

/// A Word file with this body.
pub(super) fn word_of(body: &str) -> Vec<u8> {
    zip_of(&[("word/document.xml", format!("<w:document><w:body>{body}</w:body></w:document>").as_bytes())])
}

/// A PDF file with a page for each text.
pub(super) fn pdf_of(texts: &[&str]) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let root = document.new_object_id();
    let font = document.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier" });
    let resources = document.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
    let mut pages: Vec<Object> = Vec::new();
    for text in texts {
        let operations = vec![
            Operation::new("BT", vec![]),
            Operation::new("Tf", vec!["F1".into(), 12.into()]),
            Operation::new("Td", vec![50.into(), 700.into()]),
            Operation::new("Tj", vec![Object::string_literal(*text)]),
            Operation::new("ET", vec![]),
        ];
        let content = document.add_object(Stream::new(dictionary! {}, Content { operations }.encode().unwrap()));
        pages.push(document.add_object(dictionary! { "Type" => "Page", "Parent" => root, "Contents" => content }).into());
    }
    let count = i64::try_from(pages.len()).unwrap();
    let tree = dictionary! {
        "Type" => "Pages", "Kids" => pages, "Count" => count, "Resources" => resources,
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    };
    document.objects.insert(root, Object::Dictionary(tree));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => root });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

/// The start of a PNG file of this size.
pub(super) fn png_of(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0]);
    bytes
}

/// A file in its own folder, as a table with the name of the file.
pub(super) fn table_of(file: &str, content: impl AsRef<[u8]>) -> (TempDir, TableSource) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    std::fs::write(&path, content).unwrap();
    let (name, ending) = file.split_once('.').unwrap();
    let kind = DataKind::of_ending(ending).unwrap();
    (
        folder,
        TableSource {
            name: name.to_owned(),
            file: path,
            kind,
            table: None,
            columns: BTreeMap::new(),
            pii: vec![],
            engine: kind.engine(),
            form: Default::default(),
        },
    )
}
