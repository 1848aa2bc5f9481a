//! `flow mcp`, spoken to by a client over pipes and over HTTP, and by `flow run` itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "part of each test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};

const GREET: &str = "flow: 1
name: greet
description: Greets someone.
inputs:
  name: { type: text, min_length: 2, description: Who, example: Ana }
  times: { type: integer, default: 1 }
steps:
  - { id: make, set: \"Hello {{ inputs.name }}\" }
  - { id: shout, set: \"{{ steps.make.output }}!\" }
outputs: { text: \"{{ steps.shout.output }}\", times: \"{{ inputs.times }}\" }
";
const PRINT: &str = "flow: 1
name: print
description: Prints its word.
inputs: { word: text }
steps: [{ id: out, send: stdout, of: inputs.word }]
outputs: { word: \"{{ inputs.word }}\" }
";
const FAIL: &str = "flow: 1
name: fail
description: It cannot.
steps: [{ id: halt, stop: failed, reason: The shop is closed. }]
";
const WAIT: &str = "flow: 1
name: wait
description: It waits, and leaves its id in a file when it has ended.
tools: { notes: { file: notes, allow: [write] } }
steps: [{ id: begin, set: 1 }, { id: rest, wait: 1h, needs: [begin] }]
finally: [{ id: ended, send: notes, of: run.id, with: { name: ended.txt } }]
";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("flow.toml", "");
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    for (name, text) in [("greet.yaml", GREET), ("print.yaml", PRINT), ("fail.yaml", FAIL), ("wait.yaml", WAIT)] {
        write(name, text);
    }
    folder
}

/// A client of a server in a folder.
pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Client {
    Client::start(folder, arguments)
}

/// A client of the newest version over pipes.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Client {
    fn start(folder: &Path, arguments: &[&str]) -> Client {
        let mut command = command(folder, &[&["mcp"], arguments].concat());
        Client::of(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Of a server that runs, all its streams piped.
    pub(crate) fn of(mut child: Child) -> Client {
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Client { child, stdin, stdout }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn send(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.write(&alone(id, method, params).to_string());
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.send(1, "tools/call", json!({ "name": tool, "arguments": arguments }));
        self.next()
    }

    /// Calls `wait`; it has begun then.
    fn begin_waiting(&mut self, id: impl Into<Value>) {
        self.send(id, "tools/call", json!({ "name": "wait", "_meta": { "progressToken": "begun" } }));
        assert_eq!(self.next()["params"]["message"], "begin: done");
    }

    /// Ends the input; exit code, what was still said, and standard error.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        self.stdin = None;
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code().unwrap(), out, err)
    }
}

fn alone(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

#[test]
fn pipelines_are_tools_and_a_call_is_a_run_like_any_other() {
    let folder = folder();
    let mut client = Client::start(folder.path(), &["greet.yaml", "print.yaml"]);
    client.send("d", "server/discover", json!({}));
    assert_eq!(client.next()["result"]["supportedVersions"][0], "2026-07-28");
    client.send("l", "tools/list", json!({}));
    let list = client.next()["result"]["tools"].clone();
    assert_eq!((&list[0]["name"], &list[1]["name"]), (&json!("greet"), &json!("print")));
    assert_eq!(list[0]["inputSchema"]["required"], json!(["name"]));
    let result = client.call("greet", json!({ "name": "Ana" }))["result"].clone();
    assert_eq!(result["structuredContent"], json!({ "text": "Hello Ana!", "times": 1 }));
    assert_eq!((&result["isError"], &result["_meta"]["flow/status"]), (&json!(false), &json!("succeeded")));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    let run = result["_meta"]["flow/run_id"].as_str().unwrap().to_owned();
    let (exit, out, err) = client.end();
    assert_eq!((exit, out.as_str()), (0, ""), "{err}");
    assert_eq!(err, format!("greet: {run} succeeded\n"));
    let Ran { exit, out, .. } = flow(folder.path(), &["runs", "show", &run, "--json"]);
    assert_eq!(exit, 0);
    assert!(out.contains("Hello Ana!"), "{out}");
}

#[test]
fn an_older_client_shakes_hands_first_and_hears_of_progress() {
    let folder = folder();
    let mut client = Client::start(folder.path(), &["greet.yaml"]);
    let say = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
    client.write("{ this is no JSON");
    assert_eq!(client.next()["error"]["code"], -32700);
    client.write(&say(
        1,
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
    ));
    assert_eq!(client.next()["result"]["protocolVersion"], "2025-11-25");
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.write(&say(2, "tools/call", json!({ "name": "greet", "arguments": { "name": "Bo" }, "_meta": { "progressToken": "t" } })));
    for (count, step) in [(1, "make: done"), (2, "shout: done")] {
        let told = client.next();
        assert_eq!(told["params"], json!({ "progressToken": "t", "progress": count, "message": step }));
    }
    let result = client.next();
    assert_eq!((&result["id"], &result["result"]["structuredContent"]["text"]), (&json!(2), &json!("Hello Bo!")));
    assert_eq!(client.end().0, 0);
}

#[test]
fn wrong_arguments_are_told_in_plain_words_and_nothing_runs() {
    let folder = folder();
    let mut client = Client::start(folder.path(), &["greet.yaml", "print.yaml", "-q"]);
    for (arguments, said) in [
        (json!({}), "input \"name\" is missing, for example \"Ana\""),
        (json!({ "name": "A" }), "input \"name\": \"A\" is shorter than 2 characters"),
        (json!({ "name": "Ana", "times": "x" }), "input \"times\": \"x\" is not of type \"integer\""),
        (json!({ "name": "Ana", "tone": "x" }), "\"tone\" is not an input of this pipeline; it has: name, times"),
        (json!({ "name": "Ana", "channel": "sms" }), "\"channel\" is not an input of this pipeline; it has: name, times"),
    ] {
        let error = client.call("greet", arguments.clone())["error"].clone();
        assert_eq!((&error["code"], error["message"].as_str().unwrap()), (&json!(-32602), said), "{arguments}");
    }
    let error = client.call("grete", json!({}))["error"].clone();
    assert_eq!(error["message"], "unknown tool \"grete\"; available: greet, print; did you mean \"greet\"?");
    assert_eq!(client.end(), (0, String::new(), String::new()));
    assert_eq!(flow(folder.path(), &["runs", "list"]).exit, 4);
}

#[test]
fn what_a_run_prints_is_in_the_result_and_a_run_that_fails_says_why() {
    let folder = folder();
    let mut client = Client::start(folder.path(), &["print.yaml", "fail.yaml"]);
    let result = client.call("print", json!({ "word": "Hi\n{}" }))["result"].clone();
    assert_eq!(result["content"], json!([{ "type": "text", "text": "Hi\n{}" }]));
    assert_eq!(result["structuredContent"], json!({ "word": "Hi\n{}" }));
    let result = client.call("fail", json!({}))["result"].clone();
    let (run, text) = (result["_meta"]["flow/run_id"].as_str().unwrap(), result["content"][0]["text"].as_str().unwrap());
    assert_eq!((&result["isError"], &result["_meta"]["flow/status"]), (&json!(true), &json!("failed")));
    assert!(text.starts_with("failed") && text.contains("The shop is closed.") && text.ends_with(&format!("\nrun {run}")), "{text}");
    assert!(result.get("structuredContent").is_none(), "{result}");
}

#[test]
fn a_cancelled_call_runs_its_finally_and_has_no_answer() {
    let folder = folder();
    let mut client = Client::start(folder.path(), &["wait.yaml", "greet.yaml"]);
    client.begin_waiting("w");
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}"#);
    // Others are served meanwhile.
    assert_eq!(client.call("greet", json!({ "name": "Ana" }))["id"], 1);
    let (exit, out, err) = client.end();
    assert_eq!((exit, out.as_str()), (0, ""), "{err}");
    assert!(err.contains(" cancelled\n"), "{err}");
    assert!(std::fs::read_to_string(folder.path().join("notes/ended.txt")).unwrap().starts_with("r_"));
}

#[test]
fn the_end_of_the_input_and_a_signal_end_what_runs() {
    for by_signal in [false, true] {
        let folder = folder();
        let mut client = Client::start(folder.path(), &["wait.yaml"]);
        client.begin_waiting(1);
        let exit = if by_signal {
            let process = nix::unistd::Pid::from_raw(i32::try_from(client.child.id()).unwrap());
            nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGTERM).unwrap();
            let told = client.next();
            assert_eq!(told["params"]["message"], "rest: cancelled", "{told}");
            let mut answer = client.next();
            while answer.get("id").is_none() {
                answer = client.next();
            }
            assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(true)), "{answer}");
            143
        } else {
            0
        };
        assert_eq!(client.end().0, exit);
        assert!(std::fs::read_to_string(folder.path().join("notes/ended.txt")).unwrap().starts_with("r_"));
    }
}

