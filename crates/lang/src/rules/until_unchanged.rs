//! F116: a `repeat` whose `until` reads nothing that its rounds could change.

use super::{Code, Diagnostic, PipelinePlan, Plan, quoted};
use crate::model::{Read, RepeatStep};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(own) = step.kind.repeat() else { continue };
        let is_inside = |id: &String| own.inner.steps.iter().any(|inner| inner.id.value == *id);
        let changes = |read: &Read| match read.path.as_slice() {
            [root, id, ..] if root == "steps" => is_inside(id),
            [root] if root == "steps" => true,
            [root, ..] => RepeatStep::NAMES.contains(&root.as_str()),
            [] => false,
        };
        // Without an id a step is told by F004, and may be the one that is read.
        if own.until.reads.iter().any(changes) || !own.inner.steps.iter().all(|inner| inner.is_named()) {
            continue;
        }
        let last = own.inner.steps.last().map_or("ID", |inner| inner.id.as_str());
        let message = format!("until of {} reads no step of its rounds, so it is the same after each of them", quoted(&step.id.value));
        let found = Diagnostic::new(Code::UntilUnchanged, own.until.place.span, message);
        out.push(found.help(format!("write a condition on a step inside: steps.{last}.output is what the last one gave in this round")));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

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
}
