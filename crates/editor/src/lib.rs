//! Output for people and editors: reports of findings and runs, drawings of plans, and the language server.
//!
//! See `ARCHITECTURE.md` for the modules and their allowed dependencies.

pub mod lsp;
pub mod report;

// Gives `crate::model` the same path in each crate.
use flow_base::{diagnostic, event, journal, model, port, source, sql};
use flow_lang::{check, load, lower, plan, rules, syntax, template};
