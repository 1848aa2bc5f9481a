//! Where commands look for their project, what they say to reach it, and files that are named twice.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use tempfile::TempDir;

use crate::extras::{Extra, has};
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

fn link_to(shop: &std::path::Path) {
    std::os::unix::fs::symlink(shop, shop.parent().unwrap().join("link")).unwrap();
}

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
    link_to(&shop);
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

/// Reads a file, lets a program read it, and does the same with each of a list.
const ONE_FILE: &str = "flow: 1
name: one
inputs:
  file: file
  files: { type: list, items: file, default: [] }
  usual: { type: file, default: ../data/usual.txt }
steps:
  - { id: read, read: '{{ inputs.file }}' }
  - { id: ran, program: [cat, '{{ inputs.file }}'], reads_only: true }
  - { id: usual, read: '{{ inputs.usual }}' }
  - { id: usual_ran, program: [cat, '{{ inputs.usual }}'], reads_only: true }
  - { id: all, program: [cat, '{{ inputs.files }}'], when: inputs.files | length > 0, reads_only: true }
  - { id: each, for_each: inputs.files, as: one, when: inputs.files | length > 0, program: [cat, '{{ one }}'], reads_only: true }
outputs:
  file: '{{ inputs.file }}'
  told: ['{{ steps.read.output.text }}', '{{ steps.ran.output }}']
  usual: ['{{ steps.usual.output.text }}', '{{ steps.usual_ran.output }}']
  list: ['{{ steps.all.output }}', '{{ steps.each.output }}']
";

const CALLS: &str = "flow: 1
name: calls
inputs: { file: file }
steps: [{ id: one, call: deep/one.yaml, with: { file: '{{ inputs.file }}' } }]
outputs: { told: '{{ steps.one.output.told }}' }
";

/// A project with files of the same name in several folders, and a folder beside it.
fn files_of_one_name() -> (TempDir, std::path::PathBuf) {
    let home = home();
    let shop = home.path().canonicalize().unwrap().join("my shop");
    for folder in ["my shop/data", "my shop/deep/data", "my shop/deep/er/data", "data"] {
        let folder = shop.parent().unwrap().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("sales.txt"), folder.strip_prefix(shop.parent().unwrap()).unwrap().display().to_string()).unwrap();
    }
    std::fs::write(shop.join("data/usual.txt"), "usual").unwrap();
    std::fs::write(shop.join("deep/one.yaml"), ONE_FILE).unwrap();
    std::fs::write(shop.join("calls.yaml"), CALLS).unwrap();
    (home, shop)
}

#[test]
fn an_input_of_type_file_is_one_file_from_every_folder() {
    let (_home, shop) = files_of_one_name();
    let home = shop.parent().unwrap();
    link_to(&shop);
    for (folder, file, path, inside) in [
        (shop.clone(), "deep/one.yaml", "data/sales.txt", "data/sales.txt"),
        (home.to_path_buf(), "my shop/deep/one.yaml", "my shop/data/sales.txt", "data/sales.txt"),
        (shop.join("deep"), "one.yaml", "../data/sales.txt", "data/sales.txt"),
        (shop.join("deep"), "one.yaml", "data/sales.txt", "deep/data/sales.txt"),
        (shop.join("deep/er"), "../one.yaml", "data/sales.txt", "deep/er/data/sales.txt"),
        (shop.join("deep/er"), "../one.yaml", "../../data/sales.txt", "data/sales.txt"),
        (shop.join("data"), "../deep/one.yaml", "./sales.txt", "data/sales.txt"),
        (shop.join("deep"), "one.yaml", &shop.join("data/sales.txt").display().to_string(), "data/sales.txt"),
        (shop.join("deep"), "one.yaml", &home.join("link/data/sales.txt").display().to_string(), "data/sales.txt"),
    ] {
        let call = ["run", "--trust", file, "--input", &format!("file={path}"), "--input", &format!("files={path},{path}")];
        let ran = flow(&folder, &call);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let text = format!("my shop/{}", inside.strip_suffix("/sales.txt").unwrap());
        let wanted = serde_json::json!({
            "file": inside, "told": [text, text], "usual": ["usual", "usual"], "list": [format!("{text}{text}"), [text, text]],
        });
        assert_eq!(told, wanted, "{}: {path}: {}", folder.display(), ran.err);
        let calls = shop.join("calls.yaml");
        let call = ["run", "--trust", &calls.display().to_string(), "--input", &format!("file={path}")];
        let ran = flow(&folder, &call);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
        assert_eq!(told, serde_json::json!([text, text]), "{}: {call:?}: {}", folder.display(), ran.err);
    }
    let ran = flow(&shop.join("deep"), &["run", "--trust", "one.yaml", "--input", "file=data/salse.txt"]);
    assert!(ran.err.contains("input file: data/salse.txt does not exist; did you mean \"sales.txt\"?\n") && ran.exit == 6, "{}", ran.err);
    // A text is no path until a step reads it, and means the project.
    std::fs::write(shop.join("text.yaml"), "flow: 1\nname: text\ninputs: { path: text }\nsteps: [{ id: read, read: '{{ inputs.path }}' }]\noutputs: '{{ steps.read.output.text }}'\n").unwrap();
    let ran = flow(&shop.join("deep"), &["run", "../text.yaml", "--input", "path=data/sales.txt"]);
    assert!(ran.out.contains("my shop/data"), "{}", ran.err);
    let ran = flow(&shop.join("deep"), &["run", "../text.yaml", "--input", "path=data/none.txt"]);
    let looked_in = format!("does not exist in {}", shop.join("deep").display());
    assert!(ran.err.contains("The file ../data/none.txt ") && ran.err.contains(&looked_in), "{}", ran.err);
}