#[test]
fn what_cannot_be_served_is_told_before_anything_begins() {
    let folder = folder();
    std::fs::write(folder.path().join("broken.yaml"), "flow: 1\nname: b\nsteps: [{ id: a, sett: 1 }]\n").unwrap();
    std::fs::write(folder.path().join("again.yaml"), GREET).unwrap();
    let token = "FLOW_MCP_TOKEN: write at least 22 random letters and digits, without spaces\n";
    for (arguments, variable, exit, said) in [
        (vec!["none.yaml"], "", 4, "no file found: none.yaml does not exist\n"),
        (vec!["greet.yaml", "again.yaml"], "", 2, "two pipelines are called greet; tool names must be unique\n"),
        (vec!["greet.yaml", "--http", "0"], "short", 2, token),
        (vec!["greet.yaml", "--http", "0"], "", 2, token),
    ] {
        let Ran { exit: found, err, out } =
            ran(command(folder.path(), &[&["mcp"], &arguments[..]].concat()).env("FLOW_MCP_TOKEN", variable));
        assert_eq!((found, err.as_str(), out.as_str()), (exit, said, ""), "{arguments:?}");
    }
    for address in ["0.0.0.0", "127.0.0.2", "::1"] {
        let Ran { exit, err, .. } = flow(folder.path(), &["mcp", "greet.yaml", "--http", "0", "--address", address]);
        let said = format!(
            "--address {address}: only 127.0.0.1 is served without a token; set FLOW_MCP_TOKEN to the token that clients must send\n"
        );
        assert_eq!((exit, err), (2, said));
    }
    std::fs::write(folder.path().join("vars"), "FLOW_MCP_TOKEN=0123456789012345678901234\n").unwrap();
    let Ran { exit, err, .. } = flow(folder.path(), &["mcp", "greet.yaml", "--http", "0", "--env-file", "vars"]);
    assert_eq!((exit, err.as_str()), (2, "FLOW_MCP_TOKEN is set in vars, but is read from the environment only; set it there\n"));
    let Ran { exit, err, .. } = flow(folder.path(), &["mcp", "greet.yaml", "broken.yaml"]);
    assert_eq!(exit, 1);
    assert!(err.contains("nothing was started"), "{err}");
}

