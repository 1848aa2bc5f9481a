//! Programs in a sandbox: [`Sandbox`] is [`Programs`]. Only Linux has one so far; elsewhere nothing is started. Files other than
//! `mod`, `kind`, `probe`, `readable`, `talk` and `elsewhere` are for Linux alone.
//!
//! | file | what |
//! |---|---|
//! | `trial` | whether a kind works here |
//! | `run` | one program from its start to its end: bounds, output, time |
//! | `kind` | kinds of sandboxes; which program is the first stage |
//! | `probe` | whether a program starts, for `flow doctor` |
//! | `talk` | one that is talked with: it starts once and answers many times |
//! | `readable` | folders that the user made readable for programs |
//! | `enter`, `spec` | the first stage: flow restricts itself and then becomes the program; what it is told |
//! | `rules`, `filter` | files by Landlock; system calls |
//! | `proxy`, `passage`, `handing`, `metered` | the way to the hosts that a program may reach: its thread; what is let through; listeners in the program's own network; what is counted |
//! | `bubblewrap`, `places` | the command line of `bwrap`; what a program may open |
//! | `locked` | folders that go with this process, and with the next one if this one was killed |
//! | `scratch`, `tree`, `cgroup` | its scratch folder; its processes; what the kernel bounds for all of them |
//!
//! How to add a kind: a variant of [`SandboxKind`], what it does in `run` and `enter`, and the escapes of `tests/it/sandbox.rs` try it, too.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod handing;
mod kind;
#[cfg(target_os = "linux")]
mod locked;
#[cfg(target_os = "linux")]
mod metered;
#[cfg(target_os = "linux")]
mod passage;
#[cfg(target_os = "linux")]
mod places;
mod probe;
#[cfg(target_os = "linux")]
mod proxy;
mod readable;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod spec;
mod talk;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod trial;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::LockedFolder;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::stage;
#[cfg(not(target_os = "linux"))]
use elsewhere::{run_in, tried};
#[cfg(target_os = "linux")]
pub use enter::stage;
pub use kind::{FirstStage, SandboxKind, SandboxTrial};
#[cfg(target_os = "linux")]
pub(super) use locked::LockedFolder;
pub use probe::ProgramTrial;
pub use readable::ReadableFolder;
pub(super) use talk::DropNotice;
pub use talk::ProgramTalk;
use talk::TalkEnds;
#[cfg(target_os = "linux")]
use trial::{run_in, tried};

use super::environment::text;
use super::lock;
use super::own::OwnFiles;
use super::program::find;
use crate::event::Failure;
use crate::model::{FailureKind, SandboxMode};
use crate::port::{Pending, ProgramCall, ProgramReply, Programs};

/// The variable that chooses one of the sandboxes. It cannot switch them off.
pub const CHOICE: &str = "FLOW_SANDBOX";
/// Where the libraries of this flow are, if they are not the system's: of a build that links DuckDB.
pub(super) const LIBRARIES: &str = "LD_LIBRARY_PATH";
/// What to install where there is no sandbox.
const INSTALL: &str = "install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap; \
     Alpine: apk add bubblewrap), or use Linux 6.2 or newer with Landlock";
/// The programs that a kind was tried with: the first stage, and `bwrap`.
type TriedWith = (FirstStage, Option<PathBuf>, SandboxKind);
/// Kinds that worked in this process. What did not work is tried again: it may have been installed meanwhile.
static WORKING: LazyLock<Mutex<HashSet<TriedWith>>> = LazyLock::new(Mutex::default);

/// Runs programs on this machine. Clones are the same sandbox.
#[derive(Debug, Clone)]
pub struct Sandbox {
    own: Arc<OwnFiles>,
    stage: FirstStage,
    /// Folders that the user made readable, whole and without links.
    readable: Arc<[PathBuf]>,
    /// Hosts in private networks that the user named.
    private_hosts: Arc<[String]>,
    /// What is in force here, found out at the first call.
    chosen: Arc<OnceLock<Result<SandboxKind, String>>>,
}

impl Sandbox {
    /// Programs are kept from `own`; each begins as `stage`.
    pub fn new(own: Arc<OwnFiles>, stage: FirstStage) -> Sandbox {
        Sandbox { own, stage, readable: Arc::default(), private_hosts: Arc::default(), chosen: Arc::default() }
    }

    /// Lets programs read these folders of the user's settings, too, as far as they are there and may be given.
    #[must_use]
    pub fn with_readable(self, written: &[String]) -> Sandbox {
        Sandbox { readable: written.iter().filter_map(|written| ReadableFolder::find(written).place.ok()).collect(), ..self }
    }

    /// Lets programs reach hosts of their lists in private networks, too, if the user's settings name them.
    #[must_use]
    pub fn with_private_hosts(self, hosts: Vec<String>) -> Sandbox {
        Sandbox { private_hosts: hosts.into(), ..self }
    }

