//! The store of runs, through the program: it is noticed when it goes, what is removed is erased, what is encrypted nobody reads.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aho_corasick::AhoCorasick;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran, until};

/// Its inputs, outputs, prompts, errors and kept results hold what a person said.
const PIPELINE: &str = "flow: 1
name: speaks
description: Speaks to a person.
models: { default: { provider: scripted, replies: replies.yaml } }
data: { people: { file: people.csv } }
tools: { shelf: { file: ., allow: [read] } }
agents: { greeter: { instructions: 'You greet {{ inputs.who }}.' } }
inputs: { who: { type: text, pii: true }, nap: { type: text, default: 1ms } }
steps:
  - { id: rows, sql: 'select city from people where name = $who', with: { who: \"{{ inputs.who }}\" }, cache: 1h }
  - { id: ask, agent: greeter, prompt: 'Greet {{ inputs.who }}.', pii: true }
  - { id: nap, wait: \"{{ inputs.nap }}\" }
  - { id: told, set: \"{{ steps.ask.output }}, {{ inputs.who }}\" }
  - { id: fails, tool: shelf.read, with: { name: \"{{ inputs.who }}.txt\" }, on_failure: continue }
outputs: { text: \"{{ steps.told.output }}\" }
";

const WAITS: &str = "flow: 1
name: waits
description: Waits between two steps.
steps:
  - { id: first, set: one }
  - { id: nap, wait: 2s }
  - { id: last, set: \"{{ steps.first.output }} two\" }
outputs: { text: \"{{ steps.last.output }}\" }
";

const CANARY: &str = "Zsofia Canary-Quux77";

fn project(pipeline: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("flow.toml", ""),
        ("p.yaml", pipeline),
        ("people.csv", &format!("name,city\n{CANARY},Canary-Town88\n")),
        ("replies.yaml", "flow: 1\nreplies: { ask: Hello }\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn state(folder: &Path) -> PathBuf {
    folder.join(".flow")
}

/// A run of the waiting pipeline that is in the middle.
fn started(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = command(folder, &[&["run", "p.yaml", "--events", "events.jsonl"], arguments].concat());
    begun(folder, &mut command)
}

/// The run of a command that writes `events.jsonl`, when its wait has begun.
fn begun(folder: &Path, command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the run did not get to its wait", || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended early");
        let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
        events.contains("\"step_started\",\"step\":\"nap\"")
    });
    child
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { exit: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn newest(folder: &Path) -> Value {
    let runs: Vec<Value> = serde_json::from_str(&flow(folder, &["runs", "list", "--json"]).out).unwrap();
    runs.into_iter().next().unwrap()
}

#[test]
fn a_store_that_goes_while_a_run_lasts_is_told_and_the_outputs_are_printed() {
    type Mishap = (&'static str, fn(&Path));
    let mishaps: [Mishap; 4] = [
        ("was removed", |state| std::fs::remove_file(state.join("runs.db")).unwrap()),
        ("was emptied", |state| std::fs::File::options().write(true).open(state.join("runs.db")).unwrap().set_len(0).unwrap()),
        ("was replaced", |state| {
            std::fs::copy(state.join("runs.db"), state.join("other.db")).unwrap();
            std::fs::rename(state.join("other.db"), state.join("runs.db")).unwrap();
        }),
        ("runs.db-wal was removed", |state| std::fs::remove_file(state.join("runs.db-wal")).unwrap()),
    ];
    // Each run waits, so all of them wait at once.
    std::thread::scope(|scope| {
        for (told, mishap) in mishaps {
            scope.spawn(move || {
                let folder = project(WAITS);
                let run = started(folder.path(), &[]);
                mishap(&state(folder.path()));
                let ran = ended(run);
                assert_eq!((ran.exit, ran.out.as_str()), (6, "one two\n"), "{told}: {}", ran.err);
                assert!(ran.err.contains(told) && ran.err.contains("that run is not kept"), "{told}: {}", ran.err);
                assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 0, "{told}: the next run has a store again");
            });
        }
    });
}

#[test]
fn a_state_folder_that_goes_while_a_run_lasts_takes_its_audit_along_and_the_outputs_are_printed() {
    let folder = project(WAITS);
    let run = started(folder.path(), &[]);
    std::fs::remove_dir_all(state(folder.path())).unwrap();
    let ran = ended(run);
    assert_eq!((ran.exit, ran.out.as_str()), (6, "one two\n"), "{}", ran.err);
    assert!(ran.err.contains("the audit log ./.flow/audit.jsonl cannot be written: it was removed"), "{}", ran.err);
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 0, "the next run has a folder again");
}

#[test]
fn a_store_in_which_nothing_stands_is_told_as_that() {
    let folder = project(WAITS);
    std::fs::create_dir(state(folder.path())).unwrap();
    std::fs::write(state(folder.path()).join("runs.db"), "").unwrap();
    for call in [&["runs", "list"][..], &["runs", "show"], &["runs", "resume", "r_1"], &["runs", "rm", "r_1"], &["approve", "r_1", "nap"]] {
        let said = flow(folder.path(), call);
        assert_eq!((said.exit, said.err.contains("runs.db is empty")), (6, true), "{call:?}: {}", said.err);
    }
    let doctor = flow(folder.path(), &["doctor"]);
    assert_eq!((doctor.exit, doctor.out.contains("runs.db is empty")), (1, true), "{}", doctor.out);
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 0);
    assert_eq!(newest(folder.path())["state"], "succeeded");
}

#[test]
fn the_list_tells_running_waiting_and_killed_runs_apart() {
    let folder = project(&WAITS.replace("2s", "60s"));
    let mut child = started(folder.path(), &[]);
    assert_eq!((newest(folder.path())["state"].as_str(), &newest(folder.path())["status"]), (Some("running"), &Value::Null));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(newest(folder.path())["state"], "killed");
    let asks = "flow: 1\nname: keeps\ndescription: Writes a note when a person allows it.\n\
        tools: { notes: { file: ., allow: [write], approve: true } }\n\
        steps:\n  - { id: keep, tool: notes.write, with: { name: note.txt, text: Hello } }\n";
    std::fs::write(folder.path().join("asks.yaml"), asks).unwrap();
    assert_eq!(flow(folder.path(), &["run", "asks.yaml"]).exit, 8);
    let list = flow(folder.path(), &["runs", "list"]).out;
    assert!(list.lines().next().unwrap().contains("  waiting ") && list.contains("  killed "), "{list}");
}

#[test]
fn a_run_that_has_ended_reports_its_outcome_and_one_whose_file_is_gone_can_be_read_and_removed() {
    let folder = project(&WAITS.replace("2s", "1ms"));
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 0);
    let run = newest(folder.path())["run"].as_str().unwrap().to_owned();
    std::fs::remove_file(folder.path().join("p.yaml")).unwrap();
    let again = flow(folder.path(), &["runs", "resume", &run, "--output", "out.json"]);
    assert_eq!((again.exit, again.out.as_str()), (0, "one two\n"), "{}", again.err);
    assert!(std::fs::read_to_string(folder.path().join("out.json")).unwrap().contains("one two"));
    for call in [&["runs", "show", &run][..], &["runs", "export", &run], &["graph", "--run", &run], &["runs", "rm", &run]] {
        let said = flow(folder.path(), call);
        assert_eq!(said.exit, 0, "{call:?}: {}", said.err);
    }
    let fails = "flow: 1\nname: fails\ndescription: It fails.\nsteps: [{ id: a, read: gone.txt }]\n";
    std::fs::write(folder.path().join("p.yaml"), fails).unwrap();
    let first = flow(folder.path(), &["run", "p.yaml"]);
    let again = flow(folder.path(), &["runs", "resume", newest(folder.path())["run"].as_str().unwrap()]);
    assert_eq!((first.exit, again.exit), (6, 6), "{}{}", first.err, again.err);
    assert!(again.err.contains(first.err.lines().last().unwrap()), "{}{}", first.err, again.err);
}

/// Everything that is kept in the project of runs, but the audit, which stays.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(state(folder)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| !path.ends_with("audit.jsonl")).map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// The files in which one of the pieces stands.
fn with(folder: &Path, pieces: &[Vec<u8>]) -> Vec<PathBuf> {
    let search = AhoCorasick::new(pieces).unwrap();
    files(folder).into_iter().filter(|(_, bytes)| search.find(bytes).is_some()).map(|(path, _)| path).collect()
}

/// Pieces of what a column holds, as they lie in the file.
fn pieces(file: &Path, query: &str) -> Vec<Vec<u8>> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let mut query = connection.prepare(query).unwrap();
    let values: Vec<Vec<u8>> = query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    values.iter().flat_map(|value| value.chunks(200).filter(|piece| piece.len() >= 24).map(|piece| piece[..24].to_vec())).collect()
}

const SPEAK: [&str; 2] = ["--input", "who=Zsofia Canary-Quux77"];

#[test]
fn a_removed_run_is_in_no_file_also_while_another_process_has_the_store_open() {
    let folder = project(PIPELINE);
    let other = started(folder.path(), &["--input", "who=Ben", "--input", "nap=4s", "-q"]);
    let said = flow(folder.path(), &[&["run", "p.yaml", "-q"][..], &SPEAK].concat());
    assert_eq!((said.exit, said.out.as_str()), (0, "Hello, Zsofia Canary-Quux77\n"), "{}", said.err);
    let run = newest(folder.path())["run"].as_str().unwrap().to_owned();
    let of_run = format!("select body from blocks where run = (select number from runs where run = '{run}')");
    let mut gone = pieces(&state(folder.path()).join("runs.db"), &of_run);
    gone.extend(pieces(&state(folder.path()).join("cache.db"), &format!("select value from results where run = '{run}'")));
    gone.extend([run.as_bytes().to_vec(), CANARY.as_bytes().to_vec(), b"Canary-Town88".to_vec()]);
    assert!(with(folder.path(), &gone).iter().any(|path| path.ends_with("cache.db") || path.ends_with("cache.db-wal")));
    assert!(with(folder.path(), &gone).iter().any(|path| path.ends_with("runs.db") || path.ends_with("runs.db-wal")));
    let removed = flow(folder.path(), &["runs", "rm", &run]);
    assert_eq!(removed.exit, 0, "{}", removed.err);
    assert_eq!(with(folder.path(), &gone), Vec::<PathBuf>::new());
    let audit = std::fs::read_to_string(state(folder.path()).join("audit.jsonl")).unwrap();
    assert!(audit.contains(&run) && ![CANARY, "Canary-Town88"].iter().any(|said| audit.contains(said)));
    let other = ended(other);
    assert_eq!((other.exit, other.out.as_str()), (0, "Hello, Ben\n"), "{}", other.err);
    assert_eq!(flow(folder.path(), &["runs", "list"]).out.lines().count(), 1);
}

#[test]
fn several_runs_go_at_once_and_one_that_runs_right_now_stays() {
    let folder =
        project(&WAITS.replace("2s", "\"{{ inputs.nap }}\"").replace("steps:", "inputs: { nap: { type: text, default: 1ms } }\nsteps:"));
    for _ in 0..4 {
        assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 0);
    }
    let ids = || -> Vec<String> {
        let runs: Vec<Value> = serde_json::from_str(&flow(folder.path(), &["runs", "list", "--json"]).out).unwrap();
        runs.iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids();
    assert_eq!(flow(folder.path(), &["runs", "rm", &all[0], "r_none"]).exit, 2);
    assert_eq!(ids().len(), 4, "all or none");
    assert_eq!(flow(folder.path(), &["runs", "rm", &all[0], &all[1]]).exit, 0);
    assert_eq!(ids(), all[2..]);
    let mut child = started(folder.path(), &["--input", "nap=60s"]);
    let running = ids()[0].clone();
    let refused = flow(folder.path(), &["runs", "rm", &running, &all[2]]);
    assert_eq!((refused.exit, ids().len()), (2, 3), "{}", refused.err);
    assert_eq!(flow(folder.path(), &["runs", "rm", "--all"]).exit, 2);
    assert_eq!(flow(folder.path(), &["runs", "prune", "--older-than", "soon"]).exit, 2);
    let pruned = flow(folder.path(), &["runs", "prune", "--older-than", "1d"]);
    assert_eq!((pruned.exit, pruned.err.as_str(), ids().len()), (0, "0 runs removed\n", 3));
    let pruned = flow(folder.path(), &["runs", "prune", "--older-than", "1ms"]);
    assert_eq!((pruned.exit, ids()), (2, vec![running.clone()]), "{}", pruned.err);
    assert!(pruned.err.contains("2 runs removed") && pruned.err.contains("not removed"), "{}", pruned.err);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(flow(folder.path(), &["runs", "rm", "--all", "--yes"]).exit, 0);
    assert_eq!(flow(folder.path(), &["runs", "list"]).exit, 4);
    let left: Vec<_> = files(folder.path()).into_iter().map(|(path, _)| path.file_name().unwrap().to_owned()).collect();
    assert!(left.iter().all(|name| name.to_string_lossy().starts_with("runs.db")), "no lock is left: {left:?}");
}

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER: &str = "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=";

fn keyed(folder: &Path, key: &str, arguments: &[&str]) -> Ran {
    let mut command: Command = command(folder, arguments);
    ran(command.env("FLOW_JOURNAL_KEY", key))
}

#[test]
fn an_encrypted_run_is_read_with_its_key_only() {
    let folder = project(PIPELINE);
    std::fs::write(folder.path().join("flow.toml"), "[journal]\nencrypt = true\n").unwrap();
    let refused = flow(folder.path(), &[&["run", "p.yaml", "-q"][..], &SPEAK].concat());
    assert_eq!((refused.exit, refused.err.contains("FLOW_JOURNAL_KEY")), (2, true), "{}", refused.err);
    assert!(!state(folder.path()).exists(), "nothing was started");
    let refused = keyed(folder.path(), "a weak word", &[&["run", "p.yaml", "-q"][..], &SPEAK].concat());
    assert_eq!((refused.exit, refused.err.contains("openssl rand -base64 32")), (2, true), "{}", refused.err);
    assert!(!refused.err.contains("weak word"));
    for _ in 0..3 {
        let said = keyed(folder.path(), KEY, &[&["run", "p.yaml", "-q"][..], &SPEAK].concat());
        assert_eq!((said.exit, said.out.as_str()), (0, "Hello, Zsofia Canary-Quux77\n"), "{}", said.err);
    }
    let run = newest(folder.path())["run"].as_str().unwrap().to_owned();
    assert_eq!(newest(folder.path())["status"], "partial", "the list needs no key");
    for call in [&["runs", "show", &run][..], &["runs", "export", &run], &["runs", "resume", &run], &["graph", "--run", &run]] {
        let said = flow(folder.path(), call);
        assert_eq!((said.exit, said.err.contains("is encrypted with the key")), (2, true), "{call:?}: {}", said.err);
        let said = keyed(folder.path(), OTHER, call);
        assert_eq!((said.exit, said.err.contains("has another one")), (2, true), "{call:?}: {}", said.err);
        assert_eq!(keyed(folder.path(), KEY, call).exit, 0, "{call:?}");
    }
    assert!(flow(folder.path(), &["doctor", "--json"]).out.contains("encrypted with a key that is not set"));
    // New runs use the new key, and others keep theirs.
    assert_eq!(keyed(folder.path(), OTHER, &[&["run", "p.yaml", "-q"][..], &SPEAK].concat()).exit, 0);
    assert_eq!(keyed(folder.path(), OTHER, &["runs", "show"]).exit, 0);
    assert_eq!(keyed(folder.path(), KEY, &["runs", "show", &run]).exit, 0);
    // What is decompressed as far as it goes holds nothing of the person either.
    for (path, bytes) in files(folder.path()) {
        assert!(!String::from_utf8_lossy(&bytes).contains("Canary"), "{}", path.display());
    }
    let mut bodies = bodies(&state(folder.path()).join("runs.db"), "select body from blocks");
    bodies.extend(self::bodies(&state(folder.path()).join("cache.db"), "select value from results"));
    assert!(bodies.len() > 4 && bodies.iter().all(|body| body[0] == 2), "each is encrypted");
    // One run sends the same under two keys: two rows, and none of them is the plain hash that an unencrypted project keeps it under.
    let plain = project(PIPELINE);
    assert_eq!(flow(plain.path(), &[&["run", "p.yaml", "-q"][..], &SPEAK].concat()).exit, 0);
    let keys = |folder: &Path| texts(&state(folder).join("cache.db"), "select key from results order by key");
    let (hashes, sealed) = (keys(plain.path()), keys(folder.path()));
    assert_eq!((hashes.len(), sealed.len()), (1, 2));
    assert!(sealed.iter().all(|key| key.len() == 64 && !hashes.contains(key)), "{sealed:?} {hashes:?}");
    let events = ["--events", "events.jsonl", "--events-content"];
    assert_eq!(keyed(folder.path(), KEY, &[&["run", "p.yaml", "-q"][..], &SPEAK, &events].concat()).exit, 0);
    let events = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    assert!(events.contains("cache_asked") && !events.contains(&hashes[0]) && !events.contains("Canary"), "{events}");
    assert_eq!(keys(folder.path()), sealed, "the third run found what the first kept");
    assert_eq!(flow(folder.path(), &["runs", "rm", "--all", "--yes", "-q"]).exit, 0, "neither does the removal");
}

fn texts(file: &Path, query: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let mut query = connection.prepare(query).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// What a run keeps after it is resumed is encrypted as the run is, also where the settings have no encryption any more.
#[test]
fn a_run_that_goes_on_keeps_its_results_encrypted() {
    let pipeline = PIPELINE.replace(
        "  - { id: told,",
        "  - { id: later, sql: 'select name from people where name = $who', with: { who: \"{{ inputs.who }}\" }, cache: 1h }\n  - { id: told,",
    );
    let folder = project(&pipeline);
    std::fs::write(folder.path().join("flow.toml"), "[journal]\nencrypt = true\n").unwrap();
    let arguments = [&["run", "p.yaml", "--events", "events.jsonl", "--input", "nap=1s"][..], &SPEAK].concat();
    let mut child = begun(folder.path(), command(folder.path(), &arguments).env("FLOW_JOURNAL_KEY", KEY));
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    let run = newest(folder.path())["run"].as_str().unwrap().to_owned();
    let said = keyed(folder.path(), KEY, &["runs", "resume", &run, "-q"]);
    assert_eq!((said.exit, said.out.as_str()), (0, "Hello, Zsofia Canary-Quux77\n"), "{}", said.err);
    let kept = bodies(&state(folder.path()).join("cache.db"), "select value from results");
    assert!(kept.len() == 2 && kept.iter().all(|body| body[0] == 2), "{kept:?}");
}

fn bodies(file: &Path, query: &str) -> Vec<Vec<u8>> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let mut query = connection.prepare(query).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_key_in_a_file_is_the_users_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = project(&WAITS.replace("2s", "1ms"));
    std::fs::write(folder.path().join("user.toml"), "[journal]\nencrypt = true\nkey_file = \"flow.key\"\n").unwrap();
    std::fs::write(folder.path().join("flow.key"), format!("{KEY}\n")).unwrap();
    let with_user = |arguments: &[&str]| {
        let mut command = command(folder.path(), arguments);
        ran(command.env("FLOW_CONFIG", folder.path().join("user.toml")))
    };
    let mode = |mode| std::fs::set_permissions(folder.path().join("flow.key"), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let refused = with_user(&["run", "p.yaml", "-q"]);
    assert_eq!((refused.exit, refused.err.contains("chmod 600")), (2, true), "{}", refused.err);
    mode(0o600);
    assert_eq!(with_user(&["run", "p.yaml", "-q"]).out, "one two\n");
    assert_eq!(flow(folder.path(), &["runs", "show"]).exit, 2);
    assert_eq!(with_user(&["runs", "show"]).exit, 0);
    // A project can ask for encryption, and cannot take it back or name the key.
    std::fs::write(folder.path().join("flow.toml"), "[journal]\nencrypt = false\n").unwrap();
    assert_eq!(with_user(&["run", "p.yaml", "-q"]).exit, 0);
    assert!(bodies(&state(folder.path()).join("runs.db"), "select body from blocks").iter().all(|body| body[0] == 2));
    std::fs::write(folder.path().join("flow.toml"), "[journal]\nkey_file = \"flow.key\"\n").unwrap();
    let refused = flow(folder.path(), &["run", "p.yaml"]);
    assert_eq!((refused.exit, refused.err.contains("key_file")), (1, true), "{}", refused.err);
    // No step reads the key.
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(
        folder.path().join("p.yaml"),
        "flow: 1\nname: reads\ndescription: It reads.\nsteps: [{ id: a, read: flow.key }]\noutputs: { a: \"{{ steps.a.output }}\" }\n",
    )
    .unwrap();
    let refused = with_user(&["run", "p.yaml"]);
    assert_eq!((refused.exit, refused.err.contains("denied"), refused.out.contains(KEY)), (6, true, false), "{}", refused.err);
}

#[test]
fn no_file_reads_the_key_of_the_journal() {
    let wants = "flow: 1\nname: wants\ndescription: It wants the key.\nsecrets: { FLOW_JOURNAL_KEY: The key }\n\
        steps: [{ id: a, http: \"GET http://127.0.0.1:9/{{ secrets.FLOW_JOURNAL_KEY }}\" }]\n";
    let folder = project(wants);
    let refused = keyed(folder.path(), KEY, &["run", "p.yaml", "--trust"]);
    assert_ne!(refused.exit, 0);
    assert!(!refused.err.contains(KEY) && !refused.out.contains(KEY), "{}", refused.err);
}

#[test]
fn a_value_as_deep_as_values_may_be_is_kept_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("flow.toml", "");
    write(
        "p.yaml",
        "flow: 1\nname: p\ninputs: { x: any }\nsteps: [{ id: a, set: [\"{{ inputs.x }}\"] }]\noutputs: { x: \"{{ steps.a.output }}\" }\n",
    );
    for depth in [100, 120, 125, 126] {
        write("in.json", &format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth)));
        let ran = crate::program::flow(folder.path(), &["run", "p.yaml", "-q", "--inputs", "in.json"]);
        assert_eq!(ran.exit, 0, "{depth}: {}", ran.err);
        let shown = crate::program::flow(folder.path(), &["runs", "export"]);
        assert_eq!(shown.exit, 0, "{depth}: {}", shown.err);
    }
}

#[test]
fn a_value_that_each_step_doubles_fails_where_it_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    let more: String = (1..60)
        .map(|n| format!("  - {{ id: a{n}, set: [\"{{{{ steps.a{0}.output }}}}\", \"{{{{ steps.a{0}.output }}}}\"] }}\n", n - 1))
        .collect();
    let text = format!(
        "flow: 1\nname: p\nsteps:\n  - {{ id: a0, set: {{ of: \"{}\" }} }}\n{more}outputs: {{ x: \"{{{{ steps.a59.output | length }}}}\" }}\n",
        "x".repeat(4_000)
    );
    std::fs::write(folder.path().join("p.yaml"), text).unwrap();
    let ran = crate::program::flow(folder.path(), &["run", "p.yaml"]);
    assert!(ran.exit == 6 && ran.err.contains("the value takes more than 64 MiB"), "{}: {}", ran.exit, ran.err);
}

/// Stored values are data: no key in them means anything to whoever reads them again.
#[test]
fn a_value_whose_keys_look_like_those_of_events_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("flow.toml", "");
    write(
        "p.yaml",
        "flow: 1\nname: p\ninputs: { x: any }\nsteps: [{ id: a, set: \"{{ inputs.x }}\" }, { id: nap, wait: 60s }]\noutputs: { x: \"{{ steps.a.output }}\" }\n",
    );
    let x = serde_json::json!({
        "lc": 1, "type": "run_finished", "id": ["langchain", "os", "system"], "kwargs": { "command": "id" }, "__type": "exception",
        "__reduce__": ["os.system", "id"], "py/object": "os.system", "$serde_json::private::RawValue": "1", "$serde_json::private::Number": "7",
        "v": 9, "seq": 1, "run": "r_other", "step": "nap", "status": "succeeded", "said": { "text": "" }, "{{ 7 * 7 }}": "{{ env.HOME }}",
    });
    write("in.json", &serde_json::json!({ "x": x }).to_string());
    let mut child =
        begun(folder.path(), &mut command(folder.path(), &["run", "p.yaml", "--events", "events.jsonl", "--inputs", "in.json"]));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = newest(folder.path())["run"].as_str().unwrap().to_owned();
    let record: Value = serde_json::from_str(&flow(folder.path(), &["runs", "export", &run]).out).unwrap();
    assert_eq!((&record["inputs"]["x"], &record["steps"][0]["output"]), (&x, &x));
}
