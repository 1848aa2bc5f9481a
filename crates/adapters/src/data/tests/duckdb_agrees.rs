//! Both engines give the same rows for the same queries on the same file, where SQL means the same to them: filters, sums, groups,
//! order and empty cells. Left aside because they differ by design: division of whole numbers, `like` (capitals), comparing a text with
//! a number, the type of a sum without rows.

use proptest::prelude::*;

use super::super::testing::table_of;
use super::*;

/// A row: text, whole number, number, each perhaps empty.
type Row = (Option<&'static str>, Option<i64>, Option<i64>);

fn csv(table: &[Row]) -> String {
    let mut text = "t,n,h\nz,0,0.5\n".to_owned(); // no column is without values, and the last one is never whole
    for (t, n, halves) in table {
        let cell = |value: Option<String>| value.unwrap_or_default();
        text.push_str(&format!(
            "{},{},{}\n",
            cell(t.map(|t| format!("\"{t}\""))),
            cell(n.map(|n| n.to_string())),
            cell(halves.map(|halves| (halves as f64 / 2.0).to_string()))
        ));
    }
    text
}

fn table() -> impl Strategy<Value = Vec<Row>> {
    let text = prop_oneof![Just(None), prop_oneof!["a", "B", "é", "a b", "x,y", "'q'"].prop_map(|_| None::<&'static str>)];
    let text = prop_oneof![text, proptest::sample::select(vec!["a", "B", "b", "é", "a b", "x,y", "'q'", "Z"]).prop_map(Some)];
    let number = prop_oneof![Just(None), (-3_i64..4).prop_map(Some), Just(Some(1_000_000_007))];
    proptest::collection::vec((text, number.clone(), number), 0..12)
}

/// A condition on one row, deep enough for the logic of three values.
fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (proptest::sample::select(vec!["n", "h"]), proptest::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]), -3..4_i32)
            .prop_map(|(column, operator, value)| format!("{column} {operator} {value}")),
        (proptest::sample::select(vec!["=", "<>", "<", ">="]), proptest::sample::select(vec!["a", "B", "é", ""]))
            .prop_map(|(operator, text)| format!("t {operator} '{text}'")),
        proptest::sample::select(vec!["t", "n", "h"]).prop_map(|column| format!("{column} is null")),
        Just("n in (1, 2, null)".to_owned()),
        Just("n not in (1, 2)".to_owned()),
        Just("t in ('a', 'b')".to_owned()),
        Just("n between -1 and 2".to_owned()),
        Just("n = h".to_owned()),
        Just("h > (select avg(h) from t)".to_owned()),
        Just("exists (select 1 from t other where other.n = t.n + 1)".to_owned()),
        Just("n = $value".to_owned()),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} and {other})")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} or {other})")),
            inner.prop_map(|one| format!("not ({one})")),
        ]
    })
}

/// A query whose rows come in one order only.
fn query() -> impl Strategy<Value = String> {
    let figures =
        "count(*) as c, count(n) as cn, count(distinct t) as ct, sum(n) as sn, sum(h) as sh, min(t) as lt, max(h) as mh, avg(n) as an";
    let direction = proptest::sample::select(vec!["", " desc"]);
    prop_oneof![
        (condition(), direction.clone())
            .prop_map(|(condition, direction)| format!("select t, n, h from t where {condition} order by t{direction}, n, h{direction}")),
        (condition(), proptest::sample::select(vec!["t", "n", "h is null"]), direction).prop_map(move |(condition, key, direction)| {
            format!("select {key} as k, {figures} from t where {condition} group by {key} having count(*) > 0 order by 1{direction}")
        }),
        condition().prop_map(|condition| {
            format!("select case when {condition} then 'yes' else 'no' end as x, coalesce(t, '-') as t, n + 1 as m from t order by 1, 2, 3 limit 7")
        }),
        condition().prop_map(|condition| format!("select distinct t from t where {condition} union select 'a' order by 1")),
        condition().prop_map(|condition| {
            format!("select a.t, b.n from t a left join (select t, n from t where {condition}) b on a.n = b.n order by 1, 2 limit 50")
        }),
        condition().prop_map(|condition| {
            format!("with r as (select t, n, row_number() over (partition by t order by n, h) as k from t where {condition}) select t, n, sum(k) as k from r group by t, n order by 1, 2")
        }),
    ]
}

/// A flag is 1 or 0 to SQLite: what it cannot tell apart counts as equal.
fn plain(rows: &Rows) -> Value {
    let plain = |value: &Value| match value {
        Value::Bool(flag) => json!(f64::from(u8::from(*flag))),
        Value::Number(number) => json!(number.as_f64().map(|number| (number * 1e9).round() / 1e9)),
        other => other.clone(),
    };
    rows.rows
        .iter()
        .map(|row| row.iter().map(|(name, value)| (name.clone(), plain(value))).collect::<serde_json::Map<_, _>>())
        .map(Value::Object)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn both_engines_agree(table in table(), queries in proptest::collection::vec(query(), 1..4), value in -3..4_i32) {
        let (_folder, sqlite) = table_of("t.csv", csv(&table));
        let duckdb = TableSource { engine: SqlEngine::DuckDb, ..sqlite.clone() };
        for query in &queries {
            let values = if query.contains("$value") { json!({ "value": value }) } else { json!({}) };
            let ask = |table: &TableSource| answer(&DataFiles::default(), with(request(&[table], query), values.clone()));
            let (one, other) = (ask(&sqlite), ask(&duckdb));
            let (one, other) = (one.map_err(|f| TestCaseError::fail(format!("{query}: {f:?}")))?, other.map_err(|f| TestCaseError::fail(format!("{query}: {f:?}")))?);
            prop_assert_eq!(plain(&one), plain(&other), "{}\n{}", query, csv(&table));
            prop_assert_eq!(one.is_cut, other.is_cut);
        }
    }
}
