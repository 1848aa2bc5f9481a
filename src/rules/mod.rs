//! One cross-file check per file; reachability comes from `plan`.
//!
//! How to add a rule: a file with `pub(super) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>)`, its name in [`RULES`],
//! a failing and a passing file in `tests/check/`, a page in `docs/codes/`. A rule that asks what a text reads, or what a value is,
//! uses the symbol table in `names`; work stays in step with the size of the file.

mod call_inputs;
mod comparison;
mod constant_condition;
mod default_bound;
mod fallback;
mod guards;
mod known;
mod maybe_missing;
pub mod names;
mod no_result;
mod not_upstream;
pub mod problem;
mod reads;
mod redundant_need;
mod references;
mod routes;
mod same_file;
pub mod seat;
mod step_reads;
mod tables;
mod tool_arguments;
mod tool_use;
mod type_mismatch;
pub mod types;
mod unknown_field;
mod unknown_name;
mod unreachable;
mod unused;
mod wording;
mod wrong_place;

mod addresses;
mod cases;
mod channels;
mod code;
mod criteria;
mod effects;
mod giving;
mod judges;
mod limits;
mod mocks;
mod otherwise;
mod past_gate;
mod personal;
mod personal_columns;
mod personal_sources;
mod policies;
mod raw_send;
mod refinements;
mod replies;
mod roles;
mod secrets;
mod servers;
mod styles;
mod tell;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod times;
mod verdicts;
mod ways_out;
mod written_plan;

pub use written_plan::check_written_plan;

pub use effects::{Effects, effects_of};
pub use roles::reads;

use crate::diagnostic::Diagnostic;
use crate::model::{Channel, StyleGuide, TestFile};
use crate::plan::{PipelinePlan, Plan};

/// A check of one pipeline with everything it names.
pub(crate) type Rule = fn(&PipelinePlan, &Plan, &mut Vec<Diagnostic>);

/// Every rule, in the order of the codes.
const RULES: &[Rule] = &[
    redundant_need::check,
    unreachable::check,
    no_result::check,
    routes::check,
    reads::check,
    tables::check,
    references::check,
    tool_use::check,
    servers::wrong_names,
    servers::parts_of_arguments,
    servers::unnamed,
    fallback::check,
    default_bound::check,
    policies::plan_outside,
    refinements::second,
    refinements::repeats_effect,
    refinements::feedback_unread,
    judges::missing,
    criteria::impossible,
    criteria::against_channel,
    past_gate::text_past_gate,
    past_gate::gate_too_late,
    ways_out::none,
    otherwise::fails,
    judges::is_author,
    past_gate::draft_past_gate,
    channels::impossible,
    channels::conflicts,
    raw_send::raw,
    styles::conflicts,
    times::default_timeout,
    times::past_deadline,
    effects::once_with_retry,
    effects::effect_with_retry,
    limits::wider_inside,
    limits::unpriced,
    times::nested_retry,
    effects::cache_hides_effect,
    secrets::in_file,
    secrets::in_text,
    secrets::in_address,
    code::text_as_code,
    personal::unmarked,
    personal::in_log,
    personal::leaves,
    secrets::undeclared,
    policies::lists_overlap,
    policies::limits,
    policies::too_wide,
    policies::every_tool_of_a_server,
    policies::outside,
    addresses::plain_http,
    verdicts::in_models,
    replies::in_models,
];

/// Checks all pipelines of a plan.
pub fn check(plan: &Plan, out: &mut Vec<Diagnostic>) {
    for pipeline in &plan.pipelines {
        for rule in RULES {
            rule(pipeline, plan, out);
        }
    }
}

/// Checks the cases of a test file against its pipeline: the first of the plan.
pub fn check_tests(tests: &TestFile, plan: &Plan, out: &mut Vec<Diagnostic>) {
    cases::check(tests, plan, out);
}

/// Checks a channel file that is looked at alone.
pub fn check_channel(channel: &Channel, out: &mut Vec<Diagnostic>) {
    channels::no_room(channel, None, out);
    channels::conflict(channel, out);
}

/// Checks a style guide file that is looked at alone.
pub fn check_style_guide(style: &StyleGuide, out: &mut Vec<Diagnostic>) {
    styles::conflict(style, out);
}
