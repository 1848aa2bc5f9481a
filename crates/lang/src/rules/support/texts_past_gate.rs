//! Texts that go out beside the gate that judges them: what leaves, what it shows, and whether it goes by how the gate ended.

use std::collections::HashMap;

use super::names::sole_path;
use crate::diagnostic::quoted;
use crate::labels::{OutputRead, ReadHop, Reads, Seat, is_over_before, output_is_of_engine, passed_on, readable_as, reads_of};
use crate::model::{Form, GateStep, Outputs, StepKind, Text, Unmet};
use crate::plan::{PipelinePlan, StepIx};
use crate::source::Span;
use crate::template::{EACH, Share, is_place, reached, value_paths};

/// What a gate judges: the gate's number, and the path below the judged step's `output`.
struct GatedPath {
    gate: StepIx,
    path: Vec<String>,
}

/// What leaves the pipeline: a text of `outputs`, or the `of` of a `send`.
pub(in crate::rules) struct Leaving<'p> {
    pub(in crate::rules) what: String,
    pub(in crate::rules) text: &'p Text,
    sender: Option<StepIx>,
}

impl Leaving<'_> {
    pub(in crate::rules) fn seat(&self) -> Seat {
        self.sender.map(|ix| (ix, true))
    }

    /// What is read there for a gate.
    pub(in crate::rules) fn gate_there(&self, planned: &PipelinePlan, gate: StepIx) -> Option<String> {
        readable_as(planned, self.seat(), gate)
    }
}

/// A text that leaves and shows what a gate judges, or an earlier form of it, however the gate ended.
pub(in crate::rules) struct TextPastGate<'p> {
    pub(in crate::rules) leaving: Leaving<'p>,
    /// The text to change: the last on the way to the judged step in which the gate can be read.
    pub(in crate::rules) hop: ReadHop<'p>,
    /// What it reads, without what is below the output of a step.
    pub(in crate::rules) path: String,
    /// Whether what it reads is a step that has it from the judged one.
    pub(in crate::rules) is_copy: bool,
    /// The step whose text it is, if it is not that of what leaves.
    pub(in crate::rules) passes_on: Option<&'p str>,
    /// What to read there.
    pub(in crate::rules) instead: Instead,
    pub(in crate::rules) gate: StepIx,
    pub(in crate::rules) what: PastGate,
    /// Where what leaves reads it, itself or through others.
    pub(in crate::rules) first: Span,
}

/// What is to be read in place of a judged step.
pub(in crate::rules) enum Instead {
    /// This: the gate's output, and what is below it.
    Path { gate: String, below: String },
    /// One field of each element in place of another.
    Field { old: String, new: String },
    /// The gate, once it is the last step of its case of this route.
    EndOfCase(String),
    /// The gate, which no name leads to from there.
    Unknown,
}

/// How a text goes past a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum PastGate {
    /// The gate has ended by then.
    Beside,
    /// It is sent earlier.
    Before,
    /// It is an earlier form of what the gate judges, on the way of the refinement.
    EarlierForm,
}

/// The outputs that a gate judges; more than one of a route. Through `set` steps that pass one value on as it is.
fn outputs_judged<'p>(planned: &'p PipelinePlan, ix: StepIx, gate: &'p GateStep, through_copies: bool) -> Vec<OutputRead<'p>> {
    if gate.of.reads.len() != 1 {
        return vec![];
    }
    let mut found = shown_outputs(planned, Some((ix, true)), &gate.of, through_copies);
    found.retain(|read| !read.is_earlier && is_sure(planned, ix, read));
    found
}

/// Whether a text is one value as it is.
pub(in crate::rules) fn is_one_value(text: &Text) -> bool {
    text.reads.len() == 1 && matches!(value_paths(text).as_slice(), [one] if one.share == Share::Whole)
}

/// The outputs that a text shows, also through `set` steps that pass one value on as it is.
pub(in crate::rules) fn shown_outputs<'p>(
    planned: &'p PipelinePlan,
    seat: Seat,
    text: &'p Text,
    through_copies: bool,
) -> Vec<OutputRead<'p>> {
    reads_of(planned, seat, text, Reads::Shown, &mut |read| {
        let step = &planned.step(read.output.ix).step;
        let texts = if let StepKind::Set(_) = &step.kind { passed_on(step, &read.output.path) } else { vec![] };
        let is_one = matches!(texts.as_slice(), [(text, _)] if is_one_value(text));
        if through_copies && is_one { texts } else { vec![] }
    })
}

