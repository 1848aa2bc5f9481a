//! F204 in detail: why an output may not be there, and which conditions rule that out.

use super::names::{PipelineNames, needs_output};
use super::seat::{Seat, StepPart, Viewpoint};
use crate::model::{OnFailure, Read, Step, StepKind, Text};
use crate::plan::{Edge, StepIx};
use crate::template::types::Type;

impl<'a> PipelineNames<'a> {
    /// Why what `reader` reads of `read` may not be there. `beside` is the step of `read`'s own list that is, or holds, the reader.
    pub(in crate::rules) fn may_be_missing(
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
            let is_judged = matches!(step.kind, StepKind::Gate(_)) && rest.first().is_some_and(|field| field == "details");
            match (&step.on_failure, step.stand_ins().next()) {
                // How it was judged is known.
                (OnFailure::Continue | OnFailure::Step(_), _) if is_judged => return None,
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

    /// Whether what a text reads is there because it is read only where that is missing for which the step stands in.
    pub(in crate::rules) fn is_there_instead(&self, seat: &Seat, read: &Read) -> bool {
        let Viewpoint::Step(reader, _) = seat.at else { return false };
        let list = self.pipeline.step(reader).block;
        let named = |path: &[String]| match path {
            [steps, id, output, below @ ..] if steps == "steps" && output == "output" => {
                Some((self.pipeline.seen_from(list, id)?, below.to_vec()))
            }
            _ => None,
        };
        let absent = read.instead_of.iter().filter_map(|path| named(path));
        let absent: Vec<StepIx> = absent.filter(|(ix, below)| self.is_always_in(*ix, below)).map(|(ix, _)| ix).collect();
        let Some((ix, _)) = named(&read.path) else { return false };
        let (step, root) = (self.step(ix), self.root_of(ix).1);
        // Behind a failure of the run nothing is sure.
        let is_same_run = absent.iter().all(|absent| self.root_of(*absent).1 == root) && self.root_of(reader).1 == root;
        !absent.is_empty() && is_same_run && step.on_failure == OnFailure::Stop && self.runs_without(ix, &absent)
    }

    /// Whether a step has run if those in `absent` have no output.
    fn runs_without(&self, ix: StepIx, absent: &[StepIx]) -> bool {
        let planned = self.pipeline.step(ix);
        let block = self.pipeline.block(planned.block);
        let failing = || block.needs(planned.place).iter().filter(|(_, edge)| *edge == Edge::Failure);
        let is_without = |place: usize| {
            let failing = self.at(planned.block, place);
            absent.contains(&failing) && self.step(failing).on_failure != OnFailure::Continue && self.runs_without(failing, absent)
        };
        let is_other_case = |when: &Text| {
            absent.iter().any(|other| {
                let step = self.step(*other);
                let is_only_skipped = step.on_failure == OnFailure::Stop && step.for_each.is_none();
                is_only_skipped && step.when.as_ref().is_some_and(|other| is_opposite(&when.source, &other.source))
            })
        };
        let is_stand_in = failing().next().is_some();
        (!is_stand_in || failing().any(|(place, _)| is_without(*place)))
            && planned.step.when.as_ref().is_none_or(|when| !is_stand_in && is_other_case(when))
    }

    /// Whether the output of a step always has what is at this path below it.
    fn is_always_in(&self, ix: StepIx, below: &[String]) -> bool {
        let mut kind = self.output(ix);
        below.iter().all(|name| {
            let Type::Object(object) = &kind else { return false };
            let Some(member) = object.fields.get(name).filter(|member| !member.is_optional).cloned() else { return false };
            kind = member.kind;
            true
        })
    }

    /// Why what a path reads of a step's `error` may not be there: the step may not have failed.
    pub(in crate::rules) fn may_lack_error(&self, seat: &Seat, path: &[String]) -> Option<String> {
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
    pub(in crate::rules) fn is_tested(&self, read: StepIx, whens: Vec<&Text>) -> bool {
        let step = self.step(read);
        let own = step.when.as_ref().map(|when| when.source.trim());
        whens.into_iter().any(|when| {
            let asks = |read: &Read| matches!(read.path.as_slice(), [steps, id, ..] if steps == "steps" && *id == step.id.value);
            own.is_some_and(|own| implies(&when.source, own)) || when.reads.iter().any(asks)
        })
    }

    /// The conditions under which a step's text is filled: its own `when` and those of what it stands in.
    pub(in crate::rules) fn whens_of(&self, ix: StepIx, part: StepPart) -> Vec<&'a Text> {
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

/// Whether one of two conditions holds if the other does not: the same text with a `not` before it.
fn is_opposite(one: &str, other: &str) -> bool {
    let is_not = |one: &str, other: &str| {
        let negated = one.trim().strip_prefix("not ").map(str::trim);
        let inner = negated.and_then(|inner| inner.strip_prefix('(')?.strip_suffix(')')).map(str::trim);
        let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        negated.filter(|inner| is_name(inner)).or(inner).is_some_and(|inner| inner == other.trim())
    };
    is_not(one, other) || is_not(other, one)
}
