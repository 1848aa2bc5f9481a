//! Files as tables.

use std::path::Path;

use super::super::testing::{sheet_of, sheet_xml, table_of, workbook};
use super::*;
use crate::model::ColumnKind;

fn rows_of(table: &TableSource) -> Value {
    rows(&[table], &format!("select * from {}", table.name))
}

#[test]
fn a_csv_file_is_a_table_with_guessed_types() {
    let (_folder, table) = entries();
    let result = answer(&DataFiles::default(), request(&[&table], "select * from entries where person = 'p7' order by day")).unwrap();
    assert_eq!(
        json!(result.rows),
        json!([
            { "person": "p7", "day": "2026-11-16", "hours": 8.5, "note": null },
            { "person": "p7", "day": "2026-11-17", "hours": 8.0, "note": "a, \"b\"" },
        ])
    );
    let columns: Vec<(&str, &str)> = result.columns.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).collect();
    assert_eq!(columns, [("person", "text"), ("day", "text"), ("hours", "number"), ("note", "text")]);
    assert!(!result.is_cut);
}

#[test]
fn whole_numbers_stay_whole_and_sums_of_halves_are_not() {
    let (_folder, table) = table_of("t.csv", "n,h\n9007199254740,0.5\n2,1.5\n");
    let result = answer(
        &DataFiles::default(),
        request(&[&table], "select sum(n) as n, sum(h) as h, count(*) as c, 1 as one, null as unknown from t"),
    )
    .unwrap();
    assert_eq!(json!(result.rows), json!([{ "n": 9_007_199_254_742_i64, "h": 2.0, "c": 2, "one": 1, "unknown": null }]));
    let kinds: Vec<&str> = result.columns.iter().map(|(_, kind)| kind.as_str()).collect();
    assert_eq!(kinds, ["integer", "number", "integer", "integer", ""]);
}

#[test]
fn identifiers_keep_their_zeros_and_plus_signs() {
    let (_folder, table) = table_of("t.csv", "zip,phone,card\n01067,+15550100,04111111111111111\n1234,+15550101,1\n");
    assert_eq!(rows(&[&table], "select * from t limit 1"), json!([{ "zip": "01067", "phone": "+15550100", "card": "04111111111111111" }]));
}

#[test]
fn declared_columns_replace_the_guess_and_misfits_name_the_line() {
    let (_folder, mut table) = table_of("t.csv", "id,active,day\n7,yes,2026-11-18\n8,,2026-11-19\n9,NO,soon\n");
    table.columns = BTreeMap::from([("ID".to_owned(), ColumnKind::Text.into()), ("active".to_owned(), ColumnKind::Boolean.into())]);
    let result = answer(&DataFiles::default(), request(&[&table], "select id, active from t order by id")).unwrap();
    assert_eq!(json!(result.rows), json!([{ "id": "7", "active": true }, { "id": "8", "active": null }, { "id": "9", "active": false }]));
    assert_eq!(result.columns[1].1, "boolean");

    table.columns.insert("day".to_owned(), ColumnKind::Date.into());
    assert_eq!(
        refusal(&[&table], "select * from t").message,
        "t.csv, line 4: \"soon\" in column \"day\" is not a date like 2026-11-18. Correct the cell, or change its type in `columns`."
    );
    table.columns = BTreeMap::from([("phone".to_owned(), ColumnKind::Text.into())]);
    assert_eq!(
        refusal(&[&table], "select * from t").message,
        "`columns` of table \"t\" names \"phone\", which t.csv does not have. Its columns are: id, active, day."
    );
}

#[test]
fn semicolons_decimal_commas_and_utf16_of_a_spreadsheet_are_read() {
    let (_folder, table) = table_of("t.csv", "day;hours\n2026-11-16;7,5\n2026-11-17;8\n");
    assert_eq!(rows(&[&table], "select sum(hours) as h from t"), json!([{ "h": 15.5 }]));
    let utf16: Vec<u8> = "\u{FEFF}name;n\nZoë;1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (_folder, table) = table_of("t.csv", utf16);
    assert_eq!(rows(&[&table], "select * from t"), json!([{ "name": "Zoë", "n": 1 }]));
}

