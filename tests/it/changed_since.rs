//! `--changed-since`: a change touches what imports, calls, tests or reads a changed file, and nothing else.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::extras::{Extra, has};
use crate::golden::copy;
use crate::program::{Ran, command, flow, ran};

/// A repository with a commit.
struct Repository(TempDir);

/// A key that is reported wherever the file is checked.
const MARK: &str = "nonsense: 1\n";

const MAIN: &str = "flow: 1
name: main
imports: [parts/team.yaml, ../policies/strict.yaml]
inputs: { path: text }
data: { t: { file: data/t.csv } }
channels: [sms]
style_guide: plain
policy: strict
models: { default: { provider: scripted, replies: main.replies.yaml } }
knowledge: { handbook: { files: [docs/**/*.md] } }
agents: { w: { instructions: { file: parts/w.md } } }
steps:
  - { id: a, sql: select x from t }
  - { id: s, sql: { file: parts/s.sql } }
  - { id: b, python: { file: parts/p.py }, returns: text }
  - { id: c, call: called.yaml }
  - { id: d, read: data/notes.txt }
  - { id: e, search: handbook, for: x }
  - { id: f, agent: w, prompt: x, output_schema: { file: parts/f.json } }
outputs: { o: '{{ steps.f.output }}' }
";

const FILES: &[(&str, &str)] = &[
    ("flow.toml", ""),
    ("README.md", ""),
    ("channels/sms.yaml", "flow: 1\nchannel: sms\nbody: text\n"),
    ("style_guides/plain.yaml", "flow: 1\nstyle_guide: plain\n"),
    ("policies/strict.yaml", "flow: 1\npolicies: { strict: { permission_mode: auto } }\n"),
    ("pipelines/parts/team.yaml", "flow: 1\nimports: [deep.yaml]\n"),
    ("pipelines/parts/deep.yaml", "flow: 1\nagents: { v: { instructions: x } }\n"),
    ("pipelines/parts/w.md", "You write.\n"),
    ("pipelines/parts/s.sql", "select x from t where x = {{ inputs.path }}\n"),
    ("pipelines/parts/p.py", "return 'x'\n"),
    ("pipelines/parts/f.json", "{\"type\": \"object\"}\n"),
    ("pipelines/data/t.csv", "x\n1\n"),
    ("pipelines/data/notes.txt", "x\n"),
    ("pipelines/docs/in/a.md", "x\n"),
    ("pipelines/main.replies.yaml", "flow: 1\nreplies: {}\n"),
];

impl Repository {
    fn new() -> Repository {
        let own = Repository(tempfile::tempdir().unwrap());
        FILES.iter().for_each(|(name, text)| own.write(name, text));
        own.write("pipelines/main.yaml", &format!("{MAIN}{MARK}"));
        for name in ["called", "alone"] {
            own.write(&format!("pipelines/{name}.yaml"), &format!("flow: 1\nname: {name}\nsteps: [{{ id: s, set: 1 }}]\n{MARK}"));
        }
        own.write("tests/main.test.yaml", &format!("flow: 1\ntest: ../pipelines/main.yaml\ncases: [{{ id: a, golden: true }}]\n{MARK}"));
        own.write("tests/goldens/main.test/a/sms.txt", "x\n");
        own.git(&["init", "-q", "-b", "main"]);
        own.commit();
        own
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let own = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"];
        let done = Command::new("git").args(own).args(arguments).current_dir(self.0.path()).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a"]);
    }

    /// Takes every change back.
    fn restore(&self) {
        self.git(&["reset", "-q", "--hard"]);
        self.git(&["clean", "-qfd"]);
    }

    /// The files of which something is told, by their mark, and how many are touched.
    fn checked(&self) -> (BTreeSet<String>, usize) {
        let ran = self.flow(&["validate", "--json", "--changed-since", "HEAD"]);
        let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err));
        let findings = report["findings"].as_array().unwrap();
        let marked = findings.iter().filter(|found| found["message"].as_str().unwrap().contains("nonsense"));
        let touched = ran.err.split(" of ").next().unwrap().parse().unwrap();
        (marked.map(|found| found["file"].as_str().unwrap().to_owned()).collect(), touched)
    }

    fn flow(&self, arguments: &[&str]) -> Ran {
        flow(self.0.path(), arguments)
    }
}

const ALL: [&str; 4] = ["pipelines/alone.yaml", "pipelines/called.yaml", "pipelines/main.yaml", "tests/main.test.yaml"];
/// What a pipeline calls is told with it.
const READERS: [&str; 3] = ["pipelines/called.yaml", "pipelines/main.yaml", "tests/main.test.yaml"];

