//! Bounds that end what they bound, and who ends a run, with their names in JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// `timeout` of one attempt.
    Timeout,
    /// `deadline` of a step, of `limits`, of a policy or of the command.
    Deadline,
    /// `max_tokens`.
    MaxTokens,
    /// `max_cost_usd`.
    MaxCostUsd,
    /// `max_steps`.
    MaxSteps,
    /// Steps are left, but none of them can start.
    Deadlock,
}

impl Bound {
    /// Whether it is a bound on time.
    pub fn is_time(self) -> bool {
        match self {
            Bound::Timeout | Bound::Deadline => true,
            Bound::MaxTokens | Bound::MaxCostUsd | Bound::MaxSteps | Bound::Deadlock => false,
        }
    }
}

/// A reached bound: of the run or the step itself (`deadline`), or in `limits` of the pipeline that a step called (`limits.deadline`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Limit {
    /// The bound.
    pub bound: Bound,
    /// Whether it is in `limits` of a called pipeline.
    pub of_called: bool,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.of_called { "limits." } else { "" }, self.bound.word())
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> String {
        limit.to_string()
    }
}

/// The error for a text that does not name a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a limit")]
pub struct LimitError(String);

impl TryFrom<String> for Limit {
    type Error = LimitError;

    fn try_from(written: String) -> Result<Limit, LimitError> {
        let (of_called, word) = written.strip_prefix("limits.").map_or((false, &*written), |word| (true, word));
        word.parse().map(|bound| Limit { bound, of_called }).map_err(|_| LimitError(written))
    }
}

/// Who requests the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Canceller {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM or SIGHUP.
    Terminate,
    /// A client of `flow mcp`.
    Client,
    /// A person, with `flow runs cancel`: the run cannot continue.
    Person,
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;

    #[test]
    fn limits_have_the_words_of_the_manual_and_come_back() {
        for &bound in Bound::VARIANTS {
            for of_called in [false, true] {
                let limit = Limit { bound, of_called };
                let written = serde_json::to_string(&limit).unwrap();
                assert_eq!(written.contains("limits."), of_called);
                assert_eq!(serde_json::from_str::<Limit>(&written).unwrap(), limit);
            }
        }
        assert!(serde_json::from_str::<Limit>("\"max_length\"").is_err());
    }
}
