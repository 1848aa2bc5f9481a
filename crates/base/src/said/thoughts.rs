//! Thoughts in the text of an answer: at its beginning, and in blocks of their own behind it.

use std::sync::LazyLock;

use regex::Regex;

use super::layout::{OpenFence, begins_line, goes_on, is_spoken_of, places};
use super::{ThoughtsError, begins, calls};

/// Marks around thoughts, in any case, and whether there are models that leave out the first: their template has it.
pub(super) const THOUGHTS: [(&str, &str, bool); 20] = [
    ("<think>", "</think>", true),
    ("<thinking>", "</thinking>", false),
    ("<thought>", "</thought>", false),
    ("<thoughts>", "</thoughts>", false),
    ("<reasoning>", "</reasoning>", false),
    ("<scratchpad>", "</scratchpad>", false),
    ("<reflection>", "</reflection>", false),
    ("<seed:think>", "</seed:think>", true),
    ("<mm:think>", "</mm:think>", true),
    ("<longcat_think>", "</longcat_think>", true),
    ("[THINK]", "[/THINK]", true),
    ("◁think▷", "◁/think▷", true),
    ("<|START_THINKING|>", "<|END_THINKING|>", true),
    ("<|begin_of_thought|>", "<|end_of_thought|>", true),
    ("<|channel>thought", "<channel|>", false),
    ("<unused94>thought", "<unused95>", false),
    ("[unused16]", "[unused17]", true),
    ("<|inner_prefix|>", "<|inner_suffix|>", false),
    ("<|think|>", "<|/think|>", false),
    ("<|thinking|>", "<|/thinking|>", false),
];
/// Sentences around thoughts (Granite). Without the second, the first is a sentence like others.
const SENTENCES: [(&str, &str); 2] =
    [("Here is my thought process:", "Here is my response:"), ("Here's my thought process:", "Here's my response:")];
/// Longest mark with attributes, in bytes.
const LONGEST: usize = 200;

static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    let attribute = r#"\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s<>"']+)"#;
    let text = format!(r"(?i)^<\s?(?:[a-z]+[:_])?(?:think|thinking|thoughts?|reasoning|scratchpad|reflection)(?:{attribute})*\s*>");
    Regex::new(&text).expect("a pattern of this file")
});
const END_TEXT: &str = r"<\s*/\s*(?:[a-z]+[:_])?(?:think|thinking|thoughts?|reasoning|scratchpad|reflection)\s*>";
static END: LazyLock<Regex> = LazyLock::new(|| Regex::new(&format!("(?i){END_TEXT}")).expect("a pattern of this file"));
static FIRST_END: LazyLock<Regex> = LazyLock::new(|| Regex::new(&format!("(?i)^{END_TEXT}")).expect("a pattern of this file"));

/// The beginning of thoughts that a text begins with: its length, and the end that belongs to it; empty: one of the words of [`END`].
fn begin_of(text: &str) -> Option<(usize, &'static str)> {
    let exact = THOUGHTS.iter().find(|(begin, _, _)| begins(text, begin)).map(|(begin, end, _)| (begin.len(), *end));
    let is_tag = text.starts_with('<') && text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == ' ');
    exact.or_else(|| is_tag.then(|| BEGIN.find(text)).flatten().map(|found| (found.end(), "")))
}

/// The place of the end of thoughts and its length.
fn end_of(inside: &str, end: &str) -> Option<(usize, usize)> {
    // One that is quoted by itself is spoken of.
    let is_quoted = |(at, length): &(usize, usize)| {
        let before = inside[..*at].chars().next_back().filter(|c| matches!(c, '`' | '"' | '\''));
        before.is_some() && inside[at + length..].chars().next() == before
    };
    let first = end.chars().next();
    let own = first.into_iter().flat_map(|first| inside.match_indices(first)).map(|(at, _)| at);
    let own = own.filter(|at| begins(&inside[*at..], end)).map(|at| (at, end.len()));
    let has_words = end.is_empty() || end.starts_with("</");
    let alike = has_words.then(|| END.find_iter(inside).map(|found| (found.start(), found.len()))).into_iter().flatten();
    own.chain(alike).find(|found| !is_quoted(found))
}

/// The thoughts that a text begins with, and the text behind them; `None`: it begins with none.
pub(super) fn first(text: &str) -> Result<Option<(&str, &str)>, ThoughtsError> {
    let told = SENTENCES.iter().find_map(|(begin, end)| text.strip_prefix(begin)?.split_once(end));
    if told.is_some() {
        return Ok(told);
    }
    if let Some((length, end)) = begin_of(text) {
        let inside = &text[length..];
        let (at, length) = end_of(inside, end).ok_or(ThoughtsError::Unclosed)?;
        let after = &inside[at + length..];
        return match (goes_on(inside), after.starts_with(['.', ',', ';', ':', ')'])) {
            // Both marks are words of a sentence.
            (true, true) => Ok(None),
            (true, false) if goes_on(after) => Err(ThoughtsError::Spoken),
            (true | false, _) => Ok(Some((&inside[..at], after))),
        };
    }
    Ok(stray_end(text).map(|length| ("", &text[length..])))
}

/// Whether a text begins with an end of thoughts.
pub(super) fn is_end(text: &str) -> bool {
    stray_end(text).is_some()
}

/// The length of an end of thoughts that a text begins with.
fn stray_end(text: &str) -> Option<usize> {
    let exact = THOUGHTS.iter().find(|(_, end, _)| begins(text, end)).map(|(_, end, _)| end.len());
    exact.or_else(|| FIRST_END.find(text).map(|found| found.end()))
}

