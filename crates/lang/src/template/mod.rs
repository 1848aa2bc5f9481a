//! minijinja, strict and bounded: which names a template reads, with their places; and filling one in.
//!
//! Only text an author wrote gets here as a template; what it is filled with stays data, whatever it holds. minijinja reads
//! the text and holds the values; the tree, its operators and its filters are ours, because each must be strict (a missing
//! part is an error unless `default` or `is defined` guards the path) and bounded in what it makes.
//!
//! [`text`] and [`expression`] check and give a [`crate::model::Text`]; [`compile`] makes it ready; [`Compiled`] fills it
//! from a [`Scope`]. The way of a text: `scan` (limits, structure) → minijinja's parser → `build` (names, filters, reads) →
//! `tree` → `eval`.
//!
//! How to add a filter: a function in a file of `filters/`, bounded by its call's budget; one line in the table of
//! `filters.rs`; a sentence in `tests/filters.rs`; a word in `docs/language.md`.

mod address;
mod budget;
mod build;
mod check;
mod days;
mod eval;
mod fill;
mod filled_address;
mod filters;
mod given;
mod habits;
mod known;
mod languages;
mod number;
mod operators;
pub(crate) mod patterns;
mod print;
mod problem;
mod ready;
mod scan;
mod scope;
mod single;
mod stop;
mod stray;
mod tree;
pub mod types;
mod typing;
mod value;

#[cfg(test)]
mod tests;

pub use address::{AddressText, address_text};
pub use check::{expression, text};
pub(crate) use days::{help_for_day, is_day};
pub use fill::{Compiled, compile};
pub use filled_address::{FilledAddress, percent};
pub use filters::listed as filters;
pub use given::{EACH, GivenPath, Share, is_place, reached, value_paths};
pub use known::{KnownNames, fill_known};
pub(crate) use scan::print_end;
pub use scope::Scope;
pub use single::in_brackets;
pub use stop::FillError;
pub(crate) use stray::{begins_name, holds_a_name, is_like_a_name, is_root};
pub use typing::split_help;
pub(crate) use typing::{FieldAsker, FieldOwner, PointlessFilter, PresenceTest, TypeProblem, TypeProblemKind, folded_letters, typed};
pub use value::{Value, empty_name, from_json, object, step_value, to_json};
