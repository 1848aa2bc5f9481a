//! Programs that a step or a tool starts, in a sandbox: `program`, and `python`, which is a program that is given code.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Pending, Secret, TableSource};
use crate::event::Failure;
use crate::model::{FailureKind, ProgramNetwork, SandboxMode};

/// One program to start. It gets an argument list and no shell reads it; its environment holds `PATH`, a scratch `HOME` and `TMPDIR`, the locale, and what `env` names.
#[derive(Debug, Clone)]
pub struct ProgramCall {
    /// Who starts it, as a person reads it: `step "diff"`.
    pub name: String,
    /// The program (a name that is looked up in `PATH`, or an absolute path), and its arguments.
    pub command: Vec<String>,
    /// The arguments that may name what it runs: those of the file, and values before the first of them that is no option.
    pub named: Vec<String>,
    /// The project; what the program may run there was agreed to.
    pub project: PathBuf,
    /// What it reads from its standard input.
    pub input: Vec<u8>,
    /// Its environment beside the fixed one.
    pub env: Vec<(String, Secret)>,
    /// The folder that it is started in. It may read what is in there, but for what belongs to `flow` and files of secrets. `None`: its scratch folder.
    pub folder: Option<PathBuf>,
    /// A folder that is its home and stays when it ends; `None`: its scratch folder.
    pub home: Option<PathBuf>,
    /// Files and folders that it may read beside the system's and `folder`.
    pub reads: Vec<PathBuf>,
    /// Folders that it may change.
    pub writes: Vec<PathBuf>,
    /// Files that lie in its scratch folder when it starts: plain names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether files that it leaves in `out` of its scratch folder come back in [`ProgramReply::files`].
    pub keeps_files: bool,
    /// What of the network it may reach. With hosts it is not started (`unavailable`) where no sandbox works that can hold it to them, unless it is to have none.
    pub network: ProgramNetwork,
    /// Whether it is shut in.
    pub sandbox: SandboxMode,
    /// What it may use.
    pub bounds: ProgramBounds,
    /// Time for it, from its start to its end.
    pub timeout: Duration,
}

impl ProgramCall {
    /// A program in a required sandbox, without network, input, folder and files.
    pub fn closed(name: &str, command: Vec<String>, timeout: Duration) -> ProgramCall {
        ProgramCall {
            name: name.to_owned(),
            command,
            named: vec![],
            project: PathBuf::new(),
            input: vec![],
            env: vec![],
            folder: None,
            home: None,
            reads: vec![],
            writes: vec![],
            files: vec![],
            keeps_files: false,
            network: ProgramNetwork::None,
            sandbox: SandboxMode::Required,
            bounds: ProgramBounds::default(),
            timeout,
        }
    }
}

/// What a program may use, with all processes that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramBounds {
    /// Bytes of memory of one process.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Bytes of one file that it writes.
    pub file_size: u64,
    /// Bytes in its scratch folder.
    pub disk: u64,
    /// Bytes of its standard output; of standard error the end is kept.
    pub output: u64,
}

impl Default for ProgramBounds {
    fn default() -> ProgramBounds {
        ProgramBounds { memory: 2 << 30, processes: 64, file_size: 100 << 20, disk: 500 << 20, output: 8 << 20 }
    }
}

/// What a program gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProgramReply {
    /// How it ended.
    pub end: ProgramEnd,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// What its standard output is as JSON, without secrets. Only there if secrets were hidden in that output: hidden in the text, they may leave no JSON.
    #[serde(skip)]
    pub json: Option<Value>,
    /// The end of its standard error (at most 8 KiB).
    pub stderr: Vec<u8>,
    /// Files it left in `out` of its scratch folder: plain names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// What shut it in (`bubblewrap`, `landlock`); `None`: nothing did.
    pub sandbox: Option<String>,
    /// What to do if it failed since it could not read what it is made of; a sentence without a full stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Why an agent program was ended: its output is what it printed before. Of other programs this is a failure.
    #[serde(skip)]
    pub ended_for: Option<Box<Failure>>,
    /// Hosts that it asked for and was kept from: each once, in the order in which it asked, at most [`MOST_REFUSED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedHost>,
}

/// Most hosts in [`ProgramReply::refused`].
pub const MOST_REFUSED: usize = 20;

/// A host that a program asked for and was kept from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedHost {
    /// `host:port` as the program wrote it, without control characters, at most 260 characters.
    pub host: String,
    /// Why; a sentence without a full stop.
    pub rule: String,
}

