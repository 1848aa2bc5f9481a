//! The status of steps and runs.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Status of a run, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the language; see docs/events.md")]
pub enum RunStatus {
    Cancelled,
    TimedOut,
    OverBudget,
    Failed,
    QualityNotMet,
    Partial,
    Succeeded,
}

/// The exit code of a run that does not start: its inputs, channel or person do not match the pipeline.
pub const NOT_STARTED: u8 = 2;

impl RunStatus {
    /// The exit code for this status; a run cancelled by SIGTERM has another one.
    pub const fn exit_code(self) -> u8 {
        match self {
            RunStatus::Succeeded | RunStatus::Partial => 0,
            RunStatus::QualityNotMet => 5,
            RunStatus::Failed => 6,
            RunStatus::TimedOut | RunStatus::OverBudget => 7,
            RunStatus::Cancelled => 130,
        }
    }

    /// Returns the verb for a sentence about the run: `pipeline "x" timed out`.
    pub fn verb(self) -> &'static str {
        match self {
            RunStatus::Cancelled => "was cancelled",
            RunStatus::TimedOut => "timed out",
            RunStatus::OverBudget => "went over its budget",
            RunStatus::Failed => "failed",
            RunStatus::QualityNotMet => "did not meet its gate",
            RunStatus::Partial => "succeeded in part",
            RunStatus::Succeeded => "succeeded",
        }
    }
}
