//! What the authors of a run marked as personal.

use serde::{Deserialize, Serialize};

/// What authors marked as personal data; whoever writes a log masks the values found there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Names of inputs.
    pub inputs: Vec<String>,
    /// Names of columns of tables, and of fields of outputs and arguments and inside inputs.
    pub columns: Vec<String>,
    /// Ids of steps whose output is personal.
    pub steps: Vec<String>,
    /// Names of the run's outputs that are filled with nothing but a marked value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Whether the run's whole output is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_output: bool,
    /// The same of steps: step and field of its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
}
