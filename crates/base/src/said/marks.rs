//! Marks of the wire around an answer: what a server should have taken away.

use super::layout::{OpenFence, begins_line, goes_on, is_spoken_of, places, without_invisible};
use super::{begins, place_of};

/// Marks that have not the form `<|word|>`.
const OTHERS: [&str; 19] = [
    "</s>", "<s>", "<bos>", "<eos>", "<eot>", "<eod>", "<pad>", "<unk>", "[EOS]", "[PAD]", "[/INST]", "[INST]", "<end_of_turn>",
    "<end_of_text>", "<end_of_utterance>", "<end_code>", "<start_of_turn>", "<turn|>", "<|turn>",
];
/// Words in the marks of thoughts, calls and channels, which are read elsewhere.
const OWN: [&str; 13] =
    ["tool", "call", "think", "thought", "inner_", "action", "plugin", "python", "channel", "message", "constrain", "dsml", "function"];
/// Marks that begin a turn, with the word of who speaks behind them.
const TURNS: [&str; 7] =
    ["<|im_start|>", "<|start_header_id|>", "<|header_start|>", "<|start_of_role|>", "<start_of_turn>", "<|turn>", "<|start|>"];
/// Who speaks in a turn that is not the model's.
const OTHER_ROLES: [&str; 7] = ["user", "human", "system", "developer", "observation", "tool", "ipython"];
const OWN_ROLES: [&str; 2] = ["assistant", "model"];
/// Longest mark, in bytes.
const LONGEST: usize = 48;

/// The mark that a text begins with.
fn mark_of(text: &str) -> Option<&str> {
    if let Some(mark) = OTHERS.iter().find(|mark| text.starts_with(**mark)) {
        return text.get(..mark.len());
    }
    let (open, close) = [("<|", "|>"), ("<｜", "｜>"), ("[|", "|]")].into_iter().find(|(open, _)| text.starts_with(open))?;
    let end = text.bytes().take(LONGEST).position(|byte| matches!(byte, b'>' | b']'))? + 1;
    let mark = text.get(..end).filter(|mark| mark.len() > open.len() + close.len())?;
    let word = mark.strip_prefix(open)?.strip_suffix(close)?;
    let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '▁' | '-' | '/'));
    let lower = word.to_ascii_lowercase();
    (is_word && lower != "start" && !OWN.iter().any(|own| lower.contains(own))).then_some(mark)
}

/// The word in a mark.
fn word_of(mark: &str) -> String {
    mark.trim_matches(['<', '>', '|', '｜', '[', ']']).to_ascii_lowercase()
}

/// Whether a mark stands for the turn of somebody else.
fn is_other_turn(mark: &str) -> bool {
    let word = word_of(mark);
    word == "inst" || OTHER_ROLES.contains(&word.strip_prefix("im_").unwrap_or(&word))
}

/// Whether a mark ends an answer.
fn is_end(mark: &str) -> bool {
    let word = word_of(mark);
    let is_part = ["header", "role", "box", "middle"].iter().any(|part| word.contains(part));
    let is_short = |part: &str| ["eot", "eom", "eos", "eod"].contains(&part);
    !is_part && (["/s", "return", "turn"].contains(&&*word) || word.split(['_', '▁']).any(|part| part.starts_with("end") || is_short(part)))
}

/// The text behind the word of one of these that speak, which is a word of its own.
fn after_role<'t>(text: &'t str, roles: &[&str]) -> Option<&'t str> {
    let role = roles.iter().find(|role| begins(text, role))?;
    let after = &text[role.len()..];
    (!after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\'')).then_some(after)
}

/// The text without the marks before it.
pub(super) fn without_starts(text: &str) -> &str {
    let mut rest = without_invisible(text);
    // A struck word of HTML begins with the same mark.
    let is_struck = rest.starts_with("<s>") && text.contains("</s>") && !text.trim_end().ends_with("</s>");
    let is_html = |rest: &str| is_struck && rest.starts_with("<s>");
    while let Some(mark) = turn_of(rest).or_else(|| mark_of(rest)) {
        let after = &rest[mark.len()..];
        let own = after_role(after.trim_start(), &OWN_ROLES);
        if TURNS.contains(&mark) {
            let role = OWN_ROLES.iter().find(|role| begins(after.trim_start(), role));
            if mark == "<|start|>" || goes_on(after) || after_role(after.trim_start(), &OTHER_ROLES).is_some() {
                return rest;
            }
            rest = without_invisible(role.map_or(after, |role| &after.trim_start()[role.len()..]));
            continue;
        }
        if is_other_turn(mark) || is_html(rest) || goes_on(after) {
            return rest;
        }
        let own = own.filter(|own| own.starts_with(['\r', '\n']) || turn_of(own).or_else(|| mark_of(own)).is_some());
        rest = without_invisible(own.unwrap_or(after));
    }
    rest
}

/// Whether a text that follows marks may be the first characters of the word for who speaks.
pub(super) fn may_become_role(text: &str) -> bool {
    OWN_ROLES.iter().chain(&OTHER_ROLES).any(|role| begins(role, text))
}

fn turn_of(text: &str) -> Option<&'static str> {
    TURNS.into_iter().find(|mark| text.starts_with(mark))
}

