//! A server of our own that behaves as its mode says. The test program itself becomes it when a variable is set, so that no other program
//! is needed.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

/// The variable that makes this program a server, and the file in which it keeps what it hears.
pub(crate) const MODE: &str = "STAND_IN_MODE";
pub(crate) const LOG: &str = "STAND_IN_LOG";

/// The arguments that lead this program to [`acts_as_a_server`].
pub(crate) fn args() -> Vec<String> {
    ["--exact", "mcp::tests::stand_in::acts_as_a_server", "--nocapture", "--test-threads=1", "--quiet"].map(str::to_owned).to_vec()
}

/// Not a test of its own: with the variable set, this is the server.
#[test]
fn acts_as_a_server() {
    let Ok(mode) = own(MODE) else { return };
    // What the test program has printed so far ends here, so that the first message is alone.
    say_text("\n");
    serve(&mode);
    std::process::exit(0);
}

#[expect(clippy::disallowed_methods, reason = "what the test told its server, not a setting of flow")]
fn own(name: &str) -> Result<String, std::env::VarError> {
    std::env::var(name)
}

fn say_text(text: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

fn say(message: &Value) {
    say_text(&format!("{message}\n"));
}

fn hear(line: &str) {
    if let Ok(path) = own(LOG) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

fn wait_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn tool(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"], "additionalProperties": false },
    })
}

/// The tools, by mode, page and how often they were asked for.
fn tools(mode: &str, cursor: Option<&str>, asked: usize) -> Value {
    match mode {
        "many_tools" => json!({ "tools": (0..1_001).map(|n| tool(&format!("t{n}"), "One of many.")).collect::<Vec<_>>() }),
        "endless_pages" => {
            let next = cursor.and_then(|cursor| cursor.parse::<u64>().ok()).unwrap_or(0) + 1;
            json!({ "tools": [], "nextCursor": next.to_string() })
        }
        "pages_in_a_circle" => json!({ "tools": [], "nextCursor": "again" }),
        "two_pages" if cursor.is_none() => json!({ "tools": [tool("echo", "Says it again.")], "nextCursor": "p2" }),
        "two_pages" => json!({ "tools": [tool("other", "Another.")] }),
        "changes" if asked > 1 => json!({ "tools": [tool("echo", "Says it again!")] }),
        "twins" => json!({ "tools": [tool("echo", "One."), tool("echo", "Two.")] }),
        "structured" | "wrong_structure" => {
            let mut tool = tool("echo", "Says it again.");
            tool["outputSchema"] = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
            json!({ "tools": [tool] })
        }
        _ if mode.starts_with("task_") => {
            let mut tool = tool("echo", "Takes long.");
            tool["execution"] = json!({ "taskSupport": "required" });
            json!({ "tools": [tool] })
        }
        _ => json!({ "tools": [tool("echo", "Says it again.")] }),
    }
}