#[test]
fn a_tsv_file_and_a_sheet_are_tables() {
    let (_folder, table) = table_of("t.tsv", "a\tb\n1\tx, y\n");
    assert_eq!(rows(&[&table], "select * from t"), json!([{ "a": 1, "b": "x, y" }]));

    let book =
        workbook(&[("Hours", &sheet_of(&[&["id", "hours", ""], &["p7", "8", "late"], &["p8", "7.5"]])), ("Notes", &sheet_of(&[&["n"]]))]);
    let (_folder, mut table) = table_of("book.xlsx", book);
    table.table = Some("Hours".to_owned());
    assert_eq!(
        rows(&[&table], "select * from book order by id"),
        json!([{ "id": "p7", "hours": 8.0, "column_3": "late" }, { "id": "p8", "hours": 7.5, "column_3": null }])
    );
}

#[test]
fn a_table_may_begin_anywhere_in_its_sheet() {
    let row = |number: u32, cells: &str| format!("<row r=\"{number}\">{cells}</row>");
    let text = |place: &str, text: &str| format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let rows = [
        row(2, &text("A2", " ")),
        row(4, &(text("C4", "id") + &text("E4", "note"))),
        row(5, "<c r=\"C5\"><v>1</v></c><c r=\"D5\"><v>2</v></c>"),
    ];
    let sheet = format!("<worksheet><sheetData>{}</sheetData></worksheet>", rows.concat());
    let (_folder, table) = table_of("book.xlsx", workbook(&[("S", &sheet)]));
    assert_eq!(rows_of(&table), json!([{ "id": 1, "column_2": 2, "note": null }]));
    // A cell left of the header belongs to the table: its column has no name.
    let sheet = sheet.replace("<row r=\"5\">", &format!("<row r=\"5\">{}", text("B5", "total")));
    let (_folder, table) = table_of("book.xlsx", workbook(&[("S", &sheet)]));
    assert_eq!(rows_of(&table), json!([{ "column_1": "total", "id": 1, "column_3": 2, "note": null }]));
}

