//! How steps and runs stand, and how they end.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Status of a run, most pressing first.
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

impl RunStatus {
    /// How it ended, as a verb for the sentence about it: `pipeline "x" timed out`.
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
