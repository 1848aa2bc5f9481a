//! Keys people know from elsewhere, and what they are called here. They come before the nearest name.
//!
//! How to add one: a line in the table; `same` only if the value can stay as it is.

use serde_json::Value;

use crate::model::FieldKind;

/// What another tool's key is called here.
pub(crate) struct Alias {
    /// The other tools' keys: lower case, `_` for `-`.
    written: &'static [&'static str],
    /// The key here. The alias counts only where this key is allowed.
    pub key: &'static str,
    /// What the message proposes; `{n}` and `{n+1}` are the number that was written, `{delay}` the wait beside it.
    meant: &'static str,
    /// Whether the value can stay as it is.
    pub(crate) is_same_shape: bool,
    /// The only place where it counts; empty: everywhere.
    place: &'static str,
}

impl Alias {
    /// Whether a value may be written for it: a list is not put into another one.
    pub(crate) fn takes(&self, value: &Value) -> bool {
        !(self.meant.contains("[{value}]") && value.is_array())
    }

    /// What the message proposes where this value was written; `None`: the value says that nothing of it is wanted.
    pub(crate) fn meant_for(&self, value: &Value, delay: Option<&str>) -> Option<String> {
        let is_off = !self.is_same_shape && (*value == false || *value == 0);
        let number = |more: u64| value.as_u64().map_or(3, |number| number.saturating_add(more)).to_string();
        let text = value.as_str().unwrap_or("…");
        let delay = delay.map(|delay| format!(", delay: {delay}")).unwrap_or_default();
        let meant = self.meant.replace("{n+1}", &number(1)).replace("{n}", &number(0)).replace("{delay}", &delay).replace("{value}", text);
        (!is_off).then_some(meant)
    }
}

const fn same(written: &'static [&'static str], key: &'static str) -> Alias {
    Alias { written, key, meant: key, is_same_shape: true, place: "" }
}

const fn other(written: &'static [&'static str], key: &'static str, meant: &'static str) -> Alias {
    Alias { written, key, meant, is_same_shape: false, place: "" }
}

const fn only(place: &'static str, alias: Alias) -> Alias {
    Alias { place, ..alias }
}

static ALIASES: &[Alias] = &[
    // Those of one place, which come before the same word elsewhere.
    only("step", same(&["register"], "id")),
    only("dialogue", same(&["prompt", "task"], "topic")),
    only("dialogue", same(&["max_round", "max_rounds", "rounds"], "max_turns")),
    only("plan", same(&["tools", "agents"], "may_use")),
    only("search", same(&["query", "q", "prompt"], "for")),
    only("http", same(&["params", "parameters", "query_params"], "query")),
    only("http", same(&["json", "data", "payload", "form"], "body")),
    only("call", same(&["inputs", "arguments", "args", "params"], "with")),
    only("sql", same(&["params", "parameters", "bind"], "with")),
    only("tool", same(&["alwaysallow", "always_allow", "allowed_tools"], "allow")),
    only("step", same(&["arguments", "args"], "with")),
    only("pipeline", same(&["mcpservers", "mcp_servers"], "tools")),
    only("pipeline", other(&["channel"], "channels", "channels: [{value}]")),
    only("pipeline", same(&["include", "includes", "import"], "imports")),
    only("channel", same(&["name"], "channel")),
    only("style guide", same(&["name"], "style_guide")),
    only("data", same(&["path", "csv", "filename", "source"], "file")),
    only("test", same(&["tests", "test_cases"], "cases")),
    only("test", same(&["pipeline"], "test")),
    only("test case", same(&["given", "vars", "variables"], "inputs")),
    only("test case", same(&["then", "expected"], "expect")),
    only("resource_limits", same(&["deadline", "timeout", "duration"], "time")),
    only("limits", same(&["timeout", "time", "duration"], "deadline")),
    only("field", same(&["ge"], "minimum")),
    only("field", same(&["le"], "maximum")),
    only("field", same(&["values", "allowed"], "enum")),
    only("file", same(&["path", "filename"], "file")),
    only("case", same(&["equal", "is", "value", "values", "equal_to", "match"], "equals")),
    only("case", same(&["keywords", "words", "contains"], "phrases")),
    same(&["depends_on", "depends", "after"], "needs"),
    same(&["if", "condition", "run_if"], "when"),
    same(&["foreach", "loop"], "for_each"),
    other(&["with_items", "matrix"], "for_each", "for_each"),
    same(&["uses", "workflow", "subflow"], "call"),
    other(&["switch", "choose", "branch"], "route", "route"),
    other(&["use"], "call", "call"),
    other(&["retries", "max_retries"], "retry", "retry: { max_attempts: {n+1}{delay} }"),
    other(&["attempts"], "retry", "retry: { max_attempts: {n}{delay} }"),
    other(&["timeout_sec", "timeout_secs", "timeout_seconds", "timeout_minutes", "timeout_ms"], "timeout", "timeout"),
    other(&["continue_on_error", "allow_failure"], "on_failure", "on_failure: continue"),
    same(&["else", "default"], "otherwise"),
    same(&["system", "system_prompt", "role"], "instructions"),
    same(&["model_name", "llm"], "model"),
    only("model", same(&["temp"], "temperature")),
    only("model", same(&["max_tokens"], "max_output_tokens")),
    other(&["params"], "inputs", "inputs"),
    same(&["tasks", "jobs", "nodes"], "steps"),
    same(&["options", "choices"], "enum"),
    only("field", same(&["min"], "minimum")),
    only("field", same(&["max"], "maximum")),
    only("field", same(&["regex"], "pattern")),
    other(&["validator", "guardrail"], "gate", "gate"),
    other(&["human", "pause"], "approval", "approval"),
    same(&["sleep"], "wait"),
    other(&["tables", "datasets"], "data", "data"),
    other(&["user", "recipient"], "person", "person"),
    other(&["participants"], "dialogue", "dialogue"),
    only("task", same(&["criteria"], "accept")),
    same(&["concurrency", "parallelism"], "max_parallel"),
    same(&["max_chars", "limit"], "max_length"),
    same(&["forbidden"], "banned"),
    same(&["emoji"], "emojis"),
];

