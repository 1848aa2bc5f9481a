//! The environment of a run: variables, settings, secrets, ports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::changed::ChangedFiles;
use super::consent::consent;
use super::kept::{self, Storage};
use super::own::own_files;
use super::settings::{self, Settled};
use super::tape::reads_clock;
use super::unset::{keyless, unset};
use super::world::{self, is_scripted, know_prices};
use super::{RunError, Runner, Taping, Workflow};
use crate::adapter::cassette::{Cassette, Head};
use crate::adapter::encryption::Sealing;
use crate::adapter::environment;
use crate::adapter::sandbox::ReadableFolder;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::{lock, open_files};
use crate::diagnostic::visible;
use crate::driver::{Door, Ports, Runtime};
use crate::engine::{Input, Mocks, Moment, ResumeError, Run, RunSettings, secret_values};
use crate::event::{ConversationSoFar, Event, Happening, RunStart};
use crate::journal::{AuditTrail, PersonalMask};
use crate::load::WrittenRules;
use crate::model::{DEFAULT_MODEL, History, Limits, Model, PastMessage, Pipeline, Policy, USER_POLICY};
use crate::plan::{Plan, Wishes};
use crate::port::{PrintError, Printer, Secret};
use crate::redact::{Redactor, is_recognised};

/// Open files of a run besides its calls, of one network call, and of one call that starts a program (pipes, folders, guards).
const FILES_OF_RUN: u64 = 64;
const FILES_OF_CALL: u64 = 4;
const FILES_OF_PROGRAM: u64 = 20;

/// The environment of a run.
pub struct Surroundings {
    /// The options, with variables and models filled in and bounds narrowed by the settings.
    pub runner: Runner,
    /// Secrets that must not appear in incoming or printed texts.
    pub hidden: Vec<Secret>,
    /// Settings of the project and the user.
    pub settled: Settled,
    /// How new records are encrypted.
    pub(super) sealing: Sealing,
    /// Whether models are scripted.
    pub scripted: bool,
    pub(super) tape: Cassette,
    /// The head of the recordings.
    replayed: Option<Head>,
    /// Whether the settings supplied the model of a file without one called `default`, and it is not a scripted one.
    is_given: bool,
    /// The output of `send` to standard output, unless the port is replaced.
    pub(super) printed: Arc<KeptPrinter>,
    /// The ports for calls.
    pub ports: Ports,
    pub(super) runtime: Runtime,
}

impl Runner {
    /// Creates the environment of a run, for the current thread. Nothing is started. Errors: invalid settings, variables or recordings,
    /// missing consent, or the system cannot create threads.
    pub fn surroundings(&self) -> Result<Surroundings, RunError> {
        let mut runner = self.clone();
        let replayed = runner.taping.open()?;
        let settled = self.settled()?;
        runner.limits = self.limits.within(&settled.limits);
        for policy in &self.policies {
            runner.limits = runner.limits.within(&policy.bounds(USER_POLICY));
        }
        let env = match (self.takes_environment, &self.env_file) {
            (true, file) => environment::variables(file.as_deref()),
            (false, Some(file)) => environment::of_file(file),
            (false, None) => Ok(BTreeMap::new()),
        };
        runner.env = env.map_err(RunError::usage)?;
        runner.env.extend(self.env.clone());
        let env = &runner.env;
        let Workflow { checked, file, project, .. } = &runner.workflow;
        let agreed = match &self.agreed {
            Some(agreed) => agreed.clone(),
            None if replayed.is_some() => Arc::default(),
            None => consent(&self.consent, checked, file, settled.model_of_project.clone(), env)?,
        };
        let sealing = if self.storage == Storage::Memory { Sealing::default() } else { kept::of_new_runs(&settled)? };
        // A replay uses the recordings, regardless of current settings and variables.
        let recordings = |is: fn(&Head) -> bool| replayed.as_ref().filter(|head| is(head)).and_then(|_| self.taping.model());
        let of_variables = world::default_model(env)?;
        runner.default_model = runner.default_model.or(of_variables).or_else(|| recordings(|head| head.default_model_replaced));
        runner.default_model.iter_mut().for_each(|model| model.price = runner.model_price.or(model.price));
        let given = recordings(|head| head.default_model_given).or_else(|| settled.model.clone());
        let command = world::login_command(file, project, self.env_file.as_deref());
        // The folder of a project's runs is hidden as a whole.
        let journal = match &self.storage {
            Storage::Folder(_) => self.storage.journal(project)?,
            Storage::Memory | Storage::Project => None,
        };
        let own = own_files(project, Some((checked, env)), self.env_file.as_deref(), journal.as_deref())?;
        let asks_nobody = |model: &crate::model::Model| model.provider.answers_from_a_file();
        let is_given = runner.workflow.give_model(given.as_ref()) && !given.as_ref().is_some_and(asks_nobody);
        let program = &runner.workflow.checked.loaded.program;
        let scripted = runner.taping.is_replay() || is_scripted(program, runner.default_model.is_some());
        let runtime = Runtime::new().map_err(|e| RunError::system(format!("flow cannot start: {e}")))?;
        let hidden = secret_values(program, env);
        let tape = Cassette::new(runner.taping.mode(), hidden.iter().map(Secret::reveal));
        let printed = Arc::new(KeptPrinter::default());
        let logins = if self.takes_user_settings { world::logins() } else { None };
        let mut ports = world::ports(printed.clone(), own, settled.hosts_with(env), agreed, logins, command, &settled.readable);
        self.changes.iter().for_each(|change| change(&mut ports));
        // Without recordings, calls need not be identified.
        if scripted || !matches!(runner.taping, Taping::None) || runner.default_model.as_ref().is_some_and(asks_nobody) {
            ports.tape = Some(Arc::new(tape.clone()));
        }
        ports.door = Door::new(hidden.iter().map(Secret::reveal));
        Ok(Surroundings { runner, hidden, settled, sealing, scripted, tape, replayed, is_given, printed, ports, runtime })
    }

