//! Texts from outside (of the command line, a form, a row of a table of tests) as values of inputs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Field, FieldKind, JsonError, Shape, read_json};

/// A text as a value of the type that the input of this name has.
///
/// # Errors
/// It is JSON that could mean several things.
pub fn typed_for(inputs: &Shape, name: &str, value: &str) -> Result<Value, JsonError> {
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
                None if wanted == "boolean" => Ok(yes_or_no(value).unwrap_or_else(|| Value::from(value))),
                None if wanted == "array" => items(value),
                None => Ok(Value::from(value)),
            }
        }
    }
}

/// A text as a value of the type of a field; what does not fit stays a text and is reported with the field's rules.
///
/// # Errors
/// It is JSON that could mean several things.
pub fn typed(field: Option<&Field>, value: &str) -> Result<Value, JsonError> {
    let kind = field.map_or(FieldKind::Text, |field| field.kind);
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
        FieldKind::Boolean => Ok(json_or_text(value)?.or_else(|| yes_or_no(value)).unwrap_or_else(text)),
        FieldKind::Number | FieldKind::Integer | FieldKind::Object | FieldKind::Any | FieldKind::Plan | FieldKind::Scorecard => {
            Ok(json_or_text(value)?.unwrap_or_else(text))
        }
        _ => Ok(text()),
    }
}

/// `TRUE` and `True`, as spreadsheets and other languages write them.
fn yes_or_no(value: &str) -> Option<Value> {
    value.trim().to_lowercase().parse().ok().map(Value::Bool)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_gets_the_type_that_its_input_wants() {
        let list = Field { items: Some(Box::new(Field::new("item", FieldKind::Integer))), ..Field::new("list", FieldKind::List) };
        let plain = [("text", FieldKind::Text), ("number", FieldKind::Number), ("yes", FieldKind::Boolean)];
        let fields = Shape::Fields(plain.map(|(name, kind)| Field::new(name, kind)).into_iter().chain([list]).collect());
        let properties = json!({
            "text": { "type": "string" }, "number": { "type": "integer" }, "list": { "type": "array" }, "yes": { "type": "boolean" }, "either": { "type": ["integer", "string"] },
        });
        let schema = Shape::Schema(Arc::new(json!({ "properties": properties })));
        for inputs in [&fields, &schema] {
            for (name, value, typed) in [
                ("text", "5", json!("5")),
                ("number", "5", json!(5)),
                ("number", "five", json!("five")),
                ("list", "[1, 2]", json!([1, 2])),
                ("yes", "true", json!(true)),
                ("yes", "FALSE", json!(false)),
                ("yes", " True ", json!(true)),
                ("yes", "WAHR", json!("WAHR")),
                ("text", "TRUE", json!("TRUE")),
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
