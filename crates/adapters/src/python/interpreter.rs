//! Which Python runs code, and what it must read beside the system's folders: its own installation, and that of its virtual environment.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

use crate::environment::program_path;
use crate::event::Failure;
use crate::lock;
use crate::model::FailureKind;
use crate::program::find;

/// The oldest Python that the driver runs with.
const OLDEST: (u64, u64) = (3, 8);
/// How long an interpreter has to say what it is.
const PATIENCE: Duration = Duration::from_secs(20);
/// Says what it is. `-I`: without variables of the environment and the current folder.
const ASK: &str = "import json, sys; print(json.dumps({'program': sys.executable, 'prefix': sys.prefix, 'base': sys.base_prefix, \
     'version': list(sys.version_info[:3])}))";

/// A Python that can run code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonInterpreter {
    /// Its file; of a virtual environment the one in there.
    pub program: PathBuf,
    /// Folders that it must read.
    pub reads: Vec<PathBuf>,
    /// Its version, such as `3.11.7`.
    pub version: String,
}

#[derive(Deserialize)]
struct InterpreterFacts {
    program: PathBuf,
    prefix: PathBuf,
    base: PathBuf,
    version: (u64, u64, u64),
}

/// Those that were asked, by the file that was started.
static KNOWN: LazyLock<Mutex<HashMap<PathBuf, PythonInterpreter>>> = LazyLock::new(Mutex::default);

/// The interpreter of a virtual environment, or `python3` in `PATH`.
///
/// # Errors
/// Fails with `unavailable` if it is missing, does not start, or is too old.
pub async fn interpreter(venv: Option<&Path>) -> Result<PythonInterpreter, Failure> {
    match venv {
        Some(venv) => of_venv(venv),
        None => of_path().await,
    }
}

fn missing(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Unavailable, message)
}

/// A virtual environment lies in the project, so nothing of it is started outside of a sandbox: `pyvenv.cfg` says where its installation is
/// (<https://docs.python.org/3/library/venv.html#how-venvs-work>).
fn of_venv(venv: &Path) -> Result<PythonInterpreter, Failure> {
    let venv = std::path::absolute(venv).unwrap_or_else(|_| venv.to_path_buf());
    let shown = venv.display();
    let program = venv.join("bin/python3");
    let settings = std::fs::read_to_string(venv.join("pyvenv.cfg")).unwrap_or_default();
    let setting = |wanted: &str| {
        let mut lines = settings.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim())
    };
    let (Some(home), true) = (setting("home"), program.is_file()) else {
        let help = format!("make it with python3 -m venv {shown}, and install there what the code needs");
        return Err(missing(format!("there is no virtual environment in {shown}; {help}")));
    };
    let version = setting("version").or(setting("version_info")).unwrap_or_default();
    let numbers: Vec<u64> = version.split('.').map_while(|number| number.parse().ok()).collect();
    let wrong = |why: &str| missing(format!("the virtual environment in {shown} cannot be used: {why}; make it again"));
    let (Some(base), [major, minor, ..]) = (Path::new(home).parent(), numbers.as_slice()) else {
        return Err(wrong("its pyvenv.cfg does not say which Python it is of"));
    };
    new_enough(*major, *minor).map_err(|why| wrong(&why))?;
    // The code may read the folder that it names: it must be an installation of that Python, and nothing more.
    if !is_of_system(base) && !base.join(format!("lib/python{major}.{minor}")).is_dir() {
        return Err(wrong(&format!("{} is no installation of Python {major}.{minor}", base.display())));
    }
    let installation = Some(base.to_path_buf()).filter(|base| !is_of_system(base));
    Ok(PythonInterpreter { program, reads: std::iter::once(venv.clone()).chain(installation).collect(), version: version.to_owned() })
}

/// `python3` in `PATH` is started once in a process, without code of a pipeline: a name in `PATH` may be a script that looks for the interpreter.
async fn of_path() -> Result<PythonInterpreter, Failure> {
    let program = find("python3").ok_or_else(|| missing("the program python3 was not found in PATH; install Python 3.8 or later"))?;
    if let Some(known) = lock(&KNOWN).get(&program) {
        return Ok(known.clone());
    }
    let cannot = |why: String| missing(format!("the Python {} cannot be used: {why}", program.display()));
    let mut command = Command::new(&program);
    command.args(["-I", "-c", ASK]).env_clear().env("PATH", program_path()).current_dir("/").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let told = timeout(PATIENCE, command.output()).await.map_err(|_| cannot("it does not answer".to_owned()))?;
    let told = told.map_err(|e| cannot(e.to_string()))?;
    let told: InterpreterFacts = serde_json::from_slice(&told.stdout).map_err(|_| cannot("it does not say what it is".to_owned()))?;
    let (major, minor, patch) = told.version;
    new_enough(major, minor).map_err(cannot)?;
    let mut reads: Vec<PathBuf> = [told.prefix, told.base].into_iter().filter(|folder| !is_of_system(folder)).collect();
    reads.dedup();
    let known = PythonInterpreter { program: told.program, reads, version: format!("{major}.{minor}.{patch}") };
    lock(&KNOWN).insert(program.clone(), known.clone());
    Ok(known)
}

fn new_enough(major: u64, minor: u64) -> Result<(), String> {
    if (major, minor) < OLDEST { Err(format!("it is Python {major}.{minor}, and 3.8 or later is needed")) } else { Ok(()) }
}

/// Every sandbox has these.
fn is_of_system(folder: &Path) -> bool {
    ["/usr", "/bin", "/lib"].iter().any(|system| folder.starts_with(system))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A virtual environment with these settings, and whether its `python3` is there.
    fn told(settings: &str, has_program: bool) -> Result<PythonInterpreter, String> {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("bin")).unwrap();
        std::fs::write(place.path().join("pyvenv.cfg"), settings).unwrap();
        if has_program {
            std::fs::write(place.path().join("bin/python3"), "").unwrap();
        }
        of_venv(place.path()).map_err(|failure| failure.message.replace(&place.path().display().to_string(), "V"))
    }

    #[test]
    fn a_virtual_environment_opens_its_installation_and_no_other_folder() {
        let found = told("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n", true).unwrap();
        assert_eq!((found.version.as_str(), found.reads.len()), ("3.11.2", 1));
        let other = told("home = /home/someone/.ssh\nversion = 3.11.2\n", true).unwrap_err();
        assert_eq!(other, "the virtual environment in V cannot be used: /home/someone is no installation of Python 3.11; make it again");
        let old = told("home = /usr/bin\nversion = 3.7.1\n", true).unwrap_err();
        assert!(old.contains("it is Python 3.7, and 3.8 or later is needed"), "{old}");
        let none = "there is no virtual environment in V; make it with python3 -m venv V, and install there what the code needs";
        assert_eq!(told("", true).unwrap_err(), none);
        assert_eq!(told("home = /usr/bin\nversion = 3.11.2\n", false).unwrap_err(), none);
        assert!(told("home = /usr/bin\n", true).unwrap_err().contains("does not say which Python"));
    }
}