#[test]
fn the_project_as_a_folder_and_a_way_back_behind_a_link_mean_what_they_say() {
    let (_home, shop) = files_of_one_name();
    let here = "flow: 1\nname: here\ninputs: { d: { type: folder, default: . } }\nsteps: [{ id: read, read: '{{ inputs.d }}/data/sales.txt' }]\n\
        outputs: { d: '{{ inputs.d }}', text: '{{ steps.read.output.text }}' }\n";
    std::fs::write(shop.join("here.yaml"), here).unwrap();
    for (folder, call) in [
        (shop.clone(), &["run", "here.yaml"][..]),
        (shop.join("deep"), &["run", "../here.yaml"]),
        (shop.join("deep"), &["run", "../here.yaml", "--input", "d=.."]),
    ] {
        let ran = flow(&folder, call);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
        assert_eq!(told, serde_json::json!({ "d": ".", "text": "my shop/data" }), "{call:?}: {}", ran.err);
    }
    let away = shop.parent().unwrap().join("away");
    std::fs::create_dir_all(away.join("in")).unwrap();
    std::fs::write(away.join("x.txt"), "away").unwrap();
    std::fs::write(shop.join("x.txt"), "at home").unwrap();
    std::os::unix::fs::symlink(away.join("in"), shop.join("up")).unwrap();
    let back = "flow: 1\nname: back\ninputs: { f: file }\nsteps: [{ id: read, read: '{{ inputs.f }}' }]\noutputs: '{{ steps.read.output.text }}'\n";
    std::fs::write(shop.join("back.yaml"), back).unwrap();
    for (folder, file, path) in [(shop.clone(), "back.yaml", "f=up/../x.txt"), (shop.join("deep"), "../back.yaml", "f=../up/../x.txt")] {
        let ran = flow(&folder, &["run", file, "--input", path]);
        assert!(ran.out.contains("away"), "{path}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn an_input_of_a_test_is_relative_to_its_file_from_every_folder() {
    let (_home, shop) = files_of_one_name();
    link_to(&shop);
    let test = "flow: 1
test: one.yaml
cases:
  - id: a
    inputs: { file: data/sales.txt, files: [../data/sales.txt] }
    expect:
      outputs:
        file: deep/data/sales.txt
        told: ['my shop/deep/data', 'my shop/deep/data']
        list: ['my shop/data', ['my shop/data']]
";
    std::fs::write(shop.join("deep/one.test.yaml"), test).unwrap();
    for (folder, file) in ways(&shop, "deep/one.test.yaml") {
        let ran = flow(&folder, &["test", &file]);
        assert_eq!(ran.exit, 0, "{}: flow test {file}: {}{}", folder.display(), ran.out, ran.err);
    }
}

#[test]
fn without_a_flow_toml_a_step_and_a_program_still_mean_one_file() {
    let (_home, shop) = files_of_one_name();
    let home = shop.parent().unwrap();
    std::fs::remove_file(shop.join("flow.toml")).unwrap();
    // A program sees the project and the folder of its file.
    std::fs::write(shop.join("deep/one.yaml"), ONE_FILE.replace("../data/usual.txt", "usual.txt")).unwrap();
    std::fs::write(shop.join("deep/usual.txt"), "usual").unwrap();
    for folder in ["data", "my shop", "my shop/data", "my shop/deep"] {
        let folder = home.join(folder);
        let up = if folder.parent() == Some(home) { ".." } else { "../.." };
        for file in [shop.join("deep/one.yaml"), std::path::Path::new(up).join("my shop/deep/one.yaml")] {
            let path = if folder.ends_with("data") { "sales.txt" } else { "data/sales.txt" };
            let ran = flow(&folder, &["run", "--trust", &file.display().to_string(), "--input", &format!("file={path}")]);
            let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
            let text = std::fs::read_to_string(folder.join(path)).unwrap();
            assert_eq!(told["told"], serde_json::json!([text, text]), "{}: {}: {}", folder.display(), file.display(), ran.err);
            assert_eq!(told["usual"], serde_json::json!(["usual", "usual"]), "{}", ran.err);
        }
    }
}

/// Reads a table and a picture, waits for a person, and goes on with both.
const GOES_ON: &str = "flow: 1
name: goes_on
inputs: { picture: file, table: file }
tools: { kept: { file: out, allow: [write] }, notes: { file: out, allow: [write], approve: true } }
steps:
  - { id: picture, read: '{{ inputs.picture }}' }
  - { id: files, read: ['{{ inputs.table }}', note.txt] }
  - { id: wait, tool: notes.write, with: { name: note.txt, text: Hello }, needs: [picture, files] }
  - { id: rows, sql: 'select sum(n) as n from sales', one: true, needs: [wait] }
  - { id: again, read: '{{ steps.files.output[0].path }}', needs: [wait] }
  - { id: ran, program: [cat, '{{ steps.files.output[0].path }}'], reads_only: true, needs: [wait] }
  - { id: each, for_each: steps.files.output, as: one, program: [cat, '{{ one.path }}'], reads_only: true, needs: [wait] }
  - { id: code, python: \"size = len(open(picture['path'], 'rb').read())\\nsame = picture\", with: { picture: '{{ steps.picture.output }}' }, returns: [size, same], needs: [wait] }
  - { id: keep, tool: kept.write, with: { name: copy.png, text: '{{ steps.code.output.same }}' } }
outputs:
  paths: ['{{ steps.picture.output.path }}', '{{ steps.files.output[0].path }}', '{{ steps.files.output[1].path }}', '{{ steps.again.output.path }}']
  sum: '{{ steps.rows.output.n }}'
  ran: '{{ steps.ran.output }}'
  each: '{{ steps.each.output }}'
  size: '{{ steps.code.output.size }}'
";

#[test]
fn a_run_goes_on_from_another_folder_with_the_files_that_it_read() {
    if !has(&[Extra::Python]) {
        return;
    }
    let (_home, shop) = files_of_one_name();
    let picture = include_bytes!("../../pipelines/analyst/data/chart.png");
    for (folder, n) in [(shop.join("data"), 1), (shop.join("deep/data"), 2), (shop.join("deep/er/data"), 3), (shop.join("../data"), 4)] {
        std::fs::write(folder.join("sales.csv"), format!("n\n{n}\n")).unwrap();
        // Whoever opens another file is told by its size.
        std::fs::write(folder.join("dot.png"), [picture, vec![0; n].as_slice()].concat()).unwrap();
    }
    std::fs::create_dir_all(shop.join("deep/out")).unwrap();
    std::fs::write(shop.join("deep/goes_on.yaml"), GOES_ON).unwrap();
    std::fs::write(shop.join("deep/note.txt"), "of deep").unwrap();
    let ways = [
        (shop.clone(), "deep/goes_on.yaml", "data/", 1),
        (shop.join("deep"), "goes_on.yaml", "data/", 2),
        (shop.join("deep/er"), "../goes_on.yaml", "../../data/", 1),
        (shop.parent().unwrap().to_path_buf(), "my shop/deep/goes_on.yaml", "my shop/data/", 1),
    ];
    for (from, (folder, file, data, n)) in ways.iter().enumerate() {
        let (picture_input, table) = (format!("picture={data}dot.png"), format!("table={data}sales.csv"));
        let paused = flow(folder, &["run", "--trust", file, "--input", &picture_input, "--input", &table]);
        assert_eq!(paused.exit, 8, "{}", paused.err);
        let (on, ..) = &ways[(from + 1) % ways.len()];
        let project = shop.display().to_string();
        let id = &told(&paused.err, "flow approve")[1];
        assert_eq!(flow(on, &["approve", id, "wait", "--project", &project]).exit, 0);
        let ran = flow(on, &["runs", "resume", id, "--trust", "--project", &project]);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let inside = if *n == 1 { "data/" } else { "deep/data/" };
        let text = format!("n\n{n}");
        let wanted = serde_json::json!({
            "paths": [format!("{inside}dot.png"), format!("{inside}sales.csv"), "deep/note.txt", format!("{inside}sales.csv")],
            "sum": n, "ran": text, "each": [text, "of deep"], "size": picture.len() + n,
        });
        assert_eq!(told, wanted, "{} → {}: {}", folder.display(), on.display(), ran.err);
        assert_eq!(std::fs::read(shop.join("deep/out/copy.png")).unwrap().len(), picture.len() + n);
        std::fs::remove_file(shop.join("deep/out/copy.png")).unwrap();
        std::fs::remove_file(shop.join("deep/out/note.txt")).unwrap();
    }
}
