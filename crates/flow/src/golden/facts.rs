//! The results of a play of a trial, and the differences between plays.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;

use super::file::one_text;
use super::outcome::{Complaint, Tally, TrialEnding};
use super::play::Played;
use crate::event::{NOT_STARTED, Usage};

/// Maximum number of lines about flickering results of one case.
const MOST_TOLD: usize = 30;

/// A result that is compared between the plays of a trial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum TrialFinding {
    Status,
    Route(String),
    /// Gate, round, criterion.
    Criterion(String, usize, String),
    Sent,
}

/// The results of one play.
pub(super) struct Facts {
    found: BTreeMap<TrialFinding, String>,
    usage: Usage,
    waited: Duration,
}

impl Facts {
    pub(super) fn from_played(played: &Played) -> Facts {
        let mut found = BTreeMap::new();
        let (status, usage) = match &played.ending {
            TrialEnding::Over(end) => (end.status.word().to_string(), end.usage),
            TrialEnding::NotStarted(_) => (format!("not started (exit {NOT_STARTED})"), Usage::default()),
            TrialEnding::Endless(_) => ("without end".to_string(), Usage::default()),
        };
        found.insert(TrialFinding::Status, status);
        found.insert(TrialFinding::Sent, one_text(&played.sent));
        let record = played.record.as_ref();
        let is_told = |gate: &str| record.iter().any(|record| record.failures.iter().any(|failure| failure.gate == gate));
        for step in record.iter().flat_map(|record| &record.steps) {
            if let Some(case) = step.details().case() {
                found.insert(TrialFinding::Route(step.step.clone()), case.to_string());
            }
            // A gate that passed its first text has verdicts only in its details.
            for (id, is_met) in step.details().verdicts().filter(|_| !is_told(&step.step)) {
                found.insert(TrialFinding::Criterion(step.step.clone(), 1, id.to_string()), passed(is_met));
            }
        }
        for failure in record.iter().flat_map(|record| &record.failures) {
            for (round, verdicts) in failure.verdicts.iter().enumerate() {
                for verdict in verdicts {
                    found.insert(
                        TrialFinding::Criterion(failure.gate.clone(), round + 1, verdict.id.clone()),
                        passed((!verdict.skipped).then_some(verdict.passed)),
                    );
                }
            }
        }
        Facts { found, usage, waited: played.waited }
    }
}

fn passed(passed: Option<bool>) -> String {
    passed.map_or("skipped", |passed| if passed { "passed" } else { "failed" }).to_string()
}

/// Combines all plays of one trial: returns the tally and the complaints.
pub(super) fn together(plays: Vec<(Option<Facts>, Vec<Complaint>)>) -> (Tally, Vec<Complaint>) {
    let mut tally = Tally { plays: plays.len(), ..Tally::default() };
    for (facts, complaints) in &plays {
        tally.passed += usize::from(complaints.is_empty());
        for (about, value) in facts.iter().flat_map(|facts| &facts.found) {
            if let TrialFinding::Route(route) = about {
                *tally.routes.entry(route.clone()).or_default().entry(value.clone()).or_default() += 1;
            }
        }
        if let Some(facts) = facts {
            tally.usage.add(&facts.usage);
            tally.waited += facts.waited;
        }
    }
    let told = flickers(&plays);
    let complaints = if told.is_empty() { plays.into_iter().next().map(|(_, complaints)| complaints).unwrap_or_default() } else { told };
    (tally, complaints)
}

/// Returns the results that differ between plays, with the counts.
fn flickers(plays: &[(Option<Facts>, Vec<Complaint>)]) -> Vec<Complaint> {
    let count = plays.len();
    let all: BTreeSet<&TrialFinding> = plays.iter().filter_map(|(facts, _)| facts.as_ref()).flat_map(|facts| facts.found.keys()).collect();
    let mut told = vec![];
    for about in all {
        let mut values: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for (facts, _) in plays {
            *values.entry(facts.as_ref().and_then(|facts| facts.found.get(about)).map(String::as_str)).or_default() += 1;
        }
        if values.len() > 1 {
            told.push(Complaint::new(format!("flickers: {}", sentence(about, &values, count))));
        }
    }
    // Expectations of the test, by line and text up to what was found.
    let mut held: IndexMap<(Option<usize>, &str), (&Complaint, usize)> = IndexMap::new();
    for complaint in plays.iter().flat_map(|(_, complaints)| complaints) {
        held.entry((complaint.line, expectation(complaint))).or_insert((complaint, 0)).1 += 1;
    }
    for (complaint, failed) in held.into_values().filter(|(_, failed)| *failed < count) {
        let message = format!("flickers: held {} of {count} times; else: {}", count - failed, complaint.message);
        told.push(Complaint { message, ..complaint.clone() });
    }
    if told.len() > MOST_TOLD {
        let more = told.len() - MOST_TOLD;
        told.truncate(MOST_TOLD);
        told.push(Complaint::new(format!("flickers: {more} more")));
    }
    told
}

