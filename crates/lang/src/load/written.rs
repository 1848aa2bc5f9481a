//! What a model wrote enters at `lower`, like a file.

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::lower;
use crate::model::{Criterion, PlanRules, WrittenPlan};
use crate::plan;
use crate::port::WrittenCheck;
use crate::rules;

/// Checks what a model wrote with the rules of `lower`; a plan also with its graph and with `rules`.
#[derive(Debug, Clone, Copy, Default)]
pub struct WrittenRules;

impl WrittenCheck for WrittenRules {
    fn scorecard(&self, written: &Value) -> Result<Vec<Criterion>, Vec<String>> {
        let mut findings = vec![];
        let scorecard = lower::written_scorecard(written, &mut findings);
        if findings.is_empty() { Ok(scorecard.criteria) } else { Err(findings.iter().map(sentence).collect()) }
    }

    fn plan(&self, written: &Value, rules: &PlanRules) -> Result<WrittenPlan, Vec<String>> {
        let mut findings = vec![];
        let plan = lower::written_plan(written, rules.most_steps, &mut findings);
        if let Some(plan) = &plan {
            plan::written(rules.pipeline, rules.holder, plan, &mut findings);
            rules::check_written_plan(plan, rules, &mut findings);
        }
        match plan {
            Some(plan) if findings.is_empty() => Ok(plan),
            _ => Err(findings.iter().map(sentence).collect()),
        }
    }
}

/// A finding as a model is told it; the help says how to fix it.
fn sentence(finding: &Diagnostic) -> String {
    let help = finding.help.first().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{}{help}", finding.message)
}
