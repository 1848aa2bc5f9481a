//! Steps: their order, their routes and rounds, and what they give to what they use.

pub(super) mod approval_ignored;
pub(super) mod argument_unread;
pub(super) mod cache_hides_effect;
pub(super) mod call_inputs;
pub(super) mod effect_in_repeat;
pub(super) mod element_unread;
pub(super) mod feedback_unread;
pub(super) mod no_channel;
pub(super) mod not_upstream;
pub(super) mod redundant_need;
pub(super) mod refine_repeats_effect;
pub(super) mod route_case_hidden;
pub(super) mod route_free_text;
pub(super) mod route_open;
pub(super) mod route_value;
pub(super) mod same_file_written;
pub(super) mod same_key;
pub(super) mod second_refinement;
pub(super) mod shell_words;
pub(super) mod tool_arguments;
pub(super) mod tool_not_open;
pub(super) mod unreachable_step;
pub(super) mod until_unchanged;
