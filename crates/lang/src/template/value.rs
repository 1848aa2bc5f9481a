//! Values in and out, and the two objects that are more than data: a step, and the refinement of round one.

use std::sync::Arc;

use minijinja::ErrorKind;
use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};

use super::budget::VALUE_DEPTH;
use super::number::Number;
use super::print::{key_text, pairs, too_deep};
use super::stop::{FillError, FillStop};

/// A value of a filling. Clones are cheap.
pub type Value = minijinja::Value;

/// A value from JSON, with the order of its keys. One nested more than 128 levels deep becomes a value that can only be
/// passed over: using it is an error.
pub fn from_json(json: &serde_json::Value) -> Value {
    from_json_at(json, 0).unwrap_or_else(|| Value::from(minijinja::Error::new(ErrorKind::InvalidOperation, too_deep().message)))
}

fn from_json_at(json: &serde_json::Value, depth: usize) -> Option<Value> {
    if depth > VALUE_DEPTH {
        return None;
    }
    Some(match json {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(truth) => Value::from(*truth),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), _, _) => Value::from(whole),
            (_, Some(whole), _) => Value::from(whole),
            (_, _, Some(float)) => Value::from(float),
            _ => Value::from(number.to_string()),
        },
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(list) => list.iter().map(|item| from_json_at(item, depth + 1)).collect::<Option<Vec<_>>>()?.into(),
        serde_json::Value::Object(map) => {
            let pairs = map.iter().map(|(key, item)| Some((key.as_str(), from_json_at(item, depth + 1)?)));
            Value::from_pairs(pairs.collect::<Option<Vec<_>>>()?)
        }
    })
}

/// JSON from a value; a name that holds nothing yet is empty.
///
/// # Errors
/// Values nested more than 128 levels deep, and numbers no JSON reader takes.
pub fn to_json(value: &Value) -> Result<serde_json::Value, FillError> {
    to_json_at(value, 0).map_err(|stop| FillError::new(stop, None))
}

fn to_json_at(value: &Value, depth: usize) -> Result<serde_json::Value, FillStop> {
    if depth > VALUE_DEPTH {
        return Err(too_deep());
    }
    if let Some(text) = value.as_str() {
        return Ok(serde_json::Value::from(text));
    }
    Ok(match value.kind() {
        ValueKind::None | ValueKind::Undefined => serde_json::Value::Null,
        ValueKind::Bool => serde_json::Value::from(value.is_true()),
        ValueKind::Number => {
            let number = Number::from_value(value).and_then(Number::json);
            number.ok_or_else(|| FillStop::failed("a number is too large here"))?.into()
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter().map_err(|_| FillStop::failed("a list here cannot be read"))?;
            items.map(|item| to_json_at(&item, depth + 1)).collect::<Result<Vec<_>, _>>()?.into()
        }
        ValueKind::Map if is_nothing(value) => serde_json::Value::Null,
        ValueKind::Map => {
            let entries = pairs(value).map(|(key, item)| Ok((key_text(&key), to_json_at(&item, depth + 1)?)));
            serde_json::Value::Object(entries.collect::<Result<_, FillStop>>()?)
        }
        ValueKind::Invalid => return Err(too_deep()),
        _ => return Err(FillStop::failed("a value here has no form in JSON")),
    })
}

/// A step as templates see it.
#[derive(Debug)]
pub(super) struct StepValue {
    /// Its id.
    pub(super) id: Box<str>,
    /// Its status, a word.
    pub(super) status: Box<str>,
    output: Option<Value>,
    error: Value,
    details: Value,
}

impl Object for StepValue {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "output" => self.output.clone(),
            "status" => Some(Value::from(&*self.status)),
            "error" => Some(self.error.clone()),
            "details" => Some(self.details.clone()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.output {
            Some(_) => Enumerator::Str(&["output", "status", "error", "details"]),
            None => Enumerator::Str(&["status", "error", "details"]),
        }
    }
}

/// What `steps.<id>` gives: `output`, `status`, `error`, `details`. Without an output, reading it is an error that names
/// the step and its status, but under `default(…)` and `is defined`, where it counts as missing.
pub fn step_value(id: &str, status: &str, output: Option<Value>, error: Value, details: Value) -> Value {
    Value::from_object(StepValue { id: id.into(), status: status.into(), output, error, details })
}

/// One group of `groupby`: a pair that also has names.
#[derive(Debug)]
struct ElementGroup([Value; 2]);

impl Object for ElementGroup {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let [grouper, list] = &self.0;
        match key.as_str() {
            Some("grouper") => Some(grouper.clone()),
            Some("list") => Some(list.clone()),
            Some(_) => None,
            None => self.0.get(key.as_usize()?).cloned(),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }
}

/// The elements of a list that have this value in a field.
pub(super) fn group(grouper: Value, list: Value) -> Value {
    Value::from_object(ElementGroup([grouper, list]))
}

/// Names and values as one value.
pub fn object<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::from_pairs(pairs)
}

/// A name that holds nothing yet: it counts as false and prints nothing, and so does every field of it.
#[derive(Debug)]
struct Nothing;

impl Object for Nothing {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(if key == "failed" { Value::from(Vec::<Value>::new()) } else { Value::from_object(Nothing) })
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }
}

/// `refinement` in round one, and `failure` when nothing failed: empty, and all their fields too (`failed` is an empty list).
pub fn empty_name() -> Value {
    Value::from_object(Nothing)
}

/// Whether a value is a name that holds nothing yet, or a field of one.
pub(super) fn is_nothing(value: &Value) -> bool {
    value.downcast_object_ref::<Nothing>().is_some()
}
