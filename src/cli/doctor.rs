//! `flow doctor`: is everything here that the project needs? The only command that tests the surroundings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::arguments::{DoctorOptions, SharedOptions};
use super::tools::Seen;
use super::{Exit, refusal, stdout, tell, trust, validate};
use crate::adapter::environment;
use crate::adapter::files::DiskFiles;
use crate::adapter::reach::{ReachError, reach};
use crate::adapter::sqlite_store::SqliteStore;
use crate::adapter::started::Agreed;
use crate::check::{Checked, check_file};
use crate::diagnostic::visible;
use crate::engine::secret_values;
use crate::lower::FileKind;
use crate::model::{Model, Pipeline, Program, Provider, RequestAddress};
use crate::plan::{asks_default, known_address};
use crate::policy::opens;
use crate::port::Secret;
use crate::redact::Secrets;
use crate::runtime::{drawn, kept, lacking, settings, unrecognised, world};

/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Sign {
    /// Whose it is: `project`, or a file.
    of: String,
    /// `ok`, `fault`, or `note`: nothing is wrong, and it is good to know.
    is: &'static str,
    /// What was found.
    what: String,
}

/// Looks at the surroundings, or tells where each setting comes from.
pub(super) fn run(options: &DoctorOptions, shared: &SharedOptions) -> Exit {
    let env = match environment::variables(shared.env_file.as_deref()) {
        Ok(env) => env,
        Err(problem) => {
            tell!("{problem}");
            return Exit::Usage;
        }
    };
    let project = shared.project_of(&Path::new(".").join("x"));
    tell::hide_secrets(&secret_values(&Program::default(), &env));
    if options.config {
        return refusal::told(origins(&project, &env, options.json));
    }
    let mut signs = vec![];
    let settled = settings::read(&project).map_err(refusal::Refusal::from);
    signs.extend(of_project(&project, settled.as_ref().err()));
    let pipelines = match pipelines(&options.paths, shared) {
        Ok(pipelines) => pipelines,
        Err(problem) => {
            tell!("{problem}");
            return Exit::NothingRan;
        }
    };
    let programs = pipelines.iter().map(|(_, checked)| &checked.loaded.program);
    let secrets: Vec<Secret> = programs.chain([&Program::default()]).flat_map(|program| secret_values(program, &env)).collect();
    tell::hide_secrets(&secrets);
    let mut hosts = BTreeMap::new();
    let private_hosts = settled.as_ref().map(|settled| settled.private_hosts.clone()).unwrap_or_default();
    let model = settled.ok().and_then(|settled| settled.model);
    for (path, checked) in &pipelines {
        let is_sound = checked.errors().is_empty();
        let trusted = if is_sound { trust::consent(checked, path, options.trust.is_given, shared) } else { Ok(Arc::default()) };
        signs.extend(of_pipeline(path, checked, trusted, &env, model.as_ref(), &mut hosts, &private_hosts));
    }
    let hidden = Secrets::for_logs(secrets.iter().map(Secret::reveal));
    signs.iter_mut().for_each(|sign| sign.what = hidden.hide(&sign.what).into_owned());
    let printed = tell(&signs, options.json);
    let faults = signs.iter().filter(|sign| sign.is == "fault").count();
    if !shared.quiet {
        tell!("{}", if faults == 0 { "all is well".to_string() } else { format!("{faults} to mend") });
    }
    if faults == 0 || printed != Exit::Ok { printed } else { Exit::Findings }
}

/// The pipelines to look at: those that are named, else all of the project. What is named must hold one.
pub(super) fn pipelines(paths: &[PathBuf], shared: &SharedOptions) -> Result<Vec<(PathBuf, Checked)>, String> {
    if paths.len() > 1 {
        let each: Result<Vec<_>, String> = paths.iter().map(|path| pipelines(std::slice::from_ref(path), shared)).collect();
        let mut all = each?.concat();
        all.sort_by(|(path, _), (other, _)| path.cmp(other));
        all.dedup_by(|(path, _), (other, _)| path == other);
        return Ok(all);
    }
    let mut found = vec![];
    for path in validate::files(paths, shared)? {
        let checked = check_file(&path, &shared.project_of(&path), &DiskFiles);
        if checked.loaded.kind == FileKind::Pipeline {
            found.push((path, checked));
        }
    }
    match paths.first().filter(|_| found.is_empty()) {
        Some(path) => Err(format!("{} holds no pipeline", path.display())),
        None => Ok(found),
    }
}

