//! `flow doctor`: checks that everything the project needs is available. It is the only command that tests the environment.

mod models;
mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::adapter::agreed::Agreed;
use crate::adapter::audit_file::AuditFile;
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::encryption::Sealing;
use crate::adapter::environment::{self, JOURNAL_KEY};
use crate::adapter::mcp::auth::{LoginCommand, LoginStanding, standing};
use crate::adapter::reach::{ReachError, reach};
use crate::adapter::sandbox::{FirstStage, Sandbox, SandboxTrial};
use crate::adapter::sqlite_conversations::SqliteConversations;
use crate::adapter::sqlite_store::SqliteStore;
use crate::arguments::{DoctorOptions, SharedOptions};
use crate::audit::records;
use crate::check::Checked;
use crate::diagnostic::{counted, cut, has_errors, shell_path, visible};
use crate::engine::secret_values;
use crate::gate::checkable;
use crate::load::{SettingsOf, load_settings};
use crate::model::{Model, Pipeline, Program, RequestAddress, Settings, Tool, VARIABLES, is_own_variable, known_address};
use crate::policy::opens;
use crate::port::{INSTRUCTIONS, Secret, ToolServer};
use crate::redact::Secrets;
use crate::refusal::Refusal;
use crate::runtime::settings::{self, Settled};
use crate::runtime::{conversations_file, drawn, is_secret_set, kept, keyless, lacking, own_files, unrecognised, unset, world};
use crate::tools::{Seen, look, pipelines};
use crate::{Exit, stdout, tell, trust};
use flow_lang::plan::asks_default;

/// How long to wait for a host to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The result of one check.
#[derive(Debug, Serialize)]
struct Sign {
    /// The subject: `project`, or a file.
    of: String,
    /// `ok`, `fault`, or `note`: not a fault, but worth knowing.
    is: &'static str,
    /// The finding.
    what: String,
}

/// All results, and the data for the checks.
struct Examination {
    /// The subject of the next results.
    of: String,
    signs: Vec<Sign>,
    env: BTreeMap<String, Secret>,
    settled: Settled,
    /// Results of the hosts that were called.
    hosts: BTreeMap<(String, u16), Result<(), ReachError>>,
    /// The command to log in to the servers of the file.
    command: LoginCommand,
}

/// Checks the environment, or prints where each setting comes from.
pub(super) fn run(options: &DoctorOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let env = shared.variables()?;
    let project = shared.current_project();
    tell::hide_secrets(&secret_values(&Program::default(), &env));
    if options.config {
        return origins(&project, &env, options.json);
    }
    let (settled, refused) = match settings::read(&project) {
        Ok(settled) => (settled, None),
        Err(error) => (Settled::default(), Some(Refusal::from(error))),
    };
    let command = LoginCommand::default();
    let mut looked = Examination { of: "project".into(), signs: vec![], env, settled, hosts: BTreeMap::new(), command };
    looked.project(&project, refused.as_ref());
    let pipelines = pipelines(&options.paths, shared)?;
    let programs = pipelines.iter().map(|(_, checked)| &checked.loaded.program);
    let secrets: Vec<Secret> = programs.chain([&Program::default()]).flat_map(|program| secret_values(program, &looked.env)).collect();
    tell::hide_secrets(&secrets);
    for (path, checked) in &pipelines {
        looked.of = path.display().to_string();
        let before = looked.signs.len();
        match checked.errors().len() {
            0 => {
                let project = shared.project_of(path);
                looked.command = world::login_command(path, &project, shared.env_file.as_deref());
                looked.own_conversations(checked, &project);
                let trusted = trust::consent(checked, path, options.trust.is_given, shared);
                let is_trusted = trusted.is_ok();
                looked.pipeline(checked, trusted);
                if is_trusted {
                    looked.programs(checked, &project, shared.env_file.as_deref());
                }
            }
            errors => looked.fault(format!("it has {}; run flow validate {}", counted(errors, "error", "errors"), shell_path(&looked.of))),
        }
        if looked.signs.len() == before {
            looked.ok("has everything it needs");
        }
    }
    let mut signs = looked.signs;
    let hidden = Secrets::for_logs(secrets.iter().map(Secret::reveal));
    signs.iter_mut().for_each(|sign| sign.what = hidden.hide(&sign.what).into_owned());
    let printed = tell(&signs, options.json);
    let faults = signs.iter().filter(|sign| sign.is == "fault").count();
    note!(shared, "{}", if faults == 0 { "all is well".to_string() } else { format!("{faults} to fix") });
    Ok(if faults == 0 { printed } else { printed.or(Exit::Findings) })
}

