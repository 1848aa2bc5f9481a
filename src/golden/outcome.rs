//! What trials gave.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::mutate::Mutant;
use super::suite::{Suite, Trial};
use crate::event::Usage;
use crate::report::Diff;

/// What is wrong with a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    pub message: String,
    /// The line of the test file it is about.
    pub line: Option<usize>,
    /// What the old side is called, and how the new one differs.
    pub diff: Option<(String, Diff)>,
}

impl Complaint {
    /// A sentence alone.
    pub(super) fn new(message: impl Into<String>) -> Complaint {
        Complaint { message: message.into(), line: None, diff: None }
    }
}

/// A golden, and how it compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenFile {
    pub path: PathBuf,
    pub state: Golden,
    /// From what it was to what this run sent.
    pub diff: Option<Diff>,
}

/// How a golden compares with what a run sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Golden {
    /// It is as it was.
    Same,
    /// It is as this run, and changed since the commit that was named.
    Accepted,
    /// `--update` wrote it.
    Written,
    /// It is missing or differs; the complaints tell.
    Wrong,
}

/// What became of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The test file.
    pub file: String,
    pub case: String,
    pub line: usize,
    pub channel: Option<String>,
    /// `FILE/CASE/CHANNEL`.
    pub name: String,
    /// What is wrong; nothing: it passed.
    pub complaints: Vec<Complaint>,
    /// Its golden; `None`: it has none.
    pub golden: Option<GoldenFile>,
    /// Where its calls were recorded.
    pub recorded: Option<PathBuf>,
    /// What its plays came to.
    pub tally: Tally,
    /// Its outputs, broken on purpose, if it passed.
    pub mutants: Vec<Mutant>,
}

impl Outcome {
    /// Of a trial that was not run yet.
    pub(super) fn of(suite: &Suite, trial: &Trial) -> Outcome {
        let case = &suite.test.cases[trial.case];
        Outcome {
            file: suite.path.display().to_string(),
            case: case.id.value.clone(),
            line: suite.line(case.id.span),
            channel: trial.channel.clone(),
            name: trial.name.clone(),
            ..Outcome::default()
        }
    }
}

/// What all plays of a trial came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// How often it was played.
    pub plays: usize,
    /// How often nothing was wrong.
    pub passed: usize,
    /// Tokens and money of all plays.
    pub usage: Usage,
    /// For each route how often it chose which case.
    pub routes: BTreeMap<String, BTreeMap<String, usize>>,
}

/// A file that could not be run because of its mistakes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub file: String,
    /// Its mistakes as `flow validate` draws them.
    pub drawn: String,
    /// One line a mistake.
    pub lines: Vec<String>,
}

/// What all trials gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// In the order of files, cases and channels.
    pub outcomes: Vec<Outcome>,
    /// Goldens and recordings that belong to no case.
    pub orphans: Vec<PathBuf>,
    /// Files with mistakes.
    pub broken: Vec<Broken>,
}

impl Report {
    /// How many trials passed and failed.
    pub fn counts(&self) -> (usize, usize) {
        let passed = self.outcomes.iter().filter(|outcome| outcome.complaints.is_empty()).count();
        (passed, self.outcomes.len() - passed)
    }

    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.counts().1 == 0 && self.orphans.is_empty() && self.broken.is_empty()
    }
}
