//! Recordings of cases: where they stand, and the tape of a trial.
//!
//! A case whose folder `cassettes/<test file>/<case>/<channel>` is there is answered from it wherever it has no scripted reply.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::entries;
use super::options::LiveModels;
use super::outcome::Complaint;
use super::suite::{Suite, Trial};
use crate::adapter::cassette::{Cassette, Head, Mode, head, is_free};
use crate::driver::Door;
use crate::engine::{Unscripted, secret_values};
use crate::model::{Model, Policy, Provider};
use crate::port::{Secret, Tape};
use crate::runtime::declared;

/// The folder of a test file's recordings.
fn home(test: &Path) -> PathBuf {
    test.with_file_name("cassettes").join(test.file_stem().unwrap_or_default())
}

/// The folder of a trial's recordings.
fn folder(suite: &Suite, trial: &Trial) -> PathBuf {
    let case = &suite.test.cases[trial.case].id.value;
    home(&suite.path).join(case).join(trial.channel.as_deref().unwrap_or("run"))
}

/// The tape of one trial.
pub(super) struct TrialTape<'a> {
    folder: PathBuf,
    pub(super) tape: Cassette,
    pub(super) door: Door,
    /// What no event and no request holds.
    pub(super) hidden: Vec<Secret>,
    live: Option<&'a LiveModels>,
    head: Option<Head>,
}

impl<'a> TrialTape<'a> {
    pub(super) fn of(suite: &Suite, trial: &Trial, live: Option<&'a LiveModels>) -> TrialTape<'a> {
        let folder = folder(suite, trial);
        let is_replay = !is_free(&folder) && live.is_none_or(|live| live.keeps);
        let live = live.filter(|_| !is_replay);
        let mode = match live {
            _ if is_replay => Mode::Replay(folder.clone()),
            Some(live) if live.keeps => Mode::Record,
            _ => Mode::Live,
        };
        let secrets = live.map(|live| secret_values(&suite.plan.program, &live.env)).unwrap_or_default();
        let tape = Cassette::new(mode, secrets.iter().map(Secret::reveal));
        let head = if is_replay { head(&folder).ok() } else { None };
        TrialTape { folder, tape, door: Door::new(secrets.iter().map(Secret::reveal)), hidden: secrets, live, head }
    }

    fn is_replay(&self) -> bool {
        matches!(self.tape.mode(), Mode::Replay(_))
    }

    pub(super) fn port(&self) -> Arc<dyn Tape> {
        Arc::new(self.tape.clone())
    }

    /// Whether models may be asked over the network.
    pub(super) fn goes_live(&self) -> bool {
        self.live.is_some()
    }

    pub(super) fn unscripted(&self) -> Unscripted {
        match (self.is_replay(), self.live) {
            (true, _) => Unscripted::Recorded(self.folder.clone()),
            (false, Some(_)) => Unscripted::Live,
            (false, None) => Unscripted::Nobody,
        }
    }

    pub(super) fn default_model(&self) -> Option<Model> {
        let recorded = || Model::new(Provider::Replay(self.folder.clone()));
        let replaced = self.head.as_ref().is_some_and(|head| head.default_model_replaced);
        self.live.and_then(|live| live.default_model.clone()).or_else(|| replaced.then(recorded))
    }

    /// Values of the declared secrets; a replay needs none.
    pub(super) fn secrets(&self, suite: &Suite) -> BTreeMap<String, Secret> {
        match self.live {
            Some(live) => declared([suite.pipeline()], &live.env),
            None if self.is_replay() => suite.pipeline().secrets.keys().map(|name| (name.clone(), Secret::new("***"))).collect(),
            None => BTreeMap::new(),
        }
    }

    /// What the user allows where models are really asked.
    pub(super) fn policies(&self) -> Vec<Policy> {
        self.live.iter().flat_map(|live| live.policy.clone()).collect()
    }

    pub(super) fn env(&self) -> BTreeMap<String, Secret> {
        self.live.map(|live| live.env.clone()).unwrap_or_default()
    }

    /// Writes what was recorded; gives the folder if there was anything, and what is wrong.
    pub(super) fn finish(&self, suite: &Suite, told: &str) -> (Option<PathBuf>, Vec<Complaint>) {
        let misses = self.tape.misses().into_iter().filter(|miss| miss != told);
        let mut complaints: Vec<Complaint> = misses.map(|miss| Complaint::new(format!("not recorded: {miss}"))).collect();
        if self.is_replay() && self.tape.misses().is_empty() {
            let left = self.tape.left_over(&self.folder);
            let told = |(step, call): (String, u64)| {
                format!("the recording of call {call} of step \"{step}\" is left over: it was never asked for")
            };
            complaints.extend(left.into_iter().map(told).map(Complaint::new));
        }
        if *self.tape.mode() != Mode::Record || self.tape.count() == 0 {
            return (None, complaints);
        }
        let replaced = self.live.is_some_and(|live| live.default_model.is_some());
        let head = Head::new(&suite.pipeline().name.value, None, replaced);
        if let Err(error) = suite.may_hold(&self.folder.join("steps")).and_then(|()| self.tape.write(&self.folder, &head).map(drop)) {
            complaints.push(Complaint::new(format!("cannot write the recordings in {}: {error}", self.folder.display())));
            return (None, complaints);
        }
        (Some(self.folder.clone()), complaints)
    }
}

/// Folders of recordings that belong to no case and channel.
pub(super) fn orphans(suites: &[Suite], trials: &[Trial]) -> Vec<PathBuf> {
    let owned: BTreeSet<PathBuf> = trials.iter().map(|trial| folder(&suites[trial.suite], trial)).collect();
    let tests: BTreeSet<PathBuf> = suites.iter().map(|suite| home(&suite.path)).collect();
    let cases = tests.iter().flat_map(|home| entries(home));
    cases.flat_map(|case| entries(&case)).filter(|channel| !owned.contains(channel)).collect()
}
