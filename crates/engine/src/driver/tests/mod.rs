//! The loop against a world of the test's own making.

mod hanging;
mod telling;
mod world;
