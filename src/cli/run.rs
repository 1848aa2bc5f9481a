//! `flow run`, and what it shares with those that go on with a run.

use std::path::Path;
use std::sync::Arc;

use super::arguments::{OutputOptions, RunOptions, SharedOptions};
use super::outcome::OutputTargets;
use super::progress::ProgressDisplay;
use super::refusal::{Refusal, time, told};
use super::signals::{self, Attended, listen};
use super::{Exit, checked, inputs, limits, tell, trust};
use crate::adapter::sqlite_store::SqliteStore;
use crate::adapter::started::Agreed;
use crate::adapter::stdout::{Silent, Stdout};
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::event::Event;
use crate::journal::{PersonalMask, masked, record};
use crate::port::Printer;
use crate::redact::Redactor;
use crate::report::{how_to_decide, show_command};
use crate::runtime::{
    Attend, Decided, RunError, RunInputs, RunQuestion, RunSession, Setup, Storage, Surroundings, Taping, channel, settings,
};

/// Runs a pipeline.
pub(super) fn run(options: &RunOptions, shared: &SharedOptions) -> Exit {
    told(try_run(options, shared))
}

fn try_run(options: &RunOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let taping = Taping::new(options.record.as_deref(), options.replay.as_deref()).map_err(Refusal::usage)?;
    let wanted = &options.wanted;
    let (surroundings, progress) = shown(&wanted.file, &options.printed, options.trust.is_given, shared, taping)?;
    let pipeline = surroundings.pipeline.clone();
    let (mut given, beside) = inputs::read(&pipeline, wanted.inputs_file.as_deref(), &wanted.inputs)?;
    let channel = channel(&pipeline, wanted.channel.as_deref().or(beside.as_deref()))?;
    let at_question = inputs::ask(&pipeline, &mut given);
    let has_all = inputs::missing(&pipeline, &given).is_empty();
    let now = wanted.now.as_deref().or(surroundings.taping.now()).map(time).transpose()?;
    let flags = limits::limits(wanted.deadline.as_deref(), wanted.max_cost_usd)?;
    let limits = settings::narrowest(&flags, &surroundings.settled.limits);
    let given = RunInputs { inputs: given, channel, now, limits, is_served: false };
    let session = match RunSession::begin(surroundings, given, SqliteStore::open_sealed) {
        Err(RunError::Lacking(end)) => {
            return Ok(OutputTargets::open(&options.printed)?.finish(shared, &end, &[], true, &Redactor::default()));
        }
        Err(RunError::Inputs(mut problems)) => {
            problems.extend((!has_all).then(|| "give it with --input name=value, or in a file with --inputs FILE".to_string()));
            return Err(Refusal(Exit::Usage, problems));
        }
        begun => begun?,
    };
    let printed = OutputTargets::open(&options.printed)?;
    drop(at_question);
    carry_on(session, progress, printed, shared)
}

/// Checks the file, sees that it is trusted, and gets everything ready for a run that is shown; nothing is started.
pub(super) fn shown(
    file: &Path,
    printed: &OutputOptions,
    is_allowed: bool,
    shared: &SharedOptions,
    taping: Taping,
) -> Result<(Surroundings, ProgressDisplay), Refusal> {
    let events_on_stdout = printed.events.as_deref() == Some(Path::new("-"));
    if printed.json && events_on_stdout {
        return Err(Refusal::usage("--json and --events - both want standard output; leave one out"));
    }
    let checked = checked::pipeline(file, shared)?;
    // A replay asks nobody, starts nothing and needs no secret.
    let agreed = if taping.is_replay() { Arc::default() } else { trust::consent(&checked, file, is_allowed, shared)? };
    let printer: Arc<dyn Printer> = if printed.json || events_on_stdout { Arc::new(Silent) } else { Arc::new(Stdout::default()) };
    let mut surroundings = surroundings(checked, agreed, file, printer, shared, taping)?;
    let is_shown = !shared.quiet && !shared.no_progress;
    let ports = &mut surroundings.ports;
    let progress = if is_shown { ProgressDisplay::on(shared.verbose, ports.clock.clone()) } else { ProgressDisplay::off() };
    ports.heard = progress.heard();
    if !events_on_stdout {
        ports.printer = progress.beside(ports.printer.clone());
    }
    Ok((surroundings, progress))
}

