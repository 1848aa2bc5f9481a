//! Steps that are programs or Python code, as people run them: in each sandbox that there is.

use std::path::Path;

use flow_adapters::sandbox::SandboxKind;
use serde_json::{Value, json};

use crate::program::{command, flow, ran};
use crate::sandbox::{python_in, sandboxes};

fn put(folder: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

/// Runs a pipeline in each kind of sandbox, which must give the same outputs; `None`: none is here, or no Python.
fn outputs(files: &[(&str, &str)], arguments: &[&str], exit: i32) -> Option<Value> {
    let of = |kind: &str| {
        let place = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| put(place.path(), name, text));
        let mut run = command(place.path(), &["run", "--trust", "p.yaml"]);
        let ran = ran(run.args(arguments).env("FLOW_SANDBOX", kind));
        assert_eq!(ran.exit, exit, "{kind}: {}", ran.err);
        serde_json::from_str::<Value>(&ran.out).unwrap_or_else(|_| json!(ran.err))
    };
    let all: Vec<Value> = python_in().into_iter().map(of).collect();
    assert!(all.windows(2).all(|two| two.first() == two.last()), "{all:?}");
    all.into_iter().next()
}

#[test]
fn a_program_reads_the_project_and_nothing_of_its_owner() {
    let pipeline = "flow: 1
name: p
secrets: { KEY: A key. }
inputs: { file: { type: text, default: notes.txt } }
steps:
  - { id: notes, program: [cat, --, '{{ inputs.file }}'], output: lines, reads_only: true }
  - { id: key, program: [sh, -c, 'printf %s $TOKEN | wc -c'], env: { TOKEN: '{{ secrets.KEY }}' }, output: json, reads_only: true }
  - { id: all, program: [env], output: lines, reads_only: true }
  - { id: env, program: [cat, .env], reads_only: true, on_failure: continue }
  - { id: users, program: [cat, /etc/passwd], reads_only: true, on_failure: continue }
  - { id: changes, program: [sh, -c, 'echo x > made.txt'], reads_only: true, on_failure: continue }
  - { id: out, program: [sh, -c, 'echo x > out/made.txt && cat out/made.txt'], writes: out }
outputs:
  notes: '{{ steps.notes.output }}'
  key: '{{ steps.key.output }}'
  names: '{{ steps.all.output | map(\"split\", \"=\") | map(\"first\") | sort }}'
  failed: ['{{ steps.env.status }}', '{{ steps.users.status }}', '{{ steps.changes.status }}']
  out: '{{ steps.out.output }}'
";
    let files = [("p.yaml", pipeline), ("notes.txt", "one\ntwo\n"), (".env", "SECRET=canary\n"), ("out/keep", "")];
    let place = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| put(place.path(), name, text));
    for kind in sandboxes().into_iter().map(SandboxKind::name) {
        let mut run = command(place.path(), &["run", "--trust", "p.yaml", "--events", "events.jsonl", "--events-content"]);
        let ran = ran(run.env("FLOW_SANDBOX", kind).env("KEY", "canary-secret"));
        let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
        assert_eq!(told["notes"], json!(["one", "two"]));
        assert_eq!(told["key"], json!(13), "{told}");
        assert_eq!(told["failed"], json!(["failed", "failed", "failed"]), "{told}");
        assert_eq!(told["out"], "x");
        assert!(!place.path().join("made.txt").exists());
        let names: Vec<&str> = told["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(["HOME", "PATH", "TMPDIR"].iter().all(|name| names.contains(name)) && !names.contains(&"KEY"), "{names:?}");
        let events = std::fs::read_to_string(place.path().join("events.jsonl")).unwrap();
        assert!(events.contains("\"command\":[\"cat\",\"--\",\"notes.txt\"]"), "{events}");
        assert!(!format!("{events}{}{}", ran.out, ran.err).contains("canary"), "{}", ran.err);
    }
}

#[test]
fn the_first_run_of_a_program_asks_and_a_changed_script_asks_again() {
    let place = tempfile::tempdir().unwrap();
    put(
        place.path(),
        "p.yaml",
        "flow: 1\nname: p\nsteps: [{ id: a, program: [sh, report.sh], reads_only: true }]\noutputs: '{{ steps.a.output }}'\n",
    );
    put(place.path(), "report.sh", "echo one\n");
    let asked = flow(place.path(), &["run", "p.yaml"]);
    assert_eq!(asked.exit, 6, "{}", asked.err);
    assert!(asked.err.contains("starts a program: sh report.sh (step a)"), "{}", asked.err);
    assert_eq!(flow(place.path(), &["trust", "p.yaml"]).exit, 0);
    assert_eq!(flow(place.path(), &["run", "p.yaml"]).out, "one\n");
    put(place.path(), "report.sh", "echo two\n");
    assert_eq!(flow(place.path(), &["run", "p.yaml"]).exit, 6);
}

