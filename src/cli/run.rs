//! `flow run`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::{OutputOptions, RunOptions, Shared};
use super::models::{is_scripted, know_prices};
use super::outcome::{EventLines, finish};
use super::progress::Progress;
use super::settings::{self, Settled};
use super::tape::{Taping, reads_clock, tell_misses};
use super::{Exit, inputs, project, world};
use crate::adapter::cassette::{Cassette, Head, NoCache};
use crate::adapter::data::check_engines;
use crate::adapter::environment;
use crate::adapter::files::DiskFiles;
use crate::adapter::sqlite_store::{RunLock, SqliteStore};
use crate::adapter::stdout::{Silent, Stdout};
use crate::check::{Checked, check_file};
use crate::diagnostic::{Severity, visible};
use crate::driver::{Begin, Ports, drive, find_person};
use crate::engine::{CannotResume, Mocks, Moment, Options, Run, check_inputs};
use crate::event::{Event, Happening, RunEnd, RunStart, RunStatus, StepFailure, StepPath, Usage};
use crate::journal::{Journal, Mask};
use crate::load::WrittenRules;
use crate::model::{Limits, Model, Pipeline, Program, StepKind};
use crate::plan::PipelinePlan;
use crate::port::{Printer, Secret, Store, StoreError};
use crate::report::{self, Findings};

/// What stops a run before it starts: its exit code and what to say.
pub(super) struct Refusal(pub(super) Exit, pub(super) Vec<String>);

impl Refusal {
    pub(super) fn usage(line: impl Into<String>) -> Refusal {
        Refusal(Exit::Usage, vec![line.into()])
    }
}

/// Runs a pipeline.
pub(super) fn run(options: &RunOptions, shared: &Shared) -> Exit {
    told(try_run(options, shared))
}

/// Goes on with a run whose process has ended.
pub(super) fn resume(id: &str, output: &OutputOptions, shared: &Shared) -> Exit {
    told(try_resume(id, output, shared))
}

pub(super) fn told(result: Result<Exit, Refusal>) -> Exit {
    result.unwrap_or_else(|Refusal(exit, lines)| {
        for line in lines {
            tell!("{line}");
        }
        exit
    })
}

fn try_run(options: &RunOptions, shared: &Shared) -> Result<Exit, Refusal> {
    let taping = Taping::new(options.record.as_deref(), options.replay.as_deref()).map_err(Refusal::usage)?;
    let surroundings = Surroundings::new(&options.wanted.file, &options.printed, shared, taping)?;
    let pipeline = surroundings.pipeline.clone();
    let mut given = inputs::read(&pipeline, options.wanted.inputs_file.as_deref(), &options.wanted.inputs).map_err(Refusal::usage)?;
    inputs::ask(&pipeline, &mut given);
    let given = check_inputs(&pipeline, given).map_err(|problems| Refusal(Exit::Usage, problems))?;
    let channel = channel(&pipeline, options.wanted.channel.as_deref())?;
    let now = options.wanted.now.as_deref().or(surroundings.taping.now()).map(time).transpose()?;
    if let Some(end) = lacking(&surroundings.checked) {
        return finish(&options.printed, shared, &end, &[], true);
    }
    let ports = &surroundings.ports;
    let person = surroundings.runtime.block_on(find_person(&pipeline, &given, &*ports.database));
    let person = person.map_err(|line| Refusal::usage(visible(&line)))?;
    let id = environment::run_id();
    let flags = world::limits(options.wanted.deadline.as_deref(), options.wanted.max_cost_usd).map_err(Refusal::usage)?;
    let limits = settings::narrowest(&flags, &surroundings.settled.limits);
    surroundings.know_prices(&limits)?;
    let start = RunStart {
        pipeline: pipeline.name.value.clone(),
        hash: pipeline.hash.clone(),
        files: surroundings.checked.loaded.prints.clone(),
        tape: surroundings.taping.told(),
        file: std::path::absolute(&options.wanted.file).unwrap_or_else(|_| options.wanted.file.clone()).display().to_string(),
        inputs: Arc::new(Value::Object(given)),
        channel,
        person: Arc::new(Value::Object(person.fields)),
        failure: person.failure,
        now: now.unwrap_or_else(|| ports.clock.now()),
        scripted: surroundings.scripted,
        seed: environment::seed(),
        deadline_ms: limits.deadline.map(|time| time.as_millis() as u64),
        max_cost_usd: limits.max_cost_usd,
        marks: crate::engine::marks(&surroundings.checked.loaded.program),
    };
    let file = world::journal_file(&surroundings.project);
    let store = SqliteStore::open(&file).map_err(|e| Refusal(Exit::Failed, vec![e.to_string()]))?;
    let lock = RunLock::take(&file, &id).map_err(|problem| Refusal(Exit::Usage, vec![problem]))?;
    let now = crate::driver::moment(&*ports.clock, ports.clock.elapsed());
    let run = Run::new(id, Arc::new(surroundings.checked.plan.clone()), surroundings.options(limits), now);
    surroundings.carry_on(run, Begin::Start(Box::new(start)), vec![], store, lock)
}

