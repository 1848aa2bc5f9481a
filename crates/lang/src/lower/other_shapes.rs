//! What to write where a value of another shape stands: a list for names with values, a group of keys for a text. It is made of the
//! author's own words; where they do not tell enough, an example of that key is shown.
//!
//! How to add one: a line in the function of the shape that is wanted.

use serde_json::{Map as Object, Value, json};

use super::keys::{KeyRule, OTHERWISE_STEPS, Tables, Takes, Thing};
use super::written_form::{word, written_form};
use crate::syntax::{Map, Node, Scalar};

/// Help, and the text that can stand in the place of the value.
pub(super) type Instead = (String, Option<String>);

/// What a word can only mean where true or false must be: `yes` and `"true"` are texts.
pub(super) fn truth(scalar: &Scalar) -> Option<&'static str> {
    match scalar.value.as_str()?.to_lowercase().as_str() {
        "true" | "yes" | "y" | "on" => Some("true"),
        "false" | "no" | "n" | "off" => Some("false"),
        _ => None,
    }
}

fn exactly(text: String) -> Instead {
    (format!("write {text}"), Some(text))
}

/// A list is wanted.
pub(super) fn list(label: &str, node: &Node) -> Option<Instead> {
    if let Some(map) = node.as_map() {
        let (first, _) = map.entries.first()?;
        return Some((
            match map.get("id").and_then(Node::as_scalar) {
                Some(id) => {
                    format!("write \"- \" before the first key of each: \"- id: {}\", and indent its other keys like \"id\"", id.text)
                }
                None => format!("write \"- id: {}\" for \"{}:\", and the same for each of the others", first.text, first.text),
            },
            None,
        ));
    }
    let scalar = node.as_scalar().filter(|scalar| !scalar.value.is_null())?;
    match label {
        "on_failure" | "finally" | "steps" => {
            let text = written_form(&scalar.value)?;
            Some(match label {
                "on_failure" => (
                    format!(
                        "write a list of steps: [{{ id: sorry, set: {text} }}, {{ id: send_sorry, send: stdout, of: steps.sorry.output }}], with format in place of set if a channel is to format it"
                    ),
                    None,
                ),
                _ => (format!("write a list of steps, such as - {{ id: first, set: {text} }}"), None),
            })
        }
        _ => {
            // Several words in one text, with commas or bars between them.
            let parts: Vec<&str> = scalar.text.split([',', '|']).map(str::trim).filter(|part| !part.is_empty()).collect();
            let is_several = parts.len() > 1 && parts.iter().all(|part| !part.contains(['{', '"']) && part.split(' ').count() < 4);
            let words: Vec<String> = if is_several { parts.into_iter().map(word).collect() } else { vec![written_form(&scalar.value)?] };
            Some(exactly(format!("[{}]", words.join(", "))))
        }
    }
}

/// Names with values are wanted.
pub(super) fn entries(label: &str, node: &Node) -> Option<Instead> {
    let list = node.as_list().filter(|list| !list.is_empty())?;
    let mut entries = Object::new();
    for node in list {
        match (node.as_map(), node.as_scalar()) {
            (Some(map), _) => {
                let name = ["name", "id"].iter().find_map(|key| node.text_of(key))?;
                let rest = map.entries.iter().filter(|(key, _)| key.text != "name" && key.text != "id");
                entries.insert(name.to_owned(), Value::Object(rest.map(|(key, node)| (key.text.clone(), node.to_value())).collect()));
            }
            (None, Some(scalar)) if label == "with" => {
                let inner = scalar.text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
                entries.insert(inner.rsplit('.').next()?.to_owned(), json!(scalar.text));
            }
            (None, Some(scalar)) => {
                let (name, value) = match label {
                    "secrets" => (&*scalar.text, "What it is for."),
                    "columns" | "inputs" | "output" | "fields" | "arguments" | "form" => (&*scalar.text, "text"),
                    "failed" => (&*scalar.text, "What is wrong."),
                    // A pair in one text: `LANG=C`, `Accept: text/html`, `old -> new`.
                    _ => ["->", "=>", "=", ": "].iter().find_map(|sign| scalar.text.split_once(sign))?,
                };
                entries.insert(name.trim().to_owned(), json!(value.trim()));
            }
            (None, None) => return None,
        }
    }
    let names: Vec<String> = entries.keys().map(|name| format!("${name}")).collect();
    let text = written_form(&Value::Object(entries))?;
    Some(match label {
        "with" if list.iter().all(|node| node.as_scalar().is_some()) => {
            (format!("write with: {text}, and {} in place of each ? of the query", names.join(" and ")), None)
        }
        _ if list.iter().all(|node| node.as_scalar().is_some()) => (format!("write {label}: {text}"), Some(text)),
        _ => (format!("write {label}: {text}, each below its name"), Some(text)),
    })
}

/// What one entry of a key with names looks like.
pub(super) fn entry_example(label: &str) -> &'static str {
    match label {
        "inputs" => "message: text",
        "secrets" => "API_TOKEN: What the token is for.",
        "columns" => "postcode: text",
        "failed" => "short: The text is too long.",
        _ => "name: value",
    }
}