impl Examination {
    fn sign(&mut self, is: &'static str, what: impl Into<String>) {
        self.signs.push(Sign { of: self.of.clone(), is, what: what.into() });
    }

    fn ok(&mut self, what: impl Into<String>) {
        self.sign("ok", what);
    }

    fn fault(&mut self, what: impl Into<String>) {
        self.sign("fault", what);
    }

    /// Checks the project, its settings, and whether runs can be stored. `refused`: why the settings cannot be used.
    fn project(&mut self, project: &Path, refused: Option<&Refusal>) {
        self.ok(format!("folder: {}", project.display()));
        for (path, of) in settings::files(project).unwrap_or_default() {
            let what = match of {
                SettingsOf::Project => "settings of the project",
                SettingsOf::User => "your own settings",
            };
            let there = if path.exists() { "" } else { " (not there)" };
            self.ok(format!("{what}: {}{there}", path.display()));
        }
        if let Some(Refusal(_, lines)) = refused {
            self.fault(format!("the settings have errors:\n{}", lines.join("\n")));
        }
        match kept::journal_file(project).map_err(Refusal::from) {
            Ok(file) => self.runs(&file, project),
            Err(Refusal(_, lines)) if refused.is_none() => self.fault(lines.join("\n")),
            // The settings are unknown.
            Err(_) => self.runs(&project.join(".flow/runs.db"), project),
        }
        let duckdb = if cfg!(feature = "duckdb") { "SQLite and DuckDB" } else { "SQLite (DuckDB is not in this build)" };
        self.ok(format!("SQL engines: {duckdb}"));
        self.sandbox();
    }

    /// Checks each sandbox with a program that tries to escape.
    fn sandbox(&mut self) {
        let sandbox = Sandbox::new(Arc::default(), FirstStage::here());
        let used = sandbox.kind();
        for SandboxTrial { kind, found } in sandbox.trials() {
            match found {
                Ok(version) => {
                    let is_used = if used == Ok(kind) { "" } else { " (not used)" };
                    self.ok(format!("sandbox: {version}{is_used}: a program in it ran, and could not read a file outside"));
                }
                // Help is printed only if no sandbox works.
                Err(why) if used.is_ok() => self.sign("note", format!("sandbox: {} cannot be used: {why}", kind.name())),
                Err(_) => {}
            }
        }
        if let Err(why) = used {
            self.sign("note", format!("sandbox: programs cannot be started: {why}"));
        }
        let readable = programs::readable(&self.settled.readable);
        readable.into_iter().for_each(|(is, what)| self.sign(is, what));
    }

    /// Checks the record of runs, and whether it can be written.
    fn runs(&mut self, file: &Path, project: &Path) {
        let sealing = self.sealing(project);
        match file.exists().then(|| SqliteStore::existing(file, &sealing).and_then(|mut store| store.check())) {
            None => self.ok(format!("runs: none yet; they will be stored in {}", file.display())),
            Some(Ok((count, 0))) => self.ok(format!("runs: {count}, all readable, in {}", file.display())),
            Some(Ok((count, sealed))) => {
                self.sign("note", format!("runs: {count} in {}, {sealed} of them encrypted with a key that is not set", file.display()));
            }
            Some(Err(problem)) => self.fault(format!("runs: {problem}")),
        }
        self.audit(&AuditFile::beside(file));
        self.conversations(&conversations_file(file), &sealing);
        let folder = file.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(project);
        if let Err(problem) = tempfile::tempfile_in(folder) {
            let help = "set FLOW_STATE_DIR to a writable folder, and runs are stored there";
            self.fault(format!("cannot write in {}: {problem}; {help}", folder.display()));
        }
    }

    /// Checks the end of the audit; a separate command verifies all of it.
    fn audit(&mut self, audit: &AuditFile) {
        let place = audit.path().display();
        match audit.head() {
            Ok(None) => {}
            Ok(Some(head)) => self.ok(format!("audit: {} in {place}; flow audit verify checks all of them", records(head.record_id))),
            Err(problem) => self.fault(format!("audit: {problem}")),
        }
    }

