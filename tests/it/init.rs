//! `flow init`: the first project runs, tests and is without findings; nothing is ever overwritten.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::extras::{Extra, has};
use crate::program::{Ran, flow, ran};

fn files(folder: &Path, base: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, base, found);
        } else {
            found.insert(path.strip_prefix(base).unwrap().to_path_buf());
        }
    }
}

#[test]
fn the_first_project_runs_tests_and_is_without_findings() {
    let folder = tempfile::tempdir().unwrap();
    let Ran { exit, out, err: told } = flow(folder.path(), &["init", "shop"]);
    assert_eq!((exit, out.as_str()), (0, ""), "{told}");
    assert!(told.contains("\nNow:\n  cd shop\n  flow run "), "{told}");
    let shop = folder.path().join("shop");
    let Ran { exit, out, err: told } = flow(&shop, &["validate", "--deny-warnings"]);
    assert_eq!(exit, 0, "{out}{told}");
    let Ran { exit, out, err: told } = flow(&shop, &["test"]);
    assert_eq!((exit, told.contains("5 passed, 0 failed")), (0, true), "{out}{told}");
    let asked = ["run", "pipelines/shop/pipeline.yaml", "--input", "message=When do you open on Saturday?"];
    let Ran { exit, out, err: told } = flow(&shop, &asked);
    assert_eq!((exit, out.contains("from 10:00 to 16:00")), (0, true), "{out}{told}");
    std::fs::write(shop.join("pipelines/shop/data/hours.csv"), "day,opens,closes\nSaturday,8:30,12:15\n").unwrap();
    assert!(flow(&shop, &asked).out.contains("from 8:30 to 12:15"));
}

#[test]
fn nothing_is_overwritten_and_nothing_is_half_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("channels")).unwrap();
    std::fs::write(folder.path().join("channels/sms.yaml"), "mine").unwrap();
    let Ran { exit, err: told, .. } = flow(folder.path(), &["init"]);
    assert_eq!((exit, told.contains("channels/sms.yaml")), (2, true), "{told}");
    let mut there = BTreeSet::new();
    files(folder.path(), folder.path(), &mut there);
    assert_eq!(there, BTreeSet::from([PathBuf::from("channels/sms.yaml")]));
    assert_eq!(std::fs::read_to_string(folder.path().join("channels/sms.yaml")).unwrap(), "mine");
}

#[test]
fn every_file_of_the_starter_is_written() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("starter");
    let mut there = BTreeSet::new();
    files(&base, &base, &mut there);
    there.retain(|path| !path.starts_with(".flow"));
    assert_eq!(there, flow_cli::STARTER.iter().map(|(name, _)| PathBuf::from(name)).collect());
}

#[test]
fn the_examples_of_each_help_work_in_a_first_project() {
    if !has(&[Extra::Git]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(flow(folder.path(), &["init"]).exit, 0);
    assert_eq!(flow(folder.path(), &["run", "pipelines/shop/pipeline.yaml", "-q", "--input", "message=Hi"]).exit, 0);
    let runs: serde_json::Value = serde_json::from_str(&flow(folder.path(), &["runs", "list", "--json"]).out).unwrap();
    // For --changed-since.
    let git = "git init -q -b main && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm first";
    ran(std::process::Command::new("sh").current_dir(folder.path()).args(["-c", git]));
    let commands = [
        "run", "validate", "test", "fix", "plan", "trust", "graph", "explain", "doctor", "schema", "completions", "runs list", "runs show",
        "runs export", "init", "runs prune", "runs rm",
    ];
    let mut count = 0;
    for command in commands {
        let help = flow(folder.path(), &command.split(' ').chain(["--help"]).collect::<Vec<_>>()).out;
        for line in help.split_once("Examples:\n").unwrap().1.lines() {
            let line = line.trim().replace("r_3f2a", runs[0]["run"].as_str().unwrap());
            let words = ran(std::process::Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")])).out;
            let done = flow(folder.path(), &words.lines().skip(1).collect::<Vec<_>>());
            assert_eq!(done.exit, 0, "{line}: {}{}", done.out, done.err);
            count += 1;
        }
    }
    assert!(count > 25, "{count} examples ran");
}
