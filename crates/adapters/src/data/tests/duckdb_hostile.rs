//! What a query of DuckDB must not do: write, open, load, set, look around, never end, or use up memory; and any text at all.

use proptest::prelude::*;

use super::super::testing::table_of;
use super::duckdb::{any_table, made_by_duckdb, table};
use super::*;
use crate::model::DataKind;

fn entries_of_duckdb() -> (TempDir, TableSource) {
    let (folder, table) = entries();
    (folder, TableSource { engine: SqlEngine::DuckDb, ..table })
}

#[test]
fn a_query_only_reads_and_opens_nothing() {
    let folder = made_by_duckdb(
        "COPY (SELECT 1 AS a) TO 'FOLDER/sales.parquet'; COPY (SELECT 'no' AS other) TO 'FOLDER/other.csv'; ATTACH 'FOLDER/crm.duckdb' AS crm; \
         CREATE TABLE crm.crm AS SELECT 1 AS a",
    );
    let sales = table(&folder, "sales.parquet", DataKind::Parquet);
    let crm = table(&folder, "crm.duckdb", DataKind::DuckDb);
    let before: Vec<Vec<u8>> = [&sales, &crm].map(|table| std::fs::read(&table.file).unwrap()).to_vec();
    for query in [
        "copy sales to 'FOLDER/x.csv'",
        "copy sales to 'FOLDER/sales.parquet'",
        "copy (select 1) to 'FOLDER/x.csv'",
        "export database 'FOLDER/x'",
        "import database 'FOLDER/x'",
        "attach 'FOLDER/other.duckdb' as other",
        "attach ':memory:' as other",
        "detach file_1",
        "use file_1",
        "install httpfs",
        "force install httpfs from 'http://127.0.0.1:1/'",
        "load httpfs",
        "load 'FOLDER/x.duckdb_extension'",
        "update extensions",
        "pragma database_list",
        "pragma threads = 8",
        "pragma enable_profiling",
        "set threads = 8",
        "set global enable_external_access = true",
        "set variable x = 1",
        "reset lock_configuration",
        "insert into sales values (1)",
        "update crm set a = 2",
        "delete from crm",
        "truncate crm",
        "drop view sales",
        "drop table file_1.main.crm",
        "create table x(a int)",
        "create temp table x as select 1",
        "create view x as select 1",
        "create macro x() as 1",
        "create type x as int",
        "create secret (type s3)",
        "create schema x",
        "alter table crm add column b int",
        "comment on table crm is 'x'",
        "vacuum",
        "analyze",
        "checkpoint file_1",
        "begin",
        "commit",
        "call pragma_version()",
        "prepare x as select 1",
        "execute x",
        "explain analyze select 1",
        "describe sales",
        "describe select 1",
        "summarize sales",
        "show tables",
        "show all tables",
        "select * from (describe sales)",
        "select * from (show all tables)",
        "pivot sales on a",
        "merge into crm using sales on crm.a = sales.a when matched then delete",
        "select 1; drop view sales",
        "drop view sales; select 1",
        "select * from 'FOLDER/other.csv'",
        "select * from \"FOLDER/other.csv\"",
        "select * from 'other.csv'",
        "select * from 'sales.parquet'",
        "select * from 'http://127.0.0.1:1/x.parquet'",
        "select * from read_csv('/etc/passwd')",
        "select * from read_csv_auto('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from read_blob('/etc/passwd')",
        "select * from read_json('FOLDER/other.csv')",
        "select * from read_parquet('FOLDER/sales.parquet')",
        "select * from parquet_metadata('FOLDER/sales.parquet')",
        "select * from system.main.read_text('/etc/passwd')",
        "select * from main.read_text('/etc/passwd')",
        "select * from sniff_csv('FOLDER/other.csv')",
        "select * from glob('FOLDER/*')",
        "select * from query('drop view sales')",
        "select * from query_table('sales')",
        "select * from json_execute_serialized_sql('x')",
        "select json_serialize_plan('select 1')",
        "select * from duckdb_tables()",
        "select * from duckdb_settings()",
        "select * from duckdb_databases",
        "select * from duckdb_secrets()",
        "select * from pragma_database_list",
        "select * from pragma_table_info('sales')",
        "select * from sqlite_master",
        "select * from main.sqlite_master",
        "select * from information_schema.tables",
        "select * from pg_catalog.pg_tables",
        "select * from pg_tables",
        "select * from system.main.duckdb_views",
        "with duckdb_tables as (select 1) select * from duckdb_tables",
        "select * from (with sqlite_master as (select 1) select 1), sqlite_master",
        "select * replace (1 as duckdb_views) from duckdb_views",
        "select * from repeat(1, 5)",
        "select * from test_all_types()",
        "select current_setting('memory_limit')",
        "select getenv('HOME')",
        "select getvariable('x')",
        "select nextval('x')",
        "select current_database()",
        "select write_log('x')",
        "select sleep_ms(1000)",
        "select pg_sleep(1)",
        "select repeat('x', 1000)",
        "select lpad('x', 1000000000, 'y')",
        "select printf('%1000000000d', 1)",
        "select format('{:1000000000d}', 1)",
        "select range(1000000000)",
        "select list_resize([1], 1000000000)",
        "select a.b from (select system.main.getenv('HOME') as b) a",
        "select * from sales where a in (select length(content) from read_text('/etc/passwd'))",
        "select (select count(*) from read_text('/etc/passwd'))",
        "select [x.repeat(100) for x in ['a']]",
        "with x as (from read_text('/etc/passwd')) from x",
        "select list_transform([1], lambda x: getenv('HOME'))",
        "from sales order by getenv('HOME')",
        "select sum(a) over (order by getenv('HOME')) from sales",
        "select count(*) filter (where getenv('HOME') = '') from sales",
        "from sales limit (select length(getenv('HOME')))",
        "select * from sales at (version => getenv('HOME'))",
        "select columns(lambda c: getenv('HOME') = c) from sales",
        "from sales pivot (count(getenv('HOME')) for a in (1))",
        "values (getenv('HOME'))",
    ] {
        let query = query.replace("FOLDER", folder.path().to_str().unwrap());
        let failure = refusal(&[&sales, &crm], &query);
        assert_eq!(failure.kind, FailureKind::Denied, "{query}: {}", failure.message);
    }
    for query in [
        "select * from read_csv",
        "with x as (delete from crm returning *) select * from x",
        "select * from file_1",
        "from sales for update",
        "select * into x from sales",
        "unload 'x'",
        ".open x",
        "select * from crm.crm.crm.crm",
        "table_does_not_exist",
    ] {
        let failure = refusal(&[&sales, &crm], query);
        assert!(matches!(failure.kind, FailureKind::BadRequest | FailureKind::Denied), "{query}: {failure:?}");
    }
    let after: Vec<Vec<u8>> = [&sales, &crm].map(|table| std::fs::read(&table.file).unwrap()).to_vec();
    assert!(before == after);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing was put beside the files");
}

