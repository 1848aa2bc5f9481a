//! What a table says is what was meant: whole numbers, notations, separators, merged cells, bad cells of others.

use super::super::testing::{sheet_xml, table_of, workbook};
use super::*;
use crate::model::{ColumnForm, ColumnKind, TableForm};

fn declared(file: &str, content: impl AsRef<[u8]>, columns: &[(&str, ColumnForm)]) -> (TempDir, TableSource) {
    let (folder, mut table) = table_of(file, content);
    table.columns = columns.iter().map(|(name, form)| ((*name).to_owned(), form.clone())).collect();
    (folder, table)
}

#[test]
fn whole_numbers_of_64_bits_are_compared_and_ordered_as_numbers() {
    let ids = "tx,amount\n1234567890123456,10\n9007199254740993,20\n9007199254740992,20\n99,30\n";
    let query = "select max(tx) as most, min(tx) as least, count(*) filter (where tx > 100) as n, count(distinct tx) as d from t";
    let wanted = json!([{ "most": 9_007_199_254_740_993_i64, "least": 99, "n": 3, "d": 4 }]);
    let (_folder, table) = table_of("t.csv", ids);
    assert_eq!(rows(&[&table], query), wanted);
    assert_eq!(rows(&[&table], "select tx from t order by tx desc limit 1"), json!([{ "tx": 9_007_199_254_740_993_i64 }]));
    let (_folder, table) = declared("t.csv", ids, &[("tx", ColumnKind::Integer.into())]);
    assert_eq!(rows(&[&table], query), wanted);
    let lines = "{\"tx\": 1234567890123456}\n{\"tx\": 9007199254740993}\n{\"tx\": 9007199254740992}\n{\"tx\": 99}\n";
    let (_folder, table) = table_of("t.jsonl", lines);
    assert_eq!(rows(&[&table], query), wanted);
    let (_folder, table) = declared("t.csv", "tx\n1234567890123456\n7.5\n", &[("tx", ColumnKind::Number.into())]);
    assert_eq!(rows(&[&table], "select max(tx) as most from t"), json!([{ "most": 1_234_567_890_123_456.0 }]));
    let (_folder, table) = declared("t.csv", "tx\n12345678901234567890\n", &[("tx", ColumnKind::Integer.into())]);
    assert!(refusal(&[&table], "select tx from t").message.contains("is not a whole number of at most 64 bits"));
}

#[test]
fn amounts_and_lengths_of_time_are_added_up_as_they_were_meant() {
    let amount = |decimal| ColumnForm { decimal, ..ColumnKind::Amount.into() };
    let hours = || ColumnForm::from(ColumnKind::Duration);
    for (form, cells, total) in [
        (hours(), &["1:30", "0:45", "8:00"][..], 10.25),
        (hours(), &["1h30", "90 min", "PT2H", "1.5h"], 6.5),
        (amount(None), &["1’250.50", "900.00", "10.00"], 2160.5),
        (amount(None), &["1 250,50", "900,00", "2 000,00"], 4150.5),
        (amount(None), &["1\u{a0}250.50", "2\u{202f}900.00"], 4150.5),
        (amount(None), &["(35.00)", "12.00", "(5.00)"], -28.0),
        (amount(None), &["35.00-", "12.00", "−5.00"], -28.0),
        (amount(None), &["US$12.50", "US$7", "1"], 20.5),
        (amount(None), &["12,50 zł", "7,00 zł"], 19.5),
        (amount(None), &["1.2k", "3k", "10k"], 14_200.0),
        (amount(None), &["1,25,000", "50,000.0"], 175_000.0),
        (amount(None), &["٣", "１２"], 15.0),
        (amount(Some('.')), &["1,250", "900", "2,000"], 4150.0),
        (amount(Some(',')), &["1.250", "12,50"], 1262.5),
        (ColumnForm { decimal: Some(','), ..ColumnKind::Number.into() }, &["7,5", "8"], 15.5),
    ] {
        let lines: String = cells.iter().map(|cell| format!("1,\"{cell}\"\n")).collect();
        let (_folder, table) = declared("t.csv", format!("id,x\n{lines}"), &[("x", form)]);
        assert_eq!(rows(&[&table], "select sum(x) as total from t"), json!([{ "total": total }]), "{cells:?}");
    }
    for (cells, why) in [
        (
            &["12.50", "1,250"][..],
            "t.csv, line 3: \"1,250\" in column \"x\" is not certain: its last three digits may be decimals or thousands",
        ),
        (&["$12.50", "€7"], "t.csv, line 3: \"€7\" in column \"x\" is not an amount in $, as the cells before it are"),
        (&["12.5%"], "of percents nobody can say whether"),
        (&["n/a"], "\"n/a\" in column \"x\" is not an amount."),
    ] {
        let lines: String = cells.iter().map(|cell| format!("1,\"{cell}\"\n")).collect();
        let (_folder, table) = declared("t.csv", format!("id,x\n{lines}"), &[("x", amount(None))]);
        let failure = refusal(&[&table], "select sum(x) from t");
        assert_eq!(failure.kind, FailureKind::WrongType);
        assert!(failure.message.contains(why), "{}", failure.message);
    }
}

