//! A run without input or output: inputs and the time go in, commands and events come out.
//!
//! Decisions read the state and make events; the state changes only by `State::apply(event)`.
//!
//! | where | what |
//! |---|---|
//! | `run`, `command` | the outside: `handle`, `next_command`, `next_event`, `next_timeout` |
//! | `state/` | what a run knows, and how an event changes it; nothing else can write it |
//! | `schedule/` | what may start next; tries; how frames, stages and the run end, are ended from outside and continue after a crash |
//! | `steps/` | what each kind of step does; what an answer from outside becomes |
//! | `model_calls/` | talking with a model: briefs, conversations, budgets, scripted replies, files beside a prompt |
//! | `tools/` | the tools that agents ask for, servers of tools, policies and the people who allow a call |
//! | `gates/` | judging, the one refinement, gates of a run that has ended |
//! | `plans/` | plans that an agent writes: what is decided, what agents are told |
//! | `names`, `preview`, `inputs`, `opening`, `reach` | what templates read; what of it is known before a run; what a called pipeline begins with; who named a value |
//! | `acts` | what a step or its agent wants to do, in the words of rules and people |
//! | `forking` | which steps of a run another one takes over |
//! | `secret_filter`, `secrets`, `marks` | what is secret or personal |
//!
//! How to add a step kind: see `model/step_kind.rs`; here a file in `steps/` with its `Kind`, and tests in `tests/`.

pub(crate) mod acts;
mod command;
#[cfg(test)]
mod faults;
mod forking;
mod gates;
mod inputs;
mod marks;
mod model_calls;
mod names;
mod opening;
mod plans;
mod preview;
mod reach;
mod run;
mod schedule;
mod secret_filter;
mod secrets;
mod shape;
mod state;
mod steps;
mod tools;
mod words;

#[cfg(test)]
mod tests;

pub use command::{CallReply, CallRequest, Command, Input};
pub use forking::{UnknownStepError, events_of, taken_over};
pub use gates::rejudged::PassedGate;
pub use inputs::{
    ConversationError, PersonFrom, PersonTextError, RunMessage, check_inputs, inputs_schema, named_message, person, person_fields,
    run_message, zone_problem,
};
pub use marks::marks;
pub use preview::{PreviewInputs, known_names, with_style};
pub use run::{Mocks, Moment, Noted, ResumeError, Run, RunSettings, Unscripted};
pub use secrets::secret_values;
pub use state::RunState;
pub use tools::servers::servers;
