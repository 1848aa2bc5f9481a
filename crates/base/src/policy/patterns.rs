//! What the entries of a policy's lists fit.

use crate::model::ToolName;
use crate::source::is_unseen;
use globset::GlobBuilder;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Whether an entry of a list of tools fits every name.
pub fn fits_everything(entry: &str) -> bool {
    !entry.trim().is_empty() && entry.trim().chars().all(|c| "*?{},".contains(c))
}

/// Whether an entry `tool`, `server`, `server.tool` or `tool(pattern)` of a list that allows names a call, to the letter. Unknown arguments fit
/// every pattern.
pub fn tool_fits(entry: &str, tool: &str, arguments: Option<&Value>) -> bool {
    let (name, pattern) = match entry.trim().split_once('(') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')')),
        None => (entry.trim(), None),
    };
    let server = ToolName::parse(tool).tool;
    let is_named = name == tool || name == server || glob(name, tool, false) || entry == tool && !entry.contains('(');
    let is_open = !entry.contains('(');
    is_named && (is_open || arguments.is_none_or(|given| pattern.is_some_and(|pattern| glob(pattern, &argument_text(given), false))))
}

/// Whether an entry of a list that rejects, or that asks a person, may mean a call. Small and capital letters, how much and which white space
/// stands between words, full-width and other forms of a letter, accents, and signs that nobody sees make no difference, and a pattern fits
/// any value among the arguments. An entry that
/// cannot be read means every call of its tool. While the arguments are not known, one with a pattern rejects nothing.
pub fn tool_refused(entry: &str, tool: &str, arguments: Option<&Value>) -> bool {
    if entry.contains('(') && arguments.is_none() {
        return false;
    }
    if tool_fits(entry, tool, arguments) {
        return true;
    }
    let (entry, tool) = (folded(entry), folded(tool));
    let (name, pattern) = match entry.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest)),
        None => (entry.as_str(), None),
    };
    let server = ToolName::parse(&tool).tool;
    let is_named = name == tool || name == server || may_fit(name, &tool);
    is_named
        && pattern
            .zip(arguments)
            .is_none_or(|(pattern, arguments)| pattern.strip_suffix(')').is_none_or(|pattern| any_argument_fits(pattern, arguments)))
}

/// Whether a name in a list that rejects, or that asks a person, may mean this one.
pub(super) fn name_may_fit(entry: &str, name: &str) -> bool {
    may_fit(&folded(entry), &folded(name))
}

/// What a pattern for arguments is held against: the only argument when it is a text, the words of a program with a space between them, else all of
/// them as JSON. A word that would look like several, or like none, is in quotes, so it is never what a pattern without them names.
fn argument_text(arguments: &Value) -> String {
    if let Some(words) = arguments.as_array() {
        let is_plain =
            |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"' || is_unseen(c) || is_drawn_blank(c));
        let shown = words.iter().map(|word| match word.as_str() {
            Some(word) if is_plain(word) => word.to_owned(),
            _ => word.to_string(),
        });
        return shown.collect::<Vec<_>>().join(" ");
    }
    match arguments.as_object().map(|given| (given.len(), given.values().next())) {
        Some((1, Some(Value::String(text)))) => text.clone(),
        _ => sorted(arguments).to_string(),
    }
}

/// Whether a folded pattern for arguments may fit all of them, or a value among them however deep it lies.
fn any_argument_fits(pattern: &str, arguments: &Value) -> bool {
    // Where the pattern writes JSON, its spaces are the author's.
    let tight = |text: &str| text.split(' ').collect::<String>();
    let json = sorted(arguments).to_string();
    if text_fits(pattern, &json) {
        return true;
    }
    let json = folded(&json);
    pattern.contains('"') && may_fit(&tight(pattern), &tight(&json)) || any_value_fits(pattern, arguments)
}

