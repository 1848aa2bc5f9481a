//! Kinds of sandboxes, and the program that is the first stage of others.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

/// What shuts a program in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// Namespaces and a root folder of its own, made by the program `bwrap`.
    Bubblewrap,
    /// Rules that the kernel holds the process to.
    Landlock,
}

impl SandboxKind {
    /// All kinds, the best first.
    pub const ALL: [SandboxKind; 2] = [SandboxKind::Bubblewrap, SandboxKind::Landlock];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            SandboxKind::Bubblewrap => "bubblewrap",
            SandboxKind::Landlock => "landlock",
        }
    }
}

/// What the trial of a kind of sandbox showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTrial {
    /// Which one.
    pub kind: SandboxKind,
    /// Its version as it names itself, or why it cannot be used.
    pub found: Result<String, String>,
}

/// Whether this program can be started as the first stage of others.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Notes that this program can be started as the first stage of others.
#[cfg(target_os = "linux")]
pub(super) fn note_ready() {
    IS_READY.store(true, Ordering::Relaxed);
}

/// The program that can be started as the first stage: this one, or another flow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FirstStage(Option<PathBuf>);

impl FirstStage {
    /// This program, if its `main` called [`stage`](super::stage) first.
    pub fn here() -> FirstStage {
        FirstStage(std::env::current_exe().ok().filter(|_| IS_READY.load(Ordering::Relaxed)))
    }

    /// Another program that calls [`stage`](super::stage) first, such as `flow`.
    pub fn from_program(program: impl Into<PathBuf>) -> FirstStage {
        FirstStage(Some(program.into()))
    }

    /// The program; `None`: none can be started so.
    pub fn program(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}
