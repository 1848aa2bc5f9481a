//! The reader of YAML against the YAML test suite, which others wrote: `node tests/real/oracles/yaml_suite.mjs .real/yaml_suite.jsonl` writes
//! its cases (`npm ci` before it). With `FLOW_REQUIRE_YAML_SUITE=1` they must be there.

use flow::diagnostic::{Code, Diagnostic, Severity};
use flow_base::source::{FileId, SourceFile};
use flow_lang::syntax::{self, Node};
use serde_json::Value;

use crate::extras::not_tried;

/// Where the cases stand.
const CASES: &str = ".real/yaml_suite.jsonl";

/// Cases where this reader differs on purpose, and why.
const ON_PURPOSE: &[(&str, &str)] = &[
    ("9C9N/0", "lines between brackets that are not indented: every common reader takes them, and they have one meaning"),
    ("2EBW/0", "a key that begins with \"-\": here it is far more often a list without its space, and quotes make it a key"),
];

fn is_on_purpose(case: &Case) -> bool {
    ON_PURPOSE.iter().any(|(id, _)| *id == case.id)
}

/// A case of the suite.
struct Case {
    id: String,
    yaml: String,
    fails: bool,
    /// Its value, where the suite tells one and the file has one document.
    value: Option<Value>,
}

fn cases() -> Vec<Case> {
    let Ok(text) = std::fs::read_to_string(CASES) else {
        not_tried("YAML_SUITE", CASES, "node tests/real/oracles/yaml_suite.mjs (after npm ci there) writes it");
        return vec![];
    };
    let case = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
        let value = case["json"].as_str().and_then(|json| serde_json::from_str(json).ok());
        Case { id: text("id"), yaml: text("yaml"), fails: case["fails"] == true, value }
    };
    let cases: Vec<Case> = text.lines().map(case).collect();
    assert!(cases.len() > 300 && cases.iter().filter(|case| case.fails).count() > 50, "{CASES} is not the whole suite");
    cases
}

fn read(yaml: &str) -> (Node, Vec<Diagnostic>) {
    let mut found = vec![];
    let tree = syntax::parse(FileId(0), &SourceFile::new("case.yaml", yaml), &mut found);
    (tree, found)
}

fn errors(found: &[Diagnostic]) -> Vec<&Diagnostic> {
    found.iter().filter(|found| found.severity() == Severity::Error).collect()
}

/// Equal as data: `1` is `1.0`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b))),
        (a, b) => a == b,
    }
}

#[test]
fn what_is_no_yaml_is_refused_and_told_in_plain_words() {
    let mut accepted = vec![];
    for case in cases().iter().filter(|case| case.fails && !is_on_purpose(case)) {
        if errors(&read(&case.yaml).1).is_empty() {
            accepted.push(format!("{}:\n{}", case.id, case.yaml));
        }
    }
    assert!(accepted.is_empty(), "{} were accepted\n{}", accepted.len(), accepted.join("\n"));
}

#[test]
fn what_is_yaml_is_read_as_others_read_it_or_refused_with_a_reason() {
    let (mut wrong, mut read_well, mut refused) = (vec![], 0, 0);
    for case in cases().iter().filter(|case| !case.fails && !is_on_purpose(case)) {
        let (tree, found) = read(&case.yaml);
        let errors = errors(&found);
        if let Some(first) = errors.first() {
            refused += 1;
            // F001 says that it is no YAML, which is wrong here.
            if first.code == Code::YamlSyntax {
                wrong.push(format!("{}: {}\n{}", case.id, first.message, case.yaml));
            }
            continue;
        }
        let differs = case.value.as_ref().is_some_and(|value| !same(value, &tree.to_value()));
        if differs {
            wrong.push(format!("{}: read as {}, not {}\n{}", case.id, tree.to_value(), case.value.as_ref().unwrap(), case.yaml));
        }
        read_well += 1;
    }
    println!("{read_well} read, {refused} refused");
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_message_about_a_case_is_plain_and_has_help() {
    for case in cases() {
        for found in read(&case.yaml).1 {
            assert!(!found.help.is_empty() && found.message.chars().count() <= 160, "{}: {}", case.id, found.message);
            for word in ["mapping", "sequence", "scalar", "node", "flow collection", "token"] {
                let outside: String = found.message.split('"').step_by(2).collect();
                assert!(!outside.contains(word), "{}: {}", case.id, found.message);
            }
        }
    }
}
