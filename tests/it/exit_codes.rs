//! How commands end: one code for one kind of trouble, whichever command meets it; and nothing is lost where something cannot be written.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};

const PIPELINE: &str = "flow: 1
name: greets
description: Greets somebody.
inputs: { who: { type: text, default: Ana } }
channels: [note]
steps:
  - { id: greet, set: \"Hello {{ inputs.who }} on {{ channel.name }}\" }
outputs: { text: \"{{ steps.greet.output }}\" }
";
const TEST: &str = "flow: 1\ntest: p.yaml\ncases:\n  - { id: ana, expect: { outputs: { text: Hello Ana on note } } }\n";

/// It wants a program and has a test.
const WANTS: &str = "flow: 1\nname: wants\ndescription: It starts a program.\ntools: { helper: { command: no-such-helper } }\n\
    steps: [{ id: a, tool: helper.b }]\ntests: [{ id: a, expect: { status: failed } }]\n";

/// A project with a pipeline, its channels and its test.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("flow.toml", ""),
        ("p.yaml", PIPELINE),
        ("p.test.yaml", TEST),
        ("broken.yaml", "flow: 1\nname: broken\ndescription: It has a mistake.\nsteps:\n  - { id: a, set: \"{{ steps.b.output }}\" }\n"),
        ("channels/note.yaml", "flow: 1\nchannel: note\ndescription: A note.\n"),
        ("channels/wall.yaml", "flow: 1\nchannel: wall\ndescription: A wall.\n"),
        ("empty/readme.txt", "nothing of ours\n"),
        ("inputs.yaml", "who: Ben\n"),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// The newest run of a project.
fn newest(folder: &Path) -> String {
    let list: serde_json::Value = serde_json::from_str(&flow(folder, &["runs", "list", "--json"]).out).unwrap();
    list[0]["run"].as_str().unwrap().to_string()
}

/// What goes wrong, what is said of it, and the calls that it happens to, apart by `;`.
const TROUBLE: &[(i32, &str, &str)] = &[
    (4, "gone.yaml does not exist", "run gone.yaml; run --dry-run gone.yaml; plan gone.yaml; graph gone.yaml; explain gone.yaml"),
    (4, "gone.yaml does not exist", "validate gone.yaml; fix gone.yaml; test gone.yaml; doctor gone.yaml"),
    (4, "empty is a folder", "run empty; plan empty; graph empty; explain empty"),
    (4, "found", "validate empty; fix empty; test empty; doctor empty"),
    (4, "no test matches \"nothing\"", "test --filter nothing; test p.test.yaml --filter nothing"),
    (2, "run \"r_none\" not found", "runs show r_none; runs export r_none; runs rm r_none; runs resume r_none"),
    (2, "run \"r_none\" not found", "approve r_none a; graph --run r_none"),
    (2, "folder not found", "--project gone run p.yaml; --project gone validate; --project gone test; --project gone doctor"),
    (2, "folder not found", "--project gone runs list; --project p.yaml plan p.yaml"),
    (2, "gone.env", "run p.yaml --env-file gone.env; plan p.yaml --env-file gone.env; doctor --env-file gone.env"),
    (2, "gone.env", "test --live --env-file gone.env"),
    (2, "it has more than 8 MiB", "run p.yaml --inputs /dev/zero"),
    (2, "gone.json: cannot read it", "run p.yaml --inputs gone.json; plan p.yaml --inputs gone.json"),
    (2, "it is not valid JSON (line 1, column 1); write one JSON object such as {\"message\"", "run p.yaml --inputs inputs.yaml"),
    (2, "--input message is set twice; set each input once", "run p.yaml --input message=Hi --input message=Ho"),
    (2, "has no channel \"fax\"", "run p.yaml --channel fax; plan p.yaml --channel fax"),
    (2, "above 0, in US dollars", "run p.yaml --max-cost-usd free; plan p.yaml --max-cost-usd -1; run p.yaml --max-cost-usd 0"),
    (2, "write --channel wall", "run p.yaml --input channel=wall"),
    (2, "p.test.yaml is a test file, not a pipeline: run flow test p.test.yaml", "run p.test.yaml; plan p.test.yaml; graph p.test.yaml"),
    (2, "p.test.yaml is a test file", "explain p.test.yaml"),
    (
        2,
        "is not a pipeline",
        "run flow.toml; run channels/note.yaml; plan channels/note.yaml; graph channels/note.yaml; explain channels/note.yaml",
    ),
    (
        2,
        "gone",
        "run p.yaml --replay gone; test --baseline gone.json; run p.yaml --output gone/x; run p.yaml --events gone/x; test --junit gone/x; test --summary gone/x",
    ),
    (2, "F10x", "explain F10x"),
    (2, "--help", "run p.yaml --colour; runs; frobnicate"),
    (2, "name two files", "run p.yaml --output x --events x"),
    (
        6,
        "is not trusted yet. What it wants:",
        "run wants.yaml; run wants.yaml --json; tools pin wants.yaml; mcp wants.yaml; test --live wants.yaml",
    ),
    (4, "was not trusted", "trust --remove p.yaml; trust --remove gone.yaml"),
    (4, "gone.yaml does not exist", "trust gone.yaml"),
    (2, "is not a pipeline", "trust flow.toml"),
    (2, "FILE", "trust; trust --list p.yaml; trust --remove --list"),
    (1, "F2", "trust broken.yaml; run broken.yaml; plan broken.yaml; graph broken.yaml; explain broken.yaml; validate broken.yaml"),
];

/// The same where nothing ran yet.
const NO_RUNS: (i32, &str, &str) = (
    4,
    "no runs yet",
    "runs list; runs show; runs export; runs show r_1; runs export r_1; runs rm r_1; runs resume r_1; approve r_1 a; graph --run r_1",
);

#[test]
fn each_trouble_has_one_code_whichever_command_meets_it() {
    let project = project();
    let folder = project.path();
    check(folder, NO_RUNS);
    assert_eq!(flow(folder, &["run", "p.yaml"]).exit, 0);
    std::fs::write(folder.join("wants.yaml"), WANTS).unwrap();
    TROUBLE.iter().for_each(|trouble| check(folder, *trouble));
    for call in ["run p.yaml", "plan p.yaml", "doctor --config", "test --live"] {
        let said = ran(command(folder, &call.split(' ').collect::<Vec<_>>()).env("FLOW_CONFIG", "mistyped.toml"));
        assert_eq!((said.exit, said.err.contains("FLOW_CONFIG names mistyped.toml")), (2, true), "{call}: {}", said.err);
    }
    assert!(!folder.join("x").exists(), "what is refused leaves nothing behind");
}

/// Each call ends with the code, and says why.
fn check(folder: &Path, (exit, told, calls): (i32, &str, &str)) {
    for call in calls.split("; ") {
        let Ran { exit: found, out, err } = flow(folder, &call.split(' ').collect::<Vec<_>>());
        assert_eq!(found, exit, "flow {call}: {out}{err}");
        assert!(format!("{out}{err}").contains(told), "flow {call} does not say {told:?}: {out}{err}");
    }
}

#[test]
fn a_lock_that_cannot_be_made_is_no_mistake_of_the_command_line_and_an_unreadable_place_is_not_empty() {
    let project = project();
    let folder = project.path();
    assert_eq!(flow(folder, &["run", "p.yaml"]).exit, 0);
    let run = newest(folder);
    std::fs::create_dir(folder.join(format!(".flow/{run}.lock"))).unwrap();
    for call in [&["runs", "resume", &run][..], &["runs", "rm", &run], &["approve", &run, "greet"]] {
        let said = flow(folder, call);
        assert_eq!((said.exit, said.err.contains(".lock cannot be used")), (6, true), "{call:?}: {}", said.err);
    }
    std::fs::remove_dir_all(folder.join(".flow")).unwrap();
    std::fs::write(folder.join(".flow"), "a file where a folder must be").unwrap();
    for call in [&["runs", "list"][..], &["runs", "show"], &["run", "p.yaml"]] {
        let said = flow(folder, call);
        assert_eq!((said.exit, said.err.contains("cannot be used")), (6, true), "{call:?}: {}", said.err);
    }
}

#[test]
fn standard_output_that_cannot_be_written_fails_every_command_and_a_closed_pipe_none() {
    let Ok(_) = File::options().write(true).open("/dev/full") else { return };
    let project = project();
    let folder = project.path();
    assert_eq!(flow(folder, &["run", "p.yaml"]).exit, 0);
    let calls = "run p.yaml; run p.yaml --json; plan p.yaml; plan p.yaml --json; graph p.yaml; graph p.yaml --format svg; explain p.yaml; \
         explain F101; validate p.yaml --json; validate p.yaml --format sarif; validate p.yaml --format gitlab; test; test --json; doctor p.yaml; doctor p.yaml --json; \
         doctor --config; runs list; runs list --json; runs show; runs show --json; runs export; schema; completions bash; --help; --version";
    for call in calls.split("; ") {
        let arguments: Vec<&str> = call.split(' ').collect();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output =
            command(folder, &arguments).stdout(full).stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(6), "flow {call}: {told}");
        assert!(told.contains("cannot write to standard output"), "flow {call}: {told}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            command(folder, &arguments).stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !told.contains("cannot be written"), "flow {call}: {told}");
    }
}

#[test]
fn files_that_cannot_be_written_are_told_and_nothing_is_lost() {
    let Ok(_) = File::options().write(true).open("/dev/full") else { return };
    let project = project();
    let folder = project.path();
    for (option, told) in [("--events", "the events can no longer be written"), ("--output", "cannot write /dev/full")] {
        let said = flow(folder, &["run", "p.yaml", option, "/dev/full"]);
        assert_eq!((said.exit, said.out.as_str()), (6, "Hello Ana on note\n"), "{}", said.err);
        assert_eq!(said.err.matches(told).count(), 1, "{}", said.err);
        assert!(flow(folder, &["runs", "list"]).out.contains("succeeded"), "the run itself went well");
        std::fs::remove_dir_all(folder.join(".flow")).unwrap();
    }
    let said = flow(folder, &["run", "p.yaml", "--events", "-", "--output", "/dev/full"]);
    assert_eq!((said.exit, said.err.contains("\"text\": \"Hello Ana on note\"")), (6, true), "{}", said.err);
    std::fs::remove_dir_all(folder.join(".flow")).unwrap();
    for option in ["--output", "--events"] {
        assert_eq!(flow(folder, &["run", "p.yaml", option, "gone/x"]).exit, 2);
        let runs = flow(folder, &["runs", "list"]);
        assert_eq!(runs.exit, 4, "nothing ran: {}", runs.out);
    }
    std::fs::write(folder.join("before.json"), "{}").unwrap();
    assert_eq!(flow(folder, &["run", "p.yaml", "--output", "before.json", "--channel", "fax"]).exit, 2);
    assert_eq!(std::fs::read_to_string(folder.join("before.json")).unwrap(), "{}", "a run that does not start writes over nothing");
}

#[test]
fn few_open_files_are_a_refusal_and_never_a_fault_of_flow() {
    let project = project();
    let program = env!("CARGO_BIN_EXE_flow");
    for files in 5..=20 {
        for arguments in ["run p.yaml --input who=Ben", "validate p.yaml", "test .", "runs list", "plan p.yaml", "doctor p.yaml"] {
            let mut shell = std::process::Command::new("/bin/sh");
            let line = format!("ulimit -n {files} && exec \"{program}\" {arguments}");
            let ended = shell.args(["-c", &line]).current_dir(project.path()).stdin(Stdio::null()).output().unwrap();
            let told = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(ended.status.code().is_some_and(|exit| exit != 3) && !told.contains("panicked"), "{files} {arguments}: {told}");
        }
    }
}

#[test]
fn inputs_that_could_mean_several_things_are_refused_however_they_come() {
    let project = project();
    let text = "flow: 1\nname: takes\ninputs: { it: any }\nsteps:\n  - { id: say, format: \"{{ inputs.it }}\", channel: note }\noutputs: { said: \"{{ steps.say.output.text }}\" }\n";
    std::fs::write(project.path().join("takes.yaml"), text).unwrap();
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let inner = [
        (r#"{"a": 1, "a": 2}"#, "the key \"a\" is there twice"),
        (r#"[{"b": {"a": 1, "a": 2}}]"#, "the key \"a\" is there twice"),
        ("123456789012345678901", "has more than 64 bits"),
    ];
    let of_file = [
        ("1e999", "number out of range"),
        (r#""\ud800""#, "it is not valid JSON"),
        (&deep, "recursion limit"),
        ("NaN", "it is not valid JSON"),
        ("1} {", "trailing characters"),
    ];
    let refused = |arguments: &[&str], wanted: &str| {
        let ended = flow(project.path(), arguments);
        assert_eq!(ended.exit, 2, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(wanted), "{arguments:?}: {}", ended.err);
    };
    for (value, wanted) in inner {
        refused(&["run", "takes.yaml", "--input", &format!("it={value}")], wanted);
        refused(&["plan", "takes.yaml", "--input", &format!("it={value}")], wanted);
    }
    for (value, wanted) in inner.into_iter().chain(of_file) {
        std::fs::write(project.path().join("in.json"), format!("{{\"it\": {value}}}")).unwrap();
        refused(&["run", "takes.yaml", "--inputs", "in.json"], wanted);
    }
    for (text, wanted) in [
        ("{\"it\": 1, \"it\": 1}".to_owned(), "the key \"it\" is there twice"),
        ("{\"it\": 1, \"channel\": \"note\", \"channel\": \"note\"}".to_owned(), "the key \"channel\" is there twice"),
        (format!("{{\"it\": \"{}\"}}", "x".repeat(8 << 20)), "more than 8 MiB"),
    ] {
        std::fs::write(project.path().join("in.json"), text).unwrap();
        refused(&["run", "takes.yaml", "--inputs", "in.json"], wanted);
    }
    std::fs::write(project.path().join("in.json"), "\u{feff}{\"it\": \"Hi\"}\n").unwrap();
    let ended = flow(project.path(), &["run", "takes.yaml", "--inputs", "in.json"]);
    assert_eq!((ended.exit, ended.out.trim()), (0, "Hi"), "{}", ended.err);
}

#[test]
fn inputs_may_come_from_standard_input() {
    let project = project();
    for (given, exit, out) in [("{\"who\": \"Ben\"}", 0, "Hello Ben on note\n"), ("who: Ben", 2, "")] {
        let mut call = command(project.path(), &["run", "p.yaml", "--inputs", "-"]);
        let mut child = call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stdout).as_ref()), (Some(exit), out), "{told}");
        assert!(exit == 0 || told.contains("--inputs -: it is not valid JSON"), "{told}");
    }
}

#[test]
fn the_channel_may_stand_beside_the_inputs_in_their_file() {
    let project = project();
    let folder = project.path();
    std::fs::write(folder.join("p.yaml"), PIPELINE.replace("[note]", "[note, wall]")).unwrap();
    let with = |text: &str, more: &[&str]| {
        std::fs::write(folder.join("inputs.json"), text).unwrap();
        flow(folder, &[&["run", "p.yaml", "--inputs", "inputs.json"], more].concat())
    };
    let said = with("{\"who\": \"Ben\", \"channel\": \"wall\"}", &[]);
    assert_eq!((said.exit, said.out.as_str()), (0, "Hello Ben on wall\n"), "{}", said.err);
    assert_eq!(
        with("{\"channel\": \"wall\"}", &["--channel", "note"]).out,
        "Hello Ana on note\n",
        "what is written on the command line wins"
    );
    assert_eq!(with("{\"channel\": null}", &[]).out, "Hello Ana on note\n");
    let said = with("{\"channel\": \"fax\"}", &[]);
    assert_eq!((said.exit, said.err.contains("no channel \"fax\"")), (2, true), "{}", said.err);
    let said = with("{\"channel\": 5}", &[]);
    assert_eq!((said.exit, said.err.contains("channel must be a text")), (2, true), "{}", said.err);
    let plan = flow(folder, &["plan", "p.yaml", "--json", "--inputs", "inputs.json", "--input", "who=Cem"]);
    assert_eq!(plan.exit, 2, "the same for a plan: {}", plan.err);
    std::fs::write(folder.join("inputs.json"), "{\"channel\": \"wall\"}").unwrap();
    let plan = flow(folder, &["plan", "p.yaml", "--json", "--inputs", "inputs.json", "--input", "who=Cem"]);
    let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    assert_eq!((&plan["channel"], &plan["inputs"]), (&"wall".into(), &serde_json::json!({ "who": "Cem" })));
}

#[test]
fn the_last_word_of_a_command_leads_to_the_command() {
    let ended = flow(project().path(), &["resume", "x"]);
    assert!(ended.exit == 2 && ended.err.ends_with("tip: flow runs resume\n"), "{}", ended.err);
    let unknown = flow(project().path(), &["reesume"]);
    assert!(unknown.exit == 2 && !unknown.err.contains("tip: flow"), "{}", unknown.err);
}

#[test]
fn a_gate_that_was_not_met_is_named_with_what_it_wanted() {
    let project = project();
    let card =
        "scorecards: { card: { criteria: [{ id: short_enough, description: The text is short., check: { max_length: 5 } }] } }\nsteps:";
    let gate = "  - { id: check, gate: card, of: steps.greet.output, otherwise: Hi }\noutputs:";
    let text = PIPELINE.replace("steps:", card).replace("outputs:", gate).replace("steps.greet.output }}\" }", "steps.check.output }}\" }");
    std::fs::write(project.path().join("p.yaml"), text).unwrap();
    let said = flow(project.path(), &["run", "p.yaml"]);
    assert_eq!((said.exit, said.out.as_str()), (5, "Hi\n"), "{}", said.err);
    assert!(said.err.contains("quality_not_met: gate \"check\" was not met (short_enough); flow runs show shows why"), "{}", said.err);
}

#[test]
fn standard_input_that_is_too_long_is_reported_also_where_it_is_cut_inside_a_character() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in.yaml");
    for (bytes, exit, told) in [
        (format!("# {}", "é".repeat(600_000)).into_bytes(), 1, "larger than 1 MiB"),
        (b"flow: 1 # \xff".to_vec(), 2, "cannot read standard input"),
        (b"flow: 1 # \xc3".to_vec(), 2, "cannot read standard input"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let said = ran(command(folder.path(), &["validate", "-"]).stdin(File::open(&file).unwrap()));
        assert!(said.exit == exit && format!("{}{}", said.out, said.err).contains(told), "{}{}", said.out, said.err);
    }
}
