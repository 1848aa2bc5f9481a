//! The environment, `.env` files and random ids: the only place that reads them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::files::{self, FileError, cannot};
use super::os;
use crate::port::Secret;

/// Most bytes of a file of variables.
const LARGEST: u64 = 1024 * 1024;

/// What is wrong with the environment, or a file that it names.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum EnvironmentError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}:{line}: write NAME=value", file.display())]
    Line { file: PathBuf, line: usize },
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

/// All variables, those of `--env-file` behind the ones that are set; names that begin with `FLOW_` are not taken from a file.
///
/// # Errors
/// The file cannot be read, or a line is no `NAME=value`.
pub fn variables(env_file: Option<&Path>) -> Result<BTreeMap<String, Secret>, EnvironmentError> {
    let mut variables = BTreeMap::new();
    if let Some(file) = env_file {
        // The program's own settings come from the environment itself.
        variables.extend(of_file(file)?.into_iter().filter(|(name, _)| !name.starts_with("FLOW_")));
    }
    let texts = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, Secret::new(value.into_string().ok()?)));
    variables.extend(std::env::vars_os().filter_map(texts));
    variables.remove(JOURNAL_KEY);
    Ok(variables)
}

/// The variables of an `--env-file`, also those that are not taken from it.
///
/// # Errors
/// As [`variables`].
pub fn of_file(file: &Path) -> Result<BTreeMap<String, Secret>, EnvironmentError> {
    let text = files::read_named(file, LARGEST).map_err(cannot("read", file))?;
    let mut variables = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            return Err(EnvironmentError::Line { file: file.to_path_buf(), line: number + 1 });
        };
        variables.insert(name.trim().to_string(), Secret::new(unquoted(value.trim())));
    }
    Ok(variables)
}

/// Holds the key that runs are encrypted with. It is no variable like others: no file may read it.
pub const JOURNAL_KEY: &str = "FLOW_JOURNAL_KEY";

/// The text of the key that runs are encrypted with: `FLOW_JOURNAL_KEY`, else what is in the file. With it comes where it is from.
/// `None`: there is neither.
///
/// # Errors
/// The file cannot be read, or others can read it, too.
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

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// Where the user's own settings stand: the file that `FLOW_CONFIG` names (an empty value: none), else `flow/config.toml` in
/// `XDG_CONFIG_HOME`, else in `~/.config`. Of the latter two the file need not be there.
///
/// # Errors
/// `FLOW_CONFIG` names a file that is not there, what is there cannot be read, or others may change it: with it goes what its owner does
/// not allow.
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

/// Who else could change a file, or put another in its place: in its folder, or where a link of that name leads. In a folder with the
/// sticky bit nobody replaces what is another's.
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

/// Where the settings of a person stand who names no other place.
fn usual_settings() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_system = folder("XDG_CONFIG_HOME").map(|folder| folder.join("flow/config.toml"));
    of_system.or_else(|| folder("HOME").map(|folder| folder.join(".config/flow/config.toml")))
}

/// The folder that `FLOW_STATE_DIR` names for the runs of all projects; an empty value names none.
pub fn state_folder() -> Option<PathBuf> {
    std::env::var_os("FLOW_STATE_DIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where it is kept what the user trusts: `flow/trusted` in `XDG_STATE_HOME`, else in `~/.local/state`. Both must be whole paths, so that no
/// folder that somebody works in can bring a list of its own.
///
/// # Errors
/// There is neither.
pub fn trusted_folder() -> Result<PathBuf, EnvironmentError> {
    Ok(kept_folder()?.join("trusted"))
}

/// The folder in which logins are kept, `~/.local/state/flow/logins` unless `XDG_STATE_HOME` says otherwise.
///
/// # Errors
/// Neither variable names an absolute folder.
pub fn logins_folder() -> Result<PathBuf, EnvironmentError> {
    Ok(kept_folder()?.join("logins"))
}

/// The folder of what this program keeps for its user.
fn kept_folder() -> Result<PathBuf, EnvironmentError> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")));
    state.map(|folder| folder.join("flow")).ok_or(EnvironmentError::NoHome)
}

/// Folders that programs are looked for in, as the value of `PATH`: those of the user's own, without relative ones.
pub(crate) fn program_path() -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&own).filter(|folder| folder.is_absolute());
    std::env::join_paths(folders).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// A new run id: `r_` and 128 random bits in hexadecimal.
pub fn run_id() -> String {
    format!("r_{}", random_name())
}

/// What stands in the place of a run where messages are added by hand: `a_` and 128 random bits in hexadecimal.
pub fn added_id() -> String {
    format!("a_{}", random_name())
}

/// The id of a new session of a chat: a UUID.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn session_id() -> String {
    uuid::Uuid::new_v4().hyphenated().to_string()
}

/// A name that nobody can guess.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn random_name() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// A random seed.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}

/// A variable, if it is set and a text.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn text(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The number of the user whom this process is of.
pub fn user_id() -> u32 {
    os::this_user()
}

/// Whether a variable is set and not empty.
pub fn is_set(name: &str) -> bool {
    text(name).is_some_and(|value| !value.is_empty())
}
