//! What happened in a run: a closed, versioned enum. The journal of these is the only record of a run.
//!
//! How to add an event: a variant of [`Happening`], its arm in `engine::apply`, a line in `docs/events.md`.

mod failure;
mod happening;
mod status;
mod usage;

pub use failure::{Failure, FailureKind};
pub use happening::{
    Answer, AskedCall, Event, Happening, Marks, Note, Purpose, RunEnd, RunStart, Shared, Stage, StepFailure, StepPath, TapeOf, VERSION,
    Verdict,
};
pub use status::{RunStatus, StepStatus};
pub use usage::Usage;
