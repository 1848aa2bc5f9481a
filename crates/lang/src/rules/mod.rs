//! One cross-file check per file, and one code; what several of them share is in files named by what they give. Reachability comes
//! from `plan`.
//!
//! How to add a rule: a file named by what it finds, which begins with its code and has
//! `pub(super) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>)`; its name below and in [`RULES`] or [`OF_DEFINITIONS`]; its code
//! (`diagnostic` says what belongs to one). A rule that asks what a text reads, or what a value is, uses the symbol table in
//! `names`; work stays in step with the size of the file. A code that other rooms report too has its constructor in `diagnostic/shared.rs`.

mod absent_section;
mod agent_program_outside;
mod any_row;
mod approval_ignored;
mod argument_unread;
mod cache_hides_effect;
mod call_inputs;
mod called_names;
mod case_contradicts;
mod cases;
mod channel_conflict;
mod channel_impossible;
mod check_against_channel;
mod check_description;
mod check_impossible;
mod check_type;
mod comparison_type;
mod constant_condition;
mod conversation_unread;
mod criterion_twice;
mod default_bound;
mod default_timeout;
mod default_unused;
mod dialects;
mod dollar_braces;
mod draft_past_gate;
mod effect_in_repeat;
mod effect_with_retry;
mod effects;
mod element_unread;
mod embed_model;
mod expression_types;
mod extra_unchecked;
mod fallback_circle;
mod feedback_unread;
mod gate_no_way_out;
mod gate_on_input;
mod gate_too_late;
mod giving;
mod group_retry;
mod guarantee_unmet;
pub mod guarantees;
mod guard_patterns;
mod guards;
mod history_alone;
mod judge_is_author;
mod judge_missing;
mod judge_tools;
mod judged_by_itself;
mod known;
mod limit_contradicts;
mod lists_overlap;
mod maybe_missing;
mod meant;
mod missing_braces;
mod mock_shape;
pub mod names;
mod nested_retry;
mod no_channel;
mod no_effect;
mod no_output_fields;
mod no_result;
mod no_sandbox;
mod not_upstream;
mod nothing_expected;
mod number_forms;
mod once_with_retry;
mod one_conversation;
mod otherwise_fails;
mod output_ignored;
mod outside_lists;
mod outside_policy;
mod own_folder;
mod part_entries;
mod past_deadline;
mod path_for_file;
mod personal_in_log;
mod personal_leaves;
mod personal_sources;
mod personal_unmarked;
mod plain_http;
mod plan_outside_policy;
mod policy_entries;
mod policy_limits;
mod policy_too_wide;
mod presence;
pub mod problem;
mod program_words;
mod query_compares;
mod query_dates;
mod query_fails;
mod query_never;
mod query_operands;
mod query_place;
mod query_uses;
mod query_values;
mod query_view;
mod raw_send;
mod reads;
mod redundant_need;
mod refine_repeats_effect;
mod replies;
mod reply_calls;
mod reply_keys;
mod reply_shape;
mod roles;
mod route_case_hidden;
mod route_free_text;
mod route_open;
mod route_value;
mod same_file_written;
mod same_key;
mod same_otherwise;
mod scorecards;
pub mod seat;
mod seat_view;
mod second_refinement;
mod secret_in_address;
mod secret_in_file;
mod secret_in_text;
mod secret_to_open_host;
mod shell_words;
mod short_timeout;
mod slashes;
mod status_asked;
mod step_paths;
mod step_reads;
mod style_conflict;
mod table_content;
mod tell;
mod test_ends;
mod test_lacks;
mod test_name;
mod test_values;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text_as_code;
mod text_as_pattern;
mod text_past_gate;
mod texts_past_gate;
mod too_many_calls;
mod tool_arguments;
mod tool_model_place;
mod tool_not_open;
mod tools_of_program;
mod type_mismatch;
mod undeclared_secret;
mod unjudged_rewrite;
mod unknown_column;
mod unknown_field;
mod unknown_name;
mod unknown_reference;
mod unknown_table;
mod unknown_test_name;
mod unpriced_model;
mod unreachable_step;
mod until_unchanged;
mod untrusted_arguments;
mod unused;
mod unused_definition;
mod unused_input;
mod unused_output;
mod verdicts;
mod whole_step;
mod whole_value;
mod wider_inside;
mod wider_policy;
mod written_plan;
mod wrong_place;

pub(crate) use cases::check as check_tests;
pub(crate) use test_name::check as check_test_name;
pub(crate) use written_plan::check_written_plan;

