//! Settings, in this order: flag, `FLOW_…` variable, the project's `flow.toml`, the user's own file. Bounds can only be narrowed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::RunError;
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::environment;
use crate::adapter::files::open_if_there;
use crate::diagnostic::has_errors;
use crate::load::{SettingsOf, load_settings};
use crate::model::{Limits, Model, Policy, TelemetrySettings, USER_POLICY};
use crate::port::Secret;

/// The settings of the project and the user.
#[derive(Default)]
pub struct Settled {
    /// The model called `default` for files without one.
    pub model: Option<Model>,
    /// The project's model, if it has one: unlike the user's, it is distributed with the files.
    pub model_of_project: Option<Model>,
    /// The narrowest bounds of both.
    pub limits: Limits,
    /// The user's policy.
    pub policy: Option<Policy>,
    /// Hosts in private networks that the user allows.
    pub(crate) private_hosts: Vec<String>,
    /// Folders that the user made readable for programs in the sandbox, as written.
    pub readable: Vec<String>,
    /// Whether stored runs are encrypted.
    pub(crate) encrypt: bool,
    /// The key file, if the user names one.
    pub(crate) key_file: Option<PathBuf>,
    /// The folder for the runs of all projects, if the user names one.
    pub(crate) state_dir: Option<PathBuf>,
    /// The destination of the user's telemetry.
    pub telemetry: TelemetrySettings,
}

impl Settled {
    /// Returns the private hosts, with the host of `FLOW_MODEL_BASE_URL`.
    pub fn hosts_with(&self, env: &BTreeMap<String, Secret>) -> Vec<String> {
        let of_variable = env.get("FLOW_MODEL_BASE_URL").and_then(|url| host(url.reveal()));
        self.private_hosts.iter().cloned().chain(of_variable).collect()
    }
}

/// Returns the settings files of the project and the user; they may be missing. Errors: `FLOW_CONFIG` names a missing file, or a file
/// cannot be read: ignoring it would also drop what it forbids.
pub fn files(project: &Path) -> Result<Vec<(PathBuf, SettingsOf)>, RunError> {
    let of_user = environment::user_settings().map_err(RunError::usage)?;
    let path = project.join("flow.toml");
    open_if_there(&path).map_err(|why| RunError::usage(format!("cannot read the project's settings in {}: {why}", path.display())))?;
    let of_project = (path, SettingsOf::Project);
    Ok(std::iter::once(of_project).chain(of_user.map(|path| (path, SettingsOf::User))).collect())
}

/// Reads the settings of the project and of the user. Errors: a file has errors, or the user's file is not where a variable says.
pub fn read(project: &Path) -> Result<Settled, RunError> {
    of_files(files(project)?)
}

/// Reads the settings of the project alone. Errors: the file has errors.
pub(crate) fn of_project(project: &Path) -> Result<Settled, RunError> {
    of_files(vec![(project.join("flow.toml"), SettingsOf::Project)])
}

/// Reads the user's own settings alone. Errors: as [`read`].
pub fn of_user() -> Result<Settled, RunError> {
    let path = environment::user_settings().map_err(RunError::usage)?;
    of_files(path.map(|path| (path, SettingsOf::User)).into_iter().collect())
}

fn of_files(files: Vec<(PathBuf, SettingsOf)>) -> Result<Settled, RunError> {
    let mut settled = Settled::default();
    for (path, of) in files {
        let Some(found) = load_settings(&path, of, &DiskFiles) else { continue };
        if has_errors(&found.diagnostics) {
            return Err(RunError::Settings(Box::new(found)));
        }
        let settings = found.settings;
        settled.private_hosts.extend(settings.private_hosts.into_iter().map(|host| host.value));
        match of {
            SettingsOf::Project => settled.model_of_project.clone_from(&settings.default_model),
            SettingsOf::User => {
                let named = settings.default_model.as_ref().and_then(|model| model.base_url.as_ref());
                settled.private_hosts.extend(named.and_then(|url| host(&url.source)));
                settled.readable = settings.readable.into_iter().map(|folder| folder.value).collect();
                settled.telemetry = settings.telemetry;
                settled.state_dir = settings.state_dir.map(|folder| PathBuf::from(folder.value));
            }
        }
        settled.encrypt |= settings.journal.encrypt;
        // Relative to the folder of the file that names it.
        let key_file = settings.journal.key_file.map(|named| path.parent().unwrap_or(Path::new("")).join(named.value));
        settled.key_file = settled.key_file.or(key_file);
        settled.model = settled.model.or(settings.default_model);
        settled.limits = settled.limits.within(&settings.limits);
        if let Some(policy) = settings.policy {
            settled.limits = settled.limits.within(&policy.bounds(USER_POLICY));
            settled.policy = Some(policy);
        }
    }
    Ok(settled)
}

/// Returns the host of an address, if it can be parsed.
pub(crate) fn host(address: &str) -> Option<String> {
    url::Url::parse(address).ok()?.host_str().map(str::to_owned)
}
