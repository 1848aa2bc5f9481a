//! The second engine: Parquet and DuckDB files made by DuckDB itself, and the tables of the first engine asked again.

use super::super::testing::{sheet_of, workbook};
use super::*;
use crate::model::{ColumnKind, DataKind};

/// Runs statements in a database of the test's own and leaves what they write in a new folder, which they call FOLDER.
pub(super) fn made_by_duckdb(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let connection = ::duckdb::Connection::open_in_memory().unwrap();
    connection.execute_batch(&script.replace("FOLDER", folder.path().to_str().unwrap())).unwrap();
    folder
}

pub(super) fn table(folder: &TempDir, file: &str, kind: DataKind) -> TableSource {
    let name = file.split_once('.').unwrap().0.to_owned();
    TableSource {
        name,
        file: folder.path().join(file),
        kind,
        table: None,
        columns: BTreeMap::new(),
        pii: vec![],
        engine: SqlEngine::DuckDb,
        form: Default::default(),
    }
}

fn parquet(query: &str) -> (TempDir, TableSource) {
    let folder = made_by_duckdb(&format!("COPY ({query}) TO 'FOLDER/sales.parquet' (FORMAT parquet)"));
    let table = table(&folder, "sales.parquet", DataKind::Parquet);
    (folder, table)
}

fn with_duckdb((folder, table): (TempDir, TableSource)) -> (TempDir, TableSource) {
    (folder, TableSource { engine: SqlEngine::DuckDb, ..table })
}

#[test]
fn a_parquet_file_is_a_table_with_its_own_types() {
    let (_folder, table) = parquet(
        "SELECT 7 AS id, 'Ana' AS name, 12.50::DECIMAL(9,2) AS price, 0.1::FLOAT AS share, true AS paid, DATE '2026-11-18' AS day, \
         TIMESTAMP '2026-11-18 09:30:00.25' AS at, [1, NULL] AS list, {'a': 1, 'day': DATE '2026-01-02'} AS pair, NULL::TEXT AS nothing",
    );
    let result = answer(&DataFiles::default(), request(&[&table], "select * from sales")).unwrap();
    assert_eq!(
        json!(result.rows),
        json!([{
            "id": 7, "name": "Ana", "price": 12.5, "share": 0.1, "paid": true, "day": "2026-11-18", "at": "2026-11-18 09:30:00.250",
            "list": [1, null], "pair": { "a": 1, "day": "2026-01-02" }, "nothing": null
        }])
    );
    let kinds: Vec<&str> = result.columns.iter().map(|(_, kind)| kind.as_str()).collect();
    assert_eq!(kinds, ["integer", "text", "number", "number", "boolean", "text", "text", "", "", "text"]);
}

#[test]
fn all_columns_of_a_query_are_personal_that_reads_a_table_with_personal_columns() {
    let (_folder, sales) = parquet("SELECT 7 AS id, 'Ana' AS name");
    let (_other, people) = with_duckdb(table_of("people.csv", "id,name\n1,Ana\n"));
    let people = TableSource { pii: vec!["name".to_owned()], ..people };
    let personal = |query: &str| answer(&DataFiles::default(), request(&[&sales, &people], query)).unwrap().personal;
    assert_eq!(personal("select s.id, p.id as other from sales s, people p"), ["id", "other"]);
    assert_eq!(personal("select 'people' as who, id from sales -- not people"), [""; 0]);
}

