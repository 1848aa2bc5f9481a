//! Output of `flow test`. This module prints for people: a line per trial, then failures, then what gates noticed of broken outputs.
//! Submodules format for programs.

mod machine;
mod summary;

use std::collections::BTreeMap;
use std::path::PathBuf;

use indexmap::IndexMap;

pub use machine::{json, junit};
pub use summary::markdown;

use super::mutate::{Mutant, Noticed, OutputMutation};
use super::outcome::{ComparedModel, Complaint, Golden, Outcome, Report};
use crate::diagnostic::{counted, visible};
use crate::model::step_path;
use crate::runtime::shown_path;

/// Formats all lines; with `only_bad`, passed trials are left out.
pub fn human(report: &Report, colour: bool, only_bad: bool) -> String {
    let word = |word: &str, code: &str| if colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_string() };
    let mut out = String::new();
    for outcome in &report.outcomes {
        let mark = match (outcome.complaints.is_empty(), outcome.golden.as_ref().map(|golden| golden.state)) {
            (false, _) => word("FAIL", "1;31"),
            (true, Some(Golden::Written)) => word("new ", "33"),
            (true, Some(Golden::Same | Golden::Accepted | Golden::Wrong) | None) => word("ok  ", "32"),
        };
        if !only_bad || !outcome.complaints.is_empty() {
            out.push_str(&format!("{mark} {}\n", visible(&outcome.name)));
        }
    }
    for outcome in report.outcomes.iter().filter(|outcome| !outcome.complaints.is_empty()) {
        out.push_str(&format!("\n{} {}\n", word("FAIL", "1;31"), visible(&outcome.name)));
        for complaint in &outcome.complaints {
            let text = complaint_text(outcome, complaint, colour);
            out.extend(text.lines().map(|line| format!("  {line}\n")));
        }
    }
    out.push_str(&mutants(report, only_bad));
    let compared = compared(report);
    if !compared.is_empty() {
        out.push_str(&format!("\n{}\n", compared.join("\n")));
    }
    for broken in &report.broken {
        out.push_str(&format!("\n{} {}\n{}", word("FAIL", "1;31"), visible(&broken.file), broken.drawn));
    }
    let mut list = |title: &str, paths: Vec<&PathBuf>| {
        if !paths.is_empty() {
            out.push_str(&format!("\n{title}:\n"));
            out.extend(paths.iter().map(|path| format!("  {}\n", shown_path(path))));
        }
    };
    list("These goldens or recordings belong to no case; remove them, or correct the case", report.orphans.iter().collect());
    if !only_bad {
        list("Written; review the changes before you keep them", written(report).collect());
        let recorded = report.outcomes.iter().filter_map(|outcome| outcome.recorded.as_ref());
        list("Recorded; review the answers before you keep them", recorded.collect());
    }
    out
}