    /// Returns how records here are encrypted.
    fn sealing(&mut self, project: &Path) -> Sealing {
        kept::of_kept_runs(project).map_err(Refusal::from).unwrap_or_else(|Refusal(_, lines)| {
            self.fault(lines.join("\n"));
            Sealing::default()
        })
    }

    /// Checks the store that a file names for its conversations.
    fn own_conversations(&mut self, checked: &Checked, project: &Path) {
        let own = checked.loaded.program.pipelines.first().and_then(|pipeline| pipeline.conversation.as_ref());
        if let Some(file) = own.and_then(|own| own.store.as_ref()) {
            let sealing = self.sealing(project);
            self.conversations(file, &sealing);
        }
    }

    /// Checks a store of conversations, if there is one.
    fn conversations(&mut self, file: &Path, sealing: &Sealing) {
        match file.exists().then(|| SqliteConversations::existing(file, sealing).and_then(|mut store| store.check())) {
            None => {}
            Some(Ok(count)) => self.ok(format!("conversations: {count}, in {}", file.display())),
            Some(Err(problem)) => self.fault(format!("conversations: {problem}")),
        }
    }

    /// Checks programs and code of a trusted file, each started in the sandbox.
    fn programs(&mut self, checked: &Checked, project: &Path, env_file: Option<&Path>) {
        // Settings with errors are reported for the project; no run would start.
        let Ok(own) = own_files(project, Some((checked, &self.env)), env_file, None) else { return };
        for pipeline in &checked.loaded.program.pipelines {
            let of_user = self.settled.policy.as_ref().map(|policy| policy.sandbox.unwrap_or_default());
            let mode = of_user.into_iter().fold(pipeline.least_sandbox(), Ord::max);
            let found = programs::look(pipeline, own.clone(), mode, &self.settled.readable);
            found.into_iter().for_each(|(is, what)| self.sign(is, what));
        }
    }

    /// Checks a file without errors.
    fn pipeline(&mut self, checked: &Checked, trusted: Result<Arc<Agreed>, Refusal>) {
        checked.missing_data().chain(checked.odd_data()).for_each(|found| self.fault(&*found.message));
        lacking(checked).into_iter().for_each(|failure| self.fault(failure.message));
        let agreed = trusted.map_err(|Refusal(_, lines)| self.fault(lines.join("\n"))).ok();
        for line in unset(checked, &self.env).into_iter().filter(|unset| !unset.is_secret) {
            self.fault(line.to_string());
        }
        let of_user = self.settled.policy.as_ref().map(|policy| policy.sandbox.unwrap_or_default());
        keyless(checked, &self.env, of_user).into_iter().for_each(|line| self.sign("note", line));
        for pipeline in &checked.loaded.program.pipelines {
            for (name, about) in &pipeline.secrets {
                match (is_secret_set(name, &self.env), unrecognised(name, &self.env)) {
                    (true, Some(line)) => self.sign("note", format!("secret {line}")),
                    (true, None) => self.ok(format!("secret {name} is set")),
                    (false, _) => {
                        let about = &about.value;
                        self.fault(format!("secret {name} is not set ({about}); set the variable, or name a file with --env-file"));
                    }
                }
            }
            if let Some((is, what)) = default_model(pipeline, &self.env, self.settled.model.is_some()) {
                self.sign(is, what);
            }
            self.endpoints(pipeline);
            let Some(agreed) = &agreed else { continue };
            let servers = world::servers(self.settled.hosts_with(&self.env), Arc::clone(agreed), self.command.clone());
            for (name, seen) in look(pipeline, &self.env, &servers) {
                self.server(&name, pipeline.tools.get(&name), seen);
            }
            for address in addresses(pipeline, &self.env, self.settled.model.as_ref()) {
                match address {
                    Ok((host, port)) => {
                        let answer = self.hosts.entry((host.clone(), port)).or_insert_with(|| reach(&host, port, PATIENCE));
                        match answer.as_ref().map_err(ToString::to_string) {
                            Ok(()) => self.ok(format!("host {host}:{port} answers")),
                            Err(problem) => self.fault(format!("host {host}:{port} does not respond: {problem}")),
                        }
                    }
                    Err(text) => self.sign("note", format!("the host of \"{text}\" is known only during a run")),
                }
            }
        }
    }

