//! W7: calls of tools. The server is this program again: one tool that says its text again.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// A server over standard input and output: the newest version of the protocol, and no more than it needs.
///
/// # Errors
/// The other side has gone.
pub fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }),
            Some("tools/list") => {
                let input = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
                json!({ "tools": [{ "name": "say", "description": "Says it again.", "inputSchema": input }] })
            }
            Some("tools/call") => json!({ "content": [{ "type": "text", "text": message["params"]["arguments"]["n"].to_string() }] }),
            _ => continue,
        };
        writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
        out.flush()?;
    }
    Ok(())
}

/// The floor: starts the server, writes each call as a line and reads its answer. Prints how many were right.
///
/// # Errors
/// The server cannot be started, or has gone.
pub fn by_hand(calls: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut server = Command::new(std::env::current_exe()?).arg("server").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut to, from) = (server.stdin.take().ok_or("no input")?, server.stdout.take().ok_or("no output")?);
    let mut from = BufReader::new(from);
    let mut ask = |id: usize, method: &str, params: Value| -> Result<Value, Box<dyn std::error::Error>> {
        writeln!(to, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        to.flush()?;
        let mut line = String::new();
        from.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    ask(0, "server/discover", json!({}))?;
    ask(1, "tools/list", json!({}))?;
    let mut right = 0;
    for n in 0..calls {
        let answer = ask(n + 2, "tools/call", json!({ "name": "say", "arguments": { "n": n } }))?;
        let said = answer["result"]["content"][0]["text"].as_str().and_then(|said| said.parse().ok());
        right += usize::from(said == Some(n));
    }
    drop(to);
    server.wait()?;
    println!("{right}");
    Ok(())
}

/// Writes the pipelines whose steps are called one after the other: by `set`, by a tool that is a pipeline, and by the server.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::current_exe()?;
    let one = "flow: 1\nname: one\ndescription: Says it again.\ninputs: { n: integer }\nsteps: [{ id: said, set: \"{{ inputs.n }}\" }]\noutputs: \"{{ steps.said.output }}\"\n";
    std::fs::write(folder.join("one.yaml"), one)?;
    std::fs::write(folder.join("flow.toml"), "")?;
    for (name, tools, step) in [
        ("set", String::new(), "set: \"{{ item }}\""),
        ("pipeline", "tools: { one: { pipeline: one.yaml } }\n".to_owned(), "tool: one, with: { n: \"{{ item }}\" }"),
        (
            "server",
            format!("tools: {{ one: {{ command: '{}', args: [server], allow: [say] }} }}\n", server.display()),
            "tool: one.say, with: { n: \"{{ item }}\" }",
        ),
    ] {
        let text = format!(
            "flow: 1\nname: {name}\ninputs: {{ calls: integer }}\n{tools}steps:\n\
             \x20 - {{ id: each, for_each: range(inputs.calls), max_parallel: 1, {step} }}\n\
             outputs: {{ count: \"{{{{ steps.each.output | length }}}}\" }}\n"
        );
        std::fs::write(folder.join(format!("{name}.yaml")), text)?;
    }
    Ok(())
}
