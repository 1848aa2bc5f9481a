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

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = copied();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    // The administrator writes wherever they like.
    let is_closed = std::fs::write(closed.join("probe"), "").is_err();
    // A file where the folder should be stops everybody.
    for target in [Some("greeting/prompt.json"), is_closed.then_some("closed"), is_closed.then_some("closed/new")].into_iter().flatten() {
        let Ran { exit, out, err } = flow(folder.path(), &["import", "promptfoo", "greeting/promptfooconfig.yaml", "--output", target]);
        assert_eq!((exit, out.as_str()), (6, ""), "{err}");
        assert!(err.contains(&format!("cannot write {target}/promptfooconfig.yaml: ")) && !err.contains("wrote "), "{err}");
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(std::fs::read_dir(&closed).unwrap().count(), usize::from(!is_closed), "nothing but the probe is there");
}

/// Files and nodes that lead back to themselves end in a report, with their place.
#[test]
fn circles_of_references_are_reported_and_not_followed() {
    let folder = copied();
    let import = |format: &str, name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        let Ran { exit, out, err } = flow(folder.path(), &["import", format, name]);
        assert_eq!(exit, 0, "{out}{err}");
        std::fs::write(folder.path().join("result.yaml"), &out).unwrap();
        let Ran { exit, out: found, .. } = flow(folder.path(), &["validate", "result.yaml"]);
        assert_eq!(exit, 0, "{out}{found}");
        (out, err)
    };
    std::fs::write(folder.path().join("round.txt"), "file://round.txt\n").unwrap();
    let config = "prompts: [file://round.txt]\ntests:\n  - vars: { a: '{{ b }}', b: '{{ a }}' }\n";
    let (_, err) = import("promptfoo", "round.yaml", config);
    assert!(err.contains("round.yaml:1: prompt file://round.txt: a file that names another file is not followed"), "{err}");
    assert!(err.contains("round.yaml:3: variable a: braces in a variable") && err.contains("round.yaml:3: variable b: "), "{err}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("link.txt", folder.path().join("link.txt")).unwrap();
        let (_, err) = import("promptfoo", "linked.yaml", "prompts: [file://link.txt]\n");
        assert!(err.contains("linked.yaml:1: prompt file://link.txt: link.txt cannot be read: "), "{err}");
    }
    let node = |name: &str, reads: &str| {
        let source = "{ type: code, path: answers/apology.jinja2 }";
        format!("  - {{ name: {name}, type: prompt, source: {source}, inputs: {{ question: '${{{reads}.output}}' }} }}\n")
    };
    let nodes = [node("after", "one"), node("one", "two"), node("two", "one"), node("own", "own")].concat();
    let (out, err) = import("promptflow", "flow.yaml", &format!("nodes:\n{nodes}outputs: {{ o: {{ reference: '${{after.output}}' }} }}\n"));
    assert!(err.contains("flow.yaml:3: node one: it reads itself, by way of others or not"), "{err}");
    assert!(err.contains("flow.yaml:5: node own: it reads itself"), "{err}");
    assert!(!err.contains("node after") && out.contains("steps.one.output"), "{out}{err}");
    let agents = "  - { name: a, prompt: Go., routes: [{ to: b }] }\n  - { name: b, prompt: Go., routes: [{ to: a }] }\n";
    let (out, err) = import("conductor", "wheel.yaml", &format!("workflow: {{ name: wheel, entry_point: a }}\nagents:\n{agents}"));
    assert!(out.contains("at_most: 10") && out.contains("until: \"false\""), "{out}{err}");
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