/// Formats the compared models: a header line, then one line per model; empty if nothing was compared.
fn compared(report: &Report) -> Vec<String> {
    let models = report.models();
    if models.is_empty() {
        return vec![];
    }
    let head = ["model", "passed", "cost (USD)", "tokens", "time"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(models.iter().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 5]| {
        let padded = widths.iter().zip(row).map(|(width, cell)| format!("{cell:width$}  ")).collect::<String>();
        format!("{padded}{}", row[4])
    };
    rows.iter().map(line).collect()
}

/// Formats one model: its name, passed cases, cost, tokens, time.
fn cells(model: &ComparedModel) -> [String; 5] {
    let cost = model.usage.cost_usd.map_or_else(|| "unknown".to_owned(), |cost| format!("{cost:.6}"));
    let passed = format!("{} of {}", model.passed, model.cases);
    [visible(model.name).into_owned(), passed, cost, model.usage.total_tokens().to_string(), format!("{:.1} s", model.waited.as_secs_f64())]
}

/// Returns the goldens that were written.
fn written(report: &Report) -> impl Iterator<Item = &PathBuf> {
    let goldens = report.outcomes.iter().filter_map(|outcome| outcome.golden.as_ref());
    goldens.filter(|golden| golden.state == Golden::Written).map(|golden| &golden.path)
}

/// Returns `12 passed, 1 failed`, and further counts above 0.
pub fn summary(report: &Report) -> String {
    let (passed, failed) = report.counts();
    let also = [
        (survived(report), "broken output survived", "broken outputs survived"),
        (report.broken.len(), "file with errors", "files with errors"),
        (report.orphans.len(), "unused golden", "unused goldens"),
        (written(report).count(), "golden written", "goldens written"),
    ];
    let also = also.into_iter().filter(|(count, ..)| *count > 0).map(|(count, one, many)| format!(", {}", counted(count, one, many)));
    format!("{passed} passed, {failed} failed{}", also.collect::<String>())
}

/// Formats a complaint: the sentence with its place, then the differences.
fn complaint_text(outcome: &Outcome, complaint: &Complaint, colour: bool) -> String {
    let at = complaint.line.map(|line| format!("{}:{line}: ", outcome.file)).unwrap_or_default();
    let mut text = format!("{at}{}\n", complaint.message);
    if let Some((old, diff)) = &complaint.diff {
        text.push_str(&format!("      - {old}   + this run\n{}", diff.draw(colour)));
    }
    text
}

/// Maximum length of the shown text of a survivor, in characters.
const SHOWN: usize = 160;

fn all(report: &Report) -> impl Iterator<Item = (&Outcome, &Mutant)> {
    report.outcomes.iter().flat_map(|outcome| outcome.mutants.iter().map(move |mutant| (outcome, mutant)))
}

/// Returns how many broken outputs no gate noticed.
pub fn survived(report: &Report) -> usize {
    all(report).filter(|(_, mutant)| matches!(mutant.noticed, Noticed::Nobody(_))).count()
}

/// Formats the survivors, each with a hint to a criterion; then, unless `only_bad`, one line per mutation.
fn mutants(report: &Report, only_bad: bool) -> String {
    let mut out = String::new();
    let mut counts: BTreeMap<OutputMutation, (usize, usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    let mut survivors = IndexMap::<_, (&Mutant, &str, usize)>::new();
    for (outcome, mutant) in all(report) {
        let count = counts.entry(mutant.way).or_default();
        match &mutant.noticed {
            Noticed::By(_) => count.0 += 1,
            Noticed::NotApplicable(why) => *count.2.entry(why).or_default() += 1,
            Noticed::Nobody(text) => {
                count.1 += 1;
                let gate = (&*outcome.name, mutant.way, step_path::ids(&mutant.gate).collect::<Vec<_>>());
                survivors.entry(gate).and_modify(|(.., others)| *others += 1).or_insert((mutant, text, 0));
            }
        }
    }
    // Equal survivors of elements and rounds are shown once.
    for ((name, ..), (Mutant { gate, way, .. }, text, others)) in survivors {
        let end: String = text.trim_end().chars().rev().take(SHOWN).collect::<Vec<_>>().into_iter().rev().collect();
        let cut = if end.len() < text.trim_end().len() { "… " } else { "" };
        let (name, gate) = (visible(name), visible(gate));
        let others = if others > 0 { format!(" (and {})", counted(others, "other", "others")) } else { String::new() };
        out.push_str(&format!("\nSURVIVED {name}\n  gate \"{gate}\"{others} lets {} through: {cut}{}\n", way.words(), visible(&end)));
        out.push_str(&format!("  a criterion with this would notice: {}\n", way.hint()));
    }
    if !counts.is_empty() && !only_bad {
        out.push_str("\nBroken on purpose, one at a time:\n");
    }
    for (way, (noticed, survived, others)) in counts.iter().filter(|_| !only_bad) {
        let others: Vec<String> = others.iter().map(|(why, count)| format!("{count} ({why})")).collect();
        let others = if others.is_empty() { String::new() } else { format!(", not applicable {}", others.join(", ")) };
        out.push_str(&format!("  {}: noticed {noticed}, survived {survived}{others}\n", way.words()));
    }
    out
}
