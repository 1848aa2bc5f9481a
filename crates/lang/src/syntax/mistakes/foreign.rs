//! Lines of other languages: marks of a merge conflict, comments with slashes, sections and equals signs of TOML, wide colons, fences of Markdown.

use super::super::findings::unreadable;
use super::MistakePlace;
use crate::diagnostic::Diagnostic;

/// What is not YAML at the place of the error, or right above it.
pub(super) fn line(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let found = conflict(place).or_else(|| fence(place));
    // A line that fell out of a block text may be in any language.
    if found.is_some() || place.failure.after_block_text {
        return found;
    }
    [Some(place.line), place.line_above(place.line)].into_iter().flatten().find_map(|line| at(place, line))
}

/// The beginning of a merge conflict, anywhere in the file.
fn conflict(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let is_mark = |line: &str| line.starts_with("<<<<<<< ");
    let number = place.text.lines().position(is_mark)? + 1;
    let found = unreadable(place.line_span(number), "a merge conflict begins here and is not resolved".to_owned());
    Some(found.help("keep one of the two versions, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"))
}

/// A file that was copied with the fence around it.
fn fence(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let number = place.text.lines().position(|line| !line.trim().is_empty())? + 1;
    let is_fence = place.line_at(number).1.trim_start().starts_with("```");
    let found = || unreadable(place.line_span(number), "the file is inside a code fence of Markdown".to_owned());
    is_fence.then(|| found().help("remove the lines with ```"))
}

fn at(place: &MistakePlace<'_>, number: usize) -> Option<Diagnostic> {
    let (start, text) = place.line_at(number);
    let content = text.trim();
    let begin = start + text.len() - text.trim_start().len();
    let whole = place.line_span(number);
    for (open, close) in [("//", ""), ("/*", "*/"), ("<!--", "-->")] {
        if let Some(rest) = content.strip_prefix(open) {
            let rest = rest.strip_suffix(close).unwrap_or(rest).trim();
            let found = unreadable(whole, format!("\"{open}\" begins no comment; a comment begins with \"#\""));
            let wanted = format!("# {rest}");
            // Behind a value it is a part of the value, which no reader of YAML reports.
            let behind = |line: &str| !line.trim_start().starts_with(open) && line.contains(&format!(" {open} "));
            let more = place.text.lines().enumerate().filter(|(_, line)| behind(line)).map(|(at, _)| (at + 1).to_string());
            let more: Vec<String> = more.take(4).collect();
            let help = match more.as_slice() {
                [] => format!("write {}", super::short(&wanted)),
                lines => format!("write {}, and # for {open} on line {}, too", super::short(&wanted), lines.join(", ")),
            };
            return Some(found.help(help).proposed_fix(vec![(whole, wanted)]));
        }
    }
    if let Some(colon) = content.find('：').filter(|colon| !content[..*colon].contains([':', '"', '\''])) {
        let behind = colon + '：'.len_utf8();
        let (key, value) = (&content[..colon], content[behind..].trim_start());
        let found = unreadable(place.span(begin + colon, begin + behind), "this is a wide colon, which separates nothing".to_owned());
        let space = if content[behind..].starts_with([' ']) || value.is_empty() { ":" } else { ": " };
        let found = found.help(format!("write {}: {}", super::short(key), super::short(value)));
        return Some(found.proposed_fix(vec![(place.span(begin + colon, begin + behind), space.to_owned())]));
    }
    if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|name| is_name(name)) {
        let found = unreadable(whole, format!("[{name}] is a section of TOML"));
        return Some(found.help(format!(
            "write {}: and its keys below it, indented, each as name: value",
            name.replace('.', ": and below it, indented, ")
        )));
    }
    let (key, value) = content.split_once('=').map(|(key, value)| (key.trim(), value.trim()))?;
    let is_set = is_name(key) && !value.is_empty() && !value.starts_with('=');
    let found = || unreadable(whole, "\"=\" sets no key; a \":\" does".to_owned());
    let wanted = format!("{key}: {value}");
    is_set.then(|| found().help(format!("write {}", super::short(&wanted))).proposed_fix(vec![(whole, wanted)]))
}

/// Whether it could be the name of a key, or of several with dots between them.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}
