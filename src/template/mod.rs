//! minijinja, strict and bounded: which names a template reads, with their places; and filling one in.
//!
//! How to add a filter: a function in `filters.rs`, bounded in the size of what it makes, its name in `ALLOWED`, a line in
//! `docs/language.md`.
