//! Events as others may read them: no texts of prompts, replies, inputs or outputs.

use serde_json::Value;

use crate::event::Event;
use crate::redact::Redactor;

/// Fields that hold texts of people, models and tools.
const CONTENT: [&str; 16] = [
    "messages", "reply", "output", "outputs", "inputs", "person", "with", "result", "judged", "question", "original", "items", "feedback",
    "verdicts", "findings", "progress",
];

/// One event as a JSON object on one line; what is told of a failure is masked. Texts of people, models and tools are left out, or
/// `with_content`, masked.
pub fn public_line(event: &Event, redactor: &Redactor, with_content: bool) -> String {
    let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
    if with_content {
        return masked_line(value, redactor);
    }
    if let Value::Object(fields) = &mut value {
        for name in CONTENT {
            fields.remove(name);
        }
        if let Some(Value::Object(plan)) = fields.get_mut("plan") {
            plan.remove("reasoning");
            for step in plan.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
                step.remove("with");
                step.remove("prompt");
            }
        }
        for name in ["failure", "message", "cause", "target"] {
            if let Some(told) = fields.get_mut(name) {
                *told = redactor.redact_value(told);
            }
        }
        if let Some(Value::Object(details)) = fields.get_mut("details") {
            details.remove("verdicts");
            details.remove("plan");
        }
        if let Some(Value::Array(failed)) = fields.get_mut("failed") {
            failed.iter_mut().for_each(|v| *v = v["id"].take());
        }
    }
    value.to_string()
}

/// Everything is there, masked; only what names the event and its place stays as it is.
fn masked_line(mut value: Value, redactor: &Redactor) -> String {
    const PLAIN: [&str; 8] = ["v", "seq", "time", "at_ms", "run", "type", "step", "call"];
    if let Value::Object(fields) = &mut value {
        for (name, field) in fields.iter_mut().filter(|(name, _)| !PLAIN.contains(&name.as_str())) {
            if name != "hash" {
                *field = redactor.redact_value(field);
            }
        }
    }
    value.to_string()
}
