//! Programs in a sandbox really try to get out, in both kinds.
//!
//! A kind that this machine lacks is left out and named, or fails the test with `FLOW_REQUIRE_EXTRAS=1`.

mod bounds;
mod choice;
mod ends;
mod files;
mod hosts;
mod network;
mod system;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use flow::event::Failure;
use flow::port::{ProgramCall, ProgramEnd, ProgramReply, Programs};
use flow_adapters::own::OwnFiles;
use flow_adapters::sandbox::{FirstStage, Sandbox, SandboxKind, SandboxTrial};

use crate::extras::{Extra, has, not_tried};

/// A call that starts a program in its scratch folder, with the default bounds.
fn call(command: &[&str]) -> ProgramCall {
    let command = command.iter().map(|part| (*part).to_owned()).collect();
    ProgramCall { project: PathBuf::from("/"), ..ProgramCall::closed("step \"test\"", command, Duration::from_secs(60)) }
}

/// Before each script of Python. `tried` gives `ok`, or the name of the error; `call` makes a system call by its number.
const PRELUDE: &str = "
import ctypes, errno, mmap, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def tried(what, *arguments, **named):
    try:
        what(*arguments, **named)
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
def call(number, *arguments):
    def make():
        ctypes.set_errno(0)
        if libc.syscall(ctypes.c_long(number), *[a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in arguments]) < 0:
            raise OSError(ctypes.get_errno(), '')
    return tried(make)
";

/// A script of Python, in the system's interpreter, with arguments.
fn python(script: &str, arguments: &[&str]) -> ProgramCall {
    let mut command = vec!["/usr/bin/python3", "-I", "-c"];
    let script = format!("{PRELUDE}{script}");
    command.push(&script);
    command.extend(arguments);
    call(&command)
}

fn shell(script: &str) -> ProgramCall {
    call(&["/bin/sh", "-c", script])
}

/// A project with a folder of flow's own and a file of secrets, and a sandbox of one kind.
struct Home {
    kind: SandboxKind,
    sandbox: Sandbox,
    folder: tempfile::TempDir,
}

impl Home {
    fn project(&self) -> PathBuf {
        self.at("project")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn run(&self, call: ProgramCall) -> Result<ProgramReply, Failure> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(self.sandbox.run(call))
    }

    /// Runs to the end, which must be with exit code 0, in this kind of sandbox. Gives what it printed.
    fn printed(&self, call: ProgramCall) -> String {
        let reply = self.run(call).unwrap();
        let told = String::from_utf8_lossy(&reply.stderr).into_owned();
        assert_eq!((reply.end, reply.sandbox.as_deref()), (ProgramEnd::Exited(0), Some(self.kind.name())), "{told}");
        String::from_utf8(reply.stdout).unwrap()
    }
}

/// The lines of a text, each of which is `name value`.
fn answers(text: &str) -> Vec<(&str, &str)> {
    text.lines().map(|line| line.split_once(' ').unwrap_or((line, ""))).collect()
}

fn put(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Whether this kind of sandbox works here; else the test has said so.
fn is_here(kind: SandboxKind) -> bool {
    static TRIALS: OnceLock<[SandboxTrial; 2]> = OnceLock::new();
    let trials = TRIALS.get_or_init(|| Sandbox::new(Arc::default(), FirstStage::from_program(env!("CARGO_BIN_EXE_flow"))).trials());
    let why = trials.iter().find(|trial| trial.kind == kind).and_then(|trial| trial.found.as_ref().err());
    why.into_iter()
        .for_each(|why| not_tried("EXTRAS", kind.name(), &format!("{why}; install bubblewrap, or use Linux 6.7 or newer with Landlock")));
    why.is_none()
}

/// The kinds of sandboxes that work here. Who asks has said which do not.
pub(crate) fn sandboxes() -> Vec<SandboxKind> {
    SandboxKind::ALL.into_iter().filter(|kind| is_here(*kind)).collect()
}

/// Whether this kind of sandbox is here; else the test has said so.
pub(crate) fn has_sandbox(name: &str) -> bool {
    SandboxKind::ALL.into_iter().filter(|kind| kind.name() == name).all(is_here)
}

/// The kinds in which Python can be started.
pub(crate) fn python_in() -> Vec<&'static str> {
    if has(&[Extra::Python]) { sandboxes().into_iter().map(SandboxKind::name).collect() } else { vec![] }
}

/// Whether Python and this kind of sandbox are here.
pub(crate) fn has_python_in(name: &str) -> bool {
    has(&[Extra::Python]) && has_sandbox(name)
}

/// The same as [`in_each`], for programs in Python.
fn in_each_with_python(test: impl FnMut(&Home)) {
    if has(&[Extra::Python]) {
        in_each(test);
    }
}

/// Runs a test in each kind of sandbox.
fn in_each(mut test: impl FnMut(&Home)) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
    for (name, content) in [
        ("project/.flow/runs.db", "canary-runs"),
        ("project/.env", "KEY=canary-env"),
        ("project/deep/.env.local", "KEY=canary-deep"),
        ("project/deep/a.txt", "plain\n"),
        ("project/data.csv", "id\np1\n"),
        ("user/settings.toml", "canary-settings"),
        ("home/.ssh/id_ed25519", "canary-ssh"),
        ("home/notes.txt", "canary-home"),
    ] {
        put(&at(name), content);
    }
    std::fs::hard_link(at("project/.flow/runs.db"), at("project/other.txt")).unwrap();
    let own = OwnFiles {
        project: at("project"),
        hidden: vec![at("project/.flow"), at("project/.env"), at("user")],
        is_program: Some(|text| text.starts_with("flow: 1")),
        ..OwnFiles::default()
    };
    let sandbox = Sandbox::new(Arc::new(own), FirstStage::from_program(env!("CARGO_BIN_EXE_flow")));
    let mut home = Home { kind: SandboxKind::Landlock, sandbox: sandbox.clone(), folder };
    for kind in sandboxes() {
        home.kind = kind;
        home.sandbox = sandbox.of_kind(kind);
        test(&home);
    }
}
