//! What a model answered, read as JSON. An answer that is JSON and fits is read as it is. Else what is meant is looked for, where there is one
//! reading only: JSON in a code fence or in prose, JSON with small mistakes, values of the wrong kind whose meaning is certain. Each such
//! reading is a note, which the record shows.
//!
//! Notes name places and never quote a value: an answer may hold personal data.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::lenient::{LenientReader, lenient};
use super::shape::tasks_as_steps;
use super::{schema_problems, wanted};
use crate::channel::cleaned;
use crate::model::Usable;
use crate::said::{ThoughtsPlace, answer_text};

/// Deepest nesting that values are changed in.
const DEEPEST: usize = 64;
/// Most values that are tried where JSON stands in prose.
const MOST_FOUND: usize = 32;
/// Most notes of one answer.
const MOST_NOTES: usize = 20;

/// An answer as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The value.
    pub value: Value,
    /// What was read otherwise than written, one phrase each.
    pub notes: Vec<String>,
}

/// A model's answer has no JSON that counts.
#[derive(Debug, thiserror::Error)]
pub enum NotJsonError {
    /// There is none.
    #[error("the answer is not JSON: {0}")]
    None(#[from] serde_json::Error),
    /// There is more than one.
    #[error("the answer holds several JSON values that differ, so it is not clear which one counts; give one")]
    Several,
}

/// The value that an answer means, for what is wanted. It need not fit: what is wrong with it is for the caller to say.
///
/// # Errors
/// There is no JSON in it, or more than one value that may be meant.
pub fn read(text: &str, schema: &Value) -> Result<Reading, NotJsonError> {
    let mut read = json_in(text, schema)?;
    read.fit(schema);
    Ok(read)
}

impl Reading {
    /// Puts what was certainly meant in the place of what does not fit.
    pub fn fit(&mut self, schema: &Value) {
        let read = fit(std::mem::take(&mut self.value), schema);
        self.value = read.value;
        self.notes.extend(read.notes);
        self.notes.truncate(MOST_NOTES);
    }
}

/// What a tool gave as text: JSON, also in a code fence. What deceives is taken out of its texts.
///
/// # Errors
/// It is no JSON.
pub fn json_of_tool(text: &str) -> Result<Value, NotJsonError> {
    let text = text.trim();
    Ok(cleaned(serde_json::from_str(fenced(text).unwrap_or(text))?))
}

/// The JSON of an answer, before it is held to what is wanted.
///
/// # Errors
/// See [`read`].
pub fn json_in(text: &str, schema: &Value) -> Result<Reading, NotJsonError> {
    let (value, note) = found_in(text, schema)?;
    Ok(Reading { value: cleaned(value), notes: note.map(str::to_owned).into_iter().collect() })
}

/// A value with what was certainly meant in the place of what does not fit.
pub fn fit(value: Value, schema: &Value) -> Reading {
    if schema_problems(schema, &value).is_empty() {
        return Reading { value, notes: vec![] };
    }
    let mut notes = vec![];
    let value = fitted(value, schema, &mut Place { path: String::new(), notes: &mut notes }, 0);
    notes.truncate(MOST_NOTES);
    Reading { value, notes }
}

/// What is sent without its bounds on flow's own texts and lists, and with only those keys required that every answer must have.
pub fn loosened(mut schema: Value) -> Value {
    loosen(&mut schema);
    schema
}

fn loosen(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            keys.retain(|key, value| {
                !(matches!(key.as_str(), "maxLength" | "maxItems") && value.is_u64() || key == "pattern" && value.is_string())
            });
            if let Some(required) = keys.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|name| !matches!(name.as_str(), Some("depends_on" | "with" | "prompt")));
            }
            keys.values_mut().for_each(loosen);
        }
        Value::Array(list) => list.iter_mut().for_each(loosen),
        _ => {}
    }
}

/// A plan of a `plan` step, as it is meant.
///
/// # Errors
/// See [`read`].
pub fn read_plan(text: &str, usable: &[Usable], most_steps: u64) -> Result<Reading, NotJsonError> {
    let schema = loosened(wanted::plan(usable, most_steps));
    let mut read = json_in(text, &schema)?;
    if let Some(plan) = read.value.as_object_mut() {
        tasks_as_steps(plan);
    }
    read.fit(&schema);
    with_steps(&mut read.value, &mut read.notes);
    let steps = read.value.get_mut("steps").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        let takes = usable.iter().find(|usable| step["use"] == usable.name.as_str()).and_then(|usable| usable.takes.as_ref());
        if let (Some(takes), Some(with)) = (takes, step.get_mut("with")) {
            let fitted = fit(std::mem::take(with), &takes.schema);
            *with = fitted.value;
            read.notes.extend(fitted.notes);
        }
    }
    Ok(read)
}

