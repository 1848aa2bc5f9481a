//! Gates, their checks, and the texts that go out beside them.

pub(super) mod check_against_channel;
pub(super) mod check_description;
pub(super) mod check_impossible;
pub(super) mod check_type;
pub(super) mod draft_past_gate;
pub(super) mod gate_no_way_out;
pub(super) mod gate_on_input;
pub(super) mod gate_too_late;
pub(super) mod judged_by_itself;
pub(super) mod otherwise_fails;
pub(super) mod same_otherwise;
pub(super) mod slashes;
pub(super) mod text_as_pattern;
pub(super) mod text_past_gate;
