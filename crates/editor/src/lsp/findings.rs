//! Converts findings to the protocol, with the edits that fix them.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::documents::address_of;
use crate::diagnostic::{Diagnostic, Fix, Severity};
use crate::source::{SourceFile, Sources, Span, Unit};

/// Maximum number of findings of one file that are sent to an editor.
pub const MOST: usize = 1_000;

/// Converts findings of one check to messages.
pub(crate) struct Drawer<'a> {
    /// The files of the check.
    pub sources: &'a Sources,
    /// The unit in which the editor counts columns.
    pub unit: Unit,
    /// The base address of the pages of finding codes, if there is one.
    pub pages: Option<&'a str>,
}

impl Drawer<'_> {
    /// Returns the path of the file that contains a span.
    pub fn path(&self, span: Span) -> PathBuf {
        PathBuf::from(&self.sources.file(span.file).name)
    }

    /// Converts a span to a range.
    pub fn range(&self, span: Span) -> Value {
        range_of(self.sources.file(span.file), span.start, span.end, self.unit)
    }

    /// Converts a span to a location with its file.
    pub fn location(&self, span: Span) -> Option<Value> {
        Some(json!({ "uri": address_of(&self.path(span))?, "range": self.range(span) }))
    }

    /// Converts a finding.
    pub fn diagnostic(&self, found: &Diagnostic) -> Value {
        let message: Vec<&str> = [found.message.as_str()].into_iter().chain(found.help.iter().map(String::as_str)).collect();
        let related: Vec<Value> =
            found.related.iter().filter_map(|(span, label)| Some(json!({ "location": self.location(*span)?, "message": label }))).collect();
        let mut diagnostic = json!({
            "range": self.range(found.span),
            "severity": match found.severity() { Severity::Error => 1, Severity::Warning => 2, Severity::Info => 3 },
            "code": found.code.id(),
            "source": "flow",
            "message": message.join("\n"),
        });
        if !related.is_empty() {
            diagnostic["relatedInformation"] = related.into();
        }
        if let Some(pages) = self.pages {
            diagnostic["codeDescription"] = json!({ "href": format!("{}/{}.md", pages.trim_end_matches('/'), found.code.id()) });
        }
        diagnostic
    }

    /// Returns candidate edits that may fix a finding: its own, else one for each name that it proposes.
    pub fn edits(&self, found: &Diagnostic) -> Vec<(String, Fix)> {
        if let Some(fix) = &found.candidate {
            let title = match fix.edits.as_slice() {
                [(span, new)] if new.is_empty() => format!("Remove {}", short(&self.sources.visible_text(*span))),
                [(_, new)] => format!("Write {}", short(new)),
                _ => found.help.first().map_or_else(|| "Fix it".to_owned(), |help| short(help)),
            };
            return vec![(title, fix.clone())];
        }
        let written = self.sources.text(found.span);
        let name = written.trim_matches(['"', '\'']);
        let is_named = self.sources.visible_text(found.span) == written && !name.is_empty() && found.near.written == name;
        let names = found.near.names.iter().filter(|_| is_named);
        let edit = |new: &str| Fix { edits: vec![(found.span, written.replace(name, new))], safe: false };
        names.map(|new| (format!("Write {new}"), edit(new))).collect()
    }

    /// Converts an edit to a code action.
    pub fn action(&self, found: &Diagnostic, title: &str, fix: &Fix) -> Value {
        let mut changes = serde_json::Map::new();
        for (span, new) in &fix.edits {
            let Some(address) = address_of(&self.path(*span)) else { continue };
            let edit = json!({ "range": self.range(*span), "newText": new });
            if let Some(list) = changes.entry(address).or_insert_with(|| json!([])).as_array_mut() {
                list.push(edit);
            }
        }
        json!({
            "title": title,
            "kind": "quickfix",
            "isPreferred": fix.safe,
            "diagnostics": [self.diagnostic(found)],
            "edit": { "changes": changes },
        })
    }
}

/// Converts a part of a text to a range.
pub(crate) fn range_of(source: &SourceFile, start: u32, end: u32, unit: Unit) -> Value {
    let at = |offset| {
        let (line, character) = source.editor_position(offset, unit);
        json!({ "line": line, "character": character })
    };
    json!({ "start": at(start), "end": at(end) })
}

/// Returns the first line of a text, shortened.
fn short(text: &str) -> String {
    crate::diagnostic::cut(text.trim().lines().next().unwrap_or(""), 60)
}
