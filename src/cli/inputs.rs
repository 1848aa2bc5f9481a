//! Inputs from the command line.

use std::path::Path;

use serde_json::{Map, Value};

use crate::model::{Field, FieldKind, Pipeline};

/// Inputs of `--inputs FILE` and `--input name=value`; the latter win.
pub(super) fn read(pipeline: &Pipeline, file: Option<&Path>, pairs: &[String]) -> Result<Map<String, Value>, String> {
    let mut given = match file {
        None => Map::new(),
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
            match serde_json::from_str(&text) {
                Ok(Value::Object(given)) => given,
                Ok(_) => return Err(format!("{}: the inputs must be one JSON object", file.display())),
                Err(error) => return Err(format!("{}: {error}", file.display())),
            }
        }
    };
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(format!("--input {pair}: write --input name=value"));
        };
        let field = pipeline.input_fields().iter().find(|f| f.name == name);
        given.insert(name.to_string(), typed(field, value));
    }
    Ok(given)
}

/// A value as its field wants it; what does not fit stays a text and is reported with the field's rules.
fn typed(field: Option<&Field>, value: &str) -> Value {
    let kind = field.map_or(FieldKind::Text, |f| f.kind);
    let text = || Value::String(value.to_string());
    match kind {
        FieldKind::Number | FieldKind::Integer | FieldKind::Boolean | FieldKind::List | FieldKind::Object => {
            match serde_json::from_str(value) {
                Ok(value) => value,
                Err(_) if kind == FieldKind::List => Value::Array(value.split(',').map(|v| Value::String(v.trim().to_string())).collect()),
                Err(_) => text(),
            }
        }
        FieldKind::Any | FieldKind::Plan | FieldKind::Scorecard => serde_json::from_str(value).unwrap_or_else(|_| text()),
        _ => text(),
    }
}
