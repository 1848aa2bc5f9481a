//! One cross-file check per file, and one code, in families of what they look at; what several of them ask is in `support`, and what all of them name in
//! `prelude`. Reachability comes from `plan`.
//!
//! How to add a rule: a file in the family that fits, named by what it finds, which begins with its code and has
//! `pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>)`; its name in the family and below in [`RULES`] or
//! [`OF_DEFINITIONS`]; its code (`diagnostic` says what belongs to one). It takes `crate::rules::prelude` in, and from `support` what it asks; one that asks
//! what a text reads, or what a value is, uses the symbol table in `support/names.rs`. Families do not name each other in a circle: what two of them need is
//! in `support`. Work stays in step with the size of the file. A code that other rooms report too has its constructor in `diagnostic/shared.rs`.

mod agents;
mod channels;
mod files;
mod gates;
mod limits;
mod prelude;
mod queries;
mod reads;
mod security;
mod steps;
mod support;
mod test_files;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unused;
mod values;
mod written_plan;

pub(crate) use test_files::cases::check as check_tests;
pub(crate) use test_files::test_name::check as check_test_name;
pub(crate) use written_plan::check_written_plan;

pub use security::guarantee_unmet::unmet;
pub use security::guarantees;
pub use security::secret_in_file::{keys, keys_of};
pub use support::effects::effects_of;
pub use support::{names, problem, seat};

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::{Channel, Multilingual, Pipeline, Program, Settings, StyleGuide};
use crate::source::Span;
use prelude::{Code, Diagnostic, Plan, Rule};

/// The rules of what runs, in the order of the codes.
const RULES: &[Rule] = &[
    steps::redundant_need::check,
    steps::unreachable_step::check,
    steps::no_channel::check,
    files::no_result::check,
    steps::route_case_hidden::check,
    reads::check,
    values::wrong_place::check,
    queries::unknown_column::check,
    queries::query_place::check,
    steps::tool_not_open::check,
    agents::fallback_circle::check,
    agents::embed_model::check,
    limits::default_bound::check,
    security::plan_outside_policy::check,
    files::history_alone::check,
    files::one_conversation::check,
    steps::second_refinement::check,
    steps::refine_repeats_effect::check,
    steps::feedback_unread::check,
    agents::judge_missing::check,
    gates::check_against_channel::check,
    files::criterion_twice::check,
    gates::judged_by_itself::check,
    gates::text_past_gate::check,
    gates::gate_too_late::check,
    gates::gate_no_way_out::check,
    gates::otherwise_fails::check,
    agents::judge_is_author::check,
    gates::draft_past_gate::check,
    channels::channel_impossible::check,
    channels::channel_conflict::check,
    channels::raw_send::check,
    files::no_effect::check,
    channels::style_conflict::check,
    limits::default_timeout::check,
    limits::past_deadline::check,
    limits::once_with_retry::check,
    limits::effect_with_retry::check,
    limits::wider_inside::check,
    agents::tools_of_program::check,
    agents::tool_model_place::check,
    limits::unpriced_model::check,
    agents::extra_unchecked::check,
    limits::nested_retry::check,
    steps::cache_hides_effect::check,
    steps::same_key::check,
    limits::limit_contradicts::check,
    limits::too_many_calls::check,
    steps::until_unchanged::check,
    limits::group_retry::check,
    steps::effect_in_repeat::check,
    security::secret_in_file::check,
    security::secret_in_text::check,
    security::secret_in_address::check,
    security::text_as_code::check,
    security::personal_unmarked::check,
    security::personal_in_log::check,
    security::personal_leaves::check,
    security::undeclared_secret::check,
    security::secret_to_open_host::check,
    security::outside_policy::check,
    security::outside_lists::check,
    security::agent_program_outside::check,
    security::guard_patterns::check,
    security::part_entries::check,
    security::untrusted_arguments::check,
    security::wider_policy::check,
    steps::approval_ignored::check,
    steps::shell_words::check,
    gates::check_description::check,
    gates::gate_on_input::check,
    gates::same_otherwise::check,
    agents::output_ignored::check,
    steps::argument_unread::check,
    files::conversation_unread::check,
    agents::judge_tools::check,
    limits::short_timeout::check,
    security::no_sandbox::check,
    security::plain_http::check,
    security::own_folder::check,
    security::guarantee_unmet::check,
    test_files::verdicts::in_models,
    test_files::replies::in_models,
    test_files::reply_keys::in_models,
];

/// The rules of what a file defines, which need no step: all that are held against a file of definitions.
const OF_DEFINITIONS: &[Rule] = &[
    gates::check_impossible::check,
    gates::slashes::check,
    gates::text_as_pattern::check,
    security::lists_overlap::check,
    security::policy_limits::check,
    security::policy_too_wide::check,
    security::policy_entries::check,
];

/// What else is held against a file of definitions: no importer changes it.
const OF_DEFINITIONS_ALONE: &[Rule] = &[
    security::secret_in_file::check,
    security::secret_in_address::check,
    security::plain_http::check,
    agents::extra_unchecked::check,
    reads::of_arguments,
];

/// Checks definitions that stand in a file of their own.
pub(crate) fn check_definitions(defined: &Pipeline, out: &mut Vec<Diagnostic>) {
    let plan = crate::plan::plan(&Program { pipelines: vec![Arc::new(defined.clone())] }, &mut vec![]);
    for pipeline in &plan.pipelines {
        OF_DEFINITIONS.iter().chain(OF_DEFINITIONS_ALONE).for_each(|rule| rule(pipeline, &plan, out));
    }
}

/// Checks all pipelines of a plan.
pub fn check(plan: &Plan, out: &mut Vec<Diagnostic>) {
    for pipeline in &plan.pipelines {
        let first = out.len();
        // What an agent that others ask uses, its file defines and names.
        if pipeline.pipeline.asked.is_none() {
            files::unknown_reference::check(pipeline, plan, out);
            OF_DEFINITIONS.iter().for_each(|rule| rule(pipeline, plan, out));
        }
        for rule in RULES {
            rule(pipeline, plan, out);
        }
        if pipeline.pipeline.asked.is_some() {
            keep_new(out, first);
        }
    }
}

/// Of an agent that others ask, what its file has not said of itself. What it does not use, its file may.
fn keep_new(out: &mut Vec<Diagnostic>, first: usize) {
    let known: HashSet<(Code, Span)> = out.iter().take(first).map(|found| (found.code, found.span)).collect();
    let found = out.split_off(first);
    out.extend(found.into_iter().filter(|found| found.code != Code::UnusedDefinition && !known.contains(&(found.code, found.span))));
}

/// Checks the model that settings name.
pub(crate) fn check_settings(settings: &Settings, out: &mut Vec<Diagnostic>) {
    security::secret_in_file::in_settings(settings.default_model.as_ref(), out);
    values::wrong_place::in_settings(settings.default_model.as_ref(), out);
    security::secret_in_file::in_key_file(settings.journal.key_file.as_ref(), out);
}

/// Checks a style guide file that is looked at alone.
pub(crate) fn check_style_guide(style: &StyleGuide, out: &mut Vec<Diagnostic>) {
    for style in style.in_each_language() {
        channels::style_conflict::conflict(style, out);
        gates::text_as_pattern::in_style_guide(style, out);
    }
}

/// Checks a channel file that is looked at alone.
pub(crate) fn check_channel(channel: &Channel, out: &mut Vec<Diagnostic>) {
    channel.in_each_language().for_each(|channel| channels::channel_impossible::no_room(channel, None, out));
    channels::channel_conflict::conflict(channel, out);
}
