//! Canaries of secrets and of personal values, and characters that a terminal obeys: looked for in all that the program prints and writes.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};

const SECRET: &str = "tok/81Q+Zw47xKd9";
/// A name, an address and a number, which nobody has.
const NAME: &str = "Quendolin Brackwater";
const MAIL: &str = "quendolin.brackwater@example.com";
const PHONE: &str = "+49 151 23456789";

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The forms in which a text must not be met, each without what depends on its neighbours.
pub(crate) fn forms(text: &str) -> Vec<String> {
    let (base64, hex) = (base64(text), hex(text));
    let percent = text.replace('/', "%2F").replace('+', "%2B").replace('@', "%40").replace(' ', "%20");
    let shifted = self::base64(&format!("x{text}"));
    vec![text.to_owned(), base64[..base64.len() - 4].to_owned(), shifted[2..shifted.len() - 4].to_owned(), hex.to_uppercase(), hex, percent]
}

#[track_caller]
fn holds_none_of(text: &str, canaries: &[&str], what: &str) {
    for canary in canaries {
        for form in forms(canary) {
            assert!(!text.contains(&form), "{what} holds {form}:\n{text}");
        }
    }
}

/// Everything that is in a folder, but for the files that a test itself has written.
fn written(folder: &Path, own: &[&str]) -> Vec<(String, String)> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(written(&path, &[]));
        } else if !own.contains(&name.as_str()) {
            found.push((name, String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()));
        }
    }
    found
}

/// An endpoint that answers each request with all of its head, in its body and in a header.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut piece) = (stream.unwrap(), [0; 8192]);
            let read = stream.read(&mut piece).unwrap();
            let head = String::from_utf8_lossy(&piece[..read]).into_owned();
            let token = head.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap_or_default().to_owned();
            let body =
                json!({ "all": head, &token: [base64(&format!("user:{token}")), hex(&token)], "session": "sess-4711-kept" }).to_string();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-echo: {token}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

fn place(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    folder
}

