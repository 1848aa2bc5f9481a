//! The environment, `.env` files and random ids. No other module reads them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::env_file::{EnvLineError, variables_in};
use super::files::{self, FileError, cannot};
use super::os;
use crate::port::Secret;

/// Maximum size of a file of variables, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// An error in the environment, or in a file that it names.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum EnvironmentError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}:{line}: {why}", file.display())]
    Line { file: PathBuf, line: usize, why: EnvLineError },
    #[error("other users can read the journal key in {0}; run chmod 600 {0}")]
    SharedKey(String),
    #[error("FLOW_CONFIG names {}, which does not exist; set FLOW_CONFIG to an empty value for no settings", .0.display())]
    NoSettings(PathBuf),
    #[error("your settings in {} are not used: {why}", file.display())]
    SharedSettings { file: PathBuf, why: String },
    #[error("{0}; set FLOW_CONFIG to an empty value for no settings")]
    Settings(#[source] FileError),
    #[error("no folder to store what you trust: set HOME or XDG_STATE_HOME to an absolute path")]
    NoHome,
}

/// All variables. Those of `--env-file` are overridden by the environment. Names that begin with `FLOW_` are not read from a file.
///
/// # Errors
/// Fails if the file cannot be read, or a line has no certain meaning.
pub fn variables(env_file: Option<&Path>) -> Result<BTreeMap<String, Secret>, EnvironmentError> {
    let mut variables = BTreeMap::new();
    if let Some(file) = env_file {
        // Flow's own settings only come from the environment.
        variables.extend(of_file(file)?.into_iter().filter(|(name, _)| !name.starts_with("FLOW_")));
    }
    let texts = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, Secret::new(value.into_string().ok()?)));
    variables.extend(std::env::vars_os().filter_map(texts));
    variables.remove(JOURNAL_KEY);
    Ok(variables)
}

/// All variables in an `--env-file`, including those that [`variables`] does not use.
///
/// # Errors
/// See [`variables`].
pub fn of_file(file: &Path) -> Result<BTreeMap<String, Secret>, EnvironmentError> {
    let text = files::read_named_utf8(file, LARGEST).map_err(cannot("read", file))?;
    variables_in(&text).map_err(|(line, why)| EnvironmentError::Line { file: file.to_path_buf(), line, why })
}

/// The variable with the key that encrypts runs. Unlike other variables, it is not available to pipeline files.
pub const JOURNAL_KEY: &str = "FLOW_JOURNAL_KEY";

/// The key that encrypts runs, as text, with its source: `FLOW_JOURNAL_KEY`, otherwise the content of the file. `None` if there is neither.
///
/// # Errors
/// Fails if the file cannot be read, or other users can access it.
pub fn journal_key(file: Option<&Path>) -> Result<Option<(Secret, String)>, EnvironmentError> {
    if let Some(text) = text(JOURNAL_KEY).filter(|text| !text.is_empty()) {
        return Ok(Some((Secret::new(text), JOURNAL_KEY.to_owned())));
    }
    let Some(file) = file else { return Ok(None) };
    let shown = file.display().to_string();
    let cannot = cannot("read the key of the journal in", file);
    let opened = files::open(file).map_err(cannot)?;
    if os::mode(&opened.metadata().map_err(cannot)?) & 0o077 != 0 {
        return Err(EnvironmentError::SharedKey(shown));
    }
    let text = files::within(opened, LARGEST).and_then(files::text).map_err(cannot)?;
    Ok(Some((Secret::new(text), shown)))
}

/// The path of the user's own settings: the file that `FLOW_CONFIG` names (none if it is empty), otherwise `flow/config.toml` in `XDG_CONFIG_HOME`,
/// otherwise in `~/.config`. In the last two cases the file may be missing.
///
/// # Errors
/// Fails if `FLOW_CONFIG` names a missing file, the file cannot be read, or other users may change it: they could then allow what its owner does not.
pub fn user_settings() -> Result<Option<PathBuf>, EnvironmentError> {
    let named = std::env::var_os("FLOW_CONFIG").map(PathBuf::from);
    let Some(path) = named.clone().or_else(usual_settings).filter(|path| !path.as_os_str().is_empty()) else { return Ok(None) };
    match files::open_if_there(&path).map_err(cannot("read your settings in", &path)).map_err(EnvironmentError::Settings)? {
        None if named.is_some() => Err(EnvironmentError::NoSettings(path)),
        None => Ok(Some(path)),
        Some(_) => match open_to(&path) {
            Some(why) => Err(EnvironmentError::SharedSettings { file: path, why }),
            None => Ok(Some(path)),
        },
    }
}

