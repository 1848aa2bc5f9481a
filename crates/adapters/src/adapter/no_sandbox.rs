//! [`Programs`] on systems other than Linux: there is no sandbox, and no program is started.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::own::OwnFiles;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{Pending, ProgramCall, ProgramReply, Programs};

/// See the module of this name on Linux.
pub fn stage() -> Option<ExitCode> {
    None
}

/// See [`stage`].
#[derive(Debug, Clone, Default)]
pub struct Stage;

impl Stage {
    /// See [`stage`].
    pub fn here() -> Stage {
        Stage
    }

    /// See [`stage`].
    pub fn of(_program: impl Into<PathBuf>) -> Stage {
        Stage
    }
}

/// What a program would be shut in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxKind {}

impl SandboxKind {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {}
    }
}

/// What the trial of a kind of sandbox showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTrial {
    /// Which one.
    pub kind: SandboxKind,
    /// Its version, or why it cannot be used.
    pub found: Result<String, String>,
}

const WHY: &str =
    "programs are started on Linux only so far, where they can be shut in; run this pipeline there, for example in a container";

/// Programs that cannot be started.
#[derive(Debug, Clone)]
pub struct Sandbox;

impl Sandbox {
    /// See the module of this name on Linux.
    pub fn new(_own: Arc<OwnFiles>, _stage: Stage) -> Sandbox {
        Sandbox
    }

    /// There are none.
    pub fn trials(&self) -> [SandboxTrial; 0] {
        []
    }

    /// There is none.
    ///
    /// # Errors
    /// Always.
    pub fn kind(&self) -> Result<SandboxKind, String> {
        Err(WHY.to_owned())
    }
}

impl Programs for Sandbox {
    fn run(&self, _call: ProgramCall) -> Pending<ProgramReply> {
        Box::pin(async { Err(Failure::new(FailureKind::Unavailable, WHY)) })
    }
}
