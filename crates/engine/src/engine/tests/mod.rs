//! The engine without a world: plans made by hand, answers given by the test, time that only moves when told.

mod approving;
mod bounds;
mod build;
mod consent;
mod endings;
mod growth;
mod keeping;
mod mixing;
mod mocking;
mod plan_bounds;
mod planner;
mod planning;
mod properties;
mod questioned;
mod refining;
mod resuming;
mod rounds;
mod second_rounds;
mod secret_filter;
mod servers;
mod serving;
mod spending;
mod stopping;
mod table;
mod tools;
mod world;
