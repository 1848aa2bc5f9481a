//! What a run starts with.

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
    /// Hash of each file it brings in, so that a changed one can be named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The recordings it answers from, or makes; it continues with them only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape: Option<TapeOf>,
    /// The run whose finished steps it begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    /// Its file; empty: it has none, and the run cannot be resumed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Checked inputs, defaults filled in.
    pub inputs: SharedValue,
    /// The channel.
    pub channel: Option<String>,
    /// The style guide of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style_guide: Option<StyleUsed>,
    /// The fields of the person; empty object: none.
    pub person: SharedValue,
    /// The conversation that it is part of, as it was when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Box<ConversationSoFar>>,
    /// Whether the pipeline names its outputs; known where it is part of a conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_outputs: bool,
    /// Why no step can start: the person's table could not be read. `on_failure` and `finally` run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The run's clock at its start: `run.now`.
    pub now: DateTime<Utc>,
    /// Whether models are scripted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scripted: bool,
    /// Whether a client of `flow mcp` gave the inputs, which may be a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub served: bool,
    /// The trace of the caller that the run is part of, and the caller's span in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// Seed of the run's random waits.
    pub seed: u64,
    /// Most time for the whole run, in milliseconds, besides what the file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Most money, in US dollars, besides what the file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// What holds personal data.
    #[serde(default)]
    pub marks: Marks,
}

/// The style guide of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyleUsed {
    /// Its name.
    pub name: String,
    /// The version that its file says; `None`: it says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl StyleUsed {
    /// Of a pipeline's style guide.
    pub fn of(style: &StyleGuide) -> StyleUsed {
        StyleUsed { name: style.name.clone(), version: style.version.clone() }
    }
}

/// Where a forked run comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The run.
    pub run: String,
    /// The step that runs anew, with all that waits for it; of a retry the `for_each` steps, with commas between them.
    pub from: String,
    /// Of a retry: how many elements run again; `None`: it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
}

/// The recordings of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeOf {
    /// Their folder.
    pub folder: String,
    /// Whether it answers from there; else it is recorded.
    pub is_replay: bool,
}
