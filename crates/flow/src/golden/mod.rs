//! `flow test`: finds cases, runs each on each of its channels in virtual time, compares with what is expected and with goldens.
//!
//! | file | what |
//! |---|---|
//! | `suite` | which files hold tests; a checked one, its trials (one a case and channel), and how they are run |
//! | `play` | runs one trial: the engine, a clock of its own, nothing goes outside |
//! | `expect`, `leftover` | what the author expects; replies and mocks nobody asked for |
//! | `calls` | what steps sent to models and services |
//! | `judge` | a model that judges what a run gave |
//! | `mutate` | outputs that are broken on purpose: does a gate notice? |
//! | `reworded`, `negation` | texts with a wrong figure, subject, person, or meaning |
//! | `baseline` | what became worse since somebody last looked |
//! | `facts` | what plays of one trial came to, and what changed between them |
//! | `taping` | recordings of cases |
//! | `file` | golden files |
//! | `run` | all trials, on several threads |
//! | `outcome` | what they gave |
//! | `report` | drawing: for people, JSON, JUnit, a summary in Markdown |
//! | `markdown` | texts of others in Markdown |
//!
//! How to add an expectation: its field in `model::Expect`, its comparison in `expect.rs`, a line in `docs/testing.md`.

mod baseline;
mod calls;
mod expect;
mod facts;
mod file;
mod judge;
mod leftover;
mod markdown;
mod mutate;
mod negation;
mod outcome;
mod play;
pub mod report;
mod reworded;
mod run;
mod suite;
mod taping;

pub use baseline::{Baseline, Comparison};
pub use file::may_write;
pub use outcome::{Broken, Golden, Report};
pub use run::run;
pub use suite::{DiscoverError, LiveModels, Suite, TrialOptions, discover, misnamed};
