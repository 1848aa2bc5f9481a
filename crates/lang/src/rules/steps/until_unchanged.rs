//! F116: a `repeat` whose `until` reads nothing that its rounds could change, or what is always true after a round that did not fail.

use crate::event::FailureKind;
use crate::model::{Read, RepeatStep, Root, RootPlaces, Step, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(own) = step.kind.repeat() else { continue };
        let found = |message: String| Diagnostic::new(Code::UntilUnchanged, own.until.place.span, message);
        if let Some(gate) = own.until.reads.iter().find_map(|read| always_passed(own, read)) {
            let id = quoted(&gate.id.value);
            let message = format!(
                "until of {} reads whether gate {id} passed, which is always true there: without otherwise, a gate that is not met fails the loop",
                quoted(&step.id.value)
            );
            let found = found(message).related(gate.id.span, "fails its round");
            out.push(found.help(format!("add otherwise: to gate {id}, with the text that counts if no round passes it")));
            continue;
        }
        let is_inside = |id: &String| own.inner.steps.iter().any(|inner| inner.id.value == *id);
        let changes = |read: &Read| match read.root() {
            Some(Root::Steps) => read.path.get(1).is_none_or(is_inside),
            root => root.is_some_and(|root| root.places() == RootPlaces::Rounds),
        };
        // Without an id a step is told by F004, and may be the one that is read.
        if own.until.reads.iter().any(changes) || !own.inner.steps.iter().all(|inner| inner.is_named()) {
            continue;
        }
        let last = own.inner.steps.last().map_or("ID", |inner| inner.id.as_str());
        let message = format!("until of {} reads no step of its rounds, so it is the same after each of them", quoted(&step.id.value));
        out.push(
            found(message).help(format!("write a condition on a step inside: steps.{last}.output is what the last one gave in this round")),
        );
    }
}

/// The gate inside whose verdict a path reads, where a round in which it is not met fails the loop.
fn always_passed<'p>(own: &'p RepeatStep, read: &Read) -> Option<&'p Step> {
    let [root, id, details, passed] = read.path.as_slice() else { return None };
    let gate = own.inner.steps.iter().find(|inner| root == "steps" && inner.id.value == *id)?;
    let StepKind::Gate(kind) = &gate.kind else { return None };
    let fails = kind.otherwise.is_none() && gate.for_each.is_none() && !gate.allows(FailureKind::Quality);
    (details == "details" && passed == "passed" && fails).then_some(&**gate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn the_end_of_a_loop_depends_on_its_rounds() {
        let until = |text: &str| {
            says(
                check,
                &format!(
                    "inputs: {{ x: integer }}\nsteps: [{{ id: r, repeat: {{ until: {text}, at_most: 3 }}, steps: [{{ id: a, set: '{{{{ round }}}}' }}] }}]\n"
                ),
            )
        };
        assert_eq!(until("inputs.x > 3"), "F116 4:35 until of \"r\" reads no step of its rounds, so it is the same after each of them\n");
        assert_eq!(until("steps.a.output > 2"), "");
        assert_eq!(until("round == 2"), "");
    }

    #[test]
    fn a_gate_that_fails_its_round_has_always_passed_where_until_is_read() {
        let until = |gate: &str| {
            says(
                check,
                &format!(
                    "scorecards: {{ s: {{ criteria: [{{ id: c, description: It is short., check: {{ max_length: 9 }} }}] }} }}\nsteps:\n  - id: r\n    repeat: {{ until: steps.g.details.passed, at_most: 3 }}\n    steps:\n      - {{ id: a, set: '{{{{ round }}}}' }}\n      - {{ id: g, gate: s, of: steps.a.output{gate} }}\n      - {{ id: b, set: x }}\n"
                ),
            )
        };
        let found = "F116 6:22 until of \"r\" reads whether gate \"g\" passed, which is always true there: without otherwise, a gate that is not met fails the loop\n";
        assert_eq!(until(""), found);
        assert_eq!(until(", otherwise: Sorry."), "");
        assert_eq!(until(", on_failure: b"), "");
    }
}
