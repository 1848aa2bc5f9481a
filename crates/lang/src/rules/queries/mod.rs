//! Queries, and the tables that they read.

pub(super) mod any_row;
pub(super) mod dialects;
pub(super) mod number_forms;
pub(super) mod query_compares;
pub(super) mod query_dates;
pub(super) mod query_fails;
pub(super) mod query_never;
pub(super) mod query_operands;
pub(super) mod query_place;
pub(super) mod query_uses;
pub(super) mod query_values;
pub(super) mod query_view;
pub(super) mod table_content;
pub(super) mod unknown_column;
pub(super) mod unknown_table;
