//! Programs in a sandbox: [`Sandbox`] is [`Programs`] on Linux.
//!
//! | file | what |
//! |---|---|
//! | `run` | one program from its start to its end: bounds, output, time |
//! | `enter`, `spec` | the first stage: flow restricts itself and then becomes the program; what it is told |
//! | `rules`, `filter` | files by Landlock; system calls |
//! | `bubblewrap`, `places` | the command line of `bwrap`; what a program may open |
//! | `scratch`, `tree`, `cgroup` | its scratch folder; its processes; what the kernel bounds for all of them |
//!
//! How to add a kind: a variant of [`SandboxKind`], what it does in `run` and `enter`, and the escapes of `tests/it/sandbox.rs` try it, too.

mod bubblewrap;
mod cgroup;
mod enter;
mod filter;
mod places;
mod rules;
mod run;
mod scratch;
mod spec;
mod tree;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use enter::{Stage, stage};
pub use spec::SandboxKind;

use super::environment::text;
use super::own::OwnFiles;
use super::program::find;
use crate::event::Failure;
use crate::model::{FailureKind, SandboxMode};
use crate::port::{Pending, ProgramBounds, ProgramCall, ProgramEnd, ProgramReply, Programs};
use rules::LandlockSupport;
use run::ProgramRun;

/// The variable that chooses one of the sandboxes. It cannot switch them off.
pub const CHOICE: &str = "FLOW_SANDBOX";
/// What a trial may take.
const TRIAL_TIME: Duration = Duration::from_secs(20);
/// What to install where there is no sandbox.
const INSTALL: &str = "install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap; \
     Alpine: apk add bubblewrap), or use Linux 6.2 or newer with Landlock; flow doctor says what is missing";

/// Runs programs on this machine. Clones are the same sandbox.
#[derive(Debug, Clone)]
pub struct Sandbox {
    own: Arc<OwnFiles>,
    stage: Stage,
    /// What is in force here, found out at the first call.
    chosen: Arc<OnceLock<Result<SandboxKind, String>>>,
}

/// What the trial of a kind of sandbox showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTrial {
    /// Which one.
    pub kind: SandboxKind,
    /// Its version as it names itself, or why it cannot be used.
    pub found: Result<String, String>,
}

impl Sandbox {
    /// Programs are kept from `own`; each begins as `stage`.
    pub fn new(own: Arc<OwnFiles>, stage: Stage) -> Sandbox {
        Sandbox { own, stage, chosen: Arc::default() }
    }

    /// The same with one kind, for those who compare them. It cannot be none.
    pub fn of_kind(&self, kind: SandboxKind) -> Sandbox {
        let sandbox = Sandbox { chosen: Arc::default(), ..self.clone() };
        sandbox.chosen.get_or_init(|| Ok(kind));
        sandbox
    }

    /// Tries each kind: a program is run in it, and may not read a file outside.
    pub fn trials(&self) -> [SandboxTrial; 2] {
        [SandboxKind::Bubblewrap, SandboxKind::Landlock].map(|kind| SandboxTrial { kind, found: self.tried(kind) })
    }

    /// The kind that programs are shut in by.
    ///
    /// # Errors
    /// Says why there is none, and what to install.
    pub fn kind(&self) -> Result<SandboxKind, String> {
        self.chosen.get_or_init(|| self.choose()).clone()
    }

    fn choose(&self) -> Result<SandboxKind, String> {
        let wanted = match text(CHOICE).as_deref() {
            None | Some("") => vec![SandboxKind::Bubblewrap, SandboxKind::Landlock],
            Some("bubblewrap") => vec![SandboxKind::Bubblewrap],
            Some("landlock") => vec![SandboxKind::Landlock],
            Some(other) => return Err(format!("{CHOICE} is \"{other}\"; it can be bubblewrap or landlock")),
        };
        let mut missing = vec![];
        for kind in wanted {
            match self.tried(kind) {
                Ok(_) => return Ok(kind),
                Err(why) => missing.push(format!("{}: {why}", kind.name())),
            }
        }
        Err(format!("there is no sandbox here ({}); {INSTALL}", missing.join("; ")))
    }

