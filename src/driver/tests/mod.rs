//! The loop against a world of the test's own making.

mod telling;
mod world;
