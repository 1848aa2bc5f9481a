//! How trials are run.

use std::collections::BTreeMap;

use crate::driver::Ports;
use crate::event::RunStatus;
use crate::model::{Model, Policy};
use crate::port::Secret;

/// How to run.
pub struct TrialOptions<'a> {
    /// Only trials with this text in `FILE/CASE/CHANNEL`.
    pub filter: Option<&'a str>,
    /// Write goldens instead of comparing with them.
    pub update: bool,
    /// The exit code of a status.
    pub exit_of: fn(RunStatus) -> u8,
    /// Tables and files, and models that are asked live.
    pub ports: Ports,
    /// How often each trial is played; 0 counts as 1.
    pub repeat: usize,
    /// Breaks what gates let through, and asks them again.
    pub mutate: bool,
    /// Asks models that have no scripted reply.
    pub live: Option<LiveModels>,
}

/// Models that are really asked, and what that takes.
#[derive(Default)]
pub struct LiveModels {
    /// The environment.
    pub env: BTreeMap<String, Secret>,
    /// What `FLOW_MODEL…` put in the place of the model called `default`.
    pub default_model: Option<Model>,
    /// What the user allows at most.
    pub policy: Option<Policy>,
    /// Whether what they answer is kept. Else recordings that are there are not looked at.
    pub keeps: bool,
}