fn any_value_fits(pattern: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text_fits(pattern, text),
        Value::Array(list) => list.iter().any(|value| any_value_fits(pattern, value)) || words_fit(pattern, list),
        Value::Object(map) => map.values().any(|value| any_value_fits(pattern, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => may_fit(pattern, &value.to_string()),
    }
}

/// Whether a pattern may fit a command that is given as its words.
fn words_fit(pattern: &str, list: &[Value]) -> bool {
    let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    words.is_some_and(|words| text_fits(pattern, &words.join(" ")))
}

/// Whether a folded pattern may fit a text: a sign that is drawn as a blank is read as nothing, or as one.
fn text_fits(pattern: &str, text: &str) -> bool {
    let has_blanks = text.contains(is_drawn_blank);
    may_fit(pattern, &folded(text)) || has_blanks && may_fit(pattern, &folded(&text.replace(is_drawn_blank, " ")))
}

/// A text as a lenient reader reads it: letters of one form, small, without accents, one space between words, nothing that is not seen.
fn folded(text: &str) -> String {
    let letters = text.nfkd().flat_map(char::to_lowercase).nfkd();
    let seen: String = letters.filter(|c| c.is_whitespace() || !is_unseen(*c) && !is_drawn_blank(*c) && !is_combining_mark(*c)).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Blanks that are no white space: of Braille, and the fillers of Hangul.
fn is_drawn_blank(c: char) -> bool {
    matches!(c, '\u{2800}' | '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}')
}

/// Whether a pattern fits; one that cannot be read fits everything.
fn may_fit(pattern: &str, text: &str) -> bool {
    if is_plain(pattern) {
        return pattern == text;
    }
    GlobBuilder::new(pattern).build().map_or(true, |glob| glob.compile_matcher().is_match(text))
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

/// Whether a pattern names a path: `*` within one folder, `**` across folders. A whole folder, `folder/**`, is only named by a pattern for all of it.
pub(super) fn path_fits(pattern: &str, path: &str) -> bool {
    // A file system, and a tool that looks for a name, may take both forms of a letter for the same.
    if !pattern.is_ascii() || !path.is_ascii() {
        let (pattern, path): (String, String) = (pattern.nfc().collect(), path.nfc().collect());
        return composed_path_fits(&pattern, &path);
    }
    composed_path_fits(pattern, path)
}

fn composed_path_fits(pattern: &str, path: &str) -> bool {
    if let Some(folder) = path.strip_suffix(WHOLE) {
        let is_around = |named: &str| !named.contains(['*', '?', '[', '{']) && folder.starts_with(named) && !folder.contains("..");
        return !path.starts_with('/') && pattern.trim().strip_suffix(WHOLE).is_some_and(is_around);
    }
    let is_inside = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    is_inside && glob(pattern, path, true)
}

/// The end of a path that means a folder with all that is in it.
pub(super) const WHOLE: &str = "**";

/// Whether a pattern of a policy surely names every path that fits another pattern. What cannot be told is no.
pub(super) fn all_fit(entry: &str, pattern: &str) -> bool {
    let is_inside = !pattern.starts_with('/') && !pattern.split('/').any(|part| part == "..");
    if !is_inside || entry == pattern {
        return is_inside;
    }
    if entry.contains(['?', '[', '{']) {
        return false;
    }
    if pattern.contains(['[', '{']) {
        let fixed = entry.strip_suffix("**").filter(|fixed| fixed.is_empty() || fixed.ends_with('/'));
        let start = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
        return fixed.is_some_and(|fixed| !fixed.contains('*') && pattern[..start].starts_with(fixed));
    }
    // Names that no entry writes out stand for what the wildcards may be, and several depths for `**`: an entry that is bound to one depth fails at
    // the others.
    const NAME: &str = "\u{1}";
    let sample = |depth: usize| {
        let parts = pattern.split('/').flat_map(|part| match part {
            "**" => vec![NAME.to_owned(); depth],
            part => vec![part.replace(['*', '?'], NAME)],
        });
        parts.collect::<Vec<_>>().join("/")
    };
    let last = if pattern.ends_with("**") { 1 } else { 0 };
    (last..last + 4).all(|depth| path_fits(entry, &sample(depth)))
}

fn glob(pattern: &str, text: &str, parts: bool) -> bool {
    if is_plain(pattern) {
        return pattern == text;
    }
    GlobBuilder::new(pattern).literal_separator(parts).build().is_ok_and(|glob| glob.compile_matcher().is_match(text))
}

/// Whether a pattern names one text. Most entries do, and a policy is asked about each argument of each call.
fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}
