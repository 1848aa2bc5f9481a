//! What trials gave.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

use super::mutate::Mutant;
use super::suite::{Suite, Trial};
use crate::event::{NOT_STARTED, RunEnd, Usage};
use crate::model::Expect;
use crate::report::Diff;

/// How it ended.
pub(super) enum TrialEnding {
    /// The channel, the inputs or the person are not what the pipeline asks for: why, a line each.
    NotStarted(Vec<String>),
    Over(Box<RunEnd>),
    /// It does not end.
    Endless(String),
}

impl Default for TrialEnding {
    fn default() -> TrialEnding {
        TrialEnding::NotStarted(vec![])
    }
}

impl TrialEnding {
    /// Whether a run ended as its case wants it to. That it does not start is wanted by `exit` alone.
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

/// The status that a case wants.
pub(super) fn wanted_status(expect: Option<&Expect>) -> &str {
    expect.and_then(|expect| expect.status.as_ref()).map_or("succeeded", |status| status.as_str())
}

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
    /// The model that every agent asked; `None`: its own.
    pub model: Option<String>,
    /// `FILE/CASE/CHANNEL`, with `@MODEL` where there is one.
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

/// What all plays of a trial came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// How often it was played.
    pub plays: usize,
    /// How often nothing was wrong.
    pub passed: usize,
    /// Tokens and money of all plays.
    pub usage: Usage,
    /// How long models were waited for, in all plays.
    pub waited: Duration,
    /// For each route how often it chose which case.
    pub routes: BTreeMap<String, BTreeMap<String, usize>>,
}

/// A file that could not be run because of its mistakes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The file, as it is named on the command line.
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

/// What all cases came to on one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparedModel<'r> {
    pub name: &'r str,
    /// Cases that ran on it, each channel counted.
    pub cases: usize,
    /// Those of them that passed.
    pub passed: usize,
    /// Tokens and money, without what judges used.
    pub usage: Usage,
    /// How long it was waited for.
    pub waited: Duration,
}

impl Report {
    /// What each model came to that cases were compared on, in the order of the test files.
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