    /// Checks the stored login of a server; an expired one makes the server unusable.
    fn login(&mut self, name: &str, server: &ToolServer) {
        let Some(folder) = world::logins() else { return };
        match standing(folder, server) {
            Ok(None) => {}
            Ok(Some(LoginStanding { until, is_refreshed })) => {
                let until =
                    until.map(|at| format!("until {}", at.format("%Y-%m-%d %H:%M UTC"))).unwrap_or_else(|| "without an end".to_owned());
                let again = || format!("then log in again with {}", self.command.of_server(name));
                let then = if is_refreshed { "refreshed then".to_owned() } else { again() };
                self.ok(format!("server {name} has a login: a token {until}, {then}"));
            }
            Err(error) => self.fault(format!("the login of server {name}: {error}")),
        }
    }

    fn server(&mut self, name: &str, tool: Option<&Tool>, seen: Seen) {
        let look = match seen {
            Seen::Is(looked) => {
                self.login(name, &looked.0);
                looked.1
            }
            Seen::IsAbsent(problem) => {
                return self
                    .sign("note", format!("optional server {name} is not available, so runs continue without its tools: {problem}"));
            }
            Seen::Fails(problem) => return self.fault(format!("server {name} cannot be used: {problem}")),
            Seen::OnlyInARun(why) => {
                return self.sign("note", format!("the command of server {name} is known only during a run ({why})"));
            }
        };
        let names: Vec<&str> = look.tools.iter().map(|(name, _)| name.as_str()).collect();
        let names = if names.is_empty() { "no tools".into() } else { names.join(", ") };
        self.ok(format!("server {name} answers (protocol {}); it has {names}", look.version));
        for (part, why) in &look.left_out {
            let is_named = tool.and_then(|tool| tool.allow.as_ref()).is_some_and(|allow| allow.iter().any(|entry| entry.value == *part));
            self.sign(if is_named { "fault" } else { "note" }, format!("server {name}: its tool \"{part}\" cannot be called: {why}"));
        }
        for (part, said) in &look.said {
            let left = checkable(&said["inputSchema"]).left_out;
            if !left.is_empty() && tool.is_some_and(|tool| opens(tool, part, None).is_allowed()) {
                self.sign(
                    "note",
                    format!("server {name}: only the server checks this of the arguments of {}: {}", visible(part), left.join(", ")),
                );
            }
        }
        if !look.resources.is_empty() {
            let uris: Vec<&str> = look.resources.iter().map(String::as_str).collect();
            self.ok(format!("server {name} has resources, for read: {{ server: {name}, uri: … }}: {}", cut(&uris.join(", "), 1_000)));
        }
        let changed: Vec<&str> = look.difference.changed.keys().map(String::as_str).collect();
        if !changed.is_empty() {
            self.fault(format!(
                "server {name}: {} changed since it was pinned; review and accept it with flow tools pin",
                changed.join(", ")
            ));
        }
        // Without `allow`, the file names each tool it uses, and a run reports those that are not pinned.
        let is_open =
            |part: &&String| *part == INSTRUCTIONS || tool.is_some_and(|tool| tool.allow.is_none() || opens(tool, part, None).is_allowed());
        let new: Vec<&str> = look.difference.new.iter().filter(is_open).map(String::as_str).collect();
        if !new.is_empty() {
            let is = if new != [INSTRUCTIONS] && tool.is_some_and(|tool| tool.allow.is_some()) { "fault" } else { "note" };
            let what = "new since it was pinned, and not used; review and accept it with flow tools pin";
            self.sign(is, format!("server {name}: {} {what}", new.join(", ")));
        }
    }
}

/// Returns the source of the model called `default`, if an agent may call it.
fn default_model(pipeline: &Pipeline, env: &BTreeMap<String, Secret>, has_settings_model: bool) -> Option<(&'static str, String)> {
    if !asks_default(pipeline) {
        return None;
    }
    Some(match (world::default_model(env), pipeline.models.get("default")) {
        (Err(error), _) => ("fault", error.to_string()),
        (Ok(Some(_)), _) => ("ok", "model default: from FLOW_MODEL…".into()),
        (Ok(None), Some(model)) if model.provider.scripted().is_some() => {
            ("note", "model default: scripted; set FLOW_MODEL and FLOW_MODEL_BASE_URL to use a real one".into())
        }
        (Ok(None), Some(_)) => ("ok", "model default: from the file".into()),
        (Ok(None), None) if has_settings_model => ("ok", "model default: from the settings".into()),
        (Ok(None), None) => {
            ("fault", "no model: set one in the file, in flow.toml ([models.default]), or with FLOW_MODEL and FLOW_MODEL_BASE_URL".into())
        }
    })
}

