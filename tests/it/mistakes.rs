//! Mistakes that people make, written without a look at the rules: what the check says of each stands in `tests/mistakes/table.tsv`, and the right version of each
//! is silent. What readers said of each finding stands in `scores.tsv`, as long as the finding is the same. The folder's README says what a case looks like.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use flow::diagnostic::{Code, Diagnostic, Edit};
use flow_adapters::disk_files::DiskFiles;
use flow_base::source::{FileId, Sources};
use flow_editor::report::{Findings, Look, human};
use flow_lang::check::{Checked, check_file, check_with_edits, edited};
use sha2::{Digest, Sha256};

use super::golden::copy;

const FOLDER: &str = "tests/mistakes";
const SETS: [&str; 3] = ["agents.txt", "ci_and_ops.txt", "content.txt"];

/// A file with one mistake.
struct MistakeCase<'t> {
    id: &'t str,
    /// Its files, the one that is checked first: the path, and the lines with the sign of their version.
    files: Vec<(&'t str, Vec<&'t str>)>,
}

fn cases(text: &str) -> Vec<MistakeCase<'_>> {
    let mut cases: Vec<MistakeCase> = vec![];
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(head) = line.strip_prefix("=== ") {
            let [id, path, cause] = head.splitn(3, " | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
            assert!(!cause.is_empty(), "{line}");
            cases.push(MistakeCase { id, files: vec![(path, vec![])] });
        } else if let Some(path) = line.strip_prefix("+++ ") {
            cases.last_mut().unwrap().files.push((path, vec![]));
        } else {
            assert!(line.starts_with([' ', '-', '+']), "{line}");
            cases.last_mut().unwrap().files.last_mut().unwrap().1.push(line);
        }
    }
    cases
}

/// The text of one version: without the lines that begin with `other`.
fn version(lines: &[&str], other: char) -> String {
    lines.iter().filter(|line| !line.starts_with(other)).map(|line| format!("{}\n", &line[1..])).collect()
}

/// The lines of the wrong version that have to change, or that stand beside one which is missing; counted from 1.
fn wrong_lines(lines: &[&str]) -> BTreeSet<usize> {
    let (mut wrong, mut number) = (BTreeSet::new(), 0);
    for line in lines {
        match line.as_bytes()[0] {
            b'+' => wrong.extend([number, number + 1]),
            b'-' => {
                number += 1;
                wrong.insert(number);
            }
            _ => number += 1,
        }
    }
    wrong
}

/// Does something with the project while it holds one version of a case.
fn with_files<T>(project: &Path, case: &MistakeCase, other: char, look: impl FnOnce(&Path) -> T) -> T {
    let mut before = vec![];
    for (path, lines) in &case.files {
        let path = project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        before.push((path.clone(), std::fs::read(&path).ok()));
        std::fs::write(&path, version(lines, other)).unwrap();
    }
    let looked = look(&project.join(case.files[0].0));
    for (path, text) in before {
        match text {
            Some(text) => std::fs::write(path, text).unwrap(),
            None => {
                std::fs::remove_file(&path).unwrap();
                // Folders that only it needed go, too: those that hold more cannot be removed.
                path.ancestors().skip(1).take_while(|folder| *folder != project).for_each(|folder| drop(std::fs::remove_dir(folder)));
            }
        }
    }
    looked
}

fn line(sources: &Sources, found: &Diagnostic) -> usize {
    sources.start(found.span).line
}

/// What is shown of a check.
fn shown(checked: &Checked) -> Vec<Diagnostic> {
    checked.diagnostics.iter().filter(|found| found.code != Code::NoTests).cloned().collect()
}

/// What a wrong version becomes when the edits of its findings are made, again and again.
#[derive(PartialEq, Eq)]
enum AfterEdits {
    /// The right version.
    Right,
    /// Another one without findings.
    Silent,
    /// Findings are left; or there was no edit.
    Open,
}

/// What the check says of one mistake.
struct Said {
    set: &'static str,
    id: String,
    /// Codes with their lines.
    found: String,
    /// The beginning of the hash of messages and helps.
    print: String,
    place: &'static str,
    after: AfterEdits,
    /// Findings that the edits brought to the places they wrote.
    harm: String,
    /// As people see it.
    drawn: String,
}

/// Of all mistakes.
static SAID: LazyLock<Vec<Said>> = LazyLock::new(|| {
    let project = tempfile::tempdir().unwrap();
    copy(&Path::new(FOLDER).join("project"), project.path());
    let mut all = vec![];
    for set in SETS {
        let text = std::fs::read_to_string(Path::new(FOLDER).join(set)).unwrap();
        let mut ids = BTreeSet::new();
        for case in cases(&text) {
            assert!(ids.insert(case.id), "{set}: {} is there twice", case.id);
            all.push(with_files(project.path(), &case, '+', |path| said(set, &case, path, project.path())));
        }
    }
    all
});

