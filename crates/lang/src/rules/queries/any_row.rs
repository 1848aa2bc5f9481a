//! F228: a query that adds up all rows, and shows a column beside it: its value is that of any row.

use std::sync::LazyLock;

use regex::Regex;

use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding};

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for query in names.queries() {
        let Some((at, column)) = lone_column(query.text) else { continue };
        let message = format!("without group by there is one row for all, and {column} is the {column} of any of them");
        let help = format!("add group by {column} at the end, or remove {column}");
        out.push(finding(Code::AnyRow, query.inside(at, at + column.len()), &message).help(help));
    }
}

/// A column beside a sum over a whole table, and where it stands. Only in a query of one table without conditions, so that nothing else says which
/// row is meant; `min` and `max` choose a row.
fn lone_column(query: &str) -> Option<(usize, &str)> {
    static SHAPE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?is)^\s*select\s+([^;]+?)\s+from\s+\w+\s*(?:order\s+by\s+[\w\s,]+)?;?\s*$").ok());
    static SUM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)^(?:sum|count|avg|total|group_concat|string_agg)\s*\([^()]*\)(?:\s+(?:as\s+)?\w+)?$").ok());
    static COLUMN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)^([a-z_]\w*)(?:\s+(?:as\s+)?\w+)?$").ok());
    let listed = SHAPE.as_ref()?.captures(query)?.get(1)?;
    let mut found = None;
    let mut has_sum = false;
    let mut at = listed.start();
    let mut depth = 0;
    for part in listed.as_str().split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    }) {
        let item = part.trim();
        let start = at + part.len() - part.trim_start().len();
        at += part.len() + 1;
        if SUM.as_ref()?.is_match(item) {
            has_sum = true;
        } else {
            let column = COLUMN.as_ref()?.captures(item)?.get(1)?.as_str();
            if column.eq_ignore_ascii_case("distinct") {
                return None;
            }
            found = found.or(Some((start, &query[start..start + column.len()])));
        }
    }
    found.filter(|_| has_sum)
}
