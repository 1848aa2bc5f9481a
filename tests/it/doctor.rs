//! `flow doctor`: what is not here is found before a run, and each setting has an origin.

use std::path::Path;

use serde_json::Value;

use crate::program::{Ran, command, ran};

const PIPELINE: &str = "flow: 1
name: asks
description: Asks a host.
secrets: { CRM_TOKEN: Token of the CRM }
data:
  people: { file: people.csv }
models:
  default: { provider: scripted, replies: replies.yaml }
agents:
  writer: { instructions: You write. }
steps:
  - { id: ask, http: \"GET http://127.0.0.1:PORT/x/{{ run.today }}\", headers: { Authorization: \"{{ secrets.CRM_TOKEN }}\" } }
  - { id: rows, sql: select * from people }
  - { id: compose, agent: writer, prompt: \"Say {{ steps.ask.output.status }} {{ steps.rows.output }}\" }
outputs: { text: \"{{ steps.compose.output }}\" }
";

fn doctor(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = command(folder, &[&["doctor", "--trust"], arguments].concat());
    let own = folder.join("user.toml");
    command.env("FLOW_CONFIG", if own.exists() { own.as_os_str() } else { "".as_ref() }).env_remove("CRM_TOKEN");
    let Ran { exit, out, err } = ran(command.envs(variables.iter().copied()));
    (exit, out, err)
}

#[test]
fn what_a_pipeline_needs_and_is_not_here_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::fs::write(folder.path().join("p.yaml"), PIPELINE.replace("PORT", &port.to_string())).unwrap();
    std::fs::write(folder.path().join("replies.yaml"), "flow: 1\nreplies: { compose: Hello. }\n").unwrap();
    let (exit, out, told) = doctor(folder.path(), &[], &[]);
    assert_eq!((exit, told.as_str()), (1, "2 to fix\n"), "{out}");
    for part in [
        "fault  secret CRM_TOKEN is not set (Token of the CRM)",
        "people.csv",
        &format!("ok     host 127.0.0.1:{port} answers"),
        "note   model default: scripted",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    std::fs::write(folder.path().join("people.csv"), "id\np1\n").unwrap();
    let (exit, out, told) = doctor(folder.path(), &["p.yaml"], &[("CRM_TOKEN", "canary-77")]);
    assert_eq!((exit, told.as_str()), (0, "all is well\n"), "{out}");
    assert!(!out.contains("canary"), "{out}");
    drop(listener);
    std::fs::create_dir_all(folder.path().join(".flow")).unwrap();
    std::fs::write(folder.path().join(".flow/runs.db"), "this is no database, and long enough to be looked at as one".repeat(20)).unwrap();
    std::fs::write(folder.path().join("user.toml"), "[polcy]\n").unwrap();
    let (exit, out, _) = doctor(folder.path(), &["--json"], &[("CRM_TOKEN", "x")]);
    let signs: Vec<Value> = serde_json::from_str(&out).unwrap();
    let faults: Vec<&str> = signs.iter().filter(|s| s["is"] == "fault").filter_map(|s| s["what"].as_str()).collect();
    assert_eq!((exit, faults.len()), (1, 3), "{faults:?}");
    assert!(faults[0].contains("user.toml:1:2") && faults[1].starts_with("runs: ") && faults[2].contains("refused"), "{faults:?}");
    assert_eq!(doctor(folder.path(), &["nowhere"], &[]).0, 4);
}

#[test]
fn each_setting_has_an_origin_and_keys_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("flow.toml"),
        "[models.default]\nprovider = \"ollama\"\nmodel = \"m\"\n[limits]\nmax_tokens = 5\n[lint]\ndeny = [\"F204\"]\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("user.toml"), "private_hosts = [\"llm.office\"]\n[limits]\nmax_tokens = 7\n").unwrap();
    let (exit, out, _) = doctor(folder.path(), &["--config"], &[("FLOW_MODEL", "big"), ("FLOW_API_KEY", "canary-12345")]);
    assert_eq!(exit, 0);
    for part in [
        "FLOW_MODEL = big  (variable)",
        "FLOW_API_KEY = ***  (variable)",
        "models.default = m (not used",
        "limits.max_tokens = 5  (",
        "limits.max_tokens = 7  (",
        "private_hosts = llm.office  (",
        "lint.deny = F204  (",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn the_key_of_the_journal_has_its_origin_and_the_file_that_it_replaces_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("user.toml"), "[journal]\nkey_file = \"k\"\n").unwrap();
    let (_, out, told) = doctor(folder.path(), &["--config"], &[]);
    assert!(out.contains("journal.key_file = k  ("), "{out}{told}");
    let (_, out, told) = doctor(folder.path(), &["--config"], &[("FLOW_JOURNAL_KEY", "canary-12345"), ("FLOW_MCP_TOKEN", "canary-67890")]);
    assert!(out.contains("FLOW_JOURNAL_KEY = ***  (variable)") && out.contains("FLOW_MCP_TOKEN = ***"), "{out}{told}");
    assert!(out.contains("journal.key_file = k (not used: FLOW_JOURNAL_KEY is set)") && !out.contains("canary"), "{out}{told}");
}

#[test]
fn servers_may_stand_where_the_variables_put_the_model_as_in_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = "flow: 1\nname: asks\ndescription: Asks a server.\ntools: { crm: { url: \"http://llm.invalid/mcp\", allow: [find] } }\n\
        steps: [{ id: a, tool: crm.find }]\noutputs: { a: \"{{ steps.a.output }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), text).unwrap();
    let variables = [("FLOW_MODEL", "m"), ("FLOW_MODEL_BASE_URL", "http://llm.invalid/v1")];
    let pinned = ran(command(folder.path(), &["tools", "pin", "--trust", "p.yaml"]).envs(variables));
    let (_, out, _) = doctor(folder.path(), &["p.yaml"], &variables);
    for shown in [pinned.err, out] {
        assert!(shown.contains("crm") && !shown.contains("must begin with https"), "{shown}");
    }
}