    /// Reads the settings of the project and, if enabled, of the user.
    pub(super) fn settled(&self) -> Result<Settled, RunError> {
        match self.takes_user_settings {
            true => settings::read(&self.workflow.project),
            false => settings::of_project(&self.workflow.project),
        }
    }
}

impl Surroundings {
    /// Makes the records for the audit of a new run.
    pub(super) fn trail(&self) -> AuditTrail {
        AuditTrail::new(self.hidden.iter().map(Secret::reveal))
    }

    /// Rebuilds a run from its events, to resume it. Errors: why it cannot be resumed.
    pub fn as_its_events_tell(&self, events: &[Event]) -> Result<Run, RunError> {
        let (Some(start), Some(first)) = (start_of(events), events.first()) else {
            return Err(RunError::CannotResume(vec!["the run has no start event".to_string()]));
        };
        let id = &first.run;
        let of_run = Limits { max_cost_usd: start.max_cost_usd, ..Limits::default() };
        let options = self.options(of_run.within(&self.runner.limits));
        let now = Moment { wall: self.ports.clock.now(), ms: 0 };
        Run::resumed(id.clone(), self.plan(), options, now, events).map_err(|why| match why {
            ResumeError::Changed => {
                let now = &self.runner.workflow.checked.loaded.prints;
                RunError::Changed(Box::new(ChangedFiles::between(id, &start.files, now)))
            }
            ResumeError::Over => RunError::CannotResume(vec![format!("run {id} cannot continue: {why}")]),
        })
    }

    /// Returns the input that resumes a run after these events; it was not running since the last one.
    pub(super) fn resumed_after(&self, events: &[Event]) -> Input {
        let away = events.last().map_or(0, |last| (self.ports.clock.now() - last.time).num_milliseconds().max(0));
        Input::Resume { away_ms: away as u64 }
    }

    /// Returns the text of each file of the pipeline, without keys and secrets.
    pub(super) fn texts(&self) -> BTreeMap<String, String> {
        let mut texts = self.runner.workflow.checked.loaded.texts();
        texts.values_mut().for_each(|text| self.ports.door.text(text));
        texts
    }

