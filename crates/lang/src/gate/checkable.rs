//! Schemas of others, as far as values can be held to them here.
//!
//! A server's schema may be of any draft, written by hand, or use what only the server can check. Its calls are made all the same: what has one
//! meaning is read so, and what this process cannot check is left to the server and named.

use serde_json::{Map, Value, json};

use super::schema::is_usable;
use crate::channel::clean;
use crate::diagnostic::cut;

/// Most things that are named as left to the server.
const MOST_LEFT: usize = 20;
/// Longest keyword that is described, in characters.
const LONGEST_WORDS: usize = 200;

/// A schema that values can be held to.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckableSchema {
    /// In the terms of draft 2020-12, without references to other documents.
    pub schema: Value,
    /// What is left to the server, such as `"pattern" of when`.
    pub left_out: Vec<String>,
}

/// A schema of another program as far as values can be held to it here. What is taken out is described where it was.
pub fn checkable(schema: &Value) -> CheckableSchema {
    for tests_keywords in [false, true] {
        let mut reader = PatternReader { root: schema, tests_keywords, path: vec![], left_out: vec![] };
        let read = reader.part(schema).unwrap_or_else(|| json!({}));
        if is_usable(&read) {
            return CheckableSchema { schema: read, left_out: reader.left_out };
        }
    }
    CheckableSchema { schema: json!({ "type": "object" }), left_out: vec!["the whole schema".to_owned()] }
}

struct PatternReader<'s> {
    root: &'s Value,
    /// Whether each keyword is tried by itself: the whole cannot be used as it is.
    tests_keywords: bool,
    /// The names of properties on the way to a schema.
    path: Vec<String>,
    left_out: Vec<String>,
}

impl PatternReader<'_> {
    /// A schema; `None`: it is none.
    fn part(&mut self, schema: &Value) -> Option<Value> {
        let keys = match schema {
            Value::Object(keys) => keys,
            Value::Bool(_) => return Some(schema.clone()),
            _ => return None,
        };
        let mut read = Map::new();
        let mut told: Vec<String> = vec![];
        for (key, value) in keys {
            match self.keyword(key, value) {
                Some((key, value)) => drop(read.insert(key, value)),
                None if is_noise(key, value) => {}
                None => {
                    let place = if self.path.is_empty() { String::new() } else { format!(" of {}", self.path.join(".")) };
                    let what = cut(&format!("\"{key}\"{place}"), LONGEST_WORDS);
                    if self.left_out.len() < MOST_LEFT && !self.left_out.contains(&what) {
                        self.left_out.push(what);
                    }
                    told.push(cut(&format!("\"{key}\": {value}"), LONGEST_WORDS));
                }
            }
        }
        required_by_properties(keys, &mut read);
        for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            exclude(&mut read, bound, exclusive);
        }
        if read.shift_remove("nullable") == Some(Value::Bool(true)) {
            allow_null(&mut read);
        }
        if !told.is_empty() {
            let own = read.get("description").and_then(Value::as_str).map(|own| format!("{own} ")).unwrap_or_default();
            read.insert("description".to_owned(), format!("{own}The server also checks {}.", told.join(", ")).into());
        }
        Some(Value::Object(read))
    }

    /// A keyword in the terms of draft 2020-12; `None`: it is left out.
    fn keyword(&mut self, key: &str, value: &Value) -> Option<(String, Value)> {
        if value.is_null() && !matches!(key, "const" | "default") {
            return None;
        }
        let (key, read) = match (key, value) {
            ("properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(parts)) => {
                (key, self.parts(key == "properties", parts))
            }
            ("items", Value::Array(parts)) => ("prefixItems", self.list(parts)?),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => (key, self.list(parts)?),
            ("additionalItems", Value::Object(_) | Value::Bool(_)) => ("items", self.part(value)?),
            ("items" | "not" | "if" | "then" | "else" | "additionalProperties" | "unevaluatedItems" | "unevaluatedProperties", _)
            | ("contains" | "propertyNames", _) => (key, self.part(value)?),
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                let found = target.strip_prefix('#').is_some_and(|pointer| self.root.pointer(pointer).is_some());
                return found.then(|| ("$ref".to_owned(), value.clone()));
            }
            ("$schema" | "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$vocabulary" | "$comment" | "dependencies", _) => return None,
            ("type", _) => (key, types(value)?),
            ("required", Value::Array(names)) => (key, names.iter().filter(|name| name.is_string()).cloned().collect()),
            ("title" | "description", Value::String(text)) => (key, clean(text).0.into_owned().into()),
            ("title" | "description" | "required", _) => return None,
            ("default" | "examples" | "nullable" | "exclusiveMinimum" | "exclusiveMaximum", _) => (key, value.clone()),
            ("enum", Value::Array(values)) if values.is_empty() => return None,
            _ => (key, value.clone()),
        };
        let is_tried = self.tests_keywords && !read.is_object() && !matches!(key, "$ref" | "default" | "nullable") && !read.is_boolean();
        (!is_tried || is_usable(&json!({ key: read }))).then(|| (key.to_owned(), read))
    }

    /// Schemas by name. What is no schema is left out.
    fn parts(&mut self, are_properties: bool, parts: &Map<String, Value>) -> Value {
        let mut read = Map::new();
        for (name, part) in parts {
            if are_properties {
                self.path.push(name.clone());
            }
            if let Some(part) = self.part(part) {
                read.insert(name.clone(), part);
            }
            if are_properties {
                self.path.pop();
            }
        }
        Value::Object(read)
    }

    fn list(&mut self, parts: &[Value]) -> Option<Value> {
        let read: Vec<Value> = parts.iter().filter_map(|part| self.part(part)).collect();
        (!read.is_empty() && read.len() == parts.len()).then(|| Value::Array(read))
    }
}

