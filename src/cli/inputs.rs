//! Inputs from the command line.

use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::adapter::environment;
use crate::diagnostic::visible;
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

/// Asks for required inputs that are missing, where a person sits at a terminal. Whoever ends the input is asked no more.
pub(super) fn ask(pipeline: &Pipeline, given: &mut Map<String, Value>) {
    let missing: Vec<&Field> =
        pipeline.input_fields().iter().filter(|f| f.is_required && f.default.is_none() && !given.contains_key(&f.name)).collect();
    if missing.is_empty() || !is_at_terminal() {
        return;
    }
    for field in missing {
        let about = field.description.as_deref().map(|about| format!(" ({about})")).unwrap_or_default();
        let example = field.example.as_ref().map(|example| format!(", for example {example}")).unwrap_or_default();
        tell_part!("{}", visible(&format!("{}{about}{example}: ", field.name)));
        let mut line = String::new();
        match std::io::stdin().lock().take(MOST_TYPED).read_line(&mut line) {
            Ok(read) if read > 0 => {
                let typed = typed(Some(field), line.trim_end_matches(['\n', '\r']));
                given.insert(field.name.clone(), typed);
            }
            _ => {
                tell!();
                return;
            }
        }
    }
}

/// Whether questions can be asked: both ends are a terminal, and it is no build server.
fn is_at_terminal() -> bool {
    let is_dumb = environment::text("TERM").is_some_and(|term| term == "dumb");
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !environment::is_set("CI") && !is_dumb
}

/// Most bytes of one typed answer.
const MOST_TYPED: u64 = 64 * 1024;

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
