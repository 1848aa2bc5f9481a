//! The text of a model's answer: what of it is the answer, and what is not. Thoughts and control marks are no part of it, and tool calls that a server
//! did not recognise are calls. Pure: texts in, texts out.
//!
//! A text that speaks about such marks stays as it is. So a mark counts only where no quotation of it stands (`layout`): thoughts at the very beginning
//! of the answer or on lines of their own, an end of thoughts without a beginning only between two texts or at the start of its line, marks of the wire
//! at either end and where a next turn begins, and none of them in code.
//!
//! How to add a mark: a row in the table of its kind in `thoughts`, `marks` or `calls`, and one in its test. What looks like a call and is none that can
//! be read is found by its place in the text (`hints`).

mod calls;
mod harmony;
mod hints;
mod layout;
mod literal;
mod marks;
mod thoughts;

#[cfg(test)]
mod tests;

pub use calls::{WrittenCall, WrittenCalls, arguments_in, unfenced, written_calls};
use layout::without_invisible;
use marks::{without_ends, without_starts};

/// Most blocks of thoughts before an answer.
const MOST_BLOCKS: usize = 256;
/// Longest beginning of a mark that is held back while a text comes, in characters.
const LONGEST_MARK: usize = 200;

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
    /// Whether thoughts were left out.
    pub has_thoughts: bool,
    /// Whether thoughts ended in it that had no beginning: the model begins its answers with thoughts and does not say so.
    pub begins_unmarked: bool,
}

/// Why a text has no certain answer: what of it is thought cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ThoughtsError {
    /// They begin and have no end: there is no answer yet.
    #[error("its thoughts have no end")]
    Unclosed,
    /// Behind their end stands another: what is between may be thought.
    #[error("its thoughts end twice")]
    EndTwice,
    /// A block of them stands in the middle of its text, and nothing announces it as content.
    #[error("thoughts, or an example of them, stand in the middle of it")]
    Among,
    /// It begins with a sentence that has marks of thoughts as words, or with thoughts that look like one.
    #[error("its first sentence may be thought")]
    Spoken,
}

/// How thoughts come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThoughtsPlace {
    /// Nothing but the text came.
    InText,
    /// They came apart from the text. An end of thoughts without a beginning is then content.
    Apart,
}

/// What was read of a text, for what is known of it until now.
struct ReadAnswer {
    answer: AnswerText,
    /// Whether what comes cannot make something else of it.
    is_certain: bool,
}

/// The answer in the whole text of a model.
///
/// # Errors
/// What of it is thought cannot be told.
pub fn answer_text(whole: &str, thoughts: ThoughtsPlace) -> Result<AnswerText, ThoughtsError> {
    read(whole, false, thoughts).map(|read| read.answer)
}

fn read(whole: &str, is_coming: bool, place: ThoughtsPlace) -> Result<ReadAnswer, ThoughtsError> {
    let mut answer = AnswerText::default();
    let mut is_closed = false;
    let mut begun = without_starts(whole);
    let mut blocks = 0;
    let messages = loop {
        if let Some(messages) = harmony::read(begun) {
            break Some(messages?);
        }
        if let Some((thoughts, after)) = thoughts::first(begun)? {
            blocks += 1;
            if blocks > MOST_BLOCKS {
                return Err(ThoughtsError::Unclosed);
            }
            answer.has_thoughts |= !thoughts.trim().is_empty();
            answer.begins_unmarked |= !is_closed && thoughts::is_end(begun);
            (begun, is_closed) = (without_starts(after), true);
            continue;
        }
        let behind = || thoughts::behind_unmarked(begun).filter(|_| place == ThoughtsPlace::InText);
        if is_closed {
            break if behind().is_some() { return Err(ThoughtsError::EndTwice) } else { None };
        }
        let messages = harmony::read_later(begun).transpose()?;
        if messages.is_none()
            && let Some(after) = behind()
        {
            (answer.has_thoughts, answer.begins_unmarked, is_closed) = (true, true, true);
            begun = without_starts(after);
            continue;
        }
        answer.begins_unmarked |= messages.is_some();
        break messages;
    };
    if let Some(messages) = messages {
        answer.has_thoughts |= messages.has_thoughts;
        (answer.text, answer.calls) = (messages.answer, messages.calls);
        answer.notes = vec![note_of(answer.has_thoughts)];
        return Ok(ReadAnswer { answer, is_certain: messages.is_final });
    }
    let text = without_ends(begun, is_coming);
    let unboxed = marks::unboxed(text, is_closed);
    let text = unboxed.as_deref().unwrap_or(text);
    let later = thoughts::without_later(text, is_closed, is_coming);
    let text = later.as_ref().map_or(text, |later| &later.text);
    if !is_coming {
        let is_unclosed = later.as_ref().is_some_and(|later| later.is_unclosed);
        // A call in thoughts that have no end is thought of, and not meant.
        if calls::opening(text).map_or(is_unclosed, |at| thoughts::is_open(&text[..at])) {
            return Err(ThoughtsError::Unclosed);
        }
        if later.as_ref().is_some_and(|later| later.is_uncertain) {
            return Err(ThoughtsError::Among);
        }
    }
    answer.has_thoughts |= later.is_some();
    // What is not seen around an answer is the model's own, and stays if there is nothing else to take away.
    let is_untouched = text.trim() == without_invisible(whole).trim_end();
    if !is_untouched {
        answer.notes.push(note_of(answer.has_thoughts));
    }
    answer.text = if is_untouched { whole } else { text.trim() }.to_owned();
    Ok(ReadAnswer { answer, is_certain: true })
}

fn note_of(has_thoughts: bool) -> &'static str {
    if has_thoughts { THOUGHTS_NOTE } else { MARKS_NOTE }
}

/// What can be shown of a text that is still coming. `begins_unmarked`: the model is known to begin with thoughts without saying so.
pub fn so_far(text: &str, begins_unmarked: bool) -> String {
    // The last characters may be the beginning of a mark.
    let open = text.char_indices().rev().take(LONGEST_MARK).filter(|(_, c)| matches!(c, '<' | '[' | '◁')).map(|(at, _)| at);
    let text = { open }.filter(|at| may_become_mark(&text[*at..])).last().map_or(text, |at| &text[..at]);
    let begun = without_starts(text);
    let may_be_harmony = |text: &str| harmony::BEGINNINGS.iter().any(|mark| text.len() < mark.len() && begins(mark, text));
    match read(text, true, ThoughtsPlace::InText) {
        _ if begun.is_empty() || may_be_harmony(begun) || begun.len() < text.trim().len() && marks::may_become_role(begun) => String::new(),
        Ok(ReadAnswer { answer, .. }) if may_be_harmony(answer.text.trim()) => String::new(),
        Ok(ReadAnswer { answer, is_certain: true }) if !begins_unmarked || answer.begins_unmarked || !answer.notes.is_empty() => {
            let called = calls::opening(&answer.text).unwrap_or(answer.text.len());
            answer.text[..called].to_owned()
        }
        Ok(_) | Err(_) => String::new(),
    }
}

/// Whether a text may be the first characters of a mark.
fn may_become_mark(text: &str) -> bool {
    marks::may_become_mark(text) || thoughts::may_become_mark(text) || calls::OPENINGS.iter().any(|mark| begins(mark, text))
}

/// Whether a text begins with this, in any case.
fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// The place of a mark in a text, in any case.
fn place_of(text: &str, mark: &str) -> Option<usize> {
    let first = mark.chars().next()?;
    text.match_indices(first).map(|(at, _)| at).find(|at| begins(&text[*at..], mark))
}
