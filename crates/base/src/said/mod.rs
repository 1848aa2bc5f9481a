//! The text of a model's answer: what of it is the answer, and what is not. Thoughts and control marks are no part of it, and tool calls that a server
//! did not recognise are calls. Pure: texts in, texts out.
//!
//! A text that speaks about such marks stays as it is. So a mark counts only where no quotation of it stands: thoughts at the very beginning of the
//! answer, an end of thoughts without a beginning only directly after a text or at the start of its line, marks of the wire only at either end, and
//! none of them in code.
//!
//! How to add a mark: a row in the table of its kind here or in `calls`, and one in its test.

mod calls;
mod harmony;
mod literal;

#[cfg(test)]
mod tests;

pub use calls::{WrittenCall, WrittenCalls, written_calls};

/// Marks around thoughts, in any case.
const THOUGHTS: [(&str, &str); 14] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel>thought", "<channel|>"),
    ("<unused94>thought", "<unused95>"),
];
/// Marks of the wire before an answer.
const STARTS: [&str; 12] = [
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|start_of_role|>assistant<|end_of_role|>",
    "<start_of_turn>model",
    "<|turn>model",
    "<|assistant|>",
    "<|START_RESPONSE|>",
    "<|begin_of_solution|>",
    "<|begin_of_text|>",
    "<｜Assistant｜>",
    "<bos>",
    "<s>",
];
/// Marks of the wire after an answer.
const ENDS: [&str; 21] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end_of_solution|>",
    "<|end_of_role|>",
    "<|end_of_turn|>",
    "<|END_RESPONSE|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end|>",
    "<|return|>",
    "<|user|>",
    "<|observation|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<turn|>",
    "[EOS]",
    "<eos>",
    "</s>",
];
/// Marks with which the next turn begins, which a model writes that does not stop.
const NEXT_TURNS: [&str; 5] = ["<|im_start|>", "<|start_header_id|>", "<|start_of_role|>", "<start_of_turn>", "<|turn>"];
/// Most blocks of thoughts, or marks at the end, of one answer.
const MOST_BLOCKS: usize = 16;

/// What is said of an answer whose thoughts were taken out of it.
const THOUGHTS_NOTE: &str = "thoughts before it were left out";
const MARKS_NOTE: &str = "control marks around it were left out";

/// The answer in a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnswerText {
    /// The answer; empty if there are only thoughts or calls.
    pub text: String,
    /// What was left out, a phrase each.
    pub notes: Vec<&'static str>,
    /// Calls in OpenAI's harmony format: the name of the tool, and the arguments as they were written.
    pub calls: Vec<(String, String)>,
    /// Whether thoughts ended in it that had no beginning: the model begins its answers with thoughts and does not say so.
    pub begins_unmarked: bool,
}

/// A text that only has thoughts, whose end is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the thoughts in it have no end")]
pub struct UnclosedThoughtsError;

/// The answer in the whole text of a model.
///
/// # Errors
/// It is a thought without an end.
pub fn answer_text(whole: &str) -> Result<AnswerText, UnclosedThoughtsError> {
    let mut answer = AnswerText::default();
    let mut rest = whole;
    for _ in 0..MOST_BLOCKS {
        let begun = without_starts(rest);
        if let Some(read) = harmony::read(begun) {
            let read = read?;
            let had_thoughts = read.has_thoughts || answer.notes.contains(&THOUGHTS_NOTE);
            answer.notes = if had_thoughts { vec![THOUGHTS_NOTE] } else { vec![MARKS_NOTE] };
            return Ok(AnswerText { text: read.answer, calls: read.calls, ..answer });
        }
        let Some((after, is_unmarked)) = after_thoughts(begun)? else {
            let text = without_ends(begun);
            // White space around an answer is the model's own, and stays if there is nothing else to take away.
            let is_untouched = text.trim() == whole.trim();
            if !is_untouched && answer.notes.is_empty() {
                answer.notes.push(MARKS_NOTE);
            }
            answer.text = if is_untouched { whole } else { text.trim() }.to_owned();
            return Ok(answer);
        };
        answer.begins_unmarked |= is_unmarked;
        answer.notes = vec![THOUGHTS_NOTE];
        rest = after;
    }
    Err(UnclosedThoughtsError)
}

/// What can be shown of a text that is still coming. `begins_unmarked`: the model is known to begin with thoughts without saying so.
pub fn so_far(text: &str, begins_unmarked: bool) -> String {
    let begun = text.trim_start();
    let is_begin = |mark: &&str| begun.len() < mark.len() && begins(mark, begun);
    let marks = THOUGHTS.iter().map(|(mark, _)| *mark).chain(STARTS).chain(harmony::BEGINNINGS);
    if begun.is_empty() || { marks }.any(|mark| is_begin(&mark)) {
        return String::new();
    }
    match answer_text(text) {
        Ok(answer) if begins_unmarked && !answer.begins_unmarked && answer.notes.is_empty() => String::new(),
        Ok(answer) => {
            let called = calls::opening(&answer.text).unwrap_or(answer.text.len());
            let shown = &answer.text[..called];
            // The last characters may be the beginning of a mark.
            let open = shown.char_indices().rev().take(24).find(|(_, c)| matches!(c, '<' | '[' | '◁')).map(|(at, _)| at);
            let ends = ENDS.iter().chain(THOUGHTS.iter().map(|(_, end)| end)).chain(calls::OPENINGS.iter());
            match open.filter(|at| { ends }.any(|mark| begins(mark, &shown[*at..]))) {
                Some(at) => shown[..at].to_owned(),
                None => shown.to_owned(),
            }
        }
        Err(UnclosedThoughtsError) => String::new(),
    }
}

