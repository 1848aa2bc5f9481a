//! F106 in detail: `is defined` of a name that is always there, and `is none` of one that is never empty.

use crate::model::{Field, FieldKind, OnFailure, Shape, Step, StepKind};
use crate::plan::StepIx;
use crate::rules::prelude::{PipelineNames, Seat, StepPart, Viewpoint};
use crate::template::PresenceTest;
use crate::template::types::Type;

/// What such a test always gives, and why; and what to write in its place.
struct AlwaysThere {
    why: String,
    /// For a test that asks whether it is there, and for one that asks whether it is not.
    tests: Option<[String; 2]>,
}

impl AlwaysThere {
    fn new(why: impl Into<String>, [there, absent]: [String; 2]) -> Option<AlwaysThere> {
        Some(AlwaysThere { why: why.into(), tests: Some([there, absent]) })
    }

    /// A test that can be left out.
    fn sure(why: impl Into<String>) -> Option<AlwaysThere> {
        Some(AlwaysThere { why: why.into(), tests: None })
    }
}

/// What is wrong where elements of a `for_each` are asked whether they have this field, which all have; and what to write for this one.
pub(in crate::rules) fn of_element(field: &str, status: &str, path: &str) -> (String, String) {
    let name = path.strip_suffix(field).unwrap_or_default();
    let message = format!("\"{field}\" is defined for every element: with on_failure: continue it is empty where there is none");
    (message, format!("write {name}status == '{status}'"))
}

/// What is wrong with a test that gives the same in each run, and what to write.
pub(in crate::rules) fn constant(names: &PipelineNames, seat: &Seat, path: &[String], test: PresenceTest) -> Option<(String, String)> {
    let found = match test.is_for_empty {
        false => always_defined(names, seat, path),
        true => never_empty(names, seat, path),
    }?;
    let always = if test.holds() { "is always true" } else { "is never true" };
    let message = format!("\"{} {}\" {always}: {}", path.join("."), test.words(), found.why);
    let help = match (found.tests, test.holds()) {
        (Some([there, _]), true) => format!("write {there}"),
        (Some([_, absent]), false) => format!("write {absent}"),
        (None, true) => "leave the test out".to_owned(),
        (None, false) => "remove the test and what depends on it".to_owned(),
    };
    Some((message, help))
}

fn none_tests(path: &str) -> [String; 2] {
    [format!("{path} is not none"), format!("{path} is none")]
}

fn always_defined(names: &PipelineNames, seat: &Seat, path: &[String]) -> Option<AlwaysThere> {
    let (root, rest) = path.split_first()?;
    let file = &names.pipeline.pipeline;
    match (root.as_str(), rest) {
        ("failure", _) if is_read(names, seat, root) && is_in_finally(names, seat) => {
            AlwaysThere::new("failure is empty, not missing, when nothing failed", none_tests("failure"))
        }
        ("previous", [] | [_] | [_, _]) if is_read(names, seat, root) && names.path(seat, path).is_ok() => {
            AlwaysThere::new("previous is empty, not missing, in the first round", ["round > 1", "round == 1"].map(str::to_owned))
        }
        ("refinement", _) if has_second_try(names) => {
            AlwaysThere::new("refinement is empty, not missing, in the first try", none_tests("refinement"))
        }
        ("inputs", [name]) => {
            let field = input(names, seat, name)?;
            match (&field.default, field.is_required) {
                (Some(default), _) if default.as_str() == Some("") => {
                    AlwaysThere::new("its default is an empty text", [format!("inputs.{name} != ''"), format!("inputs.{name} == ''")])
                }
                // What holds in each run, as the test says, does no harm.
                (Some(default), _) if !default.is_null() => None,
                (None, true) => None,
                (Some(_), _) | (None, false) => {
                    AlwaysThere::new("an input that is left out is empty, not missing", none_tests(&path.join(".")))
                }
            }
        }
        ("person", [_]) if file.person.is_some() && is_read(names, seat, root) => {
            let path = path.join(".");
            let given = format!("{path} | default('', true)");
            AlwaysThere::new("an unknown field of a person is empty, not missing", [format!("{given} != ''"), format!("{given} == ''")])
        }
        ("steps", [id, rest @ ..]) => step(names, seat, id, rest),
        _ => None,
    }
}

fn step(names: &PipelineNames, seat: &Seat, id: &str, rest: &[String]) -> Option<AlwaysThere> {
    let ix = seen(names, seat, id)?;
    let step = names.step(ix);
    let status = |status: &str| ["==", "!="].map(|sign| format!("steps.{id}.status {sign} '{status}'"));
    match rest {
        [error] if error == "error" => {
            let why = format!("its error is empty, not missing, when \"{id}\" succeeded");
            if step.for_each.is_some() && step.on_failure == OnFailure::Continue {
                return AlwaysThere::new(why, elements_failed(step));
            }
            match may_have_failed(names, seat, ix, step) {
                true => AlwaysThere::new(why, status("failed")),
                false => AlwaysThere::sure(format!("a failure of \"{id}\" ends the run, so its error is empty here")),
            }
        }
        // It has run wherever it is read.
        [] | [_] if step.when.is_none() && !may_have_failed(names, seat, ix, step) => None,
        [] => AlwaysThere::new(format!("\"{id}\" is defined, whether it ran or not"), status("succeeded")),
        [field] if field == "status" || field == "details" => {
            AlwaysThere::new(format!("\"{id}\" has {field}, whether it ran or not"), status("succeeded"))
        }
        _ => None,
    }
}

