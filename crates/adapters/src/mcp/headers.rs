//! Headers that repeat arguments of a call, for servers behind a web address.

use std::collections::BTreeMap;

use base64::Engine;
use serde_json::Value;

/// Encodes a value for a header: as it is, or as Base64 between the protocol's markers.
pub(super) fn header_value(value: &str) -> String {
    let is_plain = !value.is_empty()
        && value.chars().all(|c| (' '..='~').contains(&c))
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if is_plain { value.to_owned() } else { format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(value)) }
}

/// Collects the headers that repeat arguments of a call, as the tool's schema requires (`x-mcp-header`).
pub(super) fn repeated(schema: &Value, arguments: &Value, found: &mut BTreeMap<String, String>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let Some(value) = arguments.get(name) else { continue };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str).filter(|header| is_token(header)) {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                _ => continue,
            };
            found.insert(header.to_owned(), text);
        }
        repeated(property, value, found);
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() < 100 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Why a tool cannot be called over HTTP: its schema requires an invalid header. `None` if all headers are valid.
pub(super) fn wrong_header(schema: &Value) -> Option<String> {
    fn look(schema: &Value, is_property: bool, seen: &mut Vec<String>) -> Option<String> {
        if let Some(header) = schema.get("x-mcp-header") {
            let is_primitive = matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"));
            let name = header.as_str().filter(|header| is_token(header)).map(str::to_ascii_lowercase);
            match name {
                None => return Some(format!("x-mcp-header {header} is not a header name")),
                Some(_) if !is_property || !is_primitive => {
                    return Some(format!("x-mcp-header {header} needs a property of type string, integer or boolean"));
                }
                Some(name) if seen.contains(&name) => return Some(format!("x-mcp-header {header} is used twice")),
                Some(name) => seen.push(name),
            }
        }
        let inner = schema.as_object()?.iter().filter(|(key, _)| !["default", "const", "enum", "examples"].contains(&key.as_str()));
        inner.map(|(key, value)| (key.as_str(), value)).find_map(|(key, value)| match (key, value) {
            ("properties", Value::Object(map)) => map.values().find_map(|schema| look(schema, true, seen)),
            ("$defs" | "definitions" | "dependentSchemas" | "patternProperties", Value::Object(map)) => {
                map.values().find_map(|schema| look(schema, false, seen))
            }
            (_, Value::Array(list)) => list.iter().find_map(|schema| look(schema, false, seen)),
            (_, schema) => look(schema, false, seen),
        })
    }
    look(schema, false, &mut vec![])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_that_cannot_be_sent_are_found_wherever_they_stand() {
        let object = |property: Value| json!({ "type": "object", "properties": { "a": property } });
        let text = |header: Value| json!({ "type": "string", "x-mcp-header": header });
        let twice = json!({ "type": "object", "properties": { "a": text(json!("Region")), "b": text(json!("region")) } });
        let wrong = [
            object(text(json!(""))),
            object(text(json!("my header"))),
            object(text(json!("a:b"))),
            object(text(json!("R\u{e9}gion"))),
            object(text(json!(7))),
            object(json!({ "type": "number", "x-mcp-header": "X" })),
            object(json!({ "type": "array", "x-mcp-header": "X" })),
            object(json!({ "x-mcp-header": "X" })),
            object(json!({ "type": "array", "items": text(json!("X")) })),
            json!({ "type": "object", "anyOf": [object(json!({ "type": "object", "items": text(json!("X")) }))] }),
            json!({ "type": "string", "x-mcp-header": "X" }),
            twice,
        ];
        for schema in wrong {
            assert!(wrong_header(&schema).is_some(), "{schema}");
        }
        let fine = [
            object(text(json!("Region"))),
            object(json!({ "type": "object", "properties": { "b": text(json!("Region")) } })),
            object(json!({ "type": "string", "default": { "x-mcp-header": "" } })),
            json!({ "type": "object", "properties": { "x": { "type": "integer", "x-mcp-header": "N" }, "y": { "type": "boolean", "x-mcp-header": "M" } } }),
        ];
        for schema in fine {
            assert_eq!(wrong_header(&schema), None, "{schema}");
        }
    }
}