#[test]
fn a_refused_query_says_which_act_was_refused() {
    for (query, sentence) in [
        ("attach 'other.db' as other", "A query may only read: it must not change, create or remove anything."),
        ("describe unused", "A query may not use describe, show or summarize."),
        ("select getenv('HOME')", "A query may not call the function getenv."),
        ("select * from sqlite_master", "The query may not read \"sqlite_master\". It sees these tables only: unused."),
        ("select * from '/etc/passwd'", "The query may not read \"/etc/passwd\". It sees these tables only: unused."),
        ("select * from a.b", "The query may not read \"a.b\": a table has no name of a database in front."),
    ] {
        assert_eq!(refusal(&[&any_table()], query).message, sentence);
    }
}

#[test]
fn honest_queries_of_every_shape_are_answered() {
    let (_folder, table) = entries_of_duckdb();
    for query in [
        "from entries",
        "select * from main.entries",
        "select * exclude (note) replace (hours * 2 as hours) from entries",
        "select columns('h.*') from entries",
        "select person, sum(hours) as h from entries group by all having h > 1 order by all limit 2 offset 0",
        "select distinct on (person) person, day from entries order by person, day desc",
        "select person, row_number() over (partition by person order by day) as n from entries qualify n = 1",
        "select sum(hours) over (order by day rows between 1 preceding and current row exclude ties) from entries",
        "select count(*) filter (where hours > 8), string_agg(person, ',' order by day), list(distinct person) from entries",
        "select grouping(person), person, count(*) from entries group by rollup (person)",
        "select * from entries pivot (sum(hours) for person in ('p1', 'p7') group by day)",
        "from entries unpivot (v for k in (person, day))",
        "select * from entries a join entries b using (person) left join entries c on c.day = a.day semi join entries d on d.day = a.day",
        "select * from entries a positional join entries b",
        "select * from entries a asof join entries b on a.person = b.person and a.day >= b.day",
        "select * from entries, lateral (select hours + 1 as more)",
        "select x from entries, unnest([1, 2]) t(x), range(2) r, generate_series(1, 2) s",
        "select unnest([1, 2]), unnest({'a': 1})",
        "select * from entries where exists (select 1 from entries) and hours not in (1, 2) and day between '2026' and '2027' or note is null",
        "select * from entries where person like 'p%' and person ilike 'P_' and person similar to 'p.' and note not like 'a' escape '$'",
        "with w as (select 1 as a), v(b) as materialized (select 2) select * from w, v",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select max(i) from n",
        "select person from entries union all by name select day from entries",
        "select person from entries except all select 'x' union select 'y' intersect select 'z'",
        "values (1, 'a'), (2, 'b')",
        "select case when hours > 8 then 'long' else 'short' end, coalesce(note, '-'), nullif(hours, 8), try_cast(person as int) from entries",
        "select day::date + interval 1 day, date_trunc('month', day::date), extract(year from day::date), current_date - day::date from entries",
        "select date_diff('day', date '2026-01-01', day::date), strftime(day::date, '%d.%m.%Y'), now() at time zone 'UTC' from entries",
        "select [x * 2 for x in [1, 2, 3] if x > 1], list_transform([1], lambda x: x + 1), {'a': 1}.a, [1, 2, 3][2:3], map {'k': 1}['k']",
        "select current_time, current_timestamp, localtime, '{\"a\": [1]}'::json -> 'a', '{\"a\": [1]}'::json ->> '$.a[0]', json_object('a', 1), to_json([1])",
        "select person[1], person[:1], 'a' || 'b', 7 // 2, 7 % 2, 2 ** 3, -hours, @(-1), 5!, not true, 1 << 2, 'a' ^@ 'a', 'ab' ~ 'a.' from entries",
        "select substring('abc' from 2 for 1), trim(both 'x' from 'xax'), position('b' in 'abc')",
        "select sum(hours) s, avg(hours), median(hours), quantile_cont(hours, 0.5), mode(person), arg_max(day, hours), stddev(hours) from entries",
        "select * from entries tablesample 100%",
        "select any_value(person), first(day), bool_and(true), approx_count_distinct(person) from entries where person collate nocase = 'P7'",
        "select cast(1.5 as decimal(4, 2)), 1::hugeint, 'a'::enum('a'), [1]::int[], {'a': 1}::struct(a bigint), interval '1' month",
        "select is_it from (select person is distinct from day as is_it from entries) limit 50%",
        "select * from json_each('[1]')",
        "select hash(person) % 2 = 0, md5('x'), greatest(1, 2), typeof(1) from entries;  ",
        "/* why */ select 1 -- because",
    ] {
        let outcome = answer(&DataFiles::default(), request(&[&table], query));
        assert!(outcome.is_ok(), "{query}: {outcome:?}");
    }
}

