//! The shipped policies, through the program: what each of them blocks stands in the audit with its rule, what is inside narrows and never widens, and
//! none of them runs a program without a sandbox.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flow_adapters::sandbox::SandboxKind;
use serde_json::Value;
use tempfile::TempDir;

use crate::extras::{Extra, has};
use crate::program::{Ran, command, flow, ran};
use crate::sandbox::sandboxes;

const SHIPPED: [&str; 3] = ["read_only_strict", "development_safe", "production"];

/// A project with the shipped policies, and these files.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(flow(folder.path(), &["init", "--policies"]).exit, 0);
    for name in ["src", "work", "out", "data"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let own = [("flow.toml", ""), ("src/a.txt", "kept\n"), ("data/a.txt", "data\n")];
    own.iter().chain(files).for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    folder
}

/// The head of a pipeline under a shipped policy.
fn head(policy: &str) -> String {
    format!("flow: 1\nname: p\ndescription: Is under {policy}.\nimports: [policies/{policy}.yaml]\npolicy: {policy}\n")
}

fn run(folder: &TempDir) -> Ran {
    flow(folder.path(), &["run", "p.yaml", "-q", "--trust"])
}

/// What was blocked, as the audit has it: the step, who, what and by which rule.
fn blocked(folder: &Path) -> Vec<String> {
    let exported = flow(folder, &["audit", "export"]);
    assert_eq!((exported.exit, flow(folder, &["audit", "verify"]).exit), (0, 0), "{}", exported.err);
    let records = exported.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let decided = records.filter(|record| record["action"] == "policy_decision" && record["result"] == "blocked");
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or("-").to_owned();
    decided.map(|record| ["step", "agent_id", "target", "policy_applied"].map(|name| text(&record, name)).join(" ")).collect()
}

/// A file that allows itself everything, and tries what a policy around it does not allow.
fn inner(steps: &str) -> String {
    format!(
        "flow: 1\nname: inner\ndescription: Allows itself everything.\npolicies: {{ open: {{ permission_mode: auto, sandbox: none }} }}\npolicy: open\n\
         tools: {{ work: {{ file: work, allow: [write] }}, code: {{ file: src, allow: [read, write] }}, out: {{ file: out, allow: [write] }} }}\nsteps:\n{steps}"
    )
}

#[test]
fn they_are_written_once_and_each_is_without_findings() {
    let folder = project(&[]);
    let checked = flow(folder.path(), &["validate", "--deny-warnings"]);
    assert_eq!(checked.exit, 0, "{}{}", checked.out, checked.err);
    let of = |folder: &Path| -> BTreeSet<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into()).collect()
    };
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    assert_eq!(of(&folder.path().join("policies")), of(&shipped));
    assert_eq!(flow_cli::POLICIES.len(), of(&shipped).len());
    std::fs::write(folder.path().join("policies/production.yaml"), "mine").unwrap();
    std::fs::remove_file(folder.path().join("policies/development_safe.yaml")).unwrap();
    let again = flow(folder.path(), &["init", "--policies"]);
    assert!(again.exit == 2 && again.err.contains("policies/production.yaml"), "{}", again.err);
    assert!(!folder.path().join("policies/development_safe.yaml").exists());
}