#[test]
fn what_a_number_format_writes_beside_a_number_is_read_with_it() {
    let book = |cells: &[(&str, &str)], kind: Option<ColumnKind>| {
        let header = r#"<c r="A1" t="inlineStr"><is><t>x</t></is></c>"#.to_owned();
        let cell = |(place, (style, value)): (usize, &(&str, &str))| format!(r#"<c r="A{}" s="{style}"><v>{value}</v></c>"#, place + 2);
        let rows: Vec<String> = std::iter::once(header).chain(cells.iter().enumerate().map(cell)).collect();
        let sheet = sheet_xml(&rows.iter().map(String::as_str).collect::<Vec<_>>());
        let (folder, mut table) = table_of("book.xlsx", workbook(&[("S", &sheet)]));
        table.columns.extend(kind.map(|kind| ("x".to_owned(), kind.into())));
        let summed = answer(&DataFiles::default(), request(&[&table], "select sum(x) as x from book"));
        drop(folder);
        summed.map(|rows| json!(rows.rows)[0]["x"].as_f64().unwrap()).map_err(|failure| failure.message)
    };
    // Style 5 writes `min`, 6 `weeks`, 7 `€`, 8 `$`.
    let (minutes, weeks, euros, dollars) = (("5", "90"), ("6", "1"), ("7", "5"), ("8", "7"));
    assert_eq!(book(&[minutes, minutes], Some(ColumnKind::Duration)), Ok(3.0));
    assert_eq!(book(&[("0", "2")], Some(ColumnKind::Duration)), Ok(2.0));
    assert_eq!(book(&[minutes, minutes], None), Ok(180.0));
    assert_eq!(book(&[euros, ("0", "1"), euros], None), Ok(11.0));
    assert_eq!(book(&[euros, euros], Some(ColumnKind::Amount)), Ok(10.0));
    for (cells, kind, told) in [
        (vec![weeks], Some(ColumnKind::Duration), "row 2: \"1 weeks\" in column \"x\" is not a length of time"),
        (vec![euros, dollars], None, "row 3: \"7 $\" in column \"x\" is not an amount in €, as the cells before it are"),
        (vec![euros, dollars], Some(ColumnKind::Amount), "row 3: \"7 $\" in column \"x\" is not an amount in €"),
        (vec![euros, dollars], Some(ColumnKind::Number), "row 3: \"7 $\" in column \"x\" is not an amount in €"),
        (vec![minutes, euros], None, "is not an amount in min"),
        (vec![("0", "7"), ("0", "12345678901234568")], None, "is not certain: a number keeps about 15 of its digits there"),
    ] {
        let said = book(&cells, kind).unwrap_err();
        assert!(said.contains(told), "{said}");
    }
    assert_eq!(book(&[("0", "0.5"), ("0", "6.022e23")], None), Ok(6.022e23));
}

#[test]
fn a_sqlite_file_is_read_in_place_under_the_name_of_the_table() {
    let (_folder, mut table) = sqlite_file(
        "crm.sqlite",
        "create table Customers(id integer, name varchar(20)); insert into Customers values (1, 'Ana'); create table secret(x);",
    );
    table.table = Some("customers".to_owned());
    table.name = "clients".to_owned();
    assert_eq!(rows(&[&table], "select * from clients"), json!([{ "id": 1, "name": "Ana" }]));
    for query in [
        "select * from secret",
        "select * from file_1.secret",
        "select count(*) from file_1.customers",
        "select * from file_1.sqlite_schema",
        "select * from clients, secret",
    ] {
        let failure = refusal(&[&table], query);
        assert!(failure.kind == FailureKind::Denied || failure.message.contains("no such table"), "{query}: {failure:?}");
    }
    table.table = Some("orders".to_owned());
    assert_eq!(
        refusal(&[&table], "select * from clients").message,
        "crm.sqlite has no table \"orders\"; its tables are: Customers, secret."
    );
    table.table = None;
    assert!(refusal(&[&table], "select * from clients").message.contains("has several tables or none: Customers, secret."));
}

#[test]
fn views_of_a_sqlite_file_work_but_not_its_hidden_tables() {
    let script =
        "create table a(x); insert into a values (5); create view b as select x from a; create view hidden as select x + 1 as y from a;";
    let (_folder, mut table) = sqlite_file("v.sqlite", script);
    table.table = Some("b".to_owned());
    assert_eq!(rows(&[&table], "select x from v"), json!([{ "x": 5 }]));
    for query in [
        "select y from v, hidden",
        "select count(*) from v, hidden",
        "select y from v, file_1.hidden",
        "select count(*) from v, file_1.a",
        "with v as (select * from file_1.a) select * from v",
        "with v as (select count(*) from a) select * from v",
        "select (select count(*) from hidden) from v",
    ] {
        let failure = refusal(&[&table], query);
        assert!(failure.message.contains("no such table"), "{query}: {}", failure.message);
    }
}

#[test]
fn a_table_whose_name_an_attached_file_has_too_is_still_the_right_one() {
    let (_one, file) = sqlite_file(
        "crm.sqlite",
        "create table crm(id); insert into crm values (1); create table entries(id); insert into entries values (99);",
    );
    let (_two, table) = entries();
    let mut crm = file;
    crm.table = Some("crm".to_owned());
    let data = DataFiles::default();
    answer(&data, request(&[&crm, &table], "select * from crm")).unwrap();
    let result = answer(&data, request(&[&crm, &table], "select count(*) as n from crm join entries")).unwrap();
    assert_eq!(json!(result.rows), json!([{ "n": 3 }]));
}

#[test]
fn a_sqlite_file_is_not_changed() {
    let (_folder, table) = sqlite_file("crm.sqlite", "create table crm(id);");
    let before = std::fs::read(&table.file).unwrap();
    for query in ["delete from crm", "insert into file_1.crm values (1)", "select * from crm; drop table crm", "create table file_1.x(y)"] {
        assert!(answer(&DataFiles::default(), request(&[&table], query)).is_err(), "{query}");
    }
    assert_eq!(std::fs::read(&table.file).unwrap(), before);
}

#[test]
fn only_the_tables_a_query_names_are_opened() {
    let (_folder, table) = entries();
    let missing = TableSource { name: "gone".to_owned(), file: Path::new("nowhere/gone.csv").to_owned(), ..table.clone() };
    assert_eq!(rows(&[&table, &missing], "select count(*) as n from Entries"), json!([{ "n": 3 }]));
    let failure = refusal(&[&table, &missing], "select * from entries join gone");
    let here = std::env::current_dir().unwrap().display().to_string();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (
            FailureKind::Unavailable,
            format!("The file nowhere/gone.csv does not exist in {here}. Check the path, or put the file there.").as_str()
        )
    );
}