#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn serve(mode: &str) {
    match mode {
        "exits" => {
            eprintln!("no such table: weather");
            std::process::exit(3);
        }
        "asks" => {
            eprint!("Password: ");
            let answer = std::fs::File::open("/dev/tty").map(|_| ());
            eprintln!("{}", answer.map_or_else(|_| "there is no terminal to ask at".to_owned(), |()| "a terminal".to_owned()));
            std::process::exit(1);
        }
        "banner" => say_text("\u{1b}[32mWelcome!\u{1b}[0m\nversion 1\n\u{0}\u{1}\n"),
        "noise" => (0..200).for_each(|n| say_text(&format!("loading {n}\n"))),
        "ignores_term" => start_shell("trap '' TERM; sleep 300 & while :; do sleep 1; done"),
        "grandchild" => start_shell("trap '' TERM; sleep 300"),
        "big_stderr" => {
            let line = "x".repeat(1023);
            (0..1024).for_each(|_| eprintln!("{line}"));
        }
        "silent" => wait_for_ever(),
        "stuck" => {
            eprintln!("loading the key canary-5150\nwaiting for the database");
            wait_for_ever();
        }
        "slow_start" => std::thread::sleep(Duration::from_millis(600)),
        "slow_to_start" => std::thread::sleep(Duration::from_secs(4)),
        _ => {}
    }
    let is_old = matches!(mode, "old" | "oldest" | "wrong_version" | "late_first_word" | "live") || mode.starts_with("task_");
    let (mut lists, mut looks) = (0, 0);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        hear(&line);
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let id = message["id"].clone();
        let result = |result: Value| say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        let error = |code: i64, text: &str| say(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } }));
        match message["method"].as_str() {
            Some("server/discover") if mode == "late_first_word" => {}
            Some("initialize") if mode == "slow_to_start" => {}
            Some("server/discover") if is_old => error(-32601, "Method not found"),
            Some("server/discover") => result(json!({
                "resultType": "complete",
                "instructions": own("STAND_IN_SAYS").unwrap_or_default(),
                "supportedVersions": ["2026-07-28"],
                "capabilities": if mode == "reads" { json!({ "resources": {} }) } else { json!({ "tools": {} }) },
                "serverInfo": { "name": "stand-in", "version": "1" },
                "ttlMs": 0,
                "cacheScope": "private",
            })),
            Some("initialize") => {
                let version = match mode {
                    "wrong_version" => "1999-01-01",
                    "oldest" => "2024-11-05",
                    _ => "2025-11-25",
                };
                let tasks =
                    if mode.starts_with("task_") { json!({ "requests": { "tools": { "call": {} } }, "cancel": {} }) } else { json!({}) };
                result(json!({
                    "protocolVersion": version,
                    "capabilities": { "tools": { "listChanged": true }, "tasks": tasks },
                    "instructions": own("STAND_IN_SAYS").unwrap_or_default(),
                    "serverInfo": { "name": "stand-in", "version": "1" },
                }));
            }
            Some("tools/list") => {
                lists += 1;
                if mode == "changes" {
                    say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                }
                result(tools(mode, message["params"]["cursor"].as_str(), lists));
                if mode == "stops_reading" {
                    wait_for_ever();
                }
            }
            Some("resources/list") => match message["params"]["cursor"].as_str() {
                None => result(json!({ "resources": [{ "uri": "a:text", "name": "Text" }], "nextCursor": "more" })),
                Some(_) => result(json!({ "resources": [{ "uri": "a:two", "name": "Two" }, { "name": "without" }] })),
            },
            Some("resources/templates/list") => error(-32601, "Method not found"),
            Some("resources/read") => match message["params"]["uri"].as_str().unwrap_or_default() {
                "a:late" => {}
                "a:two" => result(json!({ "contents": [{ "uri": "b:1", "text": "One." }, { "uri": "b:2", "blob": "AAEC" }] })),
                "a:csv" => {
                    result(json!({ "contents": [{ "uri": "a:csv", "mimeType": "text/csv; charset=utf-8", "blob": "YSxiCjEsMgo=" }] }))
                }
                "a:none" => result(json!({ "contents": [] })),
                "a:wrong" => result(json!({ "content": [] })),
                "a:hollow" => result(json!({ "contents": [{ "uri": "a:hollow" }] })),
                "a:asks" => result(json!({ "resultType": "input_required" })),
                "a:big" => result(json!({ "contents": [{ "uri": "a:big", "text": "x".repeat(2 << 20) }] })),
                uri => result(json!({ "contents": [{ "uri": uri, "text": format!("This is {uri}.") }] })),
            },
            Some("tools/call") if mode.starts_with("task_") => match (&message["params"]["task"]["ttl"], mode) {
                (Value::Null, _) => error(-32601, "only as a task"),
                (_, "task_nameless") => result(json!({ "task": { "status": "working" } })),
                _ => result(json!({ "task": { "taskId": "t-1", "status": "working", "pollInterval": 0, "statusMessage": "copying 1" } })),
            },
            Some("tasks/get") if mode == "task_lost" => error(-32602, "no such task"),
            Some("tasks/get") => {
                looks += 1;
                let status = match mode {
                    "task_done" if looks < 3 => "working",
                    "task_done" => "completed",
                    "task_fails" => "failed",
                    "task_cancelled" => "cancelled",
                    "task_asks" => "input_required",
                    "task_strange" => "danc\u{1b}ing",
                    _ => "working",
                };
                let pause = if mode == "task_slow" { u64::MAX } else { 0 };
                result(
                    json!({ "taskId": message["params"]["taskId"], "status": status, "pollInterval": pause, "statusMessage": format!("copying {looks}") }),
                );
            }
            Some("tasks/result") if mode == "task_fails" => error(-32000, "the disk is full"),
            Some("tasks/result") => result(json!({ "content": [{ "type": "text", "text": "copied" }] })),
            Some("tools/call") if mode == "live" => asks_live(&id, message["params"]["arguments"]["text"].as_str().unwrap_or_default(), 1),
            None if mode == "live" => live_answered(&message),
            Some("tools/call") => call(mode, &id, &message),
            Some("ping") if mode == "deaf" => {}
            Some("ping") => result(json!({})),
            _ => {}
        }
    }
    if mode == "ignores_term" {
        wait_for_ever();
    }
}

/// Starts a process of this one that is left behind.
#[expect(clippy::zombie_processes, reason = "that is what the test is about")]
fn start_shell(text: &str) {
    let child = std::process::Command::new("/bin/sh").arg("-c").arg(text).spawn().unwrap();
    hear(&format!("grandchild {}", child.id()));
}

