//! What a model wrote enters at `lower`, like a file.

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::lower;
use crate::model::Criterion;
use crate::port::WrittenCheck;

/// Checks what a model wrote with the rules of `lower`.
#[derive(Debug, Clone, Copy, Default)]
pub struct WrittenRules;

impl WrittenCheck for WrittenRules {
    fn scorecard(&self, written: &Value) -> Result<Vec<Criterion>, Vec<String>> {
        let mut findings = vec![];
        let scorecard = lower::written_scorecard(written, &mut findings);
        if findings.is_empty() { Ok(scorecard.criteria) } else { Err(findings.iter().map(sentence).collect()) }
    }
}

/// A finding as a model is told it; the help says how to mend it.
fn sentence(finding: &Diagnostic) -> String {
    let help = finding.help.first().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{}{help}", finding.message)
}
