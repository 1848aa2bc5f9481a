//! The loop against a world of the test's own making.

mod hanging;
mod spans;
mod telling;
mod world;
