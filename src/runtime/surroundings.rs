//! What a run needs besides its beginning: the checked file, the environment, settings, secrets, ports; and its two beginnings, anew and from
//! the events of a run that was ended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::kept::{self, Storage};
use super::models::{is_file, is_scripted, know_prices};
use super::own::own_files;
use super::session::Session;
use super::settings::{self, Settled};
use super::tape::{Taping, reads_clock};
use super::{Error, world};
use crate::adapter::cassette::{Cassette, Head};
use crate::adapter::environment;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sealing::Sealing;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::started::Agreed;
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::driver::{Begin, Door, FoundPerson, Ports, Runtime, find_person};
use crate::engine::{CannotResume, Mocks, Moment, Options, Run, check_inputs, secret_values};
use crate::event::{Event, Happening, RunStart, StyleUsed};
use crate::journal::Mask;
use crate::load::WrittenRules;
use crate::model::{Limits, Model, Pipeline, Program};
use crate::port::{EventLog, Printer, Secret, StoreError};
use crate::redact::is_recognised;

/// Puts own ports in the place of some.
pub(crate) type ChangePorts = Arc<dyn Fn(&mut Ports) + Send + Sync>;

/// From what surroundings are made.
pub(crate) struct Setup {
    pub(crate) file: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) settled: Settled,
    pub(crate) env: BTreeMap<String, Secret>,
    /// Where variables of it stand; no step may read it.
    pub(crate) env_file: Option<PathBuf>,
    /// In place of what the variables say.
    pub(crate) default_model: Option<Model>,
    pub(crate) storage: Storage,
    pub(crate) printer: Arc<dyn Printer>,
    pub(crate) taping: Taping,
    /// What its servers may run.
    pub(crate) agreed: Arc<Agreed>,
    pub(crate) change: Option<ChangePorts>,
}

/// With what a run begins.
pub(crate) struct Given {
    pub(crate) inputs: Map<String, Value>,
    /// `None`: the first of the pipeline.
    pub(crate) channel: Option<String>,
    /// `None`: what the clock says.
    pub(crate) now: Option<DateTime<Utc>>,
    pub(crate) limits: Limits,
    /// A client of `flow mcp` called it.
    pub(crate) is_served: bool,
}

/// What a run needs besides its beginning.
pub(crate) struct Surroundings {
    file: PathBuf,
    project: PathBuf,
    checked: Checked,
    pub(crate) pipeline: Arc<Pipeline>,
    env: BTreeMap<String, Secret>,
    /// What no text that comes in or is printed may hold.
    pub(crate) hidden: Vec<Secret>,
    default_model: Option<Model>,
    pub(crate) settled: Settled,
    storage: Storage,
    sealing: Sealing,
    /// Whether models are scripted.
    pub(crate) scripted: bool,
    pub(crate) taping: Taping,
    pub(crate) tape: Cassette,
    /// Whether a file without a model called `default` has one of the settings, and it is a real one.
    is_given: bool,
    pub(crate) ports: Ports,
    pub(crate) runtime: Runtime,
}

impl Surroundings {
    /// For the thread that makes them. Nothing is started.
    ///
    /// # Errors
    /// The settings or the environment do not fit, or the system gives no threads.
    pub(crate) fn new(mut checked: Checked, setup: Setup) -> Result<Surroundings, Error> {
        let Setup { file, project, settled, env, env_file, default_model, storage, printer, taping, agreed, change } = setup;
        let sealing = if storage == Storage::Memory { Sealing::default() } else { kept::of_new_runs(&settled)? };
        let given_model = taping.given_model().or_else(|| settled.model.clone());
        let is_given = settings::give_model(&mut checked, given_model.as_ref()) && !given_model.as_ref().is_some_and(is_file);
        let found = checked.loaded.program.pipelines.first().cloned();
        let pipeline = found.ok_or_else(|| Error::usage(format!("{} is no pipeline", visible(&file.display().to_string()))))?;
        let of_variables = world::default_model(&env).map_err(Error::usage)?;
        let default_model = taping.default_model(default_model.or(of_variables));
        let scripted = taping.is_replay() || is_scripted(&checked.loaded.program, default_model.is_some());
        let runtime = Runtime::new().map_err(|e| Error::System(format!("flow cannot start: {e}")))?;
        let hidden = secret_values(&checked.loaded.program, &env);
        let tape = Cassette::new(taping.mode(), hidden.iter().map(Secret::reveal));
        let own = own_files(&project, Some((&checked, &env)), env_file.as_deref())?;
        let mut ports = world::ports(printer, own, settled.hosts_with(&env), agreed);
        change.iter().for_each(|change| change(&mut ports));
        ports.tape = Some(Arc::new(tape.clone()));
        ports.door = Door::new(hidden.iter().map(Secret::reveal));
        Ok(Surroundings {
            file,
            project,
            checked,
            pipeline,
            env,
            hidden,
            default_model,
            settled,
            storage,
            sealing,
            scripted,
            taping,
            tape,
            is_given,
            ports,
            runtime,
        })
    }

