//! Unused replies and mocks.
//!
//! Replies and mocks of a case must be used in that case; those of the file for all cases must be used in at least one case.

use std::collections::BTreeMap;

use super::outcome::Complaint;
use super::play::Played;
use super::suite::{Suite, Trial};
use crate::diagnostic::{did_you_mean, visible};
use crate::journal::Record;
use crate::model::{Judging, Pipeline, ReplyBody, ReplySet, step_path};
use crate::source::Span;

/// Returns replies of a list that one trial did not use up.
pub(super) fn of_trial(suite: &Suite, trial: &Trial, played: &Played) -> Vec<Complaint> {
    let mut complaints = vec![];
    for (step, set) in suite.test.cases[trial.case].replies.iter() {
        let used = played.noted.replies_used.get(step).copied().unwrap_or(0);
        // An entirely unused list is reported once, by `of_suite`.
        let ReplySet::InTurn(list) = set else { continue };
        if let Some(left) = list.get(used as usize).filter(|_| used > 0) {
            let number = used + 1;
            let message = format!("reply {number} of {} for step \"{step}\" is left over: call {number} never came", list.len());
            let message = message + &ended_by_limit(played, step);
            complaints.push(Complaint { line: Some(suite.line(left.span)), ..Complaint::new(message) });
        }
    }
    complaints
}

/// Returns a hint if a limit ended a dialogue, so that a reply was not needed.
fn ended_by_limit(played: &Played, step: &str) -> String {
    let record = played.record.iter().flat_map(|record| &record.steps).find(|found| found.step == step);
    let reason = record.filter(|found| found.output["ended"] == "limit").and_then(|found| found.output["reason"].as_str());
    reason.map(|reason| format!(", since a limit ended the dialogue ({}); remove the reply", visible(reason))).unwrap_or_default()
}

/// Returns complaints about criteria that a used reply fails although no judge was called for them at the gate, so that they had no effect.
pub(super) fn unasked(suite: &Suite, trial: &Trial, played: &Played) -> Vec<Complaint> {
    let mut complaints = vec![];
    let Some(record) = &played.record else { return complaints };
    for (path, set) in suite.test.cases[trial.case].replies.iter() {
        let used = played.noted.replies_used.get(path).copied().unwrap_or(0) as usize;
        let replies = match set {
            ReplySet::Every(reply) if used > 0 => std::slice::from_ref(reply),
            ReplySet::InTurn(list) => &list[..used.min(list.len())],
            // It is unknown which of them answered.
            ReplySet::Every(_) | ReplySet::Matching(_) => continue,
        };
        let judged = verdicts(record, path);
        let failed = replies.iter().filter_map(|reply| if let ReplyBody::Failed(failed) = &reply.body { Some(failed) } else { None });
        for (name, _) in failed.flatten().filter(|_| !judged.is_empty()) {
            let message = match judged.get(name.value.as_str()) {
                None => format!("it does not have{}", did_you_mean(&name.value, judged.keys().copied())),
                Some(_) if has_check(suite.pipeline(), &name.value) => "has a check and asks no judge".to_string(),
                Some(false) => "was skipped: its when was false".to_string(),
                Some(true) => continue,
            };
            let message = format!("the reply for gate \"{path}\" fails criterion \"{}\", which {message}", name.value);
            complaints.push(Complaint { line: Some(suite.line(name.span)), ..Complaint::new(message) });
        }
    }
    complaints
}

/// Returns the criteria of a gate, in all rounds and elements, and whether each was judged.
fn verdicts<'r>(record: &'r Record, path: &str) -> BTreeMap<&'r str, bool> {
    let is_it = |step: &str| step_path::written_for(step, |name| name == path).is_some();
    let judged = record.steps.iter().filter(|step| is_it(&step.step)).flat_map(|step| step.details().verdicts());
    let last = judged.map(|(id, met)| (id, met.is_some()));
    let failures = record.failures.iter().filter(|failure| is_it(&failure.gate));
    let mut found = BTreeMap::new();
    for (id, is_judged) in
        last.chain(failures.flat_map(|failure| &failure.verdicts).flatten().map(|verdict| (verdict.id.as_str(), !verdict.skipped)))
    {
        *found.entry(id).or_default() |= is_judged;
    }
    found
}

/// Whether every criterion of this name in the pipeline has a check.
fn has_check(pipeline: &Pipeline, id: &str) -> bool {
    let all = pipeline.scorecards.values().flat_map(|card| &card.criteria);
    let mut named = all.filter(|criterion| criterion.id.value == id).peekable();
    named.peek().is_some() && named.all(|criterion| matches!(criterion.judging, Judging::Checks(_)))
}

/// Returns replies and mocks that no trial used; each is reported for the first trial that has it. `trials` are all trials of one suite
/// with their results; `None`: the trial was not run, or did not end as expected, so nothing is known about it.
pub(super) fn of_suite(suite: &Suite, trials: &[(&Trial, Option<&Played>)]) -> Vec<(usize, Complaint)> {
    // The first trial that has it, and whether any trial used it.
    let mut written: BTreeMap<(Span, &str, &str), (usize, bool)> = BTreeMap::new();
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
            written.entry((span, kind, name)).or_insert((index, false)).1 |= used;
        }
    }
    let unused = written.into_iter().filter(|(_, (_, is_used))| !is_used);
    let complaints = unused.map(|((span, kind, name), (first, _))| {
        let message = match kind {
            "reply" => format!("the reply for step \"{name}\" is left over: the step did not call a model"),
            _ => format!("the mock of \"{name}\" is left over: it was never needed"),
        };
        (first, Complaint { line: Some(suite.line(span)), ..Complaint::new(message) })
    });
    complaints.collect()
}

/// Returns the position of replies; `None`: the list is empty.
fn place(set: &ReplySet) -> Option<Span> {
    match set {
        ReplySet::Every(reply) => Some(reply.span),
        ReplySet::InTurn(list) | ReplySet::Matching(list) => list.first().map(|reply| reply.span),
    }
}
