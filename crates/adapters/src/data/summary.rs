//! Short descriptions of tables, for prompts and people.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::blocking::CancelFlag;
use super::query::{Answers, quoted};
use super::sentence::shown;
use crate::event::Failure;
use crate::port::{ColumnSummary, QueryRequest, Rows, TableSource, TableSummary, ValueCount};

/// Number of rows in a sample.
pub(super) const SAMPLE_ROWS: u64 = 10;
/// Maximum length of a cell that is shown, in bytes.
const MOST_SHOWN: usize = 200;

/// Counts the rows and examines every column.
pub(super) fn summary(database: &mut dyn Answers, table: &TableSource, cancel: &CancelFlag) -> Result<TableSummary, Failure> {
    let mut asked = SummaryQueries { database, table, cancel };
    let name = quoted(&table.name);
    let sample = asked.rows(format!("SELECT * FROM {name} LIMIT {SAMPLE_ROWS}"))?;
    let row_count = asked.first_row(format!("SELECT count(*) AS rows FROM {name}"))?.get("rows").and_then(Value::as_u64).unwrap_or(0);
    let sample_markdown = markdown(sample.columns.iter().map(|(name, _)| name.as_str()), sample.rows.iter().map(Map::values));
    let mut columns = Vec::with_capacity(sample.columns.len());
    for (column, _) in &sample.columns {
        columns.push(column_summary(&mut asked, &name, column)?);
    }
    Ok(TableSummary { name: table.name.clone(), row_count, sample_markdown, columns })
}

/// Runs queries about one table.
struct SummaryQueries<'a> {
    database: &'a mut dyn Answers,
    table: &'a TableSource,
    cancel: &'a CancelFlag,
}

impl SummaryQueries<'_> {
    fn rows(&mut self, query: String) -> Result<Rows, Failure> {
        let tables = vec![self.table.clone()];
        // The caller's time limit covers all of these queries.
        let request =
            QueryRequest { engine: self.table.engine, tables, query, with: BTreeMap::new(), max_rows: SAMPLE_ROWS, timeout: Duration::MAX };
        self.database.query(&request, self.cancel)
    }

    fn first_row(&mut self, query: String) -> Result<Map<String, Value>, Failure> {
        Ok(self.rows(query)?.rows.into_iter().next().unwrap_or_default())
    }
}

fn column_summary(asked: &mut SummaryQueries<'_>, table: &str, column: &str) -> Result<ColumnSummary, Failure> {
    let quoted = quoted(column);
    let mut figures =
        asked.first_row(format!("SELECT count({quoted}) AS used, count(DISTINCT {quoted}) AS distinct_values, min({quoted}) AS least, max({quoted}) AS most FROM {table}"))?;
    let top = asked.rows(format!(
        "SELECT {quoted} AS value, count(*) AS count FROM {table} WHERE {quoted} IS NOT NULL GROUP BY {quoted} ORDER BY count(*) DESC, {quoted} LIMIT 3"
    ))?;
    let is_boolean = top.columns.iter().any(|(_, kind)| kind == "boolean");
    let count = |name: &str| figures.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let used = count("used");
    let pct_distinct = share(count("distinct_values"), used);
    let mut end = |name: &str| match figures.remove(name).unwrap_or_default() {
        Value::Number(number) if is_boolean => Value::Bool(number.as_i64() == Some(1)),
        other => short(other),
    };
    let (min, max) = (end("least"), end("most"));
    let top_3 = top
        .rows
        .into_iter()
        .filter_map(|mut row| Some(ValueCount { count: row.get("count")?.as_u64()?, value: short(row.remove("value")?) }));
    let top_3 = top_3.collect();
    Ok(ColumnSummary { name: column.to_owned(), pct_distinct, min, max, top_3 })
}

/// `part` of `whole` in percent, with one decimal place; below 1 and above 99 with as many as two digits of the smaller part need. So the share is 0 or
/// 100 only where nothing or everything is meant.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole <= 0.0 {
        return 0.0;
    }
    let percent = part / whole * 100.0;
    let smaller = percent.min((whole - part) / whole * 100.0);
    // 0.038 has its first digit at the second place.
    let places = if smaller > 0.0 && smaller < 1.0 { 1.0 - smaller.log10().floor() } else { 1.0 };
    let scale = 10_f64.powf(places);
    (percent * scale).round() / scale
}

/// A value as it is shown: a long text is cut.
pub(super) fn short(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shown(&text, MOST_SHOWN)),
        other => other,
    }
}

/// The rows as a Markdown table. Null values become empty cells.
pub(super) fn markdown<'a, R: IntoIterator<Item = &'a Value>>(
    columns: impl Iterator<Item = &'a str>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names: Vec<String> = columns.map(cell).collect();
    let rule = line(vec!["---".to_owned(); names.len()]);
    let mut out = line(names);
    out.push_str(&rule);
    for row in rows {
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => cell(text),
            other => other.to_string(),
        };
        out.push_str(&line(row.into_iter().map(text).collect()));
    }
    out
}

fn cell(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shown(&one_line, MOST_SHOWN).replace('\\', "\\\\").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use super::super::database::Database;
    use super::super::testing::table_of;

    #[test]
    fn a_table_is_summed_up_by_column() {
        let (_folder, table) = table_of("hours.csv", "person,hours,note\np7,8,a|b\np7,7.5,\np1,8,\"two\nlines\"\n");
        let summary = summary(&mut Database::new().unwrap(), &table, &CancelFlag::default()).unwrap();
        assert_eq!(summary.row_count, 3);
        assert_eq!(
            summary.sample_markdown,
            "| person | hours | note |\n| --- | --- | --- |\n| p7 | 8.0 | a\\|b |\n| p7 | 7.5 |  |\n| p1 | 8.0 | two lines |\n"
        );
        let [person, hours, note] = summary.columns.as_slice() else { panic!("three columns") };
        assert_eq!((person.pct_distinct, &person.min, &person.max), (66.7, &json!("p1"), &json!("p7")));
        assert_eq!(json!(person.top_3), json!([{ "value": "p7", "count": 2 }, { "value": "p1", "count": 1 }]));
        assert_eq!((&hours.min, &hours.max), (&json!(7.5), &json!(8.0)));
        assert_eq!(json!(hours.top_3), json!([{ "value": 8.0, "count": 2 }, { "value": 7.5, "count": 1 }]));
        assert_eq!(note.pct_distinct, 100.0);
    }

    #[test]
    fn a_share_is_0_or_100_only_where_nothing_or_everything_is_meant() {
        for (part, whole, expected) in [
            (4, 10_419, 0.038),
            (1, 3, 33.3),
            (2, 3, 66.7),
            (1, 150, 0.67),
            (10_418, 10_419, 99.9904),
            (3, 3, 100.0),
            (0, 3, 0.0),
            (0, 0, 0.0),
            (1, 1_000_000_000, 0.0000001),
        ] {
            assert_eq!(share(f64::from(part), f64::from(whole)), expected, "{part} of {whole}");
        }
    }

    #[test]
    fn a_table_without_rows_has_columns_without_values() {
        let (_folder, table) = table_of("empty.csv", "a,b\n");
        let summary = summary(&mut Database::new().unwrap(), &table, &CancelFlag::default()).unwrap();
        assert_eq!(summary.row_count, 0);
        assert_eq!(summary.columns[1], ColumnSummary { name: "b".into(), ..ColumnSummary::default() });
    }
}
