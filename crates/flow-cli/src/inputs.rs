//! Inputs, limits and the time from the command line.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::refusal::Refusal;
use super::signals::{Attended, at_question};
use super::typing::{Typing, is_at_terminal};
use crate::adapter::files;
use crate::diagnostic::{did_you_mean, visible};
use crate::model::{Field, JsonError, Limits, Pipeline, parse_duration, read_json, typed, typed_for};
use crate::runtime::shown_path;

/// Maximum size of a file of inputs in bytes (JSON from outside).
const MOST_GIVEN: u64 = 8 << 20;

/// Reads inputs of `--inputs FILE` and `--input name=value`; the latter take precedence. Also returns the channel, if the file names one.
/// Errors: the file cannot be read or is invalid, or a pair is invalid (exit 2).
pub(super) fn read(pipeline: &Pipeline, file: Option<&Path>, pairs: &[String]) -> Result<(Map<String, Value>, Option<String>), Refusal> {
    let wrong = |line: String| Err(Refusal::usage(line));
    let mut given = file.map(of_file).transpose()?.unwrap_or_default();
    let channel = match (given.remove("channel"), file) {
        (None | Some(Value::Null), _) => None,
        (Some(Value::String(name)), _) => Some(name),
        (Some(_), file) => return wrong(format!("--inputs {}: channel must be a text", file.map(shown_path).unwrap_or_default())),
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
        let typed =
            typed_for(&pipeline.inputs, name, value).map_err(|error| refusal!(Usage, "--input {}: {}", visible(name), unread(&error)))?;
        given.insert(name.to_string(), typed);
    }
    Ok((given, channel))
}

fn of_file(file: &Path) -> Result<Map<String, Value>, Refusal> {
    let text = if file == Path::new("-") { files::read_input(MOST_GIVEN) } else { files::read_named(file, MOST_GIVEN) };
    let text = text.map_err(|e| refusal!(Usage, "--inputs {}: cannot read it: {e}", shown_path(file)))?;
    let wanted =
        |what: String| refusal!(Usage, "--inputs {}: {what}; write one JSON object such as {{\"message\": \"Hello\"}}", shown_path(file));
    match read_json(&text) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(_) => Err(wanted("it is not a JSON object".into())),
        Err(error) => Err(wanted(visible(&error.to_string()).into_owned())),
    }
}

/// Returns required inputs without a value.
pub(super) fn missing<'p>(pipeline: &'p Pipeline, given: &Map<String, Value>) -> Vec<&'p Field> {
    pipeline.input_fields().iter().filter(|f| f.is_required && f.default.is_none() && !given.contains_key(&f.name)).collect()
}

/// Returns a line for each file or folder in the inputs that does not exist. A run may still create them.
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

/// Asks for missing required inputs at a terminal, until the person ends the input. As long as the returned value is held, Ctrl-C ends the
/// program.
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

pub(super) fn unread(error: &JsonError) -> String {
    format!("{error}; correct the JSON, or write a text in double quotes, as '\"text\"'")
}

/// Returns the limits set by flags.
pub(super) fn limits(deadline: Option<&str>, max_cost_usd: Option<f64>) -> Result<Limits, Refusal> {
    let deadline = deadline.map(parse_duration).transpose().map_err(|what| refusal!(Usage, "--deadline {what}"))?;
    if deadline.is_some_and(|time| time.is_zero()) {
        return Err(Refusal::usage("--deadline must be above 0; write a time such as 30s"));
    }
    Ok(Limits { deadline, max_cost_usd, ..Limits::default() })
}

/// Parses the time of `--now`.
pub(super) fn time(text: &str) -> Result<DateTime<Utc>, Refusal> {
    DateTime::parse_from_rfc3339(text)
        .map(|t| t.with_timezone(&Utc))
        .map_err(|_| refusal!(Usage, "--now {}: write a time such as 2026-11-18T09:00:00Z", visible(text)))
}
