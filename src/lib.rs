//! `flow`: a declarative engine for multi-agent workflows. This is the library; the program is a use of it.
//!
//! A program checks a file once, and makes runs of the checked [`Workflow`](runtime::Workflow):
//! ```
//! use flow::runtime::Workflow;
//!
//! let workflow = Workflow::check("pipelines/timesheet/pipeline.yaml")?;
//! assert_eq!(workflow.name(), "timesheet");
//! workflow.findings().iter().for_each(|finding| println!("{} {}", finding.code.id(), finding.message));
//! # Ok::<(), flow::runtime::CheckError>(())
//! ```
//! A run goes on in a thread of its own, so it works in any async runtime, or in none. It is a stream of its [events](event::Event), and has an
//! [outcome](runtime::RunOutcome):
//! ```no_run
//! # async fn example(workflow: flow::runtime::Workflow) -> Result<(), flow::runtime::RunError> {
//! use flow::runtime::Storage;
//!
//! let runner = workflow.runner().channel("sms").storage(Storage::Project);
//! let mut run = runner.run(serde_json::json!({ "message": "Check my timesheet" }));
//! while let Some(event) = run.next().await {
//!     println!("{} {:?}", event.seq, event.happening);
//! }
//! let outcome = run.outcome().await?;
//! println!("{:?}: {}", outcome.ending, outcome.outputs);
//! # Ok(()) }
//! ```
//! A run whose handle is dropped is cancelled, as by [`Control::cancel`](runtime::Control::cancel). Events and outputs hold no secret that is known; personal values are
//! in them as they are.
//!
//! **What a file wants** (programs, hosts, secrets: [`Wishes`](runtime::Wishes)) is refused unless the program [agrees](runtime::Consent). Nothing of the process
//! reaches a run that does not ask for it: [no variable, no settings of the user](runtime::Runner), and no record is kept.
//! ```no_run
//! # use flow::runtime::{Consent, Workflow};
//! # fn example(workflow: Workflow) {
//! let runner = workflow
//!     .runner()
//!     .variable("API_KEY", "…")
//!     .consent(Consent::Decided(std::sync::Arc::new(|wishes| wishes.programs.is_empty())));
//! # }
//! ```
//! **Own ports**: a model, a database, tools or a mail server of the program stand in the place of the usual ones
//! ([`Runner::model_client`](runtime::Runner::model_client), [`Runner::ports`](runtime::Runner::ports)).
//! ```no_run
//! use std::sync::Arc;
//!
//! use flow::port::{ModelClient, ModelReply, ModelRequest, Pending};
//!
//! struct Own;
//!
//! impl ModelClient for Own {
//!     fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
//!         let text = format!("{} messages", request.messages.len());
//!         Box::pin(async { Ok(ModelReply { text, ..ModelReply::default() }) })
//!     }
//! }
//! # fn example(workflow: flow::runtime::Workflow) {
//! let runner = workflow.runner().model_client(Arc::new(Own));
//! # }
//! ```
//! **A person's decision** is the event `approval_requested`; [`RunHandle::answer`](runtime::RunHandle::answer) tells it.
//!
//! `examples/` has programs that run: `check`, `run`, `own_model`, and `axum`, a server. `ARCHITECTURE.md` has the rooms and which may name which.

#[doc(hidden)]
pub mod cli;
mod golden;
pub mod runtime;
mod serve;

pub use flow_base::{diagnostic, event, model, port};

// For the tests and the benches of this house; what an embedder needs of them is in `runtime`.
#[doc(hidden)]
pub use flow_adapters::adapter;
#[doc(hidden)]
pub use flow_base::{journal, source};
#[doc(hidden)]
pub use flow_editor::report;
#[doc(hidden)]
pub use flow_engine::{driver, engine};
#[doc(hidden)]
pub use flow_lang::{channel, check, load, lower, plan, syntax, template};

use flow_base::{policy, redact};
use flow_editor::lsp;
use flow_lang::{gate, rules};