    /// Returns the pipeline, with the model that the settings supply.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.runner.workflow.pipeline
    }

    pub(super) fn plan(&self) -> Arc<Plan> {
        Arc::new(self.runner.workflow.checked.plan.clone())
    }

    /// Returns the earlier messages of the recorded run.
    pub(super) fn recorded_conversation(&self) -> ConversationSoFar {
        let of_head = |head: &Head| ConversationSoFar {
            messages: head.conversation.clone(),
            older: head.older.clone(),
            summary: head.summary.clone(),
            agents: head.agents.clone(),
            ..ConversationSoFar::default()
        };
        self.replayed.as_ref().map(of_head).unwrap_or_default()
    }

    /// Returns the agents whose history is stored, and whether they see it.
    pub(super) fn agents_with_own_history(&self) -> BTreeMap<String, bool> {
        let mut found = BTreeMap::new();
        for step in self.runner.workflow.checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.all_steps()) {
            let Some((history, agent)) = step.kind.history() else { continue };
            match history {
                History::Own => *found.entry(agent.value.clone()).or_default() = true,
                History::Kept => drop(found.entry(agent.value.clone()).or_default()),
                History::Nothing | History::Conversation => {}
            }
        }
        found
    }

    /// Returns `run.now` for a run that starts now. Errors: the recordings have no time.
    pub(super) fn now(&self) -> Result<DateTime<Utc>, RunError> {
        let recorded = self.replayed.as_ref().and_then(|head| head.now.as_deref());
        match (self.runner.now, recorded) {
            (Some(now), _) => Ok(now),
            (None, None) => Ok(self.ports.clock.now()),
            (None, Some(text)) => match DateTime::parse_from_rfc3339(text) {
                Ok(now) => Ok(now.with_timezone(&Utc)),
                Err(_) => Err(RunError::usage(format!("replay: the time of the recordings is not valid: {}", visible(text)))),
            },
        }
    }

    /// Stores cached results under this run, encrypted like it; a recorded or replayed run stores none.
    pub(super) fn keep_results_of(&mut self, run: &str, journal: &Path, sealing: &Sealing) {
        if self.runner.taping == Taping::None {
            self.ports.cache = Arc::new(SqliteCache::new(kept::cache_file(journal), run, sealing.clone()));
        }
    }

    /// Checks that cost limits can be enforced; a replay calls no model. Errors: a price is missing.
    pub fn know_prices(&self) -> Result<(), RunError> {
        if self.runner.taping.is_replay() {
            return Ok(());
        }
        let Runner { workflow, default_model, default_model_from, limits, .. } = &self.runner;
        know_prices(&workflow.checked, default_model.as_ref().map(|model| (model, *default_model_from)), limits)
    }

    /// Returns the model with a name; for `default` that of the variables, else that of the file.
    pub fn model(&self, name: &str) -> Option<&Model> {
        let of_variables = self.runner.default_model.as_ref().filter(|_| name == DEFAULT_MODEL);
        of_variables.or_else(|| self.pipeline().models.get(name))
    }

    /// Returns warnings before the first run of this process: folders of the user's settings that no program can read.
    pub fn unreadable_folders(&self) -> Vec<String> {
        static ARE_TOLD: AtomicBool = AtomicBool::new(false);
        if ARE_TOLD.swap(true, Ordering::Relaxed) {
            return vec![];
        }
        let told = |folder: ReadableFolder| {
            folder.place.err().map(|why| format!("programs in the sandbox cannot read {}, which your settings name: {why}", folder.written))
        };
        self.settled.readable.iter().filter_map(|written| told(ReadableFolder::find(written))).collect()
    }

    /// Returns warnings before a run: declared secrets that look like ordinary text, and variables that are read but not set.
    pub fn unrecognised(&self) -> Vec<String> {
        let declared = self.runner.workflow.checked.loaded.program.pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let unique: BTreeSet<&String> = declared.collect();
        let lines = unique.into_iter().filter_map(|name| unrecognised(name, &self.runner.env)).chain(self.fewer_calls());
        // A replay needs no variables.
        if self.runner.taping.is_replay() {
            return lines.collect();
        }
        let Runner { workflow, env, .. } = &self.runner;
        let of_user = self.settled.policy.as_ref().map(|policy| policy.sandbox.unwrap_or_default());
        let of_env = unset(&workflow.checked, env).into_iter().map(|unset| unset.to_string());
        lines.chain(of_env).chain(keyless(&workflow.checked, env, of_user)).collect()
    }

    /// Returns the policies of the user and the caller, which apply in addition to those of the file.
    pub fn user_policies(&self) -> impl Iterator<Item = &Policy> {
        self.settled.policy.iter().chain(&self.runner.policies)
    }

    pub(super) fn options(&self, limits: Limits) -> RunSettings {
        let Runner { workflow, env, default_model, taping, .. } = &self.runner;
        RunSettings {
            secrets: taping.secrets(&workflow.checked.loaded.program.pipelines, env),
            hidden: self.hidden.clone(),
            env: env.clone(),
            default_model: default_model.clone(),
            every_model: None,
            user_policies: self.user_policies().cloned().collect(),
            unscripted: taping.unscripted(),
            replies: None,
            mocks: Mocks::default(),
            written: Box::new(WrittenRules),
            limits,
            most_calls: self.most_calls(),
            is_chat: self.runner.is_chat,
        }
    }

    /// Returns the maximum number of calls for which this process may open files.
    fn most_calls(&self) -> u64 {
        let checked = &self.runner.workflow.checked;
        let is_heavy = !Wishes::from_plan(&checked.plan, self.runner.default_model.as_ref()).programs.is_empty();
        let each = if is_heavy { FILES_OF_PROGRAM } else { FILES_OF_CALL };
        (open_files().saturating_sub(FILES_OF_RUN) / each).max(1)
    }

    /// Returns a warning if fewer calls can be open at once than the file or a setting requests.
    fn fewer_calls(&self) -> Option<String> {
        let own = self.runner.workflow.pipeline.limits.max_parallel;
        let wanted = [own, self.runner.limits.max_parallel].into_iter().flatten().min()?;
        let (most, files) = (self.most_calls(), open_files());
        let told =
            || format!("at most {most} of {wanted} calls (max_parallel) are out at once: this process may open {files} files (ulimit -n)");
        (most < wanted).then(told)
    }

    /// Returns the head of a cassette of this run.
    pub(super) fn head(&self, events: &[Event]) -> Head {
        let now = start_of(events).map(|start| start.now.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true));
        let now = now.filter(|_| reads_clock(&self.runner.workflow.checked.loaded.program));
        let mut mask = PersonalMask::new(self.hidden.iter().map(Secret::reveal));
        let own = start_of(events).and_then(|start| start.conversation.as_deref()).cloned().unwrap_or_default();
        if own.has_earlier() {
            mask.take(events);
        }
        let redactor = mask.for_run(events).redactor();
        let masked = |said: Vec<PastMessage>| masked(said, redactor);
        Head {
            conversation: masked(own.messages),
            older: masked(own.older),
            summary: own.summary.map(|text| redactor.redact(&text)),
            agents: own.agents.into_iter().map(|(name, said)| (name, masked(said))).collect(),
            default_model_given: self.is_given,
            ..Head::new(&self.pipeline().name.value, now, self.runner.default_model.is_some())
        }
    }
}

