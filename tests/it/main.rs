//! The one integration-test binary: the whole program, and what it ships.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "what goes wrong in a helper of a test fails the test")]

mod agents;
mod canaries;
mod cassette;
mod check;
mod completions;
mod doctor;
mod draw;
mod edges;
mod effects;
mod events;
mod exits;
mod files;
mod fix;
mod golden;
mod growth;
mod init;
mod kept;
mod lsp;
mod markdown;
mod masked_record;
mod mcp_server;
mod missing_data;
mod mutations;
mod names;
mod plans;
mod program;
mod reach;
mod readme;
mod real_model;
mod real_servers;
mod recovery;
mod reference_systems;
mod schema;
mod servers;
mod settings;
mod slips;
mod sql_engines;
mod store;
mod terminal;
mod tidy;
mod timesheet_answers;
mod timesheet_data;
mod trust;
mod yaml_suite;