/// The text behind thoughts that have no beginning.
pub(super) fn behind_unmarked(text: &str) -> Option<&str> {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return None;
    }
    let places = places(text, OpenFence::Text);
    let mut begun = vec![];
    for at in places {
        let rest = &text[at..];
        begun.extend(THOUGHTS.iter().map(|(begin, _, _)| *begin).find(|begin| begins(rest, begin)));
        let ended = THOUGHTS.iter().find(|(begin, end, is_left_out)| *is_left_out && begins(rest, end) && !begun.contains(begin));
        if let Some((_, end, _)) = ended.filter(|(_, end, _)| ends_thoughts(text, at, end.len())) {
            return Some(&rest[end.len()..]);
        }
    }
    None
}

/// Whether the mark at this place, of this length, ends thoughts and is not spoken of: it begins its line, or stands between the end of a text and the
/// beginning of the next.
fn ends_thoughts(text: &str, at: usize, length: usize) -> bool {
    if begins_line(text, at) {
        return true;
    }
    let (before, after) = (&text[..at], &text[at + length..]);
    let is_speech =
        |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»' | '(' | ')' | '[' | '<' | '>' | '=' | '/' | '*' | '\\');
    let is_point = |c: char| matches!(c, ',' | ';' | '.' | ':' | '!' | '?');
    let blank = [' ', '\t'];
    let Some(last) = before.trim_end_matches(blank).chars().next_back().filter(|last| *last != '\n') else { return false };
    let next = after.trim_start_matches(blank).chars().next().unwrap_or('\n');
    let (is_near_last, is_near_next) = (!before.ends_with(blank), !after.starts_with(blank));
    let is_next = !(is_speech(next) || is_point(next));
    let ends_sentence = matches!(last, '.' | '!' | '?' | '…' | '。' | '！' | '？');
    // What begins with a small letter behind a blank goes on with the sentence.
    let begins_sentence = is_next && !next.is_lowercase();
    match (is_near_last, is_near_next) {
        (true, true) => !is_speech(last) && is_next,
        (true, false) => !is_speech(last) && (begins_sentence || ends_sentence && is_next),
        (false, _) if matches!(next, '\n' | '\r') => ends_sentence || !is_speech(last) && is_paragraph(after),
        (false, _) => !is_speech(last) && begins_sentence,
    }
}

/// Whether an empty line is the first thing in a text.
fn is_paragraph(text: &str) -> bool {
    text.chars().take_while(|c| c.is_whitespace()).filter(|c| *c == '\n').take(2).count() == 2
}

/// A text without thoughts in lines of their own.
pub(super) struct LaterThoughts {
    pub(super) text: String,
    /// Whether the last of them has no end. The text ends before it.
    pub(super) is_unclosed: bool,
    /// Whether a block of them stands in the middle of the text, which may be content.
    pub(super) is_uncertain: bool,
}

/// Takes out the thoughts that begin a line: those at the end of the text or before calls, and if it had thoughts before (`had`), the others, too.
/// `is_coming`: the text is not the whole, so its last thoughts may get an end. `None`: there are none.
pub(super) fn without_later(text: &str, had: bool, is_coming: bool) -> Option<LaterThoughts> {
    let mut kept = String::new();
    let (mut from, mut is_uncertain) = (0, false);
    for at in places(text, OpenFence::Text) {
        let Some((length, end)) = (at >= from).then(|| begin_of(&text[at..])).flatten() else { continue };
        let inside = &text[at + length..];
        if !begins_line(text, at) || is_spoken_of(&text[..at]) {
            continue;
        }
        let Some((close, closing)) = end_of(inside, end) else {
            let is_alone = inside.trim_start_matches([' ', '\t']).starts_with(['\r', '\n']);
            if is_coming || is_alone && (had || calls::opening(&text[..at]).is_some()) {
                kept.push_str(&text[from..at]);
                return Some(LaterThoughts { text: kept, is_unclosed: true, is_uncertain });
            }
            break;
        };
        let behind = &inside[close + closing..];
        if had || behind.trim().is_empty() || calls::OPENINGS.iter().any(|mark| begins(behind.trim_start(), mark)) {
            kept.push_str(&text[from..at]);
            from = text.len() - behind.len();
        } else {
            let is_alone = [inside, behind].iter().all(|after| after.trim_start_matches([' ', '\t']).starts_with(['\r', '\n']));
            is_uncertain |=
                is_alone && text[..at].ends_with('\n') && THOUGHTS.iter().any(|(_, known, is_left_out)| *is_left_out && *known == end);
        }
    }
    (from > 0 || is_uncertain).then(|| LaterThoughts { text: kept + &text[from..], is_unclosed: false, is_uncertain })
}

/// Whether thoughts begin in a text that do not end in it.
pub(super) fn is_open(text: &str) -> bool {
    let begun = { places(text, OpenFence::Text) }.into_iter().rev().find_map(|at| Some((at, begin_of(&text[at..])?)));
    begun.is_some_and(|(at, (length, end))| end_of(&text[at + length..], end).is_none())
}

/// Whether a text may be the first characters of a beginning of thoughts, or of an end.
pub(super) fn may_become_mark(text: &str) -> bool {
    let is_tag = |begin: &str| {
        let word = begin.trim_end_matches('>');
        begin.starts_with('<') && begins(text, word) && text[word.len()..].starts_with(char::is_whitespace)
    };
    let is_open = text.len() < LONGEST && !text.contains('>');
    THOUGHTS.iter().any(|(begin, end, _)| {
        text.len() < begin.len() && begins(begin, text) || text.len() < end.len() && begins(end, text) || is_open && is_tag(begin)
    })
}