    /// A new run. `open` opens its place in the file of the journal.
    ///
    /// # Errors
    /// What is given does not fit, the machine lacks something, or the run cannot be kept.
    pub(crate) fn begin<Log: EventLog + 'static>(
        mut self,
        given: Given,
        open: impl FnOnce(&Path, &Sealing) -> Result<Log, StoreError>,
    ) -> Result<Session, Error> {
        let channel = channel(&self.pipeline, given.channel.as_deref())?;
        let inputs = check_inputs(&self.pipeline, given.inputs).map_err(Error::Inputs)?;
        if let Some(end) = super::lacking(&self.checked) {
            return Err(Error::Lacking(Box::new(end)));
        }
        let person = self.runtime.block_on(find_person(&self.pipeline, &inputs, &*self.ports.database));
        let person = person.map_err(|line| Error::usage(visible(&line)))?;
        self.know_prices(&given.limits)?;
        let id = environment::run_id();
        let now = given.now.unwrap_or_else(|| self.ports.clock.now());
        let start = RunStart {
            files: self.checked.loaded.prints.clone(),
            tape: self.taping.told(),
            file: std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone()).display().to_string(),
            scripted: self.scripted,
            served: given.is_served,
            deadline_ms: given.limits.deadline.map(|time| time.as_millis() as u64),
            max_cost_usd: given.limits.max_cost_usd,
            ..first_event(&self.checked.loaded.program, &self.pipeline, inputs, channel, person, now, environment::seed())
        };
        let (log, lock): (Box<dyn EventLog>, _) = match self.storage.journal(&self.project)? {
            None => (Box::new(kept::Unkept), None),
            Some(file) => {
                let opened = open(&file, &self.sealing).and_then(|log| Ok((log, RunLock::take(&file, &id)?)));
                let (log, lock) = opened.map_err(|error| kept::with_help(error, &self.project))?;
                self.keep_results_of(&id, &file, &self.sealing.clone());
                (Box::new(log), Some(lock))
            }
        };
        let now = crate::driver::moment(&*self.ports.clock, self.ports.clock.elapsed());
        let run = Run::new(&*id, Arc::new(self.checked.plan.clone()), self.options(given.limits), now);
        Ok(Session { id, surroundings: self, run, begin: Begin::Start(Box::new(start)), before: vec![], log, lock })
    }

    /// Goes on with a run from its events.
    ///
    /// # Errors
    /// It is over, or its files have changed: which.
    pub(crate) fn resume(self, events: Vec<Event>, log: Box<dyn EventLog>, lock: RunLock) -> Result<Session, Error> {
        let (first, last) = (events.first(), events.last());
        let max_cost_usd = first.and_then(|event| match &event.happening {
            Happening::RunStarted(start) => start.max_cost_usd,
            _ => None,
        });
        let of_run = Limits { max_cost_usd, ..Limits::default() };
        let run = self.as_its_events_tell(settings::narrowest(&of_run, &self.settled.limits), &events)?;
        let away = last.map_or(0, |last| (self.ports.clock.now() - last.time).num_milliseconds().max(0) as u64);
        let id = first.map(|event| event.run.to_string()).unwrap_or_default();
        Ok(Session { id, surroundings: self, run, begin: Begin::Resume(away), before: events, log, lock: Some(lock) })
    }

    /// A run as its events tell it, to be gone on with.
    ///
    /// # Errors
    /// As [`Surroundings::resume`].
    pub(crate) fn as_its_events_tell(&self, limits: Limits, events: &[Event]) -> Result<Run, Error> {
        let Some((id, start)) = events.first().and_then(|event| match &event.happening {
            Happening::RunStarted(start) => Some((event.run.clone(), start)),
            _ => None,
        }) else {
            return Err(Error::CannotResume(vec!["the run has no beginning".to_string()]));
        };
        let now = Moment { wall: self.ports.clock.now(), ms: 0 };
        let plan = Arc::new(self.checked.plan.clone());
        Run::resumed(id.clone(), plan, self.options(limits), now, events).map_err(|why| {
            let mut lines = vec![format!("run {id} cannot go on: {why}")];
            if why == CannotResume::Changed {
                lines.extend(changes(&start.files, &self.checked.loaded.prints));
            }
            Error::CannotResume(lines)
        })
    }

    /// Hosts in private networks that the user named.
    pub(crate) fn private_hosts(&self) -> Vec<String> {
        self.settled.hosts_with(&self.env)
    }

    /// Results that are used again are kept as those of this run, encrypted as it is; a run that is recorded or replayed keeps none.
    pub(crate) fn keep_results_of(&mut self, run: &str, journal: &Path, sealing: &Sealing) {
        if self.taping == Taping::None {
            self.ports.cache = Arc::new(SqliteCache::new(kept::cache_file(journal), run, sealing.clone()));
        }
    }

    /// That a bound on money can be held; a replay asks nobody.
    pub(crate) fn know_prices(&self, limits: &Limits) -> Result<(), Error> {
        if self.taping.is_replay() {
            return Ok(());
        }
        know_prices(&self.checked, self.default_model.as_ref(), limits)
    }

    /// What to tell about declared secrets that cannot be told from ordinary text.
    pub(crate) fn unrecognised(&self) -> Vec<String> {
        let declared = self.checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let unique: BTreeSet<&String> = declared.collect();
        unique.into_iter().filter_map(|name| unrecognised(name, &self.env)).collect()
    }

    /// Knows what must not be shown.
    pub(super) fn mask(&self) -> Mask {
        Mask::new(self.hidden.iter().map(Secret::reveal))
    }

    fn options(&self, limits: Limits) -> Options {
        let pipelines = &self.checked.loaded.program.pipelines;
        // A replay needs no secret, so that one that is not set is stars.
        let all = pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let stars = all.filter(|_| self.taping.is_replay()).map(|name| (name.clone(), Secret::new("***")));
        Options {
            secrets: stars.chain(declared(pipelines.iter().map(|pipeline| &**pipeline), &self.env)).collect(),
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
    pub(super) fn head(&self, events: &[Event]) -> Head {
        let start = events.first().and_then(|event| match &event.happening {
            Happening::RunStarted(start) => Some(start.now.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)),
            _ => None,
        });
        let now = start.filter(|_| reads_clock(&self.checked.loaded.program));
        Head { default_model_given: self.is_given, ..Head::new(&self.pipeline.name.value, now, self.default_model.is_some()) }
    }
}

