//! The acts of a step or its agent, as rules and people see them.

use serde_json::Value;

use crate::model::ActKind;
use crate::policy::Decision;

/// A tool that a step or its agent calls, as rules and people see it.
#[derive(Clone, Copy)]
pub(crate) struct CalledTool<'a> {
    /// `tool` or `tool.part`; of a program its name.
    pub(crate) name: &'a str,
    /// Its arguments; for a `send`, those of this part.
    pub(crate) arguments: &'a Value,
    /// Everything that a person decides about; for a `send`, with the content of all its parts.
    pub(crate) whole: &'a Value,
    /// Whether it is a program that a step starts, and no tool.
    pub(crate) is_program: bool,
    /// Whether this repeats a call with a person's answers to its server. The permission for the first call covers it.
    pub(crate) is_repeated: bool,
}

/// A person's decision about an act.
pub(crate) enum PersonSays {
    /// Not decided yet; the step waits.
    Nothing,
    /// Allowed, by this person; empty if unknown.
    Yes(String),
    /// Rejected, by whom and why.
    No { by: String, comment: String },
    /// Nobody could be asked.
    IsAway,
}

/// One act of a request, and the decision of the rules about it.
pub(crate) struct DecidedAct {
    pub(crate) act: ActKind,
    pub(crate) target: String,
    /// The description shown to the person who decides.
    pub(crate) words: String,
    pub(crate) decision: Decision,
}

/// A resource as it is written in the lists of a policy.
pub(crate) fn shown_resource(server: &str, arguments: &Value) -> String {
    format!("{server}({})", arguments["uri"].as_str().unwrap_or_default())
}
