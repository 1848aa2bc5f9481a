//! Systems other than Linux: there is no sandbox, and no program is started.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use super::ProgramPlaces;
use super::kind::{FirstStage, SandboxKind};
use super::talk::TalkEnds;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{ProgramCall, ProgramReply};

const WHY: &str = "programs are started on Linux only so far; run this pipeline there, for example in a container";

/// A program is never the first stage of others.
pub fn stage() -> Option<ExitCode> {
    None
}

pub(super) fn tried(_: &FirstStage, _: SandboxKind) -> Result<String, String> {
    Err(WHY.to_owned())
}

pub(super) fn run_in(
    _: ProgramPlaces<'_>,
    _: &FirstStage,
    _: &ProgramCall,
    _: Option<SandboxKind>,
    _: &AtomicBool,
    _: Option<TalkEnds>,
) -> Result<ProgramReply, Failure> {
    Err(Failure::new(FailureKind::Unavailable, WHY))
}

/// A folder of a program: there is none.
pub(crate) enum LockedFolder {}

impl LockedFolder {
    pub(crate) fn new(_: &str) -> std::io::Result<LockedFolder> {
        Err(std::io::Error::other(WHY))
    }

    pub(crate) fn path(&self) -> &Path {
        match *self {}
    }
}
