//! `flow run`, and functions for other commands that execute runs.

use std::path::Path;
use std::sync::Arc;

use super::arguments::{OutputOptions, RunOptions, SharedOptions};
use super::asking::AskedAtTerminal;
use super::outcome::{OutputTargets, has_printed};
use super::progress::ProgressDisplay;
use super::refusal::{Refusal, pipeline};
use super::signals::{self, Attended, listen};
use super::typing::StdoutBesideQuestion;
use super::{Exit, inputs, telemetry, tell, trust, typing};
use crate::adapter::agreed::Agreed;
use crate::adapter::stdout::Silent;
use crate::diagnostic::{counted, visible};
use crate::event::Event;
use crate::journal::{PersonalMask, RunMask, masked, record};
use crate::redact::Redactor;
use crate::report::how_to_decide;
use crate::runtime::{
    Attend, PlayedRun, RunError, RunOutcome, RunSession, Runner, Storage, Surroundings, Taping, Workflow, channel, start_of,
};
use flow_lang::plan::surely_asks;

/// The note printed if replies come from a file.
pub(super) const SCRIPTED: &str = "models are scripted: replies come from a file, no model is called";

/// Runs a pipeline.
pub(super) fn run(options: &RunOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let taping = match (&options.record, &options.replay) {
        (Some(folder), _) => Taping::Record(folder.clone()),
        (None, Some(folder)) => Taping::Replay(folder.clone()),
        (None, None) => Taping::None,
    };
    let wanted = &options.wanted;
    let mut on = prepared(&wanted.file, &options.printed, options.trust.is_given, shared, taping)?;
    let pipeline = on.pipeline().clone();
    let (mut given, beside) = inputs::read(&pipeline, wanted.inputs_file.as_deref(), &wanted.inputs)?;
    on.runner.channel = channel(&pipeline, wanted.channel.as_deref().or(beside.as_deref()))?;
    on.runner.now = wanted.now.as_deref().map(inputs::time).transpose()?;
    let flags = inputs::limits(wanted.deadline.as_deref(), wanted.max_cost_usd)?;
    on.runner.limits = flags.within(&on.runner.limits);
    on.runner.caller = telemetry::caller(shared.quiet);
    let reach = shared.reach(&on.runner.workflow.project);
    let at_question = inputs::ask(&pipeline, &mut given);
    let has_all = inputs::missing(&pipeline, &given).is_empty();
    let absent = inputs::absent(&pipeline, &given);
    absent.iter().filter(|_| !shared.quiet).for_each(|line| tell!("{line}"));
    let session = match RunSession::begin(on, given) {
        Err(RunError::Lacking(failure)) => {
            let outcome = RunOutcome::lacking(failure);
            return Ok(OutputTargets::open(&options.printed, reach)?.finish(
                shared,
                &PlayedRun::new(outcome, PersonalMask::default(), None),
                true,
            ));
        }
        Err(RunError::Inputs(mut problems)) => {
            problems.extend((!has_all).then(|| "set it with --input name=value, or in a file with --inputs FILE".to_string()));
            return Err(Refusal(Exit::Usage, problems));
        }
        begun => begun?,
    };
    let printed = OutputTargets::open(&options.printed, reach)?;
    drop(at_question);
    play(session, printed, shared)
}

/// Checks the file and its trust, and prepares a run whose events are shown; nothing is started.
pub(super) fn prepared(
    file: &Path,
    printed: &OutputOptions,
    is_allowed: bool,
    shared: &SharedOptions,
    taping: Taping,
) -> Result<Surroundings, Refusal> {
    if printed.json && printed.events_on_stdout() {
        return Err(Refusal::usage("--json and --events - both write to standard output; use only one"));
    }
    let workflow = pipeline(file, shared)?;
    if let (Taping::Record(_), false, Some(step)) = (&taping, typing::is_at_terminal(), surely_asks(&workflow.checked.plan)) {
        let what = format!("--record: step \"{}\" asks a person, and nobody can answer here", visible(&step.id.value));
        return Err(refusal!(Usage, "{what}; a recording is of one whole run, so record it at a terminal"));
    }
    // A replay needs no consent and no secrets, and starts nothing.
    let agreed = if taping.is_replay() { None } else { Some(trust::consent(&workflow.checked, file, is_allowed, shared)?) };
    let mut runner = shared.runner(&workflow, agreed);
    runner.taping = taping;
    ready(&runner)
}

impl SharedOptions {
    /// Creates a runner from the settings, the environment and `--env-file`, for a file with consent.
    pub(super) fn runner(&self, workflow: &Workflow, agreed: Option<Arc<Agreed>>) -> Runner {
        let mut runner = workflow.runner().environment().user_settings().storage(Storage::Project);
        runner.env_file.clone_from(&self.env_file);
        runner.agreed = agreed;
        runner
    }
}

/// Prepares the environment of a run; its secrets are masked from now on.
pub(super) fn ready(runner: &Runner) -> Result<Surroundings, Refusal> {
    let mut on = runner.surroundings()?;
    on.runner.telemetry = telemetry::observer(&on.settled.telemetry);
    signals::survive_full_files();
    tell::hide_secrets(&on.hidden);
    Ok(on)
}

