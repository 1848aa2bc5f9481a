//! The edges of the process: keys and hostile endpoints, many processes, damaged disks, limits of the system.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use flow::event::Event;
use flow::port::{RunFilter, Store, StoreError};
use flow_adapters::sqlite_store::SqliteStore;
use serde_json::json;
use tempfile::TempDir;

use crate::endpoint::served;
use crate::program::{clean, command, flow, ran, until};

const KEY: &str = "sk-canary/AbC+1234567890";

const ASKS: &str = "flow: 1
name: asks
description: Asks a model.
agents: { talker: { instructions: Be brief. } }
steps:
  - { id: say, agent: talker, prompt: Say hi, retry: { max_attempts: 2, delay: 10ms } }
outputs: { text: \"{{ steps.say.output }}\" }
";

const COUNTS: &str = "flow: 1
name: counts
description: Counts.
steps:
  - { id: each, for_each: \"range(0, 20)\", set: \"number {{ item }}\" }
  - { id: all, set: \"{{ steps.each.output | join(', ') }}\" }
outputs: { text: \"{{ steps.all.output }}\" }
";

fn place(pipeline: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    folder
}

/// What an endpoint answers to who shows this key.
type Answer = Box<dyn Fn(&str) -> String + Send>;

/// An endpoint that answers each request as a function of the key that it was shown says. It ends with the test.
pub(crate) fn endpoint(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = serve(stream.unwrap(), &answer);
        }
    });
    url
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&str) -> String) -> std::io::Result<()> {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut piece)?;
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
        if read == 0 || body.len() >= header("content-length:").and_then(|n| n.parse().ok()).unwrap_or(0) {
            let key = header("authorization: Bearer").unwrap_or_default();
            return stream.write_all(answer(key).as_bytes());
        }
    }
}

