//! The checks of a criterion that ask no model: one value and its text in, a verdict with a reason out. Pure.
//!
//! A check is filled in first ([`fill_check`]: every text an author wrote becomes a value), then done ([`check`]). A check that
//! cannot do its work (no channel, no style guide, an unknown language) is not passed, and says why. The work is bounded by the
//! size of the text and of the value it is compared with.
//!
//! How to add a check: a variant of `model::Check` and of [`FilledCheck`], its arm in `fill_check` and in `check`, and its file here,
//! whose function ends in [`CheckResult::passed`] or [`CheckResult::failed`].

mod apart;
mod artefact;
mod checkable;
mod fill;
pub mod form;
mod judge;
mod language;
mod lenient;
mod links;
mod manner;
mod markdown;
pub mod mocked;
mod numbers;
mod personal_data;
pub mod questions;
mod readability;
pub mod reading;
pub mod result;
mod same_failure;
mod schema;
mod schema_bounds;
pub mod shape;
mod verdict;
pub mod wanted;
mod words;

pub use apart::check_apart_from;
pub use artefact::{ReadArtefact, read_artefact};
pub use checkable::{CheckableSchema, checkable};
pub use fill::{Fill, FilledCheck, fill_apart_from, fill_check};
pub use judge::check;
pub(crate) use language::letters_of;
pub use same_failure::lasting;
pub use schema::{FORMATS, schema_problems};
pub use schema_bounds::{ExceededBound, MOST_WAYS, SchemaBounds, inner_schemas};
pub use verdict::{CheckResult, JudgedText};

#[cfg(test)]
mod tests;
