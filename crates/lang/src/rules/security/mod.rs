//! Policies, secrets, personal data, code of others, and what all of it guarantees.

pub(super) mod agent_program_outside;
pub(super) mod guarantee_unmet;
pub mod guarantees;
pub(super) mod guard_patterns;
pub(super) mod lists_overlap;
pub(super) mod no_sandbox;
pub(super) mod outside_lists;
pub(super) mod outside_policy;
pub(super) mod own_folder;
pub(super) mod part_entries;
pub(super) mod personal_in_log;
pub(super) mod personal_leaves;
pub(super) mod personal_unmarked;
pub(super) mod plain_http;
pub(super) mod plan_outside_policy;
pub(super) mod policy_entries;
pub(super) mod policy_limits;
pub(super) mod policy_too_wide;
pub(super) mod secret_in_address;
pub(super) mod secret_in_file;
pub(super) mod secret_in_text;
pub(super) mod secret_to_open_host;
pub(super) mod text_as_code;
pub(super) mod undeclared_secret;
pub(super) mod untrusted_arguments;
pub(super) mod wider_policy;