#[test]
fn every_type_of_duckdb_is_data_or_says_to_write_it_as_text() {
    for (value, shown) in [
        ("170141183460469231731687303715884105727::HUGEINT", json!("170141183460469231731687303715884105727")),
        ("sum(7::BIGINT)", json!(7)),
        ("18446744073709551615::UBIGINT", json!(u64::MAX)),
        ("340282366920938463463374607431768211455::UHUGEINT", json!("340282366920938463463374607431768211455")),
        ("1234567890123456789.55::DECIMAL(21,2)", json!("1234567890123456789.55")),
        ("(-0.05)::DECIMAL(3,2)", json!(-0.05)),
        ("5::DECIMAL(38,0)", json!(5)),
        ("'nan'::DOUBLE", json!(null)),
        ("TIMESTAMPTZ '2026-11-18 09:30:00+02'", json!("2026-11-18T07:30:00Z")),
        ("TIMESTAMP_NS '2026-11-18 09:30:00.123456789'", json!("2026-11-18 09:30:00.123456789")),
        ("TIMESTAMP_S '2026-11-18 09:30:00'", json!("2026-11-18 09:30:00")),
        ("'infinity'::TIMESTAMP", json!("infinity")),
        ("'-infinity'::TIMESTAMP", json!("-infinity")),
        ("'infinity'::DATE", json!("infinity")),
        ("'-infinity'::DATE", json!("-infinity")),
        ("DATE '0044-03-15'", json!("0044-03-15")),
        ("TIME '09:30:00.5'", json!("09:30:00.5")),
        ("INTERVAL '1 month 2 days 3 hours'", json!("1 month 2 days 03:00:00")),
        ("INTERVAL 0 SECOND", json!("00:00:00")),
        ("'6f8a7c9e-0000-4000-8000-000000000001'::UUID", json!("6f8a7c9e-0000-4000-8000-000000000001")),
        ("'\\x00\\xFF'::BLOB", json!("00ff")),
        ("'b'::ENUM('a', 'b')", json!("b")),
        ("[['a'], []]", json!([["a"], []])),
        ("[1, 2]::INTEGER[2]", json!([1, 2])),
        ("MAP {'a': DATE '2026-01-02'}", json!({ "a": "2026-01-02" })),
        ("MAP {1: 2}", json!({ "1": 2 })),
        ("[{'x': TIMESTAMPTZ '2026-11-18 09:30:00+00'}]", json!([{ "x": "2026-11-18T09:30:00Z" }])),
        ("'{\"a\": 1}'::JSON", json!("{\"a\": 1}")),
        ("NULL", json!(null)),
    ] {
        assert_eq!(rows(&[&any_table()], &format!("select {value} as x"))[0]["x"], shown, "{value}");
    }
    for value in ["TIME '09:30:00'::TIME_NS", "TIMETZ '09:30:00+02'", "'101'::BIT", "union_value(a := 1)", "12::BIGNUM"] {
        match answer(&DataFiles::default(), request(&[&any_table()], &format!("select {value} as x"))) {
            Ok(rows) => assert!(rows.rows[0]["x"].is_string(), "{value}: {:?}", rows.rows),
            Err(failure) => assert_eq!(
                failure.message, "DuckDB: the column \"x\" has a type that cannot be read. Write cast(x as text) for it.",
                "{value}"
            ),
        }
        assert!(rows(&[&any_table()], &format!("select cast({value} as text) as x"))[0]["x"].is_string(), "{value}");
    }
}

/// A table that is never opened: it makes the request one for DuckDB.
pub(super) fn any_table() -> TableSource {
    TableSource {
        name: "unused".to_owned(),
        file: "nowhere/unused.parquet".into(),
        kind: DataKind::Parquet,
        table: None,
        columns: BTreeMap::new(),
        pii: vec![],
        engine: SqlEngine::DuckDb,
        form: Default::default(),
    }
}

#[test]
fn a_folder_adds_no_columns_and_only_the_named_file_is_read() {
    let folder = made_by_duckdb(
        "COPY (SELECT 1 AS a) TO 'FOLDER/s1.parquet'; COPY (SELECT 2 AS a) TO 'FOLDER/s[1].parquet'; COPY (SELECT 3 AS a) TO 'FOLDER/it''s.parquet'",
    );
    let year = folder.path().join("year=2024");
    std::fs::create_dir(&year).unwrap();
    let moved = |file: &str| {
        std::fs::rename(folder.path().join(file), year.join(file)).unwrap();
        TableSource { file: year.join(file), ..any_table() }
    };
    for (file, value) in [("s1.parquet", 1), ("it's.parquet", 3)] {
        assert_eq!(rows(&[&moved(file)], "select * from unused"), json!([{ "a": value }]), "{file}");
    }
    assert_eq!(
        refusal(&[&moved("s[1].parquet")], "select * from unused").message,
        "The path of s[1].parquet has a \"[\", which stands for other names to DuckDB. Rename the file or its folder."
    );
}