#[test]
fn queries_without_end_are_stopped_at_their_timeout() {
    let (_folder, table) = entries_of_duckdb();
    for query in [
        "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
        "with recursive n(i) as (select 1 union all select i % 1000 + 1 from n) select i from n where i < 0",
        "select count(*) from range(100000) a, range(100000) b, range(100000) c where a.range + b.range = c.range * 7",
        "select sum(a.range * b.range) from range(1000000) a, range(1000000) b, range(1000) c",
        "select max(sin(range)) from range(1000000000000)",
    ] {
        let data = DataFiles::default();
        let stopped = QueryRequest { timeout: Duration::from_millis(80), ..request(&[&table], query) };
        let failure = answer(&data, stopped).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout, "{query}");
        // The thread ended too: its place is free again.
        assert_eq!(data.permits.available_permits(), AT_ONCE, "{query}");
    }
}

#[tokio::test]
async fn a_dropped_query_stops() {
    let data = DataFiles::default();
    let pending = data.query(request(&[&any_table()], "select sum(a.range * b.range) from range(1000000000) a, range(1000000000) b"));
    tokio::select! {
        biased;
        _ = pending => panic!("it has no end"),
        () = tokio::task::yield_now() => {}
    }
    let all = u32::try_from(AT_ONCE).unwrap();
    let places = tokio::time::timeout(Duration::from_secs(60), data.permits.acquire_many(all)).await;
    assert!(places.expect("the thread ends").is_ok());
}