/// The criteria of a scorecard as they are meant: see [`with_ids`]; one that has neither a check nor `judge` is for the judge.
pub fn with_criteria(card: &mut Value, notes: &mut Vec<String>) {
    let Some(criteria) = card.get_mut("criteria").and_then(Value::as_array_mut) else { return };
    with_ids(criteria, &HashSet::new(), true, notes);
    for criterion in criteria.iter_mut().filter_map(Value::as_object_mut) {
        if !criterion.contains_key("check") && !criterion.contains_key("judge") && criterion.contains_key("expected") {
            notes.push("a criterion without check and judge was read as one for the judge".to_owned());
            criterion.insert("judge".to_owned(), Value::Bool(true));
        }
    }
}

/// The steps of a plan as they are meant: see [`with_ids`].
pub fn with_steps(plan: &mut Value, notes: &mut Vec<String>) {
    let Some(steps) = plan.get_mut("steps").and_then(Value::as_array_mut) else { return };
    let names = |step: &Value| step.get("depends_on").and_then(Value::as_array).cloned().unwrap_or_default();
    let named: HashSet<String> = steps.iter().flat_map(names).filter_map(|name| name.as_str().map(as_id)).collect();
    if with_ids(steps, &named, false, notes) {
        for name in steps.iter_mut().filter_map(|step| step.get_mut("depends_on")?.as_array_mut()).flatten() {
            if let Value::String(name) = name {
                *name = as_id(name);
            }
        }
    }
}

fn as_id(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// Ids in their form (`Step 1` is `step_1`), and each once: of equal elements one stays where that changes nothing (`once`), and another with
/// the same id is given an id of its own unless it is `named` somewhere. Whether an id was changed into its form.
fn with_ids(list: &mut Vec<Value>, named: &HashSet<String>, once: bool, notes: &mut Vec<String>) -> bool {
    let mut is_changed = false;
    let mut seen: HashSet<Value> = HashSet::new();
    let mut taken: HashSet<String> = HashSet::new();
    // The number that was given last to an id.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    list.retain_mut(|one| {
        if let Some(Value::String(id)) = one.get_mut("id") {
            let form = as_id(id);
            if form != *id {
                notes.push("an id was put into its form".to_owned());
                (*id, is_changed) = (form, true);
            }
        }
        if !seen.insert(one.clone()) {
            if once {
                notes.push("an element that was there twice was read once".to_owned());
            }
            return !once;
        }
        let Some(Value::String(id)) = one.get_mut("id") else { return true };
        if taken.contains(id) && !named.contains(id) {
            let number = numbers.entry(id.clone()).or_insert(1);
            *id = loop {
                *number += 1;
                let free = format!("{id}_{number}");
                if !taken.contains(&free) {
                    break free;
                }
            };
            notes.push("a second element with the same id was given one of its own".to_owned());
        }
        taken.insert(id.clone());
        true
    });
    is_changed
}

fn found_in(text: &str, schema: &Value) -> Result<(Value, Option<&'static str>), NotJsonError> {
    let whole = text.trim();
    // What a model thought before it answered is no answer.
    let answer = answer_text(whole, ThoughtsPlace::InText).map(|answer| answer.text).unwrap_or_default();
    let text = answer.trim();
    let thought = (text.len() < whole.len()).then_some("taken out of the text around it");
    let error = match strict(text) {
        // A text that itself holds the object that is wanted is unpacked when it is fitted.
        Ok(value) => return Ok((value, thought)),
        Err(error) => error,
    };
    if let Some(inner) = fenced(text) {
        if let Ok(value) = strict(inner) {
            return Ok((value, Some("taken out of a code fence")));
        }
        if let Some(value) = lenient(inner) {
            return Ok((value, Some("taken out of a code fence, and small mistakes in its JSON were corrected")));
        }
    }
    if let Some(value) = lenient(text) {
        return Ok((value, Some("small mistakes in its JSON were corrected")));
    }
    let Some(mut found) = embedded(text).filter(|_| !text.contains("<think>")) else { return Err(error.into()) };
    found.dedup();
    // A list may be part of the prose (`[1]`); of two objects, or lists of them, it is not certain which is meant, whichever of them fits.
    let has_objects = |value: &&Value| value.is_object() || value.as_array().is_some_and(|list| list.iter().any(Value::is_object));
    if found.len() > 1 && found.iter().filter(has_objects).count() < 2 {
        found.retain(|value| schema_problems(schema, value).is_empty());
    }
    match found.as_slice() {
        [value] if has_nothing_of(value, schema) => Err(error.into()),
        [value] => Ok((value.clone(), Some("taken out of the text around it"))),
        [] => Err(error.into()),
        _ => Err(NotJsonError::Several),
    }
}