/// A run shown at the terminal.
struct AtTerminal<'a> {
    signals: Attended,
    progress: Option<Arc<ProgressDisplay>>,
    is_quiet: bool,
    printed: OutputTargets<'a>,
}

impl Attend for AtTerminal<'_> {
    fn masks(&mut self, redactor: &Redactor) {
        tell::hide_with(redactor);
    }

    fn waits(&mut self, ahead: &str, process: &str) {
        waits(ahead, process, self.is_quiet);
    }

    fn see(&mut self, event: &Event, mask: RunMask<'_>) {
        self.signals.watch(event);
        self.progress.iter().for_each(|progress| progress.show(event, mask));
        self.printed.event(event, mask);
    }
}

/// Prints for which run of its conversation a run waits.
pub(super) fn waits(ahead: &str, process: &str, is_quiet: bool) {
    if !is_quiet {
        tell!("run {ahead} of this conversation is running in process {process}; waiting for it");
    }
}

/// Plays a run to its end, or until a person must decide, and reports the outcome.
pub(super) fn play(session: RunSession, printed: OutputTargets, shared: &SharedOptions) -> Result<Exit, Refusal> {
    watched(session, printed, shared, |played, printed| {
        let sent = played.outcome.events.iter().any(has_printed);
        report(played, printed, sent, shared)
    })
}

/// Plays a run to its end, or until a person must decide. `then` receives the outcome and the output targets; signals are handled until it
/// returns, so that it can be interrupted, too.
pub(super) fn watched<'a, T>(
    mut session: RunSession,
    printed: OutputTargets<'a>,
    shared: &SharedOptions,
    then: impl FnOnce(PlayedRun, OutputTargets<'a>) -> T,
) -> T {
    let on = &mut session.on;
    if !shared.quiet {
        on.unrecognised().iter().chain(&on.unreadable_folders()).for_each(|line| tell!("{line}"));
        match &on.runner.taping {
            Taping::Replay(folder) => tell!("replay: answers come from {}, no model or service is called", folder.display()),
            _ if on.scripted => tell!("{SCRIPTED}"),
            _ => {}
        }
    }
    let progress = (!shared.quiet && !shared.no_progress).then(|| Arc::new(ProgressDisplay::new(shared.verbose, shared.look_of_stderr())));
    on.ports.heard = progress.as_ref().and_then(|progress| progress.heard());
    on.ports.printer = match &progress {
        _ if printed.takes_stdout() => Arc::new(Silent),
        Some(progress) => progress.beside(Arc::new(StdoutBesideQuestion::default())),
        None => Arc::new(StdoutBesideQuestion::default()),
    };
    let (sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
    let mut person = AskedAtTerminal::new(progress.clone(), printed.reach.clone());
    let mut terminal = AtTerminal { signals: listen(sender), progress, is_quiet: shared.quiet, printed };
    let played = session.play(&mut stop, &mut terminal, &mut person);
    drop(person);
    let AtTerminal { signals: _heard, progress, is_quiet: _, mut printed } = terminal;
    printed.is_below_progress = progress.as_ref().is_some_and(|progress| progress.is_above_reply());
    drop(stop);
    drop(progress);
    then(played, printed)
}

/// Reports the outcome of a run. `sent`: steps have printed its message.
pub(super) fn report(mut played: PlayedRun, printed: OutputTargets, sent: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let outcome = &mut played.outcome;
    if let (Ok(Some(recorded)), false) = (&outcome.recorded, shared.quiet) {
        tell!("recorded {} in {}", counted(recorded.calls, "call", "calls"), recorded.folder.display());
        recorded.lost.iter().for_each(|lost| tell!("not word for word: {}", visible(lost)));
    }
    let loss = outcome.loss.take().map(Refusal::from);
    if outcome.status().is_none() {
        to_decide(&outcome.events, &printed.reach).iter().filter(|_| loss.is_none()).for_each(|line| tell!("{line}"));
        if is_recorded(&outcome.events) {
            tell!("nothing was recorded: a recording is of one whole run, and this one waits for a person");
        }
        let is_lost = !printed.waits(&played);
        return loss.map_or(Ok(Exit::Waiting.unless(is_lost)), Err);
    }
    let exit = printed.finish(shared, &played, sent);
    let outcome = played.outcome;
    let is_lost = loss.is_some();
    loss.iter().flat_map(|Refusal(_, lines)| lines).for_each(|line| tell!("{line}"));
    outcome.recorded?;
    // A step may handle a missing recording; the replay still fails.
    let told = outcome.failure.as_ref().filter(|_| !shared.quiet).map(|failure| failure.failure.message.as_str());
    for miss in outcome.misses.iter().filter(|miss| Some(miss.as_str()) != told) {
        tell!("not recorded: {}", visible(miss));
    }
    Ok(if outcome.misses.is_empty() { exit.unless(is_lost) } else { Exit::Failed })
}

/// Whether a run was started with `--record`.
pub(super) fn is_recorded(events: &[Event]) -> bool {
    start_of(events).and_then(|start| start.tape.as_ref()).is_some_and(|tape| !tape.is_replay)
}

/// Returns the questions of a waiting run with the commands to answer them, masked for others.
pub(super) fn to_decide(events: &[Event], reach: &str) -> Vec<String> {
    record(events).map(|record| how_to_decide(&masked(record, events), reach)).unwrap_or_default()
}
