//! Mistakes that people make, written without a look at the rules: what the check says of each stands in `tests/mistakes/table.tsv`, and the right version of each
//! is silent. The folder's README says what a case looks like.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use flow::adapter::disk_files::DiskFiles;
use flow::check::{check_file, check_with_edits};
use flow::diagnostic::{Code, Diagnostic};
use flow::source::Sources;

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

#[test]
fn what_is_said_of_each_mistake_stands_in_the_table() {
    let project = tempfile::tempdir().unwrap();
    copy(&Path::new(FOLDER).join("project"), project.path());
    let mut table = String::new();
    let (mut all, mut places, mut several) = (0, BTreeMap::new(), 0);
    for set in SETS {
        let text = std::fs::read_to_string(Path::new(FOLDER).join(set)).unwrap();
        let mut ids = BTreeSet::new();
        for case in cases(&text) {
            assert!(ids.insert(case.id), "{set}: {} is there twice", case.id);
            let wrong: BTreeMap<&str, BTreeSet<usize>> = case.files.iter().map(|(path, lines)| (*path, wrong_lines(lines))).collect();
            let checked = with_files(project.path(), &case, '+', |path| check_with_edits(path, project.path(), &DiskFiles));
            let mut found = vec![];
            let mut place = "silent";
            for diagnostic in checked.diagnostics.iter().filter(|found| found.code != Code::NoTests) {
                let line = line(&checked.loaded.sources, diagnostic);
                let name = &checked.loaded.sources.file(diagnostic.span.file).name;
                let is_at = wrong.iter().any(|(path, lines)| Path::new(name).ends_with(path) && lines.contains(&line));
                place = if is_at || place == "at" { "at" } else { "off" };
                found.push(format!("{}:{line}", diagnostic.code.id()));
            }
            all += 1;
            several += usize::from(found.len() > 1);
            *places.entry(place).or_insert(0) += 1;
            writeln!(table, "{set}\t{}\t{place}\t{}", case.id, found.join(" ")).unwrap();
        }
    }
    let count = |place| places.get(place).copied().unwrap_or(0);
    let head = format!(
        "# {all} mistakes: {} reported at a line to change, {} elsewhere, {} not at all; {several} with more than one finding\n",
        count("at"),
        count("off"),
        count("silent")
    );
    let path = Path::new(FOLDER).join("table.tsv");
    let table = head + &table;
    if std::env::var_os("FLOW_UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<_> = table.lines().filter(|line| !kept.lines().any(|kept| kept == *line)).collect();
    assert!(changed.is_empty() && table.len() == kept.len(), "not as in the table (FLOW_UPDATE=1 writes it):\n{}", changed.join("\n"));
}
