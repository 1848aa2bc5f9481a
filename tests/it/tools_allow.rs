//! `flow tools allow`: names in place of `*`, and nothing else.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::fs;
use std::path::Path;

use crate::mcp_servers::{done, starts, tools};

/// A pipeline with the server of the tests, a folder, a policy and comments.
fn written(folder: &Path, allow: &str, allowed_tools: &str) -> String {
    let tools = tools().replace("    allow: [echo]\n", allow);
    let text = format!(
        "flow: 1
name: talks   # a talk
inputs: {{ text: text }}
{tools}  docs: {{ file: docs, allow: [read] }}
policies:
  office: # for all
{allowed_tools}policy: office
steps:
  - {{ id: said, tool: echo.echo, with: {{ text: \"{{{{ inputs.text }}}}\" }} }}
outputs: {{ said: \"{{{{ steps.said.output }}}}\" }}
"
    );
    fs::create_dir_all(folder.join("docs")).unwrap();
    fs::write(folder.join("flow.toml"), "").unwrap();
    fs::write(folder.join("p.yaml"), &text).unwrap();
    text
}

#[test]
fn names_take_the_place_of_a_star_and_everything_else_stays() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("p.yaml");
    let (wide, wide_list) = ("    allow: [\"*\"] # all of them\n", "    allowed_tools:\n      - \"*\" # for now\n");
    let before = written(home.path(), wide, wide_list);
    let (exit, out, told) = done(home.path(), &["tools", "allow", "p.yaml", "--diff"], "Echoes.");
    assert_eq!(exit, Some(1), "{told}");
    assert!(out.contains("-    allow: [\"*\"] # all of them") && out.contains("+    allow: [echo, shout] # all of them"), "{out}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "--diff writes nothing");
    let (exit, _, told) = done(home.path(), &["tools", "allow", "p.yaml"], "Echoes.");
    assert_eq!(exit, Some(0), "{told}");
    let list = "    allowed_tools:\n      - echo.echo\n      - echo.shout\n      - docs.read # for now\n";
    let wanted = before.replace(wide, "    allow: [echo, shout] # all of them\n").replace(wide_list, list);
    assert_eq!(fs::read_to_string(&file).unwrap(), wanted, "{told}");
    assert!(told.contains("allow of echo: echo, shout") && told.contains("allowed_tools of policy office: echo.echo"), "{told}");
    let asked = starts(home.path()).len();
    let (exit, _, told) = done(home.path(), &["tools", "allow", "p.yaml"], "Echoes.");
    assert!(exit == Some(0) && told.contains("no list of tools has \"*\""), "{told}");
    assert_eq!(starts(home.path()).len(), asked, "nothing is asked where nothing is to be written");
}

#[test]
fn a_server_that_does_not_answer_leaves_the_file_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let before = written(home.path(), "    allow: \"*\"\n", "    allowed_tools: [echo]\n").replace("acts_as_a_server", "acts_as_none");
    fs::write(home.path().join("p.yaml"), &before).unwrap();
    let (exit, _, told) = done(home.path(), &["tools", "allow", "p.yaml"], "Echoes.");
    assert!(exit == Some(1) && told.contains("allow of echo is not changed: echo does not say which tools it has"), "{told}");
    assert_eq!(fs::read_to_string(home.path().join("p.yaml")).unwrap(), before);
}
