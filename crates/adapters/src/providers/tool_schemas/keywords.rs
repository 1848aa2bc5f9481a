//! What keywords of schemas are about, and which of them a form has.

use serde_json::{Map, Value, json};

use crate::diagnostic::cut;

/// Maximum number of characters of a keyword that is described.
const LONGEST_WORDS: usize = 400;

/// The form of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::providers) enum SchemaForm {
    /// The part of JSON Schema that OpenAI, Anthropic, Mistral, DeepSeek, Groq, llama.cpp and Ollama all accept. It is sent to every endpoint that is
    /// not known to need the other form, since any of them may be behind a router.
    JsonSchema,
    /// The OpenAPI subset of Gemini: one type per schema, no references, no unions of types, texts only in `enum`.
    Gemini,
}

/// Adds sentences to the description of a schema. A union in Gemini's form has none, so its ways have it.
pub(super) fn describe(schema: &mut Value, sentences: &[String], form: SchemaForm) {
    if let (SchemaForm::Gemini, Some(ways)) = (form, schema.get_mut("anyOf").and_then(Value::as_array_mut)) {
        return ways.iter_mut().for_each(|way| describe(way, sentences, form));
    }
    let Some(keys) = schema.as_object_mut().filter(|_| !sentences.is_empty()) else { return };
    let own = keys.get("description").and_then(Value::as_str).filter(|own| !own.is_empty()).map(str::to_owned);
    let all = own.into_iter().chain(sentences.iter().cloned()).collect::<Vec<_>>().join(" ");
    keys.insert("description".to_owned(), all.into());
}

/// The type of values that a keyword is about, and whether a schema of this form may have it. `None`: no endpoint is sent it.
pub(super) fn concerns(key: &str, form: SchemaForm) -> Option<&'static str> {
    let is_json_schema = form == SchemaForm::JsonSchema;
    Some(match key {
        "type" | "title" | "description" | "enum" | "anyOf" => "",
        "nullable" if !is_json_schema => "",
        "default" if is_json_schema => "",
        "properties" | "required" => "object",
        "additionalProperties" if is_json_schema => "object",
        "items" | "minItems" | "maxItems" => "array",
        "uniqueItems" if is_json_schema => "array",
        "minLength" | "maxLength" | "pattern" | "format" => "string",
        "minimum" | "maximum" => "number",
        "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" if is_json_schema => "number",
        _ => return None,
    })
}

/// Keywords that constrain nothing, and are left out without a word.
pub(super) fn says_nothing(key: &str, value: &Value) -> bool {
    let is_note =
        matches!(key, "$schema" | "$id" | "id" | "$anchor" | "$comment" | "$vocabulary" | "$dynamicAnchor" | "$defs" | "definitions")
            || matches!(key, "examples" | "example" | "deprecated" | "readOnly" | "writeOnly" | "nullable" | "title");
    let is_open = value.is_null() || *value == json!({}) || *value == Value::Bool(true);
    is_note || key.starts_with("x-") || key.ends_with("Properties") && is_open || key == "additionalProperties"
}

/// Formats of texts that endpoints know.
pub(super) fn is_known_format(format: &str, form: SchemaForm) -> bool {
    match form {
        SchemaForm::JsonSchema => {
            matches!(format, "date-time" | "time" | "date" | "duration" | "email" | "hostname" | "ipv4" | "ipv6" | "uuid")
        }
        SchemaForm::Gemini => matches!(format, "date-time" | "enum"),
    }
}

/// Whether every endpoint can read a regular expression: llama.cpp wants both anchors and knows no classes, OpenAI and Anthropic no look-around.
pub(super) fn is_plain_pattern(pattern: &str) -> bool {
    let inner = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$'));
    inner.is_some_and(|inner| !inner.contains("(?") && !inner.contains(['\\', '^', '$']))
}

/// The types that a `type` names.
pub(super) fn types_of(keys: &Map<String, Value>) -> Vec<String> {
    match keys.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![],
    }
}

/// The type of a value.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value of a type may be of another: a whole number is a number.
pub(super) fn is_a(kind: &str, wanted: &str) -> bool {
    wanted.is_empty() || kind == wanted || kind == "integer" && wanted == "number"
}

/// The ways of a union that any value fits.
pub(super) fn every_type(form: SchemaForm) -> Value {
    match form {
        SchemaForm::JsonSchema => json!([
            { "type": "string" }, { "type": "number" }, { "type": "boolean" },
            { "type": "object", "properties": {} }, { "type": "array", "items": {} },
        ]),
        SchemaForm::Gemini => json!([
            { "type": "string" }, { "type": "number" }, { "type": "boolean" },
            { "type": "object" }, { "type": "array", "items": { "type": "string" } },
        ]),
    }
}

/// The types that keywords are about, where none is named.
pub(super) fn implied(keys: &Map<String, Value>) -> Vec<String> {
    if let Some(values) = keys.get("enum").and_then(Value::as_array) {
        let mut types: Vec<String> = vec![];
        for kind in values.iter().map(type_of) {
            if !types.iter().any(|known| known == kind) {
                types.push(kind.to_owned());
            }
        }
        return types;
    }
    let about = |wanted: &str| keys.keys().any(|key| concerns(key, SchemaForm::JsonSchema) == Some(wanted));
    let found: Vec<String> = ["object", "array", "string", "number"].into_iter().filter(|kind| about(kind)).map(str::to_owned).collect();
    if found.len() == 1 { found } else { vec![] }
}

/// What a keyword demands, as a sentence.
pub(super) fn in_words(key: &str, value: &Value) -> String {
    if key == "default" {
        return format!("Default: {}.", cut(&value.to_string(), LONGEST_WORDS));
    }
    format!("Must also fit {}.", cut(&format!("\"{key}\": {value}"), LONGEST_WORDS))
}
