//! What several rules ask: the names that a text sees, where texts stand and what they give, and how policies and checks are read. Nothing here is a rule.

pub(super) mod asked_query;
pub(super) mod called_names;
pub(super) mod effects;
pub(super) mod giving;
pub(super) mod guards;
pub(super) mod known;
pub(super) mod meant;
pub mod names;
pub(super) mod personal_sources;
pub mod problem;
pub(super) mod program_words;
pub(super) mod roles;
pub(super) mod scorecards;
pub mod seat;
pub(super) mod seat_view;
pub(super) mod step_paths;
pub(super) mod step_reads;
pub(super) mod style_guides;
pub(super) mod tell;
pub(super) mod texts_past_gate;
pub(super) mod unjudged_rewrite;
