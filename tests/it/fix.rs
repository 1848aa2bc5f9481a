//! `flow fix`: safe edits only, once is enough, and nothing else in the file changes.

use std::collections::BTreeSet;
use std::path::Path;

use flow::adapter::files::DiskFiles;
use flow::check::{Fixed, check_file, fix_file};
use flow::port::{Files, Overlay};

use crate::program::{Ran, flow};

const WRONG: &str = "flow: 1
name: mends   # the name stays

description:   Says   hello.
inputs:
  # Who is greeted.
  who: { type: text, default: Ana }
steps:
  - id: first
    set: \"Hello {{ inputs.who }}\"

  - id: second      # waits anyway
    needs: [first, first]
    if: \"{{ inputs.who == 'Ana' }}\"
    set: yes
outputs: { text: \"{{ steps.second.output | default('') }}\" }   # one output
";

#[test]
fn safe_edits_are_shown_then_written_and_the_rest_of_the_file_stays() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    std::fs::write(&file, WRONG).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let Ran { exit, out: shown, err: told } = flow(folder.path(), &["fix", "--diff"]);
    assert_eq!(exit, 1, "{told}");
    assert!(shown.contains("-    if: \"{{ inputs.who == 'Ana' }}\"\n"), "{shown}");
    assert!(shown.contains("+    when: \"inputs.who == 'Ana'\"\n+    set: \"yes\"\n"), "{shown}");
    assert!(shown.starts_with("--- p.yaml\n+++ p.yaml\n@@ "), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), WRONG);
    let Ran { exit, out: shown, err: told } = flow(folder.path(), &["fix"]);
    assert_eq!((exit, shown.as_str()), (0, ""), "{told}");
    assert!(told.contains("p.yaml: F002 ") && told.contains("edits written in 1 file"), "{told}");
    let mended = std::fs::read_to_string(&file).unwrap();
    assert!(mended.contains("needs: [first]"), "{mended}");
    let kept = |text: &str| {
        text.lines()
            .filter(|l| !l.contains("needs") && !l.contains("if:") && !l.contains("when:") && !l.contains("set: "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&mended), kept(WRONG));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    let Ran { exit, err: told, .. } = flow(folder.path(), &["fix", "--diff"]);
    assert_eq!((exit, told.starts_with("0 edits")), (0, true), "{told}");
    assert_eq!(flow(folder.path(), &["fix", "nowhere.yaml"]).exit, 4);
}

#[test]
fn what_stands_where_true_or_false_must_is_not_made_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = WRONG.replace("default: Ana", "required: no");
    std::fs::write(folder.path().join("p.yaml"), &wrong).unwrap();
    flow(folder.path(), &["fix"]);
    assert!(std::fs::read_to_string(folder.path().join("p.yaml")).unwrap().contains("required: no }"));
}

#[test]
fn every_wrong_file_is_mended_once_and_for_all_or_not_at_all() {
    let project = Path::new("tests/check");
    let mut mended_codes = BTreeSet::new();
    for entry in std::fs::read_dir(project.join("err")).unwrap().flatten().filter(|e| e.path().extension().is_some_and(|e| e == "yaml")) {
        let path = entry.path();
        let before = check_file(&path, project, &DiskFiles);
        let first = fix_file(&path, project, &DiskFiles, &Vec::new).unwrap();
        if first.findings.is_empty() {
            continue;
        }
        let texts = [(DiskFiles.real_path(&path).unwrap(), first.text.as_str().into())].into();
        let files = Overlay { below: &DiskFiles, texts };
        let after = check_file(&path, project, &files);
        let again = fix_file(&path, project, &files, &Vec::new).unwrap();
        assert_eq!(again, Fixed { before: first.text.clone(), text: first.text, findings: vec![] }, "{} twice", path.display());
        assert!(after.diagnostics.len() < before.diagnostics.len(), "{}", path.display());
        mended_codes.extend(first.findings.into_iter().map(|(code, _)| code));
    }
    let expected = ["F002", "F009", "F010", "F102", "F207", "F212", "F214", "F900"];
    assert_eq!(mended_codes.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
