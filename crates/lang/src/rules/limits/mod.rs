//! How long, how often and for how much something may run.

pub(super) mod default_bound;
pub(super) mod default_timeout;
pub(super) mod effect_with_retry;
pub(super) mod group_retry;
pub(super) mod limit_contradicts;
pub(super) mod nested_retry;
pub(super) mod once_with_retry;
pub(super) mod past_deadline;
pub(super) mod short_timeout;
pub(super) mod too_many_calls;
pub(super) mod unpriced_model;
pub(super) mod wider_inside;
