//! F705: values of a test case that cannot be: inputs that the pipeline rejects, and results that an output never has.

use serde_json::Value;

use super::case_contradicts::{found, may_start};
use crate::gate::schema_problems;
use crate::gate::shape::field_schema;
use crate::model::{Check, Filling, Outputs, TestCase, TestFile};
use crate::rules::prelude::{Diagnostic, More, PipelineNames, PipelinePlan, Plan, Seat, Viewpoint, quoted};
use crate::rules::steps::call_inputs::fitting;
use crate::source::{Span, Spanned};
use crate::template::types::Type;

pub(in crate::rules) fn check(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let names = PipelineNames::new(pipeline, plan);
    for case in &tests.cases {
        inputs(case, pipeline, out);
        outputs(case, &names, out);
    }
}

/// An input that breaks its rules, so that the run does not start.
fn inputs(case: &TestCase, pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    if !may_start(case) {
        return;
    }
    for field in pipeline.pipeline.input_fields() {
        let Some(value) = case.inputs.get(&field.name).filter(|value| field.default.as_ref() != Some(&value.value)) else { continue };
        let problems = schema_problems(&field_schema(field), &value.value);
        if !problems.is_empty() {
            let what = if field.is_pii { "does not satisfy its rules".to_owned() } else { problems.join("; ") };
            let message =
                format!("test {} can never pass, its run does not start: input {}: {what}", quoted(&case.id.value), quoted(&field.name));
            let meant = field.pattern.as_deref().and_then(|pattern| meant_by(case, pattern, value.value.as_str()));
            let help = match meant.or_else(|| field.pattern.as_deref().and_then(fitting)) {
                Some(fits) => format!(
                    "write {}: {fits}, or another text that fits; a case about one that is rejected expects exit: 2 alone",
                    field.name
                ),
                None => "give an input that the pipeline takes; a case about one that it rejects expects exit: 2 alone".to_owned(),
            };
            out.push(found(value.span, &message).help(help));
        }
    }
}

/// A text that fits a pattern: one that the case expects, or what it gives with one sign more.
fn meant_by(case: &TestCase, pattern: &str, given: Option<&str>) -> Option<String> {
    let regex = regex::Regex::new(pattern).ok()?;
    let mut expected = vec![];
    for (_, checks) in case.expect.iter().flat_map(|expect| &expect.outputs) {
        for check in checks {
            if let Check::Equals(wanted) = &check.value {
                leaves(wanted, &mut expected);
            }
        }
    }
    let given = given?;
    let places = given.char_indices().map(|(at, _)| at).chain([given.len()]);
    let signs = ['-', '_', '/', '.', ':'];
    let with_sign = || places.clone().flat_map(|at| signs.map(|sign| format!("{}{sign}{}", &given[..at], &given[at..])));
    expected.into_iter().chain(with_sign()).find(|text| regex.is_match(text))
}

/// The texts of a value that is written out.
fn leaves(filling: &Filling, found: &mut Vec<String>) {
    match filling {
        Filling::Constant(value) => texts_of(value, found),
        Filling::Text(_) => {}
        Filling::List(list) => list.iter().for_each(|filling| leaves(filling, found)),
        Filling::Map(map) => map.iter().for_each(|(_, filling)| leaves(filling, found)),
    }
}

fn texts_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| texts_of(value, found)),
        Value::Object(map) => map.values().for_each(|value| texts_of(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// An output that is to equal what it never is.
fn outputs(case: &TestCase, names: &PipelineNames, out: &mut Vec<Diagnostic>) {
    let Some(expect) = &case.expect else { return };
    let seat = Seat { at: Viewpoint::Outputs, more: More::default() };
    let mut each = |what: &str, is: &Type, checks: &[Spanned<Check>]| {
        for check in checks {
            let Check::Equals(wanted) = &check.value else { continue };
            if let Some((message, help)) = never_equal(what, is, &names.filling(&seat, wanted), wanted) {
                out.push(found(place(wanted, check.span), &message).help(help));
            }
        }
    };
    each("what is sent", &Type::Text, &expect.sent);
    match &names.pipeline.pipeline.outputs {
        Outputs::None => {}
        Outputs::Whole(text) => each("the result", &names.text(&seat, text), &expect.result),
        Outputs::Named(outputs) => {
            for (name, checks) in &expect.outputs {
                if let Some((_, given)) = outputs.iter().find(|(known, _)| known.value == name.value) {
                    each(&format!("output {}", quoted(&name.value)), &names.filling(&seat, given), checks);
                }
            }
        }
    }
}

/// Why `what`, of one type, is never a value of another, and what to write; `None`: it may be.
fn never_equal(what: &str, is: &Type, wants: &Type, wanted: &Filling) -> Option<(String, String)> {
    let is_plain = |kind: &Type| kind.is_text() || kind.is_number() || *kind == Type::Boolean;
    let is_deep = |kind: &Type| matches!(kind, Type::List(_) | Type::Object(_));
    if !(is_plain(is) && is_deep(wants)) {
        return None;
    }
    let meant = meant_check(wanted);
    let message = match &meant {
        Some((key, _, _)) => {
            format!("{} is no check, so {what} is expected to equal an object, and is {}", quoted(key), is.words())
        }
        None => format!("{what} is {}, and is expected to equal {}", is.words(), wants.words()),
    };
    Some((
        message,
        meant
            .map(|(key, ours, value)| format!("write {{ {ours}: {value} }} in place of {{ {key}: {value} }}"))
            .unwrap_or_else(|| format!("write {}, or a check such as contains: …", is.words())),
    ))
}

/// The check that the name of an only key may mean.
fn meant_check(wanted: &Filling) -> Option<(&str, &'static str, String)> {
    let (key, value) = match wanted {
        Filling::Map(map) => {
            map.first().map(|(key, value)| (key.as_str(), value.texts().first().map_or("…", |text| &*text.source).to_owned()))
        }
        Filling::Constant(Value::Object(map)) => {
            map.iter().next().map(|(key, value)| (key.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        }
        Filling::Constant(_) | Filling::Text(_) | Filling::List(_) => None,
    }?;
    let meant = match key {
        "includes" | "include" | "has" | "contain" | "substring" | "icontains" | "to_contain" => "contains",
        "matches" | "match" | "pattern" | "like" | "regexp" => "regex",
        "excludes" | "not" | "without" | "lacks" => "not_contains",
        "eq" | "is" | "value" | "to_equal" | "equal" => "equals",
        _ => return None,
    };
    Some((key, meant, value))
}

fn place(wanted: &Filling, span: Span) -> Span {
    wanted.texts().first().map_or(span, |text| text.place.span)
}
