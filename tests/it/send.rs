//! What is sent is what was meant: mails with several recipients, files that grow, goldens whatever their line ends, and reports without what is hidden.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use serde_json::Value;

use crate::endpoint::served;
use crate::program::{Ran, flow};

/// Takes one mail, and gives what the server was told. It rejects recipients with `nobody` in them.
pub(crate) fn mailbox() -> (SocketAddr, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let taken = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let from = BufReader::new(stream.try_clone().unwrap());
        let mut say = |line: &str| stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        let (mut told, mut is_data) = (vec![], false);
        say("220 here");
        for line in from.lines().map_while(Result::ok) {
            told.push(line.clone());
            if is_data && line != "." {
                continue;
            }
            is_data = line == "DATA";
            match line.as_str() {
                "QUIT" => break,
                "DATA" => say("354 go on"),
                line if line.starts_with("EHLO") => say("250-here\r\n250 8BITMIME"),
                line if line.contains("nobody") => say("550 no such person"),
                _ => say("250 ok"),
            }
        }
        told
    });
    (address, taken)
}

fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().chain(&[("flow.toml", "")]) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !path.exists() {
            std::fs::write(path, text).unwrap();
        }
    }
    folder
}

fn run(folder: &Path, file: &str) -> Ran {
    flow(folder, &["run", file, "--trust"])
}

