//! The start of a run.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{ConversationSoFar, Failure, Marks, SharedValue, TraceContext};
use crate::model::StyleGuide;

/// Everything a run starts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RunStart {
    /// The pipeline's name.
    pub pipeline: String,
    /// Hash of its definition.
    pub hash: String,
    /// Hash of each file it includes, so that a changed one can be named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The recordings that it replays or makes; it can only be resumed with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape: Option<TapeOf>,
    /// The run whose finished steps it reuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    /// Its file; empty: it has none, so the run cannot be resumed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The checked inputs with defaults.
    pub inputs: SharedValue,
    /// The channel.
    pub channel: Option<String>,
    /// The style guide of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style_guide: Option<StyleUsed>,
    /// The fields of the person; an empty object: no person.
    pub person: SharedValue,
    /// The conversation that it belongs to, as it was when the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Box<ConversationSoFar>>,
    /// Whether the pipeline names its outputs; set only if the run belongs to a conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_outputs: bool,
    /// Why no step can start: the table of people could not be read. `on_failure` and `finally` run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The start time by the run's clock: `run.now`.
    pub now: DateTime<Utc>,
    /// Whether models are scripted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scripted: bool,
    /// Whether a client of `flow mcp`, which may be a model, supplied the inputs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub served: bool,
    /// The caller's trace that the run belongs to, and the caller's span in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// Seed for the run's random delays.
    pub seed: u64,
    /// Time limit of the whole run in milliseconds, in addition to the limits of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Cost limit in US dollars, in addition to the limits of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Data marked as personal.
    #[serde(default)]
    pub marks: Marks,
}

/// The style guide of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyleUsed {
    /// Its name.
    pub name: String,
    /// The version stated in its file; `None`: none is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl StyleUsed {
    /// Of a pipeline's style guide.
    pub fn from_guide(style: &StyleGuide) -> StyleUsed {
        StyleUsed { name: style.name.clone(), version: style.version.clone() }
    }
}

/// The origin of a forked or retried run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The original run.
    pub run: String,
    /// The step that runs again, with all steps that depend on it; for a retry the `for_each` steps, separated by commas.
    pub from: String,
    /// For a retry: how many elements run again; `None`: it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
}

/// The recordings of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeOf {
    /// Their folder.
    pub folder: String,
    /// Whether the run replays them; if false, it records them.
    pub is_replay: bool,
}