/// Whether an object in prose has none of the keys that are required: then it is a part of the prose.
fn has_nothing_of(value: &Value, schema: &Value) -> bool {
    let (Some(object), Some(required)) = (value.as_object(), schema.get("required").and_then(Value::as_array)) else { return false };
    let is_there = |name: &str| object.keys().any(|key| as_id(key) == as_id(name));
    !required.is_empty() && !required.iter().filter_map(Value::as_str).any(is_there)
}

/// JSON in which no key is there twice: of two with the same name it is not certain which is meant.
fn strict(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<KeysOnce>(text)?;
    serde_json::from_str(text)
}

/// Any value whose objects have each key once.
struct KeysOnce;

impl<'de> Deserialize<'de> for KeysOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KeysOnce, D::Error> {
        deserializer.deserialize_any(KeysOnce)
    }
}

impl<'de> Visitor<'de> for KeysOnce {
    type Value = KeysOnce;

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_i64<E>(self, _: i64) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_u64<E>(self, _: u64) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_f64<E>(self, _: f64) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_str<E>(self, _: &str) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_unit<E>(self) -> Result<KeysOnce, E> {
        Ok(KeysOnce)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<KeysOnce, A::Error> {
        while list.next_element::<KeysOnce>()?.is_some() {}
        Ok(KeysOnce)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<KeysOnce, A::Error> {
        let mut names = HashSet::new();
        while let Some((name, _)) = object.next_entry::<String, KeysOnce>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a key is there twice"));
            }
        }
        Ok(KeysOnce)
    }
}

/// What is in the one code fence that a text is.
fn fenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.split_once('\n').map_or("", |(_, rest)| rest).trim_end();
    let inner = inner.strip_suffix("```").unwrap_or(inner).trim();
    (!inner.contains("```")).then_some(inner)
}

/// The objects and lists in prose, one after the other; `None`: something there looks like an object and cannot be read.
fn embedded(text: &str) -> Option<Vec<Value>> {
    let mut found = vec![];
    let mut rest = text;
    while let Some(start) = rest.find(['{', '[']) {
        rest = &rest[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let whole = stream.next().and_then(Result::ok).map(|value| (value, stream.byte_offset()));
        let whole = whole.filter(|(_, length)| strict(&rest[..*length]).is_ok());
        rest = match whole.or_else(|| LenientReader::new(rest).prefix()) {
            Some((value, length)) => {
                found.push(value);
                &rest[length..]
            }
            None if rest.starts_with('[') => &rest[1..],
            None => return None,
        };
        if found.len() > MOST_FOUND {
            return None;
        }
    }
    Some(found)
}

/// Where a value is, and what was noted so far.
struct Place<'n> {
    path: String,
    notes: &'n mut Vec<String>,
}

impl Place<'_> {
    fn note(&mut self, what: &str) {
        let place = if self.path.is_empty() { "the answer" } else { &self.path };
        self.notes.push(format!("{place}: {what}"));
    }

    fn below(&mut self, part: &str) -> Place<'_> {
        let path = if self.path.is_empty() { part.to_owned() } else { format!("{}.{part}", self.path) };
        Place { path, notes: &mut *self.notes }
    }
}

fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn fitted(value: Value, schema: &Value, place: &mut Place, depth: usize) -> Value {
    if depth > DEEPEST || schema_problems(schema, &value).is_empty() {
        return value;
    }
    if let Some(variants) = schema.get("anyOf").and_then(Value::as_array) {
        return of_variants(value, variants, place, depth);
    }
    match value {
        Value::String(text) => of_text(text, schema, place, depth),
        Value::Object(object) if allows(schema, "object") => of_object(object, schema, place, depth),
        Value::Array(list) if allows(schema, "array") => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            let one = |(index, value): (usize, Value)| fitted(value, items, &mut place.below(&index.to_string()), depth + 1);
            if items.is_object() { list.into_iter().enumerate().map(one).collect() } else { Value::Array(list) }
        }
        // A list of one where its element is wanted.
        Value::Array(mut list) if allows(schema, "object") => match (list.len(), only_property(schema)) {
            (_, Some((name, inner))) if allows(inner, "array") => wrapped(Value::Array(list), name, schema, place, depth),
            (1, _) if list[0].is_object() => {
                place.note("a list of one was read as its element");
                fitted(list.remove(0), schema, place, depth + 1)
            }
            _ => Value::Array(list),
        },
        Value::Null => Value::Null,
        value if allows(schema, "array") => {
            let list = Value::Array(vec![value]);
            let read = fit(list.clone(), schema);
            if !schema_problems(schema, &read.value).is_empty() {
                let Value::Array(mut list) = list else { return list };
                return list.remove(0);
            }
            place.note("one value was read as a list of one");
            fitted(list, schema, place, depth + 1)
        }
        Value::Number(number) if allows(schema, "string") && !number.is_f64() => {
            place.note("a number was read as a text");
            Value::String(number.to_string())
        }
        value => value,
    }
}