pub(crate) fn http(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// A key in the forms in which it might turn up.
fn forms(key: &str) -> String {
    format!("{key} {} {} {}", base64(key), hex(key), key.replace('/', "%2F").replace('+', "%2B"))
}

#[test]
fn the_key_of_a_model_stands_nowhere_whatever_the_endpoint_does_with_it() {
    let said = |text: &str| json!({ "model": text, "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] }).to_string();
    let error = |text: &str| json!({ "error": { "message": text } }).to_string();
    let answers: [(i32, Answer); 4] = [
        (0, Box::new(move |key| http("200 OK", &said(&forms(key))))),
        (6, Box::new(move |key| http("401 Unauthorized", &error(&forms(key))))),
        (6, Box::new(move |key| http("200 OK", &error(&forms(key))))),
        (6, Box::new(|key| format!("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/{key}\r\ncontent-length: 0\r\n\r\n"))),
    ];
    for (exit, answer) in answers {
        let folder = place(ASKS);
        let url = endpoint(answer);
        let arguments =
            ["run", "p.yaml", "-v", "--events", "events.jsonl", "--events-content", "--output", "outputs.json", "--record", "tape"];
        let with = |arguments: &[&str]| {
            let mut command = command(folder.path(), arguments);
            ran(command.env("FLOW_MODEL", "m").env("FLOW_MODEL_BASE_URL", &url).env("FLOW_API_KEY", KEY))
        };
        let run = with(&arguments);
        assert_eq!(run.exit, exit, "{}", run.err);
        let mut told = vec![run.out, run.err];
        for arguments in
            [&["runs", "show"][..], &["runs", "export"], &["runs", "list", "--json"], &["doctor", "--config"], &["plan", "p.yaml"]]
        {
            let ran = with(arguments);
            told.extend([ran.out, ran.err]);
        }
        let mut count = 0;
        files(folder.path(), &mut |bytes| {
            count += 1;
            told.push(String::from_utf8_lossy(bytes).into_owned());
        });
        assert!(count > 5, "the journal, the events, the outputs and the recording are among them");
        for form in [KEY.to_owned(), base64(KEY), hex(KEY), "AbC%2B1234567890".to_owned()] {
            for text in &told {
                assert!(!text.contains(&form[..form.len() - 2]), "{form} in {text}");
            }
        }
    }
}

const STANDS_IN: &str = "flow: 1
name: stands_in
description: Answers without its model if it must.
agents: { talker: { instructions: Be brief. } }
steps:
  - { id: say, agent: talker, prompt: Say hi, on_failure: plain }
  - { id: plain, set: Hello. }
outputs: { text: \"{{ steps.say.output | default(steps.plain.output) }}\" }
";

#[test]
fn a_rejected_key_is_reported_and_no_success_even_if_a_stand_in_answers() {
    let wrong = json!({ "error": { "message": "Incorrect API key provided" } }).to_string();
    let url = endpoint(move |_| http("401 Unauthorized", &wrong));
    let folder = place(STANDS_IN);
    let with = |arguments: &[&str], key: Option<&str>| {
        let mut command = command(folder.path(), arguments);
        command.env("FLOW_MODEL", "m").env("FLOW_MODEL_BASE_URL", &url);
        key.iter().for_each(|key| {
            command.env("FLOW_API_KEY", key);
        });
        ran(&mut command)
    };
    let host = url.trim_end_matches("/v1");
    let why = format!("check the key in FLOW_API_KEY: {host} answered 401 (Unauthorized): Incorrect API key provided");
    for quiet in [&["run", "p.yaml"][..], &["run", "p.yaml", "--quiet"]] {
        let run = with(quiet, Some(KEY));
        assert_eq!((run.exit, run.out.as_str()), (6, "Hello.\n"), "{}", run.err);
        assert!(run.err.contains(&format!("key rejected: agent \"talker\", model \"default\": {why}")), "{}", run.err);
    }
    let shown = with(&["runs", "show"], None).out;
    assert!(shown.contains("key rejected: agent \"talker\", model \"default\"\n  check the key in FLOW_API_KEY:"), "{shown}");
    let listed = with(&["runs", "list"], None).out;
    assert!(listed.contains("partial, key rejected"), "{listed}");
    let json = |arguments: &[&str], key| -> serde_json::Value { serde_json::from_str(&with(arguments, key).out).unwrap() };
    assert_eq!(json(&["runs", "list", "--json"], None)[0]["key_rejected"], true);
    let told = json(&["run", "p.yaml", "--json"], Some(KEY));
    assert_eq!((&told["rejected_keys"][0]["message"], &told["status"]), (&why.into(), &"partial".into()));
    let page = with(&["runs", "show", "--html", "-"], None).out;
    assert!(page.contains("Key rejected: agent <code>talker</code>"), "{page}");
    // Without a key, the message says which variable is missing; a variable of the file is named by its own name.
    let run = with(&["run", "p.yaml"], None);
    assert!(run.exit == 6 && run.err.contains(&format!("set FLOW_API_KEY: {host} answered 401")), "{} {}", run.exit, run.err);
    let own = format!(
        "{STANDS_IN}secrets: {{ TALK_KEY: The key. }}\nmodels: {{ default: {{ provider: openai, model: m, base_url: \"{url}\", api_key: \"{{{{ secrets.TALK_KEY }}}}\" }} }}\n"
    );
    std::fs::write(folder.path().join("p.yaml"), own).unwrap();
    let run = ran(command(folder.path(), &["run", "p.yaml", "--trust"]).env("TALK_KEY", KEY));
    assert!(run.exit == 6 && run.err.contains("check the key in TALK_KEY: "), "{} {}", run.exit, run.err);
    assert!(!run.err.contains(&KEY[..9]), "{}", run.err);
}

#[test]
fn a_model_that_takes_its_key_makes_a_run_a_success_and_the_other_key_is_still_reported() {
    let said = json!({ "model": "m", "choices": [{ "message": { "content": "Hi." }, "finish_reason": "stop" }] }).to_string();
    let url = endpoint(move |key| if key == "good-key-4711" { http("200 OK", &said) } else { http("401 Unauthorized", "{}") });
    let of = |name: &str| {
        format!("  {name}: {{ provider: openai, model: m, base_url: \"{url}\", api_key: \"{{{{ secrets.{} }}}}\" }}\n", name.to_uppercase())
    };
    let folder = place(&format!(
        "flow: 1\nname: two\ndescription: Two models.\nsecrets: {{ FIRST: One key., SECOND: The other. }}\nmodels:\n{}{}\
         agents: {{ one: {{ instructions: Be brief., model: first }}, two: {{ instructions: Be brief., model: second }} }}\nsteps:\n\
         \x20 - {{ id: say, agent: one, prompt: Say hi, on_failure: again }}\n  - {{ id: again, agent: two, prompt: Say hi }}\n\
         outputs: {{ text: \"{{{{ steps.say.output | default(steps.again.output) }}}}\" }}\n",
        of("first"),
        of("second")
    ));
    let mut command = command(folder.path(), &["run", "p.yaml", "--trust"]);
    let run = ran(command.env("FIRST", "wrong-key-4711").env("SECOND", "good-key-4711"));
    assert_eq!((run.exit, run.out.as_str()), (0, "Hi.\n"), "{}", run.err);
    assert!(run.err.contains("key rejected: agent \"one\", model \"first\": check the key in FIRST: "), "{}", run.err);
}

fn files(folder: &Path, see: &mut dyn FnMut(&[u8])) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, see) } else { see(&std::fs::read(path).unwrap()) }
    }
}

