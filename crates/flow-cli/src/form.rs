//! Lets a person fill in a form: at a terminal field by field, or on the command line.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::inputs::unread;
use super::tell;
use super::typing::{Said, Typing, is_at_terminal};
use crate::adapter::environment;
use crate::diagnostic::{all_visible, visible};
use crate::event::FormRequest;
use crate::gate::form::misfit;
use crate::model::{Shape, typed_for};
use crate::report::utc;
use crate::runtime::Answer;

/// Asks a person; `None`: nobody can be asked, or nobody answers. `until`: end of the time to answer. `show`: shows everything.
pub(super) fn ask(question: &str, form: &FormRequest, until: Option<DateTime<Utc>>, show: &str, typing: &Typing) -> Option<Answer> {
    if !is_at_terminal() {
        return None;
    }
    // Lines of other origin have a bar before them, so that data cannot imitate lines of flow.
    let barred = |line: &String| tell::as_written(&format!("| {line}"), "\n");
    form.show.iter().for_each(|text| lines(text).iter().for_each(barred));
    if form.names().next().is_some() {
        tell::as_written(&format!("fields: {} (to look at all of it: {show})", form.names().collect::<Vec<_>>().join(", ")), "\n");
    }
    until.iter().for_each(|until| tell::as_written(&time_limit(*until), "\n"));
    let asked = lines(question);
    let (last, before) = asked.split_last()?;
    before.iter().for_each(barred);
    if let Said::No(comment) = typing.decide(last)? {
        return Some(Answer { comment, by: user(), ..Answer::default() });
    }
    let mut fields = Map::new();
    for name in form.names() {
        if let Some(value) = field(&form.fields, name, typing)? {
            fields.insert(name.to_owned(), value);
        }
    }
    Some(Answer { approved: true, by: user(), fields: Some(Value::Object(fields)), ..Answer::default() })
}

/// Formats the end of the time to answer.
pub(super) fn time_limit(until: DateTime<Utc>) -> String {
    format!("an answer counts until {}", utc(until))
}

/// Asks for one field; outer `None`: nobody answers; inner `None`: it is left out or has its default.
#[expect(clippy::option_option, reason = "nobody, and nothing")]
fn field(form: &Value, name: &str, typing: &Typing) -> Option<Option<Value>> {
    let rules = &form["properties"][name];
    let default = rules.get("default");
    let is_required = form["required"].as_array().is_some_and(|required| required.iter().any(|required| required == name));
    let prompt = match default {
        Some(default) => format!("| {} [{}]: ", about(form, name), in_a_line(default)),
        None => format!("| {}: ", about(form, name)),
    };
    loop {
        let line = typing.fresh_line(&prompt)?;
        if line.is_empty() && (default.is_some() || !is_required) {
            return Some(None);
        }
        match typed(form, name, &line).and_then(|value| misfit(form, name, &value).map_or(Ok(value), Err)) {
            Ok(value) => return Some(Some(value)),
            Err(why) => tell!("{}", visible(&why)),
        }
    }
}

/// Parses a typed value of a form. Errors: it is invalid or ambiguous.
pub(super) fn typed(form: &Value, name: &str, text: &str) -> Result<Value, String> {
    let kind = &form["properties"][name]["type"];
    if kind == "boolean" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "boolean")) {
        match text.trim().to_lowercase().as_str() {
            "yes" | "y" | "true" => return Ok(true.into()),
            "no" | "n" | "false" => return Ok(false.into()),
            _ => {}
        }
    }
    typed_for(&Shape::Schema(Arc::new(form.clone())), name, text).map_err(|error| unread(&error))
}

/// Formats a form in lines: each field with its purpose, its values and its default.
pub(super) fn described(form: &Value) -> Vec<String> {
    let fields = form["properties"].as_object().into_iter().flatten();
    let told = fields.map(|(name, rules)| match rules.get("default") {
        Some(default) => format!("  {}; default: {}", about(form, name), in_a_line(default)),
        None => format!("  {}", about(form, name)),
    });
    told.collect()
}

/// Returns a field's name, its purpose and its values.
fn about(form: &Value, name: &str) -> String {
    let rules = &form["properties"][name];
    let text = |key: &str| rules.get(key).and_then(Value::as_str);
    let kind = match (text("format"), &rules["type"]) {
        (Some(format), _) => format.to_owned(),
        (None, Value::String(kind)) => kind.clone(),
        (None, Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    };
    let kind = match kind.as_str() {
        "string" => "text".to_owned(),
        "boolean" => "yes or no".to_owned(),
        "array" => "list".to_owned(),
        other => other.to_owned(),
    };
    let one_of = rules["enum"].as_array().map(|values| {
        let words =
            values.iter().filter(|value| !value.is_null()).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        format!("one of: {}", words.collect::<Vec<_>>().join(", "))
    });
    let bound = |key: &str, words: &str| rules.get(key).filter(|bound| !bound.is_null()).map(|bound| format!("{words} {bound}"));
    let parts = [text("description").or(text("title")).map(str::to_owned), one_of.or(Some(kind).filter(|kind| !kind.is_empty()))];
    let bounds = [bound("minimum", "at least"), bound("maximum", "at most"), bound("maxLength", "at most characters:")];
    let parts: Vec<String> = parts.into_iter().chain(bounds).flatten().collect();
    let told = if parts.is_empty() { name.to_owned() } else { format!("{name} ({})", parts.join("; ")) };
    all_visible(&tell::without_secrets(&told))
}

fn in_a_line(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    all_visible(&tell::without_secrets(&text))
}

/// Returns the lines of a text without invisible characters, or characters that move the cursor. Indents stay.
pub(super) fn lines(text: &str) -> Vec<String> {
    let text = tell::without_secrets(text);
    let line = |line: &str| {
        let rest = line.trim_start_matches(' ');
        let indent = line.len() - rest.len();
        if indent > 40 { all_visible(line) } else { " ".repeat(indent) + &all_visible(rest) }
    };
    text.lines().map(line).collect()
}

/// Returns the name of the person at this terminal, as the system reports it.
pub(super) fn user() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].into_iter().filter_map(environment::text).find(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| format!("uid {}", environment::user_id()))
}
