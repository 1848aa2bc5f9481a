//! F509: all elements of a `for_each` act with one idempotency key, so the service does what it is asked for the first one alone.

use serde_json::Value;

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Filling, Step, Text};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let step = &planned.step;
        if let Some(key) = step.kind.idempotency_key().filter(|key| repeats(step) && !reads_element(step, key)) {
            let id = quoted(&step.id.value);
            let message = format!("every element of {id} has the same idempotency_key, so only the first is acted on");
            let help = "make it differ: read item in it, or leave it out: each element then has a key of its own";
            out.push(finding(Code::SameKey, key.place.span, &message).help(help));
        }
    }
}

/// Whether a step has more than one element, as far as is known.
fn repeats(step: &Step) -> bool {
    match step.for_each.as_ref().map(|for_each| &for_each.list) {
        Some(Filling::Constant(Value::Array(list))) => list.len() > 1,
        Some(Filling::List(list)) => list.len() > 1,
        Some(_) => true,
        None => false,
    }
}

/// Whether a text of a step reads the element of its `for_each`.
pub(super) fn reads_element(step: &Step, text: &Text) -> bool {
    let own = step.for_each.as_ref().and_then(|for_each| for_each.name.as_ref()).map(|name| name.value.as_str());
    text.reads.iter().filter_map(|read| read.path.first()).any(|root| root == "item" || Some(root.as_str()) == own)
}
