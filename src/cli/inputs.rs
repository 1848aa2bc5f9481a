//! Inputs, bounds and the time from the command line.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::signals::{Attended, at_question};
use super::typing::{Typing, is_at_terminal};
use crate::adapter::files;
use crate::diagnostic::{did_you_mean, visible};
use crate::model::{Field, FieldKind, JsonError, Limits, Pipeline, Shape, parse_duration, read_json};
use crate::runtime::shown;

/// Most bytes of a file of inputs (JSON from outside).
const MOST_GIVEN: u64 = 8 << 20;

/// Inputs of `--inputs FILE` and `--input name=value`; the latter win. Beside them the channel, if the file names one.
/// Errors: the file cannot be read or holds something else, or a pair is none (exit 2).
pub(super) fn read(pipeline: &Pipeline, file: Option<&Path>, pairs: &[String]) -> Result<(Map<String, Value>, Option<String>), Refusal> {
    let wrong = |line: String| Err(Refusal::usage(line));
    let mut given = file.map(of_file).transpose()?.unwrap_or_default();
    let channel = match (given.remove("channel"), file) {
        (None | Some(Value::Null), _) => None,
        (Some(Value::String(name)), _) => Some(name),
        (Some(_), file) => return wrong(format!("--inputs {}: channel must be a text", file.map(shown).unwrap_or_default())),
    };
    let mut named = BTreeSet::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return wrong(format!("--input {}: write --input name=value", visible(pair)));
        };
        if name == "channel" {
            return wrong(format!("--input {}: the channel is not an input; write --channel {}", visible(pair), visible(value)));
        }
        if !named.insert(name) {
            return wrong(format!("--input {name} is set twice; set each input once", name = visible(name)));
        }
        let typed = typed_for(&pipeline.inputs, name, value)
            .map_err(|error| Refusal::usage(format!("--input {}: {}", visible(name), unread(&error))))?;
        given.insert(name.to_string(), typed);
    }
    Ok((given, channel))
}

fn of_file(file: &Path) -> Result<Map<String, Value>, Refusal> {
    let text = if file == Path::new("-") { files::read_input(MOST_GIVEN) } else { files::read_named(file, MOST_GIVEN) };
    let text = text.map_err(|e| Refusal::usage(format!("--inputs {}: cannot read it: {e}", shown(file))))?;
    let wanted = |what: String| {
        Refusal::usage(format!("--inputs {}: {what}; write one JSON object such as {{\"message\": \"Hello\"}}", shown(file)))
    };
    match read_json(&text) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(_) => Err(wanted("it is not a JSON object".into())),
        Err(error) => Err(wanted(visible(&error.to_string()).into_owned())),
    }
}

/// Required inputs that are not given.
pub(super) fn missing<'p>(pipeline: &'p Pipeline, given: &Map<String, Value>) -> Vec<&'p Field> {
    pipeline.input_fields().iter().filter(|f| f.is_required && f.default.is_none() && !given.contains_key(&f.name)).collect()
}

/// What is told of given files and folders that are not there, in a line each. A run may still make them.
pub(super) fn absent(pipeline: &Pipeline, given: &Map<String, Value>) -> Vec<String> {
    let told = RefCell::new(vec![]);
    for field in pipeline.input_fields() {
        let Some(value) = given.get(&field.name) else { continue };
        field.with_paths(value, &|path| {
            let place = Path::new(path);
            if !place.exists() {
                let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let beside: Vec<String> = folder
                    .read_dir()
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .collect();
                let name = place.file_name().unwrap_or_default().to_string_lossy();
                let near = did_you_mean(&name, beside.iter().map(String::as_str));
                told.borrow_mut().push(format!("input {}: {} does not exist{near}", field.name, visible(path)));
            }
            path.to_owned()
        });
    }
    told.into_inner()
}

