//! The names that templates can read before a run has started.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::model::{Pipeline, StyleGuide};
use crate::names::{channel_names, conversation_names, run_names, style_names};
use crate::template::{self, KnownNames};

/// The inputs of a run, as far as they are known.
#[derive(Debug, Clone, Default)]
pub struct PreviewInputs {
    /// Inputs by name; `None` if none are known.
    pub inputs: Option<Map<String, Value>>,
    /// Names of those inputs for which no value was provided.
    pub missing: Vec<String>,
    /// The channel's name.
    pub channel: Option<String>,
    /// The fields of the person; `None` if they are not known, and so no time zone.
    pub person: Option<Map<String, Value>>,
    /// The time of the run.
    pub now: DateTime<Utc>,
}

/// The names for the texts of an agent that has its own style guide.
pub fn with_style(known: &KnownNames, style: &StyleGuide) -> KnownNames {
    let mut known = known.clone();
    known.set("style", style_names(Some(style)));
    known
}

/// The names in a pipeline's texts with their values, as in the first round of a run. Steps, secrets and `env` are not known.
pub fn known_names(pipeline: &Pipeline, given: &PreviewInputs) -> KnownNames {
    let mut known = KnownNames::default();
    if let Some(inputs) = &given.inputs {
        known.set("inputs", template::from_json(&Value::Object(inputs.clone())));
        given.missing.iter().for_each(|name| known.forget(&["inputs", name]));
    }
    let person = Value::Object(given.person.clone().unwrap_or_default());
    known.set("run", template::from_json(&run_names("", given.now, &person)));
    known.forget(&["run", "id"]);
    match &given.person {
        Some(_) => known.set("person", template::from_json(&person)),
        // The date depends on the person's time zone.
        None => ["now", "today", "week_start", "month_start", "time_zone"].iter().for_each(|name| known.forget(&["run", name])),
    }
    let channel = pipeline.channels.iter().find(|channel| Some(&channel.name) == given.channel.as_ref());
    known.set("channel", channel_names(channel.map(|channel| &**channel)));
    known.set("style", style_names(pipeline.style_guide.as_deref()));
    known.set("conversation", template::from_json(&conversation_names(None, &[], None)));
    known.set("refinement", template::empty_name());
    known
}
