//! Data that the author of a run marked as personal.

use serde::{Deserialize, Serialize};

/// Data that authors marked as personal; every log masks the values found there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Names of inputs.
    pub inputs: Vec<String>,
    /// Names of columns of tables, of fields of outputs and arguments, and of fields inside inputs.
    pub columns: Vec<String>,
    /// Ids of steps whose output is personal.
    pub steps: Vec<String>,
    /// Names of the run's outputs that consist of a marked value only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Whether the run's whole output consists of a marked value only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_output: bool,
    /// Fields of step outputs that consist of a marked value only: step and field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
}