    /// Runs a program that tries to read a file outside.
    fn tried(&self, kind: SandboxKind) -> Result<String, String> {
        let version = match kind {
            SandboxKind::Bubblewrap => {
                let bwrap = find("bwrap").ok_or("the program bwrap was not found in PATH")?;
                let told = std::process::Command::new(bwrap).arg("--version").env_clear().output().map_err(|e| e.to_string())?;
                String::from_utf8_lossy(&told.stdout).trim().to_owned()
            }
            SandboxKind::Landlock => match rules::support() {
                LandlockSupport::TooOld => return Err("this kernel does not have it, or not enough of it (Linux 6.2)".to_owned()),
                LandlockSupport::Files => "landlock without signals, which the filter of system calls keeps in".to_owned(),
                LandlockSupport::Signals => "landlock".to_owned(),
            },
        };
        let outside = tempfile::NamedTempFile::new().map_err(|e| format!("no file can be made for the trial: {e}"))?;
        std::fs::write(outside.path(), "outside").map_err(|e| format!("no file can be made for the trial: {e}"))?;
        let script = "if read -r line < \"$1\"; then exit 3; fi 2> /dev/null; : > \"$HOME/own\" || exit 4";
        let call = ProgramCall {
            name: "the trial of the sandbox".to_owned(),
            command: ["/bin/sh", "-c", script, "sh"].map(str::to_owned).into_iter().chain([outside.path().display().to_string()]).collect(),
            named: vec![],
            project: PathBuf::new(),
            input: vec![],
            env: vec![],
            folder: None,
            reads: vec![],
            writes: vec![],
            files: vec![],
            keeps_files: false,
            network: false,
            sandbox: SandboxMode::Required,
            bounds: ProgramBounds::default(),
            timeout: TRIAL_TIME,
        };
        let reply = self.run_in(&call, Some(kind), &AtomicBool::new(false)).map_err(|failure| failure.message)?;
        match reply.end {
            ProgramEnd::Exited(0) => Ok(version),
            ProgramEnd::Exited(3) => Err("a program in it could read a file outside".to_owned()),
            ProgramEnd::Exited(_) | ProgramEnd::Signaled(_) => {
                Err(format!("a program in it failed: {}", String::from_utf8_lossy(&reply.stderr).trim()))
            }
        }
    }

    fn run_in(&self, call: &ProgramCall, kind: Option<SandboxKind>, is_dropped: &AtomicBool) -> Result<ProgramReply, Failure> {
        let missing = || {
            Failure::new(
                FailureKind::Unavailable,
                "programs cannot be started: this program does not call `stage` first, see `adapter::sandbox::stage`",
            )
        };
        let stage: PathBuf = self.stage.program().ok_or_else(missing)?.to_path_buf();
        let bwrap = find("bwrap");
        if kind == Some(SandboxKind::Bubblewrap) && bwrap.is_none() {
            return Err(Failure::new(FailureKind::Unavailable, format!("the program bwrap was not found in PATH; {INSTALL}")));
        }
        ProgramRun { call, kind, stage: &stage, bwrap: bwrap.as_deref(), own: &self.own, is_dropped }.run()
    }

    fn run_call(&self, call: &ProgramCall, is_dropped: &AtomicBool) -> Result<ProgramReply, Failure> {
        let kind = match call.sandbox {
            SandboxMode::None => None,
            SandboxMode::Preferred => self.kind().ok(),
            SandboxMode::Required => Some(self.kind().map_err(|why| Failure::new(FailureKind::Unavailable, why))?),
        };
        self.run_in(call, kind, is_dropped)
    }
}

/// Tells the thread of a program that nobody waits for it any more.
struct DropNotice(Arc<AtomicBool>);

impl Drop for DropNotice {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Programs for Sandbox {
    fn run(&self, call: ProgramCall) -> Pending<ProgramReply> {
        let (sandbox, is_dropped) = (self.clone(), Arc::new(AtomicBool::new(false)));
        let notice = DropNotice(Arc::clone(&is_dropped));
        let (answer, waiting) = tokio::sync::oneshot::channel();
        let started = std::thread::Builder::new().name("program".to_owned()).spawn(move || {
            let _ = answer.send(sandbox.run_call(&call, &is_dropped));
        });
        Box::pin(async move {
            let _until_answered = notice;
            let gone = |why: String| Failure::new(FailureKind::Internal, format!("the thread of a program: {why}"));
            started.map_err(|e| gone(e.to_string()))?;
            waiting.await.unwrap_or_else(|_| Err(gone("it ended early".to_owned())))
        })
    }
}