fn try_resume(id: &str, printed: &OutputOptions, shared: &Shared) -> Result<Exit, Refusal> {
    let failed = |e: StoreError| Refusal(Exit::Failed, vec![e.to_string()]);
    let project = project::project(Path::new("./x"), shared);
    let file = world::journal_file(&project);
    if !file.exists() {
        return Err(Refusal(Exit::NothingRan, vec![format!("there are no runs yet: {} does not exist", file.display())]));
    }
    let mut store = SqliteStore::open(&file).map_err(failed)?;
    let runs = store.runs().map_err(failed)?;
    let found = super::runs::find(&runs, Some(id)).map_err(Refusal::usage)?.run.clone();
    let lock = RunLock::take(&file, &found).map_err(|problem| Refusal(Exit::Usage, vec![problem]))?;
    let events = store.events(&found).map_err(failed)?;
    let begun = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) if !start.file.is_empty() => Some((event, start)),
        _ => None,
    });
    let Some((first, start)) = begun else {
        return Err(Refusal(Exit::Failed, vec![format!("run {found} does not say which file it runs")]));
    };
    if start.tape.as_ref().is_some_and(|tape| !tape.is_replay) {
        let why = format!("run {found} was being recorded, and half a recording is none: run it again with --record");
        return Err(Refusal(Exit::Failed, vec![why]));
    }
    let replayed = start.tape.as_ref().map(|tape| Path::new(&tape.folder));
    let taping = Taping::new(None, replayed).map_err(|why| Refusal(Exit::Failed, vec![why]))?;
    let surroundings = Surroundings::new(Path::new(&start.file), printed, shared, taping)?;
    let now = Moment { wall: surroundings.ports.clock.now(), ms: 0 };
    let last = events.last().unwrap_or(first);
    let away = (now.wall - last.time).num_milliseconds().max(0) as u64;
    let plan = Arc::new(surroundings.checked.plan.clone());
    let of_run = Limits { max_cost_usd: start.max_cost_usd, ..Limits::default() };
    let limits = settings::narrowest(&of_run, &surroundings.settled.limits);
    let run = Run::resumed(found.as_str(), plan, surroundings.options(limits), now, &events);
    let run = run.map_err(|why| {
        let mut lines = vec![format!("run {found} cannot go on: {why}")];
        if why == CannotResume::Changed {
            lines.extend(changes(&start.files, &surroundings.checked.loaded.prints));
        }
        Refusal(Exit::Failed, lines)
    })?;
    surroundings.carry_on(run, Begin::Resume(away), events, store, lock)
}

/// What a run needs besides its beginning.
struct Surroundings<'a> {
    printed: &'a OutputOptions,
    shared: &'a Shared,
    project: PathBuf,
    checked: Checked,
    pipeline: Arc<Pipeline>,
    env: BTreeMap<String, Secret>,
    default_model: Option<Model>,
    settled: Settled,
    scripted: bool,
    taping: Taping,
    tape: Cassette,
    ports: Ports,
    progress: Progress,
    runtime: tokio::runtime::Runtime,
}

impl<'a> Surroundings<'a> {
    /// Checks the file and gets everything ready; nothing is started.
    fn new(file: &Path, printed: &'a OutputOptions, shared: &'a Shared, taping: Taping) -> Result<Surroundings<'a>, Refusal> {
        let events_on_stdout = printed.events.as_deref() == Some(Path::new("-"));
        if printed.json && events_on_stdout {
            return Err(Refusal::usage("--json and --events - both want standard output; leave one out"));
        }
        let project = project::project(file, shared);
        let mut checked = check_file(file, &project, &DiskFiles);
        report_findings(&checked, shared)?;
        let settled = settings::read(&project, shared).map_err(|told| Refusal(Exit::Findings, vec![told]))?;
        settings::give_model(&mut checked, settled.model.as_ref());
        let Some(pipeline) = checked.loaded.program.pipelines.first().cloned() else {
            return Err(Refusal::usage(format!("{} is no pipeline: a pipeline has name and steps", file.display())));
        };
        let env = environment::variables(shared.env_file.as_deref()).map_err(Refusal::usage)?;
        let default_model = taping.default_model(world::default_model(&env).map_err(Refusal::usage)?);
        let scripted = taping.is_replay() || is_scripted(&checked.loaded.program, default_model.is_some());
        let printer: Arc<dyn Printer> = if printed.json || events_on_stdout { Arc::new(Silent) } else { Arc::new(Stdout::default()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Refusal(Exit::Internal, vec![format!("flow cannot start: {e}")]))?;
        let of_variable = env.get("FLOW_MODEL_BASE_URL").and_then(|url| settings::host(url.reveal()));
        let private_hosts = settled.private_hosts.iter().cloned().chain(of_variable).collect();
        let kept_secret = secrets(&checked.loaded.program, &env).into_values().chain(env.get("FLOW_API_KEY").cloned()).collect::<Vec<_>>();
        let tape = Cassette::new(taping.mode(), kept_secret.iter().map(Secret::reveal));
        let mut ports = Ports { tape: Some(Arc::new(tape.clone())), ..world::ports(printer, &project, private_hosts) };
        if taping != Taping::None {
            ports.cache = Arc::new(NoCache);
        }
        let is_shown = !shared.quiet && !shared.no_progress;
        let progress = if is_shown { Progress::on(shared.verbose, ports.clock.clone()) } else { Progress::off() };
        if !events_on_stdout {
            ports.printer = progress.beside(ports.printer);
        }
        Ok(Surroundings {
            printed,
            shared,
            project,
            checked,
            pipeline,
            env,
            default_model,
            settled,
            scripted,
            taping,
            tape,
            ports,
            progress,
            runtime,
        })
    }

