//! What a file as a whole defines, names, uses and gives.

pub(super) mod absent_section;
pub(super) mod conversation_unread;
pub(super) mod criterion_twice;
pub(super) mod history_alone;
pub(super) mod no_effect;
pub(super) mod no_result;
pub(super) mod one_conversation;
pub(super) mod unknown_reference;
pub(super) mod unused_definition;
pub(super) mod unused_input;
pub(super) mod unused_output;