/// Whether a keyword that is left out would check nothing.
fn is_noise(key: &str, value: &Value) -> bool {
    let is_name =
        matches!(key, "$schema" | "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$vocabulary" | "$comment" | "title" | "description");
    let is_old_required = key == "required" && value.is_boolean();
    is_name || is_old_required || value.is_null() || key == "type" && value.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("any"))
}

/// The types that are meant: those of JSON Schema, in any case or as a language calls them.
fn types(value: &Value) -> Option<Value> {
    let one = |value: &Value| {
        let word = value.as_str()?.to_ascii_lowercase();
        Some(match word.as_str() {
            "string" | "str" | "text" => "string",
            "integer" | "int" | "int32" | "int64" | "long" => "integer",
            "number" | "float" | "double" => "number",
            "boolean" | "bool" => "boolean",
            "array" | "list" => "array",
            "object" | "dict" | "map" => "object",
            "null" | "none" => "null",
            _ => return None,
        })
    };
    let Value::Array(list) = value else { return one(value).map(Value::from) };
    let mut read: Vec<&str> = list.iter().map(one).collect::<Option<_>>()?;
    read.sort_unstable();
    read.dedup();
    match read.as_slice() {
        [] => None,
        [only] => Some(Value::from(*only)),
        several => Some(json!(several)),
    }
}

/// Before draft 4, a property itself said that it is required.
fn required_by_properties(keys: &Map<String, Value>, read: &mut Map<String, Value>) {
    let properties = keys.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flatten().filter(|(_, part)| part.get("required") == Some(&Value::Bool(true)));
    for (name, _) in names {
        if let Some(required) = read.entry("required").or_insert_with(|| json!([])).as_array_mut()
            && !required.iter().any(|known| known == name)
        {
            required.push(name.clone().into());
        }
    }
}

/// Up to draft 4, `exclusiveMinimum` is true or false, and says how `minimum` is meant.
fn exclude(read: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    if let Some(Value::Bool(excludes)) = read.get(exclusive).cloned() {
        read.shift_remove(exclusive);
        if let Some(bound) = if excludes { read.shift_remove(bound) } else { None } {
            read.insert(exclusive.to_owned(), bound);
        }
    }
}