/// Asks for required inputs that are missing, where a person sits at a terminal. Whoever ends the input is asked no more; Ctrl-C ends the
/// program as long as what it gives is kept.
pub(super) fn ask(pipeline: &Pipeline, given: &mut Map<String, Value>) -> Option<Attended> {
    let missing = missing(pipeline, given);
    if missing.is_empty() || !is_at_terminal() {
        return None;
    }
    let at_question = at_question();
    for field in missing {
        let about = field.description.as_deref().map(|about| format!(" ({about})")).unwrap_or_default();
        let example = field.example.as_ref().map(|example| format!(", for example {example}")).unwrap_or_default();
        let Some(line) = Typing::default().line(&format!("{}{about}{example}: ", field.name)) else { break };
        match typed(Some(field), &line) {
            Ok(typed) => drop(given.insert(field.name.clone(), typed)),
            Err(error) => tell!("{}", visible(&unread(&error))),
        }
    }
    Some(at_question)
}

/// A value as the input of that name wants it. Errors: it is JSON that could mean several things.
pub(super) fn typed_for(inputs: &Shape, name: &str, value: &str) -> Result<Value, JsonError> {
    match inputs {
        Shape::Fields(fields) => typed(fields.iter().find(|field| field.name == name), value),
        Shape::Schema(schema) => {
            let properties = &schema["properties"][name];
            let wanted = &properties["type"];
            let is_text = |wanted: &Value| wanted == "string";
            if wanted.is_null() || is_text(wanted) || wanted.as_array().is_some_and(|types| types.iter().any(is_text)) {
                return Ok(Value::from(value));
            }
            let items = |value: &str| {
                let item = |text: &str| {
                    typed_for(&Shape::Schema(Arc::new(json!({ "properties": { name: properties["items"] } }))), name, text.trim())
                };
                value.split(',').map(item).collect::<Result<_, _>>().map(Value::Array)
            };
            match json_or_text(value)? {
                Some(value) => Ok(value),
                None if wanted == "array" => items(value),
                None => Ok(Value::from(value)),
            }
        }
    }
}

/// A value as its field wants it; what does not fit stays a text and is reported with the field's rules.
fn typed(field: Option<&Field>, value: &str) -> Result<Value, JsonError> {
    let kind = field.map_or(FieldKind::Text, |f| f.kind);
    let text = || Value::String(value.to_string());
    match kind {
        FieldKind::List if value.trim().is_empty() => Ok(Value::Array(vec![])),
        FieldKind::List => match json_or_text(value)? {
            Some(value) => Ok(value),
            None => {
                let items = field.and_then(|field| field.items.as_deref());
                value.split(',').map(|item| typed(items, item.trim())).collect::<Result<_, _>>().map(Value::Array)
            }
        },
        FieldKind::Number
        | FieldKind::Integer
        | FieldKind::Boolean
        | FieldKind::Object
        | FieldKind::Any
        | FieldKind::Plan
        | FieldKind::Scorecard => Ok(json_or_text(value)?.unwrap_or_else(text)),
        _ => Ok(text()),
    }
}

/// A value as JSON; `None`: it is not valid JSON, so it is a text. Errors: it begins as only JSON does, or is a number, and has not one meaning.
fn json_or_text(value: &str) -> Result<Option<Value>, JsonError> {
    match read_json(value) {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_meant_as_json(value.trim()) => Err(error),
        Err(_) => Ok(None),
    }
}

/// What begins with `{`, `[` or `"`, and numbers that nothing holds. `01067`, `3 apples` and `2026-01-05` are texts.
fn is_meant_as_json(value: &str) -> bool {
    let is_number =
        || value.starts_with(|first: char| first.is_ascii_digit() || first == '-') && value.parse::<f64>().is_ok_and(|n| !n.is_finite());
    value.starts_with(['{', '[', '"']) || matches!(value, "NaN" | "Infinity") || is_number() || serde_json::from_str::<Value>(value).is_ok()
}

pub(super) fn unread(error: &JsonError) -> String {
    format!("{error}; correct the JSON, or write a text in double quotes, as '\"text\"'")
}