pub use effects::effects_of;
pub use secret_in_file::{keys, keys_of};

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::model::{Channel, Multilingual, Pipeline, Program, Settings, StyleGuide};
use crate::plan::{PipelinePlan, Plan};
use crate::source::Span;
use tell::{finding, listed};

/// A check of one pipeline with everything it names.
pub(crate) type Rule = fn(&PipelinePlan, &Plan, &mut Vec<Diagnostic>);

/// The rules of what runs, in the order of the codes.
const RULES: &[Rule] = &[
    redundant_need::check,
    unreachable_step::check,
    no_channel::check,
    no_result::check,
    route_case_hidden::check,
    reads::check,
    wrong_place::check,
    unknown_table::check,
    unknown_column::check,
    query_fails::check,
    query_values::check,
    query_place::check,
    tool_not_open::check,
    fallback_circle::check,
    embed_model::check,
    default_bound::check,
    plan_outside_policy::check,
    history_alone::check,
    one_conversation::check,
    second_refinement::check,
    refine_repeats_effect::check,
    feedback_unread::check,
    judge_missing::check,
    check_against_channel::check,
    criterion_twice::check,
    judged_by_itself::check,
    text_past_gate::check,
    gate_too_late::check,
    gate_no_way_out::check,
    otherwise_fails::check,
    judge_is_author::check,
    draft_past_gate::check,
    channel_impossible::check,
    channel_conflict::check,
    raw_send::check,
    no_effect::check,
    style_conflict::check,
    default_timeout::check,
    past_deadline::check,
    once_with_retry::check,
    effect_with_retry::check,
    wider_inside::check,
    tools_of_program::check,
    tool_model_place::check,
    unpriced_model::check,
    extra_unchecked::check,
    nested_retry::check,
    cache_hides_effect::check,
    same_key::check,
    limit_contradicts::check,
    too_many_calls::check,
    until_unchanged::check,
    group_retry::check,
    effect_in_repeat::check,
    secret_in_file::check,
    secret_in_text::check,
    secret_in_address::check,
    text_as_code::check,
    personal_unmarked::check,
    personal_in_log::check,
    personal_leaves::check,
    undeclared_secret::check,
    secret_to_open_host::check,
    outside_policy::check,
    outside_lists::check,
    agent_program_outside::check,
    guard_patterns::check,
    part_entries::check,
    untrusted_arguments::check,
    wider_policy::check,
    approval_ignored::check,
    shell_words::check,
    check_description::check,
    gate_on_input::check,
    same_otherwise::check,
    any_row::check,
    table_content::check,
    output_ignored::check,
    argument_unread::check,
    conversation_unread::check,
    judge_tools::check,
    short_timeout::check,
    no_sandbox::check,
    plain_http::check,
    own_folder::check,
    guarantee_unmet::check,
    verdicts::in_models,
    replies::in_models,
    reply_keys::in_models,
];

/// The rules of what a file defines, which need no step: all that are held against a file of definitions.
const OF_DEFINITIONS: &[Rule] = &[
    check_impossible::check,
    slashes::check,
    text_as_pattern::check,
    lists_overlap::check,
    policy_limits::check,
    policy_too_wide::check,
    policy_entries::check,
];

/// What else is held against a file of definitions: no importer changes it.
const OF_DEFINITIONS_ALONE: &[Rule] =
    &[secret_in_file::check, secret_in_address::check, plain_http::check, extra_unchecked::check, reads::of_arguments];

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
            unknown_reference::check(pipeline, plan, out);
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

pub use guarantee_unmet::unmet;

/// Checks the model that settings name.
pub(crate) fn check_settings(settings: &Settings, out: &mut Vec<Diagnostic>) {
    secret_in_file::in_settings(settings.default_model.as_ref(), out);
    wrong_place::in_settings(settings.default_model.as_ref(), out);
    secret_in_file::in_key_file(settings.journal.key_file.as_ref(), out);
}

/// Checks a style guide file that is looked at alone.
pub(crate) fn check_style_guide(style: &StyleGuide, out: &mut Vec<Diagnostic>) {
    for style in style.in_each_language() {
        style_conflict::conflict(style, out);
        text_as_pattern::in_style_guide(style, out);
    }
}

/// Checks a channel file that is looked at alone.
pub(crate) fn check_channel(channel: &Channel, out: &mut Vec<Diagnostic>) {
    channel.in_each_language().for_each(|channel| channel_impossible::no_room(channel, None, out));
    channel_conflict::conflict(channel, out);
}
