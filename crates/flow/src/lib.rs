//! `flow`: a declarative engine for multi-agent workflows. This is the library; the command-line program uses it.
//!
//! A program checks a file once, and makes runs of the checked [`Workflow`](runtime::Workflow):
//! ```
//! use flow::runtime::Workflow;
//!
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
//! let workflow = Workflow::check("pipelines/timesheet/pipeline.yaml")?;
//! assert_eq!(workflow.name(), "timesheet");
//! workflow.findings().iter().for_each(|finding| println!("{}: {}", workflow.place(finding), finding.message));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! A run executes in its own thread, so it works in any async runtime, or in none. It is a stream of its [events](event::Event) and ends with an
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
//! Any version may add kinds of events and fields of requests: a `match` over events needs a wildcard arm; build a struct of [`port`] with
//! `..Default::default()` where it has a default.
//!
//! Dropping a run's handle cancels the run, like [`Control::cancel`](runtime::Control::cancel). Events and outputs contain no known secret; personal values are
//! not masked.
//!
//! **Programs, hosts and secrets** that a file uses ([`Wishes`](runtime::Wishes)) are denied unless the program [consents](runtime::Consent). By default a run
//! reads [no environment variables and no user settings](runtime::Runner), and stores no record.
//! ```no_run
//! # use flow::runtime::{Consent, Workflow};
//! # fn example(workflow: Workflow) {
//! let runner = workflow
//!     .runner()
//!     .variable("API_KEY", "…")
//!     .consent(Consent::Decided(std::sync::Arc::new(|wishes| wishes.programs.is_empty())));
//! # }
//! ```
//! **Own ports**: the program can replace the model, the database, the tools or the mail server
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
//! **A person's decision** is requested by the event `approval_requested` and given with [`RunHandle::answer`](runtime::RunHandle::answer). Without an answer the
//! run ends as [waiting](runtime::RunEnding::Waiting) and can be [resumed](runtime::Runner::resume), like a run whose process was killed.
//! ```no_run
//! # async fn example(workflow: flow::runtime::Workflow, id: &str) -> Result<(), flow::runtime::RunError> {
//! use flow::event::Happening;
//! use flow::runtime::{Answer, Storage};
//!
//! let mut run = workflow.runner().storage(Storage::Project).resume(id);
//! while let Some(event) = run.next().await {
//!     if let Happening::ApprovalRequested { step, question, .. } = &event.happening {
//!         println!("{question}");
//!         run.answer(step, Answer { approved: false, comment: "not before Monday".into(), ..Answer::default() });
//!     }
//! }
//! println!("{:?}", run.outcome().await?.ending);
//! # Ok(()) }
//! ```
//! **Limits and a policy** of the program apply to every file. Answers of models and web services can be
//! [recorded](runtime::Runner::record) and [replayed](runtime::Runner::replay); a replay calls nothing outside.
//! ```no_run
//! # async fn example(workflow: flow::runtime::Workflow) -> Result<(), flow::runtime::RunError> {
//! use flow::runtime::{Limits, Policy};
//!
//! let policy = Policy { hosts: Some(vec!["api.example.com".into()]), ..Policy::default() };
//! let runner = workflow.runner().limits(Limits { max_cost_usd: Some(0.5), ..Limits::default() }).policy(policy);
//! let recorded = runner.clone().record("tape").run(serde_json::json!({ "message": "Hi" })).outcome().await?;
//! let replayed = runner.replay("tape").run(serde_json::json!({ "message": "Hi" })).outcome().await?;
//! assert_eq!((replayed.outputs, replayed.misses.len()), (recorded.outputs, 0));
//! # Ok(()) }
//! ```
//!
//! **Your own loop**: a program that stores events itself, or makes calls elsewhere, drives a run [step by step](runtime::Runner::stepped).
//!
//! `examples/` has complete programs: `check`, `run`, `own_model`, `approve`, `stepped`, and `axum`, a server. `ARCHITECTURE.md` describes the modules and their dependencies.

pub mod golden;
pub mod runtime;

pub use flow_base::{diagnostic, event, port};

// Gives `crate::model` the same path in each crate.
use flow_adapters as adapter;
use flow_base::{journal, model, policy, redact, source, telemetry};
use flow_editor::report;
use flow_engine::{self as engine, driver};
use flow_lang::{channel, check, gate, load, lower, plan, syntax, template};
