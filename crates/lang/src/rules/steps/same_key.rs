//! F509: all elements of a `for_each`, or all rounds of a `repeat`, act with one idempotency key, so the service does what it is asked for the first one alone.

use serde_json::Value;

use crate::model::{Filling, Read, Root, Step, Text};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let step = &planned.step;
        let Some(key) = step.kind.idempotency_key() else { continue };
        let id = quoted(&step.id.value);
        for around in loops_with_one_key(pipeline, ix, key) {
            let holder = &pipeline.step(around).step;
            let of_holder = quoted(&holder.id.value);
            if holder.for_each.is_none() {
                let message = format!("{id} has the same idempotency_key in each round of {of_holder}, so only the first is acted on");
                let help = format!("write \"{}-{{{{ round }}}}\", or move the step below the repeat if it is to act once", key.source);
                out.push(new_finding(key, &message).help(help));
                continue;
            }
            let message = match around == ix {
                true => format!("every element of {id} has the same idempotency_key, so only the first is acted on"),
                false => format!("{id} has the same idempotency_key for each element of {of_holder}, so only the first is acted on"),
            };
            // What the step already reads of the element tells the elements apart.
            let mut own = None;
            step.kind.each_text(step.id.span, &mut |authored| {
                let reads = authored.text().into_iter().flat_map(|text| &text.reads).filter(|read| is_element(holder, read));
                own = own.take().or_else(|| reads.into_iter().next().map(|read| read.path.join(".")));
            });
            let element = own.unwrap_or_else(|| element_name(holder).unwrap_or("item").to_owned());
            let help = format!("write \"{}-{{{{ {element} }}}}\", or remove the key: each element then has one of its own", key.source);
            out.push(new_finding(key, &message).help(help));
        }
    }
}

/// The loops that a step is in, its own first, for all of whose elements or rounds a key of it is the same.
pub(in crate::rules) fn loops_with_one_key<'p>(pipeline: &'p PipelinePlan, ix: StepIx, key: &'p Text) -> impl Iterator<Item = StepIx> + 'p {
    let is_loop = move |around: &StepIx| {
        let step = &pipeline.step(*around).step;
        repeats(step) || *around != ix && step.kind.repeat().is_some()
    };
    let stays = move |around: &StepIx| key.reads.iter().all(|read| is_same_in(pipeline, ix, *around, read));
    pipeline.around(ix).filter(is_loop).filter(stays)
}

/// Whether what a text of a step reads is the same each time in a loop around it: what is there before, and nothing of the loop itself.
fn is_same_in(pipeline: &PipelinePlan, ix: StepIx, around: StepIx, read: &Read) -> bool {
    match read.root() {
        Some(Root::Inputs | Root::Run | Root::Person | Root::Conversation | Root::Channel | Root::Style | Root::Secrets | Root::Env) => {
            true
        }
        Some(Root::Refinement | Root::Failure) => true,
        Some(Root::Steps) => {
            let named = read.path.get(1).and_then(|id| pipeline.seen_from(pipeline.step(ix).block, id));
            named.is_some_and(|named| !pipeline.around(named).any(|holder| holder == around))
        }
        Some(Root::Item | Root::ItemNumber | Root::ItemCount | Root::Previous | Root::Round) | None => false,
        Some(Root::Value | Root::Text | Root::With | Root::Turns | Root::Turn) => false,
    }
}

fn new_finding(key: &Text, message: &str) -> Diagnostic {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_key_of_a_step_in_a_loop_reads_something_of_the_loop() {
        let told = |around: &str, key: &str| {
            let step = format!("{{ id: h, http: POST https://example.com/n, idempotency_key: \"{key}\" }}");
            says(
                check,
                &format!(
                    "inputs: {{ l: {{ type: list, items: text }} }}\nsteps:\n  - {{ id: p, set: x }}\n  - {}\n",
                    around.replace("STEP", &step)
                ),
            )
        };
        let group = "{ id: g, for_each: inputs.l, steps: [{ id: s, set: '{{ item }}' }, STEP] }";
        assert!(
            told(group, "k-{{ run.id }}-{{ steps.p.output }}").contains("\"h\" has the same idempotency_key for each element of \"g\"")
        );
        let rounds = "{ id: g, repeat: { at_most: 3, until: round == 2 }, steps: [{ id: s, set: '{{ round }}' }, STEP] }";
        assert!(told(rounds, "k-{{ steps.p.output }}").contains("\"h\" has the same idempotency_key in each round of \"g\""));
        for around in [group, rounds] {
            assert_eq!(told(around, "k-{{ steps.s.output }}"), "");
        }
        assert_eq!(told(group, "k-{{ item_number }}"), "");
        assert_eq!(told("STEP", "k"), "");
    }
}
