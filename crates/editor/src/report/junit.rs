//! JUnit XML, which build servers show as tests: one suite for each file.

use super::Findings;
use super::escape::xml;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::FileId;

/// The tests of one file.
pub struct JunitSuite {
    /// The file.
    pub name: String,
    /// Its tests.
    pub cases: Vec<JunitCase>,
    /// Further output.
    pub output: Vec<String>,
}

/// One test.
pub struct JunitCase {
    /// The name of the test.
    pub name: String,
    /// Why it failed; `None`: it passed.
    pub failure: Option<JunitFailure>,
}

/// Why a test failed.
pub struct JunitFailure {
    /// The code of a finding.
    pub code: Option<&'static str>,
    /// The message in one line.
    pub message: String,
    /// The full text.
    pub text: String,
}

/// Formats the test suites of a command.
pub fn junit_suites(command: &str, suites: &[JunitSuite]) -> String {
    let (mut out, mut tests, mut failures) = (String::new(), 0, 0);
    for JunitSuite { name, cases, output } in suites {
        let (name, failed) = (xml(name), cases.iter().filter(|case| case.failure.is_some()).count());
        (tests, failures) = (tests + cases.len(), failures + failed);
        out.push_str(&format!("  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\">\n", cases.len()));
        for case in cases {
            out.push_str(&format!("    <testcase name=\"{}\" classname=\"{name}\"", xml(&case.name)));
            let Some(JunitFailure { code, message, text }) = &case.failure else {
                out.push_str("/>\n");
                continue;
            };
            let code = code.map(|code| format!(" type=\"{code}\"")).unwrap_or_default();
            let (message, text) = (xml(message), xml(text));
            out.push_str(&format!(">\n      <failure{code} message=\"{message}\">{text}</failure>\n    </testcase>\n"));
        }
        if !output.is_empty() {
            out.push_str(&format!("    <system-out>{}</system-out>\n", xml(&output.join("\n"))));
        }
        out.push_str("  </testsuite>\n");
    }
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{command}\" {counts}>\n{out}</testsuites>\n")
}

/// Formats one failed case per error; a file without errors is one passed case. Warnings and remarks are in the suite's output.
pub fn junit(findings: &Findings<'_>) -> String {
    let suites: Vec<JunitSuite> = findings.sources.files().map(|(file, source)| suite(findings, file, &source.name)).collect();
    junit_suites("flow validate", &suites)
}

fn suite(findings: &Findings<'_>, file: FileId, name: &str) -> JunitSuite {
    let of_file = findings.shown.iter().filter(|d| d.span.file == file);
    let (errors, others): (Vec<_>, Vec<_>) = of_file.partition(|d| d.severity() == Severity::Error);
    let case = |d: &&Diagnostic| {
        let at = findings.sources.start(d.span);
        let failure = JunitFailure { code: Some(d.code.id()), message: d.message.clone(), text: line(findings, d) };
        JunitCase { name: format!("{} {} {}:{}", d.code.id(), d.code.name(), at.line, at.column), failure: Some(failure) }
    };
    let passed = errors.is_empty().then(|| JunitCase { name: "validate".into(), failure: None });
    let output = others.iter().map(|d| format!("{} {}", d.severity().word(), line(findings, d))).collect();
    JunitSuite { name: name.into(), cases: errors.iter().map(case).chain(passed).collect(), output }
}

/// Formats a finding: `F101 a.yaml:14:13: message; help`.
fn line(findings: &Findings<'_>, d: &Diagnostic) -> String {
    let at = findings.sources.start(d.span);
    let file = &findings.sources.file(d.span.file).name;
    let texts: Vec<&str> = std::iter::once(&d.message).chain(&d.help).map(String::as_str).collect();
    format!("{} {file}:{}:{}: {}", d.code.id(), at.line, at.column, texts.join("; "))
}
