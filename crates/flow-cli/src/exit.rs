//! Exit codes: one public enum, the table of `docs/cli.md`.

use std::process::ExitCode;

use crate::event::{NOT_STARTED, RunStatus};
use crate::port::StoreError;

/// All codes, for `--help`.
pub(super) fn table() -> String {
    let lines = Exit::TABLE.map(|(_, number, meaning)| format!("  {number:>3}  {meaning}"));
    format!("Exit codes:\n{}", lines.join("\n"))
}

/// How the program ends, from good to bad: a signal counts most, then what went wrong, then what is only not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// All is well; a partial run too.
    Ok,
    /// Waiting for an answer; the run is saved.
    Waiting,
    /// There is nothing to work on: no such file or folder, none of ours in it, no test, no run at all.
    NothingRan,
    /// A gate was not met, also when its `otherwise` was delivered.
    QualityNotMet,
    /// The run's time or budget has ended.
    LimitReached,
    /// What the command line names is wrong or not there (an option's value or file, a run, a step, a channel, inputs, a person), or another
    /// process holds the run.
    Usage,
    /// Errors in a file (nothing was started), a failed test, a golden that differs.
    Findings,
    /// The run failed, what it wants is not trusted, the journal cannot be used, or a result cannot be written.
    Failed,
    /// A fault of this program.
    Internal,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Exit {
    /// Every code with its number and meaning.
    pub const TABLE: [(Exit, u8, &'static str); 11] = [
        (Exit::Ok, RunStatus::Succeeded.exit_code(), "ok"),
        (Exit::Findings, 1, "errors in a file, failed test, golden differs"),
        (Exit::Usage, NOT_STARTED, "wrong command line, inputs or channel, no such person"),
        (Exit::Internal, 3, "internal error"),
        (Exit::NothingRan, 4, "nothing ran"),
        (Exit::QualityNotMet, RunStatus::QualityNotMet.exit_code(), "quality gate not met"),
        (Exit::Failed, RunStatus::Failed.exit_code(), "run failed"),
        (Exit::LimitReached, RunStatus::TimedOut.exit_code(), "timeout or budget"),
        (Exit::Waiting, 8, "waiting for an answer"),
        (Exit::Interrupted, RunStatus::Cancelled.exit_code(), "interrupted (Ctrl-C)"),
        (Exit::Terminated, 143, "interrupted (SIGTERM)"),
    ];

    /// The number.
    pub fn number(self) -> u8 {
        Exit::TABLE.iter().find(|(exit, ..)| *exit == self).map_or(3, |(_, number, _)| *number)
    }

    /// The number as the system wants it.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// What it means that the store of runs cannot be used.
    pub fn of_store(error: &StoreError) -> Exit {
        match error {
            StoreError::Locked { .. } | StoreError::Held { .. } | StoreError::NoKey { .. } | StoreError::OtherKey { .. } => Exit::Usage,
            StoreError::Unusable { .. } | StoreError::Damaged { .. } | StoreError::Cut { .. } | StoreError::Newer { .. } => Exit::Failed,
            StoreError::Audit { .. } | StoreError::Empty { .. } | StoreError::Lost { .. } => Exit::Failed,
            StoreError::Unerased { .. } | StoreError::Conversations { .. } => Exit::Failed,
        }
    }

    /// This one; if all was well, the other.
    pub fn or(self, other: Exit) -> Exit {
        if self == Exit::Ok { other } else { self }
    }

    /// This one, or failed if all was well and something could not be written.
    pub fn unless(self, is_lost: bool) -> Exit {
        if is_lost { self.or(Exit::Failed) } else { self }
    }

    /// What a run's status means; `terminated`: it was cancelled by SIGTERM.
    pub fn from_status(status: RunStatus, terminated: bool) -> Exit {
        if terminated && status == RunStatus::Cancelled {
            return Exit::Terminated;
        }
        let of_status = Exit::TABLE.iter().find(|(_, number, _)| *number == status.exit_code());
        of_status.map_or(Exit::Internal, |(exit, ..)| *exit)
    }
}
