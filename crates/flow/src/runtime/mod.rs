//! Runs pipelines for programs: what `flow run`, `flow test` and `flow mcp` do around a run, without a terminal.
//!
//! | file | what |
//! |---|---|
//! | `workflow`, `runner` | a checked file; how its runs are made |
//! | `running`, `outcome` | a run in its own thread; its outcome |
//! | `consent` | what a file uses, and whether that is allowed |
//! | `surroundings`, `session`, `stored` | what a run needs; one run from start to end; a run loaded from its record |
//! | `stepped` | a run that another loop drives |
//! | `changed` | changes in a run's files since it started, and the steps that they affect |
//! | `conversation` | its place in a conversation |
//! | `observed` | its spans, and the trace of its calls |
//! | `virtual_time`, `replay` | a run with a virtual clock, for tests; a run replayed against its own record |
//! | `fork`, `retry` | a new run that reuses the finished steps of another one; or all but its failed elements |
//! | `world`, `own` | what a run uses of this machine; what no step may touch |
//! | `unset` | variables that a file reads and that are not set |
//! | `settings` | settings of the project and the user |
//! | `kept`, `tape` | the record of runs; recordings |
//! | `project` | the project of a file; files of this language in a folder |
//!
//! How to add an option for embedders: a method of [`Runner`], what it does in `surroundings.rs`, a test in `tests/it/library.rs`.

mod asking;
mod changed;
pub mod consent;
mod conversation;
mod fork;
pub mod kept;
mod observed;
mod outcome;
mod own;
mod project;
mod replay;
mod retry;
mod runner;
mod running;
mod session;
pub mod settings;
mod stepped;
mod stored;
mod surroundings;
mod tape;
mod unset;
mod virtual_time;
mod workflow;
pub mod world;

pub use asking::{Answer, Decide, Decided, Nobody, RunQuestion};
pub use changed::ChangedFiles;
pub use consent::Consent;
pub use conversation::{catch_up, conversations_file};
pub use fork::ForkFrom;
pub use kept::Storage;
pub use outcome::{Cause, RunEnding, RunError, RunOutcome, Untrusted, drawn};
pub use own::own_files;
pub use project::{SkippedFile, each_once, find, find_all, place_of, project, skipped, told_from_project};
pub(crate) use project::{has_keys, yaml_of_project};
pub use replay::replay;
pub use runner::{Runner, Talk};
pub use running::{Control, RunHandle};
pub(crate) use session::first_event;
pub use session::{Attend, PlayedRun, RunSession, channel};
pub use stepped::{SteppedCall, SteppedReply, SteppedRun, Turn};
pub use stored::{StoredRun, asked_to_end, changed_since};
pub use surroundings::{Surroundings, file_of, inputs_of_file, start_of, unrecognised};
pub use tape::{Recorded, Taping, TapingError};
pub use unset::{is_secret_set, keyless, unset};
pub(crate) use virtual_time::VirtualRun;
pub use workflow::{CheckError, Workflow, give_model};
pub use world::{declared, first_stage, know_prices, lacking};

pub use crate::adapter::files::shown_path;
#[cfg(feature = "telemetry")]
pub use crate::adapter::otlp::{Otlp, OtlpSettings};
pub use crate::driver::Ports;
pub use crate::model::{Limits, Policy, Price};
pub use crate::plan::{Wish, Wishes};

/// Stack of a thread that runs the engine and templates, in bytes.
pub const STACK: usize = 64 * 1024 * 1024;
