//! Workflow commands of GitHub Actions, which show findings beside the lines of a pull request
//! (docs.github.com, "Workflow commands for GitHub Actions"; escapes as in `@actions/core`).

use super::Findings;
use crate::diagnostic::{Severity, visible};

/// Formats one line per finding: `::error file=…,line=…,col=…,title=F101::text`.
pub fn github(findings: &Findings<'_>) -> String {
    let line = |d: &crate::diagnostic::Diagnostic| {
        let command = match d.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let file = property(&visible(&findings.sources.file(d.span.file).name));
        let at = findings.sources.start(d.span);
        let text = std::iter::once(&d.message).chain(&d.help).map(|line| visible(line)).collect::<Vec<_>>().join("\n");
        format!("::{command} file={file},line={},col={},title={}::{}\n", at.line, at.column, d.code.id(), data(&text))
    };
    findings.shown.iter().map(line).collect()
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
