//! `flow import`: files of other programs become files without errors, and what is lost is told.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::{Path, PathBuf};

use crate::program::{Ran, flow};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import")
}

/// A folder with a copy of the fixtures: results are checked beside them.
fn copied() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                std::fs::create_dir(&target).unwrap();
                copy(&entry.path(), &target);
            } else {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&fixtures(), folder.path());
    folder
}

/// The result and what is told of it are those of the pair; the result has no errors.
fn same(format: &str, file: &str, expected: &str) {
    let folder = copied();
    let Ran { exit, out, err } = flow(folder.path(), &["import", format, file]);
    assert_eq!(exit, 0, "{err}");
    let told: String = err.lines().map(|line| format!("# - {}\n", line.replace("flow-ignore", "flow ignore"))).collect();
    assert!(out.contains(&told), "the head of the result names what is told:\n{out}\n{err}");
    let place = fixtures().join(expected);
    if std::env::var_os("FLOW_UPDATE").is_some() {
        std::fs::write(&place, &out).unwrap();
    }
    assert_eq!(out, std::fs::read_to_string(&place).unwrap_or_default(), "{expected}; FLOW_UPDATE=1 writes it");
    let result = folder.path().join(file).with_file_name("result.yaml");
    std::fs::write(&result, out).unwrap();
    let Ran { exit, out, err } = flow(folder.path(), &["validate", result.to_str().unwrap()]);
    assert_eq!(exit, 0, "{out}{err}");
}

#[test]
fn agents_with_routes_become_steps_and_loops() {
    same("conductor", "review.conductor.yaml", "review.expected.yaml");
    same("conductor", "each.conductor.yaml", "each.expected.yaml");
}

#[test]
fn tasks_become_groups_loops_and_routes() {
    same("conductor", "order.json", "order.expected.yaml");
    same("conductor", "loops.json", "loops.expected.yaml");
}

#[test]
fn nodes_become_steps_in_the_order_of_their_references() {
    same("promptflow", "answers/flow.dag.yaml", "answers/expected.yaml");
}

#[test]
fn prompts_and_assertions_become_a_pipeline_and_its_tests() {
    same("promptfoo", "greeting/promptfooconfig.yaml", "greeting/expected.yaml");
}

#[test]
fn texts_of_a_hostile_file_stay_data() {
    same("conductor", "hostile.conductor.yaml", "hostile.expected.yaml");
}

#[test]
fn files_are_written_and_never_over_others() {
    let folder = copied();
    let import = ["import", "promptfoo", "greeting/promptfooconfig.yaml", "--output", "new/folder"];
    let Ran { exit, out, err } = flow(folder.path(), &import);
    assert_eq!((exit, out.as_str()), (0, ""), "{err}");
    let names = ["new/folder/promptfooconfig.yaml", "new/folder/promptfooconfig.test.yaml"];
    names.iter().for_each(|name| assert!(folder.path().join(name).is_file() && err.contains(&format!("wrote {name}\n")), "{err}"));
    let Ran { exit, out, err } = flow(folder.path(), &["validate", "new/folder"]);
    assert_eq!(exit, 0, "{out}{err}");
    std::fs::remove_file(folder.path().join(names[0])).unwrap();
    let Ran { exit, err, .. } = flow(folder.path(), &import);
    assert_eq!((exit, folder.path().join(names[0]).exists()), (2, false), "{err}");
    assert!(err.contains("nothing was written: new/folder/promptfooconfig.test.yaml already exists"), "{err}");
}

#[test]
fn what_cannot_be_imported_is_refused_with_its_place() {
    let folder = copied();
    let write = |text: &str| std::fs::write(folder.path().join("other.yaml"), text).unwrap();
    let import = |format: &str, file: &str| {
        let Ran { exit, out, err } = flow(folder.path(), &["import", format, file]);
        assert_eq!(out, "");
        (exit, err)
    };
    write("a: [1\nb: 2\n");
    let (exit, err) = import("conductor", "other.yaml");
    assert_eq!((exit, err.contains("error[F001]"), err.contains("other.yaml:")), (1, true, true), "{err}");
    write("# a file of something else\nsteps: []\n");
    for (format, lacks) in [("conductor", "no workflow"), ("promptflow", "no list of nodes"), ("promptfoo", "no prompts")] {
        let (exit, err) = import(format, "other.yaml");
        assert_eq!((exit, err.contains("other.yaml:2: ") && err.contains(lacks)), (1, true), "{err}");
    }
    let (exit, err) = import("promptfoo", "nothing.yaml");
    assert_eq!((exit, err.as_str()), (4, "no file found: nothing.yaml does not exist\n"));
    std::fs::write(folder.path().join("other.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    assert_eq!(import("promptfoo", "other.yaml").0, 1);
}

#[test]
fn broken_and_hostile_files_end_in_a_clear_error() {
    let folder = copied();
    let deep = format!("prompts: {}{}", "[".repeat(5000), "]".repeat(5000));
    let levels = (1..40).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)).collect::<String>();
    let bomb = format!("a0: &a0 [1, 1]\n{levels}prompts: *a39\n");
    let cases = [
        ("empty", String::new(), "this is no file of promptfoo"),
        ("a picture", "\u{0}\u{1}PNG".to_owned(), "this is no file of promptfoo"),
        ("deep", deep, "error"),
        ("anchors", bomb, "error"),
        ("large", format!("prompts: [{}]", "a".repeat(10 << 20)), "MiB"),
    ];
    for (what, text, told) in cases {
        std::fs::write(folder.path().join("bad.yaml"), text).unwrap();
        let Ran { exit, out, err } = flow(folder.path(), &["import", "promptfoo", "bad.yaml", "--output", "new"]);
        assert_eq!((exit, out.as_str(), folder.path().join("new").exists()), (1, "", false), "{what}: {err}");
        assert!(err.contains(told) && err.len() < 4000, "{what}: {err}");
    }
    // A name leads nowhere but into the folder.
    std::fs::write(folder.path().join("bad.json"), r#"{"name": "../../out", "tasks": [{"taskReferenceName": "../x", "type": "WAIT"}]}"#)
        .unwrap();
    let Ran { exit, err, .. } = flow(folder.path(), &["import", "conductor", "bad.json", "--output", "new"]);
    assert_eq!(exit, 0, "{err}");
    assert!(folder.path().join("new/s_______out.yaml").is_file(), "{err}");
}
