//! F204 in detail: why an output may not be there, and which conditions rule that out.

use super::names::{PipelineNames, needs_output};
use super::seat::{Seat, StepPart, Viewpoint};
use crate::model::{OnFailure, Read, Step, StepKind, Text};
use crate::plan::{Edge, StepIx};

impl<'a> PipelineNames<'a> {
    /// Why what `reader` reads of `read` may not be there. `beside` is the step of `read`'s own list that is, or holds, the reader.
    pub(super) fn may_be_missing(
        &self,
        read: StepIx,
        beside: StepIx,
        reader: StepIx,
        part: StepPart,
        seat: &Seat,
        rest: &[String],
    ) -> Option<String> {
        if !needs_output(rest) || matches!(seat.at, Viewpoint::Outputs) {
            return None;
        }
        let planned = self.pipeline.step(read);
        let step = &planned.step;
        let id = &step.id.value;
        let block = self.pipeline.block(planned.block);
        let is_for_each = step.for_each.is_some();
        let why = if step.when.as_ref().is_some_and(|when| !is_for_each || !reads_element(when, step)) {
            format!("\"{id}\" may be skipped and then has no output")
        } else if let Some((failing, _)) = block.needs(planned.place).iter().find(|(_, edge)| *edge == Edge::Failure) {
            let failing = self.step(self.at(planned.block, *failing));
            format!("\"{id}\" runs only if \"{}\" fails; otherwise it has no output", failing.id.value)
        } else {
            match (&step.on_failure, step.stand_ins().next()) {
                (OnFailure::Continue, _) if is_for_each || matches!(step.kind, StepKind::Gate(_)) => return None,
                (OnFailure::Continue, _) => format!("\"{id}\" may fail and then has no output: its on_failure is continue"),
                (_, None) => return None,
                (_, Some(_)) if block.is_held_back_by(self.pipeline.step(beside).place, planned.place) => return None,
                (_, Some((_, target))) => {
                    format!("\"{id}\" may have failed and then has no output: \"{}\" runs in its place", target.value)
                }
            }
        };
        let whens = self.whens_of(reader, part).into_iter().chain(&seat.more.only_if).collect();
        (!self.is_tested(read, whens)).then_some(why)
    }

    /// Why what a path reads of a step's `error` may not be there: the step may not have failed.
    pub(super) fn may_lack_error(&self, seat: &Seat, path: &[String]) -> Option<String> {
        let [steps, id, error, _, ..] = path else { return None };
        if steps != "steps" || error != "error" {
            return None;
        }
        let why = format!("\"{id}\" has an error only if it failed");
        let Viewpoint::Step(reader, part) = seat.at else { return matches!(seat.at, Viewpoint::Outputs).then_some(why) };
        let read = self.pipeline.seen_from(self.pipeline.step(reader).block, id)?;
        let list = self.pipeline.step(read).block;
        let block = self.pipeline.block(list);
        let beside = self.pipeline.around(reader).map(|ix| self.pipeline.step(ix)).find(|own| own.block == list);
        let stands_in = beside.is_some_and(|own| block.needs(own.place).contains(&(self.pipeline.step(read).place, Edge::Failure)));
        let whens = self.whens_of(reader, part).into_iter().chain(&seat.more.only_if).collect();
        (!stands_in && !self.is_tested(read, whens)).then_some(why)
    }

    /// Whether one of these conditions holds only if the step ran, or asks whether it did.
    pub(super) fn is_tested(&self, read: StepIx, whens: Vec<&Text>) -> bool {
        let step = self.step(read);
        let own = step.when.as_ref().map(|when| when.source.trim());
        whens.into_iter().any(|when| {
            let asks = |read: &Read| matches!(read.path.as_slice(), [steps, id, ..] if steps == "steps" && *id == step.id.value);
            own.is_some_and(|own| implies(&when.source, own)) || when.reads.iter().any(asks)
        })
    }

    /// The conditions under which a step's text is filled: its own `when` and those of what it stands in.
    pub(super) fn whens_of(&self, ix: StepIx, part: StepPart) -> Vec<&'a Text> {
        let mut whens = vec![];
        for around in self.pipeline.around(ix) {
            let planned = self.pipeline.step(around);
            whens.extend(planned.step.when.as_ref().filter(|_| around != ix || part != StepPart::When));
            whens.extend(self.case_whens.get(planned.block.0 as usize).copied().flatten());
        }
        whens
    }
}

/// Whether a condition is judged for each element.
fn reads_element(when: &Text, step: &Step) -> bool {
    let own = step.for_each.as_ref().and_then(|for_each| for_each.name.as_ref());
    let is_element = |name: &String| name == "item" || own.is_some_and(|own| own.value == *name);
    when.reads.iter().any(|read| read.path.first().is_some_and(is_element))
}

/// Whether `when` can be true only if `other` is: the same text, or one of its parts joined by `and`.
fn implies(when: &str, other: &str) -> bool {
    let when = when.trim();
    if when == other {
        return true;
    }
    let is_plain = !when.contains(" or ") && !when.contains(['(', '"', '\'']);
    is_plain && when.split(" and ").any(|part| part.trim() == other)
}