    fn know_prices(&self, limits: &Limits) -> Result<(), Refusal> {
        if self.taping.is_replay() {
            return Ok(());
        }
        know_prices(&self.checked, self.default_model.as_ref(), limits)
    }

    /// Values of the declared secrets. A replay needs none, so that one that is not set is stars.
    fn secrets(&self) -> BTreeMap<String, Secret> {
        let all = self.checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let stars = all.filter(|_| self.taping.is_replay()).map(|name| (name.clone(), Secret::new("***")));
        stars.chain(secrets(&self.checked.loaded.program, &self.env)).collect()
    }

    fn options(&self, limits: Limits) -> Options {
        Options {
            secrets: self.secrets(),
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
        let now = start.filter(|_| reads_clock(&self.checked.loaded.sources));
        Head::new(&self.pipeline.name.value, now, self.default_model.is_some())
    }

    /// Runs to the end, or until a person must decide. `before` are the events so far.
    fn carry_on(self, mut run: Run, begin: Begin, before: Vec<Event>, store: SqliteStore, _lock: RunLock) -> Result<Exit, Refusal> {
        let shared = self.shared;
        match &self.taping {
            _ if shared.quiet => {}
            Taping::Replay(folder, _) => tell!("replay: answers come from {}, nobody is asked", folder.display()),
            _ if self.scripted => tell!("models are scripted: replies come from a file, no model is asked"),
            _ => {}
        }
        let steps = [&self.pipeline.steps, &self.pipeline.on_failure, &self.pipeline.finally];
        let sends = steps.into_iter().flatten().any(|step| sends_to_stdout(&step.kind));
        let secrets = self.secrets();
        let mut journal = Journal::new(Box::new(store));
        let mut events = EventLines::open(self.printed)?;
        let mut mask = Mask::new(secrets.values().map(Secret::reveal));
        for event in &before {
            mask.take(event);
            if let Some(tape) = &self.ports.tape {
                tape.watch(event);
            }
        }
        let mut seen = before;
        let ended = self.runtime.block_on(async {
            let (sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
            let signals = tokio::spawn(listen(sender));
            let mut watch = |event: &Event| {
                mask.take(event);
                self.progress.show(event, mask.redactor());
                events.write(event, mask.redactor());
                seen.push(event.clone());
            };
            let ended = drive(&mut run, begin, &self.ports, &mut journal, &mut stop, &mut watch).await;
            let _ = self.ports.servers.close().await;
            signals.abort();
            ended
        });
        let head = self.head(&seen);
        drop(self.progress);
        self.runtime.shutdown_timeout(std::time::Duration::from_millis(100));
        self.taping.finish(&self.tape, &head, shared.quiet).map_err(|line| Refusal(Exit::Failed, vec![line]))?;
        match ended.map_err(|e| Refusal(Exit::Failed, vec![e.to_string()]))? {
            Some(end) => {
                let exit = finish(self.printed, shared, &end, &seen, sends)?;
                let misses = self.tape.misses();
                let told = end.failure.as_ref().filter(|_| !shared.quiet).map(|failure| failure.failure.message.as_str());
                tell_misses(&misses, told);
                // A step may get over a missing recording; whoever replays must not.
                Ok(if misses.is_empty() { exit } else { Exit::Failed })
            }
            None => {
                for step in run.state().undecided() {
                    tell!("\"{step}\" was started before and may have acted; it is marked once, so a person decides:");
                    tell!("  flow approve {} {step}            runs it again", seen[0].run);
                    tell!("  flow approve {} {step} --reject   lets it fail", seen[0].run);
                }
                tell!("then: flow runs resume {}", seen[0].run);
                Ok(Exit::Waiting)
            }
        }
    }
}

/// Which files are not what they were, a line each.
fn changes(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let told = |name: &String| match (before.get(name), now.get(name)) {
        (Some(before), Some(now)) if before == now => None,
        (Some(_), Some(_)) => Some(format!("  changed: {}", visible(name))),
        (Some(_), None) => Some(format!("  no longer brought in: {}", visible(name))),
        (None, _) => Some(format!("  brought in now: {}", visible(name))),
    };
    before.keys().chain(now.keys().filter(|name| !before.contains_key(*name))).filter_map(told).collect()
}

/// Values of the declared secrets that are set.
fn secrets(program: &Program, env: &BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
    let names = program.pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
    names.filter_map(|name| env.get(name).map(|value| (name.clone(), value.clone()))).collect()
}

/// The end of a run that does not start, since this machine lacks something for it.
pub(super) fn lacking(checked: &Checked) -> Option<RunEnd> {
    let of_one = |plan: &PipelinePlan| {
        let queries = plan.steps.iter().filter_map(|planned| match &planned.step.kind {
            StepKind::Sql(sql) => Some(&*sql.query.source),
            _ => None,
        });
        check_engines(&plan.pipeline.data, queries).err()
    };
    let failure = checked.plan.pipelines.iter().find_map(of_one)?;
    Some(RunEnd {
        status: RunStatus::Failed,
        outputs: Arc::new(json!({})),
        failure: Some(StepFailure { step: StepPath::default(), failure }),
        usage: Usage::default(),
    })
}

/// Errors stop the run before it starts; warnings become one line.
pub(super) fn report_findings(checked: &Checked, shared: &Shared) -> Result<(), Refusal> {
    let errors = checked.errors();
    let warnings = checked.diagnostics.iter().filter(|d| d.severity() == Severity::Warning).count();
    if !errors.is_empty() {
        let findings = Findings::new(&checked.loaded.sources, &errors);
        let text = report::human(&findings, super::validate::colour_on_stderr(shared));
        return Err(Refusal(
            Exit::Findings,
            vec![text.trim_end().to_string(), format!("nothing was started: {}", report::summary(&findings))],
        ));
    }
    if shared.quiet {
        return Ok(());
    }
    for found in checked.missing_data() {
        let (file, at) = (checked.loaded.sources.file(found.span.file), checked.loaded.sources.start(found.span));
        tell!("{}:{}:{}: {} (steps that read it will fail)", file.name, at.line, at.column, found.message);
    }
    if warnings > 0 {
        let noun = if warnings == 1 { "warning" } else { "warnings" };
        tell!("{warnings} {noun}; see flow validate");
    }
    Ok(())
}

pub(super) fn channel(pipeline: &Pipeline, wanted: Option<&str>) -> Result<Option<String>, Refusal> {
    let names: Vec<&str> = pipeline.channels.iter().map(|c| c.name.as_str()).collect();
    match wanted {
        None => Ok(names.first().map(|n| n.to_string())),
        Some(name) if names.contains(&name) => Ok(Some(name.to_string())),
        Some(name) => {
            let hint = crate::diagnostic::did_you_mean(name, names.iter().copied());
            let listed = if names.is_empty() { "it lists no channels".to_string() } else { format!("it lists: {}", names.join(", ")) };
            Err(Refusal::usage(format!("the pipeline has no channel \"{}\"{hint}; {listed}", visible(name))))
        }
    }
}

pub(super) fn time(text: &str) -> Result<chrono::DateTime<chrono::Utc>, Refusal> {
    chrono::DateTime::parse_from_rfc3339(text)
        .map(|t| t.with_timezone(&chrono::Utc))
        .map_err(|_| Refusal::usage(format!("--now {}: write a time such as 2026-11-18T09:00:00Z", visible(text))))
}

fn sends_to_stdout(kind: &StepKind) -> bool {
    match kind {
        StepKind::Send(send) => send.to.value == "stdout",
        StepKind::Route(route) => route.cases.iter().chain(&route.otherwise).flat_map(|c| &c.steps).any(|s| sends_to_stdout(&s.kind)),
        _ => false,
    }
}

/// Ctrl-C and SIGTERM: the first ends the run, the second ends the program at once.
async fn listen(sender: tokio::sync::mpsc::UnboundedSender<String>) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    let mut asked = false;
    loop {
        let (by, exit) = tokio::select! {
            _ = tokio::signal::ctrl_c() => ("interrupt", Exit::Interrupted),
            _ = terminate.recv() => ("terminate", Exit::Terminated),
        };
        if asked {
            std::process::exit(i32::from(exit.number()));
        }
        asked = true;
        tell!("ending the run; once more ends it at once");
        if sender.send(by.to_string()).is_err() {
            return;
        }
    }
}
