//! What a text reads and what becomes of it: names, fields, conditions and values of the wrong kind.

pub(super) mod comparison_type;
pub(super) mod constant_condition;
pub(super) mod default_unused;
pub(super) mod dollar_braces;
pub(super) mod expression_types;
pub(super) mod maybe_missing;
pub(super) mod missing_braces;
pub(super) mod no_output_fields;
pub(super) mod path_for_file;
pub(super) mod presence;
pub(super) mod status_asked;
pub(super) mod type_mismatch;
pub(super) mod unknown_field;
pub(super) mod unknown_name;
pub(super) mod whole_step;
pub(super) mod whole_value;
pub(super) mod wrong_place;
