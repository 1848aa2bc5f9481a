//! Which SQL engine a program has is found before the first step.

use std::path::Path;

use crate::program::flow;

const PIPELINE: &str = "flow: 1
name: sales
inputs: { word: { type: text, default: started } }
data:
  entries: { file: entries.csv }
  sales: { file: sales.parquet }
steps:
  - id: hello
    send: stdout
    of: inputs.word
  - id: rows
    sql: QUERY
outputs: { rows: \"{{ steps.rows.output }}\" }
on_failure:
  - id: sorry
    send: stdout
    of: inputs.word
finally:
  - id: bye
    send: stdout
    of: inputs.word
";

/// A folder with the pipeline, its CSV file, and a Parquet file if this build can make one.
fn folder(query: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("sales.yaml"), PIPELINE.replace("QUERY", query)).unwrap();
    std::fs::write(path("entries.csv"), "person,hours\np7,8\n").unwrap();
    #[cfg(not(feature = "duckdb"))]
    std::fs::write(path("sales.parquet"), "PAR1").unwrap();
    #[cfg(feature = "duckdb")]
    duckdb::Connection::open_in_memory()
        .unwrap()
        .execute_batch(&format!("COPY (SELECT 'p7' AS person, 12.5 AS price) TO '{}'", path("sales.parquet").display()))
        .unwrap();
    folder
}

/// Nothing ran: no text was sent, no run is kept, and the reason is on standard error and in the object of `--json`.
fn was_not_started(folder: &Path, kind: &str, reason: &str) {
    let ran = flow(folder, &["run", "sales.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (6, ""), "{}", ran.err);
    assert!(ran.err.contains(reason) && ran.err.contains(&format!("({kind})")), "{}", ran.err);
    let ran = flow(folder, &["run", "sales.yaml", "--json"]);
    let end: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((end["status"].as_str(), end["failure"]["kind"].as_str(), ran.exit), (Some("failed"), Some(kind), 6));
    assert_eq!(end["steps"], serde_json::json!({}));
    assert!(!folder.join(".flow").exists(), "a run was kept");
}

#[cfg(not(feature = "duckdb"))]
#[test]
fn a_missing_engine_is_found_before_the_first_step_and_is_no_mistake_of_the_file() {
    let folder = folder("select * from sales");
    let checked = flow(folder.path(), &["validate", "sales.yaml"]);
    assert_eq!(checked.exit, 0, "{}{}", checked.out, checked.err);
    was_not_started(folder.path(), "unavailable", "--features duckdb-bundled");
}

#[cfg(feature = "duckdb")]
#[test]
fn a_parquet_file_is_queried_by_the_program() {
    let folder = folder("select person, price from sales");
    let ran = flow(folder.path(), &["run", "sales.yaml", "--json"]);
    let end: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(end["outputs"]["rows"], serde_json::json!([{ "person": "p7", "price": 12.5 }]));
}

#[cfg(feature = "duckdb")]
#[test]
fn a_query_over_both_engines_is_found_before_the_first_step() {
    let folder = folder("select * from sales join entries using (person)");
    was_not_started(folder.path(), "bad_request", "One query cannot read tables of two engines: entries (SQLite) and sales (DuckDB).");
}

#[test]
fn an_engine_that_cannot_read_the_file_is_found_before_the_first_step() {
    let folder = folder("select * from sales");
    let yaml =
        PIPELINE.replace("QUERY", "select * from sales").replace("{ file: sales.parquet }", "{ file: sales.parquet, engine: sqlite }");
    std::fs::write(folder.path().join("sales.yaml"), yaml).unwrap();
    was_not_started(folder.path(), "bad_request", "The table \"sales\" is a Parquet file, which SQLite cannot read.");
}