/// The one variant that a value can be read as.
fn of_variants(value: Value, variants: &[Value], place: &mut Place, depth: usize) -> Value {
    let fits = |schema: &Value| {
        let mut notes = vec![];
        let read = fitted(value.clone(), schema, &mut Place { path: place.path.clone(), notes: &mut notes }, depth + 1);
        schema_problems(schema, &read).is_empty().then_some((read, notes))
    };
    let mut found: Vec<(Value, Vec<String>)> = variants.iter().filter_map(fits).collect();
    found.dedup_by(|one, other| one.0 == other.0);
    match found.len() {
        1 => {
            let (read, notes) = found.remove(0);
            place.notes.extend(notes);
            read
        }
        _ => value,
    }
}

fn of_text(text: String, schema: &Value, place: &mut Place, depth: usize) -> Value {
    let trimmed = text.trim();
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        let form = |name: &str| name.trim().to_lowercase().replace([' ', '-'], "_");
        let mut same = names.iter().filter(|name| name.as_str().is_some_and(|name| form(name) == form(trimmed)));
        if let (Some(name), None) = (same.next(), same.next()) {
            place.note("read without regard to case");
            return name.clone();
        }
    }
    if allows(schema, "boolean")
        && let Ok(value) = trimmed.to_lowercase().parse::<bool>()
    {
        place.note("a text was read as true or false");
        return Value::Bool(value);
    }
    if (allows(schema, "number") || allows(schema, "integer"))
        && let Ok(number) = serde_json::from_str::<Number>(trimmed)
    {
        place.note("a text was read as a number");
        return Value::Number(number);
    }
    if allows(schema, "null") && !allows(schema, "string") && matches!(trimmed, "" | "null" | "None") {
        place.note("a text was read as nothing");
        return Value::Null;
    }
    if (allows(schema, "object") || allows(schema, "array"))
        && trimmed.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(trimmed)
    {
        place.note("JSON in a text was read");
        return fitted(cleaned(value), schema, place, depth + 1);
    }
    if allows(schema, "array") && !allows(schema, "string") && !trimmed.is_empty() {
        let list = Value::Array(vec![Value::String(text.clone())]);
        let read = fit(list.clone(), schema);
        if schema_problems(schema, &read.value).is_empty() {
            place.note("one value was read as a list of one");
            return fitted(list, schema, place, depth + 1);
        }
    }
    Value::String(text)
}

/// The only property of an object that has one.
fn only_property(schema: &Value) -> Option<(&String, &Value)> {
    let properties = schema.get("properties")?.as_object()?;
    properties.iter().next().filter(|_| properties.len() == 1)
}

fn wrapped(value: Value, name: &str, schema: &Value, place: &mut Place, depth: usize) -> Value {
    place.note(&format!("read as its \"{name}\""));
    fitted(Value::Object(Map::from_iter([(name.to_owned(), value)])), schema, place, depth + 1)
}

fn of_object(mut object: Map<String, Value>, schema: &Value, place: &mut Place, depth: usize) -> Value {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Value::Object(object) };
    // The content of the only property, without its name.
    if let Some((name, inner)) = only_property(schema)
        && !object.contains_key(name)
    {
        let bare = fit(Value::Object(object.clone()), inner).value;
        if schema_problems(inner, &bare).is_empty() {
            return wrapped(Value::Object(object), name, schema, place, depth);
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    for name in properties.keys().filter(|name| !object.contains_key(*name)).cloned().collect::<Vec<_>>() {
        let form = |name: &str| name.trim().to_lowercase().replace([' ', '-'], "_");
        let same: Vec<String> = object.keys().filter(|key| !properties.contains_key(*key) && form(key) == form(&name)).cloned().collect();
        if let [key] = same.as_slice()
            && let Some(value) = object.remove(key)
        {
            place.below(&name).note("a key was read without regard to case");
            object.insert(name, value);
        }
    }
    let mut read = Map::new();
    for (name, value) in object {
        match properties.get(&name) {
            // What may be left out and is null was left out.
            Some(inner) if value.is_null() && !is_required(&name) && !schema_problems(inner, &value).is_empty() => {}
            Some(inner) => {
                let value = fitted(value, inner, &mut place.below(&name), depth + 1);
                read.insert(name, value);
            }
            None => {
                read.insert(name, value);
            }
        }
    }
    Value::Object(read)
}