#[test]
fn a_recipient_that_the_server_rejects_is_told_everywhere_and_the_others_get_the_mail() {
    let (address, taken) = mailbox();
    let pipeline = format!(
        "flow: 1
name: p
tools: {{ post: {{ smtp: \"{address}\", from: flow@sender.example, with: {{ bcc: archive@example.org }} }} }}
steps:
  - id: mail
    send: post
    of: \"'Hello'\"
    with:
      to: [ana@example.org, Eve <nobody@example.org>]
      cc: \"\\\"Miller, Bo\\\" <bo@example.org>\"
      subject: Report
      headers: {{ List-Unsubscribe: \"<https://example.com/u/1>\" }}
outputs: {{ sent: \"{{{{ steps.mail.output.delivered[0].accepted | length }}}}\", lost: \"{{{{ steps.mail.output.delivered[0].rejected }}}}\" }}
"
    );
    let folder = folder_with(&[("p.yaml", &pipeline)]);
    let ran = run(folder.path(), "p.yaml");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let told = taken.join().unwrap();
    let recipients: Vec<&str> = told.iter().filter_map(|line| line.strip_prefix("RCPT TO:")).collect();
    assert_eq!(recipients, ["<ana@example.org>", "<nobody@example.org>", "<bo@example.org>", "<archive@example.org>"]);
    let data = told.iter().skip_while(|line| *line != "DATA").cloned().collect::<Vec<_>>().join("\n");
    assert!(data.contains("List-Unsubscribe: <https://example.com/u/1>") && data.contains("Auto-Submitted: auto-generated"), "{data}");
    assert!(!data.to_lowercase().contains("bcc") && !data.contains("archive"), "{data}");
    let outputs: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(outputs["sent"], 3, "{}", ran.out);
    assert!(outputs["lost"][0]["reason"].as_str().unwrap().contains("no such person"), "{}", ran.out);
    assert!(ran.err.contains("mail: rejected by the mail server, and not sent to Eve"), "{}", ran.err);
    let shown = flow(folder.path(), &["runs", "show"]);
    assert!(shown.out.contains("not to Eve"), "{}", shown.out);
}

/// Only a mail has recipients: elsewhere `to` is what was written.
#[test]
fn what_is_put_together_is_one_recipient_of_a_mail_and_a_text_elsewhere() {
    let (heard, told) = std::sync::mpsc::channel();
    let hook = served(move |_, body| {
        heard.send(body.clone()).unwrap();
        serde_json::json!({})
    });
    let (address, taken) = mailbox();
    let pipeline = format!(
        "flow: 1
name: p
inputs: {{ name: text, mail: text }}
tools:
  hook: {{ http: \"POST http://{hook}/\", body: {{ to: \"{{{{ with.to }}}}\" }} }}
  post: {{ smtp: \"{address}\", from: flow@sender.example, with: {{ to: \"{{{{ inputs.name }}}} <{{{{ inputs.mail }}}}>\", subject: Hi }} }}
steps:
  - {{ id: web, send: hook, of: inputs.name, with: {{ to: \"{{{{ inputs.name }}}} <{{{{ inputs.mail }}}}>\" }} }}
  - {{ id: mail, send: post, of: inputs.name }}
outputs: {{}}
"
    );
    let folder = folder_with(&[("p.yaml", &pipeline)]);
    let run = |name: &str| {
        flow(folder.path(), &["run", "p.yaml", "--trust", "--input", &format!("name={name}"), "--input", "mail=ana@example.org"])
    };
    let evil = run("eve@example.net, Ann");
    assert_eq!(evil.exit, 6, "{}", evil.err);
    assert!(evil.err.contains("entry 1 of to of the mail holds several addresses"), "{}", evil.err);
    assert_eq!(told.recv().unwrap()["to"], "eve@example.net, Ann <ana@example.org>");
    let named = run("Doe, Jane");
    assert_eq!(named.exit, 0, "{}", named.err);
    let mail = taken.join().unwrap();
    assert_eq!(mail.iter().filter(|line| line.starts_with("RCPT")).collect::<Vec<_>>(), ["RCPT TO:<ana@example.org>"]);
    // Nothing is sent where there is nothing, however it is wrapped.
    assert_eq!(run("").exit, 6);
    assert_eq!(told.try_iter().count(), 1);
}

#[test]
fn a_file_grows_by_what_is_added_also_where_runs_do_so_at_once() {
    let pipeline = "flow: 1
name: p
inputs: { text: text }
tools: { out: { file: out, allow: [write] } }
steps:
  - { id: log, send: out, of: inputs.text, with: { name: log.txt, mode: append } }
";
    let folder = folder_with(&[("p.yaml", pipeline), ("out/log.txt", "first")]);
    std::thread::scope(|scope| {
        for text in ["second", "third", "fourth"] {
            let folder = folder.path();
            scope.spawn(move || {
                let ran = flow(folder, &["run", "p.yaml", "--trust", "--input", &format!("text={text}")]);
                assert_eq!(ran.exit, 0, "{}", ran.err);
            });
        }
    });
    let text = std::fs::read_to_string(folder.path().join("out/log.txt")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.remove(0), "first");
    lines.sort_unstable();
    assert_eq!(lines, ["fourth", "second", "third"]);
}

#[test]
fn a_golden_is_the_same_with_the_line_ends_of_another_system_and_a_lone_one_counts() {
    let pipeline = "flow: 1\nname: p\ninputs: { end: { type: text, default: \"\" } }\nsteps:\n  - { id: a, send: stdout, of: \"'one\\ntwo' + inputs.end\" }\n";
    let test = "flow: 1\ntest: p.yaml\ncases:\n  - { id: c, golden: true }\n";
    let golden = "goldens/p.test/c/sent.txt";
    for (text, exit) in [
        ("one\ntwo\n", 0),
        ("one\r\ntwo\r\n", 0),
        ("\u{feff}one\ntwo\n", 0),
        ("\u{feff}one\r\ntwo\r\n", 0),
        ("one\rtwo\n", 1),
        ("one\n\ntwo\n", 1),
    ] {
        let folder = folder_with(&[("p.yaml", pipeline), ("p.test.yaml", test), (golden, text)]);
        let ran = flow(folder.path(), &["test"]);
        assert_eq!(ran.exit, exit, "{text:?}: {}{}", ran.out, ran.err);
        if exit == 0 {
            flow(folder.path(), &["test", "--update"]);
            assert_eq!(std::fs::read_to_string(folder.path().join(golden)).unwrap(), text, "what is the same is not written");
        }
    }
}

#[test]
fn cases_are_read_as_excel_writes_them() {
    let pipeline = "flow: 1\nname: p\ninputs: { text: text }\nsteps:\n  - { id: a, send: stdout, of: inputs.text }\n";
    let test = "flow: 1\ntest: p.yaml\ncases_from: { file: cases.csv }\n";
    let cases = "\u{feff}id;inputs.text;expect.sent\r\none;\"a;b\r\nc\";\"a;b\r\nc\"\r\ntwo;680841e1;680841e1\r\n;;\r\n";
    let folder = folder_with(&[("p.yaml", pipeline), ("p.test.yaml", test), ("cases.csv", cases)]);
    let ran = flow(folder.path(), &["test"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains('2') || ran.err.contains('2'), "{}{}", ran.out, ran.err);
}

#[test]
fn hidden_findings_are_in_no_sarif_unless_asked_for() {
    let commented = "flow: 1\nname: new\ndescription: Has one.\ninputs: { x: text, y: text } # flow-ignore: F210 an older client reads it\nsteps:\n  - { id: a, set: \"{{ inputs.x }}\" }\noutputs: { a: \"{{ steps.a.output }}\" }\n";
    let set = "flow: 1\nname: old\ndescription: Has one.\nsteps:\n  - { id: a, set: x }\n  - { id: c, set: x }\n  - { id: d, set: x }\noutputs: { a: \"{{ steps.a.output }}\" }\n";
    let folder = folder_with(&[
        ("new.yaml", commented),
        ("old.yaml", set),
        ("flow.toml", "[lint.paths.\"old.yaml\"]\nignore = [\"F105\", \"F703\"]\n[lint.paths.\"new.yaml\"]\nignore = [\"F703\"]\n"),
    ]);
    let sarif = |more: &[&str]| -> Vec<Value> {
        let ran = flow(folder.path(), &[&["validate", "--format", "sarif"], more].concat());
        let log: Value = serde_json::from_str(&ran.out).unwrap();
        log["runs"][0]["results"].as_array().unwrap().clone()
    };
    assert_eq!(sarif(&[]), [Value::Null; 0]);
    let kinds = |results: Vec<Value>| -> Vec<String> {
        let mut kinds: Vec<String> = results.iter().map(|one| format!("{} {}", one["ruleId"], one["suppressions"][0]["kind"])).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    };
    let all = kinds(sarif(&["--suppressed"]));
    assert!(all.contains(&"\"F210\" \"inSource\"".to_owned()) && all.contains(&"\"F105\" \"external\"".to_owned()), "{all:?}");
    let other = flow(folder.path(), &["validate", "--format", "gitlab", "--suppressed"]);
    assert!(!other.out.contains("F210"), "{}", other.out);
}

#[test]
fn a_first_project_keeps_its_line_ends() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(flow(folder.path(), &["init", "shop"]).exit, 0);
    let attributes = std::fs::read_to_string(folder.path().join("shop/.gitattributes")).unwrap();
    assert!(attributes.contains("* text=auto eol=lf"), "{attributes}");
}
