//! SARIF 2.1.0 (OASIS standard, section numbers below), which code hosts read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Findings;
use super::escape::{json_text, uri};
use crate::diagnostic::{Code, Diagnostic, Fix, Severity, SuppressedBy};
use crate::source::{FileId, Sources, Span};

/// Formats one SARIF run. Paths are relative to `%SRCROOT%`; columns count Unicode characters. Hidden findings are included as suppressed,
/// in the source or (by settings) externally, with the reason (3.35.2).
pub fn sarif(findings: &Findings<'_>) -> String {
    let mut codes: Vec<Code> = findings.shown.iter().map(|d| d.code).chain(findings.hidden.iter().map(|s| s.diagnostic.code)).collect();
    codes.sort_by_key(|code| code.id());
    codes.dedup();
    let rules: Vec<Value> = codes.iter().map(|code| rule(findings, *code)).collect();
    // If one result states whether it is suppressed, all must (3.27.23): an empty list means it is not.
    let shown = findings.shown.iter().map(|d| result(findings, d, &codes, json!([])));
    let hidden = findings.hidden.iter().map(|s| {
        let kind = match s.by {
            SuppressedBy::Comment => "inSource",
            SuppressedBy::Settings => "external",
        };
        let suppression = json!([{ "kind": kind, "justification": s.reason }]);
        result(findings, &s.diagnostic, &codes, suppression)
    });
    let results: Vec<Value> = shown.chain(hidden).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "flow", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { "%SRCROOT%": { "description": { "text": "The root of the repository; outside of one, the folder in which flow was started." } } },
            "results": results,
        }],
    });
    json_text(&log, false) + "\n"
}

fn rule(findings: &Findings<'_>, code: Code) -> Value {
    let is_denied = findings.shown.iter().any(|found| found.code == code && found.is_denied);
    let severity = if is_denied { Severity::Error } else { code.severity() };
    json!({
        "id": code.id(),
        "name": code.name(),
        "shortDescription": { "text": code.name().replace('-', " ") },
        "help": { "text": format!("flow explain {}", code.id()) },
        "defaultConfiguration": { "level": level(severity) },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(findings: &Findings<'_>, d: &Diagnostic, codes: &[Code], suppressions: Value) -> Value {
    let sources = findings.sources;
    let text = std::iter::once(d.message.clone()).chain(d.help.clone()).collect::<Vec<_>>().join("\n");
    let related: Vec<Value> = d
        .related
        .iter()
        .enumerate()
        .map(|(i, (span, label))| json!({ "id": i + 1, "message": { "text": label }, "physicalLocation": location(sources, *span) }))
        .collect();
    let fixes: Vec<Value> = d.fix.iter().map(|fix| fixed(sources, fix)).collect();
    json!({
        "ruleId": d.code.id(),
        "ruleIndex": codes.iter().position(|code| *code == d.code),
        "level": level(d.severity()),
        "message": { "text": text },
        "locations": [{ "physicalLocation": location(sources, d.span) }],
        "relatedLocations": related,
        "fixes": fixes,
        "suppressions": suppressions,
    })
}

fn location(sources: &Sources, span: Span) -> Value {
    json!({ "artifactLocation": artifact(&sources.file(span.file).name), "region": region(sources, span) })
}

/// Returns the location of a file. A path outside the base (absolute, or a Windows drive) is kept as it is.
fn artifact(name: &str) -> Value {
    let path = name.replace('\\', "/");
    if path.starts_with('/') {
        json!({ "uri": format!("file://{}", uri(&path)) })
    } else {
        json!({ "uri": uri(&path), "uriBaseId": "%SRCROOT%" })
    }
}

/// Returns the region of a span. The end column is the one after the last character (3.30.8).
fn region(sources: &Sources, span: Span) -> Value {
    let (start, end) = (sources.start(span), sources.end(span));
    json!({ "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column })
}

fn fixed(sources: &Sources, fix: &Fix) -> Value {
    let mut files: BTreeMap<FileId, Vec<Value>> = BTreeMap::new();
    for (span, text) in &fix.edits {
        let replacement = json!({ "deletedRegion": region(sources, *span), "insertedContent": { "text": text } });
        files.entry(span.file).or_default().push(replacement);
    }
    let change = |(file, replacements)| json!({ "artifactLocation": artifact(&sources.file(file).name), "replacements": replacements });
    let changes: Vec<Value> = files.into_iter().map(change).collect();
    let text = if fix.safe { "Safe: flow fix writes this." } else { "A proposal: look at it before you take it." };
    json!({ "description": { "text": text }, "artifactChanges": changes })
}
