//! What the entries of a policy's lists fit.

use globset::GlobBuilder;
use serde_json::Value;

/// Whether an entry `tool`, `server`, `server.tool` or `tool(pattern)` names a call. Unknown arguments fit every pattern.
pub(super) fn tool_fits(entry: &str, tool: &str, arguments: Option<&Value>) -> bool {
    let (name, pattern) = match entry.trim().split_once('(') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')')),
        None => (entry.trim(), None),
    };
    let server = tool.split('.').next().unwrap_or(tool);
    let is_named = name == tool || name == server || glob(name, tool, false);
    let is_open = !entry.contains('(');
    is_named && (is_open || arguments.is_none_or(|given| pattern.is_some_and(|pattern| glob(pattern, &argument_text(given), false))))
}

/// As `tool_fits`, for what is refused: a pattern also fits one text among several arguments.
pub(super) fn tool_refused(entry: &str, tool: &str, arguments: &Value) -> bool {
    let pattern = entry.split_once('(').and_then(|(_, rest)| rest.trim().strip_suffix(')'));
    tool_fits(entry, tool, Some(arguments))
        || tool_fits(entry, tool, None) && pattern.is_some_and(|pattern| any_argument_fits(pattern, arguments))
}

/// What a pattern for arguments is held against: the only argument when it is a text, else all of them as JSON.
pub fn argument_text(arguments: &Value) -> String {
    match arguments.as_object().map(|given| (given.len(), given.values().next())) {
        Some((1, Some(Value::String(text)))) => text.clone(),
        _ => sorted(arguments).to_string(),
    }
}

/// Whether a pattern for arguments fits all of them, or a text among them.
pub(super) fn any_argument_fits(pattern: &str, arguments: &Value) -> bool {
    glob(pattern, &argument_text(arguments), false)
        || arguments.as_object().is_some_and(|given| given.values().filter_map(Value::as_str).any(|text| glob(pattern, text, false)))
}

/// The same value with its keys in alphabetical order, however they came.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(sorted).collect(),
        Value::Object(map) => {
            let ordered: std::collections::BTreeMap<&String, &Value> = map.iter().collect();
            Value::Object(ordered.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        other => other.clone(),
    }
}

/// Whether an entry `host`, `host:port`, `*.host` or `*.host:port` names a host.
pub(super) fn host_fits(entry: &str, host: &str, port: Option<u16>) -> bool {
    let entry = entry.trim();
    let (name, wanted) = match entry.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse::<u16>().ok()?))) {
        Some((name, port)) => (name, Some(port)),
        None => (entry, None),
    };
    let fits = match name.strip_prefix("*.") {
        Some(parent) => host.len() > parent.len() + 1 && host.to_lowercase().ends_with(&format!(".{}", parent.to_lowercase())),
        None => name.eq_ignore_ascii_case(host),
    };
    fits && (wanted.is_none() || wanted == port)
}

/// Whether a pattern names a path: `*` within one folder, `**` across folders.
pub(super) fn path_fits(pattern: &str, path: &str) -> bool {
    let is_inside = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    is_inside && glob(pattern, path, true)
}

fn glob(pattern: &str, text: &str, parts: bool) -> bool {
    GlobBuilder::new(pattern).literal_separator(parts).build().is_ok_and(|glob| glob.compile_matcher().is_match(text))
}