fn of_project(project: &Path, refused: Option<&refusal::Refusal>) -> Vec<Sign> {
    let sign = |is, what: String| Sign { of: "project".into(), is, what };
    let mut signs = vec![sign("ok", format!("folder: {}", project.display()))];
    for (path, of) in settings::files(project).unwrap_or_default() {
        let what = match of {
            crate::load::SettingsOf::Project => "settings of the project",
            crate::load::SettingsOf::User => "your own settings",
        };
        let there = if path.exists() { "" } else { " (not there)" };
        signs.push(sign("ok", format!("{what}: {}{there}", path.display())));
    }
    if let Some(refusal::Refusal(_, lines)) = refused {
        signs.push(sign("fault", format!("the settings have errors:\n{}", lines.join("\n"))));
    }
    match kept::journal_file(project).map_err(refusal::Refusal::from) {
        Ok(file) => signs.extend(of_runs(&file, project)),
        Err(refusal::Refusal(_, lines)) if refused.is_none() => signs.push(sign("fault", lines.join("\n"))),
        // What the settings would say is not known.
        Err(_) => signs.extend(of_runs(&project.join(".flow/runs.db"), project)),
    }
    let duckdb = if cfg!(feature = "duckdb") { "SQLite and DuckDB" } else { "SQLite (DuckDB is not in this build)" };
    signs.push(sign("ok", format!("SQL engines: {duckdb}")));
    signs
}

/// The record of runs, and whether it can be written.
fn of_runs(file: &Path, project: &Path) -> Vec<Sign> {
    let sign = |is, what: String| Sign { of: "project".into(), is, what };
    let mut signs = vec![];
    let sealing = kept::of_kept_runs(project).map_err(refusal::Refusal::from);
    if let Err(refusal::Refusal(_, lines)) = &sealing {
        signs.push(sign("fault", lines.join("\n")));
    }
    let sealing = sealing.unwrap_or_default();
    signs.push(match file.exists().then(|| SqliteStore::existing(file, &sealing).and_then(|mut store| store.check())) {
        None => sign("ok", format!("runs: none yet; they will be kept in {}", file.display())),
        Some(Ok((count, 0))) => sign("ok", format!("runs: {count}, all readable, in {}", file.display())),
        Some(Ok((count, sealed))) => {
            sign("note", format!("runs: {count} in {}, {sealed} of them encrypted with a key that is not here", file.display()))
        }
        Some(Err(problem)) => sign("fault", format!("runs: {problem}")),
    });
    let folder = file.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(project);
    if let Err(problem) = tempfile::tempfile_in(folder) {
        let help = "set FLOW_STATE_DIR to a folder of yours, and runs are kept there";
        signs.push(sign("fault", format!("nothing can be written in {}: {problem}; {help}", folder.display())));
    }
    signs
}

fn of_pipeline(
    path: &Path,
    checked: &Checked,
    trusted: Result<Arc<Agreed>, refusal::Refusal>,
    env: &BTreeMap<String, Secret>,
    of_settings: Option<&Model>,
    hosts: &mut BTreeMap<(String, u16), Result<(), ReachError>>,
    private_hosts: &[String],
) -> Vec<Sign> {
    let of = path.display().to_string();
    let mut signs = vec![];
    let mut sign = |is, what: String| signs.push(Sign { of: of.clone(), is, what });
    let errors = checked.errors().len();
    if errors > 0 {
        sign("fault", format!("it has {}; see flow validate", if errors == 1 { "an error".into() } else { format!("{errors} errors") }));
        return signs;
    }
    checked.missing_data().for_each(|found| sign("fault", found.message.clone()));
    if let Some(end) = lacking(checked) {
        let message = end.failure.map(|failure| failure.failure.message).unwrap_or_default();
        sign("fault", message);
    }
    let agreed = trusted.as_ref().ok().cloned();
    if let Err(refusal::Refusal(_, lines)) = trusted {
        sign("fault", lines.join("\n"));
    }
    for pipeline in &checked.loaded.program.pipelines {
        for (name, about) in &pipeline.secrets {
            match env.get(name).is_some_and(|value| !value.reveal().is_empty()) {
                true => match unrecognised(name, env) {
                    Some(line) => sign("note", format!("secret {line}")),
                    None => sign("ok", format!("secret {name} is set")),
                },
                false => {
                    sign("fault", format!("secret {name} is not set ({}); set the variable, or name a file with --env-file", about.value))
                }
            }
        }
        if let Some((is, what)) = default_model(pipeline, env, of_settings.is_some()) {
            sign(is, what);
        }
        let Some(agreed) = &agreed else { continue };
        for (name, seen) in super::tools::look(pipeline, env, private_hosts, agreed) {
            match seen {
                Seen::Is(look) => {
                    let names: Vec<&str> = look.tools.iter().map(|(name, _)| name.as_str()).collect();
                    let names = if names.is_empty() { "no tools".into() } else { names.join(", ") };
                    sign("ok", format!("server {name} answers (protocol {}); it has {names}", look.version));
                    let changed: Vec<&str> = look.difference.changed.keys().map(String::as_str).collect();
                    if !changed.is_empty() {
                        sign(
                            "fault",
                            format!("server {name}: {} not as pinned; look at it and accept it with flow tools pin", changed.join(", ")),
                        );
                    }
                    // Without `allow` the file names each tool that it uses, and a run says which of them is not pinned.
                    let tool = pipeline.tools.get(&name);
                    let is_open = |part: &&String| tool.is_some_and(|tool| tool.allow.is_none() || opens(tool, part, None).allowed);
                    let new: Vec<&str> = look.difference.new.iter().filter(is_open).map(String::as_str).collect();
                    if !new.is_empty() {
                        let is = if tool.is_some_and(|tool| tool.allow.is_some()) { "fault" } else { "note" };
                        let what = "new since it was pinned, and not used; look at it and accept it with flow tools pin";
                        sign(is, format!("server {name}: {} {what}", new.join(", ")));
                    }
                }
                Seen::Fails(problem) => sign("fault", format!("server {name} cannot be used: {problem}")),
                Seen::OnlyInARun(why) => sign("note", format!("what server {name} is started with is known only in a run ({why})")),
            }
        }
        for address in addresses(pipeline, env, of_settings) {
            match address {
                Ok((host, port)) => {
                    let answer = hosts.entry((host.clone(), port)).or_insert_with(|| reach(&host, port, PATIENCE));
                    match answer {
                        Ok(()) => sign("ok", format!("host {host}:{port} answers")),
                        Err(problem) => sign("fault", format!("host {host}:{port} does not answer: {problem}")),
                    }
                }
                Err(text) => sign("note", format!("which host \"{text}\" leads to is known only in a run")),
            }
        }
    }
    if signs.is_empty() {
        sign_ok(&mut signs, &of);
    }
    signs
}

