//! What the check says of queries is what a run does: a query in `tests/check/err` fails in the engine, and one in `tests/check/ok` gives rows.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;
use std::time::Duration;

use flow::diagnostic::{Code, Diagnostic};
use flow::port::{Pending, QueryRequest, SqlDatabase, TableSource};
use flow_adapters::data::DataFiles;
use flow_adapters::disk_files::DiskFiles;
use flow_base::model::{Filling, Pipeline, SqlEngine, StepKind};
use flow_lang::check::{Checked, check_file};
use serde_json::json;

const QUERY_FILES: [&str; 3] = ["F215_columns_of_queries", "F216_queries_that_cannot_run", "F217_values_of_queries"];
const OF_QUERIES: [Code; 5] = [Code::UnknownTable, Code::UnknownColumn, Code::QueryFails, Code::QueryValues, Code::UnknownField];

fn checked(folder: &str, name: &str) -> Checked {
    check_file(&Path::new("tests/check").join(folder).join(format!("{name}.yaml")), Path::new("tests/check"), &DiskFiles)
}

fn here<T>(pending: Pending<T>) -> Result<T, flow::event::Failure> {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(pending)
}

/// Each query of a pipeline, and why it fails in a run.
fn ran(pipeline: &Pipeline) -> Vec<(String, Option<String>)> {
    let data = DataFiles::default();
    let steps = pipeline.all_steps().into_iter().filter_map(|step| {
        let StepKind::Sql(sql) = &step.kind else { return None };
        let value = |filling: &Filling| match filling {
            Filling::Constant(value) => value.clone(),
            Filling::Text(text) if text.source.contains("run.") => json!("2026-11-20T09:00:00Z"),
            other => panic!("{other:?}"),
        };
        let request = QueryRequest {
            engine: SqlEngine::Sqlite,
            tables: pipeline.data.iter().map(|(name, data)| TableSource::find(name, data)).collect(),
            query: sql.query.source.to_string(),
            with: sql.with.iter().map(|(name, filling)| (name.value.clone(), value(filling))).collect(),
            max_rows: 10,
            timeout: Duration::from_secs(60),
        };
        Some((request.query.clone(), here(data.query(request)).err().map(|failure| failure.message)))
    });
    steps.collect()
}

#[test]
fn each_query_that_the_check_reports_fails_in_a_run_and_no_other_does() {
    let (mut wrong, mut right) = (0, 0);
    for name in QUERY_FILES {
        for (query, failure) in ran(&checked("err", name).loaded.program.pipelines[0]) {
            assert!(failure.is_some(), "{query} runs");
            wrong += 1;
        }
        for (query, failure) in ran(&checked("ok", name).loaded.program.pipelines[0]) {
            assert_eq!(failure, None, "{query}");
            right += 1;
        }
    }
    assert!(wrong >= 90 && right >= 40, "{wrong} {right}");
}

#[test]
fn each_step_with_a_wrong_query_has_a_finding_with_a_place_in_it_and_a_help() {
    for name in QUERY_FILES {
        let checked = checked("err", name);
        for step in checked.loaded.program.pipelines[0].all_steps() {
            let within = |span: flow_base::source::Span| step.span.start <= span.start && span.end <= step.span.end;
            let found: Vec<_> = checked.diagnostics.iter().filter(|found| within(found.span) && OF_QUERIES.contains(&found.code)).collect();
            assert!(!found.is_empty() && found.iter().all(|found| !found.help.is_empty()), "{name}: {} {found:?}", step.id.value);
        }
    }
}

