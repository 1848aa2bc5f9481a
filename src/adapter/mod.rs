//! One port implementation per file.
//!
//! How to add an adapter: a file here that implements a trait of `port`, and its line in `cli`.

pub mod files;
