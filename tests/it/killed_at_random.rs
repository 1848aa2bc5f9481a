//! What a run has shown survives its process: killed at random moments, nothing that was told is lost.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use flow::port::Store;
use flow_adapters::sqlite_store::SqliteStore;
use flow_base::journal::record;
use serde_json::Value;

use crate::program::command;

const KILLS: u64 = 60;

/// Four chains of short steps: at any moment some end, and some have just ended.
fn pipeline() -> String {
    let mut text = "flow: 1\nname: chains\ndescription: Many short steps.\nsteps:\n".to_string();
    for chain in 0..4 {
        for step in 0..75 {
            let needs = if step == 0 { String::new() } else { format!("c{chain}_{}", step - 1) };
            let what = if step % 3 == 0 { format!("wait: {}ms", 1 + (step * 7 + chain * 3) % 12) } else { "set: done".to_string() };
            let _ = writeln!(text, "  - {{ id: c{chain}_{step}, needs: [{needs}], {what} }}");
        }
    }
    text + "outputs: { text: \"{{ steps.c0_74.output }}\" }\n"
}

/// Starts the run, kills it some time after it has shown something, and gives what it had shown as done and what is kept as done.
fn killed(folder: &Path, number: u64) -> (BTreeSet<String>, BTreeSet<String>) {
    let (events, told) = (format!("events{number}.jsonl"), folder.join(format!("told{number}.txt")));
    let mut command = command(folder, &["run", "p.yaml", "--events", &events]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::from(File::create(&told).unwrap())).spawn().unwrap();
    let shown = || std::fs::read_to_string(folder.join(&events)).unwrap_or_default();
    while shown().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_micros(number * 7_919 % 90_000));
    child.kill().unwrap();
    child.wait().unwrap();

    let shown = shown();
    // The last line may be cut.
    let lines: Vec<Value> = shown.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let run = lines[0]["run"].as_str().unwrap().to_string();
    let ended = lines.iter().filter(|event| event["type"] == "step_succeeded").map(|event| event["step"].as_str().unwrap().to_string());
    let progress = std::fs::read_to_string(told).unwrap();
    let done = progress.lines().filter_map(|line| line.split_once(": done")).map(|(step, _)| step.to_string());
    let record = record(&SqliteStore::open(&folder.join(".flow/runs.db")).unwrap().events(&run).unwrap());
    let kept = record.into_iter().flat_map(|record| record.steps).filter(|step| step.status == "succeeded").map(|step| step.step);
    (ended.chain(done).collect(), kept.collect())
}

#[test]
fn a_killed_run_has_shown_no_step_as_done_that_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), pipeline()).unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    let kill = |hand: u64| {
        let folder = folder.path();
        move || (0..KILLS / 4).map(|n| killed(folder, hand * (KILLS / 4) + n)).collect::<Vec<_>>()
    };
    let runs: Vec<_> = std::thread::scope(|scope| {
        let hands: Vec<_> = (0..4).map(|hand| scope.spawn(kill(hand))).collect();
        hands.into_iter().flat_map(|hand| hand.join().unwrap()).collect()
    });
    assert_eq!(runs.len() as u64, KILLS);
    let shown: usize = runs.iter().map(|(shown, _)| shown.len()).sum();
    let within = runs.iter().filter(|(shown, _)| (1..300).contains(&shown.len())).count();
    assert!(shown > 300 && within > 30, "{shown} steps shown, {within} runs killed within");
    let lost: Vec<&String> = runs.iter().flat_map(|(shown, kept)| shown.difference(kept)).collect();
    assert!(lost.is_empty(), "{} of {shown} steps were shown as done and are lost", lost.len());
}