/// Whether what a step gives leaves as it is, as a text of its own.
pub(in crate::rules) fn is_delivered(planned: &PipelinePlan, ix: StepIx) -> bool {
    let shows = |leaving: &Leaving| shown_outputs(planned, leaving.seat(), leaving.text, true).iter().any(|read| read.output.ix == ix);
    leaving(planned).iter().any(|leaving| is_one_value(leaving.text) && shows(leaving))
}

/// Whether a gate judges an output whenever there is one: it has no condition of its own, and sees each element of a list.
fn is_sure(planned: &PipelinePlan, gate: StepIx, read: &OutputRead) -> bool {
    let holders: Vec<StepIx> = planned.around(read.output.ix).skip(1).collect();
    let lists: Vec<&ReadHop> = read.hops.iter().filter(|hop| hop.seat.is_some_and(|(_, own)| !own)).collect();
    let own = planned.around(gate).take_while(|ix| !holders.contains(ix));
    own.map(|ix| (ix, &planned.step(ix).step)).all(|(ix, step)| {
        let is_whole =
            || lists.iter().any(|hop| hop.seat == Some((ix, false)) && (sole_path(hop.text).is_some() || is_list_of_paths(hop.text)));
        step.when.is_none() && !matches!(step.kind, StepKind::Route(_)) && (step.for_each.is_none() || is_whole())
    })
}

/// Whether a text is a list that is written out, of paths alone.
fn is_list_of_paths(text: &Text) -> bool {
    let inner = match text.form {
        Form::Sole => text.source.trim().strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}")).map(str::trim),
        Form::Bare => Some(text.source.trim()),
        Form::Plain | Form::Template => None,
    };
    let Some(list) = inner.and_then(|inner| inner.strip_prefix('[')?.strip_suffix(']')) else { return false };
    let is_path = |path: &str| !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    list.trim_end_matches([',', ' ']).split(',').all(|path| is_path(path.trim()))
}

/// The one gate of each judged step. Two gates for one step, or a gate with a condition: nothing is certain.
fn judged(planned: &PipelinePlan) -> HashMap<StepIx, GatedPath> {
    let mut all: HashMap<StepIx, Option<GatedPath>> = HashMap::new();
    for through_copies in [false, true] {
        let mut found: HashMap<StepIx, Option<GatedPath>> = HashMap::new();
        for (ix, step) in planned.numbered_steps() {
            let StepKind::Gate(gate) = &step.step.kind else { continue };
            for read in outputs_judged(planned, ix, gate, through_copies) {
                let known = found.get(&read.output.ix);
                let is_new = known.is_none_or(|known| known.as_ref().is_some_and(|known| known.gate == ix));
                found.insert(read.output.ix, is_new.then_some(GatedPath { gate: ix, path: read.output.path }));
            }
            // A gate that judges it sometimes.
            if !through_copies && gate.of.reads.len() == 1 {
                for read in reads_of(planned, Some((ix, true)), &gate.of, Reads::Shown, &mut |_| vec![]) {
                    if found.get(&read.output.ix).is_none_or(|known| known.as_ref().is_none_or(|known| known.gate != ix)) {
                        found.insert(read.output.ix, None);
                    }
                }
            }
        }
        for (ix, gated) in found {
            all.entry(ix).or_insert(gated);
        }
    }
    all.into_iter().filter_map(|(step, judged)| Some((step, judged?))).collect()
}

/// All that leaves.
pub(in crate::rules) fn leaving(pipeline: &PipelinePlan) -> Vec<Leaving<'_>> {
    let mut list = vec![];
    match &pipeline.pipeline.outputs {
        Outputs::None => {}
        Outputs::Whole(text) => list.push(Leaving { what: "outputs".to_owned(), text, sender: None }),
        Outputs::Named(outputs) => {
            for (name, value) in outputs {
                let what = format!("outputs.{}", name.value);
                list.extend(value.texts().into_iter().map(|text| Leaving { what: what.clone(), text, sender: None }));
            }
        }
    }
    for (ix, planned) in pipeline.numbered_steps() {
        if let StepKind::Send(send) = &planned.step.kind {
            let what = quoted(&planned.step.id.value);
            list.push(Leaving { what, text: &send.of, sender: Some(ix) });
        }
    }
    list
}

/// Whether a read shows text that the gate judges.
fn shows(planned: &PipelinePlan, read: &OutputRead, judged: &GatedPath) -> bool {
    let kind = &planned.step(read.output.ix).step.kind;
    if let StepKind::Format(_) = kind {
        return !output_is_of_engine(kind, &read.output.path);
    }
    let is_same = |(one, other): (&String, &String)| {
        one == other || is_place(one) && is_place(other) && [one, other].iter().any(|part| *part == EACH)
    };
    read.output.path.iter().zip(&judged.path).all(is_same)
}