#[test]
fn a_change_touches_all_that_imports_calls_tests_or_reads_the_file() {
    if !has(&[Extra::Git]) {
        return;
    }
    let own = Repository::new();
    let wanted = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(own.checked(), (wanted(&[]), 0));
    for (name, _) in FILES.iter().filter(|(name, _)| !matches!(*name, "flow.toml" | "README.md")) {
        // What is of this language is checked itself, too.
        let of_itself = usize::from(name.ends_with(".yaml")) + usize::from(name.ends_with("deep.yaml"));
        own.write(name, &format!("{}\n", fs::read_to_string(own.at(name)).unwrap()));
        assert_eq!(own.checked(), (wanted(&READERS), 2 + of_itself), "{name} has changed");
        fs::remove_file(own.at(name)).unwrap();
        let (checked, touched) = own.checked();
        assert!(READERS[1..].iter().all(|reader| checked.contains(*reader)) && !checked.contains(ALL[0]), "{name} is gone: {checked:?}");
        own.git(&["add", "-A"]);
        assert_eq!(own.checked(), (checked, touched), "{name} is staged");
        own.restore();
    }
    let cases: &[(&str, &str, &[&str], usize)] = &[
        ("README.md", "x", &[], 0),
        ("pipelines/README.md", "x", &[], 0),
        ("flow.toml", "# x\n", &ALL, 10),
        ("pipelines/called.yaml", MARK, &READERS, 3),
        ("pipelines/alone.yaml", MARK, &ALL[..1], 1),
        // What it tested has no test now.
        ("tests/main.test.yaml", MARK, &ALL[1..], 3),
        ("pipelines/docs/in/new.md", "x", &READERS, 2),
        ("pipelines/docs/in/new.txt", "x", &[], 0),
        // It comes before the one of the project.
        ("pipelines/channels/sms.yaml", "flow: 1\nchannel: sms\n", &READERS, 3),
    ];
    for (name, text, told, touched) in cases {
        own.write(name, text);
        assert_eq!(own.checked(), (wanted(told), *touched), "{name}");
        own.restore();
    }
    own.write("pipelines/flow.toml", "");
    let other = own.flow(&["validate", "--changed-since", "HEAD", "pipelines/alone.yaml"]);
    assert!(other.err.contains("1 of 1 file is touched"), "it is in another project now: {}", other.err);
    own.restore();
    own.write("pipelines/alone.yaml", "flow: 1\nname: [\nnonsense: 1\n");
    own.commit();
    let ran = own.flow(&["validate", "--changed-since", "HEAD"]);
    assert!(ran.out.contains("pipelines/alone.yaml") && !ran.out.contains("main.yaml"), "what it brings in is not known: {}", ran.out);
}

#[test]
fn links_and_hostile_names_are_followed_as_the_system_follows_them() {
    if !has(&[Extra::Git]) {
        return;
    }
    let own = Repository::new();
    let link = |target: &str, name: &str| {
        let _ = fs::remove_file(own.at(name));
        std::os::unix::fs::symlink(target, own.at(name)).unwrap();
    };
    let name = "pipelines/a\n\"b' $(touch started) -- {{x}}.yaml";
    own.write(name, "flow: 1\n");
    fs::remove_file(own.at("pipelines/parts/team.yaml")).unwrap();
    link("middle.yaml", "pipelines/parts/team.yaml");
    link("deep.yaml", "pipelines/parts/middle.yaml");
    own.commit();
    link("../called.yaml", "pipelines/parts/middle.yaml");
    assert!(own.checked().0.contains("pipelines/main.yaml"), "a link on the way leads elsewhere");
    own.restore();
    own.write(name, &format!("flow: 1\n{MARK}"));
    assert_eq!(own.checked().0.len(), 1);
    assert!(!own.at("started").exists());
}

#[test]
fn what_git_cannot_say_is_an_error_that_says_what_to_do() {
    if !has(&[Extra::Git]) {
        return;
    }
    let own = Repository::new();
    let unknown = own.flow(&["validate", "--changed-since", "nonsense"]);
    assert_eq!(unknown.exit, 2);
    assert!(unknown.err.contains("\"nonsense\" is no commit of this repository; fetch it"), "{}", unknown.err);
    let missing = ran(command(own.0.path(), &["validate", "--changed-since", "HEAD"]).env("PATH", own.0.path()));
    assert_eq!(missing.exit, 6);
    assert!(missing.err.contains("git is not installed"), "{}", missing.err);
    let nowhere = tempfile::tempdir().unwrap();
    fs::write(nowhere.path().join("a.yaml"), "flow: 1\n").unwrap();
    let outside = flow(nowhere.path(), &["validate", "--changed-since", "HEAD"]);
    assert_eq!(outside.exit, 2);
    assert!(outside.err.contains("is in no Git repository"), "{}", outside.err);
}