/// The surroundings of a run of a file that was checked and agreed to.
pub(super) fn surroundings(
    checked: Checked,
    agreed: Arc<Agreed>,
    file: &Path,
    printer: Arc<dyn Printer>,
    shared: &SharedOptions,
    taping: Taping,
) -> Result<Surroundings, Refusal> {
    let project = shared.project_of(file);
    let setup = Setup {
        file: file.to_path_buf(),
        settled: settings::read(&project)?,
        project,
        env: shared.variables()?,
        env_file: shared.env_file.clone(),
        default_model: None,
        storage: Storage::Project,
        printer,
        taping,
        agreed,
        change: None,
    };
    let surroundings = Surroundings::new(checked, setup)?;
    signals::survive_full_files(&surroundings.runtime);
    tell::hide_secrets(&surroundings.hidden);
    Ok(surroundings)
}

/// A run that somebody looks at.
struct AtTerminal<'a> {
    signals: &'a Attended,
    progress: &'a ProgressDisplay,
    printed: &'a mut OutputTargets,
}

impl Attend for AtTerminal<'_> {
    fn masks(&mut self, redactor: &Redactor) {
        tell::hide_with(redactor);
    }

    fn see(&mut self, event: &Event, mask: &PersonalMask) {
        self.signals.watch(event);
        self.progress.show(event, mask);
        self.printed.event(event, mask);
    }

    /// The question waits in a thread of its own, so that Ctrl-C still ends the run; it is saved and goes on later.
    fn decide(&mut self, RunQuestion { run, step, text }: RunQuestion) -> Decided<'_> {
        let show = show_command(&run, &step);
        let asking = self.progress.aside(tokio::task::spawn_blocking(move || inputs::allow(&text, &show)));
        Box::pin(async { asking.await.ok().flatten() })
    }
}

/// Runs to the end, or until a person must decide.
pub(super) fn carry_on(
    session: RunSession,
    progress: ProgressDisplay,
    mut printed: OutputTargets,
    shared: &SharedOptions,
) -> Result<Exit, Refusal> {
    let surroundings = &session.surroundings;
    if !shared.quiet {
        surroundings.unrecognised().iter().for_each(|line| tell!("{line}"));
    }
    match &surroundings.taping {
        _ if shared.quiet => {}
        Taping::Replay(folder, _) => tell!("replay: answers come from {}, nobody is asked", folder.display()),
        _ if surroundings.scripted => tell!("models are scripted: replies come from a file, no model is asked"),
        _ => {}
    }
    let sends = surroundings.pipeline.all_steps().into_iter().any(|step| step.kind.effects(&surroundings.pipeline).prints);
    let (sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
    // Until all is written: what hangs then can be interrupted, too.
    let signals = listen(sender);
    let played = session.play(&mut stop, &mut AtTerminal { signals: &signals, progress: &progress, printed: &mut printed });
    drop(stop);
    drop(progress);
    let recorded = played.recorded.map_err(|error| Refusal(Exit::Failed, vec![error.to_string()]));
    if let Ok(Some(recorded)) = recorded.as_ref().map(|recorded| recorded.as_ref().filter(|_| !shared.quiet)) {
        let calls = recorded.calls;
        tell!("recorded {calls} call{} in {}", if calls == 1 { "" } else { "s" }, recorded.folder.display());
        recorded.lost.iter().for_each(|lost| tell!("not word for word: {}", visible(lost)));
    }
    let loss = played.loss.map(Refusal::from);
    let is_lost = loss.is_some();
    match played.end? {
        Some(end) => {
            let exit = printed.finish(shared, &end, &played.events, sends, played.mask.redactor());
            if let Some(Refusal(_, lines)) = loss {
                lines.iter().for_each(|line| tell!("{line}"));
            }
            recorded?;
            // A step may get over a missing recording; whoever replays must not.
            let told = end.failure.as_ref().filter(|_| !shared.quiet).map(|failure| failure.failure.message.as_str());
            for miss in played.misses.iter().filter(|miss| Some(miss.as_str()) != told) {
                tell!("not recorded: {}", visible(miss));
            }
            Ok(if played.misses.is_empty() { exit.unless(is_lost) } else { Exit::Failed })
        }
        None if is_lost => loss.map_or(Ok(Exit::Failed), Err),
        None => {
            for line in to_decide(&played.events) {
                tell!("{line}");
            }
            Ok(Exit::Waiting)
        }
    }
}

/// What a person must decide about a run that waits, and how, for others.
pub(super) fn to_decide(events: &[Event]) -> Vec<String> {
    record(events).map(|record| how_to_decide(&masked(record, events))).unwrap_or_default()
}
