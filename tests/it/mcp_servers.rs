//! MCP servers through the program: this test program itself is the server when a variable is set.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::mcp_server::Client;
use crate::program::{command, until};
use crate::terminal::at;

/// How long anything may take before the test gives up.
const LONG: Duration = Duration::from_secs(30);

/// A picture of one pixel.
pub(crate) const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Not a test of its own: with the variable set, this is the server.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch, not a setting of flow")]
#[expect(clippy::zombie_processes, reason = "what is left behind is what the test is about")]
fn acts_as_a_server() {
    let Ok(about) = std::env::var("STAND_IN") else { return };
    let mut starts = std::fs::OpenOptions::new().create(true).append(true).open("starts").unwrap();
    writeln!(starts, "{}", std::process::id()).unwrap();
    if let Ok(meets) = std::env::var("MEETS") {
        let (own, other) = meets.split_once(' ').unwrap();
        std::fs::write(own, "").unwrap();
        until("the other server", || Path::new(other).exists());
    }
    println!();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let result = match message["method"].as_str() {
            Some("server/discover") => {
                let gives = json!({ "tools": {}, "resources": {} });
                let instructions = about.split_once("Says: ").map(|(_, says)| says);
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": gives, "instructions": instructions })
            }
            Some("resources/list") => json!({ "resources": [{ "uri": "notes:///plan.md", "name": "plan" }] }),
            Some("resources/templates/list") => json!({ "resourceTemplates": [{ "uriTemplate": "notes:///{name}", "name": "note" }] }),
            Some("resources/read") => match message["params"]["uri"].as_str().unwrap() {
                "notes:///dot.png" => json!({ "contents": [{ "uri": "", "mimeType": "image/png", "blob": DOT }] }),
                "notes:///x.bin" => json!({ "contents": [{ "uri": "", "mimeType": "application/x-thing", "blob": "AAEC//79" }] }),
                "notes:///gone.md" => {
                    let error = json!({ "code": -32002, "message": "There is no such note." });
                    println!("{}", json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
                    continue;
                }
                uri => json!({ "contents": [{ "uri": uri, "text": format!("Plan of {uri}:\u{202e} {about}") }] }),
            },
            Some("tools/list") => {
                let input = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
                let shout = json!({ "name": "shout", "inputSchema": input });
                let mut tools = vec![json!({ "name": "echo", "description": about, "inputSchema": input }), shout];
                tools.extend(about.contains("has more").then(|| json!({ "name": "echo_all", "inputSchema": input })));
                if about == "Odd." {
                    let strict = json!({ "type": "object", "properties": { "text": { "type": "string", "pattern": "^(?=.*h)" } } });
                    let odd = [("get page title", input), ("tab\tname", json!({})), ("no object", json!([])), ("strict", strict)];
                    tools.extend(odd.map(|(name, schema)| json!({ "name": name, "inputSchema": schema })));
                    tools.push(json!({ "name": "x".repeat(130) }));
                }
                json!({ "tools": tools })
            }
            Some("tools/call") if message["params"]["arguments"]["text"] == "wait" => {
                let child = Command::new("/bin/sh").args(["-c", "trap '' TERM; sleep 300"]).spawn().unwrap();
                std::fs::write("pids", format!("{} {}", std::process::id(), child.id())).unwrap();
                std::thread::sleep(LONG * 2);
                Value::Null
            }
            Some("tools/call") if message["params"]["arguments"]["text"] == "picture" => {
                json!({ "content": [{ "type": "image", "mimeType": "image/png", "data": DOT }] })
            }
            Some("tools/call") if about == "Asks." => match message["params"].get("inputResponses") {
                None => json!({ "resultType": "input_required", "requestState": "s-1", "inputRequests": { "q": {
                    "method": "elicitation/create",
                    "params": { "message": "Which room?\u{1b}[2J\nA view?", "requestedSchema": { "type": "object", "required": ["room"], "properties": {
                        "room": { "type": "integer", "minimum": 1 }, "view": { "type": "string", "enum": ["sea", "yard"], "default": "sea" },
                    } } },
                } } }),
                Some(given) => json!({ "content": [{ "type": "text", "text": format!("{given} {}", message["params"]["requestState"]) }] }),
            },
            Some("tools/call") => {
                json!({ "content": [{ "type": "text", "text": format!("You said: {}", message["params"]["arguments"]["text"]) }] })
            }
            _ => continue,
        };
        println!("{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        std::io::stdout().flush().unwrap();
    }
    std::process::exit(0);
}

/// `tools:` with the server.
pub(crate) fn tools() -> String {
    let program = std::env::current_exe().unwrap();
    format!(
        "tools:
  echo:
    command: {}
    args: [--exact, mcp_servers::acts_as_a_server, --nocapture, --test-threads=1, --quiet]
    env: {{ STAND_IN: \"{{{{ env.ABOUT }}}}\" }}
    allow: [echo]
    connect_timeout: 25s
",
        program.display()
    )
}

fn write(folder: &Path, about: &str) {
    let text = format!(
        "flow: 1
name: talks
description: Says it again.
inputs: {{ text: text }}
{}steps:
  - {{ id: said, tool: echo.echo, with: {{ text: \"{{{{ inputs.text }}}}\" }} }}
outputs: {{ said: \"{{{{ steps.said.output }}}}\" }}
# {about}
",
        tools()
    );
    std::fs::write(folder.join("p.yaml"), text).unwrap();
    std::fs::write(folder.join("flow.toml"), "").unwrap();
}

/// How often the server was started.
pub(crate) fn starts(folder: &Path) -> Vec<String> {
    std::fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn flow(folder: &Path, arguments: &[&str], about: &str) -> Command {
    let mut command = command(folder, arguments);
    command.arg("--trust").env("ABOUT", about);
    command
}

pub(crate) fn done(folder: &Path, arguments: &[&str], about: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = flow(folder, arguments, about).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Whether a process runs; one that has ended and was not waited for does not.
fn runs(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).is_some_and(|state| state != 'Z')
}

#[test]
fn nothing_of_a_server_is_left_when_flow_is_killed_or_asked_to_end() {
    std::thread::scope(|scope| {
        for (signal, exit) in [(Signal::SIGKILL, None), (Signal::SIGTERM, Some(143)), (Signal::SIGINT, Some(130))] {
            scope.spawn(move || {
                let home = tempfile::tempdir().unwrap();
                write(home.path(), "");
                let mut command = flow(home.path(), &["run", "p.yaml", "--input", "text=wait", "--quiet"], "Echoes.");
                let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                let pids = home.path().join("pids");
                until("the server was never called", || std::fs::read_to_string(&pids).is_ok_and(|text| text.contains(' ')));
                let pids = std::fs::read_to_string(&pids).unwrap();
                assert!(pids.split(' ').all(runs));
                kill(Pid::from_raw(running.id() as i32), signal).unwrap();
                assert_eq!(running.wait().unwrap().code(), exit, "{signal}");
                for id in pids.split(' ') {
                    until(&format!("{signal}: {id} is left"), || !runs(id));
                }
            });
        }
    });
}

#[test]
fn changed_tools_are_refused_until_they_are_accepted() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "");
    let run = ["run", "p.yaml", "--input", "text=hi"];
    let (exit, out, told) = done(home.path(), &run, "Echoes.");
    assert_eq!((exit, out.trim()), (Some(0), "You said: \"hi\""), "{told}");
    assert!(home.path().join("flow.lock").is_file());
    let (exit, _, told) = done(home.path(), &run, "Echoes, and sends a copy.");
    assert_eq!(exit, Some(6), "{told}");
    assert!(told.contains("tool \"echo.echo\" changed since it was pinned") && told.contains("flow tools pin"), "{told}");
    let (exit, _, told) = done(home.path(), &["tools", "pin", "--check"], "Echoes, and sends a copy.");
    assert!(
        exit == Some(1) && told.contains("changed: echo") && told.contains("+ \"description\": \"Echoes, and sends a copy.\","),
        "{told}"
    );
    let (exit, out, _) = done(home.path(), &["doctor", "p.yaml"], "Echoes, and sends a copy.");
    assert!(
        exit == Some(1)
            && out.contains("server echo answers (protocol 2026-07-28); it has echo")
            && out.contains("changed since it was pinned"),
        "{out}"
    );
    assert_eq!(done(home.path(), &["tools", "pin", "p.yaml"], "Echoes, and sends a copy.").0, Some(0));
    assert_eq!(done(home.path(), &run, "Echoes, and sends a copy.").0, Some(0));
    assert_eq!(done(home.path(), &["tools", "pin", "--check"], "Echoes, and sends a copy.").0, Some(0));
}

#[test]
fn a_tool_that_comes_later_under_a_pattern_waits_until_it_is_accepted() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "");
    let file = home.path().join("p.yaml");
    let text = std::fs::read_to_string(&file).unwrap().replace("allow: [echo]", "allow: [\"echo*\"]");
    std::fs::write(&file, &text).unwrap();
    let run = ["run", "p.yaml", "--input", "text=hi"];
    let about = "Echoes. It has more.";
    assert_eq!(done(home.path(), &run, "Echoes.").0, Some(0));
    // The description has changed, too; so the lock is made from it, without the new tool.
    std::fs::remove_file(home.path().join("flow.lock")).unwrap();
    assert_eq!(done(home.path(), &run, about).0, Some(0));
    let lock = home.path().join("flow.lock");
    let mut pins: Value = serde_json::from_str(&std::fs::read_to_string(&lock).unwrap()).unwrap();
    for server in pins["servers"].as_object_mut().unwrap().values_mut() {
        assert!(server.as_object_mut().unwrap().remove("echo_all").is_some());
    }
    std::fs::write(&lock, pins.to_string()).unwrap();
    // What the file names is pinned and called; what it could use is noted.
    let (exit, _, told) = done(home.path(), &run, about);
    assert_eq!(exit, Some(0), "{told}");
    std::fs::write(&file, text.replace("echo.echo", "echo.echo_all")).unwrap();
    let (exit, _, told) = done(home.path(), &run, about);
    assert!(exit == Some(6) && told.contains("tool \"echo.echo_all\" is new since its server was pinned"), "{told}");
    assert!(told.contains("flow tools pin"), "{told}");
    let (exit, _, told) = done(home.path(), &["tools", "pin", "--check"], about);
    assert!(exit == Some(1) && told.contains("new: echo_all"), "{told}");
    let (exit, out, _) = done(home.path(), &["doctor", "p.yaml"], about);
    assert!(exit == Some(1) && out.contains("server echo: echo_all new since it was pinned"), "{out}");
    assert_eq!(done(home.path(), &["tools", "pin", "p.yaml"], about).0, Some(0));
    assert_eq!(done(home.path(), &run, about).0, Some(0));
    // A lock that was changed by hand holds for nobody.
    let kept = std::fs::read_to_string(&lock).unwrap();
    std::fs::write(&lock, kept.replace("Echoes.", "Sends.")).unwrap();
    for (command, wanted) in [(run.as_slice(), 6), (&["tools", "pin", "--check"], 1), (&["tools", "pin"], 1)] {
        let (exit, _, told) = done(home.path(), command, about);
        assert!(exit == Some(wanted) && told.contains("tool \"echo\"") && told.contains("edited by hand"), "{exit:?} {told}");
    }
}

#[test]
fn a_recording_of_a_server_answers_without_it() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "");
    let run = ["run", "p.yaml", "--input", "text=hi"];
    let (exit, _, told) = done(home.path(), &[run.as_slice(), &["--record", "kept"]].concat(), "Echoes.");
    assert_eq!(exit, Some(0), "{told}");
    std::fs::remove_file(home.path().join("flow.lock")).unwrap();
    let (exit, out, told) = done(home.path(), &[run.as_slice(), &["--replay", "kept"]].concat(), "Other.");
    assert_eq!((exit, out.trim()), (Some(0), "You said: \"hi\""), "{told}");
    assert!(!home.path().join("flow.lock").exists(), "no server was asked");
}

#[test]
fn a_planned_call_reaches_the_server_and_one_outside_of_may_use_does_not() {
    let home = tempfile::tempdir().unwrap();
    let text = format!(
        "flow: 1
name: plans
models: {{ default: {{ provider: scripted, replies: replies.yaml }} }}
agents: {{ planner: {{ instructions: You plan. }} }}
{}steps:
  - {{ id: work, plan: planner, prompt: Say hi., may_use: [echo.echo], max_steps: 3 }}
outputs: {{ said: \"{{{{ steps.work.output.by_use }}}}\", log: \"{{{{ steps.work.output.log }}}}\" }}
",
        tools()
    );
    std::fs::write(home.path().join("p.yaml"), text).unwrap();
    std::fs::write(home.path().join("flow.toml"), "").unwrap();
    let plan = |tool: &str| {
        let step = json!({ "id": "one", "use": tool, "with": { "text": "hi" }, "depends_on": [] });
        json!({ "data": { "strategy": "sequential", "reasoning": "So.", "steps": [step] } })
    };
    let replies = json!({ "flow": 1, "replies": { "work": [plan("echo.shout"), plan("echo.echo")] } });
    std::fs::write(home.path().join("replies.yaml"), replies.to_string()).unwrap();
    let (exit, out, told) = done(home.path(), &["run", "p.yaml", "--json", "--events", "events.jsonl", "--events-content"], "Echoes.");
    assert_eq!(exit, Some(0), "{told}");
    let ran: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(ran["outputs"]["said"], json!({ "echo.echo": "You said: \"hi\"" }));
    let events = std::fs::read_to_string(home.path().join("events.jsonl")).unwrap();
    let kinds: Vec<String> =
        events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().into()).collect();
    let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
    assert_eq!((count("tools_listed"), count("plan_refused"), count("plan_accepted"), count("tool_called")), (1, 1, 1, 1), "{kinds:?}");
    assert!(events.contains("which is not in may_use"), "{events}");
    assert!(kinds.iter().position(|kind| kind == "tools_listed") < kinds.iter().position(|kind| kind == "model_called"));
    assert_eq!(starts(home.path()).len(), 1);
}

#[test]
fn calls_of_flow_mcp_share_a_server_until_its_end_and_each_is_held_to_the_pins() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "");
    let mut serving = flow(home.path(), &["mcp", "p.yaml", "--quiet"], "Echoes.");
    let mut client = Client::of(serving.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    for text in ["one", "two"] {
        let result = client.call("talks", json!({ "text": text }))["result"].clone();
        assert_eq!(result["structuredContent"]["said"], format!("You said: \"{text}\""), "{result}");
    }
    // Several at once.
    for id in 2..6 {
        client.send(id, "tools/call", json!({ "name": "talks", "arguments": { "text": "hi" } }));
    }
    for _ in 2..6 {
        assert_eq!(client.next()["result"]["isError"], false);
    }
    let begun = starts(home.path());
    assert_eq!(begun.len(), 1);
    // One that is killed is there again for the next call.
    kill(Pid::from_raw(begun[0].parse().unwrap()), Signal::SIGKILL).unwrap();
    until("it is not gone", || !runs(&begun[0]));
    assert_eq!(client.call("talks", json!({ "text": "again" }))["result"]["isError"], false);
    let begun = starts(home.path());
    assert_eq!(begun.len(), 2);
    // What is pinned now is something else: every later call is rejected, though the server has not changed.
    let lock = home.path().join("flow.lock");
    let mut pinned: Value = serde_json::from_str(&std::fs::read_to_string(&lock).unwrap()).unwrap();
    for server in pinned["servers"].as_object_mut().unwrap().values_mut() {
        server["echo"]["said"]["description"] = json!("Echoed.");
        let hash = Sha256::digest(server["echo"]["said"].to_string());
        server["echo"]["sha256"] = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    }
    std::fs::write(&lock, pinned.to_string()).unwrap();
    for _ in 0..2 {
        let result = client.call("talks", json!({ "text": "x" }))["result"].clone();
        assert!(result["isError"] == true && result.to_string().contains("changed since it was pinned"), "{result}");
    }
    assert_eq!(client.end().0, 0);
    until("it is left", || !runs(&begun[1]));
    let listed = command(home.path(), &["runs", "list", "--json"]).output().unwrap();
    assert_eq!(String::from_utf8(listed.stdout).unwrap().matches("\"status\": \"succeeded\"").count(), 7);
}

#[test]
fn tools_are_called_by_any_name_and_those_that_cannot_be_are_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "");
    let file = folder.path().join("p.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let long = "x".repeat(130);
    let calls = |name: &str| {
        let allow = format!("allow: [echo, \"{name}\"]");
        std::fs::write(&file, text.replace("allow: [echo]", &allow).replace("tool: echo.echo", &format!("tool: \"echo.{name}\""))).unwrap();
        done(folder.path(), &["run", "p.yaml", "--input", "text=hi", "--events", "e.jsonl"], "Odd.")
    };
    for name in ["get page title", &long, "strict"] {
        let (exit, out, told) = calls(name);
        assert!(exit == Some(0) && out.contains("You said: "), "{name}: {exit:?} {out} {told}");
        assert!(!told.contains("F617"), "{told}");
    }
    for (name, why) in [("tab\\tname", "its name holds control characters"), ("no object", "its inputSchema is no JSON object")] {
        let (exit, _, told) = calls(name);
        assert!(exit == Some(6) && told.contains("cannot be used: ") && told.contains(why), "{name}: {exit:?} {told}");
    }
    let (exit, out, _) = done(folder.path(), &["doctor"], "Odd.");
    assert!(
        exit == Some(1) && out.contains("fault") && out.contains("its tool \"no object\" cannot be called: its inputSchema is no JSON"),
        "{out}"
    );
    assert!(out.contains("cannot be called: its name holds control characters or invisible ones"), "{out}");
    let (_, _, _) = calls("strict");
    let (exit, out, _) = done(folder.path(), &["doctor"], "Odd.");
    assert!(
        exit == Some(0) && out.contains("only the server checks this of the arguments of strict: \"pattern\" of text"),
        "{exit:?} {out}"
    );
    let events = std::fs::read_to_string(folder.path().join("e.jsonl")).unwrap();
    assert!(events.contains("only the server checks this in the schema of tool"), "{events}");
}

#[test]
fn servers_are_looked_at_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "meets");
    let file = folder.path().join("p.yaml");
    let one = std::fs::read_to_string(&file).unwrap();
    let entry = tools().split_once('\n').unwrap().1.replace("  echo:", "  other:");
    let with = |entry: &str, meets: &str| entry.replace("\" }\n    allow", &format!("\", MEETS: \"{meets}\" }}\n    allow"));
    let both = with(&one, "one two").replace("steps:\n", &format!("{}steps:\n", with(&entry, "two one")));
    std::fs::write(&file, both).unwrap();
    let (exit, out, told) = done(folder.path(), &["tools", "pin"], "It echoes.");
    assert_eq!(exit, Some(0), "{out}{told}");
    assert!(told.contains("echo: pinned in") && told.contains("other: pinned in"), "{told}");
    let (_, out, _) = done(folder.path(), &["doctor"], "It echoes.");
    assert!(out.contains("server echo answers") && out.contains("server other answers"), "{out}");
}

#[test]
fn a_server_of_which_the_user_allows_no_tool_is_not_started_and_a_denied_tool_is_not_offered() {
    let steps =
        ["  - { id: said, tool: echo.echo, with: { text: hi }, on_failure: continue }\n", "  - { id: said, agent: w, prompt: Say hi. }\n"];
    let agent = "models: { default: { provider: scripted, replies: r.yaml } }\nagents: { w: { instructions: Echo., tools: [TOOLS] } }\n";
    let cases = [
        (steps[0], "echo", "ok.*", 0),
        (steps[1], "echo", "ok.*", 0),
        (steps[1], "echo.echo", "echo.shout", 0),
        (steps[1], "echo", "echo.shout", 1),
    ];
    for (step, tools_of, allowed, started) in cases {
        let home = tempfile::tempdir().unwrap();
        let open = tools().replace("[echo]", "[\"*o*\"]");
        let head = format!(
            "flow: 1\nname: p\ndescription: Echoes.\n{}{}",
            agent.replace("TOOLS", tools_of),
            if started == 1 { open } else { tools() }
        );
        let text = format!("{head}steps:\n{step}outputs: {{ x: \"{{{{ steps.said.status }}}}\" }}\n");
        std::fs::write(home.path().join("p.yaml"), text).unwrap();
        std::fs::write(home.path().join("flow.toml"), "").unwrap();
        std::fs::write(
            home.path().join("r.yaml"),
            "flow: 1\nreplies: { said: [{ calls: [{ tool: echo.echo, with: { text: hi } }] }, Done.] }\n",
        )
        .unwrap();
        std::fs::write(home.path().join("user.toml"), format!("[policy]\ndescription = \"Little.\"\nallowed_tools = [\"{allowed}\"]\n"))
            .unwrap();
        let mut command = flow(home.path(), &["run", "p.yaml", "--events", "e.jsonl", "--events-content"], "Echoes.");
        let ran = command.env("FLOW_CONFIG", home.path().join("user.toml")).output().unwrap();
        let events = std::fs::read_to_string(home.path().join("e.jsonl")).unwrap_or_default();
        let shown = format!("{step} {tools_of} {allowed}: {}{events}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(starts(home.path()).len(), started, "{shown}");
        assert!(!events.contains("tool_called") && !events.contains("You said"), "{shown}");
    }
}

#[test]
fn a_run_does_without_an_optional_server_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let text = |optional: bool, tool: &str| {
        format!(
            "flow: 1
name: p
description: Says hi.
models: {{ default: {{ provider: scripted, replies: replies.yaml }} }}
agents: {{ writer: {{ instructions: You write., tools: [gone] }} }}
tools: {{ gone: {{ command: no-such-server, allow: [get], optional: {optional} }} }}
steps:
  - {{ id: said, {tool} }}
outputs: {{ said: \"{{{{ steps.said.output }}}}\" }}
"
        )
    };
    let agent = "agent: writer, prompt: Say hi.";
    std::fs::write(home.path().join("flow.toml"), "").unwrap();
    std::fs::write(home.path().join("replies.yaml"), "flow: 1\nreplies: { said: Hi. }\n").unwrap();
    let tried = |optional, tool: &str, arguments: &[&str]| {
        std::fs::write(home.path().join("p.yaml"), text(optional, tool)).unwrap();
        done(home.path(), &[arguments, &["p.yaml"]].concat(), "")
    };
    assert_eq!(tried(false, agent, &["run"]).0, Some(6));
    let (exit, out, told) = tried(true, agent, &["run"]);
    assert_eq!((exit, out.trim()), (Some(0), "Hi."), "{told}");
    assert!(
        told.contains("said: optional server gone is not available; the run continues without its tools: ")
            && told.contains("no-such-server"),
        "{told}"
    );
    let (exit, _, told) = tried(true, "tool: gone.get", &["run"]);
    assert!(exit == Some(6) && told.contains("failed (unavailable): optional server \"gone\" was not available"), "{exit:?} {told}");
    let (exit, out, told) = tried(true, agent, &["doctor"]);
    assert!(exit == Some(0) && out.contains("note   optional server gone is not available"), "{exit:?} {out} {told}");
    let (exit, _, told) = tried(true, agent, &["tools", "pin"]);
    assert!(exit == Some(0) && told.contains("gone: optional and not available") && !home.path().join("flow.lock").exists(), "{told}");
}

#[test]
fn a_server_starts_while_a_step_before_it_works_and_is_ended_when_it_was_never_needed() {
    let home = tempfile::tempdir().unwrap();
    let text = format!(
        "flow: 1
name: later
description: Says it again after a while.
inputs: {{ ask: {{ type: boolean, default: true }} }}
{}steps:
  - {{ id: pause, wait: 25s }}
  - {{ id: said, when: inputs.ask, needs: [pause], tool: echo.echo, with: {{ text: hi }} }}
",
        tools()
    );
    std::fs::write(home.path().join("p.yaml"), text).unwrap();
    std::fs::write(home.path().join("flow.toml"), "").unwrap();
    for command in [&["validate", "p.yaml"][..], &["plan", "p.yaml"]] {
        let looked = crate::program::command(home.path(), command).env("ABOUT", "Echoes.").output().unwrap();
        assert_eq!((looked.status.code(), starts(home.path()).len()), (Some(0), 0), "{command:?}");
    }
    let mut running = flow(home.path(), &["run", "p.yaml", "--quiet"], "Echoes.").stdout(Stdio::null()).spawn().unwrap();
    until("no server started while the run waited", || starts(home.path()).len() == 1);
    let server = starts(home.path()).remove(0);
    assert!(!home.path().join("flow.lock").exists(), "its tools were not asked for yet");
    kill(Pid::from_raw(running.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(143));
    until("the server is left", || !runs(&server));
}

/// The file whose server may ask.
fn write_asking(folder: &Path) {
    write(folder, "");
    let text =
        std::fs::read_to_string(folder.join("p.yaml")).unwrap().replace("    allow: [echo]", "    allow: [echo]\n    questions: true");
    std::fs::write(folder.join("p.yaml"), text).unwrap();
}

const RUN: [&str; 4] = ["run", "p.yaml", "--input", "text=hi"];

#[test]
fn a_server_asks_and_the_run_waits_for_flow_approve() {
    let home = tempfile::tempdir().unwrap();
    write_asking(home.path());
    let (exit, _, told) = done(home.path(), &RUN, "Asks.");
    assert_eq!(exit, Some(8), "{told}");
    let run = told[told.find("r_").unwrap()..].split_whitespace().next().unwrap().to_owned();
    let approve = |more: &[&str]| {
        let Output { status, stdout, stderr } = command(home.path(), &[&["approve", &run, "said"], more].concat()).output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    let (exit, out, told) = approve(&["--show"]);
    let expected = "server \"echo\" asks, during a call of its tool \"echo\":\n  | Which room?\n  | A view?\nAnswer server \"echo\"? What you type goes to it: never type passwords, keys or card numbers.\n  room (integer; at least 1)\n  view (one of: sea, yard); default: sea\n";
    assert_eq!((exit, out.as_str()), (Some(0), expected), "{told}");
    let (exit, _, told) = approve(&["--field", "room=0"]);
    assert!(exit == Some(2) && told.contains("less than the minimum of 1"), "{told}");
    assert_eq!(approve(&["--field", "room=7"]).0, Some(0));
    let (exit, out, told) = done(home.path(), &["runs", "resume", &run], "Asks.");
    let sent = "{\"q\":{\"action\":\"accept\",\"content\":{\"room\":7,\"view\":\"sea\"}}} \"s-1\"";
    assert_eq!((exit, out.trim()), (Some(0), sent), "{told}");
}

#[test]
fn a_server_that_may_not_ask_fails_its_step_and_the_message_says_what_it_asked() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "");
    let (exit, _, told) = done(home.path(), &RUN, "Asks.");
    assert!(exit == Some(6) && told.contains("set questions: true on the server to allow this. It asks: Which room?"), "{exit:?} {told}");
}

#[test]
fn a_person_at_a_terminal_is_asked_for_a_server_and_a_no_is_told_to_it() {
    for (typed, sent) in [
        ("yes\n0\n7\nyard\n", "{\"action\":\"accept\",\"content\":{\"room\":7,\"view\":\"yard\"}}"),
        ("no\n\n", "{\"action\":\"decline\"}"),
    ] {
        let home = tempfile::tempdir().unwrap();
        write_asking(home.path());
        let (exit, out, shown) = at(home.path(), &[&RUN[..], &["--trust"]].concat(), typed, &[("ABOUT", "Asks.")]);
        assert!(exit == 0 && out.trim() == format!("{{\"q\":{sent}}} \"s-1\""), "{exit} {out} {shown}");
        let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
        assert!(
            place("server \"echo\" asks, during a call of its tool \"echo\":") < place("| Which room?")
                && place("| A view?") < place("never type passwords")
        );
        assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
    }
}