/// How a condition asks whether elements of a `for_each` failed that may.
pub(in crate::rules) fn elements_failed(step: &Step) -> [String; 2] {
    let counted = format!("steps.{}.details.failed", step.id.value);
    // Of one that is skipped nothing is counted.
    let counted = if step.when.is_some() { format!("({counted} | default(0))") } else { counted };
    [">", "=="].map(|sign| format!("{counted} {sign} 0"))
}

/// Names that are there and never empty.
fn never_empty(names: &PipelineNames, seat: &Seat, path: &[String]) -> Option<AlwaysThere> {
    match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["inputs", name] => {
            let field = input(names, seat, name)?;
            let is_sure = match &field.default {
                Some(default) => !default.is_null(),
                None => field.is_required,
            };
            if !is_sure || field.kind != FieldKind::Text {
                return None;
            }
            let why = if field.default.is_some() { "it has a default" } else { "a run does not start without it" };
            AlwaysThere::new(why, [format!("inputs.{name} != ''"), format!("inputs.{name} == ''")])
        }
        ["steps", id, "status"] => {
            seen(names, seat, id)?;
            AlwaysThere::new("a status is never empty", ["==", "!="].map(|sign| format!("steps.{id}.status {sign} 'succeeded'")))
        }
        ["steps", id] => {
            seen(names, seat, id)?;
            let why = format!("\"{id}\" is there, whether it ran or not");
            AlwaysThere::new(why, ["==", "!="].map(|sign| format!("steps.{id}.status {sign} 'succeeded'")))
        }
        ["steps", id, "output"] => {
            let step = names.step(seen(names, seat, id)?);
            let is_answer = matches!(step.kind, StepKind::Agent(_)) && step.for_each.is_none();
            if !is_answer || names.path(seat, path) != Ok(Type::Text) {
                return None;
            }
            AlwaysThere::new("an agent answers with a text", [format!("steps.{id}.output != ''"), format!("steps.{id}.output == ''")])
        }
        _ => None,
    }
}

/// An input of this file that is declared by its fields. A text of another file may ask which inputs its user has.
fn input<'a>(names: &PipelineNames<'a>, seat: &Seat, name: &str) -> Option<&'a Field> {
    let (Shape::Fields(fields), false) = (&names.pipeline.pipeline.inputs, is_imported(seat)) else { return None };
    fields.iter().find(|field| field.name == name)
}

fn is_imported(seat: &Seat) -> bool {
    matches!(seat.at, Viewpoint::Shared { is_imported: true, .. })
}

/// Whether a name can be read wherever a text is filled in.
fn is_read(names: &PipelineNames, seat: &Seat, root: &str) -> bool {
    let root = [root.to_owned()];
    match &seat.at {
        Viewpoint::Shared { users, is_imported } => {
            !is_imported && !users.is_empty() && users.iter().all(|user| names.path(&names.seat(*user), &root).is_ok())
        }
        Viewpoint::Step(..) | Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => names.path(seat, &root).is_ok(),
    }
}

/// The step of an id that a text of a step, or the outputs, can read.
fn seen(names: &PipelineNames, seat: &Seat, id: &str) -> Option<StepIx> {
    names.path(seat, &["steps".to_owned(), id.to_owned(), "status".to_owned()]).ok()?;
    match seat.at {
        Viewpoint::Step(reader, StepPart::When | StepPart::List | StepPart::Work) => {
            names.pipeline.seen_from(names.pipeline.step(reader).block, id)
        }
        Viewpoint::Outputs => {
            let main = names.pipeline.main;
            Some(names.at(main, names.pipeline.block(main).place(id)?))
        }
        Viewpoint::Step(_, StepPart::Until) | Viewpoint::Shared { .. } | Viewpoint::Person | Viewpoint::Conversation => None,
    }
}

/// Whether a text can meet a step that failed: behind a failure of the run each may have, else those of which a failure is allowed.
fn may_have_failed(names: &PipelineNames, seat: &Seat, ix: StepIx, step: &Step) -> bool {
    let is_after = matches!(seat.at, Viewpoint::Step(reader, _) if names.root_of(reader).1 != names.root_of(ix).1);
    is_after || step.on_failure != OnFailure::Stop || matches!(step.kind, StepKind::Gate(_))
}

fn is_in_finally(names: &PipelineNames, seat: &Seat) -> bool {
    let is_there = |ix: &StepIx| Some(names.root_of(*ix).1) == names.pipeline.finally;
    match &seat.at {
        Viewpoint::Step(ix, _) => is_there(ix),
        Viewpoint::Shared { users, .. } => users.iter().any(is_there),
        Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => false,
    }
}

fn has_second_try(names: &PipelineNames) -> bool {
    names.pipeline.steps.iter().any(|planned| matches!(&planned.step.kind, StepKind::Gate(gate) if gate.refine.is_some()))
}
