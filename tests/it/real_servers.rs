//! Real MCP servers: `tests/real/mcp/install.sh`, then `FLOW_REAL_SERVERS=$PWD/.real/mcp cargo test --test it real_servers`.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::extras::not_tried;

/// The folder of the servers; `None`: the test is skipped, and says so.
#[expect(clippy::disallowed_methods, reason = "a test's own switch, not a setting of flow")]
fn servers() -> Option<String> {
    let folder = std::env::var("FLOW_REAL_SERVERS").ok().filter(|folder| !folder.is_empty());
    if folder.is_none() {
        not_tried(
            "REAL_SERVERS",
            "a folder of real MCP servers",
            "set FLOW_REAL_SERVERS to the folder that tests/real/mcp/install.sh makes",
        );
    }
    folder
}

/// Runs a pipeline with these tools and steps; its outputs.
fn run(home: &Path, tools: &str, steps: &str, outputs: &str) -> Value {
    let text = format!("flow: 1\nname: real\ntools:\n{tools}\nsteps:\n{steps}\noutputs: {{ {outputs} }}\n");
    std::fs::write(home.join("p.yaml"), text).unwrap();
    std::fs::write(home.join("flow.toml"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flow"));
    let done = command.current_dir(home).args(["run", "p.yaml", "--trust", "--json", "--quiet"]).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{told}");
    serde_json::from_slice::<Value>(&done.stdout).unwrap()["outputs"].clone()
}

#[test]
fn the_time_server_speaks_the_new_version_and_gives_structured_content() {
    let Some(folder) = servers() else { return };
    let home = tempfile::tempdir().unwrap();
    let tools = format!("  time: {{ command: {folder}/python/bin/mcp-server-time, args: [--local-timezone, UTC], connect_timeout: 60s }}");
    let steps = "  - { id: now, tool: time.get_current_time, with: { timezone: Asia/Tokyo }, output: { timezone: text, datetime: text, day_of_week: any, is_dst: any } }";
    let outputs = run(home.path(), &tools, steps, "zone: \"{{ steps.now.output.timezone }}\"");
    assert_eq!(outputs["zone"], "Asia/Tokyo");
}

#[test]
fn the_servers_of_the_protocol_itself_are_greeted_in_the_old_way() {
    let Some(folder) = servers() else { return };
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("notes")).unwrap();
    std::fs::write(home.path().join("notes/a.txt"), "Read me.").unwrap();
    let bin = format!("{folder}/node/node_modules/.bin");
    let memory = home.path().join("memory.jsonl").display().to_string();
    let tools = format!(
        "  everything: {{ command: {bin}/mcp-server-everything, args: [stdio], connect_timeout: 60s }}
  files: {{ command: {bin}/mcp-server-filesystem, args: [notes], connect_timeout: 60s }}
  memory: {{ command: {bin}/mcp-server-memory, env: {{ MEMORY_FILE_PATH: \"{memory}\" }}, connect_timeout: 60s }}"
    );
    let steps = "  - { id: echo, tool: everything.echo, with: { message: hello } }
  - { id: read, tool: files.read_text_file, with: { path: a.txt } }
  - { id: outside, tool: files.read_text_file, with: { path: /etc/hostname }, on_failure: continue }
  - { id: keep, tool: memory.create_entities, with: { entities: [{ name: Ana, entityType: person, observations: [likes tea] }] } }
  - { id: know, tool: memory.read_graph }";
    let outputs = run(
        home.path(),
        &tools,
        steps,
        "echo: \"{{ steps.echo.output }}\", read: \"{{ steps.read.output | tojson }}\", outside: \"{{ steps.outside.error.kind | default('none') }}\", know: \"{{ steps.know.output | tojson }}\"",
    );
    assert_eq!(outputs["echo"], "Echo: hello");
    assert!(outputs["read"].to_string().contains("Read me."), "{outputs}");
    assert_eq!(outputs["outside"], "refused");
    assert!(outputs["know"].to_string().contains("likes tea"), "{outputs}");
}

#[test]
fn the_everything_server_is_read_and_an_unknown_resource_fails() {
    let Some(folder) = servers() else { return };
    let home = tempfile::tempdir().unwrap();
    let tools =
        format!("  everything: {{ command: {folder}/node/node_modules/.bin/mcp-server-everything, args: [stdio], connect_timeout: 60s }}");
    let read = |id: &str, uri: &str| format!("  - {{ id: {id}, read: {{ server: everything, uri: \"{uri}\" }}, on_failure: continue }}");
    let steps = [
        read("static", "demo://resource/static/document/features.md"),
        read("made", "demo://resource/dynamic/text/7"),
        read("blob", "demo://resource/dynamic/blob/7"),
        read("gone", "demo://resource/none"),
    ];
    let outputs = "static: \"{{ steps.static.output.text }}\", made: \"{{ steps.made.output.path }}\", blob: \"{{ steps.blob.output.text }}\", gone: \"{{ steps.gone.error.kind }}\"";
    let outputs = run(home.path(), &tools, &steps.join("\n"), outputs);
    assert!(outputs["static"].to_string().contains("# Everything Server"), "{outputs}");
    assert_eq!(outputs["made"], "demo://resource/dynamic/text/7");
    assert!(outputs["blob"].to_string().contains("Resource 7"), "{outputs}");
    assert_eq!(outputs["gone"], "bad_request");
}