fn sign_ok(signs: &mut Vec<Sign>, of: &str) {
    signs.push(Sign { of: of.to_string(), is: "ok", what: "needs nothing that is not here".into() });
}

/// Where the model called `default` comes from, if an agent may ask it.
fn default_model(pipeline: &Pipeline, env: &BTreeMap<String, Secret>, has_settings_model: bool) -> Option<(&'static str, String)> {
    if !asks_default(pipeline) {
        return None;
    }
    Some(match (world::default_model(env), pipeline.models.get("default")) {
        (Err(error), _) => ("fault", error.to_string()),
        (Ok(Some(_)), _) => ("ok", "model default: from the variables FLOW_MODEL…".into()),
        (Ok(None), Some(model)) if matches!(model.provider, Provider::Scripted(_)) => {
            ("note", "model default: scripted; FLOW_MODEL and FLOW_MODEL_BASE_URL put a real one in its place".into())
        }
        (Ok(None), Some(_)) => ("ok", "model default: of the file".into()),
        (Ok(None), None) if has_settings_model => ("ok", "model default: from the settings".into()),
        (Ok(None), None) => {
            ("fault", "no model: name one in the file, in flow.toml ([models.default]), or with FLOW_MODEL and FLOW_MODEL_BASE_URL".into())
        }
    })
}

/// Hosts and ports the pipeline may call; the text of an address of which only a run knows the host.
fn addresses(pipeline: &Pipeline, env: &BTreeMap<String, Secret>, of_settings: Option<&Model>) -> BTreeSet<Result<(String, u16), String>> {
    let replaced = matches!(world::default_model(env), Ok(Some(_)));
    let own = pipeline.models.iter().filter(|(name, _)| !(replaced && *name == "default")).map(|(_, model)| model);
    let is_given = !replaced && !pipeline.models.contains_key("default") && asks_default(pipeline);
    let models = own.chain(of_settings.filter(|_| is_given)).filter_map(|model| model.endpoint().map(str::to_owned));
    let variable = if replaced { env.get("FLOW_MODEL_BASE_URL").map(|url| url.reveal().to_string()) } else { None };
    let tools = pipeline.tools.values().filter_map(|tool| match tool.kind.address()? {
        RequestAddress::Web(url) => Some(url.source.to_string()),
        RequestAddress::Mail(server) => Some(format!("smtp://{}", server.source)),
    });
    let steps = pipeline.all_steps().into_iter().filter_map(|step| step.kind.address()).map(|url| url.source.to_string());
    models.chain(variable).chain(tools).chain(steps).map(|text| host(&text)).collect()
}

/// Host and port of an address, if they are written out; else its text.
fn host(text: &str) -> Result<(String, u16), String> {
    let port = |url: &url::Url| url.port_or_known_default().or((url.scheme() == "smtp").then_some(587));
    let found = known_address(text).and_then(|url| Some((url.host_str()?.trim_matches(['[', ']']).to_string(), port(&url)?)));
    found.ok_or_else(|| text.to_string())
}

