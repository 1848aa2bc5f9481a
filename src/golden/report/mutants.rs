//! What gates noticed of outputs that were broken on purpose.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::mutate::{Mutant, Noticed, OutputMutation};
use super::super::outcome::{Outcome, Report};
use crate::diagnostic::visible;

/// So much of a text that nobody noticed is shown, in characters.
const SHOWN: usize = 160;

fn all(report: &Report) -> impl Iterator<Item = (&Outcome, &Mutant)> {
    report.outcomes.iter().flat_map(|outcome| outcome.mutants.iter().map(move |mutant| (outcome, mutant)))
}

/// How many broken outputs nobody noticed.
pub fn survived(report: &Report) -> usize {
    all(report).filter(|(_, mutant)| matches!(mutant.noticed, Noticed::Nobody(_))).count()
}

/// Those that nobody noticed, each with what would; then, unless `only_bad`, a line for each way.
pub(super) fn human(report: &Report, only_bad: bool) -> String {
    let mut out = String::new();
    let mut counts: BTreeMap<OutputMutation, (usize, usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for (outcome, mutant) in all(report) {
        let count = counts.entry(mutant.way).or_default();
        match &mutant.noticed {
            Noticed::By(_) => count.0 += 1,
            Noticed::NotApplicable(why) => *count.2.entry(why).or_default() += 1,
            Noticed::Nobody(text) => {
                count.1 += 1;
                let end: String = text.trim_end().chars().rev().take(SHOWN).collect::<Vec<_>>().into_iter().rev().collect();
                let cut = if end.len() < text.trim_end().len() { "… " } else { "" };
                let (name, gate, way) = (visible(&outcome.name), visible(&mutant.gate), mutant.way);
                out.push_str(&format!("\nSURVIVED {name}\n  gate \"{gate}\" lets {} through: {cut}{}\n", way.words(), visible(&end)));
                out.push_str(&format!("  a criterion with this would notice: {}\n", way.hint()));
            }
        }
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

/// For a program.
pub(super) fn json(outcome: &Outcome) -> Value {
    let one = |mutant: &Mutant| {
        let (result, more) = match &mutant.noticed {
            Noticed::By(criteria) => ("noticed", json!(criteria)),
            Noticed::Nobody(text) => ("survived", json!(text)),
            Noticed::NotApplicable(why) => ("not_applicable", json!(why)),
        };
        json!({ "gate": mutant.gate, "mutation": mutant.way.words(), "result": result, "by": more })
    };
    outcome.mutants.iter().map(one).collect()
}
