//! Files for `read` steps from end to end.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::super::testing::{pdf_of, png_of, sheet_of, sheet_xml, word_of, workbook, zip_of};
use super::*;
use crate::port::ValueCount;

type Outcome = Result<(FileContent, Vec<TableSource>), Failure>;

fn read_with(data: &DataFiles, path: &Path, kind: Option<&str>) -> Outcome {
    let request = ReadRequest { path: path.to_owned(), kind: kind.map(str::to_owned), timeout: Duration::from_secs(60) };
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(data.read(request))
}

fn read(name: &str, content: impl AsRef<[u8]>, kind: Option<&str>) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read_with(&DataFiles::default(), &path, kind)
}

fn content(name: &str, bytes: impl AsRef<[u8]>) -> FileContent {
    read(name, bytes, None).unwrap().0
}

fn summary(name: &str, bytes: impl AsRef<[u8]>) -> (String, String) {
    let content = content(name, bytes);
    (content.kind, content.summary)
}

#[test]
fn a_text_is_read_as_it_is() {
    let read = content("notes.md", "\u{FEFF}# Überschrift\n\nText\n");
    assert_eq!((read.kind.as_str(), read.text.as_str()), ("text", "# Überschrift\n\nText\n"));
    assert_eq!(read.summary, "Text of 3 lines and 20 characters.");
    assert!(read.path.ends_with("notes.md"));
    assert_eq!(summary("LICENSE", "free").1, "Text of 1 line and 4 characters.");
}

#[test]
fn a_table_is_summed_up_and_its_name_works_in_later_queries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("US Cities.csv");
    std::fs::write(&path, "name,state\nAustin,TX\nDallas,TX\n").unwrap();
    let data = DataFiles::default();
    let (content, tables) = read_with(&data, &path, None).unwrap();
    assert_eq!((content.kind.as_str(), content.summary.as_str()), ("table", "Table of 2 rows and 2 columns."));
    assert_eq!(content.tables[0].name, "us_cities");
    assert_eq!(content.tables[0].columns[1].top_3, [ValueCount { value: json!("TX"), count: 2 }]);
    let request = QueryRequest {
        engine: SqlEngine::Sqlite,
        tables,
        query: "select count(*) as n from us_cities".to_owned(),
        with: std::collections::BTreeMap::new(),
        max_rows: 10,
        timeout: Duration::from_secs(60),
    };
    let rows = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(data.query(request)).unwrap();
    assert_eq!(json!(rows.rows), json!([{ "n": 2 }]));
}