#[test]
fn memory_and_results_are_bounded() {
    let wide = "select range as n, concat_ws(',', range, range, range, range, range, range, range, range) as t from range(1000000000)";
    let failure = answer(&DataFiles::default(), QueryRequest { max_rows: u64::MAX, ..request(&[&any_table()], wide) }).unwrap_err();
    assert!(failure.message.starts_with("The result is larger than 16 MB after "), "{}", failure.message);
    for query in ["select list(range) as x from range(1000000000)", "select * from range(1000000000) a order by hash(range)"] {
        let failure = answer(&DataFiles::default(), QueryRequest { timeout: Duration::from_secs(60), ..request(&[&any_table()], query) })
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::TooLarge, "{query}: {}", failure.message);
    }
}

#[test]
fn strange_texts_of_queries_are_sentences() {
    for query in [
        format!("select {}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("select {}1", "~".repeat(5000)),
        format!("select {}1", "- ".repeat(5000)),
        format!("select {}1{}", "abs(".repeat(5000), ")".repeat(5000)),
        format!("select 1 {}", "+ 1".repeat(20_000)),
        format!("select {}1{}", "(select ".repeat(3000), ")".repeat(3000)),
        format!("{}select 1", "with x as (select 1) select * from (".repeat(1000)),
        ";".repeat(60_000),
        format!("select 1{}", ";".repeat(60_000)),
        "x".repeat(70_000),
        "select '".to_owned(),
        "select $$".to_owned(),
        "select \u{202e}1".to_owned(),
        format!("select {}", (0..3000).map(|n| n.to_string()).collect::<Vec<_>>().join(",")),
    ] {
        let outcome = answer(&DataFiles::default(), request(&[&any_table()], &query));
        assert!(outcome.is_ok() || outcome.as_ref().is_err_and(|failure| failure.message.len() <= 2048), "{}", &query[..8]);
        assert!(!outcome.is_err_and(|failure| failure.kind == FailureKind::Internal), "{}", &query[..8]);
    }
    let chain = |many: usize| {
        let chain: Vec<String> = (1..=many).map(|n| format!("t{n} as (select a + 1 as a from t{} group by 1)", n - 1)).collect();
        format!("with t0 as (select a from t), {} select a from t{many}", chain.join(", "))
    };
    let (_folder, doubled) = table_of("t.csv", "a\n1\n");
    let doubled = TableSource { engine: SqlEngine::DuckDb, ..doubled };
    assert_eq!(rows(&[&doubled], &chain(15)), json!([{ "a": 16 }]));
    let sentence = "The query contains more than 20 queries in itself. Ask in several steps.";
    assert_eq!(refusal(&[&doubled], &chain(20)).message, sentence);
    assert_eq!(refusal(&[&doubled], &format!("select {}a{} from t", "(select ".repeat(21), ")".repeat(21))).message, sentence);
    assert_eq!(refusal(&[&doubled], &format!("{}from t{}", "from (".repeat(21), ")".repeat(21))).message, sentence);
    let stars = format!("select {} from t", vec!["*"; 101].join(","));
    assert_eq!(refusal(&[&doubled], &stars).message, "The query contains more than 100 *. Ask in several steps.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_text_of_a_query_is_rows_or_a_sentence(query in "(select|with|from|entries|where|\\*|\\$a|\\(|\\)|;|'|\"|--|,| |attach|copy|pragma|describe|1|\\n|\0){0,12}") {
        if let Err(failure) = answer(&DataFiles::default(), with(request(&[&any_table()], &query), json!({ "a": 1 }))) {
            prop_assert!(matches!(failure.kind, FailureKind::BadRequest | FailureKind::Denied), "{failure:?}");
        }
    }
}