/// Whether a text begins with this, in any case.
fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// The text behind the first of these marks that it begins with.
fn after_one<'t>(text: &'t str, marks: &[&str]) -> Option<&'t str> {
    let mark = marks.iter().find(|mark| begins(text, mark))?;
    text.get(mark.len()..)
}

/// The place of a mark in a text, in any case.
fn place_of(text: &str, mark: &str) -> Option<usize> {
    let first = mark.chars().next()?;
    text.match_indices(first).map(|(at, _)| at).find(|at| begins(&text[*at..], mark))
}

fn without_starts(text: &str) -> &str {
    let mut rest = text.trim_start();
    // A struck word of HTML begins with the same mark.
    while let Some(after) =
        after_one(rest, &STARTS).filter(|_| !(rest.starts_with("<s>") && rest.contains("</s>") && !rest.ends_with("</s>")))
    {
        rest = after.trim_start();
    }
    rest
}

/// The text behind the thoughts that it begins with, and whether they had no beginning; `None`: it begins with none.
fn after_thoughts(text: &str) -> Result<Option<(&str, bool)>, UnclosedThoughtsError> {
    for (begin, end) in THOUGHTS {
        if begins(text, begin) {
            let inside = &text[begin.len()..];
            if let Some(at) = place_of(inside, end) {
                return Ok(Some((&inside[at + end.len()..], false)));
            }
            // Some models call a tool in the middle of their thoughts.
            let called = calls::opening(inside).ok_or(UnclosedThoughtsError)?;
            return Ok(Some((&inside[called..], false)));
        }
        if begins(text, end) {
            return Ok(Some((&text[end.len()..], true)));
        }
    }
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return Ok(None);
    }
    let end_at =
        |at: usize| THOUGHTS.iter().find(|(_, end)| begins(&text[at..], end)).filter(|(_, end)| ends_thoughts(text, at, end.len()));
    let found = outside_code(text).find_map(|at| end_at(at).map(|pair| (at, pair)));
    let found = found.filter(|(at, (begin, _))| place_of(&text[..*at], begin).is_none());
    Ok(found.map(|(at, (_, end))| (&text[at + end.len()..], true)))
}

/// Whether the mark at this place, of this length, ends thoughts and is not spoken of: it begins its line, or stands directly behind a text and before the
/// next.
fn ends_thoughts(text: &str, at: usize, length: usize) -> bool {
    let begins_line = text[..at].chars().rev().find(|c| !matches!(c, ' ' | '\t')).is_none_or(|c| c == '\n');
    let (before, after) = (text[..at].chars().next_back(), text[at + length..].chars().next());
    let is_speech = |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»' | '(' | ')' | '[' | '<' | '>' | '=' | '/');
    let follows = before.is_some_and(|c| !c.is_whitespace() && !is_speech(c));
    let is_next = |c: char| !(c.is_whitespace() || is_speech(c) || matches!(c, ',' | ';' | '.' | ':' | '!' | '?'));
    begins_line || follows && after.is_none_or(|c| matches!(c, '\n' | '\r') || is_next(c))
}

/// The text without the marks of the wire at its end, and without what the model wrote behind them as the next turn.
fn without_ends(text: &str) -> &str {
    let ending = |at: &usize| after_one(&text[*at..], &ENDS).is_some_and(|after| after_one(after.trim_start(), &NEXT_TURNS).is_some());
    let mut rest = outside_code(text).find(ending).map_or(text, |at| &text[..at]);
    for _ in 0..MOST_BLOCKS {
        let trimmed = rest.trim_end();
        let Some(mark) = ENDS.iter().find(|mark| trimmed.ends_with(**mark)) else { return rest };
        let before = &trimmed[..trimmed.len() - mark.len()];
        let is_html = *mark == "</s>" && before.contains("<s>");
        if is_html || is_spoken_of(before) || outside_code(trimmed).last() != Some(before.len()) {
            return rest;
        }
        rest = before;
    }
    rest
}

/// Whether a sentence goes on to the end of a text: what follows is a part of it.
fn is_spoken_of(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.ends_with([' ', '\t'])
        && line.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ':' | ';' | '-' | '–' | '—' | '→'))
}

/// The places where marks can begin, outside of fenced code and code spans.
fn outside_code(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut is_fenced = false;
    let mut start = 0;
    text.split_inclusive('\n').flat_map(move |line| {
        let from = start;
        start += line.len();
        let begun = line.trim_start();
        let is_fence = begun.starts_with("```") || begun.starts_with("~~~");
        is_fenced ^= is_fence;
        let is_code = is_fenced || is_fence;
        let mut ticks = 0;
        line.char_indices().filter_map(move |(at, c)| {
            ticks += usize::from(c == '`');
            (!is_code && ticks % 2 == 0 && matches!(c, '<' | '[' | '◁')).then_some(from + at)
        })
    })
}