#[test]
fn code_gives_values_tables_and_pictures_and_says_where_it_failed() {
    let pipeline = "flow: 1
name: p
data: { orders: { file: orders.csv } }
steps:
  - { id: orders, sql: 'select * from orders' }
  - id: sums
    python: |
      from collections import Counter
      total = sum(row['n'] for row in rows)
      by = Counter(row['region'] for row in rows)
      table = [{'region': k, 'count': v} for k, v in sorted(by.items())]
      print('done', total)
    with: { rows: '{{ steps.orders.output }}' }
    returns: [total, table]
  - { id: file, python: { file: half.py }, with: { n: '{{ steps.sums.output.total }}' }, returns: half }
  - { id: bad, python: { file: bad.py }, returns: x, on_failure: continue }
  - { id: none, python: 'y = 1', returns: x, on_failure: continue }
outputs:
  total: '{{ steps.sums.output.total }}'
  table: '{{ steps.sums.output.table }}'
  printed: '{{ steps.sums.details.printed }}'
  half: '{{ steps.file.output.half }}'
  bad: '{{ steps.bad.error.message }}'
  none: '{{ steps.none.error.message }}'
";
    let files = [
        ("p.yaml", pipeline),
        ("orders.csv", "region,n\nNorth,2\nSouth,3\nNorth,4\n"),
        ("half.py", "half = n / 2\n"),
        ("bad.py", "def f(x):\n    return x.missing\n\nx = f(1)\n"),
    ];
    let Some(told) = outputs(&files, &[], 0) else { return };
    assert_eq!((&told["total"], &told["half"], &told["printed"]), (&json!(9), &json!(4.5), &json!("done 9\n")));
    assert_eq!(told["table"], json!([{ "region": "North", "count": 2 }, { "region": "South", "count": 1 }]));
    assert_eq!(told["bad"], "AttributeError: 'int' object has no attribute 'missing' (line 2 of bad.py: return x.missing)");
    let none = told["none"].as_str().unwrap();
    assert_eq!(none, "The code did not set `x`: assign a value to it.");
}

#[test]
fn code_runs_in_a_test_and_a_program_that_acts_needs_a_mock() {
    if python_in().is_empty() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    put(
        place.path(),
        "p.yaml",
        "flow: 1\nname: p\nsteps:\n  - { id: push, program: [sh, -c, 'echo really'], output: text }\n  - { id: n, python: 'n = len(text)', with: { text: '{{ steps.push.output }}' }, returns: n }\noutputs: { n: '{{ steps.n.output.n }}' }\n",
    );
    let case = |mock: &str| format!("flow: 1\ntest: p.yaml\ncases: [{{ id: a, {mock}expect: {{ outputs: {{ n: 4 }} }} }}]\n");
    put(place.path(), "p.test.yaml", &case(""));
    let refused = flow(place.path(), &["test", "p.test.yaml"]);
    assert!(refused.exit == 1 && refused.out.contains("\"push\" has side effects; add a mock"), "{}{}", refused.out, refused.err);
    put(place.path(), "p.test.yaml", &case("mocks: { push: four }, "));
    let passed = flow(place.path(), &["test", "p.test.yaml"]);
    assert_eq!(passed.exit, 0, "{}{}", passed.out, passed.err);
    put(place.path(), "p.test.yaml", &case("mocks: { push: [four] }, "));
    assert!(flow(place.path(), &["test", "p.test.yaml"]).out.contains("a program with output: text returns text"));
}

#[test]
fn a_virtual_environment_that_is_missing_says_how_to_make_it() {
    if python_in().is_empty() {
        return;
    }
    let pipeline = "flow: 1\nname: p\nsteps: [{ id: a, python: { code: 'x = 1', venv: .venv, requires: [pandas] }, returns: x }]\noutputs: { x: '{{ steps.a.output.x }}' }\n";
    let place = tempfile::tempdir().unwrap();
    put(place.path(), "p.yaml", pipeline);
    let ran = flow(place.path(), &["run", "--trust", "p.yaml"]);
    assert!(
        ran.exit == 6 && ran.err.contains("there is no virtual environment in") && ran.err.contains("make it with python3 -m venv"),
        "{}",
        ran.err
    );
    let pipeline = pipeline.replace("venv: .venv, ", "").replace("pandas", "no-such-package-anywhere");
    put(place.path(), "p.yaml", &pipeline);
    let ran = flow(place.path(), &["run", "--trust", "p.yaml"]);
    assert!(ran.exit == 6 && ran.err.contains("no-such-package-anywhere"), "{}", ran.err);
}

