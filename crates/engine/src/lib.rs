//! Runs a plan without I/O: inputs and the time go in, commands and events come out. Behind the feature `driver` is the tokio loop that
//! carries out the commands.
//!
//! Decisions read the state and make events; the state changes only by `RunState::apply`.
//!
//! | module | contents |
//! |---|---|
//! | `run`, `command` | the public interface: `handle`, `next_command`, `next_event`, `next_timeout` |
//! | `context`, `parts` | what decisions are made from; the parts of a run that read it, and those that act |
//! | `state/` | the state of a run, and how an event changes it; nothing else can write it |
//! | `schedule/` | what may start next; retries; how frames, stages and the run end, are cancelled and resume after a crash |
//! | `questions` | what agents and judges are asked, as data |
//! | `steps/` | what each kind of step decides (`decision` carries it out), and how it handles a reply from outside |
//! | `model_calls/` | conversations with a model: briefs, budgets, scripted replies, files attached to a prompt |
//! | `tools/` | the tools that agents call, tool servers, policies, and approval of calls by people |
//! | `gates/` | judging, the one refinement, gates of a run that has ended |
//! | `plans/` | plans that an agent writes: what happens next, and the prompts about them |
//! | `tasks/` | tasks: tries, what runs and what judges them, and the prompts about them |
//! | `names`, `preview`, `inputs`, `opening`, `reach` | names in templates, also before a run; inputs; start of a called pipeline; who named a host |
//! | `acts` | acts of a step or its agent, as rules and people see them |
//! | `forking`, `retrying` | which steps of a run another one takes over; which of its elements run again |
//! | `driver/` | the tokio loop |
//! | `secret_filter`, `secrets`, `marks` | which data is secret or personal |
//!
//! How to add a step kind: see `model/step_kind.rs`; here, add a file in `steps/` with its `Kind`, and tests in `tests/`.

pub(crate) mod acts;
mod command;
mod context;
mod dialogues;
#[cfg(feature = "driver")]
pub mod driver;
#[cfg(test)]
mod faults;
mod forking;
mod gates;
mod inputs;
mod marks;
mod model_calls;
mod names;
mod opening;
mod outbox;
mod parts;
mod plans;
mod preview;
mod questions;
mod reach;
mod retrying;
mod run;
mod schedule;
mod secret_filter;
mod secrets;
mod shape;
mod state;
mod steps;
pub(crate) mod tasks;
mod times;
mod tools;
mod words;
mod writers;

#[cfg(test)]
mod tests;

pub use command::{CallReply, CallRequest, Command, Input};
pub use context::Context;
pub use forking::{UnknownStepError, events_of, taken_over};
pub use gates::rejudged::{GateVisit, PassedGate};
pub use inputs::{
    ConversationError, PersonFrom, PersonTextError, RunMessage, check_inputs, inputs_schema, named_message, person, person_fields,
    run_message, zone_problem,
};
pub use marks::marks;
pub use preview::{PreviewInputs, known_names, with_style};
pub use retrying::{NothingToRetry, RetryScope, retry_of};
pub use run::{
    MissingReply, MockedRequest, Mocks, Moment, Noted, PortRules, RecordedEnd, RecordedRun, ResumeError, Run, RunSettings, Unscripted,
};
pub use secrets::{address_without_stand_ins, secret_values, without_stand_ins};
pub use state::RunState;
pub use tools::servers::servers;

// Gives `crate::model` the same path in each crate.
use flow_base::{diagnostic, event, model, policy, port, redact, source, sql};
#[cfg(feature = "driver")]
use flow_base::{journal, telemetry};
use flow_lang::{channel, gate, labels, plan, template};
#[cfg(test)]
use flow_lang::{check, load, rules};
