//! Options of runs, and how runs are started.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::consent::Consent;
use super::running::{Listening, RunHandle};
use super::session::RunSession;
use super::stored::StoredRun;
use super::{RunError, RunOutcome, STACK, Storage, Taping, Workflow};
use crate::adapter::agreed::Agreed;
use crate::adapter::shared_store::SharedStores;
use crate::driver::Ports;
use crate::event::TraceContext;
use crate::model::{HistoryBounds, Limits, Model, Policy, Price, Provider, Service, Text};
use crate::port::{ModelClient, Secret, SharedTelemetry};

/// Starts runs of a workflow. By default a run reads only the project's `flow.toml`: no environment variables and no user settings, and its record
/// stays in memory. (The paths of the user's own files are looked up in any case, so that no step can touch them.)
#[derive(Clone)]
#[must_use]
pub struct Runner {
    /// The checked file.
    pub workflow: Workflow,
    /// Variables that templates and models may read.
    pub env: BTreeMap<String, Secret>,
    pub(super) takes_environment: bool,
    /// A file with more variables.
    pub env_file: Option<PathBuf>,
    pub(super) takes_user_settings: bool,
    pub(super) storage: Storage,
    /// Shared open stores; they stay open as long as any clone of this runner exists.
    pub journals: Arc<SharedStores>,
    /// Limits in addition to those of the file; the lower one applies.
    pub limits: Limits,
    pub(super) policies: Vec<Policy>,
    pub(super) consent: Consent,
    /// Consent that was already determined; replaces the lookup.
    pub agreed: Option<Arc<Agreed>>,
    /// The channel; `None`: the first of the pipeline.
    pub channel: Option<String>,
    /// The time of the run; `None`: the current time or, in a replay, the recorded time.
    pub now: Option<DateTime<Utc>>,
    /// Overrides the model of the environment variables.
    pub(super) default_model: Option<Model>,
    pub(super) default_model_from: &'static str,
    pub(super) model_price: Option<Price>,
    /// Whether and where calls are recorded or replayed.
    pub taping: Taping,
    /// Overrides the pipeline's settings for its conversation.
    pub talk: Option<Talk>,
    /// Whether a client of `flow mcp` started it.
    pub is_served: bool,
    /// Whether its runs answer messages of a chat.
    pub is_chat: bool,
    pub(super) changes: Vec<ChangePorts>,
    /// The observer of runs.
    pub telemetry: Option<SharedTelemetry>,
    /// The caller's position in a trace.
    pub caller: Option<TraceContext>,
}

/// A conversation that the caller selects.
#[derive(Debug, Clone)]
pub struct Talk {
    /// The id of the conversation.
    pub id: String,
    /// The input that receives the person's message.
    pub message: String,
    /// Maximum number of its messages that a run sees.
    pub keep: u64,
    /// Whether a single agent of the file answers instead of its pipeline.
    pub is_alone: bool,
}

/// Replaces ports.
type ChangePorts = Arc<dyn Fn(&mut Ports) + Send + Sync>;

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("workflow", &self.workflow).finish_non_exhaustive()
    }
}

impl Workflow {
    /// Creates a runner with default options.
    pub fn runner(&self) -> Runner {
        Runner {
            workflow: self.clone(),
            env: BTreeMap::new(),
            takes_environment: false,
            env_file: None,
            takes_user_settings: false,
            storage: Storage::default(),
            journals: Arc::default(),
            limits: Limits::default(),
            policies: vec![],
            consent: Consent::default(),
            agreed: None,
            channel: None,
            now: None,
            default_model: None,
            default_model_from: "FLOW_MODEL",
            model_price: None,
            taping: Taping::None,
            talk: None,
            is_served: false,
            is_chat: false,
            changes: vec![],
            telemetry: None,
            caller: None,
        }
    }
}

impl Runner {
    /// Returns how much a run sees of its conversation; `None`: it has none.
    pub(super) fn kept_messages(&self) -> Option<HistoryBounds> {
        let of_talk = |talk: &Talk| HistoryBounds { keep: talk.keep, max_tokens: None, is_summarised: false };
        self.talk.as_ref().map(of_talk).or_else(|| self.workflow.pipeline.conversation.as_ref().map(HistoryBounds::from_conversation))
    }