/// The types of other languages, and those here.
static TYPES: &[(&str, &str)] = &[
    ("string", "text"),
    ("str", "text"),
    ("int", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("bool", "boolean"),
    ("array", "list"),
    ("dict", "object"),
    ("map", "object"),
    ("currency", "number"),
    ("money", "number"),
    ("percent", "number"),
    ("email", "text"),
    ("timestamp", "datetime"),
];

/// Kinds of steps elsewhere that have no counterpart here, and what comes nearest.
pub(crate) const PROGRAM_STEPS: [&str; 3] = ["run", "script", "shell"];

/// The alias a key is, in places of these names, where `is_allowed` tells the keys.
pub(crate) fn alias(written: &str, places: &[&str], is_allowed: impl Fn(&str) -> bool) -> Option<&'static Alias> {
    let written = written.to_lowercase().replace('-', "_");
    ALIASES
        .iter()
        .filter(|alias| alias.place.is_empty() || places.contains(&alias.place))
        .find(|alias| alias.written.contains(&written.as_str()) && is_allowed(alias.key))
}

/// Whether a key says elsewhere how often something is tried.
pub(super) fn is_retries(written: &str) -> bool {
    alias(written, &["step"], |key| key == "retry").is_some()
}

/// The type of this language for a type of another one.
pub(crate) fn type_alias(written: &str) -> Option<&'static str> {
    TYPES.iter().find(|(other, _)| other.eq_ignore_ascii_case(written)).map(|(_, ours)| *ours)
}

/// Rules, the types they go with, and those in words.
pub(crate) static GROUPS: [(&[&str], &[FieldKind], &str); 5] = [
    (&["min_length", "max_length"], &[FieldKind::Text, FieldKind::List], "text and list"),
    (&["pattern", "format"], &[FieldKind::Text], "text"),
    (&["minimum", "maximum"], &[FieldKind::Number, FieldKind::Integer], "number and integer"),
    (&["items"], &[FieldKind::List], "list"),
    (&["fields"], &[FieldKind::Object], "object"),
];

/// What a rule of a field is called for its type, as it is written: `max_length` for the `maximum` of a text. Empty: it has none; two names:
/// the type does not tell which.
pub(crate) fn rules_for(rule: &'static str, written: Option<&str>) -> Vec<&'static str> {
    let of_type = written.and_then(|written| {
        let word = type_alias(written).unwrap_or(written);
        word.parse::<FieldKind>().ok()
    });
    let names = match rule {
        "minimum" | "min_length" => vec!["minimum", "min_length"],
        "maximum" | "max_length" => vec!["maximum", "max_length"],
        other => vec![other],
    };
    let Some(kind) = of_type.filter(|kind| *kind != FieldKind::Any) else { return names };
    let goes = |name: &str| GROUPS.iter().all(|(names, kinds, _)| !names.contains(&name) || kinds.contains(&kind));
    names.into_iter().filter(|name| goes(name)).collect()
}
