//! `flow lsp`, spoken to over pipes by a client that is not ours.

#![expect(clippy::unwrap_used, clippy::panic, reason = "part of each test")]

use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use gen_lsp_types as types;
use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};

/// An editor with a server.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    ids: i32,
    /// What the server said of its own accord.
    told: Vec<Notification>,
}

impl Client {
    fn start(folder: &Path) -> Client {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("flow"))
            .arg("lsp")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Client { child, stdin, stdout, ids: 0, told: vec![] }
    }

    fn send(&mut self, message: Message) {
        message.write(self.stdin.as_mut().unwrap()).unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(Message::Notification(Notification { method: method.to_owned(), params }));
    }

    fn next(&mut self) -> Message {
        Message::read(&mut self.stdout).unwrap().unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.ids += 1;
        self.send(Message::Request(Request { id: self.ids.into(), method: method.to_owned(), params }));
        loop {
            match self.next() {
                Message::Response(response) => {
                    assert_eq!(response.id, self.ids.into());
                    return response.response_result.unwrap();
                }
                Message::Notification(told) => self.told.push(told),
                Message::Request(request) => panic!("{request:?}"),
            }
        }
    }

    /// Waits for the findings of a version of a file.
    fn findings(&mut self, uri: &str, version: i32) -> Vec<types::Diagnostic> {
        loop {
            while let Some(told) = self.told.pop() {
                let params: types::PublishDiagnosticsParams = serde_json::from_value(told.params).unwrap();
                if params.uri.as_str() == uri && params.version == Some(version) {
                    return params.diagnostics;
                }
            }
            match self.next() {
                Message::Notification(told) => self.told.push(told),
                other => panic!("{other:?}"),
            }
        }
    }

    fn initialize(&mut self, root: &str) -> types::InitializeResult {
        let params: types::InitializeParams =
            serde_json::from_value(json!({ "processId": null, "rootUri": root, "capabilities": {} })).unwrap();
        let answer = self.ask("initialize", serde_json::to_value(params).unwrap());
        self.tell("initialized", json!({}));
        serde_json::from_value(answer).unwrap()
    }

    fn end(mut self) -> ExitStatus {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        self.child.wait().unwrap()
    }
}

const PIPELINE: &str = "flow: 1
name: hours
inputs: { message: text }
agents:
  writer: { instructions: You write. }
steps:
  - id: draft
    agent: writer
    promt: \"Answer {{ inputs.message }}\"
outputs: { reply: \"{{ steps.draft.output }}\" }
";

#[test]
fn an_editor_is_served_from_its_first_message_to_its_last() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let uri: String = url::Url::from_file_path(root.join("hours.yaml")).unwrap().into();
    let root: String = url::Url::from_file_path(&root).unwrap().into();
    let mut client = Client::start(folder.path());
    let capabilities = client.initialize(&root).capabilities;
    assert_eq!(capabilities.position_encoding, Some(types::PositionEncodingKind::UTF16));

    let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": PIPELINE });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let found = client.findings(&uri, 1);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(finding.code, Some("F002".into()));
    assert_eq!(finding.severity, Some(types::DiagnosticSeverity::Error));
    assert_eq!((finding.range.start.line, finding.range.start.character), (8, 4));

    let about = json!({ "textDocument": { "uri": uri }, "range": finding.range, "context": { "diagnostics": found } });
    let actions: Vec<types::CodeAction> = serde_json::from_value(client.ask("textDocument/codeAction", about)).unwrap();
    let edits = actions[0].edit.as_ref().unwrap().changes.as_ref().unwrap();
    let edit = &edits[&types::Uri::parse(&uri).unwrap()][0];
    assert_eq!(edit.new_text, "prompt");
    let change = json!({ "range": edit.range, "text": edit.new_text });
    client.tell("textDocument/didChange", json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [change] }));
    assert_eq!(client.findings(&uri, 2), []);

    let at = |line: u32, character: u32| json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
    let items: Vec<types::CompletionItem> = serde_json::from_value(client.ask("textDocument/completion", at(7, 13))).unwrap();
    assert!(items.iter().any(|item| item.label == "writer" && item.text_edit.is_some()));
    let hover: types::Hover = serde_json::from_value(client.ask("textDocument/hover", at(7, 13))).unwrap();
    assert!(format!("{hover:?}").contains("You write."));
    let goal: types::Location = serde_json::from_value(client.ask("textDocument/definition", at(7, 13))).unwrap();
    assert_eq!((goal.range.start.line, goal.range.start.character), (4, 2));
    assert!(client.end().success());
}

#[test]
fn garbage_is_answered_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::start(folder.path());
    for garbage in ["hello\n", "Content-Length: 7\r\n\r\nnot yes", "Content-Length: 99999999999999999999\r\n\r\n", "\u{0}\u{1}\u{2}\n"] {
        client.stdin.as_mut().unwrap().write_all(garbage.as_bytes()).unwrap();
        // An answer to nobody; this client knows no such answers, so it is read as plain data.
        let mut frame = vec![];
        let mut length = 0;
        loop {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut client.stdout, &mut line).unwrap();
            match line.trim().strip_prefix("Content-Length: ") {
                Some(bytes) => length = bytes.parse().unwrap(),
                None => break,
            }
        }
        frame.resize(length, 0);
        std::io::Read::read_exact(&mut client.stdout, &mut frame).unwrap();
        let answer: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(answer["error"]["code"], -32700, "{garbage:?}");
    }
    client.initialize("file:///");
    assert!(client.end().success());
}

#[test]
fn the_server_ends_with_the_editor() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::start(folder.path());
    client.stdin = None;
    assert_eq!(client.child.wait().unwrap().code(), Some(0), "nobody has spoken");
    let mut client = Client::start(folder.path());
    client.initialize("file:///");
    client.tell("exit", Value::Null);
    assert_eq!(client.child.wait().unwrap().code(), Some(1), "exit without shutdown");
}

#[test]
fn no_finding_in_an_editor_shows_a_key() {
    const KEY: &str = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z";
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let uri: String = url::Url::from_file_path(root.join("p.yaml")).unwrap().into();
    let mut client = Client::start(folder.path());
    client.initialize(&String::from(url::Url::from_file_path(&root).unwrap()));
    let written =
        [KEY.to_owned(), format!("\"{{{{ secrets.sk-proj-{KEY} }}}}\""), format!("\"{{{{ {KEY} }}}}\""), format!("{{ value: {KEY} }}")];
    for (version, key) in (1..).zip(written) {
        let text = format!(
            "flow: 1\nname: p\nmodels:\n  default: {{ provider: openai, model: m, api_key: {key} }}\nsteps: [{{ id: a, set: x }}]\n"
        );
        if version == 1 {
            let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
            client.tell("textDocument/didOpen", json!({ "textDocument": document }));
        } else {
            let document = json!({ "uri": uri, "version": version });
            client.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [{ "text": text }] }));
        }
        let found = client.findings(&uri, version);
        let told = serde_json::to_string(&found).unwrap();
        assert!(!found.is_empty() && !told.contains(&KEY[..12]) && !told.contains(&KEY[12..24]), "{key}: {told}");
    }
    assert!(client.end().success());
}
