//! `flow run`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::arguments::{OutputOptions, RunOptions, Shared};
use super::models::{is_file, is_scripted, know_prices};
use super::outcome::Written;
use super::own::own_files;
use super::progress::Progress;
use super::refusal::{Refusal, channel, lacking, time, told};
use super::settings::{self, Settled};
use super::signals::{self, listen};
use super::tape::{Taping, reads_clock, tell_misses};
use super::{Exit, checked, inputs, keeping, project, state, tell, trust, world};
use crate::adapter::cassette::{Cassette, Head};
use crate::adapter::environment;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sealing::Sealing;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::sqlite_store::SqliteStore;
use crate::adapter::started::Agreed;
use crate::adapter::stdout::{Silent, Stdout};
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::driver::{Begin, Door, Ports, Runtime, drive, find_person};
use crate::engine::{Mocks, Options, Run, check_inputs, secret_values};
use crate::event::{Event, Happening, RunStart, StyleUsed};
use crate::journal::{Journal, Mask, masked, record};
use crate::load::WrittenRules;
use crate::model::{Limits, Model, Pipeline, Program};
use crate::port::{Printer, Secret, StoreError};
use crate::redact::{Redactor, is_recognised};
use crate::report::{how_to_decide, show_command};

/// Runs a pipeline.
pub(super) fn run(options: &RunOptions, shared: &Shared) -> Exit {
    told(try_run(options, shared))
}

fn try_run(options: &RunOptions, shared: &Shared) -> Result<Exit, Refusal> {
    let taping = Taping::new(options.record.as_deref(), options.replay.as_deref()).map_err(Refusal::usage)?;
    let mut surroundings = Surroundings::new(&options.wanted.file, &options.printed, options.trust.is_given, shared, taping)?;
    let pipeline = surroundings.pipeline.clone();
    let (mut given, beside) = inputs::read(&pipeline, options.wanted.inputs_file.as_deref(), &options.wanted.inputs)?;
    let channel = channel(&pipeline, options.wanted.channel.as_deref().or(beside.as_deref()))?;
    let at_question = inputs::ask(&pipeline, &mut given);
    let has_all = inputs::missing(&pipeline, &given).is_empty();
    let given = check_inputs(&pipeline, given).map_err(|mut problems| {
        problems.extend((!has_all).then(|| "give it with --input name=value, or in a file with --inputs FILE".to_string()));
        Refusal(Exit::Usage, problems)
    })?;
    let now = options.wanted.now.as_deref().or(surroundings.taping.now()).map(time).transpose()?;
    if let Some(end) = lacking(&surroundings.checked) {
        return Ok(Written::open(&options.printed)?.finish(shared, &end, &[], true, &Redactor::default()));
    }
    let flags = world::limits(options.wanted.deadline.as_deref(), options.wanted.max_cost_usd)?;
    let limits = settings::narrowest(&flags, &surroundings.settled.limits);
    let start = surroundings.start(&options.wanted.file, given, channel, now, &limits)?;
    let (id, store, lock) = surroundings.journal(SqliteStore::open_sealed)?;
    let printed = Written::open(&options.printed)?;
    let run = surroundings.run(id, limits);
    drop(at_question);
    surroundings.carry_on(run, Begin::Start(Box::new(start)), vec![], printed, store, lock)
}

/// What a run needs besides its beginning.
pub(super) struct Surroundings<'a> {
    shared: &'a Shared,
    project: PathBuf,
    pub(super) checked: Checked,
    pub(super) pipeline: Arc<Pipeline>,
    env: BTreeMap<String, Secret>,
    /// What no text that comes in or is printed may hold.
    hidden: Vec<Secret>,
    default_model: Option<Model>,
    pub(super) settled: Settled,
    sealing: Sealing,
    pub(super) scripted: bool,
    taping: Taping,
    tape: Cassette,
    /// Whether a file without a model called `default` has one of the settings, and it is a real one.
    is_given: bool,
    pub(super) ports: Ports,
    progress: Progress,
    pub(super) runtime: Runtime,
}

