//! F509: all elements of a `for_each`, or all rounds of a `repeat`, act with one idempotency key, so the service does what it is asked for the first one alone.

use serde_json::Value;

use crate::model::{Filling, Read, Root, Step, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let step = &planned.step;
        if let (Some(key), Some((repeat, _))) = (step.kind.idempotency_key(), pipeline.repeat_around(ix))
            && !key.reads.iter().any(|read| matches!(read.root(), Some(Root::Steps | Root::Previous | Root::Round)))
        {
            let message = format!(
                "{} has the same idempotency_key in each round of {}, so only the first is acted on",
                quoted(&step.id.value),
                quoted(&pipeline.step(repeat).step.id.value)
            );
            let help = format!("write \"{}-{{{{ round }}}}\", or move the step below the repeat if it is to act once", key.source);
            out.push(found(key, &message).help(help));
        }
        if let Some(key) = step.kind.idempotency_key().filter(|key| repeats(step) && !reads_element(step, key)) {
            let id = quoted(&step.id.value);
            let message = format!("every element of {id} has the same idempotency_key, so only the first is acted on");
            // What the step already reads of the element tells the elements apart.
            let mut own = None;
            step.kind.each_text(step.id.span, &mut |authored| {
                let reads = authored.text().into_iter().flat_map(|text| &text.reads).filter(|read| is_element(step, read));
                own = own.take().or_else(|| reads.into_iter().next().map(|read| read.path.join(".")));
            });
            let element = own.unwrap_or_else(|| element_name(step).unwrap_or("item").to_owned());
            let help = format!("write \"{}-{{{{ {element} }}}}\", or remove the key: each element then has one of its own", key.source);
            out.push(found(key, &message).help(help));
        }
    }
}

fn found(key: &Text, message: &str) -> Diagnostic {
    finding(Code::SameKey, key.place.span, message)
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
pub(in crate::rules) fn reads_element(step: &Step, text: &Text) -> bool {
    text.reads.iter().any(|read| is_element(step, read))
}

/// What `as` calls the element.
fn element_name(step: &Step) -> Option<&str> {
    step.for_each.as_ref()?.name.as_ref().map(|name| name.value.as_str())
}

fn is_element(step: &Step, read: &Read) -> bool {
    read.path.first().is_some_and(|root| root == "item" || Some(root.as_str()) == element_name(step))
}