#[test]
fn a_query_that_lacks_a_piece_is_found_exactly_if_it_fails() {
    let right = checked("ok", QUERY_FILES[1]);
    let queries = right.loaded.program.pipelines[0].queries().into_iter().filter(|query| query.values.is_empty());
    let lacking: Vec<String> = queries.flat_map(|query| without_each_piece(query.text)).collect();
    assert!(lacking.len() > 500, "{}", lacking.len());
    let mut wrong = vec![];
    for some in lacking.chunks(50) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["entries.csv", "people.csv"] {
            std::fs::copy(Path::new("tests/check/parts").join(name), folder.path().join(name)).unwrap();
        }
        let steps: Vec<_> = some.iter().enumerate().map(|(at, query)| json!({ "id": format!("q{at}"), "sql": query })).collect();
        let data = json!({ "entries": { "file": "entries.csv" }, "people": { "file": "people.csv" } });
        let path = folder.path().join("a.yaml");
        // Each step on lines of its own, as people write them.
        let file = json!({ "flow": 1, "name": "a", "data": data, "steps": steps });
        std::fs::write(&path, serde_json::to_string_pretty(&file).unwrap()).unwrap();
        let checked = check_file(&path, folder.path(), &DiskFiles);
        let pipeline = &checked.loaded.program.pipelines[0];
        for (step, (query, failure)) in pipeline.all_steps().iter().zip(ran(pipeline)) {
            let within = |span: flow_base::source::Span| step.span.start <= span.start && span.end <= step.span.end;
            // What is wrong in one way at several places of a line is one finding with all of them.
            let about = |found: &&Diagnostic| within(found.span) || found.related.iter().any(|(span, _)| within(*span));
            let mut found = checked.diagnostics.iter().filter(about).filter(|found| OF_QUERIES.contains(&found.code));
            // What is only seen when a value is worked out.
            let of_values = failure.as_ref().is_some_and(|why| ["JSON", "ESCAPE expression"].iter().any(|word| why.contains(word)));
            if found.next().is_some() != (failure.is_some() && !of_values) {
                wrong.push(format!("{query}: {failure:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The text without each of its words and signs in turn.
fn without_each_piece(text: &str) -> Vec<String> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut pieces: Vec<&str> = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_of_word(first) { rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    let without = |left: usize| pieces.iter().enumerate().filter(|(at, _)| *at != left).map(|(_, piece)| *piece).collect::<String>();
    (0..pieces.len()).filter(|at| pieces[*at] != " ").map(without).filter(|text| !text.trim().is_empty()).collect()
}

/// What is found in a file of a project with these tables, as `code place: message`.
fn found(body: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("entries.csv"), "person;day;hours\np7;2026-11-18;8\n").unwrap();
    std::fs::write(at("people.csv"), "number,name\n7,Ana\n").unwrap();
    let crm = rusqlite::Connection::open(at("crm.sqlite")).unwrap();
    crm.execute_batch(
        "CREATE TABLE customers (id INTEGER, \"full name\" TEXT, city TEXT); CREATE VIEW towns AS SELECT city FROM customers",
    )
    .unwrap();
    std::fs::write(at("sales.parquet"), "").unwrap();
    std::fs::write(at("a.yaml"), format!("flow: 1\nname: a\n{body}")).unwrap();
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    let checked = check_file(&at("a.yaml"), folder.path(), &DiskFiles);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before, "a check leaves no file");
    let told = checked.diagnostics.iter().filter(|found| OF_QUERIES.contains(&found.code));
    told.map(|found| format!("{} {}: {}", found.code.id(), checked.loaded.sources.text(found.span), found.message)).collect()
}

#[test]
fn columns_of_a_database_file_are_known() {
    let query = |query: &str| {
        found(&format!(
            "data: {{ customers: {{ file: crm.sqlite }}, places: {{ file: crm.sqlite, table: towns }}, entries: {{ file: entries.csv }} }}\n\
             steps: [{{ id: a, sql: '{query}' }}]\noutputs: {{ a: '{{{{ steps.a.output }}}}' }}\n"
        ))
    };
    assert_eq!(query("select \"full name\", city from customers union select hours, day from entries"), [""; 0]);
    assert_eq!(
        query("select town from customers"),
        ["F215 town: the query reads column \"town\", which table \"customers\" does not have"]
    );
    assert_eq!(query("select id from places"), ["F215 id: the query reads column \"id\", which table \"places\" does not have"]);
}

#[test]
fn queries_of_tools_are_looked_at_wherever_they_stand() {
    let all = found(
        "data: { entries: { file: entries.csv } }\n\
         tools:\n  hours: { sql: [entries], with: { query: select hour from entries } }\n  any: { sql: [entries] }\n\
         steps:\n  - { id: a, tool: any, with: { query: select now() } }\n  - { id: b, tool: hours }\n\
         outputs: { a: '{{ steps.a.output }}{{ steps.b.output }}' }\n",
    );
    assert_eq!(
        all,
        [
            "F215 query: the query reads column \"hour\", which table \"entries\" does not have; did you mean \"hours\"?",
            "F216 query: SQLite has no function \"now\"",
        ]
    );
}

#[test]
fn of_what_cannot_be_known_nothing_is_said_but_what_the_text_tells() {
    let with =
        |data: &str, steps: &str| found(&format!("data: {{ {data} }}\nsteps:\n{steps}\noutputs: {{ a: '{{{{ steps.a.output }}}}' }}\n"));
    // Tables of DuckDB, tables of files that are read, and a file that is not there.
    assert_eq!(with("s: { file: sales.parquet }", "  - { id: a, sql: 'select x::text from s where y ilike $z', with: { z: a } }"), [""; 0]);
    assert_eq!(with("e: { file: entries.csv }", "  - { id: r, read: people.csv }\n  - { id: a, sql: select x from people }"), [""; 0]);
    assert_eq!(with("e: { file: none.csv }", "  - { id: a, sql: select x from e }"), [""; 0]);
    assert_eq!(
        with("s: { file: sales.parquet }", "  - { id: a, sql: 'select getdate(), now() from s where x = ?', with: { x: 1 } }"),
        ["F216 getdate(): DuckDB has no function \"getdate\"", "F217 ?: a value is filled in by name, as $x, and not by \"?\"",]
    );
}

#[test]
fn fields_that_a_query_does_not_give_are_unknown() {
    let all = found(
        "data: { entries: { file: entries.csv } }\n\
         steps:\n  - { id: one, sql: 'select hours as h, * from entries', one: true }\n  - { id: all, sql: select day from entries }\n\
         \x20 - { id: each, for_each: steps.all.output, as: row, set: '{{ row.day }}{{ row.dya }}' }\n\
         outputs: { a: '{{ steps.one.output.h }}{{ steps.one.output.hours }}{{ steps.one.output.hour }}{{ steps.each.output }}' }\n",
    );
    assert_eq!(
        all,
        [
            "F202 row.dya: \"row\" has no \"dya\"; did you mean \"day\"?",
            "F202 steps.one.output.hour: the output of step \"one\" has no \"hour\"; did you mean \"hours\"?",
        ]
    );
}

#[test]
fn the_table_of_a_person_has_an_id() {
    let all = found(
        "inputs: { id: text }\ndata: { people: { file: people.csv, pii: [nam], columns: { numbr: text } } }\n\
         person: { id: '{{ inputs.id }}', from: people }\nsteps: [{ id: a, set: '{{ person.id }}' }]\noutputs: { a: '{{ steps.a.output }}' }\n",
    );
    assert_eq!(
        all,
        [
            "F215 people.csv: \"columns\" names column \"numbr\", which table \"people\" does not have; did you mean \"number\"?",
            "F215 nam: \"pii\" names column \"nam\", which table \"people\" does not have; did you mean \"name\"?",
            "F215 people: \"person\" names column \"id\", which table \"people\" does not have",
        ]
    );
}

/// What a run of a pipeline in a project with `people.csv` and a file with a query gives, with an input `who`.
fn answered(sql: &str, in_file: &str, who: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.csv"), "id,name\n7,Ana\n8,Bo\n").unwrap();
    std::fs::write(folder.path().join("q.sql"), in_file).unwrap();
    let file = format!(
        "flow: 1\nname: a\ninputs: {{ who: text }}\ndata: {{ people: {{ file: people.csv }} }}\nsteps:\n  - id: a\n    sql: {sql}\n    with: {{ two: 2 }}\noutputs: '{{{{ steps.a.output }}}}'\n"
    );
    std::fs::write(folder.path().join("a.yaml"), file).unwrap();
    let inputs = json!({ "who": who }).to_string();
    std::fs::write(folder.path().join("inputs.json"), inputs).unwrap();
    let ran = crate::program::flow(folder.path(), &["run", "a.yaml", "--inputs", "inputs.json", "--json"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    told["outputs"].clone()
}

#[test]
fn no_value_of_a_query_is_ever_read_as_sql() {
    let hostile = [
        "x' or 'a' = 'a",
        "x' union select id, name from people --",
        "'; drop table people; --",
        "\\' or 1=1 --",
        "$two",
        "{{ 1 }}",
        "%",
        "\"people\"",
        "{% raw %}'",
        "ø\u{2019}' || name || '",
        "0) or (1=1",
        "null",
    ];
    let query = "select {{ inputs.who }} as said, count(*) as n, $two as two from people where name = {{ inputs.who }} or name like '%' || {{ inputs.who | upper }} || '_'";
    for who in hostile {
        let wanted = json!([{ "said": who, "n": if who == "%" { 2 } else { 0 }, "two": 2 }]);
        assert_eq!(answered(&format!("\"{query}\""), "", who), wanted, "{who}");
        assert_eq!(answered("{ file: q.sql }", query, who), wanted, "{who}");
    }
}

#[test]
fn what_is_wrong_in_a_file_with_a_query_stands_in_that_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.csv"), "id,name\n7,Ana\n").unwrap();
    std::fs::write(
        folder.path().join("q.sql"),
        "\u{feff}select id\nfrom people\nwhere nam = {{ inputs.who }}\n  and id = {{ inputs.whom }}\n",
    )
    .unwrap();
    let file = "flow: 1\nname: a\ninputs: { who: text }\ndata: { people: { file: people.csv } }\nsteps: [{ id: a, sql: { file: q.sql } }]\noutputs: '{{ steps.a.output }}'\n";
    std::fs::write(folder.path().join("a.yaml"), file).unwrap();
    let ran = crate::program::flow(folder.path(), &["validate", "a.yaml", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let places: Vec<String> = told["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            format!("{} {}:{}:{}", found["code"].as_str().unwrap(), found["file"].as_str().unwrap(), found["line"], found["column"])
        })
        .collect();
    assert_eq!(places, ["F215 q.sql:3:7", "F202 q.sql:4:15"], "{}", ran.out);
}