#[test]
fn read_only_strict_blocks_every_effect_and_every_host() {
    let tries = inner(
        "  - { id: look, program: [cat, --, src/a.txt], reads_only: true }
  - { id: read, tool: code.read, with: { name: a.txt } }
  - { id: write, tool: work.write, with: { name: a.txt, text: x }, on_failure: continue }
  - { id: ask, http: GET http://127.0.0.1:9/, timeout: 5s, on_failure: continue }
  - { id: make, program: [touch, work/b.txt], writes: work, on_failure: continue }
  - { id: change, program: [cat, /dev/null], writes: work, on_failure: continue }
  - { id: fetch, program: [cat, /dev/null], network: ['127.0.0.1:9999'], reads_only: true, on_failure: continue }
  - { id: push, program: [git, push, origin], on_failure: continue }
outputs: { look: '{{ steps.look.output }}', read: '{{ steps.read.output }}' }
",
    );
    let outer = head("read_only_strict") + "steps: [{ id: in, call: inner.yaml }]\noutputs: { in: '{{ steps.in.output }}' }\n";
    let folder = project(&[("p.yaml", &outer), ("inner.yaml", &tries)]);
    let ran = run(&folder);
    assert!(ran.exit == 0 && ran.out.matches("kept").count() == 2, "{}{}", ran.out, ran.err);
    let unnamed = "policy read_only_strict: no list names it, and permission_mode is deny";
    let expected = [
        "in/write - tool work.write policy read_only_strict: disallowed_tools *.write".to_owned(),
        format!("in/ask - host 127.0.0.1:9 {unnamed}"),
        format!("in/make - tool touch {unnamed}"),
        format!("in/change - write work/** {unnamed}"),
        "in/fetch - host 127.0.0.1:9999 policy read_only_strict: network_access.hosts does not list it".to_owned(),
        format!("in/push - tool git {unnamed}"),
    ];
    assert_eq!(blocked(folder.path()), expected);
    assert!(std::fs::read_dir(folder.path().join("work")).unwrap().next().is_none());
}

#[test]
fn development_safe_lets_work_go_on_in_its_folder_and_asks_about_the_rest() {
    let tries = inner(
        "  - { id: gone, program: [rm, -f, src/a.txt], writes: src, on_failure: continue }
  - { id: push, program: [git, push, origin], on_failure: continue }
  - { id: force, program: [git, log, --FORCE], on_failure: continue }
  - { id: fetch, program: [cat, /dev/null], network: [pypi.org, evil.example], reads_only: true, on_failure: continue }
  - { id: all, program: [cat, /dev/null], network: true, reads_only: true, on_failure: continue }
",
    );
    let steps = "tools: { work: { file: work, allow: [write] }, code: { file: src, allow: [write] } }
steps:
  - { id: work, tool: work.write, with: { name: a.txt, text: x } }
  - { id: make, program: [wc, -l, --, src/a.txt], reads_only: true, network: [pypi.org] }
  - { id: in, call: inner.yaml }
  - { id: src, tool: code.write, with: { name: a.txt, text: x }, needs: [work, make, in] }
";
    let outer = head("development_safe") + steps;
    let folder = project(&[("p.yaml", &outer), ("inner.yaml", &tries)]);
    let ran = run(&folder);
    let question = "(write src/a.txt) (policy development_safe: no list names it, and permission_mode is prompt); allow it?";
    assert!(ran.exit == 8 && ran.err.contains(question), "{}: {}", ran.exit, ran.err);
    let expected = [
        "in/gone - tool rm policy development_safe: disallowed_tools rm",
        "in/push - tool git policy development_safe: disallowed_tools git(push *)",
        "in/force - tool git policy development_safe: disallowed_tools git(*--force*)",
        "in/fetch - host evil.example policy development_safe: network_access.hosts does not list it",
        "in/all - host * policy development_safe: network_access.hosts does not list it",
    ];
    assert_eq!(blocked(folder.path()), expected);
    let kept = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((kept("work/a.txt"), kept("src/a.txt")), ("x".to_owned(), "kept\n".to_owned()));
}

#[test]
fn production_denies_what_it_does_not_name_and_asks_before_each_effect() {
    let tries = inner(
        "  - { id: shell, program: [sh, -c, 'echo x > work/a.txt'], writes: work, on_failure: continue }
  - { id: write, tool: work.write, with: { name: a.txt, text: x }, on_failure: continue }
  - { id: read, tool: code.read, with: { name: a.txt }, on_failure: continue }
  - { id: ask, http: GET https://unlisted.example/, timeout: 5s, on_failure: continue }
",
    );
    let steps = "tools: { out: { file: out, allow: [write] } }
steps:
  - { id: in, call: inner.yaml }
  - { id: out, tool: out.write, with: { name: a.txt, text: x } }
";
    let folder = project(&[("p.yaml", &(head("production") + steps)), ("inner.yaml", &tries)]);
    let ran = run(&folder);
    let question = "\"out\" wants to call out.write with {\"name\":\"a.txt\",\"text\":\"x\"}; allow it?";
    assert!(ran.exit == 8 && ran.err.contains(question), "{}: {}", ran.exit, ran.err);
    assert!(!folder.path().join("out/a.txt").exists());
    let unnamed = "policy production: no list names it, and permission_mode is deny";
    let expected = [
        "in/shell - tool sh policy production: disallowed_tools sh".to_owned(),
        format!("in/write - write work/a.txt {unnamed}"),
        format!("in/read - read src/a.txt {unnamed}"),
        format!("in/ask - host unlisted.example {unnamed}"),
    ];
    assert_eq!(blocked(folder.path()), expected);
    let id = ran.err.split_once("flow approve ").unwrap().1.split(' ').next().unwrap().to_owned();
    assert_eq!(flow(folder.path(), &["approve", &id, "out"]).exit, 0);
    let resumed = flow(folder.path(), &["runs", "resume", &id, "--trust"]);
    assert_eq!((resumed.exit, folder.path().join("out/a.txt").exists()), (0, true), "{}", resumed.err);
}

#[test]
fn an_agent_and_a_dialogue_narrow_the_policy_around_them_and_never_widen_it() {
    let steps = "policies: { wide: { permission_mode: auto, sandbox: none } }
models: { default: { provider: scripted, replies: replies.yaml } }
tools:
  work: { file: work, allow: [write], description: Writes a note. }
  src: { file: src, allow: [write], description: Writes code. }
  gone: { program: [rm, -f, x], description: Removes a file. }
agents:
  wide: { instructions: You write., tools: [src, gone], policy: wide }
  narrow: { instructions: You write., tools: [work], policy: read_only_strict }
  open: { instructions: You write., tools: [work] }
  other: { instructions: You answer. }
steps:
  - { id: wide, agent: wide, prompt: Write. }
  - { id: narrow, agent: narrow, prompt: Write., needs: wide }
  - { id: talk, dialogue: [open, other], topic: Write., max_turns: 2, policy: read_only_strict, needs: narrow }
";
    let replies = "flow: 1
replies:
  wide: [{ calls: [{ tool: gone, with: {} }] }, Done.]
  narrow: [{ calls: [{ tool: work.write, with: { name: a.txt, text: x } }] }, Done.]
  talk: [{ calls: [{ tool: work.write, with: { name: a.txt, text: x } }] }, Done., Fine.]
";
    let both = head("development_safe").replace("development_safe.yaml]", "development_safe.yaml, policies/read_only_strict.yaml]");
    let folder = project(&[("p.yaml", &(both + steps)), ("replies.yaml", replies)]);
    let ran = run(&folder);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let expected = [
        "wide wide tool rm policy development_safe: disallowed_tools rm",
        "narrow narrow tool work.write policy read_only_strict: disallowed_tools *.write",
        "talk open tool work.write policy read_only_strict: disallowed_tools *.write",
    ];
    assert_eq!(blocked(folder.path()), expected);
    assert!(std::fs::read_dir(folder.path().join("work")).unwrap().next().is_none());
}

#[test]
fn none_of_them_starts_a_program_without_a_sandbox() {
    // Inside a file that would go without one.
    let inner = inner("  - { id: look, program: [wc, -l, --, data/a.txt], reads_only: true }\n");
    for policy in SHIPPED {
        let outer = head(policy) + "steps: [{ id: in, call: inner.yaml }]\n";
        let folder = project(&[("p.yaml", &outer), ("inner.yaml", &inner)]);
        // As it is, production starts no program.
        let own = folder.path().join("policies/production.yaml");
        let text = std::fs::read_to_string(&own).unwrap().replace("      - python\n", "      - wc\n").replace("\"pipelines/**\"", "\"**\"");
        std::fs::write(&own, text).unwrap();
        let none = folder.path().join("none");
        std::fs::create_dir(&none).unwrap();
        let mut run = command(folder.path(), &["run", "p.yaml", "-q", "--trust"]);
        let ran = ran(run.env("FLOW_SANDBOX", "bubblewrap").env("PATH", &none));
        assert!(ran.exit == 6 && ran.err.contains("there is no sandbox here"), "{policy}: {}: {}", ran.exit, ran.err);
    }
}

#[test]
fn a_host_that_a_program_was_kept_from_is_in_the_audit() {
    if !has(&[Extra::Curl]) {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 4_096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    let pipeline = format!(
        "flow: 1
name: p
description: Fetches two pages.
steps:
  - {{ id: own, program: [curl, -sf, 'http://127.0.0.1:{port}/'], network: ['127.0.0.1:{port}'], reads_only: true }}
  - {{ id: other, program: [curl, -sSf, 'https://blocked.example/'], network: [a.example], reads_only: true, on_failure: continue, needs: own }}
outputs: {{ own: '{{{{ steps.own.output }}}}', refused: '{{{{ steps.other.error.message }}}}' }}
"
    );
    for kind in sandboxes().into_iter().map(SandboxKind::name) {
        let folder = project(&[("p.yaml", &pipeline)]);
        let mut run = command(folder.path(), &["run", "p.yaml", "-q", "--trust"]);
        let ran = ran(run.env("FLOW_SANDBOX", kind));
        assert!(ran.exit == 0 && ran.out.contains("hello"), "{kind}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("it was kept from blocked.example:443 (network does not list it)"), "{kind}: {}", ran.out);
        assert_eq!(blocked(folder.path()), ["other - host blocked.example:443 network does not list it"]);
    }
}

#[test]
fn production_says_which_argument_others_wrote_and_asks_about_it() {
    let steps = "models: { default: { provider: scripted, replies: replies.yaml } }
tools: { docs: { file: data, allow: [read] }, out: { file: out, allow: [write] } }
agents: { writer: { instructions: You keep notes., tools: [docs.read, out.write] } }
inputs: { ask: text }
steps:
  - { id: keep, agent: writer, prompt: \"{{ inputs.ask }}\" }
outputs: { said: \"{{ steps.keep.output }}\" }
";
    let replies = "flow: 1
replies:
  keep:
    - calls: [{ tool: docs.read, with: { name: a.txt } }]
    - calls: [{ tool: out.write, with: { name: stolen.txt, text: x } }]
    - Done.
";
    let folder = project(&[("p.yaml", &(head("production") + steps)), ("replies.yaml", replies)]);
    let asked = |text: &str| flow(folder.path(), &["run", "p.yaml", "-q", "--trust", "--input", &format!("ask={text}")]);
    let (by_person, by_model) = (asked("Put a.txt into stolen.txt, please."), asked("Put a.txt somewhere, please."));
    let question = "\"keep\" wants to call out.write with {\"name\":\"stolen.txt\",\"text\":\"x\"}";
    assert!(by_person.exit == 8 && by_person.err.contains(&format!("{question}; allow it?")), "{}", by_person.err);
    let rule = "policy production: untrusted paths ask, and a model wrote it";
    let why = format!("{question} (name from a model) ({rule}); allow it?");
    assert!(by_model.exit == 8 && by_model.err.contains(&why), "{}", by_model.err);
    let id = by_model.err.split_once("flow approve ").unwrap().1.split(' ').next().unwrap().to_owned();
    assert_eq!(flow(folder.path(), &["approve", &id, "keep", "--reject"]).exit, 0);
    assert_eq!(flow(folder.path(), &["runs", "resume", &id, "--trust"]).exit, 0);
    assert_eq!(blocked(folder.path()), [format!("keep writer argument out.write(name) {rule}, and a person said no")]);
    assert!(!folder.path().join("out/stolen.txt").exists());
}

#[test]
fn in_a_test_a_policy_decides_before_a_mock() {
    let file = "flow: 1\nname: p\ndescription: Tries what its policy does not allow.\n\
        policies: { strict: { disallowed_tools: ['notes.write(*secret*)', 'hook(*bad*)'], network_access: { hosts: [a.example] }, untrusted: deny, permission_mode: auto } }\n\
        policy: strict\nmodels: { default: { provider: scripted, replies: r.yaml } }\nagents: { clerk: { instructions: You write., tools: [notes, hook] } }\n\
        inputs: { name: text, host: text }\nsecrets: { KEY: The key. }\n\
        tools:\n  notes: { file: out, allow: [write, read], description: Notes. }\n\
        \x20 hook: { http: 'POST https://a.example/', body: '{{ with.what }}', arguments: { what: text }, description: Tells. }\nsteps:\n\
        \x20 - { id: own, tool: hook, with: { what: 'bad {{ inputs.name }}' }, on_failure: continue }\n\
        \x20 - { id: far, http: 'GET https://{{ inputs.host }}/', on_failure: continue }\n\
        \x20 - { id: near, http: 'GET https://a.example/', headers: { X-Key: '{{ secrets.KEY }}' }, on_failure: continue }\n\
        \x20 - { id: ask, agent: clerk, prompt: Write. }\n\
        outputs: { near: \"{{ steps.near.output.status }}\", said: \"{{ steps.ask.output }}\" }\n";
    let replies = "flow: 1\nreplies:\n  ask:\n    - calls: [{ tool: notes.write, with: { name: a, text: secret } }, { tool: hook, with: { what: good } }]\n    - Done.\n";
    let test = |blocked: &str| {
        let answer = "{ status: 200, headers: {}, body: ok }";
        format!(
            "flow: 1\ntest: p.yaml\nmocks: {{ near: {answer} }}\ncases:\n\
             \x20 - id: all\n    inputs: {{ name: x, host: b.example }}\n    expect:\n      status: partial\n      blocked: {blocked}\n      outputs: {{ near: 200, said: Done. }}\n\
             \x20     steps: {{ own: failed, far: failed, near: succeeded }}\n"
        )
    };
    let folder = project(&[("p.yaml", file), ("r.yaml", replies), ("p.test.yaml", &test("[b.example, hook, hook(what), notes.write]"))]);
    let ran = flow(folder.path(), &["test", "p.test.yaml"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    std::fs::write(folder.path().join("p.test.yaml"), test("[hook, 'https://a.example']")).unwrap();
    let ran = flow(folder.path(), &["test", "p.test.yaml"]);
    assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
    for told in [
        "blocked: \"https://a.example\" was not denied",
        "blocked: \"b.example\" was denied, too: policy strict: network_access.hosts does not list it",
        "blocked: \"hook(what)\" was denied, too: policy strict: untrusted otherwise deny",
        "blocked: \"notes.write\" was denied, too: policy strict: disallowed_tools notes.write(*secret*)",
    ] {
        assert!(ran.out.contains(told) || ran.err.contains(told), "no {told}: {}{}", ran.out, ran.err);
    }
}
