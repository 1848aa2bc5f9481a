//! JUnit XML, which build servers show as tests: one suite for each file.

use super::Findings;
use super::escape::xml;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::FileId;

/// One failed case for each error; a file without errors is one passed case. Warnings and remarks stand in the suite's output.
pub fn junit(findings: &Findings<'_>) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures) = (0, 0);
    for (file, source) in findings.sources.files() {
        let (suite, errors) = suite(findings, file, &source.name);
        tests += errors.max(1);
        failures += errors;
        suites.push_str(&suite);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"flow validate\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n{suites}</testsuites>\n"
    )
}

fn suite(findings: &Findings<'_>, file: FileId, name: &str) -> (String, usize) {
    let of_file = || findings.shown.iter().filter(|d| d.span.file == file);
    let (errors, others): (Vec<_>, Vec<_>) = of_file().partition(|d| d.severity() == Severity::Error);
    let name = xml(name);
    let mut text = format!("  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n", errors.len().max(1), errors.len());
    if errors.is_empty() {
        text.push_str(&format!("    <testcase name=\"validate\" classname=\"{name}\"/>\n"));
    }
    for d in &errors {
        let at = findings.sources.start(d.span);
        text.push_str(&format!(
            "    <testcase name=\"{} {} {}:{}\" classname=\"{name}\">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
            d.code.id(),
            d.code.name(),
            at.line,
            at.column,
            d.code.id(),
            xml(&d.message),
            xml(&line(findings, d)),
        ));
    }
    if !others.is_empty() {
        let lines: Vec<String> = others.iter().map(|d| xml(&format!("{} {}", d.severity().word(), line(findings, d)))).collect();
        text.push_str(&format!("    <system-out>{}</system-out>\n", lines.join("\n")));
    }
    text.push_str("  </testsuite>\n");
    (text, errors.len())
}

/// `F101 a.yaml:14:13: message; help`.
fn line(findings: &Findings<'_>, d: &Diagnostic) -> String {
    let at = findings.sources.start(d.span);
    let file = &findings.sources.file(d.span.file).name;
    let texts: Vec<&str> = std::iter::once(&d.message).chain(&d.help).map(String::as_str).collect();
    format!("{} {file}:{}:{}: {}", d.code.id(), at.line, at.column, texts.join("; "))
}
