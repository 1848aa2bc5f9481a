//! Values into queries, rows out of them, and what wrong queries get.

use super::*;

#[test]
fn values_are_bound_by_name_whatever_they_hold() {
    let (_folder, table) = entries();
    let query = "select count(*) as n, $who as who, $flag as flag, $half as half, $none as none, (select group_concat(value) from json_each($list)) as list \
                 from entries where person = $who";
    let values = json!({ "who": "p7' or 1=1 --", "flag": true, "half": 0.5, "none": null, "list": ["a", 2] });
    let result = answer(&DataFiles::default(), with(request(&[&table], query), values)).unwrap();
    assert_eq!(json!(result.rows), json!([{ "n": 0, "who": "p7' or 1=1 --", "flag": 1, "half": 0.5, "none": null, "list": "a,2" }]));
}

#[test]
fn a_place_without_value_and_a_value_without_place_are_named() {
    for (query, values, sentence) in [
        ("select $who", json!({ "day": 1 }), "The query has $who, but `with` has no value of that name (it has: day)."),
        ("select $a", json!({ "a": 1, "b": 2 }), "`with` has a value \"b\", but the query has no $b. Use it, or remove it from `with`."),
        ("select ?", json!({}), "A value is filled in by name: write $name instead of ?, and set it under `with`."),
        ("select ?1", json!({}), "A value is filled in by name: write $name instead of ?1, and set it under `with`."),
        ("select :who", json!({ "who": 1 }), "A value is filled in by name: write $who instead of :who, and set it under `with`."),
        ("select $n", json!({ "n": u64::MAX }), "The value of $n is too large a number for SQLite. Pass it as a text."),
    ] {
        let failure = answer(&DataFiles::default(), with(request(&[], query), values)).unwrap_err();
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::BadRequest, sentence), "{query}");
    }
}

#[test]
fn rows_beyond_the_limit_are_cut_and_said_so() {
    let (_folder, table) = entries();
    for (max_rows, is_cut) in [(2, true), (3, false), (4, false), (0, true)] {
        let request = QueryRequest { max_rows, ..request(&[&table], "select person from entries") };
        let result = answer(&DataFiles::default(), request).unwrap();
        assert_eq!((result.rows.len() as u64, result.is_cut), (max_rows.min(3), is_cut));
    }
}

#[test]
fn columns_of_one_name_keep_their_values_apart() {
    assert_eq!(rows(&[], "select 1 as id, 2 as id, 3 as ID"), json!([{ "id": 1, "id_2": 2, "ID_3": 3 }]));
}

#[test]
fn letters_beyond_a_to_z_change_case() {
    assert_eq!(rows(&[], "select lower('ÉVA') as a, upper('ß') as b, lower(5) as c"), json!([{ "a": "éva", "b": "SS", "c": 5 }]));
}

#[test]
fn numbers_json_cannot_hold_and_bytes_do_no_harm() {
    assert_eq!(
        rows(&[], "select 9e999 as inf, x'00ff' as bytes, 9223372036854775807 as most"),
        json!([{ "inf": null, "bytes": "00ff", "most": i64::MAX }])
    );
}

#[test]
fn a_wrong_query_gets_sqlites_sentence_and_what_there_is() {
    let (_folder, table) = entries();
    for (query, sentence) in [
        ("select *\n form entries", "SQLite: near \"form\": syntax error (line 2, column 2 of the query)."),
        ("select * from entires", "SQLite: no such table: entires. The tables are: entries."),
        (
            "select hour from entries",
            "SQLite: no such column: hour (line 1, column 8 of the query). Columns of entries: person, day, hours, note.",
        ),
        ("", "The query is empty. Write one that begins with select or with."),
        ("-- only a remark", "The query is empty. Write one that begins with select or with."),
        ("select 1; select 2", "A query is one statement; this text has several. Keep one."),
    ] {
        let failure = refusal(&[&table], query);
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::BadRequest, sentence), "{query}");
    }
    let sentence = refusal(&[&table], "select * from entries where person = \"p7\"").message;
    assert!(sentence.contains("no such column") && sentence.contains("single-quotes"), "{sentence}");
}