/// The details of a program.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ProgramDetails {
    pub exit: i32,
    pub stderr: String,
    /// The sandbox that it ran in, or `none`.
    pub sandbox: String,
    pub refused: Vec<RefusedHost>,
}

sampled! {
    RefusedHost { Others(host, rule) }
    ProgramDetails { Engine(sandbox), Others(exit, stderr, refused) }
}

impl RefusedHost {
    /// All of them in a sentence without a full stop; `None`: there are none.
    pub fn in_words(all: &[RefusedHost]) -> Option<String> {
        let each: Vec<String> = all.iter().map(|RefusedHost { host, rule }| format!("{host} ({rule})")).collect();
        (!each.is_empty()).then(|| format!("it was kept from {}", each.join(", ")))
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramEnd {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
}

impl Default for ProgramEnd {
    fn default() -> ProgramEnd {
        ProgramEnd::Exited(0)
    }
}

/// Starts programs.
pub trait Programs: Send + Sync {
    /// Runs one program to its end. When the answer is dropped, or this process ends, no process of it is left. Failures: `unavailable` (no such program; a sandbox is
    /// required and there is none: says what to install), `timeout`, `too_large` (its output), `limit` (memory, processes or disk), `denied` (a folder it would change holds files of
    /// `flow`). An exit code other than 0 is no failure here.
    fn run(&self, call: ProgramCall) -> Pending<ProgramReply>;
}

/// Code for a Python interpreter. It always runs in a sandbox, without a network.
#[derive(Debug, Clone)]
pub struct PythonCall {
    /// Who runs it, as a person reads it: `step "chart"`.
    pub name: String,
    /// The project.
    pub project: PathBuf,
    /// The name of the code in a traceback: the file as the author wrote it, or the path of the step.
    pub file: String,
    /// The code.
    pub code: String,
    /// Values that it finds as variables: tables are lists of rows.
    pub variables: Map<String, Value>,
    /// Names that it must set.
    pub returns: Vec<String>,
    /// Tables whose rows it finds as variables, under their names.
    pub tables: Vec<TableSource>,
    /// Files that it may read, at their own paths.
    pub reads: Vec<PathBuf>,
    /// Whether a model wrote it: then it is checked before it runs.
    pub is_written_by_model: bool,
    /// The folder of the virtual environment whose interpreter runs it; `None`: `python3` in `PATH`.
    pub venv: Option<PathBuf>,
    /// Packages that it needs. They are never installed.
    pub requires: Vec<String>,
    /// What it may use.
    pub bounds: ProgramBounds,
    /// Time for it.
    pub timeout: Duration,
}

/// What code gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PythonReply {
    /// The values of the names in `returns`. Pictures are objects with the `path` at which they are kept.
    pub returns: Map<String, Value>,
    /// What it printed.
    pub printed: String,
    /// What the conversion of its results changed, in sentences.
    pub notes: Vec<String>,
    /// Pictures among its results.
    pub files: Vec<PathBuf>,
    /// Why it did not end well; `returns` is empty then.
    pub error: Option<PythonError>,
}

/// Why code did not end well.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PythonError {
    /// In one sentence, with the line of the author's code where there is one.
    pub message: String,
    /// The traceback, with the author's frames only; empty: there is none.
    pub traceback: String,
    /// The line of the author's code, from 1.
    pub line: Option<u64>,
    /// Why.
    #[serde(default)]
    pub fault: PythonFault,
}

/// What was wrong with code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PythonFault {
    /// It raised something, or gave what it may not give.
    #[default]
    Raised,
    /// It was not run, since the check found something that it may not do.
    Refused,
    /// It imports a package that is not installed.
    MissingPackage,
}

impl PythonFault {
    /// The kind of failure that it is for a step.
    pub fn kind(self) -> FailureKind {
        match self {
            PythonFault::Raised => FailureKind::Program,
            PythonFault::Refused => FailureKind::Denied,
            PythonFault::MissingPackage => FailureKind::Unavailable,
        }
    }
}

/// Runs Python code.
pub trait Python: Send + Sync {
    /// Runs code to its end. Failures are those of [`Programs::run`], and `unavailable` for an interpreter or a package that is missing. An error of the code is no failure here.
    fn run(&self, call: PythonCall) -> Pending<PythonReply>;
}
