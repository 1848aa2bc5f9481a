//! Channels and style guides, and what is sent through them.

pub(super) mod channel_conflict;
pub(super) mod channel_impossible;
pub(super) mod raw_send;
pub(super) mod style_conflict;