/// Returns hosts and ports that the pipeline may call; the text of an address whose host is only known in a run.
fn addresses(pipeline: &Pipeline, env: &BTreeMap<String, Secret>, of_settings: Option<&Model>) -> BTreeSet<Result<(String, u16), String>> {
    let replaced = matches!(world::default_model(env), Ok(Some(_)));
    let own = pipeline.models.iter().filter(|(name, _)| !(replaced && *name == "default")).map(|(_, model)| model);
    let is_given = !replaced && !pipeline.models.contains_key("default") && asks_default(pipeline);
    let models = own.chain(of_settings.filter(|_| is_given)).filter_map(|model| model.address().map(str::to_owned));
    let variable = if replaced { env.get("FLOW_MODEL_BASE_URL").map(|url| url.reveal().to_string()) } else { None };
    let tools = pipeline.tools.values().filter_map(|tool| match tool.kind.address()? {
        RequestAddress::Web(url) => Some(url.source.to_string()),
        RequestAddress::Mail(server) => Some(format!("smtp://{}", server.source)),
    });
    let steps = pipeline.all_steps().into_iter().filter_map(|step| step.kind.address()).map(|url| url.source.to_string());
    models.chain(variable).chain(tools).chain(steps).map(|text| host(&text)).collect()
}

/// Returns host and port of an address if they are written literally, else its text.
fn host(text: &str) -> Result<(String, u16), String> {
    let port = |url: &url::Url| url.port_or_known_default().or((url.scheme() == "smtp").then_some(587));
    let found = known_address(text).and_then(|url| Some((url.host_str()?.trim_matches(['[', ']']).to_string(), port(&url)?)));
    found.ok_or_else(|| text.to_string())
}

/// A setting, its value, and its source.
#[derive(Debug, Serialize)]
struct SettingOrigin {
    name: String,
    value: String,
    from: String,
}

impl SettingOrigin {
    fn new(name: impl Into<String>, value: impl Into<String>, from: impl Into<String>) -> SettingOrigin {
        SettingOrigin { name: name.into(), value: value.into(), from: from.into() }
    }
}

/// Prints the value and the source of each setting. Errors in a settings file are printed on standard error (exit 1).
fn origins(project: &Path, env: &BTreeMap<String, Secret>, as_json: bool) -> Result<Exit, Refusal> {
    let mut exit = Exit::Ok;
    let mut origins = of_variables(env);
    let mut has_model = origins.iter().any(|origin| origin.name == "FLOW_MODEL" || origin.name == "FLOW_MODEL_BASE_URL");
    for (path, of) in settings::files(project)? {
        let Some(found) = load_settings(&path, of, &DiskFiles) else { continue };
        if has_errors(&found.diagnostics) {
            tell::refused(&drawn(&found));
            exit = Exit::Findings;
        }
        origins.extend(of_settings(&found.settings, &path.display().to_string(), has_model));
        has_model |= found.settings.default_model.is_some();
    }
    if !has_model {
        origins.push(SettingOrigin::new("models.default", "none", "default"));
    }
    origins.push(SettingOrigin::new("project", project.display().to_string(), "the nearest folder upwards with flow.toml, or --project"));
    if as_json {
        return Ok(stdout::print_json(&origins).or(exit));
    }
    let drawn = origins.iter().map(|SettingOrigin { name, value, from }| format!("{}\n", visible(&format!("{name} = {value}  ({from})"))));
    Ok(stdout::print(&drawn.collect::<String>()).or(exit))
}