#[test]
fn a_bad_cell_of_one_row_fails_where_it_is_read() {
    let entries = "person,hours,done\np1,8,yes\np3,7h30,no\np7,7.5,maybe\n";
    let (_folder, table) = declared("t.csv", entries, &[("hours", ColumnKind::Number.into()), ("done", ColumnKind::Boolean.into())]);
    assert_eq!(rows(&[&table], "select hours, done from t where person = 'p1'"), json!([{ "hours": 8.0, "done": true }]));
    assert_eq!(rows(&[&table], "select hours from t where person = 'p7' and hours > '7'"), json!([{ "hours": 7.5 }]));
    assert_eq!(rows(&[&table], "select count(*) as n, max(person) as last from t"), json!([{ "n": 3, "last": "p7" }]));
    let why = "t.csv, line 3: \"7h30\" in column \"hours\" is not a number. Correct the cell, or change its type in `columns`.";
    for query in
        ["select hours from t where person = 'p3'", "select sum(hours) from t", "select person from t order by hours", "select * from t"]
    {
        let failure = refusal(&[&table], query);
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::WrongType, why), "{query}");
    }
    for query in ["select unreadable_cell(x'61')", "select * from \"rows of t\""] {
        assert!([FailureKind::Denied, FailureKind::BadRequest].contains(&refusal(&[&table], query).kind), "{query}");
    }
    // The file is read again when it was corrected.
    let data = DataFiles::default();
    assert!(answer(&data, request(&[&table], "select sum(hours) from t")).is_err());
    std::fs::write(&table.file, entries.replace("7h30", "7.5")).unwrap();
    assert_eq!(json!(answer(&data, request(&[&table], "select sum(hours) as h from t")).unwrap().rows), json!([{ "h": 23.0 }]));
    let all = format!("hours\n{}", "x\n".repeat(2_000));
    let (_folder, table) = declared("t.csv", all, &[("hours", ColumnKind::Number.into())]);
    assert!(refusal(&[&table], "select count(*) from t").message.contains("So are 1000 cells before it."));
}

#[test]
fn dates_of_any_form_are_days() {
    let form = |kind: ColumnKind, format: &str| ColumnForm { format: Some(format.to_owned()), ..kind.into() };
    let (_folder, table) = declared(
        "t.csv",
        "day,at\n18.11.2026,18.11.2026 9:30\n2.3.2026,\n",
        &[("day", form(ColumnKind::Date, "%d.%m.%Y")), ("at", form(ColumnKind::Datetime, "%d.%m.%Y %H:%M"))],
    );
    assert_eq!(
        rows(&[&table], "select day, at from t order by day"),
        json!([{ "day": "2026-03-02", "at": null }, { "day": "2026-11-18", "at": "2026-11-18 09:30:00" }])
    );
}