/// Whether a text, or the condition of a step that passes it on, goes by how the gate ended.
fn minds(planned: &PipelinePlan, leaving: &Leaving, read: &OutputRead, gate: StepIx) -> bool {
    let StepKind::Gate(judging) = &planned.step(gate).step.kind else { return false };
    let has_otherwise = judging.otherwise.is_some();
    let of_gate = |seat: Seat, text: &Text| (tells_of(planned, seat, text, gate), names_output(planned, seat, text, gate));
    let mut seats: Vec<StepIx> = read.hops.iter().filter_map(|hop| Some(hop.seat?.0)).chain(leaving.sender).collect();
    seats.dedup();
    let conditions = seats.into_iter().flat_map(|ix| planned.around(ix)).filter_map(|ix| Some((ix, planned.step(ix).step.when.as_ref()?)));
    for (ix, when) in conditions {
        let (tells, reads) = of_gate(Some((ix, false)), when);
        if tells || reads {
            return true;
        }
    }
    // A loop that ends well only if the gate let it through.
    let inside: Vec<StepIx> = read.hops.first().and_then(|hop| hop.seat).map(|(ix, _)| planned.around(ix).collect()).unwrap_or_default();
    let loops =
        planned.around(gate).skip(1).filter(|ix| !inside.contains(ix)).filter_map(|ix| Some((ix, planned.step(ix).step.kind.repeat()?)));
    for (ix, own) in loops {
        let first = planned.step(ix).cases.first().map(|block| planned.block(*block).first);
        if own.unmet == Unmet::Fail && first.is_some_and(|first| tells_of(planned, Some((first, true)), &own.until, gate)) {
            return true;
        }
    }
    read.hops.iter().any(|hop| {
        let (tells, reads) = of_gate(hop.seat, hop.text);
        tells || reads && has_otherwise
    })
}

/// Whether a text reads of a step how it ended.
pub(in crate::rules) fn tells_of(planned: &PipelinePlan, seat: Seat, text: &Text, step: StepIx) -> bool {
    let block = seat.map_or(planned.main, |(ix, _)| planned.step(ix).block);
    reached(text).iter().any(|read| match read.path.as_slice() {
        [steps, id, member, ..] => steps == "steps" && member != "output" && planned.seen_from(block, id) == Some(step),
        [steps, id] => steps == "steps" && planned.seen_from(block, id) == Some(step),
        [steps] => steps == "steps",
        _ => false,
    })
}

/// Whether a text reads what a step gives: as a part of a group, too.
pub(in crate::rules) fn reads_output(planned: &PipelinePlan, seat: Seat, text: &Text, step: StepIx) -> bool {
    reads_of(planned, seat, text, Reads::All, &mut |_| vec![]).iter().any(|read| read.output.ix == step)
}

fn names_output(planned: &PipelinePlan, seat: Seat, text: &Text, step: StepIx) -> bool {
    let reads = reads_of(planned, seat, text, Reads::All, &mut |_| vec![]);
    reads.iter().any(|read| read.output.ix == step && read.output.is_named && !read.is_earlier)
}

/// Whether a step is on the way of the refinement, before its gate; also inside of one that is.
fn is_early(planned: &PipelinePlan, ix: StepIx) -> bool {
    let Some(refinement) = &planned.refinement else { return false };
    let here = planned.around(ix).find(|ix| planned.step(*ix).block == refinement.block);
    here.is_some_and(|ix| ix != refinement.gate && refinement.stretch.binary_search(&planned.step(ix).place).is_ok())
}

/// Each text that leaves past a gate, the first read of it.
pub(in crate::rules) fn texts_past_gates(planned: &PipelinePlan) -> Vec<TextPastGate<'_>> {
    let judged = judged(planned);
    if judged.is_empty() && planned.refinement.is_none() {
        return vec![];
    }
    let mut list = vec![];
    for leaving in leaving(planned) {
        let seat = leaving.seat();
        let gated = |read: &OutputRead| judged.get(&read.output.ix).filter(|gated| shows(planned, read, gated));
        let mut reads = reads_of(planned, seat, leaving.text, Reads::Shown, &mut |read| {
            let output = &read.output;
            if gated(read).is_some() || is_early(planned, output.ix) {
                vec![]
            } else {
                passed_on(&planned.step(output.ix).step, &output.path)
            }
        });
        reads.retain(|read| read.output.is_named && !read.is_earlier);
        reads.sort_by_key(|read| read.hops.first().map(|hop| hop.span.start));
        let first = |early: bool| {
            reads.iter().find_map(|read| {
                let gated = gated(read);
                let gate = match (gated, early) {
                    (Some(gated), false) => gated.gate,
                    (None, true) if is_early(planned, read.output.ix) => planned.refinement.as_ref()?.gate,
                    (Some(_), true) | (None, _) => return None,
                };
                (!minds(planned, &leaving, read, gate)).then_some((read, gated, gate))
            })
        };
        let mut found: Vec<TextPastGate> = vec![];
        for (read, gated, gate) in [first(false), first(true)].into_iter().flatten() {
            let what = match gated {
                None => PastGate::EarlierForm,
                Some(_) if is_after(planned, leaving.sender, gate) => PastGate::Beside,
                Some(_) => PastGate::Before,
            };
            let leaving = Leaving { what: leaving.what.clone(), text: leaving.text, sender: leaving.sender };
            found.extend(past_gate(planned, leaving, read, gated, gate, what));
        }
        list.extend(found);
    }
    list
}

