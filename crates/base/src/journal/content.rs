//! Events for other readers, without the texts of people, models and tools.

use serde_json::Value;

use super::RunMask;
use crate::event::{Event, TextHolds};

/// Keys beside texts whose values are identifiers or fixed words, not texts.
#[rustfmt::skip]
pub(super) const NAMES: [&str; 19] = [
    "agent", "call_id", "case", "columns", "depends_on", "hash", "id", "kind", "model", "name", "personal", "role", "run", "scorecard",
    "status", "step", "strategy", "tool", "use",
];

/// Keys beside texts that hold values: the arguments of tools.
pub(super) const VALUES: [&str; 2] = ["arguments", "with"];

/// Returns one event as a JSON object on one line, with failure messages masked. Texts of people, models and tools are left out or,
/// `with_content`, masked. Names of the event, its step and the author's definitions stay unchanged.
pub fn public_line(event: &Event, mask: RunMask<'_>, with_content: bool) -> String {
    public_value(event, mask, with_content).to_string()
}

/// Like [`public_line`], but returns a JSON value.
pub fn public_value(event: &Event, mask: RunMask<'_>, with_content: bool) -> Value {
    let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
    let Value::Object(fields) = &mut value else { return value };
    // The state of an answer is for its endpoint only.
    if let Some(Value::Object(said)) = fields.get_mut("reply").and_then(|reply| reply.get_mut("said")) {
        said.shift_remove("state");
    }
    for (name, holds) in event.happening.text_fields() {
        let Some(field) = fields.get_mut(*name) else { continue };
        // Personal values known from earlier runs of the conversation are used for masking only.
        if let ("conversation", Value::Object(conversation)) = (*name, &mut *field) {
            conversation.shift_remove("personal");
        }
        match (*name, holds) {
            (_, TextHolds::Hash) => {
                fields.remove(*name);
            }
            _ if with_content || *holds == TextHolds::Sentence => mask.mask().hide(event, name, *holds, field),
            ("details", _) => {
                if let Value::Object(details) = field {
                    for told in ["verdicts", "plan", "tries", "latest_failures", "unmet_criteria"] {
                        details.remove(told);
                    }
                }
                mask.mask().hide(event, name, *holds, field);
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
            ("conversation", _) => {
                let earlier = field["messages"].as_array().map_or(0, Vec::len);
                let older = field["older"].as_array().map_or(0, Vec::len);
                *field = serde_json::json!({ "earlier": earlier, "left_out": field["left_out"].as_u64().unwrap_or(0) });
                if older > 0 {
                    field["summed_up"] = older.into();
                }
            }
            ("failed", _) => field.as_array_mut().into_iter().flatten().for_each(|verdict| *verdict = verdict["id"].take()),
            _ => {
                fields.remove(*name);
            }
        }
    }
    value
}
