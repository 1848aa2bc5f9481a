//! Events as others may read them: no texts of prompts, replies, inputs or outputs.

use serde_json::Value;

use super::PersonalMask;
use super::content::{Holds, content};
use crate::event::Event;

/// One event as a JSON object on one line; what is told of a failure is masked. Texts of people, models and tools are left out, or
/// `with_content`, masked. What names the event, its step and its author's things stays as it is.
pub fn public_line(event: &Event, mask: &PersonalMask, with_content: bool) -> String {
    let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
    let Value::Object(fields) = &mut value else { return value.to_string() };
    for (name, holds) in content(&event.happening) {
        let Some(field) = fields.get_mut(*name) else { continue };
        match (*name, holds) {
            (_, Holds::Hash) => {
                fields.remove(*name);
            }
            _ if with_content || *holds == Holds::Sentence => mask.hide(event, name, *holds, field),
            ("details", _) => {
                if let Value::Object(details) = field {
                    details.remove("verdicts");
                    details.remove("plan");
                }
                mask.hide(event, name, *holds, field);
            }
            ("plan", _) => {
                if let Value::Object(plan) = field {
                    plan.remove("reasoning");
                    for step in plan.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
                        step.remove("with");
                        step.remove("prompt");
                    }
                }
            }
            ("failed", _) => field.as_array_mut().into_iter().flatten().for_each(|verdict| *verdict = verdict["id"].take()),
            _ => {
                fields.remove(*name);
            }
        }
    }
    value.to_string()
}