fn past_gate<'p>(
    planned: &'p PipelinePlan,
    leaving: Leaving<'p>,
    read: &OutputRead<'p>,
    gated: Option<&GatedPath>,
    gate: StepIx,
    what: PastGate,
) -> Option<TextPastGate<'p>> {
    let last = read.hops.len().checked_sub(1)?;
    let readable = |hop: &ReadHop| is_over_before(planned, gate, hop.seat) && readable_as(planned, hop.seat, gate).is_some();
    let at = (0..=last).rev().find(|at| readable(&read.hops[*at]));
    let hop = read.hops.get(at.unwrap_or(last))?.clone();
    let is_last = at.is_none_or(|at| at == last);
    let below = if is_last { read.output.path.len() } else { 0 };
    let own = hop.path.get(..hop.path.len().saturating_sub(below)).unwrap_or_default();
    let path = own.split(|part| part == EACH).map(|names| names.join(".")).collect::<Vec<_>>();
    let path = match path.as_slice() {
        [list, rest @ ..] if rest.iter().any(|names| !names.is_empty()) => format!("{} in each element of {list}", rest.join(".")),
        // Of a list that is read whole, its elements have no name.
        [list, ..] => list.clone(),
        [] => String::new(),
    };
    // Elements of a list are no copies.
    let is_copy = read.hops.iter().skip(at.unwrap_or(last) + 1).any(|hop| hop.seat.is_some_and(|(_, own)| own));
    let rest = gated.map(|gated| read.output.path.get(gated.path.len()..).unwrap_or_default()).unwrap_or_default();
    let passes_on = hop.seat.filter(|(ix, _)| leaving.sender != Some(*ix)).map(|(ix, _)| planned.step(ix).step.id.value.as_str());
    let instead = instead(planned, &hop, is_last.then_some(read.output.ix), gate, rest);
    Some(TextPastGate { leaving, hop, path, is_copy, passes_on, instead, gate, what, first: read.hops.first()?.span })
}

/// `step`: the step that the text reads, if it reads it by its name; `rest`: what it reads below what the gate judges.
fn instead(planned: &PipelinePlan, hop: &ReadHop, step: Option<StepIx>, gate: StepIx, rest: &[String]) -> Instead {
    let own = planned.step(gate);
    let beside = step.map(|step| planned.step(step)).filter(|step| step.block == own.block);
    let place = beside.and_then(|step| hop.path.iter().position(|part| part == &*step.id).map(|place| (step, place)));
    if let Some((step, _)) = place.filter(|(_, place)| hop.path.iter().take(*place).any(|part| part == EACH)) {
        return Instead::Field { old: step.id.to_string(), new: own.id.to_string() };
    }
    let Some(name) = readable_as(planned, hop.seat, gate) else {
        let route = planned.owner(own.block).map(|ix| &planned.step(ix).step).filter(|step| matches!(step.kind, StepKind::Route(_)));
        return route.map_or(Instead::Unknown, |route| Instead::EndOfCase(route.id.value.clone()));
    };
    let is_value = step.is_some() && !name.contains('|');
    let rest: String = rest.iter().filter(|_| is_value).map(|part| format!(".{part}")).collect();
    Instead::Path { gate: name, below: rest }
}

/// Whether a step that sends waits for a gate. What is sent from another list than those around the gate is sent when it has ended.
fn is_after(planned: &PipelinePlan, sender: Option<StepIx>, gate: StepIx) -> bool {
    let Some(sender) = sender else { return true };
    let mut pairs = planned.around(sender).flat_map(|sender| planned.around(gate).map(move |gate| (sender, gate)));
    let same = pairs.find(|(sender, gate)| planned.step(*sender).block == planned.step(*gate).block);
    same.is_none_or(|(sender, gate)| {
        let (sender, gate) = (planned.step(sender), planned.step(gate));
        planned.block(gate.block).is_upstream(gate.place, sender.place)
    })
}
