//! The schemas that models are sent. What flow demands of an answer is in them, so that an endpoint that keeps to a schema makes no mistake of
//! shape, in what OpenAI's strict mode, Anthropic's tools and llama.cpp's grammars all take: every object lists its properties, requires
//! all of them and allows no others; what may be left out may be null. Flow's own texts have bounds here, so that a weak model comes to an
//! end; an answer that exceeds only these is still taken, since it is held to `shape::schema`.

use serde_json::{Map, Value, json};

use super::shape::field_schema;
use crate::model::{ArtefactKind, Field, FieldKind, PlanStrategy, SHORTEST_DESCRIPTION, Shape, Usable};
use strum::VariantNames;

/// Most characters of a reason, and of what a judge says of a criterion.
const LONGEST_REMARK: u64 = 300;
/// Most characters of what a planner says of one step.
const LONGEST_PROMPT: u64 = 500;
/// Most characters of a text of a plan that is data, and of a criterion.
const LONGEST_NOTE: u64 = 200;
/// Most steps of a plan that is data.
const MOST_DATA_STEPS: u64 = 6;
/// Most criteria of a scorecard that a model writes.
const MOST_CRITERIA: u64 = 5;
/// Ids: those of steps and criteria, and short ones.
const ID: &str = "^[a-z][a-z0-9_]{0,29}$";
/// Keywords that do not go into the common subset; a schema with one of them is sent as it is.
const OUTSIDE: [&str; 10] =
    ["$ref", "$defs", "allOf", "oneOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas", "unevaluatedProperties"];

/// The schema of a shape, for a model.
pub fn wanted(shape: &Shape) -> Value {
    match shape {
        Shape::Schema(schema) => (**schema).clone(),
        Shape::Fields(fields) => of_fields(fields),
    }
}

fn of_fields(fields: &[Field]) -> Value {
    closed(fields.iter().map(|field| (field.name.clone(), of_field(field))))
}

fn of_field(field: &Field) -> Value {
    let mut schema = field_schema(field);
    let own = match field.kind {
        FieldKind::Plan => data_plan(),
        FieldKind::Scorecard => scorecard(),
        FieldKind::Object if !field.fields.is_empty() => of_fields(&field.fields),
        FieldKind::List => match &field.items {
            Some(items) => json!({ "items": of_field(items) }),
            None => return schema,
        },
        _ => return schema,
    };
    for (key, value) in own.as_object().into_iter().flatten().filter(|(key, _)| *key != "type") {
        schema[key] = value.clone();
    }
    schema
}