#[test]
fn tabs_pipes_and_lines_above_the_header_are_read() {
    for (text, form) in [
        ("team\thours\nNorth\t8\n", TableForm::default()),
        ("team|hours\nNorth|8\n", TableForm::default()),
        ("team, first;hours\nNorth;8\n", TableForm::default()),
        ("Hours of 2026\n\nteam,hours\nNorth,8\n", TableForm { header_row: Some(3), ..TableForm::default() }),
    ] {
        let (_folder, mut table) = table_of("t.csv", text);
        table.form = form;
        assert_eq!(rows(&[&table], "select hours from t"), json!([{ "hours": 8 }]), "{text}");
    }
}

#[test]
fn lines_of_json_are_rows() {
    let lines =
        "{\"who\": \"Éva\", \"hours\": 7.5, \"tags\": [1, \"b\"]}\n\n{\"hours\": 8, \"who\": \"\", \"done\": true, \"zip\": \"01067\"}\n";
    let (_folder, table) = table_of("t.ndjson", lines);
    assert_eq!(
        rows(&[&table], "select * from t"),
        json!([
            { "who": "Éva", "hours": 7.5, "tags": "[1,\"b\"]", "done": null, "zip": null },
            { "who": null, "hours": 8.0, "tags": null, "done": true, "zip": "01067" },
        ])
    );
    for (lines, why) in [
        ("{\"a\": 1}\n[2]\n", "t.jsonl, line 2 is no JSON object"),
        ("{\"a\": 1}\n{\n", "t.jsonl, line 2 is no JSON:"),
        ("", "t.jsonl is empty"),
    ] {
        let (_folder, table) = table_of("t.jsonl", lines);
        assert!(refusal(&[&table], "select * from t").message.starts_with(why), "{lines}");
    }
}

#[test]
fn rows_of_empty_cells_count() {
    for (file, content, n) in [("t.csv", "a,b\n1,2\n,\n3,4\n", 3), ("t.csv", "a\n1\n\"\"\n\n3\n", 3), ("t.tsv", "a\tb\n1\t2\n\t\n", 2)] {
        let (_folder, table) = table_of(file, content);
        assert_eq!(rows(&[&table], "select count(*) as n from t"), json!([{ "n": n }]), "{content}");
    }
    let sheet =
        sheet_xml(&[r#"<c r="A1"><v>0</v></c>"#, r#"<c r="A2"><v>1</v></c>"#, "", r#"<c r="B4"/>"#, r#"<c r="A5"><v>2</v></c>"#, ""]);
    let (_folder, table) = table_of("t.xlsx", workbook(&[("S", &sheet)]));
    assert_eq!(rows(&[&table], "select count(*) as n from t"), json!([{ "n": 4 }]));
}

#[test]
fn letters_of_all_languages_are_alike_in_both_cases() {
    let (_folder, table) = table_of("t.csv", "name\nMÜLLER\nmüller\nÉva\n");
    assert_eq!(rows(&[&table], "select count(*) as n from t where name like 'müll%'"), json!([{ "n": 2 }]));
    assert_eq!(rows(&[&table], "select count(*) as n from t where name = 'éva' collate nocase"), json!([{ "n": 1 }]));
    // The index of a file is in the order of SQLite's own collation.
    let (_folder, file) = sqlite_file(
        "t.sqlite",
        "create table t(name text collate nocase primary key); insert into t values ('Ä'), ('b'), ('ö'), ('É'), ('z');",
    );
    for name in ["Ä", "b", "B", "ö", "É", "z"] {
        assert_eq!(rows(&[&file], &format!("select count(*) as n from t where name = '{name}'")), json!([{ "n": 1 }]), "{name}");
    }
}