/// Masks messages for others.
fn masked(said: Vec<PastMessage>, redactor: &Redactor) -> Vec<PastMessage> {
    said.into_iter().map(|one| PastMessage { text: redactor.redact(&one.text), person: None, content: None, ..one }).collect()
}

/// Collects the output of `send` to standard output.
#[derive(Default)]
pub(crate) struct KeptPrinter(Mutex<Vec<String>>);

impl KeptPrinter {
    /// Returns what was printed so far.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Printer for KeptPrinter {
    fn print(&self, parts: &[String]) -> Result<(), PrintError> {
        lock(&self.0).extend(parts.iter().cloned());
        Ok(())
    }
}

/// Returns the first event of a run.
pub fn start_of(events: &[Event]) -> Option<&RunStart> {
    match &events.first()?.happening {
        Happening::RunStarted(start) => Some(start),
        _ => None,
    }
}

/// Returns the file that a run uses, to run it again.
///
/// # Errors
/// Fails if it has none, or the file no longer exists.
pub fn file_of(events: &[Event]) -> Result<PathBuf, String> {
    let file = start_of(events).map(|start| start.file.as_str()).unwrap_or_default();
    match file {
        "" => Err("it was a talk with an agent in flow chat, which ends with its process; ask the agent again".to_owned()),
        file if Path::new(file).is_file() => Ok(PathBuf::from(file)),
        file => Err(format!("its file {} no longer exists", visible(file))),
    }
}

/// Returns the values of inputs that the file defines, as defaults or examples.
pub fn inputs_of_file(pipeline: &Pipeline) -> Map<String, Value> {
    let given = pipeline.input_fields().iter().filter_map(|field| {
        let value = pipeline.default_of(field).or_else(|| field.example.clone())?;
        Some((field.name.clone(), value))
    });
    given.collect()
}

/// Returns a warning about a secret that looks like ordinary text; `None`: it does not, or is not set.
pub fn unrecognised(name: &str, env: &BTreeMap<String, Secret>) -> Option<String> {
    let value = env.get(name)?.reveal().trim();
    (!value.is_empty() && !is_recognised(value)).then(|| {
        format!(
            "{name} is too short or a plain word, so it cannot be hidden where it comes back; use 8 or more characters with digits or signs"
        )
    })
}