#[test]
fn a_run_tells_tokens_money_and_the_model_that_answered() {
    for (input, output, told) in [(1_000_000, 500_000, "4.0000 USD"), (3, 4, "less than 0.0001 USD")] {
        let usage = json!({ "prompt_tokens": input, "completion_tokens": output });
        let choice = json!({ "message": { "content": "Hi." }, "finish_reason": "stop" });
        let answer = json!({ "model": "tiny-2026", "choices": [choice], "usage": usage }).to_string();
        let url = endpoint(move |_| http("200 OK", &answer));
        let model = format!("provider: openai, model: tiny, base_url: \"{url}\", price: {{ input: 2, output: 4 }}");
        let folder = place(&ASKS.replace("steps:", &format!("models: {{ default: {{ {model} }} }}\nsteps:")));
        let run = flow(folder.path(), &["run", "p.yaml", "--trust"]);
        assert_eq!((run.exit, run.out.as_str()), (0, "Hi.\n"), "{}", run.err);
        let shown = flow(folder.path(), &["runs", "show"]).out;
        assert!(shown.contains(&format!("tokens: {input} in, {output} out; {told}\nmodels: tiny-2026\n")), "{shown}");
    }
}

#[test]
fn many_processes_write_one_journal_and_none_loses_anything() {
    let folder = place(COUNTS);
    let start = || command(folder.path(), &["run", "p.yaml", "-q"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (0..25).map(|_| start()).collect();
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let mut store = SqliteStore::open(&folder.path().join(".flow/runs.db")).unwrap();
    assert_eq!(store.check().unwrap(), (25, 0));
    let left: Vec<_> = std::fs::read_dir(folder.path().join(".flow")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let is_kept = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("runs.db") || *name == "audit.jsonl";
    assert!(left.iter().all(is_kept), "no lock is left: {left:?}");
    let audit = flow(folder.path(), &["audit", "verify"]);
    assert_eq!(audit.exit, 0, "{}{}", audit.out, audit.err);
}

#[test]
fn a_damaged_journal_is_found_or_without_effect() {
    let folder = place(COUNTS);
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 0);
    let whole = std::fs::read(folder.path().join(".flow/runs.db")).unwrap();
    let damaged = folder.path().join("damaged.db");
    // As `runs resume` and `runs show` read it: an error, or the very same.
    let read = |bytes: &[u8], all: bool| -> Result<Vec<Event>, StoreError> {
        for rest in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(damaged.with_file_name(format!("damaged.db{rest}")));
        }
        std::fs::write(&damaged, bytes).unwrap();
        let mut store = SqliteStore::open(&damaged)?;
        if all {
            store.check_pages()?;
        }
        let runs = store.list(&RunFilter::default())?.runs;
        runs.first().map_or(Ok(vec![]), |run| store.events(&run.run))
    };
    let events = read(&whole, true).unwrap();
    assert!(events.len() > 20);
    let (mut found, mut harmless) = (0, 0);
    let mut judge = |what: String, bytes: &[u8]| match read(bytes, true) {
        Err(_) => found += 1,
        Ok(same) if same == events => harmless += 1,
        // Nothing is there: no run is shown, and none continues.
        Ok(none) if none.is_empty() => found += 1,
        Ok(other) => panic!("{what}: {} events instead of {}", other.len(), events.len()),
    };
    for at in (0..whole.len()).step_by(37) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        judge(format!("bit {} of byte {at}", at % 8), &bytes);
    }
    for at in (0..whole.len()).step_by(512) {
        judge(format!("cut at {at}"), &whole[..at]);
        judge(format!("cut inside of sector {at}"), &whole[..at + 1 + at / 512 % 511]);
        let mut bytes = whole.clone();
        bytes[at..(at + 512).min(whole.len())].fill(0);
        judge(format!("sector {at} is zero"), &bytes);
        let mut bytes = whole.clone();
        bytes.copy_within(at..at + 512, if at == 0 { 512 } else { at - 512 });
        judge(format!("sector {at} is there twice"), &bytes);
    }
    assert!(found > 50 && harmless > 50, "{found} {harmless}");
}