/// OpenAPI's `nullable`.
fn allow_null(read: &mut Map<String, Value>) {
    match read.get_mut("type") {
        Some(Value::Array(list)) if !list.contains(&json!("null")) => list.push(json!("null")),
        Some(kind @ Value::String(_)) => *kind = json!([kind, "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) =
        read.get_mut("enum").filter(|values| values.as_array().is_some_and(|list| !list.contains(&Value::Null)))
    {
        values.push(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema_problems;
    use super::*;

    fn property(schema: Value) -> Value {
        json!({ "type": "object", "properties": { "x": schema }, "additionalProperties": false })
    }

    #[test]
    fn what_has_one_meaning_is_read_so() {
        for (schema, fits, misfits) in [
            (property(json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true })), json!(1), json!(0)),
            (property(json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": false })), json!(0), json!(-1)),
            (property(json!({ "type": "STRING" })), json!("a"), json!(1)),
            (property(json!({ "type": "int" })), json!(1), json!("a")),
            (property(json!({ "type": "string", "nullable": true })), Value::Null, json!(1)),
            (property(json!({ "type": "string", "enum": ["a"], "nullable": true })), Value::Null, json!("b")),
            (property(json!({ "type": "array", "items": [{ "type": "integer" }], "additionalItems": false })), json!([1]), json!(["a"])),
            (property(json!({ "$ref": "#/definitions/q", "definitions": null })), json!({}), json!("never")),
        ] {
            let mut schema = schema;
            schema["definitions"] = json!({ "q": { "type": "object" } });
            let read = checkable(&schema);
            assert_eq!(read.left_out, [""; 0], "{schema}");
            assert_eq!(schema_problems(&read.schema, &json!({ "x": fits })), [""; 0], "{schema}");
            assert!(!schema_problems(&read.schema, &json!({ "x": misfits })).is_empty(), "{schema}");
        }
        let old =
            json!({ "$schema": "http://json-schema.org/draft-03/schema#", "properties": { "x": { "type": "string", "required": true } } });
        assert_eq!(schema_problems(&checkable(&old).schema, &json!({})).len(), 1);
    }

    #[test]
    fn what_only_the_server_can_check_is_left_to_it_and_named() {
        let open = [
            (json!({ "type": "string", "pattern": "^(?=.*[0-9]).{8,}$" }), "\"pattern\" of x"),
            (json!({ "type": "string", "pattern": "(" }), "\"pattern\" of x"),
            (json!({ "$ref": "https://example.com/x.json" }), "\"$ref\" of x"),
            (json!({ "$ref": "#/$defs/none" }), "\"$ref\" of x"),
            (json!({ "type": "file" }), "\"type\" of x"),
            (json!({ "minLength": "one" }), "\"minLength\" of x"),
            (json!({ "multipleOf": 0 }), "\"multipleOf\" of x"),
            (json!({ "items": "string" }), "\"items\" of x"),
            (json!({ "anyOf": [] }), "\"anyOf\" of x"),
            (json!({ "enum": "a" }), "\"enum\" of x"),
        ];
        for (schema, named) in open {
            let read = checkable(&property(schema.clone()));
            assert_eq!(read.left_out, [named], "{schema}");
            assert_eq!(schema_problems(&read.schema, &json!({ "x": "any" })), [""; 0], "{schema}");
            assert!(!schema_problems(&read.schema, &json!({ "y": 1 })).is_empty(), "what can be checked is: {schema}");
            let told = read.schema["properties"]["x"]["description"].as_str().unwrap_or_default();
            assert!(told.starts_with("The server also checks"), "{schema}: {told}");
        }
    }

    #[test]
    fn words_of_a_schema_are_cleaned_and_what_says_nothing_is_left_out_in_silence() {
        let read = checkable(&json!({
            "$schema": "https://example.com/our-own", "$id": "https://example.com/a", "type": null, "required": null,
            "properties": { "x": { "description": "a\u{e0041}b\u{202e}c", "type": "any", "format": "our-own" } },
        }));
        assert_eq!(read.left_out, [""; 0]);
        assert_eq!(read.schema, json!({ "properties": { "x": { "description": "abc", "format": "our-own" } } }));
        let misplaced = checkable(&json!({ "type": "object", "properties": { "coin": { "type": "string" }, "required": ["coin"] } }));
        assert_eq!(misplaced.schema["properties"], json!({ "coin": { "type": "string" } }));
        assert_eq!(checkable(&json!("text")).schema, json!({}));
    }

    #[test]
    fn a_tree_that_refers_to_itself_stays_whole() {
        let node = json!({ "type": "object", "properties": { "inner": { "$ref": "#/$defs/node" } }, "additionalProperties": false });
        let read = checkable(&json!({ "type": "object", "$defs": { "node": node }, "properties": { "x": { "$ref": "#/$defs/node" } } }));
        assert_eq!(schema_problems(&read.schema, &json!({ "x": { "inner": { "inner": {} } } })), [""; 0]);
        assert!(!schema_problems(&read.schema, &json!({ "x": { "inner": { "other": 1 } } })).is_empty());
    }
}