/// A server over HTTP, and where it is.
fn over_http(folder: &Path, arguments: &[&str]) -> (Client, String) {
    let mut client = Client::start(folder, &[arguments, &["--http", "0"]].concat());
    let mut line = String::new();
    let mut err = BufReader::new(client.child.stderr.take().unwrap());
    err.read_line(&mut line).unwrap();
    // What else it says is not looked at, but must not fill the pipe.
    std::thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
    let address = line.trim().strip_prefix("serving at http://").and_then(|rest| rest.strip_suffix("/mcp"));
    (client, address.unwrap_or_else(|| panic!("{line}")).to_owned())
}

fn stop(mut client: Client) {
    let process = nix::unistd::Pid::from_raw(i32::try_from(client.child.id()).unwrap());
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(client.child.wait().unwrap().code(), Some(143));
}

fn post(address: &str, more: &str, message: &Value) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = message.to_string();
    let mut head =
        format!("POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !more.contains("Host:") {
        head.push_str(&format!("Host: {address}\r\n"));
    }
    if let Some(version) = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str() {
        head.push_str(&format!("MCP-Protocol-Version: {version}\r\nMcp-Method: {}\r\n", message["method"].as_str().unwrap()));
        message["params"]["name"].as_str().iter().for_each(|name| head.push_str(&format!("Mcp-Name: {name}\r\n")));
    }
    write!(stream, "{head}{more}\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn over_http_two_calls_run_at_once_and_strangers_are_refused() {
    let folder = folder();
    let (client, address) = over_http(folder.path(), &["greet.yaml"]);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let call = |name: &str| alone(1, "tools/call", json!({ "name": "greet", "arguments": { "name": name } }));
    for more in ["Host: evil.example\r\n", "Origin: http://evil.example\r\n"] {
        assert_eq!(post(&address, more, &call("Ana")).0, 403, "{more}");
    }
    std::thread::scope(|scope| {
        let calls = ["Ana", "Bo"].map(|name| {
            let (address, message) = (&address, call(name));
            (name, scope.spawn(move || post(address, "", &message)))
        });
        for (name, call) in calls {
            let (status, body) = call.join().unwrap();
            let answer: Value = serde_json::from_str(&body).unwrap();
            assert_eq!((status, &answer["result"]["structuredContent"]["text"]), (200, &json!(format!("Hello {name}!"))), "{body}");
        }
    });
    stop(client);
    assert_eq!(flow(folder.path(), &["runs", "list", "--json"]).out.matches("\"status\": \"succeeded\"").count(), 2);
}