#[test]
fn a_damaged_run_is_rejected_by_every_command_with_its_row_and_the_other_runs_are_not() {
    let folder = place(COUNTS);
    for _ in 0..2 {
        assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 0);
    }
    let file = folder.path().join(".flow/runs.db");
    let store = rusqlite::Connection::open(&file).unwrap();
    let of = |number: u32| -> (String, Vec<u8>) {
        let query = "select r.run, body from blocks b join runs r on r.number = b.run where b.run = ?1 order by last desc limit 1";
        store.query_row(query, [number], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let ((sound, _), (damaged, body)) = (of(1), of(2));
    store.close().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(40).position(|window| window == &body[..40]).unwrap();
    bytes[at + 20] ^= 4;
    std::fs::write(&file, bytes).unwrap();
    for call in ["show", "export", "resume", "replay", "fork --from all"] {
        let [call, more @ ..] = &call.split(' ').collect::<Vec<_>>()[..] else { unreachable!("split gives a part") };
        for (run, exit) in [(&damaged, 6), (&sound, 0)] {
            let ran = flow(folder.path(), &[&["runs", call, run], more].concat());
            assert_eq!(ran.exit, exit, "{call}: {}", ran.err);
            assert_eq!(ran.err.contains(" is damaged: row "), exit == 6, "{call}: {}", ran.err);
            assert!(exit == 0 || ran.err.contains(&damaged), "{call}: {}", ran.err);
        }
    }
    let doctor = flow(folder.path(), &["doctor"]);
    assert!(doctor.exit == 1 && doctor.out.contains(&damaged), "{}", doctor.out);
}

#[test]
fn a_run_that_outlives_its_terminal_on_purpose_does() {
    let folder = place(&COUNTS.replace("steps:\n", "steps:\n  - { id: nap, wait: 600ms }\n"));
    let program = command(folder.path(), &[]).get_program().to_owned();
    let mut shell = Command::new("/bin/sh");
    shell.current_dir(folder.path()).args(["-c", "trap '' HUP; exec \"$0\" run p.yaml -q --events events.jsonl"]).arg(program);
    crate::program::clean(&mut shell);
    let child = shell.stdout(Stdio::piped()).spawn().unwrap();
    let events = || std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap_or_default();
    until("the wait did not begin", || events().contains("step_paused"));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGHUP).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn limits_of_the_system_end_a_run_cleanly() {
    for (limit, told) in [("ulimit -f 8", "journal"), ("ulimit -n 8", "Too many open files")] {
        let folder = place(COUNTS);
        let program = command(folder.path(), &[]).get_program().to_owned();
        let mut shell = Command::new("/bin/sh");
        shell.current_dir(folder.path()).args(["-c", &format!("{limit}; exec \"$0\" run p.yaml")]).arg(program);
        crate::program::clean(&mut shell);
        let ended = shell.stderr(Stdio::piped()).output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), text.contains(told)), (Some(6), true), "{limit}: {text}");
        let again = flow(folder.path(), &["run", "p.yaml", "-q"]);
        assert_eq!(again.exit, 0, "{limit}: afterwards all is well: {}", again.err);
    }
}

