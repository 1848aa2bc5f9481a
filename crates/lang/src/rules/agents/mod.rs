//! Agents, judges and the models that they ask.

pub(super) mod embed_model;
pub(super) mod extra_unchecked;
pub(super) mod fallback_circle;
pub(super) mod judge_is_author;
pub(super) mod judge_missing;
pub(super) mod judge_tools;
pub(super) mod output_ignored;
pub(super) mod tool_model_place;
pub(super) mod tools_of_program;
