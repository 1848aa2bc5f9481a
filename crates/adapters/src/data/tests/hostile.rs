//! Queries that would write, open, never end or use up memory; and any text at all.

use std::path::Path;

use proptest::prelude::*;

use super::*;

#[test]
fn a_query_only_reads_and_opens_nothing() {
    let (_folder, table) = entries();
    for query in [
        "insert into entries values (1, 2, 3, 4)",
        "update entries set hours = 0",
        "delete from entries",
        "drop table entries",
        "create table x(a)",
        "create temp table x(a)",
        "create view x as select 1",
        "create trigger x after insert on entries begin select 1; end",
        "create virtual table x using fts5(a)",
        "alter table entries rename to x",
        "create index i on entries(day)",
        "analyze",
        "vacuum",
        "vacuum into 'copy.db'",
        "begin",
        "commit",
        "savepoint s",
        "attach 'other.db' as other",
        "attach ':memory:' as other",
        "detach main",
        "pragma writable_schema = on",
        "pragma table_info(entries)",
        "select * from pragma_table_info('entries')",
        "select * from pragma_database_list",
        "select * from sqlite_master",
        "select * from sqlite_schema",
        "select name from sqlite_temp_schema",
        "select * from dbstat",
        "select load_extension('x.so')",
        "select fts3_tokenizer('simple')",
        "select randomblob(1000)",
        "select zeroblob(1000)",
        "select sqlite_version()",
        "with x as (select 1) delete from entries",
        "select 1; drop table entries",
        "explain delete from entries",
    ] {
        let failure = refusal(&[&table], query);
        assert_eq!(failure.kind, FailureKind::Denied, "{query}: {}", failure.message);
    }
    for query in [
        "select readfile('/etc/passwd')",
        "select writefile('x', 'y')",
        "select * from read_csv('x')",
        "copy entries to 'x'",
        "install httpfs",
        "reindex",
    ] {
        assert_eq!(refusal(&[&table], query).kind, FailureKind::BadRequest, "{query}");
    }
    assert!(!Path::new("copy.db").exists() && !Path::new("other.db").exists());
}

#[test]
fn a_refused_query_says_which_act_was_refused() {
    for (query, sentence) in [
        ("attach 'other.db' as other", "A query may not open other files: it sees the tables of `data` only."),
        ("pragma journal_mode = off", "A query may not use PRAGMA journal_mode."),
        ("select load_extension('x.so')", "A query may not call the function load_extension."),
        ("select * from sqlite_master", "The query may not read \"sqlite_master\". It sees these tables only: none."),
        ("create table x(a)", "A query may only read: it must not change, create or remove anything."),
    ] {
        assert_eq!(refusal(&[], query).message, sentence);
    }
}

#[test]
fn queries_without_end_are_stopped_at_their_timeout() {
    let (_folder, table) = entries();
    for query in [
        "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
        "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n where i < 0",
        "with recursive n(i) as (select 1 union all select i + 1 from n limit 3000) select count(*) from n a, n b, n c, n d",
    ] {
        let data = DataFiles::default();
        let stopped = QueryRequest { timeout: Duration::from_millis(50), ..request(&[&table], query) };
        let failure = answer(&data, stopped).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout, "{query}");
        // The thread ended too: its place is free again.
        assert_eq!(data.permits.available_permits(), AT_ONCE, "{query}");
    }
}

#[tokio::test]
async fn a_dropped_query_stops() {
    let data = DataFiles::default();
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    let pending = data.query(request(&[], endless));
    tokio::select! {
        biased;
        _ = pending => panic!("it has no end"),
        () = tokio::task::yield_now() => {}
    }
    // All places come back only when the thread has ended.
    let all = u32::try_from(AT_ONCE).unwrap();
    let places = tokio::time::timeout(Duration::from_secs(60), data.permits.acquire_many(all)).await;
    assert!(places.expect("the thread ends").is_ok());
}

#[test]
fn a_result_above_its_size_is_too_large() {
    let query = "with recursive n(i) as (select 1 union all select i + 1 from n limit 100) select i, printf('%1000000d', i) as wide from n";
    let failure = refusal(&[], query);
    assert_eq!(failure.kind, FailureKind::TooLarge);
    assert!(failure.message.starts_with("The result is larger than 16 MB after 17 rows."), "{}", failure.message);
    assert_eq!(refusal(&[], "select printf('%1000000000d', 1)").kind, FailureKind::TooLarge);
}

#[test]
fn a_query_that_doubles_itself_is_refused_while_it_is_compiled() {
    let doubled: Vec<String> = (1..15).map(|n| format!("t{n} as (select a.x from t{0} a, t{0} b)", n - 1)).collect();
    let failure = refusal(&[], &format!("with t0 as (select 1 as x), {} select count(*) from t14", doubled.join(", ")));
    assert_eq!(failure.kind, FailureKind::BadRequest);
    assert!(failure.message.contains("nested too deep"), "{}", failure.message);
}

#[test]
fn long_but_honest_queries_are_answered() {
    let chain: Vec<String> = (1..=100).map(|n| format!("t{n} as (select x + 1 as x from t{} group by 1)", n - 1)).collect();
    assert_eq!(rows(&[], &format!("with t0 as (select 0 as x), {} select x from t100", chain.join(", "))), json!([{ "x": 100 }]));
    let choices: Vec<String> = (0..900).map(|n| format!("x = {n}")).collect();
    assert_eq!(rows(&[], &format!("select x from (select 899 as x) where {}", choices.join(" or "))), json!([{ "x": 899 }]));
    assert_eq!(rows(&[], &format!("select {}7{} as x", "(abs(".repeat(90), "))".repeat(90))), json!([{ "x": 7 }]));
}

#[test]
fn strange_texts_of_queries_are_sentences() {
    let deep = format!("select {}1{}", "(".repeat(5000), ")".repeat(5000));
    let nested = format!("select {}1", "~".repeat(5000));
    for query in [
        deep.as_str(),
        nested.as_str(),
        &";".repeat(60_000),
        &format!("select 1{}", ";".repeat(60_000)),
        &format!("select 1{}--", "; ".repeat(30_000)),
        "select 1 \0 from x",
        &"x".repeat(70_000),
    ] {
        let outcome = answer(&DataFiles::default(), request(&[], query));
        assert!(outcome.is_ok() || outcome.is_err_and(|failure| failure.message.len() <= 2048), "{}", &query[..20]);
    }
}

proptest! {
    #[test]
    fn any_csv_is_rows_or_a_sentence(text in "[a-c0-9\",;\t\r\n .é+-]{0,60}") {
        let (_folder, table) = table_of("t.csv", &text);
        match answer(&DataFiles::default(), request(&[&table], "select * from t")) {
            Ok(rows) => prop_assert!(rows.rows.iter().all(|row| row.len() == rows.columns.len())),
            Err(failure) => prop_assert!(failure.message.contains("t.csv"), "{}", failure.message),
        }
    }

    #[test]
    fn any_text_of_a_query_is_rows_or_a_sentence(query in "(select|with|from|entries|where|\\*|\\$a|\\(|\\)|;|'|\"|--|,| |attach|pragma|1|\\n|\0){0,12}") {
        let (_folder, table) = entries();
        if let Err(failure) = answer(&DataFiles::default(), with(request(&[&table], &query), json!({ "a": 1 }))) {
            prop_assert!(matches!(failure.kind, FailureKind::BadRequest | FailureKind::Denied), "{failure:?}");
        }
    }
}
