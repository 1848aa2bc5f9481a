//! Output for programs: JSON, as one object or as one line per finding.

use serde_json::{Value, json};

use super::Findings;
use super::escape::json_text;
use super::picture::snippet;
use crate::diagnostic::{Diagnostic, Fix};
use crate::source::{Sources, Span};

/// Changes when a field changes its meaning or is removed; new fields may be added at any time.
const VERSION: u32 = 1;

/// Formats one object: `version`, `files`, `errors`, `warnings`, `findings`.
pub fn json(findings: &Findings<'_>) -> String {
    let counts = findings.counts();
    let list: Vec<Value> = findings.shown.iter().map(|d| finding(findings, d)).collect();
    let object = json!({
        "version": VERSION,
        "files": counts.files,
        "errors": counts.errors,
        "warnings": counts.warnings,
        "findings": list,
    });
    json_text(&object, false) + "\n"
}

/// Formats one finding per line; the last line is `{"summary": …}` with `version`, `files`, `errors` and `warnings`.
pub fn jsonl(findings: &Findings<'_>) -> String {
    let counts = findings.counts();
    let summary = json!({
        "summary": { "version": VERSION, "files": counts.files, "errors": counts.errors, "warnings": counts.warnings }
    });
    let lines = findings.shown.iter().map(|d| finding(findings, d)).chain([summary]);
    lines.map(|line| json_text(&line, true) + "\n").collect()
}

fn finding(findings: &Findings<'_>, diagnostic: &Diagnostic) -> Value {
    let sources = findings.sources;
    let mut value = json!({
        "code": diagnostic.code.id(),
        "name": diagnostic.code.name(),
        "severity": diagnostic.severity().word(),
        "message": diagnostic.message,
    });
    let related = diagnostic.related.iter().map(|(span, label)| at(sources, *span, json!({ "label": label })));
    let more = json!({
        "related": related.collect::<Vec<_>>(),
        "help": diagnostic.help,
        "fix": diagnostic.fix.as_ref().map(|fix| fixed(sources, fix)),
        "snippet": snippet(sources, diagnostic.span),
    });
    add(&mut value, at(sources, diagnostic.span, more));
    value
}

fn fixed(sources: &Sources, fix: &Fix) -> Value {
    let edits: Vec<Value> = fix.edits.iter().map(|(span, text)| at(sources, *span, json!({ "text": text }))).collect();
    json!({ "safe": fix.safe, "edits": edits })
}

/// Returns a place, with further fields.
pub(super) fn at(sources: &Sources, span: Span, more: Value) -> Value {
    let (start, end) = (sources.start(span), sources.end(span));
    let mut place = json!({
        "file": sources.file(span.file).name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    });
    add(&mut place, more);
    place
}

fn add(value: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (value, more) {
        fields.extend(more);
    }
}