#[test]
fn declared_columns_of_a_parquet_file_replace_its_own() {
    let (_folder, mut table) = parquet("SELECT 4915112345678 AS phone, 1 AS n");
    table.columns = BTreeMap::from([("Phone".to_owned(), ColumnKind::Text.into())]);
    assert_eq!(rows(&[&table], "select * from sales"), json!([{ "phone": "4915112345678", "n": 1 }]));
    table.columns = BTreeMap::from([("mail".to_owned(), ColumnKind::Text.into())]);
    assert_eq!(
        refusal(&[&table], "select * from sales").message,
        "`columns` of table \"sales\" names \"mail\", which sales.parquet does not have. Its columns are: phone, n."
    );
}

#[test]
fn a_duckdb_file_is_read_in_place_under_the_name_of_the_table() {
    let folder = made_by_duckdb(
        "ATTACH 'FOLDER/crm.duckdb' AS crm; CREATE TABLE crm.\"Customers\" AS SELECT 1 AS id, 'Ana' AS name; CREATE TABLE crm.secret AS SELECT 2 AS x; \
         CREATE VIEW crm.names AS SELECT name FROM crm.\"Customers\"",
    );
    let mut crm = table(&folder, "crm.duckdb", DataKind::DuckDb);
    let before = std::fs::read(&crm.file).unwrap();
    crm.table = Some("customers".to_owned());
    assert_eq!(rows(&[&crm], "select * from crm"), json!([{ "id": 1, "name": "Ana" }]));
    for query in [
        "select * from secret",
        "select * from file_0.secret",
        "select * from file_0.main.secret",
        "select count(*) from crm, file_0.main.secret",
        "with crm as (select * from file_0.main.secret) select * from crm",
        "select (select count(*) from secret) from crm",
        "delete from crm",
        "drop view crm",
    ] {
        let failure = refusal(&[&crm], query);
        assert!(failure.kind == FailureKind::Denied || failure.message.contains("no such table: secret"), "{query}: {failure:?}");
    }
    crm.table = Some("orders".to_owned());
    assert_eq!(
        refusal(&[&crm], "select * from crm").message,
        "crm.duckdb has no table \"orders\"; its tables are: Customers, names, secret."
    );
    assert_eq!(std::fs::read(&crm.file).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was put beside the file");
}

#[test]
fn a_view_in_a_duckdb_file_opens_no_other_file() {
    let folder = made_by_duckdb(
        "COPY (SELECT 1 AS a) TO 'FOLDER/other.csv'; ATTACH 'FOLDER/v.duckdb' AS v; CREATE VIEW v.v AS FROM 'FOLDER/other.csv'",
    );
    let failure = refusal(&[&table(&folder, "v.duckdb", DataKind::DuckDb)], "select * from v");
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Denied, "v.duckdb opens other files, which is not allowed."));
}

#[test]
fn broken_and_misnamed_files_say_what_is_wrong() {
    let (_folder, good) = parquet("SELECT range AS a FROM range(1000)");
    let bytes = std::fs::read(&good.file).unwrap();
    for length in [0, 3, 12, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&good.file, &bytes[..length]).unwrap();
        let failure = refusal(&[&good], "select * from sales");
        assert!(matches!(failure.kind, FailureKind::WrongType | FailureKind::Unavailable), "{length}: {failure:?}");
        assert!(failure.message.contains("sales.parquet"), "{length}: {}", failure.message);
    }
    for at in (4..bytes.len()).step_by(bytes.len() / 12) {
        let mut broken = bytes.clone();
        broken[at] ^= 0x55;
        std::fs::write(&good.file, &broken).unwrap();
        if let Err(failure) = answer(&DataFiles::default(), request(&[&good], "select sum(a) as a from sales")) {
            assert_ne!(failure.kind, FailureKind::Internal, "{at}: {failure:?}");
        }
    }
    let (_other, text) = table_of("t.duckdb", "a,b\n");
    assert_eq!(refusal(&[&text], "select * from t").message, "t.duckdb is not a DuckDB database.");
    let missing = TableSource { file: "nowhere/x.parquet".into(), ..good };
    assert!(refusal(&[&missing], "select * from sales").message.contains("does not exist"));
}

