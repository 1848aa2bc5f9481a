//! How steps and runs stand, and how they end.

use serde::{Deserialize, Serialize};

/// Status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the language; see docs/events.md")]
pub enum StepStatus {
    Pending,
    Running,
    Waiting,
    Succeeded,
    Failed,
    Skipped,
    Blocked,
    Cancelled,
}

impl StepStatus {
    /// Whether nothing follows.
    pub fn is_final(self) -> bool {
        !matches!(self, StepStatus::Pending | StepStatus::Running | StepStatus::Waiting)
    }

    /// The word of the language.
    pub fn word(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::Running => "running",
            StepStatus::Waiting => "waiting",
            StepStatus::Succeeded => "succeeded",
            StepStatus::Failed => "failed",
            StepStatus::Skipped => "skipped",
            StepStatus::Blocked => "blocked",
            StepStatus::Cancelled => "cancelled",
        }
    }
}

/// Status of a run, most pressing first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// All of them with their word.
    pub const WORDS: [(&'static str, RunStatus); 7] = [
        ("cancelled", RunStatus::Cancelled),
        ("timed_out", RunStatus::TimedOut),
        ("over_budget", RunStatus::OverBudget),
        ("failed", RunStatus::Failed),
        ("quality_not_met", RunStatus::QualityNotMet),
        ("partial", RunStatus::Partial),
        ("succeeded", RunStatus::Succeeded),
    ];

    /// The word of the language.
    pub fn word(self) -> &'static str {
        RunStatus::WORDS.iter().find(|(_, status)| *status == self).map_or("failed", |(word, _)| word)
    }
}
