//! The rules that ask the symbol table, which is built once for all of them; and what each text reads, looked up once: every kind of
//! problem has its own file.

use std::collections::HashMap;

use super::files::absent_section;
use super::gates::check_type;
use super::prelude::{Code, Diagnostic, PipelineNames, PipelinePlan, Plan, Seat, Texts};
use super::queries::{any_row, query_compares, query_fails, query_never, query_values, table_content, unknown_column, unknown_table};
use super::steps::{
    call_inputs, element_unread, not_upstream, route_free_text, route_open, route_value, same_file_written, tool_arguments,
};
use super::support::problem::ReadProblem;
use super::unused;
use super::values::{
    constant_condition, default_unused, dollar_braces, expression_types, maybe_missing, missing_braces, no_output_fields, path_for_file,
    status_asked, type_mismatch, unknown_field, unknown_name, whole_step, whole_value, wrong_place,
};
use crate::model::Read;
use crate::plan::StepIx;

/// Most places of one mistake that are shown: of a step that reads another too early, or of a text that reads what may be missing.
const MOST_PLACES: usize = 4;

/// A rule that asks the symbol table.
type AskingRule = fn(&PipelineNames, &Texts, &mut Vec<Diagnostic>);

/// All of them.
const ASKING: &[AskingRule] = &[
    each_read,
    unused::check,
    constant_condition::check,
    same_file_written::check,
    type_mismatch::check,
    expression_types::check,
    missing_braces::check,
    dollar_braces::check,
    absent_section::check,
    whole_step::check,
    element_unread::check,
    unknown_table::check,
    unknown_column::in_queries,
    query_fails::check,
    query_values::check,
    any_row::check,
    table_content::check,
    query_never::check,
    query_compares::check,
    default_unused::check,
    whole_value::check,
    route_open::check,
    route_value::check,
    route_free_text::check,
    path_for_file::check,
    status_asked::check,
    check_type::check,
    call_inputs::check,
    tool_arguments::check,
];

pub(super) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let names = PipelineNames::new(pipeline, plan);
    let texts = Texts::of(pipeline);
    for rule in ASKING {
        rule(&names, &texts, out);
    }
}

/// What a tool of a file of definitions reads of its own arguments. The rest of what stands there may be given by an importer.
pub(super) fn of_arguments(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let is_argument = |read: &Read| read.path.first().is_some_and(|root| root == "with");
    each_read_of(&PipelineNames::new(pipeline, plan), &Texts::of(pipeline), is_argument, out);
}

fn each_read(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    each_read_of(names, texts, |_| true, out);
}

/// F103, F201, F202, F204, F208, F211.
fn each_read_of(names: &PipelineNames, texts: &Texts, is_meant: impl Fn(&Read) -> bool, out: &mut Vec<Diagnostic>) {
    let mut waiting: HashMap<(StepIx, StepIx), usize> = HashMap::new();
    let mut plain: HashMap<StepIx, usize> = HashMap::new();
    for placed in &texts.all {
        let Some(seat) = texts.seats.get(placed.seat) else { continue };
        let mut missing: HashMap<String, usize> = HashMap::new();
        for read in placed.text.reads.iter().filter(|read| is_meant(read)) {
            let Some(problem) = names.read(seat, read).problem else { continue };
            // `failure is not none and failure.kind == 'timeout'`
            let asks_itself = || read.path.first().is_some_and(|root| root == "failure") && asks_for_failure(&placed.text.source);
            if matches!(problem, ReadProblem::MaybeMissing(_)) && asks_itself() {
                continue;
            }
            // A step that reads another in many places is at the wrong place once, and a text that reads one is guarded once.
            let first = match &problem {
                ReadProblem::NotUpstream { read: step, reader } => Some(*waiting.entry((*step, *reader)).or_insert(out.len())),
                ReadProblem::MaybeMissing(why) => Some(*missing.entry(why.clone()).or_insert(out.len())),
                ReadProblem::UnknownName(_)
                | ReadProblem::UnknownStep(_)
                | ReadProblem::WrongPlace(..)
                | ReadProblem::BesideOutputs(..)
                | ReadProblem::UnknownField { .. } => None,
                ReadProblem::NoOutputFields(step) | ReadProblem::NoRounds(step) => Some(*plain.entry(*step).or_insert(out.len())),
            };
            let field = no_output_fields::field(placed, read);
            if let Some(first) = first.and_then(|index| out.get_mut(index)) {
                if matches!(problem, ReadProblem::NoOutputFields(_)) {
                    no_output_fields::add(first, &field);
                }
                if first.related.len() < MOST_PLACES {
                    first.related.push((read.span, "and here".to_owned()));
                }
                continue;
            }
            // Where all steps are lost, that is reported, and not what read them.
            if names.pipeline.steps.is_empty() && matches!(problem, ReadProblem::UnknownStep(_)) {
                continue;
            }
            let is_plain = matches!(problem, ReadProblem::NoOutputFields(_));
            let is_name = matches!(problem, ReadProblem::UnknownName(_));
            let is_beside = matches!(problem, ReadProblem::BesideOutputs(..));
            let mut found = report(names, seat, read, problem);
            if is_beside {
                wrong_place::with_default(&mut found, read, &placed.text.source);
            }
            if is_name {
                unknown_name::compared(names, seat, &mut found, read, &placed.text.source);
            }
            if is_plain {
                no_output_fields::add(&mut found, &field);
            }
            out.push(match found.code {
                Code::MaybeSkipped => {
                    let kind = names.kind_if_there(seat, &read.path);
                    maybe_missing::after_filters(maybe_missing::of_kind(found, read, &kind, &placed.text.source), read, &placed.text.source)
                }
                _ => found,
            });
        }
    }
}

/// Whether a text asks if there is a failure, before it reads what it says.
fn asks_for_failure(source: &str) -> bool {
    ["failure is ", "if failure ", "failure and ", "not failure "].iter().any(|test| source.contains(test))
}

/// The finding of a problem that a text has with a name.
pub(super) fn report(names: &PipelineNames, seat: &Seat, read: &Read, problem: ReadProblem) -> Diagnostic {
    match problem {
        ReadProblem::UnknownName(name) => unknown_name::name(names, seat, read, &name),
        ReadProblem::UnknownStep(id) => unknown_name::step(names, read, &id),
        ReadProblem::WrongPlace(message, help) => wrong_place::report(read, message, help),
        ReadProblem::BesideOutputs(id, list) => wrong_place::beside_outputs(read, &id, list),
        ReadProblem::NotUpstream { read: step, reader } => not_upstream::report(names, read, step, reader),
        ReadProblem::UnknownField { owner, field, known } => unknown_field::report(names, read, &owner, &field, &known),
        ReadProblem::NoRounds(group) => wrong_place::no_rounds(names, read, group),
        ReadProblem::NoOutputFields(step) => no_output_fields::report(names, read, step),
        ReadProblem::MaybeMissing(why) => maybe_missing::report(read, why),
    }
}