/// Who else could change a file, or replace it: in its folder, or in the folder of a link's target. In a folder with the sticky bit, users cannot
/// replace the files of others.
fn open_to(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    let of_file = std::fs::metadata(&real).ok()?;
    if let Some(why) = files::is_anothers(&of_file) {
        return Some(format!("the file {why}"));
    }
    if let Some(why) = files::open_to_others(&of_file) {
        return Some(format!("the file {why}; chmod go-w takes that back"));
    }
    let whole = std::path::absolute(path).ok()?;
    [whole.parent(), real.parent()].into_iter().flatten().find_map(|folder| {
        let what = std::fs::metadata(folder).ok()?;
        let is_sticky = os::mode(&what) & 0o1000 != 0;
        let why = files::is_anothers(&what).or_else(|| files::open_to_others(&what).filter(|_| !is_sticky))?;
        Some(format!(
            "their folder {} {why}, who could replace the file; move it to a folder of your own, or run chmod go-w there",
            folder.display()
        ))
    })
}

/// The default path of a person's settings.
fn usual_settings() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_system = folder("XDG_CONFIG_HOME").map(|folder| folder.join("flow/config.toml"));
    of_system.or_else(|| folder("HOME").map(|folder| folder.join(".config/flow/config.toml")))
}

/// The folder for the runs of all projects, set by `FLOW_STATE_DIR`; `None` if it is unset or empty.
pub fn state_folder() -> Option<PathBuf> {
    std::env::var_os("FLOW_STATE_DIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder of the list of trusted content: `flow/trusted` in `XDG_STATE_HOME`, otherwise in `~/.local/state`. Both variables must hold absolute
/// paths, so that no working folder can supply its own list.
///
/// # Errors
/// Fails if neither variable holds an absolute path.
pub fn trusted_folder() -> Result<PathBuf, EnvironmentError> {
    Ok(kept_folder()?.join("trusted"))
}

/// The folder of stored logins: `flow/logins` in `XDG_STATE_HOME`, otherwise in `~/.local/state`.
///
/// # Errors
/// Fails if neither variable holds an absolute path.
pub fn logins_folder() -> Result<PathBuf, EnvironmentError> {
    Ok(kept_folder()?.join("logins"))
}

/// The folder in which servers in Python store compiled modules: `flow/compiled` in `XDG_STATE_HOME`, otherwise in `~/.local/state`. Without either a
/// place in which nothing can be stored.
pub fn compiled_folder() -> PathBuf {
    kept_folder().map_or_else(|_| PathBuf::from("/dev/null/flow"), |folder| folder.join("compiled"))
}

/// The folder in which flow stores the user's data.
fn kept_folder() -> Result<PathBuf, EnvironmentError> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")));
    state.map(|folder| folder.join("flow")).ok_or(EnvironmentError::NoHome)
}

/// The user's home, if `HOME` holds an absolute path.
#[cfg(feature = "sandbox")]
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// The folders in which programs are searched, as the value of `PATH`: the user's own, without relative ones.
pub(crate) fn program_path() -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&own).filter(|folder| folder.is_absolute());
    std::env::join_paths(folders).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// A new run id: `r_` and 128 random bits in hexadecimal.
pub fn run_id() -> String {
    format!("r_{}", random_name())
}

/// A new id that takes the place of a run id for messages that are added by hand: `a_` and 128 random bits in hexadecimal.
pub fn added_id() -> String {
    format!("a_{}", random_name())
}

/// A new id of a chat session: a UUID.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn session_id() -> String {
    uuid::Uuid::new_v4().hyphenated().to_string()
}

/// A random name that cannot be guessed.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn random_name() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// A random seed.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}

/// The value of a variable, if it is set and valid text.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn text(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The id of the user that runs this process.
pub fn user_id() -> u32 {
    os::this_user()
}

/// Whether a variable is set and not empty.
pub fn is_set(name: &str) -> bool {
    text(name).is_some_and(|value| !value.is_empty())
}
