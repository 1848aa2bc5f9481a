//! Schemas of servers, held to what families of endpoints are known to reject.

use super::*;
use crate::providers::tool_schemas::{SchemaForm, accepted, as_the_server_names, fitted};

/// Shapes that servers give and some family rejects.
#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn members() -> Vec<(&'static str, Value)> {
    let property = |schema: Value| json!({ "type": "object", "properties": { "x": schema } });
    let tree = json!({ "type": "object", "properties": { "name": { "type": "string" },
        "children": { "type": "array", "items": { "$ref": "#/$defs/node" } } } });
    vec![
        ("empty", json!({})),
        ("only a type", json!({ "type": "object" })),
        ("no type", json!({ "properties": { "x": { "type": "string" } } })),
        ("type null", json!({ "type": null, "properties": {} })),
        ("only a version", json!({ "$schema": "http://json-schema.org/draft-07/schema#", "title": "None", "type": "object" })),
        ("required without properties", json!({ "type": "object", "required": ["x"] })),
        ("required null", json!({ "type": "object", "properties": {}, "required": null })),
        ("required twice", json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x", "x"] })),
        ("a property called properties", json!({ "type": "object", "properties": { "properties": { "type": "object" }, "required": {} } })),
        (
            "one of the keys",
            json!({ "type": "object", "anyOf": [{ "required": ["id"] }, { "required": ["name"] }],
            "properties": { "id": { "type": "string" }, "name": { "type": "string" } } }),
        ),
        (
            "a union of objects",
            json!({ "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "a" }, "a": { "type": "string" } }, "required": ["kind", "a"] },
            { "type": "object", "properties": { "kind": { "const": "b" }, "b": { "type": "integer" } }, "required": ["kind"] }] }),
        ),
        (
            "all of",
            json!({ "allOf": [{ "$ref": "#/$defs/base" }, { "properties": { "y": { "type": "string" } }, "required": ["y"] }],
            "$defs": { "base": { "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] } } }),
        ),
        ("not", json!({ "type": "object", "properties": {}, "not": { "required": ["x", "y"] } })),
        ("if", json!({ "type": "object", "properties": {}, "if": { "required": ["x"] }, "then": { "required": ["y"] } })),
        ("dependent", json!({ "type": "object", "properties": {}, "dependentRequired": { "x": ["y"] } })),
        (
            "odd keys",
            json!({ "type": "object", "properties": { "$filter": { "type": "string" }, "filter[id]": true, "_filter": {},
            "user name": { "type": "string" } }, "required": ["$filter"] }),
        ),
        ("a long key", json!({ "type": "object", "properties": { "a".repeat(70): {}, "a".repeat(71): {} } })),
        ("an empty key", json!({ "type": "object", "properties": { "": { "type": "string" } } })),
        ("a list of anything", property(json!({ "type": "array" }))),
        ("a list of true", property(json!({ "type": "array", "items": true }))),
        ("a tuple", property(json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }], "items": false }))),
        ("an old tuple", property(json!({ "type": "array", "items": [{ "type": "number" }, { "type": "number" }] }))),
        ("a boolean schema", property(json!(true))),
        ("a closed property", property(json!(false))),
        ("no type, described", property(json!({ "description": "Any value." }))),
        ("no type, with a default", property(json!({ "default": 5 }))),
        ("a map", property(json!({ "type": "object", "additionalProperties": { "type": "string" } }))),
        ("a map of anything", property(json!({ "type": "object", "additionalProperties": {} }))),
        ("a map by pattern", property(json!({ "type": "object", "patternProperties": { "^x-": { "type": "string" } } }))),
        ("names of properties", property(json!({ "type": "object", "propertyNames": { "pattern": "^[a-z]+$" } }))),
        (
            "a reference",
            json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/q", "description": "What." } },
            "$defs": { "q": { "type": "object", "properties": { "limit": { "type": "integer", "default": 20 } } } } }),
        ),
        ("an old reference", json!({ "properties": { "x": { "$ref": "#/definitions/q" } }, "definitions": { "q": { "enum": ["a"] } } })),
        ("a tree", json!({ "type": "object", "properties": { "tree": { "$ref": "#/$defs/node" } }, "$defs": { "node": tree } })),
        ("the root again", json!({ "type": "object", "properties": { "inner": { "$ref": "#" } } })),
        (
            "a circle",
            json!({ "properties": { "x": { "$ref": "#/$defs/a" } }, "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        ),
        (
            "a circle of all",
            json!({ "properties": { "x": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/a" }], "properties": { "y": { "allOf": [{ "$ref": "#/$defs/a" }] } } } } }),
        ),
        ("two types", property(json!({ "type": ["string", "integer"], "minLength": 1, "minimum": 0 }))),
        ("a text or nothing", property(json!({ "type": ["string", "null"], "default": null }))),
        ("a list or nothing", property(json!({ "type": ["array", "null"], "items": { "type": "string" } }))),
        ("nothing by a union", property(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "description": "Who." }))),
        ("nothing at all", property(json!({ "type": "null" }))),
        (
            "unions inside each other",
            property(json!({ "anyOf": [{ "anyOf": [{ "type": "string" }, { "type": "integer" }] }, { "type": "null" }] })),
        ),
        ("an optional one of zod", property(json!({ "anyOf": [{ "not": {} }, { "type": "string" }] }))),
        ("a union beside a type", property(json!({ "type": "string", "anyOf": [{ "format": "date" }, { "format": "date-time" }] }))),
        (
            "a union beside properties",
            property(json!({ "type": "object", "properties": { "y": { "type": "string" } },
            "anyOf": [{ "required": ["y"] }, { "properties": { "z": { "type": "string" } }, "required": ["z"] }] })),
        ),
        ("one way", property(json!({ "oneOf": [{ "type": "string" }], "description": "One." }))),
        ("a constant", property(json!({ "const": "fixed" }))),
        ("a constant number", property(json!({ "const": 5 }))),
        ("numbers listed", property(json!({ "type": "integer", "enum": [1, 2, 2] }))),
        ("a list with nothing", property(json!({ "enum": ["a", null] }))),
        ("an empty list", property(json!({ "type": "string", "enum": [] }))),
        ("mixed values", property(json!({ "enum": ["a", 1] }))),
        ("formats", property(json!({ "type": "string", "format": "uri" }))),
        ("a format of numbers", property(json!({ "type": "integer", "format": "uint32" }))),
        ("a pattern without anchors", property(json!({ "type": "string", "pattern": "[a-z]+" }))),
        ("a pattern with classes", property(json!({ "type": "string", "pattern": "^\\d{4}$" }))),
        ("a pattern that looks ahead", property(json!({ "type": "string", "pattern": "^(?!00)[0-9]+$" }))),
        ("a long text", property(json!({ "type": "string", "maxLength": 65536 }))),
        ("bounds", property(json!({ "type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5 }))),
        ("items of no list", property(json!({ "type": "string", "items": { "type": "string" } }))),
        ("unknown keywords", property(json!({ "type": "string", "x-order": 1, "endsWith": ".json", "deprecated": true, "example": "a" }))),
    ]
}

type Complaint = Option<String>;

/// Visits each schema inside a schema with its depth.
fn each<'s>(schema: &'s Value, depth: usize, visit: &mut dyn FnMut(&'s serde_json::Map<String, Value>, usize) -> Complaint) -> Complaint {
    let Some(keys) = schema.as_object() else { return Some(format!("not a schema: {schema}")) };
    if let Some(complaint) = visit(keys, depth) {
        return Some(format!("{complaint}: {schema}"));
    }
    let inner = keys.get("properties").and_then(Value::as_object).into_iter().flat_map(|properties| properties.values());
    let inner = inner.chain(keys.get("items")).chain(keys.get("additionalProperties").filter(|one| one.is_object()));
    inner.chain(keys.get("anyOf").and_then(Value::as_array).into_iter().flatten()).find_map(|part| each(part, depth + 1, visit))
}

fn has_type(keys: &serde_json::Map<String, Value>, kind: &str) -> bool {
    keys.get("type").is_some_and(|own| own == kind || own.as_array().is_some_and(|list| list.iter().any(|one| one == kind)))
}

/// What all families want: OpenAI (strict or not), DeepSeek, Groq, Mistral.
fn complaint_of_all(schema: &Value, form: SchemaForm) -> Complaint {
    each(schema, 0, &mut |keys, depth| {
        let has = |key: &str| keys.contains_key(key);
        if depth == 0 && keys.get("type") != Some(&json!("object")) {
            return Some("schema must be of type object".into());
        }
        if depth == 0 && ["anyOf", "oneOf", "allOf", "enum", "not", "if", "then", "else", "const"].iter().any(|key| has(key)) {
            return Some("not allowed at the top level".into());
        }
        if has_type(keys, "object") && !has("properties") && form == SchemaForm::JsonSchema {
            return Some("object schema missing properties".into());
        }
        if has_type(keys, "array") && !has("items") {
            return Some("array schema missing items".into());
        }
        let required =
            keys.get("required").map(|names| names.as_array().cloned().unwrap_or_else(|| vec![json!("no list")])).unwrap_or_default();
        let known = |name: &Value| keys["properties"].as_object().is_some_and(|all| all.contains_key(name.as_str().unwrap_or_default()));
        if !required.iter().all(known) || required.len() > 1 && required[0] == required[1] {
            return Some("required fields are not defined".into());
        }
        if ["$ref", "$defs", "definitions", "$schema", "allOf", "oneOf", "not", "const", "prefixItems"].iter().any(|key| has(key)) {
            return Some("a keyword that some family does not know".into());
        }
        keys.get("enum").filter(|list| list.as_array().is_none_or(Vec::is_empty)).map(|_| "enum should be non-empty".into())
    })
}

/// Anthropic: names of arguments.
fn complaint_of_anthropic(schema: &Value) -> Complaint {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    schema["properties"].as_object()?.keys().find(|key| !(1..=64).contains(&key.len()) || !key.chars().all(is_fine)).cloned()
}

/// llama.cpp's grammars.
fn complaint_of_llama(schema: &Value) -> Complaint {
    each(schema, 0, &mut |keys, _| {
        let is_open = keys.is_empty() || ["type", "anyOf", "enum"].iter().any(|key| keys.contains_key(*key));
        if !is_open {
            return Some("Unrecognized schema".into());
        }
        let is_odd =
            |pattern: &&str| !pattern.starts_with('^') || !pattern.ends_with('$') || pattern.contains('\\') || pattern.contains("(?");
        if keys.get("pattern").and_then(Value::as_str).filter(is_odd).is_some() {
            return Some("pattern".into());
        }
        let too_many = ["minLength", "maxLength", "minItems", "maxItems"]
            .iter()
            .any(|key| keys.get(*key).is_some_and(|most| most.as_u64() > Some(2_000)));
        too_many.then(|| "number of repetitions exceeds sane defaults".into())
    })
}

/// Gemini: what its proto of a schema has.
fn complaint_of_gemini(schema: &Value) -> Complaint {
    let known = [
        "type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties", "required", "minimum",
        "maximum", "minLength", "maxLength", "pattern", "anyOf",
    ];
    each(schema, 0, &mut |keys, _| {
        if let Some(key) = keys.keys().find(|key| !known.contains(&key.as_str())) {
            return Some(format!("Unknown name \"{key}\""));
        }
        match (keys.get("type"), keys.get("anyOf")) {
            (None, None) => return Some("schema didn't specify the schema type field".into()),
            (_, Some(_)) if keys.len() > 1 => return Some("any_of must be the only field set".into()),
            (Some(Value::Array(_)), _) => return Some("Proto field is not repeating, cannot start list".into()),
            _ => {}
        }
        if keys.get("properties").is_some_and(|all| *all == json!({})) {
            return Some("properties should be non-empty for OBJECT type".into());
        }
        if keys.contains_key("items") && !has_type(keys, "array") {
            return Some("field predicate failed: $type == Type.ARRAY".into());
        }
        let is_wrong =
            keys.get("enum").is_some_and(|list| !has_type(keys, "string") || !list.as_array().unwrap().iter().all(Value::is_string));
        is_wrong.then(|| "enum: only allowed for STRING type".into())
    })
}

#[test]
fn every_family_accepts_every_schema() {
    for (name, schema) in members() {
        let (sent, _) = fitted(&schema, SchemaForm::JsonSchema);
        for complaint in [complaint_of_all(&sent, SchemaForm::JsonSchema), complaint_of_anthropic(&sent), complaint_of_llama(&sent)] {
            assert_eq!(complaint, None, "{name}: {sent}");
        }
        let (sent, _) = fitted(&schema, SchemaForm::Gemini);
        for complaint in [complaint_of_all(&sent, SchemaForm::Gemini), complaint_of_anthropic(&sent), complaint_of_gemini(&sent)] {
            assert_eq!(complaint, None, "{name}: {sent}");
        }
        // What was made fits, and is not changed again.
        assert_eq!(
            fitted(&fitted(&schema, SchemaForm::JsonSchema).0, SchemaForm::JsonSchema).0,
            fitted(&schema, SchemaForm::JsonSchema).0,
            "{name}"
        );
    }
}

#[test]
fn the_complaints_are_heard_of_schemas_as_servers_give_them() {
    let heard = |name: &str| {
        let schema = members().into_iter().find(|(known, _)| *known == name).unwrap().1;
        [
            complaint_of_all(&schema, SchemaForm::JsonSchema).is_some(),
            complaint_of_anthropic(&schema).is_some(),
            complaint_of_llama(&schema).is_some(),
            complaint_of_gemini(&schema).is_some(),
        ]
    };
    assert_eq!(heard("only a type"), [true, false, false, false]);
    assert_eq!(heard("one of the keys"), [true, false, true, true]);
    assert_eq!(heard("odd keys"), [true, true, true, true]);
    assert_eq!(heard("a pattern without anchors"), [false, false, true, false]);
    assert_eq!(heard("two types"), [false, false, false, true]);
    assert_eq!(heard("a list of anything"), [true, false, false, false]);
}

#[test]
fn what_a_form_cannot_say_is_described() {
    let sent = |name: &str, form| {
        let (_, schema) = members().into_iter().find(|(known, _)| *known == name).unwrap();
        fitted(&schema, form).0
    };
    let common = |name: &str| sent(name, SchemaForm::JsonSchema);
    let gemini = |name: &str| sent(name, SchemaForm::Gemini);
    assert_eq!(common("only a type"), json!({ "type": "object", "properties": {} }));
    assert_eq!(gemini("only a type"), json!({ "type": "object" }));
    assert_eq!(common("one of the keys")["description"], "Must also fit \"anyOf\": [{\"required\":[\"id\"]},{\"required\":[\"name\"]}].");
    let union = common("a union of objects");
    assert_eq!((&union["required"], union["properties"].as_object().unwrap().len()), (&json!(["kind"]), 3));
    assert_eq!(union["properties"]["kind"], json!({ "anyOf": [{ "type": "string", "enum": ["a"] }, { "type": "string", "enum": ["b"] }] }));
    assert_eq!(common("all of")["required"], json!(["x", "y"]));
    assert_eq!(common("a pattern that looks ahead")["properties"]["x"]["description"], "Must also fit \"pattern\": \"^(?!00)[0-9]+$\".");
    assert_eq!(common("a reference")["properties"]["x"]["properties"]["limit"], json!({ "type": "integer", "default": 20 }));
    assert_eq!(
        gemini("a reference")["properties"]["x"]["properties"]["limit"],
        json!({ "type": "integer", "description": "Default: 20." })
    );
    assert_eq!(
        common("a tree")["properties"]["tree"]["properties"]["children"]["items"],
        json!({ "type": "object", "properties": {}, "description": "It has the form of node." })
    );
    assert_eq!(common("a text or nothing")["properties"]["x"], json!({ "type": ["string", "null"], "default": null }));
    assert_eq!(gemini("a list or nothing")["properties"]["x"], json!({ "type": "array", "items": { "type": "string" }, "nullable": true }));
    assert_eq!(gemini("nothing by a union")["properties"]["x"], json!({ "type": "string", "description": "Who.", "nullable": true }));
    assert_eq!(common("an optional one of zod")["properties"]["x"], json!({ "type": "string" }));
    assert_eq!(gemini("numbers listed")["properties"]["x"], json!({ "type": "integer", "description": "Must also fit \"enum\": [1,2]." }));
    assert_eq!(
        common("unknown keywords")["properties"]["x"],
        json!({ "type": "string", "description": "Must also fit \"endsWith\": \".json\"." })
    );
}

#[test]
fn schemas_that_all_endpoints_accept_are_sent_as_they_are() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string", "description": "Where." }, "day": { "type": "string", "format": "date" },
        "count": { "type": "integer", "minimum": 1, "maximum": 9 } }, "required": ["city"], "additionalProperties": false });
    assert_eq!(fitted(&schema, SchemaForm::JsonSchema).0, schema);
}

#[test]
fn a_call_has_the_names_of_the_server() {
    let parameters = json!({ "type": "object", "properties": { "$filter": { "type": "string" }, "_filter": { "type": "string" } }, "required": ["$filter"] });
    let offered = Arc::new(ToolDescription { parameters, ..(*tool()).clone() });
    let call = ToolCall { id: "c1".into(), tool: offered.name.clone(), arguments: json!({ "$filter": "a", "_filter": "b" }) };
    let said = Message { role: MessageRole::Assistant, calls: vec![call.clone()], ..Message::default() };
    let request = ModelRequest {
        tools: vec![offered],
        messages: vec![Arc::new(said)],
        ..request(WireFormat::AnthropicMessages, "http://127.0.0.1:1".to_owned())
    };
    let (sent, renamed) = accepted(&request);
    assert_eq!(sent.tools[0].parameters["required"], json!(["_filter_2"]));
    assert_eq!(sent.tools[0].parameters["properties"]["_filter_2"]["description"], "Named \"$filter\" by the tool.");
    let arguments = json!({ "_filter_2": "a", "_filter": "b" });
    assert_eq!(sent.messages[0].calls[0].arguments, arguments);
    let reply = ModelReply { calls: vec![ToolCall { arguments, ..call.clone() }], ..ModelReply::default() };
    assert_eq!(as_the_server_names(reply, &renamed).calls, [call]);
}

#[test]
fn gemini_is_known_by_its_host_or_its_name() {
    let parameters = json!({ "type": "object" });
    let sent = |base_url: &str, model: &str| {
        let offered = Arc::new(ToolDescription { parameters: parameters.clone(), ..(*tool()).clone() });
        let request = ModelRequest { tools: vec![offered], model: model.into(), ..request(WireFormat::OpenAiChat, base_url.to_owned()) };
        accepted(&request).0.tools[0].parameters == parameters
    };
    assert!(sent("https://generativelanguage.googleapis.com/v1beta/openai", "m"));
    assert!(sent("https://europe-west1-aiplatform.googleapis.com/v1/x/openapi", "m"));
    assert!(sent("https://router.example/v1", "google/gemini-2.5-flash"));
    assert!(!sent("https://api.openai.com/v1", "gpt-4.1-mini"));
}
