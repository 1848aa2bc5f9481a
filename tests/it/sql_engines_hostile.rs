//! What a query cannot do, of an author and of a model, in each engine of this build: a step `sql` and a task with `artefact: sql`.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::flow;

/// The engines of this build.
const ENGINES: &[&str] = if cfg!(feature = "duckdb") { &["sqlite", "duckdb"] } else { &["sqlite"] };
/// What a file outside of the project holds.
const CANARY: &str = "canary-outside";

/// Why a query was not answered.
#[derive(Debug)]
struct Refusal {
    kind: String,
    message: String,
}

/// Asks as a step, and lets a model ask the same in a task; both must fail alike. Nothing may be written, and nothing of the file outside be told.
/// `OUTSIDE` in the query is the path of that file, `HERE` the folder of the project.
fn refused(engine: &str, query: &str, timeout: &str) -> Refusal {
    let (place, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = place.path().canonicalize().unwrap();
    let secret = outside.path().join("secret.csv");
    std::fs::write(&secret, format!("x\n{CANARY}\n")).unwrap();
    // A query goes to the engine of the tables whose names stand in it.
    let query = if engine == "duckdb" { format!("{query} /* entries */") } else { query.to_owned() };
    let query = query.replace("OUTSIDE", &secret.display().to_string()).replace("HERE", &folder.display().to_string());
    let write = |name: &str, value: &Value| std::fs::write(folder.join(name), value.to_string()).unwrap();
    std::fs::write(folder.join("flow.toml"), "").unwrap();
    std::fs::write(folder.join("entries.csv"), "person,hours\np7,8\n").unwrap();
    let data = json!({ "entries": { "file": "entries.csv", "engine": engine } });
    let outputs = json!({ "message": "{{ steps.a.error.message }}", "kind": "{{ steps.a.error.kind }}" });
    let step = json!({ "id": "a", "sql": query, "timeout": timeout, "on_failure": "continue" });
    write("step.yaml", &json!({ "flow": 1, "name": "asked", "data": data, "steps": [step], "outputs": outputs }));
    let task = json!({
        "id": "a", "task": "w", "prompt": "Go.", "artefact": "sql", "accept": ["It is there."], "judge": "j", "max_attempts": 1,
        "timeout": timeout, "on_failure": "continue",
    });
    write(
        "task.yaml",
        &json!({
            "flow": 1, "name": "asked", "data": data, "models": { "default": { "provider": "scripted", "replies": "r.yaml" } },
            "agents": { "w": {}, "j": {} }, "steps": [task], "outputs": outputs,
        }),
    );
    write("r.yaml", &json!({ "flow": 1, "replies": { "a": { "data": { "thought": "Try.", "sql_code": query } } } }));
    let asked = |file: &str| {
        let ran = flow(&folder, &["run", file]);
        assert!(!format!("{}{}", ran.out, ran.err).contains(CANARY), "{engine}: {query}: {}{}", ran.out, ran.err);
        // A name that is no table of the file, and what no query may do, is found before the run where an author wrote it.
        if ran.exit == 1 && file == "step.yaml" && ["error[F213]", "error[F216]"].iter().any(|code| ran.err.contains(code)) {
            return None;
        }
        assert_eq!(ran.exit, 0, "{engine}: {query}: {}{}", ran.out, ran.err);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        let text = |name: &str| told[name].as_str().unwrap().to_owned();
        Some(Refusal { kind: text("kind"), message: text("message") })
    };
    let (of_step, of_task) = (asked("step.yaml"), asked("task.yaml").unwrap());
    assert_eq!(names(outside.path()), ["secret.csv"]);
    let Some(of_step) = of_step else {
        assert!(of_task.message.contains(": denied: ") || of_task.message.contains(": bad_request: "), "{engine}: {of_task:?}");
        return Refusal { kind: "denied".to_owned(), ..of_task };
    };
    assert!(engine == "sqlite" || !of_step.message.contains("SQLite"), "{query}: {of_step:?}");
    let is_alike = of_task.message.ends_with(&format!("{}: {}", of_step.kind, of_step.message));
    assert!(is_alike || (of_step.kind.as_str(), of_task.kind.as_str()) == ("timeout", "timeout"), "{engine}: {of_step:?} {of_task:?}");
    assert_eq!(names(&folder), [".flow", "entries.csv", "flow.toml", "r.yaml", "step.yaml", "task.yaml"], "{engine}: {query}");
    assert_eq!(std::fs::read_to_string(folder.join("entries.csv")).unwrap(), "person,hours\np7,8\n");
    of_step
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Each of these queries is rejected in each engine, before it has an effect.
fn all_are_rejected(queries: &[&str]) {
    for engine in ENGINES {
        for query in queries {
            let refusal = refused(engine, query, "30s");
            assert!(["denied", "bad_request"].contains(&refusal.kind.as_str()), "{engine}: {query}: {refusal:?}");
        }
    }
}

#[test]
fn a_query_writes_no_file() {
    all_are_rejected(&[
        "copy entries to 'HERE/out.csv'",
        "copy (select * from entries) to 'HERE/out.parquet' (format parquet)",
        "export database 'HERE/out'",
        "vacuum into 'HERE/out.db'",
        "select writefile('HERE/out.txt', 'x') as y",
        "create table t as select * from entries",
        "insert into entries select * from entries",
        "update entries set hours = 0",
        "delete from entries",
        "drop table entries",
    ]);
}

#[test]
fn a_query_reads_no_other_file() {
    all_are_rejected(&[
        "select * from read_csv('OUTSIDE')",
        "select * from read_csv_auto('OUTSIDE')",
        "select * from read_text('OUTSIDE')",
        "select * from read_blob('/etc/passwd')",
        "select * from glob('/etc/*')",
        "select * from 'OUTSIDE'",
        "select * from \"OUTSIDE\"",
        "select readfile('OUTSIDE') as x from entries",
        "select getenv('HOME') as x",
        "copy entries from 'OUTSIDE'",
    ]);
}

#[test]
fn a_query_attaches_no_other_database() {
    all_are_rejected(&[
        "attach 'HERE/other.db' as other",
        "attach database '/etc/passwd' as other",
        "attach ':memory:' as other",
        "detach main",
        "select 1 as x; attach 'HERE/other.db' as other",
    ]);
}

#[test]
fn a_query_installs_and_loads_no_extension() {
    all_are_rejected(&[
        "install httpfs",
        "force install httpfs from 'http://127.0.0.1:1'",
        "load httpfs",
        "load 'HERE/x.so'",
        "select load_extension('HERE/x.so') as y",
        "select * from read_csv('http://127.0.0.1:1/x.csv')",
    ]);
}

#[test]
fn a_query_changes_no_setting() {
    all_are_rejected(&[
        "pragma journal_mode = delete",
        "pragma writable_schema = 1",
        "pragma query_only = 0",
        "pragma memory_limit = '100GB'",
        "set memory_limit = '100GB'",
        "set enable_external_access = true",
        "reset lock_configuration",
        "select * from pragma_database_list",
        "call pragma_version()",
    ]);
}

#[test]
fn a_query_without_end_is_stopped() {
    for engine in ENGINES {
        for query in [
            "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) as c from n",
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) select count(*) as c from n a, n b, n c where a.i + b.i + c.i > 5",
        ] {
            let refusal = refused(engine, query, "2s");
            // An engine may run into its bound on memory first.
            assert!(["timeout", "too_large"].contains(&refusal.kind.as_str()), "{engine}: {query}: {refusal:?}");
        }
    }
}

#[test]
fn a_query_that_fills_the_memory_is_stopped() {
    let of_sqlite = [
        ("select replace(printf('%1000000d', 1), ' ', printf('%1000000d', 1)) as x", "too long"),
        (
            "with recursive n(i) as (select 1 union all select i + 1 from n limit 3000) select i, printf('%1000000d', i) as x from n order by x desc",
            "more than 512 MB of memory",
        ),
    ];
    let of_duckdb = [
        ("select repeat('x', 4000000000) as x", "repeat"),
        ("select list(a.hours) as x from entries a, range(100000000) b", "more than 512 MB of memory"),
    ];
    for engine in ENGINES {
        for (query, why) in if *engine == "sqlite" { of_sqlite } else { of_duckdb } {
            let refusal = refused(engine, query, "120s");
            assert!(
                ["too_large", "denied"].contains(&refusal.kind.as_str()) && refusal.message.contains(why),
                "{engine}: {query}: {refusal:?}"
            );
        }
    }
}
