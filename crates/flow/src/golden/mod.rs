//! `flow test`: finds cases, runs each on each of its channels in virtual time, and compares the results with expectations and goldens.
//!
//! | file | what |
//! |---|---|
//! | `suite` | finds files with tests; a checked test file, its trials (one per case and channel), and options for running them |
//! | `play` | runs one trial with its own clock and without external calls |
//! | `expect`, `leftover` | expectations of the author; unused replies and mocks |
//! | `calls` | calls that steps made to models and services |
//! | `judge` | a model that judges the result of a run |
//! | `mutate` | deliberately broken outputs, to test whether a gate rejects them |
//! | `reworded`, `negation` | texts with a wrong figure, subject, person, or meaning |
//! | `baseline` | results that have become worse since they were stored |
//! | `facts` | results of the plays of one trial, and the differences between them |
//! | `taping` | recordings of cases |
//! | `file` | golden files |
//! | `run` | runs all trials on several threads |
//! | `outcome` | results of trials |
//! | `report` | output: for people, JSON, JUnit, a summary in Markdown |
//! | `markdown` | foreign texts in Markdown |
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