#[test]
fn a_workbook_with_cells_outside_of_any_sheet_is_unreadable() {
    let xml = sheet_xml(&[r#"<c r="A1"><v>1</v></c>"#]).replace("<row r=\"1\">", "<row r=\"99999999999\">");
    let (kind, summary) = summary("rows.xlsx", workbook(&[("Hours", &xml)]));
    assert_eq!((kind.as_str(), summary.as_str()), ("unreadable", "rows.xlsx is damaged. Open it in its program and save it again."));
}

#[test]
fn each_sheet_is_a_table_and_an_empty_one_is_left_out() {
    let book =
        workbook(&[("Hours", &sheet_of(&[&["id", "h"], &["p7", "8"]])), ("Old Hours", &sheet_of(&[&["x"]])), ("Empty", &sheet_of(&[]))]);
    let (content, tables) = read("Book.xlsx", &book, None).unwrap();
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["book_hours", "book_old_hours"]);
    assert_eq!(
        content.summary,
        "2 tables: book_hours (1 row), book_old_hours (0 rows). \"Empty\" was left out: Book.xlsx is empty. The first line must be the names of the columns."
    );
    let single = workbook(&[("Sheet1", &sheet_of(&[&["id"], &["p7"]]))]);
    assert_eq!(read("Book.xlsx", &single, None).unwrap().1[0].name, "book");
    assert_eq!(summary("book", &single).0, "table", "an Excel file without ending is known by its content");
}

#[test]
fn a_sqlite_file_gives_its_tables() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let path = folder.path().join("crm.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("create table a(x boolean); insert into a values (1), (0), (1); create table b(y);").unwrap();
    drop(connection);
    let (content, tables) = read_with(&DataFiles::default(), &path, None).unwrap();
    assert_eq!(content.summary, "2 tables: crm_a (3 rows), crm_b (0 rows).");
    let column = &content.tables[0].columns[0];
    assert_eq!((&column.min, &column.max), (&json!(false), &json!(true)));
    assert_eq!(json!(column.top_3), json!([{ "value": true, "count": 2 }, { "value": false, "count": 1 }]));
    assert_eq!(tables[1].table.as_deref(), Some("b"));
}

#[test]
fn documents_give_pages_and_pictures_their_size() {
    let pdf = content("report.pdf", pdf_of(&["One", "Two"]));
    assert_eq!((pdf.kind.as_str(), pdf.text.as_str(), pdf.pages.len()), ("document", "One\n\nTwo", 2));
    assert_eq!(pdf.summary, "PDF document of 2 pages.");
    assert_eq!(summary("scan.pdf", pdf_of(&[""])).1, "PDF document of 1 page without readable text; perhaps its pages are pictures.");
    assert_eq!(summary("offer.docx", word_of("<w:p><w:r><w:t>Hi</w:t></w:r></w:p>")).1, "Word document of 1 line.");
    let picture = content("logo.png", png_of(640, 480));
    assert_eq!((picture.kind.as_str(), picture.width, picture.height), ("image", Some(640), Some(480)));
    assert_eq!(picture.summary, "PNG picture, 640 × 480 pixels.");
    assert_eq!(summary("logo", png_of(1, 2)).0, "image");
}

#[test]
fn what_cannot_be_read_says_why() {
    for (name, bytes, part) in [
        ("a.csv", &b"a,b\n1\n"[..], "a.csv, line 2 has 1 cell"),
        ("a.bin", b"\x00\x01\x02", "zero bytes"),
        ("a.txt", b"caf\xE9", "not UTF-8 text"),
        ("a.pdf", b"hello", "a.pdf is not a PDF document"),
        ("a.png", b"hello", "not a picture"),
        ("a.parquet", b"PAR1\x15", if cfg!(feature = "duckdb") { "cannot be read as a Parquet file" } else { "no DuckDB engine" }),
        ("a.xls", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "of an old kind"),
        ("a.zip", b"PK\x03\x04\0\0", "an Excel, Word or zip file"),
        ("a.db", b"SQLite format 3\0rubbish", "cannot be read as a SQLite database"),
    ] {
        let (kind, sentence) = match read(name, bytes, None) {
            Ok((content, _)) => (content.kind, content.summary),
            Err(failure) => (format!("{:?}", failure.kind), failure.message),
        };
        assert!(sentence.contains(part) && ["unreadable", "Unavailable"].contains(&kind.as_str()), "{name}: {kind}: {sentence}");
    }
}

#[test]
fn a_type_that_was_asked_for_is_kept_or_fails() {
    assert_eq!(read("people.csv", "a,b\n1\n", Some("text")).unwrap().0.kind, "text");
    assert_eq!(read("people.txt", "a,b\n1,2\n", Some("table")).unwrap().0.tables[0].row_count, 1);
    for (name, bytes, kind) in
        [("people.csv", "a,b\n1\n", "table"), ("a.txt", "x", "image"), ("a.txt", "x", "document"), ("a.txt", "x", "sound")]
    {
        assert_eq!(read(name, bytes, Some(kind)).unwrap_err().kind, FailureKind::WrongType, "{kind}");
    }
}

#[test]
fn a_table_may_be_larger_than_other_files_whatever_its_ending() {
    let rows = format!("a,b\n{}", format!("1,{}\n", "x".repeat(60_000)).repeat(560));
    assert!(rows.len() > 32 << 20);
    for name in ["big.csv", "big.dat"] {
        assert_eq!(read(name, rows.as_str(), Some("table")).unwrap().0.tables[0].row_count, 560, "{name}");
    }
}

#[test]
fn missing_large_and_packed_files_fail() {
    assert_eq!(read_with(&DataFiles::default(), Path::new("nowhere/x.txt"), None).unwrap_err().kind, FailureKind::Unavailable);
    assert_eq!(read("big.txt", vec![b'a'; (8 << 20) + 1], None).unwrap_err().kind, FailureKind::TooLarge);
    let zeros = vec![b'0'; 3 << 20];
    for name in ["bomb.xlsx", "bomb.docx"] {
        assert_eq!(read(name, zip_of(&[("xl/workbook.xml", &zeros)]), None).unwrap_err().kind, FailureKind::TooLarge, "{name}");
    }
}

proptest! {
    #[test]
    fn any_bytes_under_any_ending_are_content_or_a_sentence(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        start in proptest::sample::select(vec![&b""[..], b"PK\x03\x04", b"%PDF-1.5\n", b"SQLite format 3\0", b"\x89PNG\r\n\x1a\n", b"\xFF\xFE", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"]),
        ending in proptest::sample::select(vec!["txt", "csv", "tsv", "xlsx", "db", "pdf", "docx", "png", "tiff", "bin"]),
    ) {
        match read(&format!("x.{ending}"), [start, &bytes].concat(), None) {
            Ok((content, _)) => prop_assert!(!content.summary.is_empty()),
            Err(failure) => prop_assert!(failure.kind != FailureKind::Internal, "{failure:?}"),
        }
    }
}
