//! `flow fix`: safe edits only, once is enough, and nothing else in the file changes.

use std::collections::BTreeSet;
use std::path::Path;

use flow::port::{Files, Overlay};
use flow_adapters::disk_files::DiskFiles;
use flow_lang::check::{Fixed, check_file, fix_file};

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
    assert!(std::fs::read_to_string(folder.path().join("p.yaml")).unwrap().contains("required: false }"));
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
    let expected = ["F002", "F005", "F009", "F010", "F020", "F102", "F207", "F212", "F900"];
    assert_eq!(mended_codes.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

/// A text before and after `flow fix`.
fn fixed(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    std::fs::write(&file, text).unwrap();
    flow(folder.path(), &["fix"]);
    std::fs::read_to_string(file).unwrap()
}

const SLIPS: &str = "flow: 1
name: slips
inputs:
  lang: { type: text, default: de }
  loud: { type: boolean, default: yes }   # ein Häkchen ✓
  title: { type: text, max: 30 }
  count: { type: integer, max: 30 }
  day: { type: date, max: 30 }
agents:
  writer: { instructions: Speak {{ inputs.lang }}. }
steps:
  - id: a
    agent: writer
    prompt: \"{{ inputs.loud }} {{ inputs.title }} {{ inputs.count }} {{ inputs.day }}\"
outputs: { a: \"{{ steps.a.output }}\" }
";

#[test]
fn a_template_in_brackets_is_quoted_and_keys_and_words_become_those_of_their_place() {
    let wanted = SLIPS
        .replace("Speak {{ inputs.lang }}.", "\"Speak {{ inputs.lang }}.\"")
        .replace("default: yes", "default: true")
        .replace("text, max:", "text, max_length:")
        .replace("integer, max:", "integer, maximum:");
    assert_eq!(fixed(SLIPS), wanted);
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(fixed(&windows(SLIPS)), windows(&wanted));
    assert_eq!(fixed(&wanted), wanted);
}

#[test]
fn a_suppression_stays_while_an_error_keeps_what_it_hides_from_being_looked_at() {
    let ignored = "# flow-ignore: F105 kept for March";
    let text = format!(
        "flow: 1\nname: a\ndescription: Says it.\ninputs: {{ who: text }}\nsteps:\n  - {{ id: draft, set: x }} {ignored}\n  - {{ id: t, set: {{{{ inputs.who }}}} }}\noutputs: {{ text: \"{{{{ steps.t.output }}}}\" }}\n"
    );
    let fixed = fixed(&text);
    assert!(fixed.contains(ignored) && fixed.contains("set: \"{{ inputs.who }}\""), "{fixed}");
}

#[test]
fn an_edit_that_breaks_a_file_which_reads_this_one_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let team = "flow: 1\nagents:\n  writer: { instructions: Speak {{ inputs.lang }}. }\n";
    let user = "flow: 1\nname: user\nimports: [team.yaml]\ninputs: { lang: text }\nsteps:\n  - { id: a, agent: writer, prompt: hi }\noutputs: { a: \"{{ steps.a.output }} {{ inputs.lang }}\" }\n";
    write("team.yaml", team);
    write("user.yaml", &user.replace("lang", "tongue"));
    let Ran { err, .. } = flow(folder.path(), &["fix", "team.yaml"]);
    assert!(err.starts_with("0 edits"), "{err}");
    let Ran { out, .. } = flow(folder.path(), &["validate", "--format", "json"]);
    assert!(out.contains("F212") && !out.contains("\"edits\""), "{out}");
    write("user.yaml", user);
    flow(folder.path(), &["fix", "team.yaml"]);
    assert!(std::fs::read_to_string(folder.path().join("team.yaml")).unwrap().contains("\"Speak {{ inputs.lang }}.\""));
}

#[test]
fn what_cannot_be_read_or_written_stays_and_the_other_files_are_fixed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("bytes.yaml"), b"flow: 1\nname: \xff\n").unwrap();
    std::fs::write(at("closed.yaml"), SLIPS).unwrap();
    std::fs::set_permissions(at("closed.yaml"), std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::write(at("real.txt"), SLIPS).unwrap();
    symlink("real.txt", at("z_link.yaml")).unwrap();
    nix::unistd::mkfifo(&at("pipe.yaml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let Ran { exit, err, .. } = flow(folder.path(), &["fix", "bytes.yaml", "closed.yaml", "pipe.yaml", "z_link.yaml"]);
    assert_eq!(exit, 1, "{err}");
    for line in [
        "bytes.yaml: not changed: it is not text in UTF-8; save the file again as UTF-8",
        "closed.yaml: not changed: the file is read-only",
        "pipe.yaml: not changed: it is not a file",
        "4 edits written in 1 file; 3 files left as each was, see above",
    ] {
        assert!(err.contains(line), "{line}: {err}");
    }
    assert_eq!(std::fs::read_to_string(at("closed.yaml")).unwrap(), SLIPS);
    assert!(std::fs::symlink_metadata(at("z_link.yaml")).unwrap().is_symlink(), "a link stays one");
    assert!(std::fs::read_to_string(at("real.txt")).unwrap().contains("default: true"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 5, "no file is left over: {left:?}");
}

#[test]
fn standard_input_is_printed_with_its_edits() {
    use std::io::Write;
    use std::process::Stdio;
    let folder = tempfile::tempdir().unwrap();
    let printed = |arguments: &[&str], text: &str| {
        let mut program = crate::program::command(folder.path(), arguments);
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(printed(&["fix", "-"], SLIPS), (Some(0), fixed(SLIPS)));
    // What is to be a file again keeps each byte, also those that are not shown, and what looks like a key.
    let odd = |text: &str| {
        text.replace('\n', "\r\n").replacen(
            "flow: 1",
            "\u{feff}flow: 1 # a\u{200b}\u{202e}b\u{ad} sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z",
            1,
        )
    };
    let (_, kept) = printed(&["fix", "-"], &odd(SLIPS));
    assert_eq!(kept, odd(&fixed(SLIPS)));
    let (exit, patch) = printed(&["fix", "--diff", "-"], &odd(SLIPS));
    let added: Vec<&str> = patch.split('\n').filter_map(|line| line.strip_prefix('+')).filter(|line| !line.starts_with("++")).collect();
    assert!(exit == Some(1) && !added.is_empty() && added.iter().all(|line| line.ends_with('\r') && kept.contains(line)), "{patch:?}");
}

#[test]
fn what_another_program_wrote_meanwhile_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    std::fs::write(&file, "new").unwrap();
    let refused = flow_adapters::files::replace_if(&file, "edited", |now| now == b"old").unwrap_err();
    assert_eq!(refused.to_string(), "another program changed the file; run the command again");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    flow_adapters::files::replace_if(&file, "edited", |now| now == b"new").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "edited");
}

/// A long file in a folder of its own, as a link leads to it: its edits take more than one write to the disk.
struct Long {
    folder: tempfile::TempDir,
    text: String,
    wanted: String,
    owner: (u32, u32, u32),
}

impl Long {
    fn new() -> Long {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{SLIPS}{}", "# What is said here stays as it is.\n".repeat(3_000));
        let real = folder.path().join("real.txt");
        std::fs::write(&real, &text).unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        // Only where the one who runs the tests may give a file away.
        let _ = chown(&real, Some(65_534), Some(65_534));
        symlink("real.txt", folder.path().join("p.yaml")).unwrap();
        let (owner, wanted) = (owner(&real), fixed(&text));
        Long { folder, text, wanted, owner }
    }

    fn real(&self) -> std::path::PathBuf {
        self.folder.path().join("real.txt")
    }

    /// Whether the file was edited. It is whole either way, with its mode and owner, and the link is a link.
    fn is_edited(&self) -> bool {
        let now = std::fs::read_to_string(self.real()).unwrap();
        assert!(now == self.text || now == self.wanted, "{} bytes are neither the old nor the new text", now.len());
        assert_eq!(owner(&self.real()), self.owner);
        assert!(std::fs::symlink_metadata(self.folder.path().join("p.yaml")).unwrap().is_symlink());
        now == self.wanted
    }

    /// `flow fix` where no file can have more than so many blocks, and what the shell does before.
    fn limited(&self, before: &str, blocks: u32) -> std::process::Output {
        let script = format!("{before} ulimit -f {blocks}; exec \"$0\" fix p.yaml");
        let program = crate::program::command(self.folder.path(), &[]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).arg(program.get_program()).current_dir(self.folder.path());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.output().unwrap()
    }
}

fn owner(path: &Path) -> (u32, u32, u32) {
    use std::os::unix::fs::MetadataExt;
    let data = std::fs::metadata(path).unwrap();
    (data.uid(), data.gid(), data.mode())
}

#[test]
fn a_full_disk_leaves_the_old_file_and_is_told() {
    for blocks in [0, 1, 16, 60] {
        let long = Long::new();
        let output = long.limited("trap '' XFSZ;", blocks);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(6), "{told}");
        assert!(told.contains("p.yaml: not changed: File too large"), "{told}");
        assert!(!long.is_edited(), "{told}");
        let left: Vec<_> = std::fs::read_dir(long.folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left.len(), 2, "no file is left over: {left:?}");
    }
    let long = Long::new();
    assert_eq!(long.limited("", 100_000).status.code(), Some(0));
    assert!(long.is_edited(), "with room it is edited");
}

#[test]
fn a_kill_at_any_time_leaves_the_old_or_the_new_file_whole() {
    use std::os::unix::process::ExitStatusExt;
    // In the middle of writing: the system ends a program that writes more than it may.
    for blocks in [0, 1, 16, 60] {
        let long = Long::new();
        let status = long.limited("", blocks).status;
        assert!(status.signal().is_some(), "{status}");
        assert!(!long.is_edited());
    }
    // And at any other time; what was left over does not keep the next call from its work.
    let long = Long::new();
    let files = || std::fs::read_dir(long.folder.path()).unwrap().count();
    for round in 0..24 {
        let before = files();
        let mut program = crate::program::command(long.folder.path(), &["fix", "p.yaml"]);
        let mut child = program.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        if round % 2 == 0 {
            // As soon as the new text is being written.
            while files() == before && child.try_wait().unwrap().is_none() {}
        } else {
            std::thread::sleep(std::time::Duration::from_millis(10 * round));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if long.is_edited() {
            std::fs::write(long.real(), &long.text).unwrap();
        }
    }
    flow(long.folder.path(), &["fix", "p.yaml"]);
    assert!(long.is_edited());
}

#[test]
fn a_patch_shows_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = "Zq7xK29vbNmQ4tR8wLsQQ81Zw47xKd9g";
    let text = format!(
        "flow: 1\nname: a\nsteps:\n  - id: a\n    http: GET https://a.example/\n    headers: {{ x-token: {key} }}\n    timeout: 9s\n  - id: b\n    set: {{{{ steps.a.output }}}}\noutputs: {{ a: \"{{{{ steps.b.output }}}}\" }}\n"
    );
    std::fs::write(folder.path().join("a.yaml"), text).unwrap();
    let ran = flow(folder.path(), &["fix", "--diff", "a.yaml"]);
    assert!(!ran.out.contains(key) && !ran.err.contains(key), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("x-token: ********") && ran.err.contains("does not apply"), "{}{}", ran.out, ran.err);
}

#[test]
fn files_of_two_projects_are_each_held_to_the_readers_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let team = "flow: 1\nagents:\n  writer: { instructions: Speak {{ inputs.lang }}. }\n";
    let user = "flow: 1\nname: user\nimports: [team.yaml]\ninputs: { LANG: text }\nsteps:\n  - { id: a, agent: writer, prompt: hi }\noutputs: { a: \"{{ steps.a.output }} {{ inputs.LANG }}\" }\n";
    for (project, lang) in [("a", "lang"), ("b", "tongue")] {
        std::fs::create_dir(at(project)).unwrap();
        for (name, text) in [("flow.toml", ""), ("team.yaml", team), ("user.yaml", &user.replace("LANG", lang))] {
            std::fs::write(at(project).join(name), text).unwrap();
        }
    }
    let Ran { err, .. } = flow(folder.path(), &["fix", "a/team.yaml", "b/team.yaml"]);
    assert!(err.contains("1 edit written in 1 file"), "{err}");
    assert_eq!(std::fs::read_to_string(at("b/team.yaml")).unwrap(), team, "its reader has no input of that name");
}