    /// The same with one kind, for those who compare them. It cannot be none.
    pub fn of_kind(&self, kind: SandboxKind) -> Sandbox {
        let sandbox = Sandbox { chosen: Arc::default(), ..self.clone() };
        sandbox.chosen.get_or_init(|| Ok(kind));
        sandbox
    }

    /// Tries each kind: a program is run in it, and may not read a file outside.
    pub fn trials(&self) -> [SandboxTrial; 2] {
        SandboxKind::ALL.map(|kind| SandboxTrial { kind, found: tried(&self.stage, kind) })
    }

    /// The kind that programs are shut in by.
    ///
    /// # Errors
    /// Says why there is none, and what to install.
    pub fn kind(&self) -> Result<SandboxKind, String> {
        let choose = || match text(CHOICE).as_deref() {
            None | Some("") => self.first_of(&SandboxKind::ALL),
            Some(name) => match SandboxKind::ALL.into_iter().find(|kind| kind.name() == name) {
                Some(kind) => self.first_of(&[kind]),
                None => Err(format!("{CHOICE} is \"{name}\"; it can be bubblewrap or landlock")),
            },
        };
        self.chosen.get_or_init(choose).clone()
    }

    /// The first of these kinds that works.
    fn first_of(&self, wanted: &[SandboxKind]) -> Result<SandboxKind, String> {
        let mut missing = vec![];
        for kind in wanted.iter().copied() {
            let tried_with = (self.stage.clone(), find("bwrap"), kind);
            if lock(&WORKING).contains(&tried_with) {
                return Ok(kind);
            }
            match tried(&self.stage, kind) {
                Ok(_) => {
                    lock(&WORKING).insert(tried_with);
                    return Ok(kind);
                }
                Err(why) => missing.push(format!("{}: {why}", kind.name())),
            }
        }
        Err(format!("there is no sandbox here ({}); {INSTALL}", missing.join("; ")))
    }

    /// Starts a program that is talked with: its input is what is sent to it, and its output is heard piece by piece, without a bound. It ends when the talk
    /// is dropped.
    ///
    /// # Errors
    /// Fails if there is no thread for it. What keeps it from starting is told by [`ProgramTalk::end`].
    pub fn talk(&self, call: ProgramCall) -> std::io::Result<ProgramTalk> {
        let sandbox = self.clone();
        ProgramTalk::start(move |ends, is_dropped| sandbox.run_call(&call, is_dropped, Some(ends)))
    }

    /// The kind that programs of a mode are shut in by; `None`: they are not.
    pub(super) fn kind_of(&self, mode: SandboxMode) -> Result<Option<SandboxKind>, Failure> {
        Ok(match mode {
            SandboxMode::None => None,
            // A choice that cannot be met takes no sandbox away.
            SandboxMode::Preferred => self.kind().or_else(|_| self.first_of(&SandboxKind::ALL)).ok(),
            SandboxMode::Required => Some(self.kind().map_err(|why| Failure::new(FailureKind::Unavailable, why))?),
        })
    }

    fn run_call(&self, call: &ProgramCall, is_dropped: &AtomicBool, ends: Option<TalkEnds>) -> Result<ProgramReply, Failure> {
        let kind = self.kind_of(call.sandbox)?;
        let places = ProgramPlaces { own: &self.own, readable: &self.readable, private_hosts: &self.private_hosts };
        let reply = run_in(places, &self.stage, call, kind, is_dropped, ends)?;
        // What it may write is known by folders; what it wrote there is looked at afterwards.
        for folder in &call.writes {
            let told =
                |failure: Failure| Failure { message: format!("{}: the program put it there; remove it", failure.message), ..failure };
            self.own.may_change_all_in(folder).map_err(told)?;
        }
        Ok(reply)
    }
}

/// What says which places and hosts a program gets, beside its call.
#[derive(Debug, Clone, Copy)]
struct ProgramPlaces<'a> {
    own: &'a OwnFiles,
    readable: &'a [PathBuf],
    private_hosts: &'a [String],
}

impl Programs for Sandbox {
    fn run(&self, call: ProgramCall) -> Pending<ProgramReply> {
        let (sandbox, is_dropped) = (self.clone(), Arc::new(AtomicBool::new(false)));
        let notice = DropNotice::new(&is_dropped);
        let (answer, waiting) = tokio::sync::oneshot::channel();
        let started = std::thread::Builder::new().name("program".to_owned()).spawn(move || {
            let _ = answer.send(sandbox.run_call(&call, &is_dropped, None));
        });
        Box::pin(async move {
            let _until_answered = notice;
            let gone = |why: String| Failure::new(FailureKind::Internal, format!("the thread of a program: {why}"));
            started.map_err(|e| gone(e.to_string()))?;
            waiting.await.unwrap_or_else(|_| Err(gone("it ended early".to_owned())))
        })
    }
}