impl<'a> Surroundings<'a> {
    /// Checks the file, sees that it is trusted, and gets everything ready; nothing is started.
    pub(super) fn new(
        file: &Path,
        printed: &OutputOptions,
        is_allowed: bool,
        shared: &'a Shared,
        taping: Taping,
    ) -> Result<Surroundings<'a>, Refusal> {
        let events_on_stdout = printed.events.as_deref() == Some(Path::new("-"));
        if printed.json && events_on_stdout {
            return Err(Refusal::usage("--json and --events - both want standard output; leave one out"));
        }
        let checked = checked::pipeline(file, shared)?;
        // A replay asks nobody, starts nothing and needs no secret.
        let agreed = if taping.is_replay() { Arc::default() } else { trust::consent(&checked, file, is_allowed, shared)? };
        Surroundings::of(checked, agreed, file, printed, shared, taping)
    }

    /// The same for a file that was checked before.
    pub(super) fn of(
        mut checked: Checked,
        agreed: Arc<Agreed>,
        file: &Path,
        printed: &OutputOptions,
        shared: &'a Shared,
        taping: Taping,
    ) -> Result<Surroundings<'a>, Refusal> {
        let events_on_stdout = printed.events.as_deref() == Some(Path::new("-"));
        let project = project::project(file, shared);
        let settled = settings::read(&project)?;
        let sealing = keeping::of_new_runs(&settled)?;
        let given_model = taping.given_model().or_else(|| settled.model.clone());
        let is_given = settings::give_model(&mut checked, given_model.as_ref()) && !given_model.as_ref().is_some_and(is_file);
        let Some(pipeline) = checked.loaded.program.pipelines.first().cloned() else { return Err(checked::no_pipeline(file)) };
        let env = environment::variables(shared.env_file.as_deref()).map_err(Refusal::usage)?;
        let default_model = taping.default_model(world::default_model(&env)?);
        let scripted = taping.is_replay() || is_scripted(&checked.loaded.program, default_model.is_some());
        let printer: Arc<dyn Printer> = if printed.json || events_on_stdout { Arc::new(Silent) } else { Arc::new(Stdout::default()) };
        let runtime = Runtime::new().map_err(|e| Refusal(Exit::Failed, vec![format!("flow cannot start: {e}")]))?;
        signals::survive_full_files(&runtime);
        let private_hosts = settled.hosts_with(&env);
        let hidden = secret_values(&checked.loaded.program, &env);
        tell::hide_secrets(&hidden);
        let hidden_texts = || hidden.iter().map(Secret::reveal);
        let tape = Cassette::new(taping.mode(), hidden_texts());
        let mut ports = Ports {
            tape: Some(Arc::new(tape.clone())),
            door: Door::new(hidden_texts()),
            ..world::ports(printer, own_files(&project, Some(&checked), shared)?, private_hosts, agreed)
        };
        let is_shown = !shared.quiet && !shared.no_progress;
        let progress = if is_shown { Progress::on(shared.verbose, ports.clock.clone()) } else { Progress::off() };
        ports.heard = progress.heard();
        if !events_on_stdout {
            ports.printer = progress.beside(ports.printer);
        }
        Ok(Surroundings {
            shared,
            project,
            checked,
            pipeline,
            env,
            hidden,
            default_model,
            settled,
            sealing,
            scripted,
            taping,
            tape,
            is_given,
            ports,
            progress,
            runtime,
        })
    }

    /// The first event of a run with these inputs, checked already: who it is for is found out.
    pub(super) fn start(
        &self,
        file: &Path,
        given: Map<String, Value>,
        channel: Option<String>,
        now: Option<DateTime<Utc>>,
        limits: &Limits,
    ) -> Result<RunStart, Refusal> {
        let person = self.runtime.block_on(find_person(&self.pipeline, &given, &*self.ports.database));
        let person = person.map_err(|error| Refusal::usage(visible(&error.to_string())))?;
        self.know_prices(limits)?;
        Ok(RunStart {
            pipeline: self.pipeline.name.value.clone(),
            hash: self.pipeline.hash.clone(),
            files: self.checked.loaded.prints.clone(),
            tape: self.taping.told(),
            file: std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()).display().to_string(),
            inputs: Arc::new(Value::Object(given)),
            channel,
            style_guide: self.pipeline.style_guide.as_deref().map(StyleUsed::of),
            person: Arc::new(Value::Object(person.fields)),
            failure: person.failure,
            now: now.unwrap_or_else(|| self.ports.clock.now()),
            scripted: self.scripted,
            served: false,
            seed: environment::seed(),
            deadline_ms: limits.deadline.map(|time| time.as_millis() as u64),
            max_cost_usd: limits.max_cost_usd,
            marks: crate::engine::marks(&self.checked.loaded.program),
        })
    }

    /// Hosts in private networks that the user named.
    pub(super) fn private_hosts(&self) -> Vec<String> {
        self.settled.hosts_with(&self.env)
    }

    /// The id of a new run, and its place in the journal.
    pub(super) fn journal<Log>(
        &mut self,
        open: impl FnOnce(&Path, &Sealing) -> Result<Log, StoreError>,
    ) -> Result<(String, Log, RunLock), Refusal> {
        let (id, file) = (environment::run_id(), state::journal_file(&self.project)?);
        let opened = open(&file, &self.sealing).and_then(|store| Ok((RunLock::take(&file, &id)?, store)));
        let (lock, store) = opened.map_err(|error| state::with_help(error.into(), &self.project))?;
        self.keep_results_of(&id, &file, &self.sealing.clone());
        Ok((id, store, lock))
    }

    /// Results that are used again are kept as those of this run, encrypted as it is; a run that is recorded or replayed keeps none.
    pub(super) fn keep_results_of(&mut self, run: &str, journal: &Path, sealing: &Sealing) {
        if self.taping == Taping::None {
            self.ports.cache = Arc::new(SqliteCache::new(keeping::cache_file(journal), run, sealing.clone()));
        }
    }

    /// A run that has not begun.
    pub(super) fn run(&self, id: String, limits: Limits) -> Run {
        let now = crate::driver::moment(&*self.ports.clock, self.ports.clock.elapsed());
        Run::new(id, Arc::new(self.checked.plan.clone()), self.options(limits), now)
    }

    pub(super) fn know_prices(&self, limits: &Limits) -> Result<(), Refusal> {
        if self.taping.is_replay() {
            return Ok(());
        }
        know_prices(&self.checked, self.default_model.as_ref(), limits)
    }

    /// Values of the declared secrets. A replay needs none, so that one that is not set is stars.
    pub(super) fn secrets(&self) -> BTreeMap<String, Secret> {
        let all = self.checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let stars = all.filter(|_| self.taping.is_replay()).map(|name| (name.clone(), Secret::new("***")));
        stars.chain(secrets(&self.checked.loaded.program, &self.env)).collect()
    }

    /// What to tell about declared secrets that cannot be told from ordinary text.
    pub(super) fn unrecognised(&self) -> Vec<String> {
        let declared = self.checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let unique: BTreeSet<&String> = declared.collect();
        unique.into_iter().filter_map(|name| unrecognised(name, &self.env)).collect()
    }

    /// Knows what must not be shown.
    pub(super) fn mask(&self) -> Mask {
        Mask::new(self.hidden.iter().map(Secret::reveal))
    }

    pub(super) fn options(&self, limits: Limits) -> Options {
        Options {
            secrets: self.secrets(),
            hidden: self.hidden.clone(),
            env: self.env.clone(),
            default_model: self.default_model.clone(),
            user_policy: self.settled.policy.clone(),
            unscripted: self.taping.unscripted(),
            replies: None,
            mocks: Mocks::default(),
            written: Box::new(WrittenRules),
            limits,
        }
    }

    /// What a cassette of this run says of it.
    fn head(&self, events: &[Event]) -> Head {
        let start = events.first().and_then(|event| match &event.happening {
            Happening::RunStarted(start) => Some(start.now.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)),
            _ => None,
        });
        let now = start.filter(|_| reads_clock(&self.checked.loaded.program));
        Head { default_model_given: self.is_given, ..Head::new(&self.pipeline.name.value, now, self.default_model.is_some()) }
    }

    /// Runs to the end, or until a person must decide. `before` are the events so far.
    pub(super) fn carry_on(
        self,
        mut run: Run,
        begin: Begin,
        before: Vec<Event>,
        mut printed: Written,
        store: SqliteStore,
        _lock: RunLock,
    ) -> Result<Exit, Refusal> {
        let shared = self.shared;
        if !shared.quiet {
            self.unrecognised().iter().for_each(|line| tell!("{line}"));
        }
        match &self.taping {
            _ if shared.quiet => {}
            Taping::Replay(folder, _) => tell!("replay: answers come from {}, nobody is asked", folder.display()),
            _ if self.scripted => tell!("models are scripted: replies come from a file, no model is asked"),
            _ => {}
        }
        let sends = self.pipeline.all_steps().into_iter().any(|step| step.kind.effects(&self.pipeline).prints);
        let mut journal = Journal::new(Box::new(store));
        let mut mask = self.mask();
        for event in &before {
            mask.take(event);
            if let Some(tape) = &self.ports.tape {
                tape.watch(event);
            }
        }
        tell::hide_with(mask.redactor());
        let mut seen = before;
        let (sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
        // Until all is written: what hangs then can be interrupted, too.
        let signals = listen(sender);
        let ended = self.runtime.block_on(async {
            let mut begin = begin;
            let ended = loop {
                let mut watch = |event: &Event| {
                    if mask.take(event) {
                        tell::hide_with(mask.redactor());
                    }
                    signals.watch(event);
                    self.progress.show(event, &mask);
                    printed.event(event, &mask);
                    seen.push(event.clone());
                };
                let ended = drive(&mut run, begin, &self.ports, &mut journal, &mut stop, &mut watch).await;
                let asked = if matches!(ended, Ok(None)) { run.state().undecided().next().cloned() } else { None };
                let Some(step) = asked else { break ended };
                let question = question(&seen, &step).unwrap_or_default();
                let show = show_command(seen.last().map_or("", |event| &event.run), &step);
                // The question waits in a thread of its own, so that Ctrl-C still ends the run here; it is saved and goes on later.
                let asking = self.progress.aside(tokio::task::spawn_blocking(move || inputs::allow(&question, &show)));
                let decided = tokio::select! {
                    decided = asking => decided.ok().flatten(),
                    _ = stop.recv() => None,
                };
                let Some(approved) = decided else { break ended };
                begin = Begin::Decided { step: step.to_string(), approved };
            };
            let _ = self.ports.servers.close().await;
            ended
        });
        drop(stop);
        let head = self.head(&seen);
        drop(self.progress);
        drop(self.runtime);
        // What was recorded, and what came out, is written whatever becomes of the other.
        let recorded = self.taping.finish(&self.tape, &head, shared.quiet).map_err(|error| Refusal(Exit::Failed, vec![error.to_string()]));
        let (ended, loss) = match (ended, run.state().finished.clone()) {
            // Its end could not be kept; what came out is printed all the same.
            (Err(error), Some(end)) => {
                seen.extend(journal.unkept());
                (Some(end), Some(Refusal::from(error)))
            }
            (ended, _) => (ended?, journal.loss().map(|error| Refusal(Exit::Failed, vec![visible(&error.to_string()).into_owned()]))),
        };
        let is_lost = loss.is_some();
        match ended {
            Some(end) => {
                let exit = printed.finish(shared, &end, &seen, sends, mask.redactor());
                if let Some(Refusal(_, lines)) = loss {
                    lines.iter().for_each(|line| tell!("{line}"));
                }
                recorded?;
                let misses = self.tape.misses();
                let told = end.failure.as_ref().filter(|_| !shared.quiet).map(|failure| failure.failure.message.as_str());
                tell_misses(&misses, told);
                // A step may get over a missing recording; whoever replays must not.
                Ok(if misses.is_empty() { exit.unless(is_lost) } else { Exit::Failed })
            }
            None if is_lost => loss.map_or(Ok(Exit::Failed), Err),
            None => {
                for line in to_decide(&seen) {
                    tell!("{line}");
                }
                Ok(Exit::Waiting)
            }
        }
    }
}

/// What a person was asked about a step last.
pub(super) fn question(events: &[Event], step: &str) -> Option<String> {
    events.iter().rev().find_map(|event| match &event.happening {
        Happening::ApprovalRequested { step: asked, question, .. } if **asked == *step => Some(question.clone()),
        _ => None,
    })
}

/// What a person must decide about a run that waits, and how, for others.
pub(super) fn to_decide(events: &[Event]) -> Vec<String> {
    record(events).map(|record| how_to_decide(&masked(record, events))).unwrap_or_default()
}

/// Values of the declared secrets that are set.
fn secrets(program: &Program, env: &BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
    let names = program.pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
    names.filter_map(|name| env.get(name).map(|value| (name.clone(), value.clone()))).collect()
}

/// What to tell about a secret whose value cannot be told from ordinary text; `None`: it can, or is not set.
pub(super) fn unrecognised(name: &str, env: &BTreeMap<String, Secret>) -> Option<String> {
    let value = env.get(name)?.reveal().trim();
    (!value.is_empty() && !is_recognised(value)).then(|| {
        format!(
            "{name} is too short or a plain word, so it cannot be hidden where it comes back; use 8 or more characters with digits or signs"
        )
    })
}
