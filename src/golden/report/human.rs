//! For people: a line a trial, then what failed.

use std::path::PathBuf;

use super::super::outcome::{Golden, Report};
use super::told;
use crate::diagnostic::visible;
use crate::runtime::shown;

/// All lines; with `only_bad`, nothing about what passed.
pub fn human(report: &Report, colour: bool, only_bad: bool) -> String {
    let word = |word: &str, code: &str| if colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_string() };
    let mut out = String::new();
    for outcome in &report.outcomes {
        let mark = match (outcome.complaints.is_empty(), &outcome.golden) {
            (false, _) => word("FAIL", "1;31"),
            (true, Some(Golden::Written(_))) => word("new ", "33"),
            (true, _) => word("ok  ", "32"),
        };
        if !only_bad || !outcome.complaints.is_empty() {
            out.push_str(&format!("{mark} {}\n", visible(&outcome.name)));
        }
    }
    for outcome in report.outcomes.iter().filter(|outcome| !outcome.complaints.is_empty()) {
        out.push_str(&format!("\n{} {}\n", word("FAIL", "1;31"), visible(&outcome.name)));
        for complaint in &outcome.complaints {
            let text = told(outcome, complaint, colour);
            out.extend(text.lines().map(|line| format!("  {line}\n")));
        }
    }
    out.push_str(&super::mutants::human(report, only_bad));
    for broken in &report.broken {
        out.push_str(&format!("\n{} {}\n{}", word("FAIL", "1;31"), visible(&broken.file), broken.drawn));
    }
    let mut list = |title: &str, paths: Vec<&PathBuf>| {
        if !paths.is_empty() {
            out.push_str(&format!("\n{title}:\n"));
            out.extend(paths.iter().map(|path| format!("  {}\n", shown(path))));
        }
    };
    list("These goldens or recordings belong to no case; remove them, or mend the case", report.orphans.iter().collect());
    if !only_bad {
        list("Written; look at the changes before you keep them", written(report).collect());
        let recorded = report.outcomes.iter().filter_map(|outcome| outcome.recorded.as_ref());
        list("Recorded; read the answers before you keep them", recorded.collect());
    }
    out
}

/// The goldens that were written.
fn written(report: &Report) -> impl Iterator<Item = &PathBuf> {
    report.outcomes.iter().filter_map(|outcome| if let Some(Golden::Written(path)) = &outcome.golden { Some(path) } else { None })
}

/// `12 passed, 1 failed`, and what else there is to count.
pub fn summary(report: &Report) -> String {
    let (passed, failed) = report.counts();
    let counted = |count: usize, one: &str, many: &str| match count {
        0 => String::new(),
        1 => format!(", 1 {one}"),
        _ => format!(", {count} {many}"),
    };
    let broken = counted(report.broken.len(), "file with errors", "files with errors");
    let orphans = counted(report.orphans.len(), "unused golden", "unused goldens");
    let written = counted(written(report).count(), "golden written", "goldens written");
    let survived = counted(super::survived(report), "broken output survived", "broken outputs survived");
    format!("{passed} passed, {failed} failed{survived}{broken}{orphans}{written}")
}