/// Limits of flags.
pub(super) fn limits(deadline: Option<&str>, max_cost_usd: Option<f64>) -> Result<Limits, Refusal> {
    let deadline = deadline.map(parse_duration).transpose().map_err(|what| Refusal::usage(format!("--deadline {what}")))?;
    if deadline.is_some_and(|time| time.is_zero()) {
        return Err(Refusal::usage("--deadline must be above 0; write a time such as 30s"));
    }
    Ok(Limits { deadline, max_cost_usd, ..Limits::default() })
}

/// The time of `--now`.
pub(super) fn time(text: &str) -> Result<DateTime<Utc>, Refusal> {
    DateTime::parse_from_rfc3339(text)
        .map(|t| t.with_timezone(&Utc))
        .map_err(|_| Refusal::usage(format!("--now {}: write a time such as 2026-11-18T09:00:00Z", visible(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_command_line_is_of_the_type_its_input_wants() {
        let list = Field { items: Some(Box::new(Field::new("item", FieldKind::Integer))), ..Field::new("list", FieldKind::List) };
        let fields = Shape::Fields(vec![Field::new("text", FieldKind::Text), Field::new("number", FieldKind::Number), list]);
        let properties = json!({
            "text": { "type": "string" }, "number": { "type": "integer" }, "list": { "type": "array" }, "either": { "type": ["integer", "string"] },
        });
        let schema = Shape::Schema(Arc::new(json!({ "properties": properties })));
        for inputs in [&fields, &schema] {
            for (name, value, typed) in [
                ("text", "5", json!("5")),
                ("number", "5", json!(5)),
                ("number", "five", json!("five")),
                ("list", "[1, 2]", json!([1, 2])),
                ("unknown", "5", json!("5")),
            ] {
                assert_eq!(typed_for(inputs, name, value), Ok(typed), "{name}");
            }
        }
        assert_eq!(typed_for(&fields, "list", "1, 2"), Ok(json!([1, 2])));
        assert_eq!(typed_for(&schema, "either", "5"), Ok(json!("5")));
    }

    #[test]
    fn what_begins_as_json_is_good_json_or_an_error() {
        let object = Field::new("object", FieldKind::Object);
        let list = Field { items: Some(Box::new(Field::new("item", FieldKind::Text))), ..Field::new("list", FieldKind::List) };
        let fields = Shape::Fields(vec![list, object, Field::new("any", FieldKind::Any), Field::new("number", FieldKind::Number)]);
        let properties = json!({ "list": { "type": "array" }, "object": { "type": "object" }, "number": { "type": "number" } });
        let schema = Shape::Schema(Arc::new(json!({ "properties": properties })));
        let broken = [
            "[\"a\",\"b\",]", "[1,2", " [1,2] x", "{\"a\":1", "{\"a\":1} x", "[1e999]", "{\"a\":1e999}", "\"\\ud800\"", "\"a", "1e999",
            "-1e999", "NaN", "[NaN]", "{}{}",
        ];
        for value in broken {
            for name in ["list", "object", "any", "number"] {
                assert!(typed_for(&fields, name, value).is_err(), "{name} {value}");
                assert!(name == "any" || typed_for(&schema, name, value).is_err(), "{name} {value}");
            }
        }
        for (name, value, wanted) in [
            ("list", "", json!([])),
            ("list", "a, b", json!(["a", "b"])),
            ("list", " [\"a\"] ", json!(["a"])),
            ("list", "a [1], b {", json!(["a [1]", "b {"])),
            ("any", "3 apples", json!("3 apples")),
            ("any", "01067", json!("01067")),
            ("any", "2026-01-05", json!("2026-01-05")),
            ("any", "-", json!("-")),
            ("any", "nan", json!("nan")),
            ("any", "", json!("")),
            ("any", "true", json!(true)),
            ("any", "null", Value::Null),
            ("any", "truely", json!("truely")),
            ("any", "1.5", json!(1.5)),
            ("any", "\"1.5\"", json!("1.5")),
            ("any", "{\"a\": [1]}", json!({ "a": [1] })),
            ("object", "{\"a\": 1}", json!({ "a": 1 })),
        ] {
            assert_eq!(typed_for(&fields, name, value), Ok(wanted), "{name} {value}");
        }
    }
}