fn said(set: &'static str, case: &MistakeCase, path: &Path, project: &Path) -> Said {
    let wrong: BTreeMap<&str, BTreeSet<usize>> = case.files.iter().map(|(path, lines)| (*path, wrong_lines(lines))).collect();
    let checked = check_with_edits(path, project, &DiskFiles);
    let (found, sources) = (shown(&checked), &checked.loaded.sources);
    let (mut codes, mut words, mut place) = (vec![], String::new(), "silent");
    for diagnostic in &found {
        let line = line(sources, diagnostic);
        let name = &sources.file(diagnostic.span.file).name;
        let is_at = wrong.iter().any(|(path, lines)| Path::new(name).ends_with(path) && lines.contains(&line));
        place = if is_at || place == "at" { "at" } else { "off" };
        codes.push(format!("{}:{line}", diagnostic.code.id()));
        writeln!(words, "{}\n{}", diagnostic.message, diagnostic.help.join("\n")).unwrap();
    }
    let base = format!("{}/", project.display());
    let drawn = human(&Findings::new(sources, &found), Look { is_coloured: false, width: None }).replace(&base, "");
    let print = hex::encode(&Sha256::digest(words.replace(&base, ""))[..4]);
    let (after, harm) = after_edits(path, project, &version(&case.files[0].1, '-'), &checked);
    Said { set, id: case.id.to_owned(), found: codes.join(" "), print, place, after, harm, drawn }
}

/// Makes the edits of all findings, those that do not touch, until none is left.
fn after_edits(path: &Path, project: &Path, right: &str, first: &Checked) -> (AfterEdits, String) {
    let (mut checked, mut harm, mut round) = (first.clone(), String::new(), 0);
    loop {
        let found = shown(&checked);
        let mut edits: Vec<&Edit> = vec![];
        for fix in found.iter().filter_map(|found| found.fix.as_ref()) {
            let is_own = fix.edits.iter().all(|(span, _)| span.file == FileId(0));
            let touches = |(span, _): &Edit| edits.iter().any(|(other, _)| span.start <= other.end && other.start <= span.end);
            if is_own && !fix.edits.iter().any(touches) {
                edits.extend(&fix.edits);
            }
        }
        let before = std::fs::read_to_string(path).unwrap();
        let Some(after) = edited(&before, &edits).filter(|_| !edits.is_empty() && round < 9) else {
            let after = match found.is_empty() && round > 0 {
                true if before == right => AfterEdits::Right,
                true => AfterEdits::Silent,
                false => AfterEdits::Open,
            };
            return (after, harm);
        };
        let lines: BTreeSet<usize> = edits.iter().map(|(span, _)| checked.loaded.sources.start(*span).line).collect();
        let at_lines = |checked: &Checked| {
            let sources = &checked.loaded.sources;
            let found = shown(checked).into_iter().filter(|found| found.span.file == FileId(0) && lines.contains(&line(sources, found)));
            found.map(|found| (found.code.id(), found.message)).collect::<BTreeSet<_>>()
        };
        let was = at_lines(&checked);
        std::fs::write(path, after).unwrap();
        checked = check_with_edits(path, project, &DiskFiles);
        for (code, message) in at_lines(&checked).difference(&was) {
            writeln!(harm, "{code} {message}").unwrap();
        }
        round += 1;
    }
}

