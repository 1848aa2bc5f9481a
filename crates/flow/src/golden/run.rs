//! Runs all trials on several threads and combines their results.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::facts::{Facts, together};
use super::file;
use super::outcome::{Complaint, Golden, GoldenFile, Outcome, Report, Tally, TrialEnding};
use super::play::{Played, play};
use super::suite::{Suite, Trial, TrialOptions};
use super::{expect, leftover, taping};
use crate::adapter::{files, lock};
use crate::driver::Blocking;
use crate::report::Diff;
use crate::runtime::STACK;

/// Maximum size of a golden in bytes.
const MOST_GOLDEN: u64 = 64 * 1024 * 1024;
/// Maximum number of threads.
const MOST_THREADS: usize = 8;

/// Runs the trials of these suites.
pub fn run(suites: &[Suite], options: &TrialOptions) -> Report {
    let all: Vec<Trial> = suites.iter().enumerate().flat_map(|(index, suite)| suite.trials(index, options.compares())).collect();
    let is_wanted = |trial: &Trial| options.filter.is_none_or(|text| trial.name.contains(text));
    let wanted: Vec<&Trial> = all.iter().filter(|trial| is_wanted(trial)).collect();
    let mut results = on_threads(suites, &wanted, options).into_iter();
    // Results by index in `all`; filtered-out trials have none.
    let mut results: Vec<Option<Tried>> = all.iter().map(|trial| if is_wanted(trial) { results.next() } else { None }).collect();
    for (index, suite) in suites.iter().enumerate() {
        let places: Vec<usize> = (0..all.len()).filter(|place| all[*place].suite == index).collect();
        let judged = |place: &usize| {
            let tried = results[*place].as_ref().filter(|tried| tried.ended_well);
            (&all[*place], tried.and_then(|tried| tried.played.as_ref()))
        };
        let trials: Vec<_> = places.iter().map(judged).collect();
        for (first, complaint) in leftover::of_suite(suite, &trials) {
            if let Some(tried) = &mut results[places[first]] {
                tried.outcome.complaints.push(complaint);
                tried.outcome.tally.passed = 0;
            }
        }
    }
    let owned: BTreeSet<PathBuf> = all.iter().zip(&results).flat_map(|(trial, tried)| owned(&suites[trial.suite], trial, tried)).collect();
    let tests: Vec<&std::path::Path> = suites.iter().map(|suite| suite.path.as_path()).collect();
    let outcomes = results.into_iter().flatten().map(Tried::outcome).collect();
    let orphans = file::orphans(&tests, &owned).into_iter().chain(taping::orphans(suites, &all)).collect();
    Report { outcomes, orphans, broken: vec![] }
}

struct Tried {
    outcome: Outcome,
    played: Option<Played>,
    ended_well: bool,
}

fn on_threads(suites: &[Suite], trials: &[&Trial], options: &TrialOptions) -> Vec<Tried> {
    let results: Vec<Mutex<Option<Tried>>> = trials.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let world = Blocking::new(options.ports.clone());
        while let Some((trial, result)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            trials.get(place).zip(results.get(place))
        } {
            let tried = match &world {
                Ok(world) => guarded(&suites[trial.suite], trial, world, options),
                Err(error) => fault(&suites[trial.suite], trial, format!("the test cannot be run: {error}")),
            };
            *lock(result) = Some(tried);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().max(2)).min(MOST_THREADS).min(trials.len());
    // A connection belongs to the thread that opened it.
    let threads = if options.live.is_some() { 0 } else { threads };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // If threads cannot be started, the others do the work; if there are none, this thread does.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
    });
    work();
    let taken = results.into_iter().map(|result| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    let fallen = |trial: &Trial| fault(&suites[trial.suite], trial, "the test was not run".into());
    taken.zip(trials).map(|(tried, trial)| tried.unwrap_or_else(|| fallen(trial))).collect()
}

fn fault(suite: &Suite, trial: &Trial, message: String) -> Tried {
    let tally = Tally { plays: 1, ..Tally::default() };
    let outcome = Outcome { complaints: vec![Complaint::new(message)], tally, ..Outcome::from_trial(suite, trial) };
    Tried { outcome, played: None, ended_well: false }
}

/// Runs one trial; a panic in it fails only this trial.
fn guarded(suite: &Suite, trial: &Trial, world: &Blocking, options: &TrialOptions) -> Tried {
    catch_unwind(AssertUnwindSafe(|| try_one(suite, trial, world, options)))
        .unwrap_or_else(|_| fault(suite, trial, "internal error of flow; please report it with the lines above".into()))
}