/// Which value each setting has, and where it comes from. What a file of settings has as mistakes is told on standard error (exit 1).
fn origins(project: &Path, env: &BTreeMap<String, Secret>, as_json: bool) -> Result<Exit, refusal::Refusal> {
    let mut exit = Exit::Ok;
    let mut lines: Vec<(String, String, String)> = vec![];
    let variables = [
        "FLOW_MODEL",
        "FLOW_MODEL_BASE_URL",
        "FLOW_MODEL_PROVIDER",
        "FLOW_MODEL_API",
        "FLOW_MODEL_TOOL_CALLS",
        "FLOW_API_KEY",
        "FLOW_CONFIG",
        "FLOW_STATE_DIR",
        "FLOW_LOG",
    ];
    for name in variables {
        let shown = match env.get(name) {
            Some(_) if name == "FLOW_API_KEY" => "***".to_string(),
            Some(value) if name == "FLOW_CONFIG" && value.reveal().is_empty() => "(empty: no settings of your own)".to_string(),
            Some(value) => value.reveal().to_string(),
            None => continue,
        };
        lines.push((name.into(), shown, "variable".into()));
    }
    let secrets = secret_values(&Program::default(), env);
    let hidden = Secrets::for_logs(secrets.iter().map(Secret::reveal));
    lines.iter_mut().for_each(|(_, shown, _)| *shown = hidden.hide(shown).into_owned());
    let mut has_model = lines.iter().any(|(name, ..)| name == "FLOW_MODEL" || name == "FLOW_MODEL_BASE_URL");
    for (path, of) in settings::files(project)? {
        let Some(found) = crate::load::load_settings(&path, of, &DiskFiles) else { continue };
        if crate::diagnostic::has_errors(&found.diagnostics) {
            tell::refused(&drawn(&found));
            exit = Exit::Findings;
        }
        let from = path.display().to_string();
        if let Some(model) = &found.settings.default_model {
            let name = model.model.as_ref().map_or("its provider's own", |text| &*text.source);
            let shown = format!("{name}{}", if has_model { " (not used: something stronger names one)" } else { "" });
            lines.push(("models.default".into(), shown, from.clone()));
            has_model = true;
        }
        let limits = &found.settings.limits;
        let bounds = [
            ("deadline", limits.deadline.map(|time| format!("{time:?}"))),
            ("max_parallel", limits.max_parallel.map(|n| n.to_string())),
            ("max_tokens", limits.max_tokens.map(|n| n.to_string())),
            ("max_cost_usd", limits.max_cost_usd.map(|n| n.to_string())),
            ("max_steps", limits.max_steps.map(|n| n.to_string())),
        ];
        let of_several = format!("{from}; of several the smallest counts");
        lines.extend(bounds.into_iter().filter_map(|(name, value)| Some((format!("limits.{name}"), value?, of_several.clone()))));
        if let Some(policy) = &found.settings.policy {
            lines.push(("policy".into(), policy.description.clone().unwrap_or_else(|| "in force".into()), from.clone()));
        }
        for host in &found.settings.private_hosts {
            lines.push(("private_hosts".into(), host.value.clone(), from.clone()));
        }
        if let Some(folder) = &found.settings.state_dir {
            let is_used = environment::state_folder().is_none();
            let shown = format!("{}{}", folder.value, if is_used { "" } else { " (not used: FLOW_STATE_DIR is set)" });
            lines.push(("state_dir".into(), shown, from.clone()));
        }
        if found.settings.journal.encrypt {
            lines.push(("journal.encrypt".into(), "true".into(), from.clone()));
        }
        if let Some(file) = &found.settings.journal.key_file {
            lines.push(("journal.key_file".into(), file.value.clone(), from.clone()));
        }
        for code in &found.settings.lint.deny {
            lines.push(("lint.deny".into(), code.value.clone(), from.clone()));
        }
        for path in &found.settings.lint.paths {
            let codes: Vec<&str> = path.ignore.iter().map(|code| code.value.as_str()).collect();
            lines.push((format!("lint.paths.\"{}\"", path.pattern.value), format!("ignore {}", codes.join(", ")), from.clone()));
        }
    }
    if !has_model {
        lines.push(("models.default".into(), "none".into(), "default".into()));
    }
    lines.push(("project".into(), project.display().to_string(), "the nearest folder upwards with flow.toml, or --project".into()));
    if as_json {
        let list: Vec<_> =
            lines.iter().map(|(name, value, from)| serde_json::json!({ "name": name, "value": value, "from": from })).collect();
        return Ok(stdout::print_json_then(&list, exit));
    }
    let drawn = lines.iter().map(|(name, value, from)| format!("{}\n", visible(&format!("{name} = {value}  ({from})"))));
    Ok(stdout::print_then(&drawn.collect::<String>(), exit))
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