/// Returns the variables that are set; keys are never shown.
fn of_variables(env: &BTreeMap<String, Secret>) -> Vec<SettingOrigin> {
    let secrets = secret_values(&Program::default(), env);
    let hidden = Secrets::for_logs(secrets.iter().map(Secret::reveal));
    let of_one = |name: &str| {
        let value = match env.get(name).map(Secret::reveal) {
            _ if is_own_variable(name) && environment::is_set(name) => "***",
            Some("") if name == "FLOW_CONFIG" => "(empty: no settings of your own)",
            value => value?,
        };
        Some(SettingOrigin::new(name, hidden.hide(value), "variable"))
    };
    VARIABLES.into_iter().filter_map(of_one).collect()
}

/// Returns the settings of a file. `has_model`: whether a stronger setting overrides its model.
fn of_settings(settings: &Settings, from: &str, has_model: bool) -> Vec<SettingOrigin> {
    let Settings { default_model, limits, policy, private_hosts, state_dir, readable, journal, exclude, lint, telemetry } = settings;
    let mut origins = vec![];
    let mut set = |name: &str, value: Option<String>, unless: Option<&str>| {
        let unless = unless.map(|why| format!(" (not used: {why})")).unwrap_or_default();
        origins.extend(value.map(|value| SettingOrigin::new(name, format!("{value}{unless}"), from)));
    };
    let name = |model: &Model| model.model.as_ref().map_or("its provider's own", |text| &*text.source).to_owned();
    set("models.default", default_model.as_ref().map(name), has_model.then_some("overridden by a stronger setting"));
    set("policy", policy.as_ref().map(|policy| policy.description.clone().unwrap_or_else(|| "in force".into())), None);
    private_hosts.iter().for_each(|host| set("private_hosts", Some(host.value.clone()), None));
    readable.iter().for_each(|folder| set("sandbox.readable", Some(folder.value.clone()), None));
    let folder = state_dir.as_ref().map(|folder| folder.value.clone());
    set("state_dir", folder, environment::state_folder().map(|_| "FLOW_STATE_DIR is set"));
    set("journal.encrypt", journal.encrypt.then(|| "true".into()), None);
    let is_replaced = environment::is_set(JOURNAL_KEY);
    let key_file = journal.key_file.as_ref().map(|file| file.value.clone());
    set("journal.key_file", key_file, is_replaced.then_some("FLOW_JOURNAL_KEY is set"));
    let is_named = environment::is_set("OTEL_EXPORTER_OTLP_ENDPOINT");
    let of_variable = is_named.then_some("OTEL_EXPORTER_OTLP_ENDPOINT is set");
    set("telemetry.endpoint", telemetry.endpoint.as_ref().map(|endpoint| endpoint.value.clone()), of_variable);
    set("telemetry.content", telemetry.content.then(|| "true".into()), None);
    exclude.iter().for_each(|pattern| set("exclude", Some(pattern.value.clone()), None));
    lint.deny.iter().for_each(|code| set("lint.deny", Some(code.value.clone()), None));
    for path in &lint.paths {
        let codes: Vec<&str> = path.ignore.iter().map(|code| code.value.as_str()).collect();
        set(&format!("lint.paths.\"{}\"", path.pattern.value), Some(format!("ignore {}", codes.join(", "))), None);
    }
    let bounds = [
        ("deadline", limits.deadline.map(|time| format!("{time:?}"))),
        ("max_parallel", limits.max_parallel.map(|n| n.to_string())),
        ("max_tokens", limits.max_tokens.map(|n| n.to_string())),
        ("max_cost_usd", limits.max_cost_usd.map(|n| n.to_string())),
        ("max_steps", limits.max_steps.map(|n| n.to_string())),
    ];
    let of_several = format!("{from}; the smallest value applies");
    origins.extend(bounds.into_iter().filter_map(|(name, value)| Some(SettingOrigin::new(format!("limits.{name}"), value?, &*of_several))));
    origins
}

fn tell(signs: &[Sign], as_json: bool) -> Exit {
    if as_json {
        return stdout::print_json(&signs);
    }
    let (mut of, mut drawn) = ("", String::new());
    for sign in signs {
        if of != sign.of {
            drawn.push_str(&format!("{}\n", visible(&sign.of)));
            of = &sign.of;
        }
        let mut lines = sign.what.lines();
        drawn.push_str(&format!("  {:<6} {}\n", sign.is, visible(lines.next().unwrap_or_default())));
        lines.for_each(|line| drawn.push_str(&format!("         {}\n", visible(line))));
    }
    stdout::print(&drawn)
}
