//! Results of trials.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

use super::mutate::Mutant;
use super::suite::{Suite, Trial};
use crate::event::{NOT_STARTED, RunEnd, Usage};
use crate::model::Expect;
use crate::report::Diff;

/// How a trial ended.
pub(super) enum TrialEnding {
    /// The channel, the inputs or the person do not match the pipeline; one line per reason.
    NotStarted(Vec<String>),
    Over(Box<RunEnd>),
    /// The run does not end.
    Endless(String),
}

impl Default for TrialEnding {
    fn default() -> TrialEnding {
        TrialEnding::NotStarted(vec![])
    }
}

impl TrialEnding {
    /// Whether a run ended as its case expects. A run that does not start is only expected by `exit`.
    pub(super) fn is_as_expected(&self, expect: Option<&Expect>) -> bool {
        match self {
            TrialEnding::Over(end) => end.status.word() == wanted_status(expect),
            TrialEnding::NotStarted(_) => expect.is_some_and(|expect| {
                expect.status.is_none() && expect.exit.as_ref().is_some_and(|wanted| wanted.value == i64::from(NOT_STARTED))
            }),
            TrialEnding::Endless(_) => false,
        }
    }
}

/// Returns the status that a case expects.
pub(super) fn wanted_status(expect: Option<&Expect>) -> &str {
    expect.and_then(|expect| expect.status.as_ref()).map_or("succeeded", |status| status.as_str())
}

/// A failed expectation or another problem of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    pub message: String,
    /// The line of the test file that it refers to.
    pub line: Option<usize>,
    /// The name of the old side, and the differences of the new one.
    pub diff: Option<(String, Diff)>,
}

impl Complaint {
    /// Creates a complaint with a message only.
    pub(super) fn new(message: impl Into<String>) -> Complaint {
        Complaint { message: message.into(), line: None, diff: None }
    }
}

/// A golden and its comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenFile {
    pub path: PathBuf,
    pub state: Golden,
    /// The difference from the golden to the result of this run.
    pub diff: Option<Diff>,
}

/// The result of the comparison of a golden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Golden {
    /// It is unchanged.
    Same,
    /// It matches this run, and has changed since the named commit.
    Accepted,
    /// `--update` wrote it.
    Written,
    /// It is missing or differs; the complaints give the details.
    Wrong,
}

/// The result of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The test file.
    pub file: String,
    pub case: String,
    pub line: usize,
    pub channel: Option<String>,
    /// The model that replaces that of every agent; `None`: agents use their own.
    pub model: Option<String>,
    /// `FILE/CASE/CHANNEL`, with `@MODEL` if there is one.
    pub name: String,
    /// Problems; empty: it passed.
    pub complaints: Vec<Complaint>,
    /// Its golden; `None`: it has none.
    pub golden: Option<GoldenFile>,
    /// The folder of its recordings, if it was recorded.
    pub recorded: Option<PathBuf>,
    /// The tally of its plays.
    pub tally: Tally,
    /// The results of broken outputs, if it passed.
    pub mutants: Vec<Mutant>,
}

impl Outcome {
    /// Creates the outcome of a trial that has not been run yet.
    pub(super) fn from_trial(suite: &Suite, trial: &Trial) -> Outcome {
        let case = &suite.test.cases[trial.case];
        Outcome {
            file: suite.path.display().to_string(),
            case: case.id.value.clone(),
            line: suite.line(case.id.span),
            channel: trial.channel.clone(),
            model: trial.model.clone(),
            name: trial.name.clone(),
            ..Outcome::default()
        }
    }
}

/// The tally of all plays of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// The number of plays.
    pub plays: usize,
    /// The number of plays without problems.
    pub passed: usize,
    /// Tokens and cost of all plays.
    pub usage: Usage,
    /// Time spent waiting for models in all plays.
    pub waited: Duration,
    /// For each route, how often each case was chosen.
    pub routes: BTreeMap<String, BTreeMap<String, usize>>,
}

/// A file that could not be run because of its errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The file as named on the command line.
    pub file: String,
    /// Its errors as `flow validate` prints them.
    pub drawn: String,
    /// One line per error.
    pub lines: Vec<String>,
}

/// The results of all trials.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// In the order of files, cases and channels.
    pub outcomes: Vec<Outcome>,
    /// Goldens and recordings without a case.
    pub orphans: Vec<PathBuf>,
    /// Files with errors.
    pub broken: Vec<Broken>,
}

/// The results of all cases on one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparedModel<'r> {
    pub name: &'r str,
    /// Number of cases, counted per channel.
    pub cases: usize,
    /// Number of cases that passed.
    pub passed: usize,
    /// Tokens and cost, without those of judges.
    pub usage: Usage,
    /// Time spent waiting for it.
    pub waited: Duration,
}

impl Report {
    /// Returns the results of each compared model, in the order of the test files.
    pub fn models(&self) -> Vec<ComparedModel<'_>> {
        let mut models: IndexMap<&str, ComparedModel> = IndexMap::new();
        for (name, outcome) in self.outcomes.iter().filter_map(|outcome| Some((outcome.model.as_deref()?, outcome))) {
            let model = models.entry(name).or_insert_with(|| ComparedModel { name, ..ComparedModel::default() });
            model.cases += 1;
            model.passed += usize::from(outcome.complaints.is_empty());
            model.usage.add(&outcome.tally.usage);
            model.waited += outcome.tally.waited;
        }
        models.into_values().collect()
    }

    /// Returns how many trials passed and failed.
    pub fn counts(&self) -> (usize, usize) {
        let passed = self.outcomes.iter().filter(|outcome| outcome.complaints.is_empty()).count();
        (passed, self.outcomes.len() - passed)
    }

    /// Whether there are no problems.
    pub fn is_good(&self) -> bool {
        self.counts().1 == 0 && self.orphans.is_empty() && self.broken.is_empty()
    }
}
