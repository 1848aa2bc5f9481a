//! Stands where programs cannot be started: every call fails and says why.

use crate::event::{Failure, FailureKind};
use crate::port::{Pending, ProgramCall, ProgramReply, Programs, Python, PythonCall, PythonReply};

/// Starts nothing.
pub struct NoPrograms;

fn none<T: Send + 'static>() -> Pending<T> {
    let why = "this build of flow starts no programs: it has no sandbox";
    Box::pin(std::future::ready(Err(Failure::new(FailureKind::Unavailable, why))))
}

impl Programs for NoPrograms {
    fn run(&self, _: ProgramCall) -> Pending<ProgramReply> {
        none()
    }
}

impl Python for NoPrograms {
    fn run(&self, _: PythonCall) -> Pending<PythonReply> {
        none()
    }
}
