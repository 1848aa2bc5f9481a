//! Shapes of values, as the engine uses them; see `gate::shape`.

use serde_json::Value;

pub(crate) use crate::gate::schema_problems as problems;
pub(crate) use crate::gate::shape::{field_schema, object_schema, schema};

/// An object with the fields of another, too.
pub(crate) fn joined(mut own: Value, more: Value) -> Value {
    if let (Value::Object(own), Value::Object(more)) = (&mut own, more) {
        own.extend(more);
    }
    own
}

/// Removes a field from the schema of an object. Returns whether the field was required.
pub(crate) fn take_out(schema: &mut Value, field: &str) -> bool {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove(field);
    }
    let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) else { return false };
    let before = required.len();
    required.retain(|name| name != field);
    required.len() < before
}
