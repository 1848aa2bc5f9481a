//! Which files a run touches, and that nothing it opens makes it wait for ever.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use tempfile::TempDir;

use crate::program::{Ran, command, until};

/// How often it is looked whether a call has ended, 10 ms apart: far more than any of these takes, so that only what hangs takes longer.
const MOST_LOOKS: u32 = 12_000;
/// Stands in every file that no step may read.
const SECRET: &str = "marsh-warbler-7";

/// What a call gives; one that hangs is a failure.
fn ends(command: &mut Command) -> Ran {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    ended(child, command)
}

fn ended(mut child: Child, what: &Command) -> Ran {
    let text = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_string(&mut text));
            text
        })
    };
    let out = text(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let err = text(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let mut looks = 0;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if looks > MOST_LOOKS => {
                child.kill().unwrap();
                panic!("it hangs: {what:?}");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
        looks += 1;
    };
    let exit = status.code().unwrap_or_else(|| 128 + std::os::unix::process::ExitStatusExt::signal(&status).unwrap());
    Ran { exit, out: out.join().unwrap(), err: err.join().unwrap() }
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        put(&folder.path().join(name), text);
    }
    folder
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn pipe(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    mkfifo(path, Mode::from_bits_truncate(0o600)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

const READS: &str = "flow: 1
name: reads
description: Reads a file that somebody else names.
inputs: { file: file }
steps: [{ id: look, read: \"{{ inputs.file }}\" }]
outputs: { text: \"{{ steps.look.output.text }}\" }
";
const SETS: &str =
    "flow: 1\nname: sets\ndescription: Sets a text.\nsteps: [{ id: a, set: marsh-warbler-7 }]\noutputs: { a: \"{{ steps.a.output }}\" }\n";

/// A project with everything that no step reads, and one run kept.
fn guarded() -> TempDir {
    let folder = folder(&[
        ("flow.toml", ""),
        ("reads.yaml", READS),
        ("sets.yaml", SETS),
        (".env", "KEY=marsh-warbler-7\n"),
        (".env.local", "KEY=marsh-warbler-7\n"),
        ("keys.txt", "KEY=marsh-warbler-7\n"),
        ("user.toml", "# marsh-warbler-7\n"),
        ("deep/.env", "marsh-warbler-7\n"),
        ("other/.flow/notes.txt", "marsh-warbler-7\n"),
        ("notes/a.md", "fine\n"),
    ]);
    let at = |name: &str| folder.path().join(name);
    assert_eq!(ends(&mut command(folder.path(), &["run", "sets.yaml"])).exit, 0);
    put(&at(".state/flow/trusted/00ff"), SECRET);
    for (to, from) in [
        (".flow", "notes/kept"),
        (".flow/runs.db", "notes/db.txt"),
        (".flow/runs.db", "notes/db.sqlite"),
        (".env", "notes/link.txt"),
        ("keys.txt", "notes/keys.txt"),
    ] {
        symlink(at(to), at(from)).unwrap();
    }
    for (to, from) in [
        (".flow/runs.db", "notes/hard.txt"),
        (".env", "notes/hard_env.txt"),
        (".env.local", "notes/hard_local.txt"),
        ("keys.txt", "notes/hard_keys.txt"),
    ] {
        std::fs::hard_link(at(to), at(from)).unwrap();
    }
    folder
}

fn guarded_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(folder, arguments);
    command.args(["--env-file", "keys.txt"]).env("FLOW_CONFIG", folder.join("user.toml"));
    command
}

#[test]
fn no_step_reads_what_flow_and_its_user_keep() {
    let project = guarded();
    let whole = |name: &str| project.path().join(name).display().to_string();
    let root = format!("/proc/self/root{}", whole(".env"));
    let paths = [
        ".flow/runs.db",
        ".flow/runs.db-wal",
        ".flow/not_yet.db",
        "./notes/../.flow/runs.db",
        &whole(".flow/runs.db"),
        "notes/kept/runs.db",
        "notes/db.txt",
        "notes/hard.txt",
        ".env",
        ".env.local",
        "deep/.env",
        "notes/link.txt",
        "notes/hard_env.txt",
        "notes/hard_local.txt",
        &root,
        "keys.txt",
        "notes/keys.txt",
        "notes/hard_keys.txt",
        "user.toml",
        "other/.flow/notes.txt",
        ".state/flow/trusted/00ff",
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/proc/kmsg",
    ];
    for path in paths {
        let said = ends(&mut guarded_command(project.path(), &["run", "reads.yaml", "--input", &format!("file={path}")]));
        assert_eq!(said.exit, 6, "{path}: {}", said.err);
        assert!(said.err.contains("no step may read") || path == "/proc/self/fd/0", "{path}: {}", said.err);
        assert!(!said.out.contains(SECRET) && !said.err.contains(SECRET), "{path}");
    }
    let said = ends(&mut guarded_command(project.path(), &["run", "reads.yaml", "--input", "file=notes/a.md"]));
    assert_eq!((said.exit, said.out.as_str()), (0, "fine\n\n"), "{}", said.err);
}

#[test]
fn tools_and_tables_do_not_reach_it_either() {
    let project = guarded();
    let head = "flow: 1\nname: p\ndescription: Reaches for what is not its own.\n";
    let ends_with = "outputs: { it: \"{{ steps.a.output }}\" }\n";
    for (what, told) in [
        ("tools: { docs: { file: notes } }\nsteps: [{ id: a, tool: docs.read, with: { name: hard.txt } }]\n", "no step may read"),
        ("tools: { docs: { file: notes } }\nsteps: [{ id: a, tool: docs.read, with: { name: keys.txt } }]\n", "no step may read"),
        (
            "data: { old: { file: notes/runs.db, table: events } }\nsteps: [{ id: a, sql: select * from old, timeout: 5s }]\n",
            "no step may read",
        ),
        ("data: { old: { file: notes/rows.csv } }\nsteps: [{ id: a, sql: select * from old, timeout: 5s }]\n", "no step may read"),
        ("tools: { docs: { file: notes/kept } }\nsteps: [{ id: a, tool: docs.list }]\n", "F616"),
        ("agents: { w: { instructions: { file: notes/link.txt } } }\nsteps: [{ id: a, agent: w, prompt: Hi }]\n", "F616"),
        ("data: { old: { file: notes/db.sqlite } }\nsteps: [{ id: a, sql: select 1 as a, timeout: 5s }]\n", "F616"),
    ] {
        std::fs::hard_link(project.path().join(".flow/runs.db"), project.path().join("notes/runs.db")).ok();
        std::fs::hard_link(project.path().join(".env"), project.path().join("notes/rows.csv")).ok();
        put(&project.path().join("p.yaml"), &format!("{head}{what}{ends_with}"));
        let said = ends(&mut guarded_command(project.path(), &["run", "p.yaml"]));
        assert!(said.exit != 0 && said.err.contains(told), "{what}: {} {}", said.exit, said.err);
        assert!(!said.out.contains(SECRET) && !said.err.contains(SECRET), "{what}");
    }
}

#[test]
fn nothing_is_written_that_a_program_would_run() {
    let project = folder(&[("flow.toml", ""), ("servers/helper.sh", "exit 1"), ("tool.cfg", "")]);
    let at = |name: &str| project.path().join(name);
    symlink(at("servers"), at("linked")).unwrap();
    std::fs::create_dir(at("out")).unwrap();
    let helper = "helper: { command: sh, args: [servers/helper.sh, tool.cfg, later/run.py, '-m', pack.main], connect_timeout: 1s }";
    let runs = |inner: &str, name: &str| {
        // Two files, so that the check does not see the one from the other.
        let write = "steps: [{ id: write, tool: place.write, with: { name: \"{{ inputs.name }}\", text: x } }]";
        let head = "flow: 1\nname: w\ndescription: Writes.\ninputs: { name: text }\n";
        put(&at("w.yaml"), &format!("{head}tools: {{ place: {{ file: {inner}, allow: [write], timeout: 5s }}, {helper} }}\n{write}\n"));
        ends(&mut command(project.path(), &["run", "w.yaml", "--trust", "--input", &format!("name={name}")]))
    };
    for (inner, name) in [
        ("servers", "helper.sh"),
        ("servers", "json.py"),
        ("servers/lib/deep", "util.txt"),
        ("linked", "json.py"),
        (".", "tool.cfg"),
        (".", "json.py"),
        (".", "package.json"),
        ("later", "run.py"),
        ("pack", "main.txt"),
        (".", "pack.py"),
        ("node_modules/x", "index.txt"),
        (".git/hooks", "pre-commit"),
        ("out/.git", "config"),
        (".vscode", "tasks.json"),
        (".github/workflows", "x.txt"),
    ] {
        let said = runs(inner, name);
        let is_refused = said.err.contains("no step may write") || said.err.contains("F616");
        assert!(said.exit != 0 && is_refused, "{inner}/{name}: {} {}", said.exit, said.err);
    }
    for (inner, name) in [("out", "json.py"), ("out", "a.md"), (".", "notes.md")] {
        let said = runs(inner, name);
        assert_eq!(said.exit, 0, "{inner}/{name}: {}", said.err);
    }
    assert_eq!(std::fs::read_to_string(at("servers/helper.sh")).unwrap(), "exit 1");
    assert!(!at(".vscode").exists() && !at("node_modules").exists());
}

#[test]
fn a_pipe_in_the_place_of_a_file_ends_at_once() {
    let head = "flow: 1\nname: p\ndescription: Opens a file.\n";
    let steps = "steps: [{ id: a, set: x }]\noutputs: { a: \"{{ steps.a.output }}\" }\n";
    let with = |what: &str| format!("{head}{what}");
    let plain = with(steps);
    let test = "flow: 1\ntest: p.yaml\ncases: [{ id: a, golden: true }]\n";
    // The file, where the pipe is, what is called.
    let cases: Vec<(String, &str, &[&str])> = vec![
        (
            with("tools: { docs: { file: docs } }\nsteps: [{ id: a, tool: docs.read, with: { name: x.txt } }]\n"),
            "docs/x.txt",
            &["run", "p.yaml"],
        ),
        (with("steps: [{ id: a, read: x.txt }]\n"), "x.txt", &["run", "p.yaml"]),
        (with("steps: [{ id: a, read: x.png }]\n"), "x.png", &["run", "p.yaml"]),
        (with("data: { t: { file: x.csv } }\nsteps: [{ id: a, sql: select * from t }]\n"), "x.csv", &["run", "p.yaml"]),
        (with("data: { t: { file: x.xlsx } }\nsteps: [{ id: a, sql: select * from t }]\n"), "x.xlsx", &["run", "p.yaml"]),
        (with("data: { t: { file: x.sqlite } }\nsteps: [{ id: a, sql: select * from t }]\n"), "x.sqlite", &["run", "p.yaml"]),
        (with("data: { t: { file: x.parquet } }\nsteps: [{ id: a, sql: select * from t }]\n"), "x.parquet", &["run", "p.yaml"]),
        (with("imports: [x.yaml]\nsteps: [{ id: a, set: x }]\n"), "x.yaml", &["run", "p.yaml"]),
        (with("agents: { w: { instructions: { file: x.md } } }\nsteps: [{ id: a, agent: w, prompt: Hi }]\n"), "x.md", &["run", "p.yaml"]),
        (with("channels: [mail]\nsteps: [{ id: a, set: x }]\n"), "channels/mail.yaml", &["validate", "p.yaml"]),
        (with("style_guide: house\nsteps: [{ id: a, set: x }]\n"), "style_guides/house.yaml", &["validate", "p.yaml"]),
        (
            with("models: { default: { provider: scripted, replies: r.yaml } }\nsteps: [{ id: a, set: x }]\n"),
            "r.yaml",
            &["validate", "p.yaml"],
        ),
        (
            with(
                "inputs: { a: text }\nsteps: [{ id: a, tool: t }]\ntools: { t: { http: GET https://a.example, output_schema: { file: s.json } } }\n",
            ),
            "s.json",
            &["validate", "p.yaml"],
        ),
        (with("steps: [{ id: a, call: sub.yaml }]\n"), "sub.yaml", &["validate", "p.yaml"]),
        (plain.clone(), "x.yaml", &["validate"]),
        (plain.clone(), "x.yaml", &["validate", "x.yaml"]),
        (plain.clone(), "x.test.yaml", &["test"]),
        (plain.clone(), "x.yaml", &["doctor"]),
        (plain.clone(), "x.yaml", &["fix", "x.yaml"]),
        (plain.clone(), "x.yaml", &["graph", "x.yaml"]),
        (plain.clone(), "flow.toml", &["run", "p.yaml"]),
        (plain.clone(), "user.toml", &["run", "p.yaml"]),
        (plain.clone(), "tape/cassette.json", &["run", "p.yaml", "--replay", "tape"]),
        (plain.clone(), "base.json", &["test", "--baseline", "base.json"]),
        (plain.clone(), "goldens/p.test/a/outputs.json", &["test", "p.test.yaml"]),
        (plain.clone(), ".flow/runs.db", &["run", "p.yaml"]),
        (plain.clone(), ".flow/runs.db", &["runs", "list"]),
        (plain.clone(), ".flow/runs.db-wal", &["run", "p.yaml"]),
        (with("steps: [{ id: a, set: x, cache: 1h }]\n"), ".flow/cache.db", &["run", "p.yaml"]),
        (
            with(
                "secrets: { KEY: A key. }\ntools: { t: { command: sh, args: [s.sh], env: { K: \"{{ secrets.KEY }}\" }, allow: [x] } }\nsteps: [{ id: a, tool: t.x }]\n",
            ),
            "s.sh",
            &["run", "p.yaml"],
        ),
        (
            with("tools: { t: { command: 'true', allow: [x], connect_timeout: 1s } }\nsteps: [{ id: a, tool: t.x }]\n"),
            "flow.lock",
            &["run", "p.yaml", "--trust"],
        ),
    ];
    for (text, place, arguments) in cases {
        let project = folder(&[("p.yaml", &text), ("p.test.yaml", test), ("tape/steps/.keep", "")]);
        pipe(&project.path().join(place));
        let mut called = command(project.path(), arguments);
        if place == "user.toml" {
            called.env("FLOW_CONFIG", project.path().join(place));
        }
        let said = ends(&mut called);
        assert!((0..=8).contains(&said.exit) && said.exit != 3, "{place}: {} {}", said.exit, said.err);
    }
    // What a program would take for an entry of what is trusted.
    let wants = "tools: { t: { command: sh, args: [s.sh], allow: [x] } }\nsteps: [{ id: a, tool: t.x }]\n";
    let project = folder(&[("p.yaml", &with(wants)), ("s.sh", "exit 1")]);
    assert_eq!(ends(&mut command(project.path(), &["trust", "p.yaml"])).exit, 0);
    let entry = std::fs::read_dir(project.path().join(".state/flow/trusted")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&entry).unwrap();
    pipe(&entry);
    let said = ends(&mut command(project.path(), &["run", "p.yaml"]));
    assert_eq!((said.exit, said.err.contains("cannot read")), (6, true), "{}", said.err);
}

#[test]
fn devices_and_sockets_are_no_files() {
    let project = folder(&[("reads.yaml", READS), ("docs/a.md", "a")]);
    let _socket = std::os::unix::net::UnixListener::bind(project.path().join("docs/talk")).unwrap();
    for path in ["/dev/zero", "/dev/stdin", "/dev/tty", "docs/talk", "docs"] {
        let said = ends(&mut command(project.path(), &["run", "reads.yaml", "--input", &format!("file={path}")]));
        assert!(
            said.exit == 6 && (said.err.contains("not a regular file") || said.err.contains("not a file")),
            "{path}: {} {}",
            said.exit,
            said.err
        );
    }
    let said = ends(&mut command(project.path(), &["run", "reads.yaml", "--inputs", "/dev/zero"]));
    assert_eq!((said.exit, said.err.contains("more than 8 MiB")), (2, true), "{}", said.err);
    let said = ends(&mut command(project.path(), &["run", "reads.yaml", "--env-file", "/dev/zero"]));
    assert_eq!((said.exit, said.err.contains("more than 1 MiB")), (2, true), "{}", said.err);
}

#[test]
fn pipes_that_a_person_names_are_waited_for_and_read() {
    let project =
        folder(&[("echo.yaml", &SETS.replace("steps:", "inputs: { who: text }\nsteps:").replace(SECRET, "\"Hi {{ inputs.who }}\""))]);
    let at = |name: &str| project.path().join(name);
    let (inputs, events, output) = (at("inputs"), at("events"), at("output"));
    [&inputs, &events, &output].iter().for_each(|path| pipe(path));
    let path = inputs.clone();
    std::thread::spawn(move || std::fs::write(path, "{\"who\": \"Ana\"}").unwrap());
    let path = events.clone();
    let heard = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
    let said =
        ends(&mut command(project.path(), &["run", "echo.yaml", "--inputs", "inputs", "--events", "events", "--output", "/dev/stdout"]));
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.out.contains("Hi Ana"), "{}", said.out);
    assert!(heard.join().unwrap().contains("run_finished"));
    let taken = std::thread::spawn(move || std::fs::read_to_string(output).unwrap());
    let said = ends(&mut command(project.path(), &["run", "echo.yaml", "-q", "--input", "who=Ben", "--output", "output"]));
    assert_eq!((said.exit, taken.join().unwrap().contains("Hi Ben")), (0, true), "{}", said.err);
}

/// Bytes of a pipe that has no room for the next line.
const FULL: u64 = 60 * 1024;

#[test]
fn a_signal_ends_what_waits_for_a_pipe() {
    let many = "flow: 1\nname: many\ndescription: Makes many events.\ninputs: { n: { type: integer, default: 3000 } }\nsteps:\n  - { id: each, for_each: \"range(inputs.n)\", set: \"{{ item }}\" }\n";
    let project = folder(&[("many.yaml", many)]);
    pipe(&project.path().join("pipe"));
    // Nobody is at the other end: it waits where it opens it.
    for flags in [["--inputs", "pipe"], ["--env-file", "pipe"], ["--events", "pipe"], ["--output", "pipe"]] {
        let mut waits = command(project.path(), &["run", "many.yaml", "-q", flags[0], flags[1]]);
        let child = waits.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
        assert_eq!(ended(child, &waits).exit, 143, "{flags:?}");
    }
    // Somebody is there and reads nothing: the pipe is full before the run has ended.
    let reader = std::fs::OpenOptions::new().read(true).write(true).open(project.path().join("pipe")).unwrap();
    let mut waits = command(project.path(), &["run", "many.yaml", "-q", "--events", "pipe"]);
    let child = waits.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the pipe is not full", || rustix::io::ioctl_fionread(&reader).unwrap() > FULL);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(ended(child, &waits).exit, 143);
    drop(reader);
}

#[test]
fn new_files_are_their_owners_alone_whatever_the_umask_says() {
    let project = folder(&[("sets.yaml", SETS), ("old.json", "{}"), ("old.jsonl", "")]);
    let at = |name: &str| project.path().join(name);
    chmod(&at("old.json"), 0o640);
    chmod(&at("old.jsonl"), 0o604);
    let run = |output: &str, events: &str| {
        let flow = command(project.path(), &[]);
        let mut shell = Command::new("sh");
        let script = format!("umask 000; exec '{}' run sets.yaml -q --output {output} --events {events}", env!("CARGO_BIN_EXE_flow"));
        shell.current_dir(project.path()).args(["-c", &script]).env_clear().env("PATH", "/usr/bin:/bin");
        shell.envs(flow.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let said = ends(&mut shell);
        assert_eq!(said.exit, 0, "{}", said.err);
    };
    run("new.json", "new.jsonl");
    run("old.json", "old.jsonl");
    for (name, wanted) in
        [("new.json", 0o600), ("new.jsonl", 0o600), ("old.json", 0o640), ("old.jsonl", 0o604), (".flow", 0o700), (".flow/runs.db", 0o600)]
    {
        assert_eq!(mode(&at(name)), wanted, "{name}");
    }
}

#[test]
fn what_others_can_change_is_not_trusted() {
    let wants = "flow: 1\nname: p\ndescription: Starts a program.\ntools: { t: { command: sh, args: [s.sh], allow: [x], connect_timeout: 1s } }\nsteps: [{ id: a, tool: t.x, on_failure: continue }]\n";
    let project = folder(&[("p.yaml", wants), ("s.sh", "exit 1"), ("user.toml", ""), ("sets.yaml", SETS)]);
    let at = |name: &str| project.path().join(name);
    assert_eq!(ends(&mut command(project.path(), &["trust", "p.yaml"])).exit, 0);
    let list = at(".state/flow/trusted");
    let entry = std::fs::read_dir(&list).unwrap().next().unwrap().unwrap().path();
    for (path, right) in [(entry.as_path(), 0o600), (&list, 0o700), (list.parent().unwrap(), 0o700)] {
        assert_eq!(ends(&mut command(project.path(), &["run", "p.yaml"])).exit, 0);
        chmod(path, 0o777);
        for arguments in [["run", "p.yaml"], ["mcp", "p.yaml"]] {
            let said = ends(&mut command(project.path(), &arguments));
            assert_eq!((said.exit, said.err.contains("can be changed by every user")), (6, true), "{path:?}: {}", said.err);
            assert!(said.err.contains("--trust allows it once"), "{}", said.err);
        }
        chmod(path, right);
    }
    let with_settings = || ends(command(project.path(), &["run", "sets.yaml"]).env("FLOW_CONFIG", at("user.toml")));
    assert_eq!(with_settings().exit, 0);
    chmod(&at("user.toml"), 0o666);
    let said = with_settings();
    assert_eq!((said.exit, said.err.contains("can be changed by every user")), (2, true), "{}", said.err);
    // Nor may their folder, unless nobody there replaces what is another's.
    chmod(&at("user.toml"), 0o600);
    for (mode, exit) in [(0o777, 2), (0o1777, 0)] {
        chmod(project.path(), mode);
        let said = with_settings();
        assert_eq!((said.exit, said.err.contains("who could replace the file")), (exit, exit == 2), "{}", said.err);
    }
}

/// All that lies in a folder, with what changes when it is written.
fn everything(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = vec![];
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let what = entry.metadata().unwrap();
            found.push((entry.path(), what.len()));
            folders.extend(what.is_dir().then(|| entry.path()));
        }
    }
    found.sort();
    found
}

const ASKS: &str = "flow: 1
name: asks
description: A person decides.
tools: { docs: { file: ., approve: true, timeout: 5s } }
steps:
  - { id: a, set: one, cache: 1h }
  - { id: b, needs: [a], tool: docs.list }
  - { id: c, needs: [b], set: two }
outputs: { c: \"{{ steps.c.output }}\" }
";

#[test]
fn runs_are_kept_where_the_user_says_and_the_project_stays_as_it_is() {
    let (one, other, home) = (
        folder(&[("flow.toml", ""), ("sets.yaml", SETS)]),
        folder(&[("flow.toml", ""), ("sets.yaml", SETS)]),
        tempfile::tempdir().unwrap(),
    );
    // Two projects of one name.
    let (one, other) = (one.path().join("same"), other.path().join("same"));
    for project in [&one, &other] {
        put(&project.join("flow.toml"), "");
        put(&project.join("sets.yaml"), SETS);
    }
    let before = everything(&one);
    let state = home.path().join("state");
    let flow = |project: &Path, arguments: &[&str]| {
        let mut command = command(project, arguments);
        command.env("XDG_STATE_HOME", home.path().join("trust")).env("FLOW_STATE_DIR", &state);
        ends(&mut command)
    };
    let said = flow(&one, &["run", "sets.yaml"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(everything(&one), before);
    assert_eq!(flow(&other, &["runs", "list"]).exit, 4, "another project's runs are its own");
    let listed = flow(&one, &["runs", "list", "--json"]);
    let id = serde_json::from_str::<serde_json::Value>(&listed.out).unwrap()[0]["run"].as_str().unwrap().to_owned();
    for arguments in [vec!["runs", "show", &id], vec!["graph", "--run", &id], vec!["runs", "export", &id]] {
        let said = flow(&one, &arguments);
        assert_eq!(said.exit, 0, "{arguments:?}: {}", said.err);
    }
    let doctor = flow(&one, &["doctor"]);
    assert!(doctor.out.contains("runs: 1, all readable, in ") && doctor.out.contains(state.to_str().unwrap()), "{}", doctor.out);
    let kept: Vec<_> = std::fs::read_dir(&state).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].file_name().to_string_lossy().starts_with("same-"));
    assert_eq!((mode(&kept[0].path()), mode(&kept[0].path().join("runs.db"))), (0o700, 0o600));
    assert_eq!(everything(&one), before);

    // The same from the user's own settings; the project cannot say it, and a relative place is none.
    let user = home.path().join("user.toml");
    put(&user, &format!("state_dir = '{}'\n", state.display()));
    let said = ends(command(&one, &["runs", "list"]).env("FLOW_CONFIG", &user));
    assert_eq!((said.exit, said.out.contains(&id)), (0, true), "{}", said.err);
    put(&other.join("flow.toml"), "state_dir = '/tmp/x'\n");
    assert_eq!(ends(&mut command(&other, &["run", "sets.yaml"])).exit, 1);
    let said = ends(command(&one, &["runs", "list"]).env("FLOW_STATE_DIR", "state"));
    assert_eq!((said.exit, said.err.contains("write a whole path")), (2, true), "{}", said.err);

    // No step reads it there either.
    put(&one.join("reads.yaml"), READS);
    let path = kept[0].path().join("runs.db");
    let said = flow(&one, &["run", "reads.yaml", "--input", &format!("file={}", path.display())]);
    assert_eq!((said.exit, said.err.contains("no step may read")), (6, true), "{}", said.err);
}

#[test]
fn a_project_that_cannot_be_written_runs_with_a_place_for_its_runs() {
    let lock = "{ \"flow\": 1, \"servers\": {} }\n";
    let project = folder(&[("flow.toml", ""), ("sets.yaml", SETS), ("asks.yaml", ASKS), ("flow.lock", lock)]);
    let home = tempfile::tempdir().unwrap();
    chmod(home.path(), 0o777);
    chmod(project.path(), 0o555);
    let flow = |arguments: &[&str], state: Option<&str>| {
        let mut command = command(project.path(), arguments);
        command.env("XDG_STATE_HOME", home.path().join("trust"));
        state.map(|state| command.env("FLOW_STATE_DIR", home.path().join(state)));
        // Root may write everywhere.
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        ends(&mut command)
    };
    let said = flow(&["run", "sets.yaml"], None);
    assert_eq!((said.exit, said.err.contains("set FLOW_STATE_DIR to a writable folder")), (6, true), "{}", said.err);
    let said = flow(&["run", "sets.yaml"], Some("state"));
    assert_eq!((said.exit, said.out.trim()), (0, SECRET), "{}", said.err);
    let waiting = flow(&["run", "asks.yaml"], Some("state"));
    assert_eq!(waiting.exit, 8, "{}", waiting.err);
    let listed = flow(&["runs", "list", "--json"], Some("state"));
    let runs: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let id = runs.as_array().unwrap().iter().find(|run| run["pipeline"] == "asks").unwrap()["run"].as_str().unwrap().to_owned();
    assert_eq!(flow(&["approve", &id, "b"], Some("state")).exit, 0);
    let said = flow(&["runs", "resume", &id], Some("state"));
    assert_eq!((said.exit, said.out.trim()), (0, "two"), "{}", said.err);
    assert_eq!(flow(&["doctor"], Some("state")).exit, 0);
    chmod(project.path(), 0o755);
}

#[test]
fn a_run_does_not_wait_longer_than_its_signal_for_a_reader_of_its_output() {
    let big = SETS
        .replace(SECRET, "\"{{ 'x' * 10 }}\"")
        .replace("steps:", "inputs: { text: text }\nsteps:")
        .replace("\"{{ 'x' * 10 }}\"", "\"{{ inputs.text }}\"");
    let project = folder(&[("big.yaml", &big)]);
    let mut inputs = std::fs::File::create(project.path().join("in.json")).unwrap();
    write!(inputs, "{{\"text\": \"{}\"}}", "long ".repeat(100_000)).unwrap();
    let mut waits = command(project.path(), &["run", "big.yaml", "-q", "--inputs", "in.json"]);
    let mut child = waits.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let unread = child.stdout.take();
    until("the pipe is not full", || rustix::io::ioctl_fionread(unread.as_ref().unwrap()).unwrap() > FULL);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(ended(child, &waits).exit, 143);
    drop(unread);
}

#[test]
fn a_path_that_data_gives_to_a_called_pipeline_stays_in_the_project() {
    let outside = folder(&[("x.txt", SECRET)]);
    let path = outside.path().join("x.txt").display().to_string();
    let reads = "flow: 1\nname: reads\ndescription: Reads a file.\ninputs: { f: text }\nsteps: [{ id: look, read: \"{{ inputs.f }}\" }]\noutputs: { text: \"{{ steps.look.output.text }}\" }\n";
    let calls = "flow: 1\nname: calls\ndescription: Calls it.\nsteps:\n  - { id: note, read: note.txt }\n  - { id: go, call: reads.yaml, with: { f: \"{{ steps.note.output.text | trim }}\" } }\noutputs: { text: \"{{ steps.go.output.text }}\" }\n";
    let project = folder(&[("flow.toml", ""), ("reads.yaml", reads), ("calls.yaml", calls), ("note.txt", &path), ("here.txt", "robin")]);
    symlink(&path, project.path().join("link.txt")).unwrap();
    for told in [path.as_str(), "link.txt", "../x.txt"] {
        put(&project.path().join("note.txt"), told);
        let Ran { exit, out, err } = ends(&mut command(project.path(), &["run", "calls.yaml"]));
        assert!(exit == 6 && err.contains("denied"), "{told}: {exit} {err}");
        assert!(!out.contains(SECRET) && !err.contains(SECRET), "{told}: {out}{err}");
    }
    put(&project.path().join("note.txt"), "here.txt");
    assert_eq!(ends(&mut command(project.path(), &["run", "calls.yaml"])).out, "robin\n");
    // What a person names is that person's choice.
    assert_eq!(ends(&mut command(project.path(), &["run", "reads.yaml", "--input", &format!("f={path}")])).out, format!("{SECRET}\n"));
}
