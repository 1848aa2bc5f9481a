//! Exit codes: one public enum, as in the table of `docs/cli.md`.

use std::process::ExitCode;

use crate::event::{NOT_STARTED, RunStatus};
use crate::port::StoreError;

/// Formats all codes for `--help`.
pub(super) fn table() -> String {
    let lines = Exit::TABLE.map(|(_, number, meaning)| format!("  {number:>3}  {meaning}"));
    format!("Exit codes:\n{}", lines.join("\n"))
}

/// How the program ends, from good to bad: signals are the most severe, then failures, then incomplete results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// Success, including a partial run.
    Ok,
    /// Waiting for an answer; the run is saved.
    Waiting,
    /// There is nothing to work on: no such file or folder, no file of this language in it, no test, no run.
    NothingRan,
    /// A gate was not met, even if its `otherwise` was delivered.
    QualityNotMet,
    /// The run's time or budget was exceeded.
    LimitReached,
    /// Something named on the command line is wrong or missing (an option's value or file, a run, a step, a channel, inputs, a person), or
    /// another process holds the run.
    Usage,
    /// Errors in a file (nothing was started), a failed test, a golden that differs.
    Findings,
    /// The run failed, its file is not trusted, the journal cannot be used, or a result cannot be written.
    Failed,
    /// An internal error of this program.
    Internal,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Exit {
    /// All codes with their numbers and meanings.
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

    /// Returns the number.
    pub fn number(self) -> u8 {
        Exit::TABLE.iter().find(|(exit, ..)| *exit == self).map_or(3, |(_, number, _)| *number)
    }

    /// Returns the number as an exit code of the process.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// Returns the exit code for an error of the store of runs.
    pub fn of_store(error: &StoreError) -> Exit {
        match error {
            StoreError::Locked { .. } | StoreError::Held { .. } | StoreError::NoKey { .. } | StoreError::OtherKey { .. } => Exit::Usage,
            StoreError::Unusable { .. } | StoreError::Damaged { .. } | StoreError::Cut { .. } | StoreError::Newer { .. } => Exit::Failed,
            StoreError::Audit { .. } | StoreError::Empty { .. } | StoreError::Lost { .. } => Exit::Failed,
            StoreError::Unerased { .. } | StoreError::Conversations { .. } => Exit::Failed,
        }
    }

    /// Returns this code, or `other` if this one is `Ok`.
    pub fn or(self, other: Exit) -> Exit {
        if self == Exit::Ok { other } else { self }
    }

    /// Returns this code, or `Failed` if this one is `Ok` and something could not be written.
    pub fn unless(self, is_lost: bool) -> Exit {
        if is_lost { self.or(Exit::Failed) } else { self }
    }

    /// Returns the exit code for a run's status; `terminated`: it was cancelled by SIGTERM.
    pub fn from_status(status: RunStatus, terminated: bool) -> Exit {
        if terminated && status == RunStatus::Cancelled {
            return Exit::Terminated;
        }
        let of_status = Exit::TABLE.iter().find(|(_, number, _)| *number == status.exit_code());
        of_status.map_or(Exit::Internal, |(exit, ..)| *exit)
    }
}