#[test]
fn a_secret_that_comes_back_stands_nowhere() {
    let url = echo();
    let program = std::env::current_exe().unwrap();
    let pipeline = format!(
        "flow: 1
name: echoes
description: Everything gives the secret back.
inputs: {{ said: text, many: {{ type: object, required: false }} }}
secrets: {{ APP_TOKEN: Token of the app. }}
data: {{ rows: {{ file: rows.csv }} }}
models: {{ default: {{ provider: scripted, replies: replies.yaml }} }}
agents: {{ writer: {{ instructions: You write. }} }}
tools:
  notes: {{ file: notes, allow: [write, list, read] }}
  echo:
    command: {}
    args: [--exact, mcp_servers::acts_as_a_server, --nocapture, --test-threads=1, --quiet]
    env: {{ STAND_IN: \"{{{{ secrets.APP_TOKEN }}}}\" }}
    with: {{ text: \"{{{{ secrets.APP_TOKEN }}}}\" }}
    allow: [echo]
    approve: true
    connect_timeout: 25s
steps:
  - {{ id: page, http: GET {url}/a, headers: {{ authorization: \"{{{{ secrets.APP_TOKEN }}}}\" }}, timeout: 9s }}
  - {{ id: rows, sql: select * from rows }}
  - {{ id: file, read: kept.txt }}
  - {{ id: asked, agent: writer, prompt: \"Sum up {{{{ steps.page.output.body }}}} {{{{ inputs.said }}}} {{{{ steps.rows.output }}}}\" }}
  - {{ id: tool, tool: echo.echo, needs: [asked] }}
  - {{ id: keep, send: notes, of: \"steps.asked.output ~ steps.tool.output\", with: {{ name: kept.txt }} }}
  - {{ id: out, send: stdout, of: \"steps.asked.output ~ steps.file.output.text\", needs: [keep] }}
outputs: {{ page: \"{{{{ steps.page.output }}}}\", rows: \"{{{{ steps.rows.output }}}}\", tool: \"{{{{ steps.tool.output }}}}\", said: \"{{{{ inputs }}}}\" }}
",
        program.display()
    );
    let own = ["p.yaml", "rows.csv", "kept.txt", "replies.yaml", "inputs.json", "config.toml", "flow.toml", "starts"];
    let inputs = json!({ "said": format!("it is {SECRET}"), "many": { SECRET: [base64(SECRET)] } }).to_string();
    let folder = place(&[
        ("p.yaml", &pipeline),
        ("rows.csv", &format!("name,{SECRET}\nAna,{}\n", base64(SECRET))),
        ("kept.txt", &format!("token {SECRET} and {}", hex(SECRET))),
        ("replies.yaml", &format!("flow: 1\nreplies:\n  asked: 'The token is {SECRET} ({}).'\n", base64(SECRET))),
        ("inputs.json", &inputs),
        ("config.toml", "private_hosts = [\"127.0.0.1\"]\n"),
    ]);
    let told = |arguments: &[&str]| {
        let mut command = command(folder.path(), arguments);
        let ran = ran(command.env("APP_TOKEN", SECRET).env("FLOW_CONFIG", folder.path().join("config.toml")));
        holds_none_of(&ran.out, &[SECRET], &format!("standard output of {arguments:?}"));
        holds_none_of(&ran.err, &[SECRET], &format!("standard error of {arguments:?}"));
        ran
    };
    let run = told(&["run", "p.yaml", "--inputs", "inputs.json", "--trust", "-v", "--json", "--events", "e.jsonl", "--events-content"]);
    assert_eq!(run.exit, 8, "it waits for a person: {}{}", run.out, run.err);
    let id = told(&["runs", "list"]).out.split_whitespace().next().unwrap().to_owned();
    let comment = format!("with {SECRET}, please");
    assert_eq!(told(&["approve", &id, "tool", "--comment", &comment]).exit, 0);
    let run = told(&["runs", "resume", &id, "--trust", "--output", "outputs.json", "-v"]);
    assert_eq!(run.exit, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("The token is ***"), "{}", run.out);
    let kept = std::fs::read_to_string(folder.path().join("notes/kept.txt")).unwrap();
    assert!(kept.contains("You said: ") && kept.contains("***"), "{kept}");
    let outputs: Value = serde_json::from_slice(&std::fs::read(folder.path().join("outputs.json")).unwrap()).unwrap();
    assert_eq!(outputs["page"]["body"]["session"], "sess-4711-kept", "what is no known secret can be used");
    assert!(outputs["rows"][0]["***"].as_str().unwrap().starts_with("***"), "{outputs}");
    for arguments in [
        &["runs", "show", "--json"][..],
        &["runs", "show"],
        &["runs", "export"],
        &["graph", "--run", &id, "--json"],
        &["explain", "p.yaml"],
        &["plan", "p.yaml", "--inputs", "inputs.json"],
        &["doctor", "--trust"],
        &["tools", "pin", "--trust"],
        &["run", "p.yaml", "--inputs", "inputs.json", "--trust", "--record", "tape", "-q"],
    ] {
        told(arguments);
    }
    for (name, text) in written(folder.path(), &own) {
        holds_none_of(&text, &[SECRET], &name);
    }
}

#[test]
fn a_secret_that_cannot_be_recognised_is_told_and_damages_nothing() {
    let text = "flow: 1\nname: p\ndescription: Tests.\nsecrets: { APP_TOKEN: Token of the app. }\ntools: { t: { http: GET https://a.example, headers: { authorization: \"{{ secrets.APP_TOKEN }}\" } } }\nsteps: [{ id: a, set: this is a test }]\noutputs: { a: \"{{ steps.a.output }}\" }\n";
    let folder = place(&[("p.yaml", text)]);
    let with = |token: &str, arguments: &[&str]| {
        ran(command(folder.path(), &[&["run", "p.yaml", "--trust"], arguments].concat()).env("APP_TOKEN", token))
    };
    let told =
        "APP_TOKEN is too short or a plain word, so it cannot be hidden where it comes back; use 8 or more characters with digits or signs";
    for token in ["test", "password"] {
        let run = with(token, &[]);
        assert_eq!((run.exit, run.out.as_str()), (0, "this is a test\n"), "{}", run.err);
        assert!(run.err.contains(told), "{}", run.err);
        assert!(!with(token, &["-q"]).err.contains(told));
        let also = |arguments: &[&str]| ran(command(folder.path(), arguments).env("APP_TOKEN", token));
        let doctor = also(&["doctor", "p.yaml"]);
        assert!(doctor.out.contains(&format!("secret {told}")), "{}{}", doctor.out, doctor.err);
        let served = also(&["mcp", "p.yaml", "--trust"]);
        assert!(served.err.contains(told), "{}{}", served.out, served.err);
    }
    assert!(!with(SECRET, &[]).err.contains(told));
}

const PERSONAL: &str = "flow: 1
name: calls
description: It fails with what is personal.
inputs:
  name: { type: text, pii: true }
  mail: { type: text, pii: true }
  phone: { type: text, pii: true }
steps:
  - { id: who, set: \"{{ inputs.name }} {{ inputs.mail }} {{ inputs.phone }}\" }
  - { id: push, stop: failed, reason: \"No {{ steps.who.output }} REASON\" }
";

#[test]
fn no_line_of_a_log_is_personal() {
    let percent = PHONE.replace('+', "%2B").replace(' ', "%20");
    for reason in ["", &base64(&format!("to {NAME}.")), &hex(MAIL), &percent] {
        let folder = place(&[("p.yaml", &PERSONAL.replace("REASON", reason))]);
        let inputs = json!({ "name": NAME, "mail": MAIL, "phone": PHONE }).to_string();
        std::fs::write(folder.path().join("inputs.json"), inputs).unwrap();
        let told = |arguments: &[&str]| {
            let ran = flow(folder.path(), arguments);
            holds_none_of(&ran.err, &[NAME, MAIL, PHONE, "Brackwater"], &format!("standard error of {arguments:?}"));
            ran
        };
        for more in [&[][..], &["-q"], &["-v"], &["--no-progress"], &["--json"], &["--events", "e.jsonl", "--events-content"]] {
            let run = told(&[&["run", "p.yaml", "--inputs", "inputs.json"], more].concat());
            assert_eq!(run.exit, 6, "{}", run.err);
            assert!(run.err.contains("failed at \"push\": No <PERSON_1> <EMAIL_1> <PHONE_1>"), "{}", run.err);
            holds_none_of(&run.out, &[NAME, MAIL, PHONE], &format!("{more:?}"));
        }
        let events = std::fs::read_to_string(folder.path().join("e.jsonl")).unwrap();
        holds_none_of(&events, &[NAME, MAIL, PHONE], "--events");
        let id = told(&["runs", "list"]).out.split_whitespace().next().unwrap().to_owned();
        for arguments in [
            &["runs", "list"][..],
            &["runs", "list", "--json"],
            &["runs", "show"],
            &["runs", "show", "--json"],
            &["runs", "export"],
            &["runs", "resume", &id],
            &["graph", "--run", &id],
            &["graph", "--run", &id, "--json"],
            &["explain", "p.yaml"],
            &["doctor"],
            &["approve", &id, "push"],
        ] {
            let ran = told(arguments);
            holds_none_of(&ran.out, &[NAME, MAIL, PHONE], &format!("{arguments:?}"));
        }
        let mut client = crate::mcp_server::start(folder.path(), &["p.yaml"]);
        let answer = client.call("calls", json!({ "name": NAME, "mail": MAIL, "phone": PHONE }));
        holds_none_of(&answer.to_string(), &[NAME, MAIL, PHONE], "the answer to an MCP client");
        assert!(answer.to_string().contains("<EMAIL_1>"), "{answer}");
        holds_none_of(&client.end().2, &[NAME, MAIL, PHONE], "flow mcp");
    }
}

/// Characters that a terminal obeys, or that turn a text around.
const OBEYED: &str = "\u{1b}[31mA\u{1b}]52;c;eA==\u{7}\u{9b}2J\u{9d}x\r\u{7f}\u{8}\u{202e}b\u{2066}\u{e0041}\u{feff}";

#[track_caller]
fn shows_all(text: &str, what: &str) {
    let is_obeyed = |c: char| c != '\n' && c != '\t' && flow::diagnostic::is_invisible(c);
    assert!(!text.contains(is_obeyed), "{what}: {text:?}");
}

#[test]
fn nothing_that_is_printed_is_obeyed_by_a_terminal() {
    let text = "flow: 1\nname: p\ndescription: Shows.\ninputs: { a: text, n: { type: integer, required: false } }\nsteps:\n  - { id: b, set: \"{{ inputs.a }}\" }\n  - { id: halt, stop: failed, reason: \"{{ steps.b.output }}\", when: inputs.n == 1, needs: [b] }\noutputs: { b: \"{{ steps.b.output }}\" }\n";
    let folder = place(&[
        ("p.yaml", text),
        ("bad.yaml", &format!("flow: 1\nname: \"x{}\"\n", OBEYED.replace(['\r', '\u{7f}', '\u{1b}', '\u{7}', '\u{8}'], ""))),
    ]);
    std::fs::write(folder.path().join("inputs.json"), json!({ "a": OBEYED }).to_string()).unwrap();
    std::fs::write(folder.path().join("failing.json"), json!({ "a": OBEYED, "n": 1 }).to_string()).unwrap();
    let shown = |arguments: &[&str]| -> Ran {
        let ran = flow(folder.path(), arguments);
        shows_all(&ran.err, &format!("standard error of {arguments:?}"));
        ran
    };
    let run = shown(&["run", "p.yaml", "--inputs", "inputs.json"]);
    assert_eq!(run.out, format!("{OBEYED}\n"), "{}: a pipe gets the bytes of the result", run.err);
    let name = format!("{OBEYED}=1");
    let file = format!("{OBEYED}.yaml");
    for arguments in [
        &["run", "p.yaml", "--inputs", "inputs.json", "--json"][..],
        &["run", "p.yaml", "--inputs", "inputs.json", "--events", "-", "--events-content"],
        &["run", "p.yaml", "--inputs", "failing.json", "--json"],
        &["run", "p.yaml", "--inputs", "failing.json", "-q"],
        &["runs", "show"],
        &["runs", "show", "--json"],
        &["runs", "export"],
        &["runs", "list", "--json"],
        &["plan", "p.yaml", "--inputs", "inputs.json"],
        &["plan", "p.yaml", "--inputs", "inputs.json", "--json"],
        &["run", "p.yaml", "--input", &name],
        &["run", "p.yaml", "--input", OBEYED],
        &["run", "p.yaml", "--now", OBEYED],
        &["run", "p.yaml", "--channel", OBEYED],
        &["run", &file],
        &["run", "p.yaml", "--inputs", &file],
        &["run", "p.yaml", &format!("--{OBEYED}")],
        &["run", "p.yaml", OBEYED],
        &[OBEYED],
        &["--project", OBEYED, "run", "p.yaml"],
        &["--env-file", OBEYED, "run", "p.yaml"],
        &["explain", OBEYED],
        &["validate", "bad.yaml"],
        &["validate", "bad.yaml", "--json"],
        &["validate", OBEYED],
        &["test", OBEYED],
        &["runs", "show", OBEYED],
        &["approve", OBEYED, OBEYED],
        &["trust", OBEYED],
        &["graph", "--run", OBEYED],
        &["doctor", "--config"],
    ] {
        let ran = shown(arguments);
        shows_all(&ran.out, &format!("standard output of {arguments:?}"));
        if arguments.contains(&"--json") && ran.exit != 2 {
            let _: Value = serde_json::from_str(&ran.out).unwrap();
        }
    }
}

/// An endpoint that says `ok`, and all that it was sent.
fn listener() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(String::new()));
    let hears = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut all, mut piece) = (stream.unwrap(), String::new(), [0; 8192]);
            let is_whole = |text: &str| {
                let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
                let length = head.to_ascii_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                body.len() >= length.unwrap_or(0)
            };
            while !is_whole(&all) {
                let read = stream.read(&mut piece).unwrap();
                all.push_str(&String::from_utf8_lossy(&piece[..read]));
            }
            hears.lock().unwrap().push_str(&all);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
        }
    });
    (url, heard)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn a_secret_that_flow_itself_puts_together_stands_nowhere_and_goes_nowhere_but_where_its_author_sends_it() {
    let ((own, at_own), (other, at_other)) = (listener(), listener());
    let pipeline = format!(
        "flow: 1
name: halves
description: What came in pieces is put together.
inputs: {{ left: text, right: text }}
channels: [short, wide]
secrets: {{ APP_TOKEN: Token of the app. }}
models: {{ default: {{ provider: scripted, replies: replies.yaml }} }}
agents: {{ writer: {{ instructions: You write. }} }}
tools:
  own: {{ http: 'POST {own}/own', headers: {{ authorization: 'Bearer {{{{ secrets.APP_TOKEN }}}}' }}, with: {{ key: '{{{{ secrets.APP_TOKEN }}}}' }}, body: {{ key: '{{{{ with.key }}}}', text: '{{{{ with.text }}}}' }} }}
  other: {{ http: 'POST {other}/other', body: {{ text: '{{{{ with.text }}}}' }} }}
  notes: {{ file: notes, allow: [write] }}
steps:
  - {{ id: asked, agent: writer, prompt: 'Say {{{{ inputs.left ~ inputs.right }}}}' }}
  - {{ id: cut, format: '{{{{ steps.asked.output }}}}', channel: short }}
  - {{ id: wide, format: '{{{{ steps.asked.output }}}}', channel: wide }}
  - {{ id: joined, set: '{{{{ steps.asked.output | replace(\"~\", \"\") }}}} {{{{ inputs.left ~ inputs.right }}}}' }}
  - {{ id: sent, send: other, of: steps.wide.output }}
  - {{ id: parts, send: other, of: steps.cut.output }}
  - {{ id: direct, http: 'POST {other}/direct', headers: {{ x-said: '{{{{ inputs.left ~ inputs.right }}}}' }}, query: {{ q: '{{{{ inputs.left ~ inputs.right }}}}' }}, body: {{ text: '{{{{ inputs.left ~ inputs.right }}}}' }} }}
  - {{ id: to_own, tool: own, with: {{ text: '{{{{ inputs.left ~ inputs.right }}}}' }} }}
  - {{ id: kept, send: notes, of: 'inputs.left ~ inputs.right', with: {{ name: kept.txt }} }}
  - {{ id: out, send: stdout, of: steps.cut.output }}
outputs: {{ joined: '{{{{ steps.joined.output }}}}', wide: '{{{{ steps.wide.output }}}}', cut: '{{{{ steps.cut.output }}}}', last: '{{{{ inputs.left ~ inputs.right }}}}' }}
"
    );
    let (left, right) = SECRET.split_at(9);
    let broken = [
        format!("{left}<wbr>{right}"),
        format!("<b>{left}</b>{right}"),
        format!("{left}<!-- a -->{right}"),
        format!("{left}**{right}**"),
        format!("{left}\u{ad}{right}"),
        format!("{left}<b>\u{200b}</b>{right}"),
        format!("[{left}](https://a.example){right}"),
        format!("{left}~{right}"),
    ];
    let own_files = ["p.yaml", "replies.yaml", "config.toml", "flow.toml", "short.yaml", "wide.yaml"];
    let folder = place(&[
        ("p.yaml", &pipeline),
        (
            "replies.yaml",
            &format!(
                "flow: 1\nreplies:\n  asked: {}\n",
                json!(broken.join("\n\n")).to_string().replace('\u{200b}', "\\u200b").replace('\u{ad}', "\\u00ad")
            ),
        ),
        ("config.toml", "private_hosts = [\"127.0.0.1\"]\n"),
    ]);
    std::fs::create_dir(folder.path().join("channels")).unwrap();
    for (name, rest) in [("short", "max_length: 24\nsplit: { at: sentence, most_parts: 60 }\n"), ("wide", "")] {
        let text = format!("flow: 1\nchannel: {name}\ndescription: Tests.\nmarkdown: none\nemojis: false\nbody: text\n{rest}");
        std::fs::write(folder.path().join(format!("channels/{name}.yaml")), text).unwrap();
    }
    let told = |arguments: &[&str]| {
        let mut command = command(folder.path(), arguments);
        let ran = ran(command.env("APP_TOKEN", SECRET).env("FLOW_CONFIG", folder.path().join("config.toml")));
        holds_none_of(&ran.out, &[SECRET], &format!("standard output of {arguments:?}"));
        holds_none_of(&ran.err, &[SECRET], &format!("standard error of {arguments:?}"));
        ran
    };
    let (left, right) = (format!("left={left}"), format!("right={right}"));
    let run = told(&[
        "run", "p.yaml", "--input", &left, "--input", &right, "--trust", "--output", "outputs.json", "--events", "e.jsonl",
        "--events-content",
    ]);
    assert_eq!(run.exit, 0, "{}{}", run.out, run.err);
    let outputs: Value = serde_json::from_slice(&std::fs::read(folder.path().join("outputs.json")).unwrap()).unwrap();
    assert_eq!(outputs["last"], "***");
    // What the door masked already is alone as `***`, which Markdown reads as a rule.
    assert!(outputs["wide"]["text"].as_str().unwrap().matches("***").count() >= 5, "{outputs}");
    let parts: String = outputs["cut"]["parts"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect();
    holds_none_of(&parts, &[SECRET], "the parts, one behind the other");
    told(&["runs", "export"]);
    told(&["runs", "show", "--json"]);
    for (name, text) in written(folder.path(), &own_files) {
        holds_none_of(&text, &[SECRET], &name);
    }
    let at_other = at_other.lock().unwrap();
    assert!(at_other.contains("POST /direct?q=") && at_other.contains("***"), "{at_other}");
    holds_none_of(&at_other, &[SECRET], "what another host was sent");
    let at_own = at_own.lock().unwrap();
    assert!(at_own.contains(&format!("Bearer {SECRET}")) && at_own.contains(&format!("\"key\":\"{SECRET}\"")), "{at_own}");
}

#[test]
fn no_finding_shows_a_key_in_any_format() {
    const KEY: &str = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z";
    let model =
        |key: &str| format!("models: {{ default: {{ provider: openai, model: m, api_key: {key} }} }}\nsteps: [{{ id: a, set: x }}]\n");
    let step = |what: &str| format!("inputs: {{ q: text }}\nsteps:\n  - {{ id: a, {what} }}\n");
    let files = [
        model(KEY),
        model(&format!("sk-proj-{KEY}")),
        model(&format!("\"{{{{ secrets.sk-proj-{KEY} }}}}\"")),
        model(&format!("\"{{{{ sk-proj-{KEY} }}}}\"")),
        model(&format!("\"{{{{ secrets.{KEY} }}}}\"")),
        model(&format!("\"{{{{ {KEY} }}}}\"")),
        model(&format!("\"{{{{ secrets.TOK or '{KEY}' \"")),
        model(&format!("\"{{{{ env.TOK | default('{KEY}') | bad }}}}\"")),
        model(&format!("{{ value: {KEY} }}")),
        model(&format!("\n      value: {KEY}"))
            .replace("{ default: { provider: openai, model: m, api_key: ", "\n  default:\n    provider: openai\n    api_key:")
            .replace(" } }", ""),
        model(&format!("[{KEY}]")),
        model(&format!("secrets.{KEY}")),
        model("\"Ab3dEf6hIj9kLm2nOp5qRs8tUv1\\u0077Xy4z\""),
        model("\"\\x41b3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z\""),
        step(&format!("set: x, flow_sk-proj-{KEY}: 1")),
        step(&format!("set: '{{{{ {KEY} }}}}'")),
        step(&format!("set: '{{{{ inputs.{KEY} }}}}'")),
        step(&format!("set: '{{{{ inputs.q | {KEY} }}}}'")),
        step(&format!("sql: {KEY}, with: {{ a: '{{{{ env.{KEY} }}}}' }}")).replace(&format!("sql: {KEY}"), "sql: select 1"),
        step("http: GET https://a.example, headers: { \"X-S\\u0065cret\": \"Ab3dEf6hIj9kLm2nOp5qRs8tUv1wX\\u00794z\" }"),
    ];
    let parts = [&KEY[..12], &KEY[12..24]];
    let escaped = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1\\u0077";
    for (number, text) in files.iter().enumerate() {
        let file = format!("flow: 1\nname: p\ndescription: Tests.\n{text}");
        let folder = place(&[("p.yaml", &file)]);
        let told = |arguments: &[&str]| {
            let ran = ran(&mut command(folder.path(), arguments));
            let all = format!("{}{}", ran.out, ran.err);
            holds_none_of(&all, &[&[KEY, escaped][..], &parts].concat(), &format!("{arguments:?} of\n{file}\n"));
            all
        };
        let human = told(&["validate", "p.yaml"]);
        assert!(human.contains("error[") || human.contains("warning["), "{file}\n{human}");
        for format in ["json", "jsonl", "sarif", "github", "gitlab", "junit"] {
            told(&["validate", "p.yaml", "--format", format]);
        }
        // Each is slow, and they show findings by one function.
        let others = [
            &["explain"][..],
            &["graph"],
            &["plan"],
            &["run", "--trust"],
            &["trust"],
            &["mcp"],
            &["test"],
            &["fix", "--diff"],
            &["doctor"],
        ];
        for command in others.iter().skip(number % 3).step_by(3) {
            told(&[*command, &["p.yaml"]].concat());
        }
    }
    let mistyped = format!("flow: 1\nname: p\ndescription: Tests.\nsecrets: {{ TOKEN: A token. }}\n{}", model("\"{{ secrets.TOKNE }}\""));
    let folder = place(&[("p.yaml", &mistyped)]);
    let ran = ran(&mut command(folder.path(), &["validate", "p.yaml"]));
    assert!(ran.out.contains("TOKNE") && ran.out.contains("TOKEN"), "{}{}", ran.out, ran.err);
}

#[test]
fn the_address_of_a_hook_that_is_a_secret_shows_no_more_than_its_host() {
    let url = echo();
    let key = "aB3dE5fG7hI9kL1mN3oP5qR7sT";
    let path = format!("/services/T02AB3CD4/B05EF6GH7/{key}");
    let pipeline = |policy: &str| {
        format!(
            "flow: 1
name: hook
description: Posts to a hook.
secrets: {{ HOOK: The address of the hook., KEY: The key in its path. }}
tools:
  post: {{ http: \"POST {{{{ secrets.HOOK }}}}\", body: {{ text: Hi }} }}
{policy}steps:
  - {{ id: whole, http: \"POST {{{{ secrets.HOOK }}}}\", body: {{ text: Hi }}, on_failure: continue, timeout: 9s }}
  - {{ id: tail, http: \"POST {url}/bot{{{{ secrets.KEY }}}}/send\", body: {{ text: Hi }}, on_failure: continue, timeout: 9s }}
  - {{ id: tool, tool: post, on_failure: continue, timeout: 9s }}
outputs: {{ said: \"{{{{ steps.whole.output.body.all | default('no') }}}} {{{{ steps.tail.output.body.all | default('no') }}}} {{{{ steps.tool.output.all | default('no') }}}}\" }}
"
        )
    };
    let host = url.trim_start_matches("http://");
    let listed =
        |hosts: &str| format!("policies: {{ p: {{ allowed_tools: [post], network_access: {{ hosts: [\"{hosts}\"] }} }} }}\npolicy: p\n");
    let nobody = { TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string() };
    for (policy, hook, works) in [
        (String::new(), format!("{url}{path}"), true),
        (listed(host), format!("{url}{path}"), true),
        (listed("hooks.example.com:9"), format!("{url}{path}"), false),
        (String::new(), format!("http://{nobody}{path}"), false),
        (String::new(), format!("{host}{path}"), false),
        (String::new(), format!("htps://{host}{path}"), false),
        (String::new(), path.clone(), false),
    ] {
        let folder = place(&[("p.yaml", &pipeline(&policy))]);
        let set = |arguments: &[&str]| {
            let mut call = command(folder.path(), arguments);
            ran(call.env("HOOK", &hook).env("KEY", format!("12345:{key}")))
        };
        let run = set(&["run", "p.yaml", "--trust", "-v", "--events", "events.jsonl", "--events-content"]);
        let mut seen = vec![("run", format!("{}{}", run.out, run.err))];
        for arguments in [
            &["runs", "show"][..],
            &["runs", "export"],
            &["runs", "export", "--events"],
            &["audit", "export"],
            &["trust", "p.yaml"],
            &["explain", "p.yaml"],
            &["plan", "p.yaml"],
        ] {
            let said = set(arguments);
            seen.push((arguments[0], format!("{}{}", said.out, said.err)));
        }
        seen.extend(written(folder.path(), &["p.yaml", "flow.toml"]).into_iter().map(|(_, text)| ("file", text)));
        for (what, text) in &seen {
            holds_none_of(text, &[key, "T02AB3CD4", "B05EF6GH7"], what);
        }
        assert_eq!(run.out.matches("HTTP/1.1").count(), if works { 3 } else { usize::from(policy.is_empty()) }, "{hook}: {}", run.out);
        let audit = set(&["audit", "export"]).out;
        assert!(!works || policy.is_empty() || audit.contains(host), "{audit}");
    }
}

#[test]
fn the_keys_in_an_address_that_is_a_variable_are_shown_nowhere_whatever_it_is_for() {
    let (url, key) = (echo(), "aB3dE5fG7hI9kL1mN3oP5qR7sT");
    let pipeline = "flow: 1
name: places
description: Calls what variables name.
models: { default: { provider: openai, base_url: '{{ env.PLACE }}', model: m } }
agents: { one: { instructions: Answer. } }
tools:
  post: { http: 'POST {{ env.PLACE }}' }
  server: { url: '{{ env.PLACE }}', allow: [go] }
  mail: { smtp: '{{ env.MAIL }}', from: a@example.com }
steps:
  - { id: ask, agent: one, prompt: Hi., on_failure: continue, timeout: 9s }
  - { id: get, http: 'GET {{ env.PLACE }}', on_failure: continue, timeout: 9s }
  - { id: part, http: 'GET BASE/bot{{ env.KEY }}/send', on_failure: continue, timeout: 9s }
  - { id: use, tool: post, on_failure: continue, timeout: 9s }
  - { id: serve, tool: server.go, on_failure: continue, timeout: 9s }
  - { id: send, send: mail, of: \"'Hi'\", with: { to: b@example.com, subject: Hi }, on_failure: continue, timeout: 9s }
outputs: '{{ steps }}'
";
    for place in
        [format!("{url}/hooks/{key}/v1"), format!("{url}/v1?key={key}"), format!("http://ana:{key}@127.0.0.1:9/v1"), format!("htp:/{key}")]
    {
        let folder = self::place(&[("p.yaml", &pipeline.replace("BASE", &url))]);
        for arguments in [
            &["run", "p.yaml", "--trust", "-v"][..],
            &["runs", "show"],
            &["runs", "export", "--events"],
            &["audit", "export"],
            &["doctor", "p.yaml"],
        ] {
            let mut call = command(folder.path(), arguments);
            let said = ran(call.env("PLACE", &place).env("KEY", key).env("MAIL", format!("ana:{key}@127.0.0.1:9")));
            holds_none_of(&format!("{}{}", said.out, said.err), &[key], arguments[0]);
        }
        written(folder.path(), &["p.yaml"]).iter().for_each(|(_, text)| holds_none_of(text, &[key], "file"));
    }
}