#[test]
fn the_right_version_of_each_mistake_is_silent() {
    let project = tempfile::tempdir().unwrap();
    copy(&Path::new(FOLDER).join("project"), project.path());
    let mut wrong = String::new();
    for set in SETS {
        let text = std::fs::read_to_string(Path::new(FOLDER).join(set)).unwrap();
        for case in cases(&text) {
            let found = with_files(project.path(), &case, '-', |path| check_file(path, project.path(), &DiskFiles).diagnostics);
            for found in found.iter().filter(|found| found.code != Code::NoTests) {
                writeln!(wrong, "{set} {}: {} {}", case.id, found.code.id(), found.message).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Compares a file of the folder with what it should be, or writes it.
fn keep(name: &str, wanted: &str) {
    let path = Path::new(FOLDER).join(name);
    if std::env::var_os("FLOW_UPDATE").is_some() {
        // Whole: the other tests of the file read it meanwhile.
        let new = path.with_extension("new");
        std::fs::write(&new, wanted).unwrap();
        std::fs::rename(&new, &path).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<_> = wanted.lines().filter(|line| !kept.lines().any(|kept| kept == *line)).collect();
    assert!(kept == wanted, "{name} is another one (FLOW_UPDATE=1 writes it):\n{}", changed.join("\n"));
}

#[test]
fn what_is_said_of_each_mistake_stands_in_the_table() {
    let count = |is: &dyn Fn(&Said) -> bool| SAID.iter().filter(|said| is(said)).count();
    let mut table = format!(
        "# {} mistakes: {} reported at a line to change, {} elsewhere, {} not at all; {} with more than one finding; {} become the right version by their own edits, {} another \
         one without findings\n",
        SAID.len(),
        count(&|said| said.place == "at"),
        count(&|said| said.place == "off"),
        count(&|said| said.place == "silent"),
        count(&|said| said.found.contains(' ')),
        count(&|said| said.after == AfterEdits::Right),
        count(&|said| said.after == AfterEdits::Silent),
    );
    for said in &*SAID {
        writeln!(table, "{}\t{}\t{}\t{}", said.set, said.id, said.place, said.found).unwrap();
    }
    keep("table.tsv", &table);
}

#[test]
fn the_edits_of_a_mistake_bring_no_finding_where_they_write() {
    let harm: String =
        SAID.iter().filter(|said| !said.harm.is_empty()).map(|said| format!("{} {}: {}", said.set, said.id, said.harm)).collect();
    assert!(harm.is_empty(), "{harm}");
}

/// What readers said of a finding: is it at the line to change, does it name the cause, does its help lead to the right version, is it the only one?
struct Score {
    /// `y`, `n`, or `?` where nobody has read the finding as it is now.
    marks: [String; 4],
    why_not: String,
}

/// The scores by set and id, of what is said now. A finding that has changed since has none.
fn scores() -> BTreeMap<(&'static str, &'static str), Score> {
    let text = std::fs::read_to_string(Path::new(FOLDER).join("scores.tsv")).unwrap();
    let read: BTreeMap<(&str, &str), Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|fields| ((fields[0], fields[1]), fields[2..].to_vec()))
        .collect();
    let of = |said: &'static Said| {
        let kept = read.get(&(said.set, said.id.as_str()));
        let (marks, why_not) = match kept.map(Vec::as_slice) {
            Some([found, print, place, cause, help, single, why_not]) => {
                let is_same = *found == said.found && *print == said.print;
                ([place, cause, help, single].map(|mark| if is_same { (*mark).to_owned() } else { "?".to_owned() }), (*why_not).to_owned())
            }
            _ => (std::array::from_fn(|_| "?".to_owned()), String::new()),
        };
        ((said.set, said.id.as_str()), Score { marks, why_not })
    };
    SAID.iter().filter(|said| said.place != "silent").map(of).collect()
}

#[test]
fn scores_are_of_what_is_said_now() {
    let scores = scores();
    let mut text = "# set\tid\twhat was found\thash of its words\tplace\tcause\thelp\tsingle\twhy not\n".to_owned();
    let mut stale = String::new();
    for said in SAID.iter().filter(|said| said.place != "silent") {
        let score = &scores[&(said.set, said.id.as_str())];
        writeln!(text, "{}\t{}\t{}\t{}\t{}\t{}", said.set, said.id, said.found, said.print, score.marks.join("\t"), score.why_not).unwrap();
        if score.marks[0] == "?" {
            writeln!(stale, "##### {} {}\n{}", said.set, said.id, said.drawn).unwrap();
        }
    }
    // What is to be read again, as people see it.
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes_to_score.txt"), stale).unwrap();
    keep("scores.tsv", &text);
}

#[test]
fn the_numbers_of_the_readme_are_those_of_the_scores() {
    let scores = scores();
    let scored: Vec<&Score> = scores.values().filter(|score| score.marks.iter().all(|mark| mark != "?")).collect();
    let part = |count: usize, of: usize| format!("{count} ({:.1} %)", 100.0 * count as f64 / of.max(1) as f64);
    let right =
        |marks: &[usize]| part(scored.iter().filter(|score| marks.iter().all(|mark| score.marks[*mark] == "y")).count(), scored.len());
    let rows = [
        ("reported", part(scores.len(), SAID.len())),
        ("… and scored as they are now", part(scored.len(), scores.len())),
        ("… at the right place", right(&[0])),
        ("… with the cause", right(&[1])),
        ("… with help that leads to the fix", right(&[2])),
        ("… with all three", right(&[0, 1, 2])),
        ("… as the only finding", right(&[3])),
    ];
    let table: String = rows.iter().map(|(what, number)| format!("| {what} | {number} |\n")).collect();
    let readme = std::fs::read_to_string(Path::new(FOLDER).join("README.md")).unwrap();
    let (before, rest) = readme.split_once("|---|---|\n").unwrap();
    let behind = rest.trim_start_matches(|c| c != '\n').split_once("\n\n").map_or("", |(_, behind)| behind);
    keep("README.md", &format!("{before}|---|---|\n{table}\n{behind}"));
}
