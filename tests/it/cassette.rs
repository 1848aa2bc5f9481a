//! Recording and replaying, through the program, with a model and a web service on this machine.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, ran, until};

const PIPELINE: &str = "flow: 1
name: greet
description: Greets a person and says what the desk knows.
inputs: { who: text, topic: { type: text, default: hours } }
data: { people: { file: people.csv, pii: [name, email] } }
person: { id: \"{{ inputs.who }}\", from: people }
secrets: { MODEL_KEY: The key of the model, DESK_KEY: The key of the desk }
models: { default: { provider: openai, base_url: URL/v1, model: tiny, api_key: \"{{ secrets.MODEL_KEY }}\", price: { input: 1, output: 2 } } }
agents: { writer: { instructions: You write to people. } }
steps:
  - id: desk
    http: GET URL/desk
    headers: { authorization: \"Bearer {{ secrets.DESK_KEY }}\" }
    query: { name: \"{{ person.name }}\" }
  - { id: note, agent: writer, prompt: \"Write to {{ person.name }} ({{ person.email }}) about {{ inputs.topic }}: {{ steps.desk.output.body.fact }}\" }
outputs: { text: \"{{ steps.note.output }}\" }
";

/// A model and a desk: they say back what they hear, and can be stopped.
struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { url: format!("http://{}", listener.local_addr().unwrap()), asked: Arc::default(), is_over: Arc::default() };
        let (asked, is_over) = (server.asked.clone(), server.is_over.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let asked = asked.clone();
                std::thread::spawn(move || answer(stream, &asked));
            }
        });
        server
    }

    fn count(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// From now on nobody answers.
    fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn answer(stream: TcpStream, asked: &AtomicUsize) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut first) = (String::new(), 0, String::new());
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if first.is_empty() {
            first = line.clone();
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let count = asked.fetch_add(1, Ordering::SeqCst);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let told = match body["messages"].as_array() {
        Some(messages) => {
            let prompt = messages.last().unwrap()["content"].as_str().unwrap();
            let said = match count % 2 {
                1 if prompt.contains("coin") => "Tails".to_string(),
                _ if prompt.contains("coin") => "Heads".to_string(),
                _ => format!("Dear {}\nyou asked: {prompt}", prompt.split_whitespace().nth(2).unwrap_or("you")),
            };
            json!({ "model": "tiny-1", "usage": { "prompt_tokens": 100, "completion_tokens": 10 },
                    "choices": [{ "message": { "role": "assistant", "content": said }, "finish_reason": "stop" }] })
        }
        None => json!({ "fact": "the desk is open" }),
    };
    let told = told.to_string();
    let passing = format!("date: day {count}\r\nx-request-id: q{count}\r\nset-cookie: c=canary-cookie");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{passing}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        told.len()
    );
    let _ = reader.get_mut().write_all((head + &told).as_bytes());
}

struct Place(TempDir);

impl Place {
    fn new(url: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        place.write("flow.toml", "");
        place.write("p.yaml", &PIPELINE.replace("URL", url));
        place.write("people.csv", "id,name,email\np1,Ana Canary,ana@canary.example\np2,Bo Diddley,bo@example.org\n");
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    fn flow(&self, arguments: &[&str], with_keys: bool) -> Ran {
        let mut command = command(self.0.path(), arguments);
        // What asks somebody must be allowed to; a replay and a test with scripted replies ask nobody.
        let has = |word: &str| arguments.contains(&word);
        if has("--record") || has("--live") || arguments[0] == "run" && !has("--replay") {
            command.arg("--trust");
        }
        for name in ["MODEL_KEY", "DESK_KEY"] {
            command.env_remove(name);
        }
        if with_keys {
            command.env("MODEL_KEY", "canary-model-key").env("DESK_KEY", "canary-desk-key");
        }
        ran(&mut command)
    }
}

/// The files of a folder with their texts.
fn texts(folder: &Path, found: &mut BTreeMap<PathBuf, String>, root: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts(&path, found, root);
        } else {
            found.insert(path.strip_prefix(root).unwrap().to_path_buf(), std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn all(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    texts(folder, &mut found, folder);
    found
}

#[test]
fn a_replay_gives_the_recorded_run_without_keys_and_without_anybody_to_ask() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start();
    let place = Place::new(&server.url);
    let live = place.flow(&["run", "p.yaml", "--input", "who=p1", "--record", "tape"], true);
    assert_eq!((live.exit, live.err.lines().last()), (0, Some("recorded 2 calls in tape")), "{}", live.err);
    assert!(
        live.out.starts_with("Dear Ana\nyou asked: Write to Ana Canary (ana@canary.example) about hours: the desk is open"),
        "{}",
        live.out
    );

    let again = place.flow(&["run", "p.yaml", "--input", "who=p1", "--record", "again", "-q"], true);
    assert_eq!((again.exit, again.err.as_str()), (0, ""));
    let files = all(&place.at("tape"));
    assert_eq!(files, all(&place.at("again")), "two recordings of the same are the same");
    assert_eq!(
        files.keys().map(|path| path.to_str().unwrap()).collect::<Vec<_>>(),
        ["cassette.json", "steps/desk.json", "steps/note.json"]
    );
    for (path, text) in &files {
        for canary in ["canary", "Canary", "Ana", "127.0.0.1/v1"] {
            assert!(!text.contains(canary), "{canary} in {}:\n{text}", path.display());
        }
        assert_eq!(std::fs::metadata(place.at("tape").join(path)).unwrap().permissions().mode() & 0o777, 0o600);
    }

    server.stop();
    let asked = server.count();
    let replayed = place.flow(&["run", "p.yaml", "--input", "who=p1", "--replay", "tape"], false);
    assert_eq!((replayed.exit, replayed.out.as_str()), (0, live.out.as_str()), "{}", replayed.err);
    assert!(replayed.err.contains("replay: answers come from tape, no model or service is called"), "{}", replayed.err);
    // Who is another person gets the answer with their own name.
    let other = place.flow(&["run", "p.yaml", "--input", "who=p2", "--replay", "tape", "-q"], false);
    assert_eq!(
        (other.exit, other.out.as_str()),
        (0, live.out.replace("Ana Canary", "Bo Diddley").replace("Ana", "Bo").replace("ana@canary.example", "bo@example.org").as_str())
    );
    let priced = place.flow(&["run", "p.yaml", "--input", "who=p1", "--replay", "tape", "--json"], false);
    let priced: Value = serde_json::from_str(&priced.out).unwrap();
    assert_eq!(priced["usage"]["total_tokens"], 110);
    assert_eq!(server.count(), asked);
}

#[test]
fn a_prompt_with_one_other_word_fails_and_shows_the_word() {
    let server = Server::start();
    let place = Place::new(&server.url);
    place.flow(&["run", "p.yaml", "--input", "who=p1", "--record", "tape"], true);
    let asked = server.count();
    let missed = place.flow(&["run", "p.yaml", "--input", "who=p1", "--input", "topic=days", "--replay", "tape"], true);
    assert_eq!((missed.exit, missed.out.as_str()), (6, ""));
    assert!(missed.err.contains("call 1 of step \"note\" was recorded with another request: message 2 (user): "), "{}", missed.err);
    assert!(
        missed.err.contains("about [-hours:-]{+days:+} the desk") || missed.err.contains("about [-hours-]{+days+}: the desk"),
        "{}",
        missed.err
    );
    // A step that may fail does not hide it.
    place.write(
        "p.yaml",
        &PIPELINE
            .replace("URL", &server.url)
            .replace("{ id: note,", "{ id: note, on_failure: continue,")
            .replace("steps.note.output }", "steps.note.output | default('none') }"),
    );
    let missed = place.flow(&["run", "p.yaml", "--input", "who=p1", "--input", "topic=days", "--replay", "tape"], true);
    assert_eq!((missed.exit, missed.out.as_str()), (6, "none\n"), "{}", missed.err);
    assert!(missed.err.contains("not recorded: call 1 of step \"note\""), "{}", missed.err);
    assert_eq!(server.count(), asked, "a replay asks nobody");
}

#[test]
fn a_model_may_be_a_folder_of_recordings() {
    let server = Server::start();
    let place = Place::new(&server.url);
    let live = place.flow(&["run", "p.yaml", "--input", "who=p1", "--record", "tape"], true);
    let model = PIPELINE.lines().find(|line| line.starts_with("models:")).unwrap();
    let replay = PIPELINE.replace(model, "models: { default: { provider: replay, folder: tape } }").replace("URL", &server.url);
    let without_key = replay.replace("MODEL_KEY: The key of the model, ", "");
    place.write("p.yaml", &without_key);
    let asked = server.count();
    let replayed = place.flow(&["run", "p.yaml", "--input", "who=p1"], true);
    assert_eq!((replayed.exit, replayed.out), (0, live.out), "{}", replayed.err);
    assert_eq!(server.count(), asked + 1, "only the desk is asked");
    place.write("p.yaml", &without_key.replace("folder: tape", "folder: tapes"));
    let refused = place.flow(&["validate", "p.yaml"], true);
    assert_eq!(refused.exit, 1);
    assert!(refused.out.contains("F025") && refused.out.contains("folder of recordings \"tapes\" does not exist"), "{}", refused.out);
}

#[test]
fn folders_that_do_not_fit_are_refused_before_anything_starts() {
    let place = Place::new("http://127.0.0.1:9");
    place.write("full", "x");
    std::fs::create_dir(place.at("some")).unwrap();
    place.write("some/file", "x");
    for (arguments, told) in [
        (["--record", "some"], "--record some: there is something already; name a new folder, or remove it"),
        (["--record", "full"], "--record full: there is something already"),
        (["--replay", "none"], "--replay: there is no folder none"),
        (["--replay", "some"], "--replay: some contains no recordings: cassette.json is missing"),
    ] {
        let refused = place.flow(&[["run", "p.yaml", "--input", "who=p1"].as_slice(), arguments.as_slice()].concat(), true);
        assert_eq!((refused.exit, refused.out.as_str()), (2, ""), "{}", refused.err);
        assert!(refused.err.contains(told), "{}", refused.err);
    }
    let both = place.flow(&["run", "p.yaml", "--record", "a", "--replay", "b"], true);
    assert_eq!(both.exit, 2, "{}", both.err);
}

const TEST: &str = "flow: 1
test: p.yaml
mocks: { desk: { status: 200, headers: {}, body: { fact: the desk is open } } }
cases:
  - { id: hours, inputs: { who: p1 }, golden: true }
  - { id: scripted, inputs: { who: p1 }, replies: { note: Hello }, expect: { outputs: { text: Hello } } }
";

#[test]
fn a_case_runs_from_the_recording_that_was_made_of_it() {
    let server = Server::start();
    let place = Place::new(&server.url);
    place.write("p.test.yaml", TEST);
    let bare = place.flow(&["test", "--update"], true);
    assert_eq!(bare.exit, 1);
    assert!(bare.out.contains("no reply for call 1 of step \"note\""), "{}", bare.out);
    assert_eq!(server.count(), 0, "a test asks nobody unless it is told to");

    let recorded = place.flow(&["test", "--record", "--update"], true);
    assert_eq!(recorded.exit, 0, "{}{}", recorded.out, recorded.err);
    assert!(
        recorded.out.contains("Recorded; review the answers before you keep them:\n  cassettes/p.test/hours/run\n"),
        "{}",
        recorded.out
    );
    assert_eq!(server.count(), 1, "only the case without replies goes out, and only its model");
    let golden = std::fs::read_to_string(place.at("goldens/p.test/hours/outputs.json")).unwrap();
    assert!(golden.contains("Dear Ana"), "{golden}");

    server.stop();
    let replayed = place.flow(&["test"], false);
    assert_eq!((replayed.exit, replayed.err.as_str()), (0, "2 passed, 0 failed\n"), "{}", replayed.out);
    place.write("p.yaml", &PIPELINE.replace("URL", &server.url).replace("Write to", "Write briefly to"));
    let missed = place.flow(&["test"], false);
    assert_eq!(missed.exit, 1);
    assert!(missed.out.contains("was recorded with another request") && missed.out.contains("{+briefly"), "{}", missed.out);

    place.write("p.yaml", &PIPELINE.replace("URL", &server.url));
    place.write(
        "p.test.yaml",
        &TEST.replace("id: hours,", "id: hours, replies: { note: Hi },").replace("golden: true", "expect: { outputs: { text: Hi } }"),
    );
    let left = place.flow(&["test"], false);
    assert_eq!(left.exit, 1);
    assert!(left.out.contains("the recording of call 1 of step \"note\" is left over: it was never used"), "{}", left.out);
    place.write("p.test.yaml", &TEST.replace("id: hours", "id: other").replace("golden: true", "expect: { status: failed }"));
    std::fs::remove_dir_all(place.at("goldens")).unwrap();
    let orphan = place.flow(&["test"], false);
    assert_eq!(orphan.exit, 1);
    assert!(orphan.out.contains("cassettes/p.test/hours/run"), "{}", orphan.out);
    assert_eq!(ran(command(place.0.path(), &["test", "--record"]).env("CI", "1")).exit, 2);
}

#[test]
fn a_model_that_says_something_else_each_time_flickers_and_fails() {
    let server = Server::start();
    let place = Place::new(&server.url);
    place.write(
        "p.test.yaml",
        "flow: 1\ntest: p.yaml\nmocks: { desk: { status: 200, headers: {}, body: { fact: a coin } } }\ncases:\n  - { id: coin, inputs: { who: p1 }, expect: { outputs: { text: Heads } } }\n",
    );
    let ran = place.flow(&["test", "--live", "--repeat", "6"], true);
    assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("flickers: held 3 of 6 times; else: output \"text\": "), "{}", ran.out);
    assert_eq!(server.count(), 6);
    assert!(!place.at("cassettes").exists());
    place.write(
        "p.test.yaml",
        &TEST.replace(
            "hours, inputs: { who: p1 }, golden: true",
            "hours, inputs: { who: p1 }, replies: { note: Hi }, expect: { outputs: { text: Hi } }",
        ),
    );
    let steady = place.flow(&["test", "--repeat", "6"], true);
    assert_eq!((steady.exit, steady.err.as_str()), (0, "2 passed, 0 failed\n"), "{}", steady.out);
}

#[test]
fn a_baseline_fails_only_what_became_worse() {
    let place = Place::new("http://127.0.0.1:9");
    let test = |reply: &str, tokens: u64| {
        TEST.replace("hours, inputs: { who: p1 }, golden: true", &format!("hours, inputs: {{ who: p1 }}, replies: {{ note: {{ text: {reply}, usage: {{ input_tokens: {tokens}, output_tokens: 1 }} }} }}, expect: {{ outputs: {{ text: Hi }} }}"))
    };
    let baseline = |more: &[&str]| place.flow(&[["test", "--baseline", "base.json"].as_slice(), more].concat(), false);
    place.write("p.test.yaml", &test("Ho", 1000));
    let missing = baseline(&[]);
    assert_eq!(missing.exit, 2);
    assert!(missing.err.contains("base.json not found; flow test --baseline base.json --update writes it"), "{}", missing.err);
    assert_eq!(baseline(&["--update"]).exit, 0, "a test that fails may stand in a baseline");
    let first = std::fs::read_to_string(place.at("base.json")).unwrap();
    assert!(first.contains("\"p.test.yaml/hours\": {\n      \"passed\": 0,\n      \"plays\": 1,\n      \"input_tokens\": 1000"), "{first}");

    let same = baseline(&[]);
    assert_eq!((same.exit, same.out.lines().nth(2)), (0, Some("**0 worse**, 0 better, 0 new, 2 cases as before")), "{}", same.out);
    place.write("p.test.yaml", &test("Hi", 2000));
    let changed = baseline(&[]);
    assert_eq!(changed.exit, 1);
    assert!(
        changed.out.contains("| **worse** | `p.test.yaml/hours` | `tokens of a run` | `1000 in, 1 out` | `2000 in, 1 out` |"),
        "{}",
        changed.out
    );
    assert!(changed.out.contains("| better | `p.test.yaml/hours` | `passed` | `failed` | `passed` |"), "{}", changed.out);
    assert_eq!(baseline(&["--update"]).exit, 0);
    assert_eq!(baseline(&["--filter", "scripted"]).exit, 0, "what is filtered out is not gone");
    place.write("p.test.yaml", &test("Hi", 2000).replace("id: scripted", "id: renamed"));
    let gone = baseline(&[]);
    assert_eq!(gone.exit, 1);
    assert!(gone.out.contains("| **worse** | `p.test.yaml/scripted` | `case is gone` | `passed` |  |"), "{}", gone.out);
    place.write("base.json", "{}");
    let unlike = baseline(&["--update"]);
    assert_eq!((unlike.exit, unlike.out.as_str()), (2, ""), "what is no baseline is not written over, and that is said first");
    for file in ["p.yaml/base.json", "."] {
        let unwritable = place.flow(&["test", "--baseline", file, "--update"], false);
        assert_eq!((unwritable.exit, unwritable.out.as_str()), (2, ""), "that {file} cannot be written is found before the first test");
        assert!(unwritable.err.contains(file), "{}", unwritable.err);
    }
    let deep = place.flow(&["test", "--baseline", "new/folder/base.json", "--update"], false);
    assert_eq!((deep.exit, place.at("new/folder/base.json").is_file()), (0, true), "{}", deep.err);
}

#[test]
fn a_replay_that_was_interrupted_goes_on_without_asking_anybody_and_a_recording_goes_on_as_a_run() {
    let server = Server::start();
    let place = Place::new(&server.url);
    let slow =
        std::fs::read_to_string(place.at("p.yaml")).unwrap().replace("  - { id: note,", "  - { id: nap, wait: 3s }\n  - { id: note,");
    place.write("p.yaml", &slow);
    assert_eq!(place.flow(&["run", "p.yaml", "--input", "who=p1", "--record", "tape"], true).exit, 0);
    let recorded = server.count();
    let interrupted = |option: &str, folder: &str| {
        let _ = std::fs::remove_file(place.at("events.jsonl"));
        let mut command = command(place.0.path(), &["run", "p.yaml", "--input", "who=p1", "--events", "events.jsonl", option, folder]);
        command.args((option == "--record").then_some("--trust"));
        command.env("MODEL_KEY", "k").env("DESK_KEY", "k");
        let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let mut run = None;
        until("the wait did not begin", || {
            let text = std::fs::read_to_string(place.at("events.jsonl")).unwrap_or_default();
            let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut naps = events.filter(|event| event["type"] == "step_started" && event["step"] == "nap");
            run = naps.next().map(|event| event["run"].as_str().unwrap().to_string());
            run.is_some()
        });
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGINT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        run.unwrap()
    };
    let run = interrupted("--replay", "tape");
    let resumed = place.flow(&["runs", "resume", &run], true);
    assert_eq!((resumed.exit, resumed.out.contains("Ana")), (0, true), "{}{}", resumed.out, resumed.err);
    assert_eq!(server.count(), recorded, "nobody was asked");
    let run = interrupted("--record", "again");
    let resumed = place.flow(&["runs", "resume", &run, "--trust"], true);
    assert!(resumed.exit == 0 && resumed.err.contains("it continues, and nothing is recorded"), "{}{}", resumed.out, resumed.err);
}

#[test]
fn a_recording_needs_no_model_of_the_settings_to_be_replayed() {
    let server = Server::start();
    let place = Place::new(&server.url);
    let without =
        PIPELINE.lines().filter(|line| !line.starts_with("models:") && !line.starts_with("secrets:") && !line.contains("headers:"));
    place.write("p.yaml", &without.map(|line| format!("{}\n", line.replace("URL", &server.url))).collect::<String>());
    let of_settings =
        |model: &str, url: &str| format!("[models.default]\nprovider = \"openai\"\nmodel = \"{model}\"\nbase_url = \"{url}/v1\"\n");
    place.write("flow.toml", &of_settings("tiny", &server.url));
    let live = place.flow(&["run", "p.yaml", "--input", "who=p1", "--record", "tape"], false);
    assert_eq!((live.exit, live.out.contains("Ana Canary")), (0, true), "{}", live.err);
    server.stop();
    for settings in ["", &of_settings("another", "http://127.0.0.1:9")] {
        place.write("flow.toml", settings);
        let replayed = place.flow(&["run", "p.yaml", "--input", "who=p1", "--replay", "tape"], false);
        assert_eq!((replayed.exit, &replayed.out), (0, &live.out), "{}", replayed.err);
    }
}

#[test]
fn a_test_records_the_model_of_the_settings_and_replays_without_it() {
    let server = Server::start();
    let place = Place::new(&server.url);
    place.write("p.yaml", "flow: 1\nname: p\ninputs: { who: text }\nagents: { w: { instructions: Write. } }\nsteps: [{ id: hello, agent: w, prompt: \"Write to {{ inputs.who }}\" }]\noutputs: \"{{ steps.hello.output }}\"\n");
    place.write(
        "p.test.yaml",
        "flow: 1\ntest: p.yaml\ncases: [{ id: ana, inputs: { who: Ana }, expect: { result: { contains: Dear Ana } } }]\n",
    );
    let of_settings = |url: &str| format!("[models.default]\nprovider = \"openai\"\nmodel = \"tiny\"\nbase_url = \"{url}/v1\"\n");
    place.write("flow.toml", &of_settings(&server.url));
    let recorded = place.flow(&["test", "--record"], false);
    assert_eq!((recorded.exit, server.count()), (0, 1), "{}{}", recorded.out, recorded.err);
    server.stop();
    for settings in ["", &of_settings("http://127.0.0.1:9")] {
        place.write("flow.toml", settings);
        let replayed = place.flow(&["test"], false);
        assert_eq!(replayed.exit, 0, "{}{}", replayed.out, replayed.err);
    }
}
