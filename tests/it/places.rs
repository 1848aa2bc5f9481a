//! Where commands look for their project, what they say to reach it, and files that are named twice.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use tempfile::TempDir;

use crate::program::{flow, ran};

const ASKS: &str = "flow: 1
name: keeps
description: Writes a note when a person allows it.
tools: { notes: { file: ., allow: [write], approve: true } }
steps:
  - { id: keep, tool: notes.write, with: { name: note.txt, text: Hello } }
";

/// A project below a folder, and a folder in it.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("my shop/deep/er")).unwrap();
    std::fs::write(home.path().join("my shop/flow.toml"), "").unwrap();
    std::fs::write(home.path().join("my shop/asks.yaml"), ASKS).unwrap();
    home
}

/// The command that begins so in a text, without what is said about it.
fn told(text: &str, begin: &str) -> Vec<String> {
    let line = text.lines().map(|line| line.trim_start().trim_start_matches("then: ")).find(|line| line.starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("no {begin}: {text}")).split("   ").next().unwrap();
    let mut words = std::process::Command::new("sh");
    words.args(["-c", &format!("printf '%s\\n' {}", line.strip_prefix("flow ").unwrap())]);
    ran(&mut words).out.lines().map(str::to_owned).collect()
}

#[test]
fn every_command_finds_the_project_upwards() {
    let home = home();
    let deep = home.path().join("my shop/deep/er");
    let paused = flow(&deep, &["run", "../../asks.yaml"]);
    assert_eq!(paused.exit, 8, "{}", paused.err);
    assert!(home.path().join("my shop/.flow").is_dir() && !paused.err.contains("--project"), "{}", paused.err);
    for call in [&["runs", "list"][..], &["runs", "show"], &["runs", "export"], &["graph", "--run", "r_"], &["doctor"], &["validate"]] {
        let ran = flow(&deep, call);
        assert_eq!(ran.exit, 0, "{call:?}: {}{}", ran.out, ran.err);
    }
    assert_eq!(flow(&deep, &["approve", "r_", "keep"]).exit, 0);
    assert_eq!(flow(&deep, &["runs", "resume", "r_"]).exit, 0);
    assert!(home.path().join("my shop/note.txt").is_file());
}