/// The first event of a run, of a file that nobody names, on a machine that nobody knows.
pub(crate) fn first_event(
    program: &Program,
    pipeline: &Pipeline,
    inputs: Map<String, Value>,
    channel: Option<String>,
    person: FoundPerson,
    now: DateTime<Utc>,
    seed: u64,
) -> RunStart {
    RunStart {
        pipeline: pipeline.name.value.clone(),
        hash: pipeline.hash.clone(),
        files: BTreeMap::new(),
        tape: None,
        file: String::new(),
        inputs: Arc::new(Value::Object(inputs)),
        channel,
        style_guide: pipeline.style_guide.as_deref().map(StyleUsed::of),
        person: Arc::new(Value::Object(person.fields)),
        failure: person.failure,
        now,
        scripted: true,
        served: false,
        seed,
        deadline_ms: None,
        max_cost_usd: None,
        marks: crate::engine::marks(program),
    }
}

/// The channel of a run: the one that is wanted, else the first of the pipeline.
///
/// # Errors
/// The pipeline has no such channel.
pub(crate) fn channel(pipeline: &Pipeline, wanted: Option<&str>) -> Result<Option<String>, Error> {
    let names: Vec<&str> = pipeline.channels.iter().map(|c| c.name.as_str()).collect();
    match wanted {
        None => Ok(names.first().map(|n| n.to_string())),
        Some(name) if names.contains(&name) => Ok(Some(name.to_string())),
        Some(name) => {
            let mut hint = crate::diagnostic::did_you_mean(name, names.iter().copied());
            if hint.is_empty() {
                hint = "; another one is a file in channels/ and its name in channels of the pipeline".to_owned();
            }
            let listed = if names.is_empty() { "it lists no channels".to_string() } else { format!("it lists: {}", names.join(", ")) };
            Err(Error::usage(format!("the pipeline has no channel \"{}\"; {listed}{hint}", visible(name))))
        }
    }
}

/// Values of the secrets that pipelines declare, as far as they are set.
pub(crate) fn declared<'a>(pipelines: impl IntoIterator<Item = &'a Pipeline>, env: &BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
    let names = pipelines.into_iter().flat_map(|pipeline| pipeline.secrets.keys());
    names.filter_map(|name| env.get(name).map(|value| (name.clone(), value.clone()))).collect()
}

/// Values of inputs as far as the file gives them.
pub(crate) fn inputs_of_file(pipeline: &Pipeline) -> Map<String, Value> {
    let given = pipeline.input_fields().iter().filter_map(|field| {
        let value = field.default.clone().or_else(|| field.example.clone())?;
        Some((field.name.clone(), value))
    });
    given.collect()
}

/// What to tell about a secret whose value cannot be told from ordinary text; `None`: it can, or is not set.
pub(crate) fn unrecognised(name: &str, env: &BTreeMap<String, Secret>) -> Option<String> {
    let value = env.get(name)?.reveal().trim();
    (!value.is_empty() && !is_recognised(value)).then(|| {
        format!(
            "{name} is too short or a plain word, so it cannot be hidden where it comes back; use 8 or more characters with digits or signs"
        )
    })
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
