//! Settings: flag, then `FLOW_…` variable, then the project's `flow.toml`, then the user's own file. Bounds only become narrower.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::RunError;
use crate::adapter::environment;
use crate::adapter::files::{DiskFiles, open_if_there};
use crate::load::{SettingsOf, load_settings};
use crate::model::{Limits, Model, Policy, Settings};
use crate::port::Secret;

/// What the project and the user have set.
#[derive(Default)]
pub(crate) struct Settled {
    /// The model called `default` of files that have none.
    pub(crate) model: Option<Model>,
    /// The one among them that the project gives: unlike what the user has set, it comes along with the files.
    pub(crate) model_of_project: Option<Model>,
    /// The narrowest bounds of both.
    pub(crate) limits: Limits,
    /// What the user allows at most.
    pub(crate) policy: Option<Policy>,
    /// Hosts in private networks that the user named.
    pub(crate) private_hosts: Vec<String>,
    /// How runs are kept.
    pub(crate) journal: JournalOf,
}

/// How runs are kept: what the project or the user asks for.
#[derive(Default)]
pub(crate) struct JournalOf {
    /// They are encrypted.
    pub(crate) encrypt: bool,
    /// The file of the key, if the user names one.
    pub(crate) key_file: Option<PathBuf>,
}

impl Settled {
    /// Those hosts, and the one of `FLOW_MODEL_BASE_URL`.
    pub(crate) fn hosts_with(&self, env: &BTreeMap<String, Secret>) -> Vec<String> {
        let of_variable = env.get("FLOW_MODEL_BASE_URL").and_then(|url| host(url.reveal()));
        self.private_hosts.iter().cloned().chain(of_variable).collect()
    }
}

/// The project's file of settings and the user's own; they need not be there.
/// Errors: `FLOW_CONFIG` names a file that is not there, or what stands there cannot be read: with it would go what it forbids.
pub(crate) fn files(project: &Path) -> Result<Vec<(PathBuf, SettingsOf)>, RunError> {
    let of_user = environment::user_settings().map_err(RunError::usage)?;
    let path = project.join("flow.toml");
    open_if_there(&path).map_err(|why| RunError::usage(format!("cannot read the project's settings in {}: {why}", path.display())))?;
    let of_project = (path, SettingsOf::Project);
    Ok(std::iter::once(of_project).chain(of_user.map(|path| (path, SettingsOf::User))).collect())
}

/// Reads the settings of the project and of the user. Errors: they have mistakes, or the user's own file is not where a variable says.
pub(crate) fn read(project: &Path) -> Result<Settled, RunError> {
    of_files(files(project)?)
}

/// Reads the settings of the project alone. Errors: they have mistakes.
pub(crate) fn of_project(project: &Path) -> Result<Settled, RunError> {
    of_files(vec![(project.join("flow.toml"), SettingsOf::Project)])
}

fn of_files(files: Vec<(PathBuf, SettingsOf)>) -> Result<Settled, RunError> {
    let mut settled = Settled::default();
    for (path, of) in files {
        let Some(settings) = without_mistakes(&path, of)? else { continue };
        settled.private_hosts.extend(settings.private_hosts.into_iter().map(|host| host.value));
        if of == SettingsOf::User {
            let named = settings.default_model.as_ref().and_then(|model| model.base_url.as_ref());
            settled.private_hosts.extend(named.and_then(|url| host(&url.source)));
        }
        settled.journal.encrypt |= settings.journal.encrypt;
        settled.journal.key_file = settled.journal.key_file.or(settings.journal.key_file.map(|named| beside(&path, &named.value)));
        if of == SettingsOf::Project {
            settled.model_of_project.clone_from(&settings.default_model);
        }
        settled.model = settled.model.or(settings.default_model);
        settled.limits = narrowest(&settled.limits, &settings.limits);
        if let Some(policy) = settings.policy {
            settled.limits = narrowest(&settled.limits, &bounds_of(&policy));
            settled.policy = Some(policy);
        }
    }
    Ok(settled)
}

/// The folder for the runs of all projects that the user's own file names. Errors: as [`read`].
pub(crate) fn state_dir() -> Result<Option<PathBuf>, RunError> {
    Ok(of_user()?.and_then(|(_, settings)| settings.state_dir).map(|folder| PathBuf::from(folder.value)))
}

/// The file of the journal's key, which the user's own settings name. Errors: as [`read`].
pub(crate) fn key_file() -> Result<Option<PathBuf>, RunError> {
    Ok(of_user()?.and_then(|(path, settings)| Some(beside(&path, &settings.journal.key_file?.value))))
}

fn of_user() -> Result<Option<(PathBuf, Settings)>, RunError> {
    let Some(path) = environment::user_settings().map_err(RunError::usage)? else { return Ok(None) };
    Ok(without_mistakes(&path, SettingsOf::User)?.map(|settings| (path, settings)))
}

fn without_mistakes(path: &Path, of: SettingsOf) -> Result<Option<Settings>, RunError> {
    let Some(found) = load_settings(path, of, &DiskFiles) else { return Ok(None) };
    if crate::diagnostic::has_errors(&found.diagnostics) {
        return Err(RunError::Settings(Box::new(found)));
    }
    Ok(Some(found.settings))
}

/// A path that a file of settings names, from its folder.
fn beside(settings: &Path, named: &str) -> PathBuf {
    settings.parent().unwrap_or(Path::new("")).join(named)
}

/// The bounds that a policy sets.
pub(crate) fn bounds_of(policy: &Policy) -> Limits {
    Limits { deadline: policy.max_time, max_cost_usd: policy.max_cost_usd, max_tokens: policy.max_tokens, ..Limits::default() }
}

/// The host of an address, if it can be read.
pub(crate) fn host(address: &str) -> Option<String> {
    url::Url::parse(address).ok()?.host_str().map(str::to_owned)
}

/// Of each bound the smaller one.
pub(crate) fn narrowest(a: &Limits, b: &Limits) -> Limits {
    fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
        [a, b].into_iter().flatten().min()
    }
    Limits {
        deadline: least(a.deadline, b.deadline),
        max_parallel: least(a.max_parallel, b.max_parallel),
        max_tokens: least(a.max_tokens, b.max_tokens),
        max_cost_usd: [a.max_cost_usd, b.max_cost_usd].into_iter().flatten().reduce(f64::min),
        max_steps: least(a.max_steps, b.max_steps),
        span: None,
    }
}
