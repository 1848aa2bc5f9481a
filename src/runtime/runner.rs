//! How the runs of a workflow are made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::consent::{Consent, consent};
use super::running::{Listening, RunHandle};
use super::session::{RunInputs, RunSession};
use super::surroundings::{ChangePorts, Setup, Surroundings};
use super::{RunError, RunOutcome, STACK, Storage, Taping, Workflow, settings};
use crate::adapter::environment;
use crate::adapter::sqlite_store::SqliteStore;
use crate::check::Checked;
use crate::driver::Ports;
use crate::model::{Limits, Model, Provider, Text};
use crate::port::{ModelClient, PrintError, Printer, Secret};

/// Makes runs of a workflow. Of what is not set here, nothing comes from outside but the project's `flow.toml`: no variable of the process, no
/// settings of its user; and the record of a run stays in memory. (Where the user's own files stand is looked up all the same: no step touches them.)
#[derive(Clone)]
#[must_use]
pub struct Runner {
    workflow: Workflow,
    env: BTreeMap<String, Secret>,
    takes_environment: bool,
    takes_user_settings: bool,
    storage: Storage,
    limits: Limits,
    consent: Consent,
    channel: Option<String>,
    now: Option<DateTime<Utc>>,
    default_model: Option<Model>,
    changes: Vec<ChangePorts>,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Runner { workflow, env, storage, limits, consent, channel, .. } = self;
        f.debug_struct("Runner")
            .field("workflow", workflow)
            .field("env", env)
            .field("storage", storage)
            .field("limits", limits)
            .field("consent", consent)
            .field("channel", channel)
            .finish_non_exhaustive()
    }
}

impl Workflow {
    /// Makes runs of it; nothing is set yet.
    pub fn runner(&self) -> Runner {
        Runner {
            workflow: self.clone(),
            env: BTreeMap::new(),
            takes_environment: false,
            takes_user_settings: false,
            storage: Storage::default(),
            limits: Limits::default(),
            consent: Consent::default(),
            channel: None,
            now: None,
            default_model: None,
            changes: vec![],
        }
    }
}

impl Runner {
    /// A variable, for `env` and for declared secrets; also `FLOW_MODEL…` and `FLOW_API_KEY`, which name the model called `default`. It wins over
    /// the process's own.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Runner {
        self.env.insert(name.into(), Secret::new(value));
        self
    }

    /// Takes the variables of this process as they are when a run begins.
    pub fn environment(mut self) -> Runner {
        self.takes_environment = true;
        self
    }

    /// Also takes the own settings of the user of this machine (`~/.config/flow`), with what their policy forbids.
    pub fn user_settings(mut self) -> Runner {
        self.takes_user_settings = true;
        self
    }

    /// Where the record of a run is kept.
    pub fn storage(mut self, storage: Storage) -> Runner {
        self.storage = storage;
        self
    }

    /// Bounds beside those of the file and the settings; of each the smallest counts.
    pub fn limits(mut self, limits: Limits) -> Runner {
        self.limits = limits;
        self
    }

    /// Whether what the file wants may be done.
    pub fn consent(mut self, consent: Consent) -> Runner {
        self.consent = consent;
        self
    }

    /// The channel; without, the pipeline's first.
    pub fn channel(mut self, name: impl Into<String>) -> Runner {
        self.channel = Some(name.into());
        self
    }

    /// What `run.now` is; without, the time at which a run begins.
    pub fn now(mut self, now: DateTime<Utc>) -> Runner {
        self.now = Some(now);
        self
    }

    /// Answers in place of the model called `default`, and of every other one that is asked over the network.
    pub fn model_client(mut self, client: Arc<dyn ModelClient>) -> Runner {
        self.default_model = Some(Model { model: Some(Text::plain("own")), ..Model::new(Provider::Ollama) });
        self.ports(move |ports| ports.models = client.clone())
    }

    /// Puts own ports in the place of those that a run would use. The tape and the door that takes out secrets stay.
    pub fn ports(mut self, change: impl Fn(&mut Ports) + Send + Sync + 'static) -> Runner {
        self.changes.push(Arc::new(change));
        self
    }

    /// Begins a run in a thread of its own, and does not wait. Inputs are an object, or null for none. What keeps it from beginning is its
    /// [outcome](RunHandle::outcome).
    pub fn run(&self, inputs: Value) -> RunHandle {
        let (running, listening, done) = RunHandle::new();
        let runner = self.clone();
        let work = move || {
            let _ = done.send(runner.played(inputs, listening));
        };
        match std::thread::Builder::new().name("flow run".into()).stack_size(STACK).spawn(work) {
            Ok(_) => running,
            Err(error) => running.that_failed(RunError::System(format!("flow cannot start: {error}"))),
        }
    }

    fn played(&self, inputs: Value, mut listening: Listening) -> Result<RunOutcome, RunError> {
        let Workflow { checked, file, project, .. } = &self.workflow;
        let inputs = match inputs {
            Value::Object(inputs) => inputs,
            Value::Null => Map::new(),
            _ => return Err(RunError::Inputs(vec!["inputs are an object: a value by each name".into()])),
        };
        let mut env = if self.takes_environment { environment::variables(None).map_err(RunError::usage)? } else { BTreeMap::new() };
        env.extend(self.env.clone());
        let settled = match self.takes_user_settings {
            true => settings::read(project)?,
            false => settings::of_project(project)?,
        };
        let agreed = consent(&self.consent, checked, file, settled.model_of_project.clone(), &env)?;
        let (kept, changes) = (Arc::new(KeptPrinter::default()), self.changes.clone());
        let given = RunInputs {
            inputs,
            channel: self.channel.clone(),
            now: self.now,
            limits: settings::narrowest(&self.limits, &settled.limits),
            is_served: false,
        };
        let setup = Setup {
            file: file.clone(),
            project: project.clone(),
            settled,
            env,
            env_file: None,
            default_model: self.default_model.clone(),
            storage: self.storage.clone(),
            printer: kept.clone(),
            taping: Taping::None,
            agreed,
            change: Some(Arc::new(move |ports| changes.iter().for_each(|change| change(ports)))),
        };
        let session = RunSession::begin(Surroundings::new(Checked::clone(checked), setup)?, given, SqliteStore::open_sealed)?;
        let is_scripted = session.surroundings.scripted;
        let (stop, attend) = listening.parts();
        RunOutcome::of(session.play(stop, attend), kept.take(), is_scripted)
    }
}

/// Keeps what a `send` to standard output prints.
#[derive(Default)]
pub(crate) struct KeptPrinter(Mutex<Vec<String>>);

impl KeptPrinter {
    /// What was printed so far.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Printer for KeptPrinter {
    fn print(&self, parts: &[String]) -> Result<(), PrintError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(parts.iter().cloned());
        Ok(())
    }
}