/// A pipeline that uses another one through a server.
fn caller(tool: &str) -> String {
    format!(
        "flow: 1\nname: caller\ndescription: Asks a server.\ntools: {{ greeter: {{ {tool}, allow: [greet] }} }}\nsteps:\n  - {{ id: ask, tool: greeter.greet, with: {{ name: Ana }} }}\n  - {{ id: wrong, tool: greeter.greet, with: {{ name: A }}, on_failure: continue }}\noutputs: {{ text: \"{{{{ steps.ask.output.text }}}}\" }}\n"
    )
}

#[test]
fn flow_calls_a_pipeline_of_flow_over_pipes_and_over_http() {
    let served = folder();
    let file = served.path().join("greet.yaml");
    let file = file.to_str().unwrap();
    let (client, address) = over_http(served.path(), &["greet.yaml"]);
    let tools = [format!("command: '{}', args: [mcp, '{file}', -q]", env!("CARGO_BIN_EXE_flow")), format!("url: 'http://{address}/mcp'")];
    for tool in tools {
        let asking = tempfile::tempdir().unwrap();
        std::fs::write(asking.path().join("flow.toml"), "").unwrap();
        std::fs::write(asking.path().join("caller.yaml"), caller(&tool)).unwrap();
        let Ran { exit, out, err } = flow(asking.path(), &["run", "caller.yaml", "--trust"]);
        assert_eq!((exit, out.as_str()), (0, "Hello Ana!\n"), "{tool} {err}");
        assert!(err.contains("wrong: failed (bad_request)") && err.contains("\"A\" is shorter than 2 characters"), "{err}");
    }
    stop(client);
    assert_eq!(flow(served.path(), &["runs", "list", "--json"]).out.matches("\"status\": \"succeeded\"").count(), 2);
}
