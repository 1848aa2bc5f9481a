//! The code quality report of GitLab, which shows findings in a merge request (docs.gitlab.com, "Code Quality report format").

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Findings;
use super::escape::json_text;
use crate::diagnostic::{Diagnostic, Severity};

/// Formats a list with one object per finding. A fingerprint identifies a finding across commits: it does not depend on the lines above.
pub fn gitlab(findings: &Findings<'_>) -> String {
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    let list: Vec<Value> = findings.shown.iter().map(|found| violation(findings, found, &mut alike)).collect();
    json_text(&Value::from(list), false) + "\n"
}

fn violation(findings: &Findings<'_>, found: &Diagnostic, alike: &mut BTreeMap<String, usize>) -> Value {
    let file = &findings.sources.file(found.span.file).name;
    // Excludes the text of the file, because a hash could help to guess hidden parts of it.
    let own = json!([found.code.id(), file, found.message]).to_string();
    let earlier = alike.entry(own.clone()).or_default();
    let fingerprint = hex::encode(Sha256::digest(format!("{own}{earlier}")));
    *earlier += 1;
    let severity = match found.severity() {
        Severity::Error => "major",
        Severity::Warning => "minor",
        Severity::Info => "info",
    };
    json!({
        "description": std::iter::once(&found.message).chain(&found.help).map(String::as_str).collect::<Vec<_>>().join("; "),
        "check_name": found.code.id(),
        "fingerprint": fingerprint,
        "severity": severity,
        "location": { "path": file, "lines": { "begin": findings.sources.start(found.span).line } },
    })
}