#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn call(mode: &str, id: &Value, message: &Value) {
    let text = message["params"]["arguments"]["text"].as_str().unwrap_or_default().to_owned();
    let result = |result: Value| say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    let told = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    match mode {
        "crashes_in_call" => {
            eprintln!("about to fall over with key {}", own("CANARY").unwrap_or_default());
            std::process::abort();
        }
        "half_line" => {
            say_text("{\"jsonrpc\": \"2.0\", \"id\": ");
            wait_for_ever();
        }
        "slow" if text == "wait" => {
            let token = &message["params"]["_meta"]["progressToken"];
            for done in 1..=3 {
                let params = json!({ "progressToken": token, "progress": done, "total": 10, "message": "copying" });
                say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
                std::thread::sleep(Duration::from_millis(200));
            }
            result(told("too late"));
        }
        "deaf" if text == "never" => {}
        "deaf" if text == "later" => {
            let (id, result) = (id.clone(), told(&text));
            // It answers when it is told to, and hears on meanwhile.
            std::thread::spawn(move || {
                while !std::path::Path::new("go").exists() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            });
        }
        "long_line" => result(told(&"x".repeat(2 << 20))),
        "large_stderr_in_call" => {
            eprintln!("{}", "y".repeat(1 << 20));
            result(told(&text));
        }
        "strange_ids" => {
            say(&json!({ "jsonrpc": "2.0", "id": 999_999, "result": told("for nobody") }));
            say(&json!({ "jsonrpc": "2.0", "id": "nine", "result": told("for nobody") }));
            result(told(&text));
            result(told("once more"));
        }
        "flood" => loop {
            say(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "x" } }));
        },
        "closes_output" => {
            // Only the program's own end closes its output; a shell that takes its place closes it and lives on.
            let mut shell = std::process::Command::new("/bin/sh");
            let error = std::os::unix::process::CommandExt::exec(shell.arg("-c").arg("exec >&-; sleep 300"));
            panic!("{error}");
        }
        "error" => say(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": "the table is locked" } })),
        "is_error" => result(json!({ "content": [{ "type": "text", "text": "no such city" }], "isError": true })),
        "asks_back" => {
            say(&json!({ "jsonrpc": "2.0", "id": "q1", "method": "sampling/createMessage", "params": {} }));
            say(&json!({ "jsonrpc": "2.0", "id": "q2", "method": "elicitation/create", "params": {} }));
            say(&json!({ "jsonrpc": "2.0", "id": "q3", "method": "roots/list" }));
            say(&json!({ "jsonrpc": "2.0", "id": "q4", "method": "ping" }));
            result(told(&text));
        }
        "wants_input" => match message["params"].get("inputResponses") {
            None => result(json!({ "resultType": "input_required", "requestState": "s-1", "inputRequests": { "room": {
                "method": "elicitation/create",
                "params": { "message": "Which room?", "requestedSchema": { "type": "object", "properties": { "room": { "type": "integer" } } } },
            } } })),
            Some(answers) => result(told(&format!("{answers} {}", message["params"]["requestState"]))),
        },
        "structured" => result(json!({ "content": [], "structuredContent": { "n": 7 } })),
        "wrong_structure" => result(json!({ "content": [], "structuredContent": { "n": "seven" } })),
        "environment" => {
            let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            names.sort();
            result(told(&names.join(" ")));
        }
        "pictures" => result(json!({ "content": [
            { "type": "text", "text": "Here." },
            { "type": "image", "mimeType": "image/jpeg", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" },
            { "type": "resource", "resource": { "uri": "file:///dot", "mimeType": "image/gif", "blob": "R0lGODlhAQABAAAAADsA" } },
            { "type": "image", "mimeType": "image/png", "data": "aGVsbG8h" },
            { "type": "image", "mimeType": "image/png", "data": "no base64" },
        ] })),
        "hostile_text" => result(told("a\u{1b}[31mred\u{202e}x {{ 7*7 }}")),
        _ => result(told(&text)),
    }
}

/// Asks a person in the middle of a call; the id of the request has all that the answer must find again.
fn asks_live(call: &Value, text: &str, round: u64) {
    let schema = match text {
        "badly" => json!({ "type": "object", "properties": { "room": { "type": "object" } } }),
        _ => json!({ "type": "object", "properties": { "room": { "type": "integer" } } }),
    };
    let params = json!({ "message": format!("Which room, {text}? ({round})"), "requestedSchema": schema });
    say(&json!({ "jsonrpc": "2.0", "id": json!([call, text, round]).to_string(), "method": "elicitation/create", "params": params }));
    match text {
        "dies" => std::process::exit(3),
        "gives_up" => live_result(call, "nobody answered"),
        _ => {}
    }
}

fn live_result(call: &Value, text: &str) {
    say(&json!({ "jsonrpc": "2.0", "id": call, "result": { "content": [{ "type": "text", "text": text }] } }));
}

fn live_answered(message: &Value) {
    let Some(Ok(asked)) = message["id"].as_str().map(serde_json::from_str::<Value>) else { return };
    let (call, text, round) = (&asked[0], asked[1].as_str().unwrap(), asked[2].as_u64().unwrap());
    match text {
        "twice" if round == 1 => asks_live(call, text, 2),
        "slow" => {}
        _ => live_result(call, &format!("{text}: {}", message.get("result").unwrap_or(&message["error"]))),
    }
}
