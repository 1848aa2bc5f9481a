//! What a run needs besides its beginning: the checked file, the environment, settings, secrets, ports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::kept::{self, Storage};
use super::models::{is_file, is_scripted, know_prices};
use super::own::own_files;
use super::settings::{self, Settled};
use super::tape::{Taping, reads_clock};
use super::{RunError, world};
use crate::adapter::cassette::{Cassette, Head};
use crate::adapter::sealing::Sealing;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::started::Agreed;
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::driver::{Door, Ports, Runtime};
use crate::engine::{CannotResume, Mocks, Moment, Run, RunSettings, secret_values};
use crate::event::{Event, Happening};
use crate::journal::PersonalMask;
use crate::load::WrittenRules;
use crate::model::{Limits, Model, Pipeline};
use crate::port::{Printer, Secret};
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

/// What a run needs besides its beginning.
pub(crate) struct Surroundings {
    pub(super) file: PathBuf,
    pub(super) project: PathBuf,
    pub(super) checked: Checked,
    pub(crate) pipeline: Arc<Pipeline>,
    env: BTreeMap<String, Secret>,
    /// What no text that comes in or is printed may hold.
    pub(crate) hidden: Vec<Secret>,
    default_model: Option<Model>,
    pub(crate) settled: Settled,
    pub(super) storage: Storage,
    pub(super) sealing: Sealing,
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
    pub(crate) fn new(mut checked: Checked, setup: Setup) -> Result<Surroundings, RunError> {
        let Setup { file, project, settled, env, env_file, default_model, storage, printer, taping, agreed, change } = setup;
        let sealing = if storage == Storage::Memory { Sealing::default() } else { kept::of_new_runs(&settled)? };
        let given_model = taping.given_model().or_else(|| settled.model.clone());
        let is_given = settings::give_model(&mut checked, given_model.as_ref()) && !given_model.as_ref().is_some_and(is_file);
        let found = checked.loaded.program.pipelines.first().cloned();
        let pipeline = found.ok_or_else(|| RunError::usage(format!("{} is no pipeline", visible(&file.display().to_string()))))?;
        let of_variables = world::default_model(&env)?;
        let default_model = taping.default_model(default_model.or(of_variables));
        let scripted = taping.is_replay() || is_scripted(&checked.loaded.program, default_model.is_some());
        let runtime = Runtime::new().map_err(|e| RunError::System(format!("flow cannot start: {e}")))?;
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

    /// A run as its events tell it, to be gone on with.
    ///
    /// # Errors
    /// Which.
    pub(crate) fn as_its_events_tell(&self, limits: Limits, events: &[Event]) -> Result<Run, RunError> {
        let Some((id, start)) = events.first().and_then(|event| match &event.happening {
            Happening::RunStarted(start) => Some((event.run.clone(), start)),
            _ => None,
        }) else {
            return Err(RunError::CannotResume(vec!["the run has no beginning".to_string()]));
        };
        let now = Moment { wall: self.ports.clock.now(), ms: 0 };
        let plan = Arc::new(self.checked.plan.clone());
        Run::resumed(id.clone(), plan, self.options(limits), now, events).map_err(|why| {
            let mut lines = vec![format!("run {id} cannot go on: {why}")];
            if why == CannotResume::Changed {
                lines.extend(changes(&start.files, &self.checked.loaded.prints));
            }
            RunError::CannotResume(lines)
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
    pub(crate) fn know_prices(&self, limits: &Limits) -> Result<(), RunError> {
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
    pub(super) fn mask(&self) -> PersonalMask {
        PersonalMask::new(self.hidden.iter().map(Secret::reveal))
    }

    pub(super) fn options(&self, limits: Limits) -> RunSettings {
        let pipelines = &self.checked.loaded.program.pipelines;
        // A replay needs no secret, so that one that is not set is stars.
        let all = pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let stars = all.filter(|_| self.taping.is_replay()).map(|name| (name.clone(), Secret::new("***")));
        RunSettings {
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
