//! Shapes of values: field rules and JSON Schemas, as a schema for models, and as what a value is held to.

use serde_json::{Map, Value, json};

use crate::model::{Field, FieldKind, SHORTEST_DESCRIPTION, Shape};

/// The JSON Schema (2020-12) of a shape.
pub fn schema(shape: &Shape) -> Value {
    match shape {
        Shape::Schema(schema) => (**schema).clone(),
        Shape::Fields(fields) => object_schema(fields),
    }
}

/// The JSON Schema of an object with these fields.
pub fn object_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|f| (f.name.clone(), field_schema(f))).collect();
    let required: Vec<&str> = fields.iter().filter(|f| f.is_required).map(|f| f.name.as_str()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The schema of one field.
pub fn field_schema(field: &Field) -> Value {
    let mut schema = match field.kind {
        FieldKind::Text | FieldKind::File | FieldKind::Folder => json!({ "type": "string" }),
        FieldKind::Number => json!({ "type": "number" }),
        FieldKind::Integer => json!({ "type": "integer" }),
        FieldKind::Boolean => json!({ "type": "boolean" }),
        FieldKind::Date => json!({ "type": "string", "format": "date" }),
        FieldKind::Datetime => json!({ "type": "string", "format": "date-time" }),
        FieldKind::List => match &field.items {
            Some(items) => json!({ "type": "array", "items": field_schema(items) }),
            None => json!({ "type": "array" }),
        },
        FieldKind::Object if field.fields.is_empty() => json!({ "type": "object" }),
        FieldKind::Object => object_schema(&field.fields),
        FieldKind::Any => json!({}),
        FieldKind::Plan => plan_schema(),
        FieldKind::Scorecard => scorecard_schema(),
    };
    let lengths = if field.kind == FieldKind::List { ("minItems", "maxItems") } else { ("minLength", "maxLength") };
    let rules = [
        (lengths.0, field.min_length.map(Value::from)),
        (lengths.1, field.max_length.map(Value::from)),
        ("minimum", field.minimum.map(bound)),
        ("maximum", field.maximum.map(bound)),
        ("pattern", field.pattern.clone().map(Value::from)),
        ("format", field.format.clone().map(Value::from)),
        ("description", field.description.clone().map(Value::from)),
        ("enum", (!field.one_of.is_empty()).then(|| Value::from(field.one_of.clone()))),
    ];
    if let Value::Object(schema) = &mut schema {
        schema.extend(rules.into_iter().filter_map(|(key, value)| value.map(|v| (key.to_string(), v))));
        if !field.is_required
            && field.kind != FieldKind::Any
            && let Some(Value::String(kind)) = schema.get("type").cloned()
        {
            schema.insert("type".into(), json!([kind, "null"]));
            if let Some(Value::Array(one_of)) = schema.get_mut("enum") {
                one_of.push(Value::Null);
            }
        }
    }
    schema
}

/// A bound as people write it: 1, not 1.0.
fn bound(bound: f64) -> Value {
    if bound.fract() == 0.0 && bound.abs() < 1e15 { Value::from(bound as i64) } else { Value::from(bound) }
}

/// What `flow` knows by heart as `plan` (docs/language.md, section 6).
fn plan_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "strategy": { "enum": ["parallel", "sequential"] },
            "reasoning": { "type": "string" },
            "steps": { "type": "array", "minItems": 1, "items": {
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "use": { "type": "string" },
                    "with": { "type": "object" },
                    "prompt": { "type": "string" },
                    "depends_on": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["id", "use"],
            } },
        },
        "required": ["strategy", "reasoning", "steps"],
    })
}

/// What `flow` knows by heart as `scorecard` (docs/language.md, section 9).
fn scorecard_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "criteria": { "type": "array", "minItems": 1, "items": {
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "description": { "type": "string", "minLength": SHORTEST_DESCRIPTION },
                    "expected": { "type": "string" },
                    "judge": { "type": "boolean" },
                    "check": { "type": "object" },
                },
                "required": ["id", "description"],
            } },
        },
        "required": ["criteria"],
    })
}

/// Plans may call their `steps` `tasks`.
pub(crate) fn accept_tasks(shape: &Shape, value: &mut Value) {
    let Shape::Fields(fields) = shape else { return };
    for field in fields.iter().filter(|f| f.kind == FieldKind::Plan) {
        value.get_mut(&field.name).and_then(Value::as_object_mut).into_iter().for_each(tasks_as_steps);
    }
}

/// The same in one plan.
pub(crate) fn tasks_as_steps(plan: &mut serde_json::Map<String, Value>) {
    if !plan.contains_key("steps")
        && let Some(tasks) = plan.remove("tasks")
    {
        plan.insert("steps".into(), tasks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::schema_problems;

    #[test]
    fn a_plan_has_a_step_and_a_scorecard_a_criterion() {
        let found = |kind, value: Value| schema_problems(&field_schema(&Field::new("it", kind)), &value);
        assert_eq!(
            found(FieldKind::Plan, json!({"strategy": "parallel", "reasoning": "", "steps": []})),
            ["steps: [] has less than 1 item"]
        );
        assert_eq!(found(FieldKind::Scorecard, json!({"criteria": []})), ["criteria: [] has less than 1 item"]);
    }

    #[test]
    fn problems_name_the_place() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]});
        let problems = schema_problems(&schema, &json!({"a": "x"}));
        assert_eq!(problems, ["\"b\" is a required property", "a: \"x\" is not of type \"integer\""]);
    }
}
