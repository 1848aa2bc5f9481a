//! `flow runs list` and `flow runs show`: what they say of past runs, to people at windows of any width and to programs.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{command, flow, ran};
use crate::terminal::{at_window, without_colours};

const PIPELINE: &str = "flow: 1
name: greets
description: Greets a person from a table.
models: { default: { provider: scripted, replies: replies.yaml, price: { input: 1, output: 2 } } }
data: { people: { file: people.csv, pii: [name] } }
agents: { greeter: { instructions: 'You greet people.' } }
inputs: { fails: { type: boolean, default: false }, message: text }
scorecards: { card: { criteria: [{ id: polite, description: The text greets a person., check: { contains: Hello } }] } }
steps:
  - { id: rows, sql: 'select name from people' }
  - { id: ask, agent: greeter, prompt: 'Greet politely. {{ inputs.message }}' }
  - { id: check, gate: card, of: steps.ask.output, otherwise: Sorry }
  - { id: broken, when: inputs.fails, set: \"{{ steps.rows.output[7].name }}\" }
outputs: { reply: \"{{ steps.check.output }}\" }
";

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("flow.toml", ""),
        ("greets.yaml", PIPELINE),
        ("people.csv", "name\nZsofia Quux\n"),
        ("replies.yaml", "flow: 1\nreplies:\n  ask: { text: 'Hello, Zsofia Quux!', usage: { input_tokens: 1000, output_tokens: 500 } }\n"),
        ("chat.yaml", "flow: 1\nchannel: chat\n"),
        ("other.yaml", "flow: 1\nname: other\nsteps:\n  - { id: a, set: A }\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn listed(folder: &TempDir, options: &[&str]) -> Vec<Value> {
    let ran = flow(folder.path(), &[&["runs", "list", "--json"], options].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

const ASKED: &str = "message=Is Zsofia Quux (ana@example.com) there?";

/// Runs: of the other pipeline twice, then one that is asked something, then one that fails.
fn with_runs() -> TempDir {
    let folder = project();
    let fails = ["run", "greets.yaml", "-q", "--input", ASKED, "--input", "fails=true"];
    for (exit, call) in [(0, &["run", "other.yaml", "-q"][..]), (0, &["run", "other.yaml", "-q"]), (0, &fails[..5]), (6, &fails)] {
        let ran = flow(folder.path(), call);
        assert_eq!(ran.exit, exit, "{call:?}: {}", ran.err);
    }
    folder
}

#[test]
fn the_list_says_what_was_asked_and_what_it_cost_and_nothing_personal() {
    let folder = with_runs();
    let list = flow(folder.path(), &["runs", "list"]).out;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 4, "{list}");
    assert!(lines[0].contains("  failed     ") && lines[1].contains("  succeeded  ") && lines[1].contains("  greets  "), "{list}");
    assert!(lines[1].contains(" ms  ") && lines[1].contains("  0.0020 USD  Is <PERSON_1> (<EMAIL_1>) there?"), "{list}");
    let json = listed(&folder, &["--limit", "2"]);
    assert_eq!(json[1]["question"], "Is <PERSON_1> (<EMAIL_1>) there?");
    assert_eq!((&json[1]["usage"]["cost_usd"], json[1]["duration_ms"].is_u64(), json.len()), (&Value::from(0.002), true, 2));
    let shown = flow(folder.path(), &["runs", "show"]).out;
    for all in [&list, &shown, &json[1].to_string()] {
        assert!(!all.contains("Zsofia") && !all.contains("ana@"), "{all}");
    }
}

#[test]
fn a_record_shows_question_prompt_reply_and_verdicts() {
    let folder = with_runs();
    let run = &listed(&folder, &["--limit", "2"])[1]["run"];
    let shown = flow(folder.path(), &["runs", "show", run.as_str().unwrap()]).out;
    for line in [
        "question: Is <PERSON_1> (<EMAIL_1>) there?\n",
        "reply:    Hello, <PERSON_1>!\n",
        "turn ask: greeter, default, ",
        "  prompt: Greet politely. Is <PERSON_1> (<EMAIL_1>) there?\n  reply:  Hello, <PERSON_1>!\n",
        "gate \"check\": 1 of 1 met: polite\n",
        "tokens: 1000 in, 500 out; 0.0020 USD\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn the_list_is_filtered_and_its_last_line_counts_what_it_leaves_out() {
    let folder = with_runs();
    let names =
        |options: &[&str]| listed(&folder, options).iter().map(|run| run["pipeline"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&["--pipeline", "other"]), ["other", "other"]);
    assert_eq!(names(&["--status", "failed"]), ["greets"]);
    assert_eq!(names(&["--status", "killed"]).len(), 0);
    assert_eq!(
        (names(&["--since", "1h"]).len(), names(&["--since", "2020-01-01"]).len(), names(&["--since", "2999-01-01T00:00:00Z"]).len()),
        (4, 4, 0)
    );
    let cut = flow(folder.path(), &["runs", "list", "--limit", "3"]);
    assert_eq!((cut.exit, cut.out.lines().count(), cut.err.as_str()), (0, 3, "1 more run is not shown; --limit N shows more\n"));
    let none = flow(folder.path(), &["runs", "list", "--status", "partial"]);
    assert_eq!((none.exit, none.out.as_str(), none.err.as_str()), (0, "", "no run matches; flow runs list shows all\n"));
    for (wrong, told) in [
        (["--since", "yesterday"], "--since yesterday: write a day (2026-11-18), a time (2026-11-18T09:00:00Z), or how long ago (2h, 7d)"),
        (
            ["--status", "broken"],
            "[possible values: cancelled, timed_out, over_budget, failed, quality_not_met, partial, succeeded, running, waiting, killed]",
        ),
        (["--limit", "0"], "0 is not in 1.."),
    ] {
        let ran = flow(folder.path(), &[&["runs", "list"], &wrong[..]].concat());
        assert!(ran.exit == 2 && ran.err.contains(told), "{wrong:?}: {}", ran.err);
    }
}

#[test]
fn the_beginning_of_an_id_is_enough_for_every_command_where_it_is_unique() {
    let folder = with_runs();
    let runs = listed(&folder, &[]);
    let id = runs[3]["run"].as_str().unwrap();
    let short = &id[..20];
    for call in [
        &["runs", "show", short][..],
        &["runs", "export", short],
        &["graph", "--run", short],
        &["runs", "resume", short],
        &["runs", "rm", short],
    ] {
        let ran = flow(folder.path(), call);
        assert_eq!(ran.exit, 0, "{call:?}: {}", ran.err);
    }
    let several = flow(folder.path(), &["runs", "show", "r_"]);
    assert!(several.exit == 2 && several.err.contains("3 runs begin with \"r_\""), "{}", several.err);
}

#[test]
fn an_encrypted_run_is_listed_without_its_key() {
    let folder = project();
    std::fs::write(folder.path().join("flow.toml"), "[journal]\nencrypt = true\n").unwrap();
    let key = ("FLOW_JOURNAL_KEY", "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=");
    let run = ran(command(folder.path(), &["run", "greets.yaml", "-q", "--input", ASKED]).env(key.0, key.1));
    assert_eq!(run.exit, 0, "{}", run.err);
    let list = flow(folder.path(), &["runs", "list"]).out;
    assert!(list.contains("  greets  -  -  (encrypted)"), "{list}");
    let list = ran(command(folder.path(), &["runs", "list"]).env(key.0, key.1)).out;
    assert!(list.contains("Is <PERSON_1>"), "{list}");
}

#[test]
fn no_line_is_wider_than_the_window_and_its_short_ids_are_ids() {
    let folder = with_runs();
    for width in [40, 60, 120] {
        for call in [&["runs", "list"][..], &["runs", "show"]] {
            let (exit, shown) = at_window(folder.path(), call, width, &[]);
            assert_eq!(exit, 0, "{shown}");
            assert!(shown.contains("\u{1b}[31mfailed"), "{shown:?}");
            for line in without_colours(&shown).lines() {
                assert!(line.chars().count() <= width.into(), "{width}: {line}");
            }
        }
        let (_, shown) = at_window(folder.path(), &["runs", "list"], width, &[("NO_COLOR", "1")]);
        assert!(!shown.contains('\u{1b}') && shown.lines().next().unwrap().starts_with("RUN         "), "{shown:?}");
        let id = shown.lines().nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!((id.len(), flow(folder.path(), &["runs", "show", id]).exit), (10, 0), "{id}");
    }
    let (_, wide) = at_window(folder.path(), &["runs", "list"], 120, &[]);
    assert!(wide.contains("Is <PERSON_1>") && wide.contains("0.0020 USD"), "{wide}");
}

#[test]
fn a_run_is_removed_by_enough_of_its_id_and_never_by_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.yaml"), "flow: 1\nname: a\nsteps: [{ id: x, set: y }]\n").unwrap();
    assert_eq!(flow(folder.path(), &["run", "-q", "a.yaml"]).exit, 0);
    for id in ["", "r", "r_"] {
        let refused = flow(folder.path(), &["runs", "rm", id]);
        assert!(refused.exit == 2 && refused.err.contains("at least 6 characters"), "{id}: {}", refused.err);
    }
    let hint = flow(folder.path(), &["runs", "prune", "--older-than", "30"]);
    assert!(hint.exit == 2 && hint.err.contains("write 30d for days"), "{}", hint.err);
    let listed: serde_json::Value = serde_json::from_str(&flow(folder.path(), &["runs", "list", "--json"]).out).unwrap();
    let id = listed[0]["run"].as_str().unwrap();
    let removed = flow(folder.path(), &["runs", "rm", &id[..8]]);
    assert!(removed.exit == 0 && removed.err.contains(&format!("run {id} removed")), "{}", removed.err);
}

#[test]
fn a_project_is_checked_from_a_subfolder_as_from_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("flow.toml", ""),
        ("pipelines/a.yaml", "flow: 1\nname: a\nbroken: 1\nsteps: [{ id: x, set: y }]\noutputs: { r: \"{{ steps.x.output }}\" }\n"),
        ("tests/a.test.yaml", "flow: 1\ntest: ../pipelines/a.yaml\ncases: [{ id: c, expect: { status: succeeded } }]\n"),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let codes = |below: &str| {
        let found = flow(&folder.path().join(below), &["validate", "--json", "--verbose"]);
        let found: serde_json::Value = serde_json::from_str(&found.out).unwrap();
        let all = found["findings"].as_array().unwrap_or_else(|| panic!("{found}")).clone();
        let told = |one: &serde_json::Value| format!("{} {}", one["code"], one["message"]);
        all.iter().map(told).collect::<std::collections::BTreeSet<_>>().len() == all.len() && !all.iter().any(|one| one["code"] == "F703")
    };
    assert!(["", "pipelines", "tests"].into_iter().all(codes));
}