    /// Sets a variable for `env` and declared secrets; also `FLOW_MODEL…` and `FLOW_API_KEY`, which set the model called `default`. It overrides
    /// the variable of the process.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Runner {
        self.env.insert(name.into(), Secret::new(value));
        self
    }

    /// Uses the environment variables of this process, as they are when a run begins.
    pub fn environment(mut self) -> Runner {
        self.takes_environment = true;
        self
    }

    /// Uses the variables in a file of `NAME=value` lines, read when a run begins. Variables of the process override them. No step can read the file.
    pub fn env_file(mut self, file: impl Into<PathBuf>) -> Runner {
        self.env_file = Some(file.into());
        self
    }

    /// Applies the user's own settings (`~/.config/flow`), including their policy.
    pub fn user_settings(mut self) -> Runner {
        self.takes_user_settings = true;
        self
    }

    /// Sets where the record of a run is stored.
    pub fn storage(mut self, storage: Storage) -> Runner {
        self.storage = storage;
        self
    }

    /// Adds limits to those of the file and the settings; the smallest value applies.
    pub fn limits(mut self, limits: Limits) -> Runner {
        self.limits = limits;
        self
    }

    /// Adds a policy, as in `policies` of a file, to that of the user's settings; no file can override it. An action that it does not allow fails with
    /// `denied`, and the record names the policy `user`.
    pub fn policy(mut self, policy: Policy) -> Runner {
        self.policies.push(policy);
        self
    }

    /// Sets whether the file may use its programs, hosts and secrets.
    pub fn consent(mut self, consent: Consent) -> Runner {
        self.consent = consent;
        self
    }

    /// Sets the channel. Default: the pipeline's first.
    pub fn channel(mut self, name: impl Into<String>) -> Runner {
        self.channel = Some(name.into());
        self
    }

    /// Sets `run.now`. Default: the time at which a run begins.
    pub fn now(mut self, now: DateTime<Utc>) -> Runner {
        self.now = Some(now);
        self
    }

    /// Replaces the model called `default` and every other model that is called over the network.
    pub fn model_client(mut self, client: Arc<dyn ModelClient>) -> Runner {
        self.default_model = Some(Model { model: Some(Text::plain("own")), ..Model::new(Provider::Service(Service::Ollama)) });
        self.default_model_from = "Runner::model_client; Runner::model_price sets its price";
        self.ports(move |ports| ports.models = client.clone())
    }

    /// Sets the price of the model that the program or a variable sets in place of `default`. Cost limits need it.
    pub fn model_price(mut self, price: Price) -> Runner {
        self.model_price = Some(price);
        self
    }

    /// Replaces ports of a run. Recording and the removal of secrets still apply.
    pub fn ports(mut self, change: impl Fn(&mut Ports) + Send + Sync + 'static) -> Runner {
        self.changes.push(Arc::new(change));
        self
    }

    /// Sends spans and measurements of runs there, and adds trace headers to calls. Default: off. See [`Otlp`](super::Otlp).
    pub fn telemetry(mut self, to: SharedTelemetry) -> Runner {
        self.telemetry = Some(to);
        self
    }

    /// Makes new runs part of a caller's trace, as children of its span. Default: each run is a separate trace.
    pub fn caller(mut self, caller: TraceContext) -> Runner {
        self.caller = Some(caller);
        self
    }

    /// Records the requests to models and web services, and their answers, in a new folder when the run ends, with secrets and personal values masked.
    /// Each run needs its own folder.
    pub fn record(mut self, folder: impl Into<PathBuf>) -> Runner {
        self.taping = Taping::Record(folder.into());
        self
    }

    /// Replays the answers in such a folder: nothing is called or started, and no secrets or consent are needed. A call without a recording fails.
    pub fn replay(mut self, folder: impl Into<PathBuf>) -> Runner {
        self.taping = Taping::Replay(folder.into());
        self
    }

    /// Starts a run in its own thread and returns at once. Inputs are an object, or null for none. An error at the start is the run's
    /// [outcome](RunHandle::outcome).
    pub fn run(&self, inputs: Value) -> RunHandle {
        self.in_a_thread(move |runner, listening| Ok(listening.outcome_of(RunSession::begin(runner.surroundings()?, object(inputs)?)?)))
    }

    /// Resumes a run of the same files from its [storage](Runner::storage): its process was killed, it was cancelled, or it waits for a
    /// decision. Finished steps do not run again. The handle receives the open questions first, then new events. A run that has ended
    /// returns its outcome again.
    pub fn resume(&self, run: impl Into<String>) -> RunHandle {
        let run = run.into();
        self.in_a_thread(move |runner, listening| {
            let stored = StoredRun::find(runner, &run)?;
            if stored.end().is_some() {
                return Ok(stored.played().outcome);
            }
            listening.repeat(stored.questions());
            let runner = Runner { taping: stored.taping(), ..runner.clone() };
            Ok(listening.outcome_of(RunSession::resume(runner.surroundings()?, stored)?))
        })
    }

    fn in_a_thread(&self, work: impl FnOnce(&Runner, Listening) -> Result<RunOutcome, RunError> + Send + 'static) -> RunHandle {
        let (running, listening, done) = RunHandle::new();
        let runner = self.clone();
        let work = move || {
            let _ = done.send(work(&runner, listening));
        };
        match std::thread::Builder::new().name("flow run".into()).stack_size(STACK).spawn(work) {
            Ok(_) => running,
            Err(error) => running.that_failed(RunError::system(format!("flow cannot start: {error}"))),
        }
    }
}

/// Returns the inputs of a run by name.
pub(super) fn object(inputs: Value) -> Result<Map<String, Value>, RunError> {
    match inputs {
        Value::Object(inputs) => Ok(inputs),
        Value::Null => Ok(Map::new()),
        _ => Err(RunError::Inputs(vec!["inputs are an object: a value by each name".into()])),
    }
}
