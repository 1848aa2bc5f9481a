//! How large a JSON Schema may be, and how many ways may lead through it when its references are followed.

use serde_json::{Map, Value};

/// Most ways through a schema.
pub const MOST_WAYS: usize = 10_000;
/// Deepest nesting of these ways.
const DEEPEST_WAY: usize = 256;

/// How large a schema may be.
pub struct SchemaBounds {
    /// As compact JSON.
    pub bytes: usize,
    /// Lists and objects inside each other.
    pub levels: usize,
}

/// Which bound a schema exceeds.
pub enum ExceededBound {
    /// It has so many.
    Bytes(usize),
    /// It is nested deeper.
    Levels,
    /// There are more than [`MOST_WAYS`].
    Ways,
}

impl SchemaBounds {
    /// The first bound that a schema exceeds.
    pub fn exceeded(&self, schema: &Value) -> Option<ExceededBound> {
        let size = schema.to_string().len();
        if size > self.bytes {
            return Some(ExceededBound::Bytes(size));
        }
        if depth(schema) > self.levels {
            return Some(ExceededBound::Levels);
        }
        let mut ways = Ways { root: schema, left: MOST_WAYS, open: vec![] };
        ways.walk(schema, 0).is_none().then_some(ExceededBound::Ways)
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Counts the ways through a schema, following references; a reference inside itself ends a way.
struct Ways<'v> {
    root: &'v Value,
    left: usize,
    open: Vec<&'v str>,
}

impl<'v> Ways<'v> {
    fn walk(&mut self, schema: &'v Value, depth: usize) -> Option<()> {
        let Some(map) = schema.as_object() else { return Some(()) };
        self.left = self.left.checked_sub(1)?;
        if depth > DEEPEST_WAY {
            return None;
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str).filter(|target| !self.open.contains(target)) {
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            if let Some(found) = found {
                self.open.push(target);
                self.walk(found, depth + 1)?;
                self.open.pop();
            }
        }
        for (_, value) in inner_schemas(map) {
            self.walk(value, depth + 1)?;
        }
        Some(())
    }
}

/// The schemas directly inside a schema, each with the way to it.
pub fn inner_schemas(schema: &Map<String, Value>) -> impl Iterator<Item = (Vec<String>, &Value)> {
    const ONE: [&str; 14] = [
        "not", "if", "then", "else", "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
        "contains", "propertyNames", "contentSchema", "prefixItems", "extends",
    ];
    const MANY: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
    const NAMED: [&str; 6] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
    schema.iter().flat_map(|(key, value)| {
        let name = key.as_str();
        let found: Vec<(Vec<String>, &Value)> = match value {
            Value::Array(list) if MANY.contains(&name) => {
                list.iter().enumerate().map(|(i, value)| (vec![key.clone(), i.to_string()], value)).collect()
            }
            Value::Object(map) if NAMED.contains(&name) => {
                map.iter().map(|(inner, value)| (vec![key.clone(), inner.clone()], value)).collect()
            }
            Value::Object(_) if ONE.contains(&name) => vec![(vec![key.clone()], value)],
            _ => vec![],
        };
        found
    })
}