/// Plays a trial as often as requested.
fn try_one(suite: &Suite, trial: &Trial, world: &Blocking, options: &TrialOptions) -> Tried {
    let mut first = play_one(suite, trial, world, options, 0);
    let facts = |tried: &mut Tried| (tried.played.as_ref().map(Facts::from_played), std::mem::take(&mut tried.outcome.complaints));
    let mut plays = vec![facts(&mut first)];
    plays.extend((1..options.repeat as u64).map(|number| facts(&mut play_one(suite, trial, world, options, number))));
    (first.outcome.tally, first.outcome.complaints) = together(plays);
    first
}

fn play_one(suite: &Suite, trial: &Trial, world: &Blocking, options: &TrialOptions, number: u64) -> Tried {
    let case = &suite.test.cases[trial.case];
    let mut played = play(suite, trial, world, options, number);
    let mut complaints = expect::compare(suite, trial, &played);
    complaints.append(&mut played.untaped);
    complaints.extend(leftover::unasked(suite, trial, &played));
    let ended_well = played.ending.is_as_expected(case.expect.as_ref());
    if ended_well {
        complaints.extend(leftover::of_trial(suite, trial, &played));
    }
    let golden = if case.golden { golden(suite, trial, &played, options.update && trial.model.is_none(), &mut complaints) } else { None };
    Tried { outcome: Outcome { complaints, golden, ..Outcome::from_trial(suite, trial) }, played: Some(played), ended_well }
}

impl Tried {
    fn outcome(self) -> Outcome {
        let (recorded, mutants) = self.played.map(|played| (played.recorded, played.mutants)).unwrap_or_default();
        let mutants = if self.outcome.complaints.is_empty() { mutants } else { vec![] };
        Outcome { recorded, mutants, ..self.outcome }
    }
}

/// Returns the path of the golden of a trial.
fn golden_path(suite: &Suite, trial: &Trial, has_sent: bool) -> PathBuf {
    let case = &suite.test.cases[trial.case];
    let extension = suite.channel(trial.channel.as_deref()).map_or("txt", |channel| channel.body.extension());
    let several = suite.channels(case).len() > 1;
    file::folder(&suite.path).join(&case.id.value).join(file::name(trial.channel.as_deref(), extension, has_sent, several))
}

fn golden(suite: &Suite, trial: &Trial, played: &Played, update: bool, complaints: &mut Vec<Complaint>) -> Option<GoldenFile> {
    let TrialEnding::Over(end) = &played.ending else { return None };
    let has_sent = !played.sent.is_empty();
    let path = golden_path(suite, trial, has_sent);
    let now = if has_sent { file::of_sent(&played.sent) } else { file::of_outputs(&end.outputs) };
    let is_link = || path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let held = match suite.may_hold(&path) {
        Ok(()) if is_link() => Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is a link; put the file there yourself")),
        held => held,
    };
    let before = match held.and_then(|()| files::read(&path, MOST_GOLDEN)) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            complaints.push(Complaint::new(format!("cannot read golden {}: {error}", path.display())));
            return Some(GoldenFile { path, state: Golden::Wrong, diff: None });
        }
    };
    if before.as_deref().is_some_and(|before| file::compared(before) == file::compared(&now)) {
        return Some(GoldenFile { path, state: Golden::Same, diff: None });
    }
    let diff = Diff::between(&file::compared(before.as_deref().unwrap_or_default()), &file::compared(&now));
    // A failed run is not stored as a golden.
    if update && complaints.is_empty() {
        let state = match suite.may_hold(&path).and_then(|()| file::write(&path, &now)) {
            Ok(()) => Golden::Written,
            Err(error) => {
                complaints.push(Complaint::new(format!("cannot write golden {}: {error}", path.display())));
                Golden::Wrong
            }
        };
        return Some(GoldenFile { path, state, diff });
    }
    let nothing = if has_sent { "" } else { " (nothing was sent, so it contains the outputs)" };
    let not_written = if update { "; it was not written, since the run is not as expected" } else { "" };
    let message = match &before {
        Some(_) => format!("golden {} differs{not_written}", path.display()),
        None if update => format!("golden {} is missing{nothing}{not_written}", path.display()),
        None => format!("golden {} is missing{nothing}; if this is right, run flow test --update", path.display()),
    };
    complaints.push(Complaint { diff: diff.clone().map(|diff| ("golden".to_string(), diff)), ..Complaint::new(message) });
    Some(GoldenFile { path, state: Golden::Wrong, diff })
}

/// Returns the goldens that belong to a trial. A trial that was not run, or failed, may have either name.
fn owned(suite: &Suite, trial: &Trial, tried: &Option<Tried>) -> Vec<PathBuf> {
    let has_sent = |tried: &Tried| tried.played.as_ref().is_some_and(|played| !played.sent.is_empty());
    match tried {
        _ if !suite.test.cases[trial.case].golden => vec![],
        Some(tried) if tried.ended_well => vec![golden_path(suite, trial, has_sent(tried))],
        _ => vec![golden_path(suite, trial, true), golden_path(suite, trial, false)],
    }
}