/// An object with these properties and no others, all of them required.
fn closed(properties: impl IntoIterator<Item = (impl Into<String>, Value)>) -> Value {
    let properties: Map<String, Value> = properties.into_iter().map(|(name, schema)| (name.into(), schema)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

fn text(longest: u64) -> Value {
    json!({ "type": "string", "maxLength": longest })
}

fn id() -> Value {
    json!({ "type": "string", "pattern": ID })
}

fn one_of(names: &[&str]) -> Value {
    json!({ "type": "string", "enum": names })
}

/// One of these schemas.
fn either(mut schemas: Vec<Value>) -> Value {
    if schemas.len() == 1 { schemas.remove(0) } else { json!({ "anyOf": schemas }) }
}

fn with_steps(step: Value, most_steps: u64) -> Value {
    closed([
        ("strategy", one_of(PlanStrategy::VARIANTS)),
        ("reasoning", text(LONGEST_REMARK)),
        ("steps", json!({ "type": "array", "minItems": 1, "maxItems": most_steps, "items": step })),
    ])
}

fn depends_on(most_steps: u64) -> Value {
    json!({ "type": "array", "maxItems": most_steps, "items": id() })
}

/// A plan that is a field of an output: data. What its steps use is not known, so arguments of tools are no part of it.
fn data_plan() -> Value {
    let uses = json!({ "type": "string", "minLength": 1, "maxLength": 60 });
    let step = [("id", id()), ("use", uses), ("prompt", text(LONGEST_NOTE)), ("depends_on", depends_on(MOST_DATA_STEPS))];
    with_steps(closed(step), MOST_DATA_STEPS)
}

/// A plan of a `plan` step: each step uses an agent, with a prompt, or a tool, with the arguments that it takes.
pub fn plan(usable: &[Usable], most_steps: u64) -> Value {
    let agents: Vec<&str> = usable.iter().filter(|usable| usable.takes.is_none()).map(|usable| usable.name.as_str()).collect();
    let of_agents =
        || closed([("id", id()), ("use", one_of(&agents)), ("prompt", text(LONGEST_PROMPT)), ("depends_on", depends_on(most_steps))]);
    let of_tool = |usable: &Usable| {
        let takes = usable.takes.as_ref()?;
        let name = one_of(&[&usable.name]);
        Some(closed([("id", id()), ("use", name), ("with", completed(&takes.schema)), ("depends_on", depends_on(most_steps))]))
    };
    let steps = (!agents.is_empty()).then(of_agents).into_iter().chain(usable.iter().filter_map(of_tool));
    with_steps(either(steps.collect()), most_steps)
}

/// A scorecard that a model writes: criteria that a judge is asked about, or that a check decides.
fn scorecard() -> Value {
    let described =
        || [("id", id()), ("description", json!({ "type": "string", "minLength": SHORTEST_DESCRIPTION, "maxLength": LONGEST_NOTE }))];
    let judged = [
        ("expected", json!({ "type": "string", "minLength": 1, "maxLength": LONGEST_NOTE })),
        ("judge", json!({ "type": "boolean", "enum": [true] })),
    ];
    let words = || json!({ "type": "string", "minLength": 1, "maxLength": 100 });
    let number = || json!({ "type": "integer", "minimum": 1, "maximum": 100_000 });
    let check = |name: &str, schema: Value| closed([(name, schema)]);
    let checks =
        vec![check("contains", words()), check("not_contains", words()), check("min_length", number()), check("max_length", number())];
    let criterion =
        either(vec![closed(described().into_iter().chain(judged)), closed(described().into_iter().chain([("check", either(checks))]))]);
    closed([("criteria", json!({ "type": "array", "minItems": 1, "maxItems": MOST_CRITERIA, "items": criterion }))])
}

/// What a judge answers: a verdict for each criterion.
pub fn verdicts(ids: &[&str]) -> Value {
    let one = || closed([("passed", json!({ "type": "boolean" })), ("feedback", text(LONGEST_REMARK)), ("evidence", text(LONGEST_REMARK))]);
    closed([("verdicts", closed(ids.iter().map(|id| (*id, one()))))])
}

/// A try of a task; one after others says what it makes of their failures.
pub fn artefact(kind: ArtefactKind, is_again: bool) -> Value {
    let code = || or_null(json!({ "type": "string" }));
    let own = match kind {
        ArtefactKind::Text => vec![("result", json!({ "type": "string", "minLength": 1 }))],
        ArtefactKind::Sql => vec![("sql_code", code()), ("reason_code_not_created", or_null(text(LONGEST_REMARK)))],
        ArtefactKind::Python => vec![
            ("python_code", code()),
            ("output_variables", json!({ "type": "array", "items": { "type": "string", "minLength": 1, "maxLength": 60 } })),
            ("is_malicious", json!({ "type": "boolean" })),
            ("result", code()),
        ],
    };
    let summary = is_again.then(|| ("summary_of_previous_failures", text(LONGEST_PROMPT)));
    closed(summary.into_iter().chain([("thought", text(LONGEST_PROMPT))]).chain(own))
}

/// Whether the work of a plan is done.
pub fn fulfilled() -> Value {
    closed([("fulfilled", json!({ "type": "boolean" })), ("progress", text(LONGEST_REMARK))])
}

/// A schema of others (what a tool takes) in the common subset. What may be left out may be null instead, and is left out then.
fn completed(schema: &Value) -> Value {
    if is_outside(schema) { schema.clone() } else { complete(schema) }
}

fn is_outside(schema: &Value) -> bool {
    match schema {
        Value::Object(keys) => keys.iter().any(|(key, value)| OUTSIDE.contains(&key.as_str()) || is_outside(value)),
        Value::Array(list) => list.iter().any(is_outside),
        _ => false,
    }
}

fn complete(schema: &Value) -> Value {
    let Value::Object(keys) = schema else { return schema.clone() };
    let mut keys = keys.clone();
    keys.retain(|key, _| !matches!(key.as_str(), "$schema" | "$id" | "default" | "examples" | "title"));
    if let Some(items) = keys.get_mut("items") {
        *items = complete(items);
    }
    for one in keys.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
        *one = complete(one);
    }
    let is_object = keys.contains_key("properties") || keys.get("type") == Some(&json!("object"));
    if !is_object {
        return Value::Object(keys);
    }
    let required = keys.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = keys.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let property = |(name, schema): (String, Value)| {
        let schema = complete(&schema);
        let schema = if required.iter().any(|one| *one == name) { schema } else { or_null(schema) };
        (name, schema)
    };
    if let Value::Object(whole) = closed(properties.into_iter().map(property)) {
        keys.extend(whole);
    }
    Value::Object(keys)
}

fn or_null(mut schema: Value) -> Value {
    match schema.get("type").cloned() {
        Some(Value::String(kind)) if schema.get("enum").is_none() && schema.get("const").is_none() => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        Some(Value::Array(kinds)) if kinds.contains(&json!("null")) => schema,
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}