#[test]
fn a_run_that_asks_for_more_at_once_than_there_are_descriptors_makes_as_many_calls_as_there_are() {
    let answer = json!({ "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }] });
    let model = served(move |_, _| answer.clone());
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "flow: 1\nname: many\ndescription: Asks for much at once.\nlimits: {{ max_parallel: 1000 }}\nmodels:\n  default: {{ provider: openai, base_url: \"http://{model}/v1\", model: m }}\n\
         agents: {{ one: {{ instructions: You say yes. }} }}\nsteps:\n  - {{ id: ask, agent: one, prompt: \"{{{{ item }}}}\", for_each: \"range(0, 400)\", max_parallel: 1000 }}\n\
         outputs: {{ n: \"{{{{ steps.ask.output | length }}}}\" }}\n"
    );
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(folder.path().join("many.yaml"), file).unwrap();
    // What a shell sets is raised as far as the system allows, and where it does not, fewer calls are out.
    for (limit, is_told) in [("ulimit -S -n 256", false), ("ulimit -n 256", true), ("ulimit -n 100", true)] {
        let mut shell = Command::new("/bin/sh");
        let line = format!("{limit}; exec \"$0\" run many.yaml --trust");
        shell.current_dir(folder.path()).args(["-c", &line]).arg(command(folder.path(), &[]).get_program());
        clean(&mut shell);
        let ran = ran(shell.env("XDG_STATE_HOME", folder.path().join(".state")));
        assert_eq!((ran.exit, ran.out.trim()), (0, "400"), "{limit}: {}", ran.err);
        assert_eq!(ran.err.contains("of 1000 calls (max_parallel) are out at once"), is_told, "{limit}: {}", ran.err);
    }
}

#[test]
fn an_output_that_is_too_large_is_named_with_its_kind_and_a_part_of_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(folder.path().join("large.txt"), "word ".repeat(500_000)).unwrap();
    let run = |output: &str| {
        let file = format!(
            "flow: 1\nname: large\ndescription: Reads much.\nsteps: [{{ id: r, read: large.txt }}]\noutputs:\n  small: 1\n  part: \"{output}\"\n"
        );
        std::fs::write(folder.path().join("large.yaml"), file).unwrap();
        flow(folder.path(), &["run", "large.yaml"])
    };
    let part = run("{{ steps.r.output.text[:9] }}");
    assert!(part.exit == 0 && part.out.contains("\"word word\""), "{}{}", part.out, part.err);
    let part = run("{{ (steps.r.output.text | trim | upper)[:9] }}");
    assert!(part.exit == 0 && part.out.contains("\"WORD WORD\""), "{}{}", part.out, part.err);
    let whole = run("{{ steps.r.output.text | replace('word', 'words') }}");
    let told = "output \"part\": this makes a text of more than 1 MiB; take a part of it, as in text[:1000] (too_large)";
    assert!(whole.exit == 6 && whole.err.contains(told), "{}", whole.err);
}