fn expectation(complaint: &Complaint) -> &str {
    let message = complaint.message.as_str();
    let end = ["; found", ", found", ", it was", ": "].iter().filter_map(|mark| message.find(mark)).min();
    end.and_then(|end| message.get(..end)).unwrap_or(message)
}

fn sentence(about: &TrialFinding, values: &BTreeMap<Option<&str>, usize>, count: usize) -> String {
    let listed = |none: &str| -> String {
        let each: Vec<String> = values.iter().map(|(value, times)| format!("{} {times}", value.unwrap_or(none))).collect();
        format!("{} of {count} times", each.join(", "))
    };
    match about {
        TrialFinding::Status => format!("the run ended {}", listed("otherwise")),
        TrialFinding::Route(route) => format!("route \"{route}\" chose {}", listed("nothing")),
        TrialFinding::Criterion(gate, round, id) => {
            let judged = count - values.get(&None).copied().unwrap_or(0);
            let passed = values.get(&Some("passed")).copied().unwrap_or(0);
            let round = if *round > 1 { " in the second round" } else { "" };
            let judged = if judged < count { format!(" (judged {judged} times)") } else { String::new() };
            format!("{id} passed {passed} of {count} at gate \"{gate}\"{round}{judged}")
        }
        TrialFinding::Sent => {
            let times: Vec<String> = values.values().map(usize::to_string).collect();
            format!("what was sent came in {} versions ({} of {count} times)", values.len(), times.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(criterion: &str, route: &str, complaints: &[&str]) -> (Option<Facts>, Vec<Complaint>) {
        let found = BTreeMap::from([
            (TrialFinding::Criterion("validate".into(), 1, "answers_question".into()), criterion.to_string()),
            (TrialFinding::Route("plan".into()), route.to_string()),
        ]);
        let usage = Usage { input_tokens: 10, ..Usage::default() };
        (Some(Facts { found, usage, waited: Duration::ZERO }), complaints.iter().map(|text| Complaint::new(*text)).collect())
    }

    #[test]
    fn what_changes_is_counted_and_never_averaged_away() {
        let mut plays: Vec<_> = (0..7).map(|_| play("passed", "week", &[])).collect();
        plays.extend(
            (0..3).map(|n| play("failed", if n == 0 { "month" } else { "week" }, &[&format!("status: expected succeeded, found {n}")])),
        );
        let (tally, told) = together(plays);
        let told: Vec<&str> = told.iter().map(|complaint| complaint.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "flickers: route \"plan\" chose month 1, week 9 of 10 times",
                "flickers: answers_question passed 7 of 10 at gate \"validate\"",
                "flickers: held 7 of 10 times; else: status: expected succeeded, found 0",
            ]
        );
        assert_eq!((tally.plays, tally.passed, tally.usage.input_tokens), (10, 7, 100));
        assert_eq!(tally.routes["plan"], BTreeMap::from([("month".to_string(), 1), ("week".to_string(), 9)]));
    }

    #[test]
    fn what_is_always_wrong_is_told_as_it_is() {
        let (tally, told) = together((0..3).map(|_| play("failed", "week", &["exit: expected 0, found 5"])).collect());
        assert_eq!(told, [Complaint::new("exit: expected 0, found 5")]);
        assert_eq!(tally.passed, 0);
        let (tally, told) = together((0..3).map(|_| play("passed", "week", &[])).collect());
        assert_eq!((tally.passed, told.len()), (3, 0));
    }
}
