//! What a step or its agent wants to do, in the words of rules and people.

use serde_json::Value;

use crate::model::ActKind;
use crate::policy::Decision;

/// A tool that a step or its agent calls, as rules and people see it.
#[derive(Clone, Copy)]
pub(crate) struct CalledTool<'a> {
    /// `tool` or `tool.part`.
    pub(crate) name: &'a str,
    /// Its arguments; of a `send` those of this part.
    pub(crate) arguments: &'a Value,
    /// All that a person decides about; of a `send` with what all its parts say.
    pub(crate) whole: &'a Value,
    /// The same call is made again with what a person answered to its server: who allowed it then allows it now.
    pub(crate) is_repeated: bool,
}

/// What a person says about an act.
pub(crate) enum PersonSays {
    /// Nothing yet; the step waits.
    Nothing,
    /// Who says yes; empty: not known.
    Yes(String),
    /// Who says no, and why.
    No { by: String, comment: String },
    /// Nobody could be asked.
    IsAway,
}

/// One thing that a request does, and what the rules say of it.
pub(crate) struct DecidedAct {
    pub(crate) act: ActKind,
    pub(crate) target: String,
    /// For a person who decides.
    pub(crate) words: String,
    pub(crate) decision: Decision,
}

/// A resource as a list of a policy writes it.
pub(crate) fn shown_resource(server: &str, arguments: &Value) -> String {
    format!("{server}({})", arguments["uri"].as_str().unwrap_or_default())
}