#[test]
fn a_csv_file_has_the_same_types_under_both_engines() {
    let text = "zip,n,h,b,card,day,empty\n01067,7,0.5,yes,4111111111111111,2026-11-18,\n1234,,1,no,1,2026-11-19,\n";
    let (_folder, mut table) = table_of("t.csv", text);
    table.columns = BTreeMap::from([("b".to_owned(), ColumnKind::Boolean.into()), ("day".to_owned(), ColumnKind::Date.into())]);
    let sqlite = answer(&DataFiles::default(), request(&[&table], "select * from t")).unwrap();
    table.engine = SqlEngine::DuckDb;
    let duckdb = answer(&DataFiles::default(), request(&[&table], "select * from t")).unwrap();
    assert_eq!(sqlite.rows, duckdb.rows);
    let known = |rows: &Rows| rows.columns.iter().filter(|(name, _)| name != "empty").cloned().collect::<Vec<_>>();
    assert_eq!(known(&sqlite), known(&duckdb));
    table.columns.insert("zip".to_owned(), ColumnKind::Date.into());
    assert_eq!(
        refusal(&[&table], "select * from t").message,
        "t.csv, line 2: \"01067\" in column \"zip\" is not a date like 2026-11-18. Correct the cell, or change its type in `columns`."
    );
}

#[test]
fn tsv_and_excel_files_are_read_without_a_download() {
    let (_one, tsv) = with_duckdb(table_of("t.tsv", "a\tb\n1\tx, y\n"));
    let book = workbook(&[("Hours", &sheet_of(&[&["id", "hours"], &["p7", "8"], &["p8", "7.5"]]))]);
    let (_two, book) = with_duckdb(table_of("book.xlsx", book));
    let query = "select t.b, sum(hours) as hours from t, book group by all";
    assert_eq!(rows(&[&tsv, &book], query), json!([{ "b": "x, y", "hours": 15.5 }]));
    let (_three, crm) = with_duckdb(sqlite_file("crm.sqlite", "create table crm(id)"));
    assert_eq!(
        refusal(&[&crm], "select * from crm").message,
        "The table \"crm\" is a SQLite file, which DuckDB cannot read without a part it would have to download. Take `engine: duckdb` out of it."
    );
}

#[test]
fn one_query_over_both_engines_is_refused_and_a_mere_mention_is_not() {
    let (_one, sales) = parquet("SELECT 1 AS a");
    let (_two, entries) = table_of("entries.csv", "person,sales\np7,3\n");
    let failure = refusal(&[&sales, &entries], "select * from sales join entries on a = sales");
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (
            FailureKind::BadRequest,
            "One query cannot read tables of two engines: entries (SQLite) and sales (DuckDB). Write `engine: duckdb` under `data: entries`, or \
             ask for them in two steps."
        )
    );
    assert_eq!(rows(&[&sales, &entries], "select sales from entries"), json!([{ "sales": 3 }]));
    assert_eq!(rows(&[&sales, &entries], "select a from sales -- not entries"), json!([{ "a": 1 }]));
}

#[test]
fn values_are_bound_by_name_whatever_they_hold() {
    let (_folder, table) = with_duckdb(entries());
    let query = "select count(*) as n, $who as who, $flag as flag, $half as half, $none as none, (select list(value ->> '$' order by key) from \
                 json_each($list)) as list, $n as most from entries where person = $who";
    let values = json!({ "who": "p7' or 1=1 --", "flag": true, "half": 0.5, "none": null, "list": ["a", 2], "n": u64::MAX });
    let result = answer(&DataFiles::default(), with(request(&[&table], query), values)).unwrap();
    let expected =
        json!([{ "n": 0, "who": "p7' or 1=1 --", "flag": true, "half": 0.5, "none": null, "list": ["a", "2"], "most": u64::MAX }]);
    assert_eq!(json!(result.rows), expected);
    let (_other, sales) = parquet("SELECT DATE '2026-11-18' AS day");
    let found = answer(
        &DataFiles::default(),
        with(request(&[&sales], "select 1 as n from sales where day = $day"), json!({ "day": "2026-11-18" })),
    );
    assert_eq!(json!(found.unwrap().rows), json!([{ "n": 1 }]));
    for (query, values, sentence) in [
        ("select $who", json!({ "day": 1 }), "The query has $who, but `with` has no value of that name (it has: day)."),
        ("select $a", json!({ "a": 1, "b": 2 }), "`with` has a value \"b\", but the query has no $b. Use it, or remove it from `with`."),
        ("select ?", json!({}), "A value is filled in by name: write $name instead of ?, and set it under `with`."),
        ("select $1", json!({}), "A value is filled in by name: write $name instead of ?, and set it under `with`."),
        ("select $a + $A", json!({ "a": 1, "A": 2 }), "The query has $A and $a: write one place always alike."),
    ] {
        let failure = answer(&DataFiles::default(), with(request(&[&any_table()], query), values)).unwrap_err();
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::BadRequest, sentence), "{query}");
    }
}