/// The text without the marks at its end, and without what the model wrote as the next turn. `is_coming`: it is not the whole.
pub(super) fn without_ends(text: &str, is_coming: bool) -> &str {
    let places = places(text, OpenFence::Text);
    let is_html = text.contains("<s>");
    let turn = places.iter().find(|at| !(is_html && text[**at..].starts_with("</s>")) && ends_at(text, **at, is_coming));
    let mut rest = turn.map_or(text, |at| &text[..*at]);
    if has_quoted_turns(rest, &places) {
        return if is_coming || !has_more_ends(text, &places) { text } else { &text[..last_mark(text.trim_end()).unwrap_or(text.len())] };
    }
    loop {
        let trimmed = rest.trim_end();
        let Some(at) = last_mark(trimmed) else { return rest };
        let is_struck = is_html && trimmed.ends_with("</s>");
        if is_struck || is_spoken_of(&trimmed[..at]) || places.binary_search(&at).is_err() {
            return rest;
        }
        rest = &trimmed[..at];
    }
}

/// Whether a text shows turns, which it announces. What follows is then a part of what it shows.
fn has_quoted_turns(text: &str, places: &[usize]) -> bool {
    let shown = places.iter().take_while(|at| **at < text.len());
    { shown }.any(|at| is_spoken_of(&text[..*at]) && begins_turn(&text[*at..]))
}

/// Whether a text begins with a mark that begins a turn.
fn begins_turn(text: &str) -> bool {
    turn_of(text).is_some() || mark_of(text).is_some_and(|mark| mark == "<s>" || is_other_turn(mark))
}

/// Whether more turns end in a text than begin in it: the last of them is its own.
fn has_more_ends(text: &str, places: &[usize]) -> bool {
    let begun = places.iter().filter(|at| begins_turn(&text[**at..])).count();
    places.iter().filter(|at| mark_of(&text[**at..]).is_some_and(is_end)).count() > begun
}

/// Whether turns are in a text: what stands behind them was not asked for.
pub(super) fn has_turns(text: &str) -> bool {
    let is_other = |at: usize| begins_turn(&text[at..]) || mark_of(&text[at..]).is_some_and(is_end);
    let is_told = |line: &str| ["user:", "human:"].iter().any(|who| begins(line.trim_start_matches(['*', '#', ' ', '\t']), who));
    text.lines().any(is_told) || text.match_indices(['<', '[']).any(|(at, _)| is_other(at))
}

/// The place of the mark that a text ends with.
fn last_mark(text: &str) -> Option<usize> {
    let from = text.char_indices().rev().take(LONGEST).filter(|(_, c)| matches!(c, '<' | '['));
    { from }.map(|(at, _)| at).find(|at| mark_of(&text[*at..]).is_some_and(|mark| at + mark.len() == text.len()))
}

/// Whether the answer ends at this place, and the model went on with another turn.
fn ends_at(text: &str, at: usize, is_coming: bool) -> bool {
    let rest = &text[at..];
    let Some(mark) = turn_of(rest).or_else(|| mark_of(rest)) else { return false };
    let (before, after) = (&text[..at], &rest[mark.len()..]);
    let is_role = |text: &str, roles: &[&str]| {
        after_role(text, roles).is_some() || is_coming && text.len() < LONGEST && { roles }.iter().any(|role| begins(role, text))
    };
    let is_attached = before.ends_with(|c: char| !c.is_whitespace());
    let is_quoted = before.ends_with(['"', '\'', '`', '“', '„', '«', '‘', '(']);
    // Behind a sentence that has ended, none goes on.
    let is_said = before.ends_with(['.', '!', '?', '…', '。', '！', '？']) && is_end(mark);
    if is_quoted && !after.is_empty() || is_spoken_of(before) || goes_on(after) && !is_said {
        return false;
    }
    if TURNS.contains(&mark) {
        let is_own = mark != "<|start|>" && (is_attached || begins_line(text, at)) && is_role(after.trim_start(), &OWN_ROLES);
        return is_own || is_role(after.trim_start(), &OTHER_ROLES);
    }
    if is_other_turn(mark) {
        return true;
    }
    let is_next = |after: &str| after.is_empty() || after.starts_with(['\r', '\n']);
    let has_role = [&OTHER_ROLES[..], &OWN_ROLES]
        .iter()
        .any(|roles| after_role(after, roles).is_some_and(is_next) || is_coming && is_role(after, roles));
    let is_followed = after.starts_with(['\r', '\n']) || turn_of(after).or_else(|| mark_of(after)).is_some() || has_role;
    let is_point = after.starts_with(['.', ',', ';', ':', '!', '?', ')']);
    at > 0 && is_end(mark) && (is_attached && !is_point || is_followed && begins_line(text, at))
}

/// The answer in a box, without the marks of the box; behind thoughts (`had`) an element around the whole answer is one, too.
pub(super) fn unboxed(text: &str, had: bool) -> Option<String> {
    let element = { ["answer", "response"] }.iter().filter(|_| had).find_map(|word| {
        let inside = text.trim().strip_prefix(&format!("<{word}>"))?.strip_suffix(&format!("</{word}>"))?;
        (!inside.contains(&format!("<{word}>"))).then(|| inside.trim().to_owned())
    });
    if element.is_some() {
        return element;
    }
    let (begin, end) = ("<|begin_of_box|>", "<|end_of_box|>");
    let places = places(text, OpenFence::Text);
    let from = *places.iter().find(|at| text[**at..].starts_with(begin) && !is_spoken_of(&text[..**at]))?;
    let inside = &text[from + begin.len()..];
    let length = place_of(inside, end).unwrap_or(inside.len());
    let behind = inside.get(length + end.len()..).unwrap_or_default();
    Some(format!("{}{}{behind}", &text[..from], &inside[..length]))
}

/// Whether a text may be the first characters of a mark.
pub(super) fn may_become_mark(text: &str) -> bool {
    let is_form = ["<|", "<｜", "[|"].iter().any(|open| begins(open, text) || text.starts_with(open));
    let is_short = text.len() < LONGEST && !text.contains(['>', ']', ' ', '\n']);
    is_short && (is_form || OTHERS.iter().any(|mark| begins(mark, text)))
}
