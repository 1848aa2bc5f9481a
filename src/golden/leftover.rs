//! Replies and mocks that nobody asked for.
//!
//! What a case writes itself must be used in it; what stands in the file for all cases, in one of them.

use std::collections::BTreeMap;

use super::play::Played;
use super::run::Complaint;
use super::suite::{Suite, Trial};
use crate::model::ReplySet;
use crate::source::Span;

/// Replies of a list that were left over in one trial.
pub(super) fn of_trial(suite: &Suite, trial: &Trial, played: &Played) -> Vec<Complaint> {
    let mut complaints = vec![];
    for (step, set) in suite.test.cases[trial.case].replies.iter() {
        let used = played.noted.replies_used.get(step).copied().unwrap_or(0);
        // A list nobody asked for is told once, by `of_suite`.
        let ReplySet::InTurn(list) = set else { continue };
        if let Some(left) = list.get(used as usize).filter(|_| used > 0) {
            let number = used + 1;
            let message = format!("reply {number} of {} for step \"{step}\" is left over: call {number} never came", list.len());
            complaints.push(Complaint { line: Some(suite.line(left.span)), ..Complaint::new(message) });
        }
    }
    complaints
}

/// Replies and mocks that no trial asked for; each goes to the first trial that has it. Trials are those of one suite, all of them, and
/// what became of each; `None`: it was not run, or did not end as expected, so that nothing can be said about it.
pub(super) fn of_suite(suite: &Suite, trials: &[(&Trial, Option<&Played>)]) -> Vec<(usize, Complaint)> {
    let mut written: BTreeMap<(Span, &str, &str), Use> = BTreeMap::new();
    for (index, (trial, played)) in trials.iter().enumerate() {
        let case = &suite.test.cases[trial.case];
        let noted = played.map(|played| &played.noted);
        let replies = case.replies.iter().filter_map(|(step, set)| {
            let used = noted.is_none_or(|noted| noted.replies_used.get(step).is_some_and(|used| *used > 0));
            Some((place(set)?, "reply", step, used))
        });
        let mocks = case.mocks.iter().map(|(name, mock)| {
            let used = noted.is_none_or(|noted| noted.mocks_used.contains(name));
            (mock.span, "mock", name, used)
        });
        for (span, kind, name, used) in replies.chain(mocks) {
            let seen = written.entry((span, kind, name)).or_insert(Use { first: index, is_used: false });
            seen.is_used |= used;
        }
    }
    let unused = written.into_iter().filter(|(_, seen)| !seen.is_used);
    let complaints = unused.map(|((span, kind, name), seen)| {
        let message = match kind {
            "reply" => format!("the reply for step \"{name}\" is left over: no model was asked there"),
            _ => format!("the mock of \"{name}\" is left over: it was never needed"),
        };
        (seen.first, Complaint { line: Some(suite.line(span)), ..Complaint::new(message) })
    });
    complaints.collect()
}

struct Use {
    /// The first trial that has it.
    first: usize,
    is_used: bool,
}

/// Where replies stand; `None`: there are none in the list.
fn place(set: &ReplySet) -> Option<Span> {
    match set {
        ReplySet::Every(reply) => Some(reply.span),
        ReplySet::InTurn(list) | ReplySet::Matching(list) => list.first().map(|reply| reply.span),
    }
}
