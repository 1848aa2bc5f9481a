//! Shapes of values, as the engine asks for them: see `gate::shape`.

use serde_json::{Value, json};

pub(crate) use crate::gate::schema_problems as problems;
pub(crate) use crate::gate::shape::{field_schema, json_in, object_schema, schema};

/// What a judge answers.
pub(crate) fn verdicts_schema(ids: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": { "verdicts": { "type": "array", "items": {
            "type": "object",
            "properties": {
                "id": { "enum": ids },
                "passed": { "type": "boolean" },
                "feedback": { "type": "string" },
                "evidence": { "type": "string" },
            },
            "required": ["id", "passed", "feedback", "evidence"],
            "additionalProperties": false,
        } } },
        "required": ["verdicts"],
        "additionalProperties": false,
    })
}