#[test]
fn a_file_is_loaded_once_and_again_when_it_changes() {
    let (_folder, table) = entries();
    let data = DataFiles::default();
    let count = || json!(answer(&data, request(&[&table], "select count(*) as n from entries")).unwrap().rows[0]["n"]);
    assert_eq!(count(), json!(3));
    let before = std::fs::metadata(&table.file).unwrap();
    // The same size and time: the loaded table answers.
    std::fs::write(&table.file, ENTRIES.replace("Müller\n", "M\np2,,1\n")).unwrap();
    let same = std::fs::File::options().write(true).open(&table.file).unwrap();
    same.set_len(before.len()).unwrap();
    same.set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(count(), json!(3));
    std::fs::write(&table.file, format!("{ENTRIES}p2,2026-11-18,1,\n")).unwrap();
    assert_eq!(count(), json!(4));
    assert_eq!(data.pool.idle(), 1);
    std::fs::remove_file(&table.file).unwrap();
    assert_eq!(answer(&data, request(&[&table], "select * from entries")).unwrap_err().kind, FailureKind::Unavailable);
}

#[test]
fn a_table_another_request_loaded_is_not_seen() {
    let (_one, entries) = entries();
    let (_two, people) = table_of("people.csv", "id\np7\n");
    let data = DataFiles::default();
    answer(&data, request(&[&entries, &people], "select * from people join entries")).unwrap();
    let failure = answer(&data, request(&[&entries], "select * from people")).unwrap_err();
    assert_eq!(failure.message, "SQLite: no such table: people. The tables are: entries.");
}

#[test]
fn a_name_that_now_means_another_file_is_loaded_again() {
    let (_one, first) = table_of("t.csv", "a\n1\n");
    let (_two, second) = table_of("t.csv", "a\n2\n");
    let data = DataFiles::default();
    for (table, value) in [(&first, 1), (&second, 2), (&first, 1)] {
        assert_eq!(json!(answer(&data, request(&[table], "select a from t")).unwrap().rows), json!([{ "a": value }]));
    }
}

#[test]
fn two_tables_of_one_name_are_an_error() {
    let (_one, first) = table_of("t.csv", "a\n1\n");
    let second = TableSource { name: "T".to_owned(), ..first.clone() };
    assert!(refusal(&[&first, &second], "select * from t").message.starts_with("Two tables are called \"T\"."));
}

#[test]
fn empty_broken_and_misnamed_files_say_what_to_do() {
    for (file, content, sentence) in [
        ("t.csv", &b""[..], "t.csv is empty. The first line must be the names of the columns."),
        (
            "t.csv",
            b"a,b\n1\n",
            "t.csv, line 2 has 1 cell, but the header has 2. If its last cells are empty, write a \",\" for each; if a text goes on in the next \
             line, quote it.",
        ),
        ("t.csv", b"PK\x03\x04\0\0", "t.csv is not a text: its content is an Excel, Word or zip file. Correct its file extension."),
        ("t.sqlite", b"a,b\n", "t.sqlite is not a SQLite database."),
        ("t.xlsx", b"a,b\n", "t.xlsx is not an Excel file. Save it as \"Excel workbook (.xlsx)\", or correct its file extension."),
    ] {
        let (_folder, table) = table_of(file, content);
        let failure = refusal(&[&table], "select * from t");
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::WrongType, sentence));
    }
}

#[test]
fn a_table_that_could_not_be_loaded_leaves_nothing_behind() {
    let (_folder, table) = table_of("t.csv", "a\n1\n");
    let data = DataFiles::default();
    let mut broken = table.clone();
    broken.columns = BTreeMap::from([("a".to_owned(), ColumnKind::Date.into())]);
    assert!(answer(&data, request(&[&broken], "select * from t")).is_err());
    assert_eq!(json!(answer(&data, request(&[&table], "select * from t")).unwrap().rows), json!([{ "a": 1 }]));
}

#[cfg(not(feature = "duckdb"))]
#[test]
fn duckdb_files_say_how_to_get_the_engine() {
    let (_folder, table) = table_of("sales.parquet", "PAR1");
    let failure = refusal(&[&table], "select * from sales");
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.starts_with("This build of flow has no DuckDB engine"), "{}", failure.message);
    assert!(failure.message.contains("--features duckdb-bundled"), "{}", failure.message);
}

#[test]
fn sqlite_is_not_asked_about_a_parquet_file() {
    let (_folder, table) = table_of("sales.parquet", "PAR1");
    let table = TableSource { engine: SqlEngine::Sqlite, ..table };
    let failure = refusal(&[&table], "select * from sales");
    assert_eq!(failure.message, "The table \"sales\" is a Parquet file, which SQLite cannot read. Take `engine: sqlite` out of it.");
}
