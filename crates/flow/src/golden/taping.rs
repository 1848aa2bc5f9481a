//! Recordings of cases: their folders, and the tape of a trial.
//!
//! If the folder `cassettes/<test file>/<case>/<channel>` exists, calls of the case without a scripted reply are answered from it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::entries;
use super::outcome::Complaint;
use super::suite::{LiveModels, Suite, Trial};
use crate::adapter::cassette::{Cassette, Head, head, is_free};
use crate::adapter::files::cannot;
use crate::driver::Door;
use crate::engine::{Mocks, PortRules, RunSettings, Unscripted, secret_values};
use crate::load::WrittenRules;
use crate::model::{Limits, Replies, TestCase};
use crate::port::{Secret, Tape};
use crate::runtime::Taping;

/// Returns the folder of a test file's recordings.
fn home(test: &Path) -> PathBuf {
    test.with_file_name("cassettes").join(test.file_stem().unwrap_or_default())
}

/// Returns the folder of a trial's recordings.
fn folder(suite: &Suite, trial: &Trial) -> PathBuf {
    let case = &suite.test.cases[trial.case].id.value;
    home(&suite.path).join(case).join(trial.channel.as_deref().unwrap_or("run"))
}

/// The tape of one trial.
pub(super) struct TrialTape<'a> {
    taping: Taping,
    tape: Cassette,
    pub(super) door: Door,
    /// Secrets that must not appear in events and requests.
    hidden: Vec<Secret>,
    live: Option<&'a LiveModels>,
}

impl<'a> TrialTape<'a> {
    pub(super) fn from_trial(suite: &Suite, trial: &Trial, live: Option<&'a LiveModels>) -> TrialTape<'a> {
        let folder = folder(suite, trial);
        let keeps = live.is_none_or(|live| live.keeps);
        let (taping, live) = match live {
            _ if keeps && !is_free(&folder) => (Taping::Replay(folder), None),
            Some(live) if keeps => (Taping::Record(folder), Some(live)),
            live => (Taping::None, live),
        };
        let hidden = live.map(|live| secret_values(&suite.plan.program, &live.env)).unwrap_or_default();
        let tape = Cassette::new(taping.mode(), hidden.iter().map(Secret::reveal));
        TrialTape { taping, tape, door: Door::new(hidden.iter().map(Secret::reveal)), hidden, live }
    }

    pub(super) fn port(&self) -> Arc<dyn Tape> {
        Arc::new(self.tape.clone())
    }

    /// Whether models may be called over the network.
    pub(super) fn goes_live(&self) -> bool {
        self.live.is_some()
    }

    /// Returns the settings of the run. The environment and the user's policy apply only if models are called live.
    pub(super) fn settings(&self, suite: &Suite, case: &TestCase, every_model: Option<String>, rules: &PortRules) -> RunSettings {
        let (live, is_replay) = (self.live, self.taping.is_replay());
        let by_step = case.replies.iter().map(|(step, set)| (step.clone(), set.clone())).collect();
        let by_name = case.mocks.iter().map(|(name, mock)| (name.clone(), mock.value.clone())).collect();
        let env = live.map(|live| live.env.clone()).unwrap_or_default();
        RunSettings {
            secrets: self.taping.secrets(&suite.plan.program.pipelines[..1], &env),
            hidden: self.hidden.clone(),
            env,
            default_model: match &self.taping {
                // The model that the settings supplied when it was recorded counts, not the current one.
                Taping::Replay(folder) if head(folder).is_ok_and(|head| head.default_model_replaced || head.default_model_given) => {
                    self.taping.model()
                }
                _ => live.and_then(|live| live.default_model.clone()),
            },
            every_model,
            user_policies: live.iter().flat_map(|live| live.policy.clone()).collect(),
            unscripted: if live.is_some() || is_replay { self.taping.unscripted() } else { Unscripted::Nobody },
            replies: Some(Arc::new(Replies { by_step, ..Replies::default() })),
            mocks: Mocks { by_name, recorded: None, refuses_effects: true, ports: Some(rules.clone()) },
            written: Box::new(WrittenRules),
            limits: Limits::default(),
            most_calls: u64::MAX,
            is_chat: false,
        }
    }

    /// Writes the recordings; returns their folder, if there were any, and the problems.
    pub(super) fn finish(&self, suite: &Suite, told: &str) -> (Option<PathBuf>, Vec<Complaint>) {
        let misses = self.tape.misses();
        let mut wrong: Vec<String> = misses.iter().filter(|miss| *miss != told).map(|miss| format!("not recorded: {miss}")).collect();
        let mut recorded = None;
        match &self.taping {
            Taping::Replay(folder) if misses.is_empty() => {
                let left = self.tape.left_over(folder).into_iter();
                wrong.extend(
                    left.map(|(step, call)| format!("the recording of call {call} of step \"{step}\" is left over: it was never used")),
                );
            }
            Taping::Record(folder) if self.tape.count() > 0 => {
                let replaced = self.live.is_some_and(|live| live.default_model.is_some());
                let default_model_given = suite.is_given_model && !replaced;
                let head = Head { default_model_given, ..Head::new(&suite.pipeline().name.value, None, replaced) };
                let may = suite.may_hold(&folder.join("steps")).map_err(cannot("write the recordings in", folder));
                match may.and_then(|()| self.taping.finish(&self.tape, &head)) {
                    Ok(written) => recorded = written.map(|written| written.folder),
                    Err(error) => wrong.push(error.to_string()),
                }
            }
            Taping::None | Taping::Record(_) | Taping::Replay(_) => {}
        }
        (recorded, wrong.into_iter().map(Complaint::new).collect())
    }
}

/// Returns folders of recordings without a case and channel.
pub(super) fn orphans(suites: &[Suite], trials: &[Trial]) -> Vec<PathBuf> {
    let owned: BTreeSet<PathBuf> = trials.iter().map(|trial| folder(&suites[trial.suite], trial)).collect();
    let tests: BTreeSet<PathBuf> = suites.iter().map(|suite| home(&suite.path)).collect();
    let cases = tests.iter().flat_map(|home| entries(home));
    cases.flat_map(|case| entries(&case)).filter(|channel| !owned.contains(channel)).collect()
}
