//! What a model writes in the language.

use serde_json::Value;

use crate::model::{Criterion, PlanRules, WrittenPlan};

/// Checks what a model wrote by the rules a file is checked by.
pub trait WrittenCheck: Send + Sync {
    /// A scorecard: its criteria, or the findings as sentences. Its texts are data: braces and expressions are findings.
    fn scorecard(&self, written: &Value) -> Result<Vec<Criterion>, Vec<String>>;

    /// A plan, or the findings as sentences. Its texts are data and stay as they are.
    fn plan(&self, written: &Value, rules: &PlanRules) -> Result<WrittenPlan, Vec<String>>;
}