#[test]
fn what_cannot_be_started_or_takes_too_long_is_named() {
    let pipeline = "flow: 1
name: p
tools:
  slow: { description: Sleeps., program: [sleep, '20'], reads_only: true }
steps:
  - { id: data, program: [/etc/passwd], reads_only: true, on_failure: continue }
  - { id: folder, program: [/etc], reads_only: true, on_failure: continue }
  - { id: none, program: [/nowhere/x], reads_only: true, on_failure: continue }
  - { id: slow, program: [sleep, '20'], timeout: 1s, reads_only: true, on_failure: continue }
  - { id: code, python: 'while True: pass', returns: x, timeout: 1s, on_failure: continue }
  - { id: tool, tool: slow, timeout: 1s, on_failure: continue }
  - { id: word, program: [echo, \"a\\0b\"], reads_only: true, on_failure: continue }
  - { id: value, program: [env], env: { A: \"x\\0\" }, reads_only: true, on_failure: continue }
outputs:
  all:
    - '{{ steps.data.error.message }}'
    - '{{ steps.folder.error.message }}'
    - '{{ steps.none.error.message }}'
    - '{{ steps.slow.error.message }}'
    - '{{ steps.code.error.message }}'
    - '{{ steps.tool.error.message }}'
    - '{{ steps.word.error.message }}'
    - '{{ steps.value.error.message }}'
";
    let Some(told) = outputs(&[("p.yaml", pipeline)], &[], 0) else { return };
    assert_eq!(
        told,
        json!([
            "the program \"/etc/passwd\" is not executable (chmod +x makes a script so)",
            "the program \"/etc\" is a folder, and not a program",
            "the program \"/nowhere/x\" was not found",
            "the program \"sleep\" did not end within 1s, and was ended",
            "the Python code did not end within 1s, and was ended",
            "the program \"sleep\" did not end within 1s, and was ended",
            "the program \"echo\" cannot be started: argument 1 contains a NUL character",
            "the program \"env\" cannot be started: the variable A contains a NUL character",
        ])
    );
}

#[test]
fn what_a_killed_flow_left_goes_at_the_next_start() {
    let (place, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(
        place.path(),
        "p.yaml",
        "flow: 1\nname: p\nsteps: [{ id: a, program: ['true'], reads_only: true }]\noutputs: '{{ steps.a.output }}'\n",
    );
    // What has no lock yet may be of a process that is making it: that goes ten minutes later.
    let is_locked = |folder: &std::path::Path| folder.join("flow-scratch.lock").exists();
    let left = || std::fs::read_dir(temporary.path()).unwrap().filter(|entry| is_locked(&entry.as_ref().unwrap().path())).count();
    let run = || {
        let mut run = command(place.path(), &["run", "--trust", "p.yaml"]);
        run.env("TMPDIR", temporary.path()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        run
    };
    // Killed as soon as there is a folder, before anybody could be there to remove it.
    for _ in 0..20 {
        let mut child = run().spawn().unwrap();
        crate::program::until("a folder", || left() > 0 || child.try_wait().unwrap().is_some());
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(run().status().unwrap().success());
    crate::program::until("the removal of all folders", || left() == 0);
}

#[test]
fn a_picture_that_code_drew_is_kept_by_a_file_tool() {
    if python_in().is_empty() {
        return;
    }
    let pipeline = "flow: 1
name: p
tools: { out: { file: charts, allow: [write] } }
POLICY
steps:
  - id: chart
    python: |
      import struct, zlib
      def chunk(kind, data):
          return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
      head = struct.pack('>IIBBBBB', 2, 1, 8, 2, 0, 0, 0)
      chart = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(bytes(7))) + chunk(b'IEND', b'')
    returns: chart
  - { id: keep, tool: out.write, with: { name: chart.png, text: '{{ steps.chart.output.chart }}' }, on_failure: continue }
  - id: forged
    python: \"file = {'type': 'image', 'path': '/etc/passwd'}\"
    returns: file
  - { id: other, tool: out.write, with: { name: other.png, text: '{{ steps.forged.output.file }}' }, on_failure: continue }
outputs:
  kept: '{{ steps.keep.error.message | default(none) }}'
  other: '{{ steps.other.error.message }}'
";
    let run = |policy: &str| {
        let place = tempfile::tempdir().unwrap();
        put(place.path(), "flow.toml", "");
        put(place.path(), "p.yaml", &pipeline.replace("POLICY", policy));
        let ran = flow(place.path(), &["run", "--trust", "p.yaml"]);
        let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
        let kept = std::fs::read(place.path().join("charts/chart.png")).ok();
        let count = std::fs::read_dir(place.path().join("charts")).map_or(0, Iterator::count);
        (told, kept, count)
    };
    let (told, kept, count) = run("");
    assert_eq!((&told["kept"], count), (&Value::Null, 1), "{told}");
    let kept = kept.unwrap();
    assert!(kept.starts_with(b"\x89PNG\r\n\x1a\n") && kept.ends_with(b"IEND\xaeB`\x82"), "{kept:?}");
    assert_eq!(told["other"], "\"/etc/passwd\" is no picture that a step of this run read or made, so it is not copied");
    let (told, kept, _) = run("policy: closed\npolicies: { closed: { file_access: { write: [other/*] }, allowed_tools: [python, out] } }");
    assert!(told["kept"].as_str().is_some() && kept.is_none(), "{told}");
}
