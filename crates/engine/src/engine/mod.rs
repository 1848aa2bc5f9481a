//! A run without input or output: inputs and the time go in, commands and events come out.
//!
//! Decisions read the state and make events; the state changes only by `State::apply(event)`.
//!
//! | file | what |
//! |---|---|
//! | `state`, `apply`, `opening`, `closing` | what a run knows, and how an event changes it |
//! | `run` | the outside: `handle`, `next_command`, `next_event`, `next_timeout` |
//! | `schedule` | what may start next; how frames, stages and the run end |
//! | `start` | how each kind of step starts |
//! | `calling`, `sending`, `called` | steps that call something; called pipelines |
//! | `asking`, `tooling`, `judging` | talking with a model; the tools it asks for; gates |
//! | `planning`, `plan_texts`, `planned` | plans that an agent writes: what is decided; what agents are told; how events change them |
//! | `attaching`, `caching` | files beside a prompt; results that are used again |
//! | `stopping`, `resuming` | ending a run from outside; going on after that, and after a crash |
//! | `budget` | bounds on tokens and money |
//! | `rejudging` | gates of a run that is over, asked again about another value |
//! | `scripting` | scripted replies |
//! | `permitting`, `secrets` | policies: what may go out; what is secret |
//! | `replies`, `made` | what an answer from outside becomes; which values a `format` step made |
//! | `names`, `preview` | what templates read; what of it is known before a run |
//!
//! How to add a step kind: its type in `model`, an arm in `start.rs`, one in `replies.rs` if it calls something, and tests in `tests/`.

mod apply;
mod asking;
mod attaching;
mod budget;
mod caching;
mod called;
mod calling;
mod closing;
mod command;
mod consent;
mod conversing;
mod end;
#[cfg(test)]
mod faults;
mod hiding;
mod inputs;
mod judging;
mod made;
mod marks;
mod names;
mod opening;
mod permitting;
mod plan_texts;
mod planned;
mod planning;
mod preview;
mod reach;
mod rejudging;
mod replies;
mod resuming;
mod retrying;
mod run;
mod schedule;
mod scripting;
mod secrets;
mod sending;
mod servers;
mod serving;
mod shape;
mod start;
mod state;
mod stopping;
mod tally;
mod tooling;
mod words;

#[cfg(test)]
mod tests;

pub use command::{Command, Input, Reply, Request};
pub use inputs::{PersonFrom, check_inputs, inputs_schema, person, person_fields, zone_problem};
pub use marks::marks;
pub use preview::{Given, known_names};
pub use rejudging::PassedGate;
pub use run::{CannotResume, Mocks, Moment, Noted, Options, Run, Unscripted};
pub use secrets::secret_values;
pub use servers::servers;
pub use state::State;
