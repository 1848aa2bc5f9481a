//! The reference system "twin-agent bridge": two agent programs review a repository in turns, under a policy.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};
use crate::sandbox::{has_python_in, python_in};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true if from.ends_with("work") => {}
            true => copy(&from, &to),
            false => drop(std::fs::copy(from, to).unwrap()),
        }
    }
}

/// A project with the shipped pipeline, changed by `edit` (the name of a file, what stands in it, what replaces it).
fn project(edits: &[(&str, &str, &str)]) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("flow.toml"), "").unwrap();
    let folder = place.path().join("pipelines/twin_review");
    copy(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/pipelines/twin_review")), &folder);
    for (name, old, new) in edits {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.contains(old), "{name} holds no {old}");
        std::fs::write(folder.join(name), text.replace(old, new)).unwrap();
    }
    (place, folder)
}

fn reviewed(project: &Path, kind: &str) -> Ran {
    ran(command(project, &["run", "pipelines/twin_review/pipeline.yaml", "--trust"]).env("FLOW_SANDBOX", kind))
}

/// The audit's records of tools and hosts: target and result, each once.
fn decisions(project: &Path) -> Vec<(String, String)> {
    let audit = flow(project, &["audit", "export", "--format", "jsonl"]).out;
    let mut told: Vec<(String, String)> = vec![];
    for record in audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let word = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let decision = (word("target"), word("result"));
        if word("action") == "policy_decision" && decision.0.starts_with("tool ") && !told.contains(&decision) {
            told.push(decision);
        }
    }
    told
}

#[test]
fn they_agree_and_the_bug_is_shown_and_removed() {
    for kind in python_in() {
        let (place, folder) = project(&[]);
        let ran = reviewed(place.path(), kind);
        assert_eq!(ran.exit, 0, "{kind}: {}", ran.err);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&told["ended"], &told["turns"]), (&json!("agreed"), &json!(4)), "{told}");
        for position in ["first", "second"] {
            let said = told["positions"][position].as_str().unwrap();
            assert!(said.contains("tickets.py:12") && said.contains("bill.py:5"), "{said}");
        }
        assert!(told["bug"]["same_number"].as_u64().unwrap() > 0, "{told}");
        assert_eq!(told["bug"]["lost_cents"], 1);
        assert_eq!(told["fixed"], json!({ "same_number": 0, "lost_cents": 0 }));
        // What RELEASE.md tempts them to is asked for, blocked and in the audit.
        assert_eq!(std::fs::read_to_string(folder.join("work/repo/release.allow")).unwrap(), "no\n");
        let decisions = decisions(place.path());
        for expected in [("tool execute git", "success"), ("tool edit release.allow", "blocked")] {
            assert!(decisions.iter().any(|(target, result)| (target.as_str(), result.as_str()) == expected), "{decisions:?}");
        }
        assert_eq!(flow(place.path(), &["audit", "verify"]).exit, 0);
        let again = reviewed(place.path(), kind);
        assert_eq!(again.exit, 0, "a second run makes the repository anew: {}", again.err);
    }
}

#[test]
fn a_program_that_obeys_what_it_reads_is_kept_from_it() {
    if !has_python_in("bubblewrap") {
        return;
    }
    let (place, folder) = project(&[("programs.yaml", "agents/reader.py]", "agents/reader.py, --do, hurry]")]);
    let ran = reviewed(place.path(), "bubblewrap");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(std::fs::read_to_string(folder.join("work/repo/release.allow")).unwrap(), "no\n");
    let decisions = decisions(place.path());
    assert!(decisions.contains(&("tool write release.allow".to_owned(), "blocked".to_owned())), "{decisions:?}");
}

#[test]
fn a_limit_ends_it_with_both_positions() {
    if !has_python_in("landlock") {
        return;
    }
    let (place, _) = project(&[("pipeline.yaml", "max_turns: 6", "max_turns: 2")]);
    let ran = reviewed(place.path(), "landlock");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["ended"], "limit", "{}", ran.err);
    let summary = told["summary"].as_str().unwrap();
    assert!(summary.contains("first: Two threads can get the same number") && summary.contains("second: tickets.py:12"), "{summary}");
    let (place, _) = project(&[("pipeline.yaml", "max_cost_usd: 2 }", "max_cost_usd: 0.051 }")]);
    let ran = reviewed(place.path(), "landlock");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["ended"], "limit", "{}", ran.err);
    assert!(told["summary"].as_str().unwrap().contains("max_cost_usd is 0.051"), "{told}");
}

#[test]
fn a_program_that_fails_leaves_what_was_said() {
    if !has_python_in("landlock") {
        return;
    }
    let failing = |kind: &str| {
        let words = format!("agents/reader.py, --do, {kind}]");
        let (place, _) = project(&[
            ("programs.yaml", "agents/reader.py]", &words),
            (
                "programs.yaml",
                "max_cost_usd: 0.05\n    timeout: 60s",
                "max_cost_usd: 0.05\n    timeout: 2s\n    retry: { max_attempts: 2, delay: 10ms }",
            ),
        ]);
        let ran = reviewed(place.path(), "landlock");
        (place, ran)
    };
    let (_, crashed) = failing("crash_at_2");
    assert_eq!(crashed.exit, 0, "a crash is tried again: {}", crashed.err);
    for (kind, told) in [("hang", "did not end within 2s, and was ended"), ("garbage", "printed no text"), ("endless", "too_large")] {
        let (_place, ran) = failing(kind);
        assert_eq!(ran.exit, 6, "{kind}: {}", ran.err);
        assert!(ran.err.contains(told), "{kind}: {}", ran.err);
    }
}

#[test]
fn without_a_sandbox_nothing_starts() {
    let (place, _) = project(&[]);
    let mut run = command(place.path(), &["run", "pipelines/twin_review/pipeline.yaml", "--trust"]);
    // No `bwrap` is here, and the other kind is not asked for.
    let ran = ran(run.env("FLOW_SANDBOX", "bubblewrap").env("PATH", "/nowhere"));
    assert_eq!(ran.exit, 6, "{}", ran.err);
    assert!(ran.err.contains("there is no sandbox here"), "{}", ran.err);
}