#[test]
fn services_see_files_from_the_root_of_the_repository() {
    if !has(&[Extra::Git]) {
        return;
    }
    let own = Repository::new();
    for (format, wanted) in [
        ("github", "file=pipelines/alone.yaml,"),
        ("sarif", "\"uri\": \"pipelines/alone.yaml\""),
        ("gitlab", "\"path\": \"pipelines/alone.yaml\""),
        ("json", "\"file\": \"alone.yaml\""),
    ] {
        let ran = flow(&own.at("pipelines"), &["validate", "--format", format, "alone.yaml"]);
        assert!(ran.out.contains(wanted), "{format}: {}", ran.out);
    }
}

/// The tests that ship with the project, in a repository.
fn shipped() -> Repository {
    let own = Repository(tempfile::tempdir().unwrap());
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_runner"), own.0.path());
    own.git(&["init", "-q", "-b", "main"]);
    own.commit();
    own
}

#[test]
fn tests_that_a_change_does_not_touch_are_not_run() {
    if !has(&[Extra::Git]) {
        return;
    }
    let own = shipped();
    let none = own.flow(&["test", "--changed-since", "HEAD"]);
    assert_eq!((none.exit, none.out.as_str()), (0, ""), "{}", none.err);
    assert!(none.err.contains("0 of ") && none.err.contains("touched by what has changed since HEAD"), "{}", none.err);
    own.write("goldens/reminder.test/missing_hours/note.txt", "Other.\n");
    let one = own.flow(&["test", "--changed-since", "HEAD"]);
    assert_eq!(one.exit, 1);
    assert!(one.out.contains("FAIL reminder.test.yaml/missing_hours/note"), "{}", one.out);
    assert!(one.err.contains("1 of "), "{}", one.err);
}

#[test]
fn tests_that_name_a_changed_file_are_run_wherever_it_is() {
    if !has(&[Extra::Git]) {
        return;
    }
    let own = Repository(tempfile::tempdir().unwrap());
    let pipeline = "flow: 1
name: reads
inputs: { f: { type: file, default: ../files/default.txt }, path: { type: text, required: false } }
tools: { notes: { file: ../notes } }
steps:
  - { id: a, read: '{{ inputs.f }}' }
  - { id: b, read: '{{ inputs.path }}', when: false }
  - { id: c, program: [cat, ../texts/t.txt], reads_only: true, when: false }
  - { id: d, read: '../parts/{{ inputs.path }}', when: false }
";
    let test = |inputs: &str| {
        format!("flow: 1\ntest: ../pipelines/reads.yaml\ncases: [{{ id: one, inputs: {{ {inputs} }}, expect: {{ status: succeeded }} }}]\n")
    };
    own.write("flow.toml", "");
    own.write("pipelines/reads.yaml", pipeline);
    own.write("tests/plain.test.yaml", &test(""));
    own.write("tests/named.test.yaml", &test("f: ../other/in.txt, path: other/text.txt"));
    let read = ["files/default.txt", "other/in.txt", "other/text.txt", "notes/n.txt", "texts/t.txt", "parts/p.txt"];
    for name in read.into_iter().chain(["unread/u.txt"]) {
        own.write(name, "x\n");
    }
    own.git(&["init", "-q", "-b", "main"]);
    own.commit();
    for (name, touched) in read.into_iter().zip(["2 of ", "1 of ", "1 of ", "2 of ", "2 of ", "2 of "]).chain([("unread/u.txt", "0 of ")]) {
        own.write(name, "y\n");
        let ran = own.flow(&["test", "--changed-since", "HEAD"]);
        assert!(ran.err.contains(touched), "{name}: {}{}", ran.out, ran.err);
        own.restore();
    }
}

#[test]
fn a_summary_tells_what_a_change_made_of_the_goldens() {
    if !has(&[Extra::Git]) {
        return;
    }
    let own = shipped();
    let golden = "goldens/reminder.test/missing_hours/note.txt";
    let now = fs::read_to_string(own.at(golden)).unwrap();
    own.write(golden, "What it was.\n");
    own.commit();
    own.write(golden, &now);
    own.write("summary.md", "Before.\n");
    let ran = own.flow(&["test", "--changed-since", "HEAD", "--summary", "summary.md"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let summary = fs::read_to_string(own.at("summary.md")).unwrap();
    assert!(summary.starts_with("Before.\n## flow test\n"), "{summary}");
    assert!(summary.contains(&format!("| 1 | changed | `{golden}` | `missing_hours` | `note` | ")), "{summary}");
    assert!(summary.contains("    1 - What it was.\n"), "{summary}");
    let printed = own.flow(&["test", "--changed-since", "HEAD", "--format", "markdown"]);
    assert_eq!(format!("Before.\n{}", printed.out), summary);
}