/// A text is wanted.
pub(super) fn text(label: &str, node: &Node) -> Option<Instead> {
    if let Some(list) = node.as_list() {
        return match label {
            "channel" => Some(("write one name: each channel needs a format step of its own, and a send step".to_owned(), None)),
            "prompt" | "instructions" => Some((format!("write {label}: | and leave the lines below it as they are"), None)),
            _ if list.len() == 1 => list.first()?.as_scalar().map(|scalar| exactly(word(&scalar.text))),
            _ => None,
        };
    }
    let map = node.as_map()?;
    match label {
        "sql" => {
            let query = ["query", "sql", "statement"].iter().find_map(|key| node.text_of(key))?;
            let query = written_form(&json!(query))?;
            Some(match ["params", "parameters", "with"].iter().find_map(|key| map.get(key)) {
                Some(values) => (format!("write sql: {query}, and beside it with: {}", written_form(&values.to_value())?), None),
                None => (format!("write sql: {query}"), None),
            })
        }
        "http" => {
            let url = node.text_of("url").or_else(|| node.text_of("uri"))?;
            let method = node.text_of("method").unwrap_or("GET").to_uppercase();
            let more: Vec<&str> = ["headers", "query", "body"].into_iter().filter(|key| map.get(key).is_some()).collect();
            let beside = if more.is_empty() { String::new() } else { format!(", and {} beside it", more.join(", ")) };
            Some((format!("write http: {method} {url}{beside}"), None))
        }
        "gate" => {
            let card = written_form(&node.to_value()).unwrap_or_else(|| "{ criteria: [ … ] }".to_owned());
            Some((format!("write scorecards: {{ quality: {card} }} in the head of the file, and gate: quality here"), None))
        }
        "Authorization" | "authorization" => {
            let name = secret(map)?;
            let (bearer, bare) = (format!("\"Bearer {{{{ secrets.{name} }}}}\""), format!("\"{{{{ secrets.{name} }}}}\""));
            Some((format!("write {bearer}, or {bare} if the service takes the token without a word before it"), Some(bearer)))
        }
        _ => secret(map).map(|name| exactly(format!("\"{{{{ secrets.{name} }}}}\""))),
    }
}

/// The name in `valueFrom: { secretKeyRef: { name, key } }`.
fn secret(map: &Map) -> Option<&str> {
    map.get("valueFrom")?.as_map()?.get("secretKeyRef")?.text_of("key")
}

/// A group of keys is wanted, those of a place that has these.
pub(super) fn keys(places: Tables, node: &Node) -> Option<Instead> {
    let scalar = node.as_scalar()?;
    let is_on = || truth(scalar).map(|word| word == "true").or(scalar.value.as_bool());
    let written = written_form(&scalar.value)?;
    let has = |name: &str| places.iter().any(|place| place.key(name).is_some());
    let one = |key: &str| Some(exactly(format!("{{ {key}: {written} }}")));
    match places.first()?.keys.first()?.name {
        "enabled" => Some(exactly(format!("{{ enabled: {} }}", is_on()?))),
        _ if places.iter().any(|place| std::ptr::eq(*place, &OTHERWISE_STEPS)) => one("set"),
        "max_attempts" if scalar.value.is_u64() => one("max_attempts"),
        "max_attempts" => Some(exactly("{ max_attempts: 3 }".to_owned())),
        "at" if is_on() == Some(true) => Some(exactly("{ at: paragraph, most_parts: 4 }".to_owned())),
        first @ ("at" | "all_say" | "default") if scalar.value.is_string() => one(first),
        "file" if has("sheet") && scalar.value.is_string() => one("file"),
        _ => None,
    }
}

/// The name of something is wanted, or several, and true or false is written.
pub(super) fn named(rule: &KeyRule, is_on: bool) -> Option<String> {
    let (key, about) = (rule.name, rule.about);
    match (&rule.takes, is_on) {
        (Takes::Of(Thing::Step), true) => Some(format!("write the id of a step: {about}")),
        (Takes::Of(thing), true) => {
            if let ("summary", Thing::Agent) = (key, thing) {
                return Some(
                    "write summary: scribe, and below agents: scribe: { instructions: You sum up conversations. }, with a name of your own"
                        .to_owned(),
                );
            }
            let thing = <&str>::from(thing);
            Some(format!("write {key}: NAME, the name of the {thing}: {about}; it stands below {thing}s as NAME: {{ … }}"))
        }
        (Takes::Many(inner), true) => Some(match matches!(inner, Takes::Path) {
            true => format!("write a list of paths, seen from the folder of this file, such as {key}: [../out]: {about}"),
            false => format!("write a list, such as {key}: [NAME]: {about}"),
        }),
        (Takes::Many(_) | Takes::List(_), false) => Some(format!("write {key}: [], or remove it")),
        (Takes::Of(_), false) => Some("remove it".to_owned()),
        _ => None,
    }
}