#[test]
fn rows_beyond_the_limit_are_cut_without_being_made() {
    let (_folder, table) = with_duckdb(entries());
    for (max_rows, is_cut) in [(2, true), (3, false), (4, false), (0, true)] {
        let request = QueryRequest { max_rows, ..request(&[&table], "select person from entries") };
        let result = answer(&DataFiles::default(), request).unwrap();
        assert_eq!((result.rows.len() as u64, result.is_cut), (max_rows.min(3), is_cut));
    }
    let endless = "select a.range + b.range + c.range as n from range(1000) a, range(1000) b, range(1000) c";
    let result = answer(&DataFiles::default(), request(&[&any_table()], endless)).unwrap();
    assert_eq!((result.rows.len(), result.is_cut), (1000, true));
}

#[test]
fn columns_of_one_name_keep_their_values_apart_and_empty_cells_sort_as_in_sqlite() {
    assert_eq!(rows(&[&any_table()], "select 1 as id, 2 as id, 3 as ID"), json!([{ "id": 1, "id_2": 2, "ID_3": 3 }]));
    let sorted = |order: &str| rows(&[&any_table()], &format!("select x from (values (1), (null)) v(x) order by x {order}"));
    assert_eq!((sorted(""), sorted("desc")), (json!([{ "x": null }, { "x": 1 }]), json!([{ "x": 1 }, { "x": null }])));
}

#[test]
fn a_wrong_query_gets_duckdbs_sentence_and_what_there_is() {
    let (_folder, table) = with_duckdb(entries());
    for (query, sentence) in [
        ("select *\n form entries group", "DuckDB: syntax error at or near \"entries\" (line 2, column 7 of the query)."),
        ("select * from entires", "DuckDB: no such table: entires. The tables are: entries."),
        (
            "select hour from entries",
            "DuckDB: Referenced column \"hour\" not found in FROM clause (line 1, column 8 of the query). Columns of entries: person, day, hours, note.",
        ),
        (
            "select cast(person as int) from entries",
            "DuckDB: Could not convert string 'p7' to INT32 when casting from source column person (line 1, column 8 of the query).",
        ),
        ("", "The query is empty. Write one that begins with select or with."),
        ("-- only a remark", "The query is empty. Write one that begins with select or with."),
        ("select 1; select 2", "A query is one statement; this text has several. Keep one."),
        ("select 1 \0; drop table entries", "The query contains a zero byte. Remove it."),
    ] {
        let failure = refusal(&[&table], query);
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::BadRequest, sentence), "{query}");
    }
    let second = TableSource { name: "Entries".to_owned(), ..table.clone() };
    assert!(refusal(&[&table, &second], "select * from entries").message.starts_with("Two tables are called \"Entries\"."));
}

#[test]
fn read_describes_parquet_and_duckdb_files() {
    let folder = made_by_duckdb(
        "COPY (SELECT 1 AS a, true AS b UNION ALL SELECT 2, true) TO 'FOLDER/US Sales.parquet'; ATTACH 'FOLDER/crm.duckdb' AS crm; \
         CREATE TABLE crm.people AS SELECT 'p7' AS id; CREATE TABLE crm.orders AS SELECT 1 AS n",
    );
    let read = |file: &str| {
        let request = ReadRequest { path: folder.path().join(file), kind: None, timeout: Duration::from_secs(60) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(DataFiles::default().read(request)).unwrap()
    };
    let (content, tables) = read("US Sales.parquet");
    assert_eq!(content.summary, "Table of 2 rows and 2 columns.");
    assert_eq!((&content.tables[0].columns[1].max, content.tables[0].columns[0].pct_distinct), (&json!(true), 100.0));
    assert_eq!(rows(&tables.iter().collect::<Vec<_>>(), "select sum(a) as a from us_sales"), json!([{ "a": 3 }]));
    let (content, tables) = read("crm.duckdb");
    assert_eq!(content.summary, "2 tables: crm_orders (1 row), crm_people (1 row).");
    assert_eq!(rows(&tables.iter().collect::<Vec<_>>(), "select id, n from crm_people, crm_orders"), json!([{ "id": "p7", "n": 1 }]));
}