#[test]
fn a_command_that_is_told_works_from_where_it_is_told() {
    let home = home();
    let call = |words: &[String]| flow(home.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    let paused = flow(home.path(), &["run", "my shop/asks.yaml"]);
    assert_eq!(paused.exit, 8, "{}", paused.err);
    let shown = call(&told(&paused.err, "flow approve"));
    assert!(shown.exit == 0 && shown.out.contains("notes.write"), "{}", shown.err);
    let yes: Vec<String> = told(&paused.err, "flow approve").into_iter().filter(|word| word != "--show").collect();
    let noted = call(&yes);
    assert_eq!(noted.exit, 0, "{}", noted.err);
    assert!(noted.err.contains("flow runs resume r_") && noted.err.contains(" --project 'my shop'"), "{}", noted.err);
    let done = call(&told(&paused.err, "flow runs resume"));
    assert_eq!(done.exit, 0, "{}", done.err);
    let none = flow(home.path(), &["runs", "show", "r_x", "--project", "my shop"]);
    assert!(none.err.contains("see flow runs list --project 'my shop'"), "{}", none.err);
}

#[test]
fn a_file_that_is_named_twice_is_checked_and_tested_once() {
    let home = home();
    let shop = home.path().join("my shop").canonicalize().unwrap();
    std::fs::write(shop.join("team.yaml"), "flow: 1\nagents: { one: { nonsense: 1 } }\n").unwrap();
    for name in ["a", "b"] {
        let text = format!(
            "flow: 1\nname: {name}\nimports: [team.yaml]\nsteps: [{{ id: s, set: 1 }}]\noutputs: {{ x: '{{{{ steps.s.output }}}}' }}\n"
        );
        std::fs::write(shop.join(format!("{name}.yaml")), text).unwrap();
    }
    std::fs::write(shop.join("deep/Own.Test.YML"), "flow: 1\ntest: ../c.yaml\ncases: [{ id: t, expect: { status: succeeded } }]\n")
        .unwrap();
    std::fs::write(shop.join("c.yaml"), "flow: 1\nname: c\nsteps: [{ id: s, set: 1 }]\n").unwrap();
    let whole = shop.to_str().unwrap();
    for paths in [
        &["validate", "."][..],
        &["validate", ".", whole],
        &["validate", whole, "deep/../.", "../my shop"],
        &["validate", "a.yaml", &format!("{whole}/b.yaml")],
    ] {
        let ran = flow(&shop, paths);
        assert_eq!((ran.exit, ran.out.matches("nonsense").count() / 2), (1, 1), "{paths:?}: {}", ran.out);
    }
    for paths in [&["test", "."][..], &["test", ".", whole], &["test", "deep"]] {
        let ran = flow(&shop, paths);
        assert_eq!((ran.exit, ran.err.as_str()), (0, "1 passed, 0 failed\n"), "{paths:?}: {}{}", ran.out, ran.err);
    }
}

const READS: &str = "flow: 1
name: reads
imports: [lib/notes.yaml]
policies: { only_notes: { file_access: { read: ['deep/**'], write: [] } } }
policy: only_notes
steps:
  - { id: all, read: notes/a.md }
  - { id: found, search: notes, for: apples }
outputs: { all: '{{ steps.all.output.text }}', found: '{{ steps.found.output[0].file }}' }
";

/// The folder from which a command is called, and the words that name a file.
fn ways(shop: &std::path::Path, file: &str) -> Vec<(std::path::PathBuf, String)> {
    let home = shop.parent().unwrap();
    let link = home.join("link");
    let (parent, name) = file.rsplit_once('/').unwrap_or(("", file));
    vec![
        (shop.to_path_buf(), file.to_owned()),
        (home.to_path_buf(), format!("my shop/{file}")),
        (home.to_path_buf(), format!("link/{file}")),
        (home.to_path_buf(), format!("my shop/deep/../{file}")),
        (home.to_path_buf(), shop.join(file).display().to_string()),
        (home.to_path_buf(), link.join(file).display().to_string()),
        (link.clone(), file.to_owned()),
        (link.clone(), link.join(file).display().to_string()),
        (shop.join("deep/er"), format!("../../{file}")),
        (shop.join("deep/er"), shop.join(file).display().to_string()),
        (shop.join("deep/er"), link.join(file).display().to_string()),
        (link.join("deep"), format!("../{file}")),
        (shop.join(parent), name.to_owned()),
    ]
}

#[test]
fn a_pipeline_finds_the_same_files_from_every_folder() {
    let home = home();
    let shop = home.path().canonicalize().unwrap().join("my shop");
    std::os::unix::fs::symlink(&shop, shop.parent().unwrap().join("link")).unwrap();
    std::fs::create_dir_all(shop.join("deep/notes")).unwrap();
    std::fs::create_dir_all(shop.join("deep/lib")).unwrap();
    std::fs::write(shop.join("deep/notes/a.md"), "Apples are red.\n").unwrap();
    std::fs::write(shop.join("deep/reads.yaml"), READS).unwrap();
    std::fs::write(shop.join("deep/lib/notes.yaml"), "flow: 1\nknowledge: { notes: { files: ../notes/*.md } }\n").unwrap();
    for (folder, file) in ways(&shop, "deep/reads.yaml") {
        let ran = flow(&folder, &["run", &file]);
        let outputs: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let wanted = serde_json::json!({ "all": "Apples are red.\n", "found": "deep/notes/a.md" });
        assert_eq!(outputs, wanted, "{}: flow run {file}: {}", folder.display(), ran.err);
    }
}
