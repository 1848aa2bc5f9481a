//! OpenAI's harmony format (gpt-oss), as servers without a parser for it send it: messages in channels, of which one is the answer.

use super::ThoughtsError;
use super::layout::{OpenFence, is_spoken_of, places};

/// What such a text begins with.
pub(super) const BEGINNINGS: [&str; 6] =
    ["<|channel|>", "<|start|>assistant", "<|message|>", "analysis<|message|>", "commentary<|message|>", "final<|message|>"];
/// Where a message begins behind a text that has no marks before it.
const LATER: [&str; 2] = ["<|start|>assistant<|channel|>", "<|channel|>final"];
/// Marks that end a message.
const ENDS: [&str; 3] = ["<|end|>", "<|return|>", "<|call|>"];
/// Who else may speak in such a text.
const OTHERS: [&str; 4] = ["user", "system", "developer", "functions."];

/// Most messages in one text.
const MOST_MESSAGES: usize = 64;

/// The messages by what they are.
#[derive(Debug, Default)]
pub(super) struct Harmony {
    pub(super) answer: String,
    pub(super) calls: Vec<(String, String)>,
    pub(super) has_thoughts: bool,
    /// Whether the answer is in the channel for it.
    pub(super) is_final: bool,
}

/// Reads such a text; `None`: it is none.
pub(super) fn read(text: &str) -> Option<Result<Harmony, ThoughtsError>> {
    if BEGINNINGS.iter().any(|begin| text.starts_with(begin)) || text.starts_with("commentary to=") && text.contains("<|message|>") {
        return Some(of_messages(text));
    }
    // The same with its marks left out.
    let is_bare = text.starts_with("analysis") || text.starts_with("commentary");
    let (_, answer) = text.rsplit_once("assistantfinal").filter(|_| is_bare)?;
    Some(Ok(Harmony { answer: answer.trim().to_owned(), calls: vec![], has_thoughts: true, is_final: true }))
}

/// Reads such a text whose first message has no marks before it: those are thoughts.
pub(super) fn read_later(text: &str) -> Option<Result<Harmony, ThoughtsError>> {
    let is_later = |at: &usize| LATER.iter().any(|begin| text[*at..].starts_with(begin)) && !is_spoken_of(&text[..*at]);
    let at = { places(text, OpenFence::Text) }.into_iter().find(is_later)?;
    let read = of_messages(&text[at..]).ok().filter(|read| read.is_final || !read.calls.is_empty())?;
    Some(Ok(Harmony { has_thoughts: true, ..read }))
}

/// The length of the message that a text begins with. An end mark behind which the text goes on is quoted in it; if there are only such, the first
/// ends an answer, and none a call (`is_call`), which then cannot be read.
fn end_of(text: &str, is_call: bool) -> usize {
    let ends = || text.match_indices("<|").filter_map(|(at, _)| Some((at, ENDS.iter().find(|mark| text[at..].starts_with(**mark))?)));
    let is_end = |(at, mark): &(usize, &&str)| {
        let after = text[at + mark.len()..].trim_start();
        after.is_empty() || ENDS.iter().chain(&["<|start|>", "<|channel|>final"]).any(|next| after.starts_with(next))
    };
    let first = || ends().next().filter(|_| !is_call);
    ends().find(is_end).or_else(first).map_or(text.len(), |(at, _)| at)
}

/// Reads messages. One begins with the text or behind the end of another, so that a message which is quoted in one is a part of it.
fn of_messages(text: &str) -> Result<Harmony, ThoughtsError> {
    let mut read = Harmony::default();
    let (mut preamble, mut unnamed) = (String::new(), String::new());
    let mut rest = text;
    for _ in 0..MOST_MESSAGES {
        let Some((head, after)) = rest.split_once("<|message|>") else { break };
        if head.trim().strip_prefix("<|start|>").is_some_and(|who| OTHERS.iter().any(|other| who.trim_start().starts_with(other))) {
            // The model went on with a turn that is not its own.
            break;
        }
        let head = head.replace("<|start|>", " ").replace("<|channel|>", " ").replace("<|constrain|>", " ");
        let to = head.split_whitespace().find_map(|word| word.strip_prefix("to=")).filter(|to| *to != "user");
        let end = end_of(after, to.is_some());
        let body = after[..end].trim();
        rest = &after[end..];
        while let Some(behind) = ENDS.iter().find_map(|mark| rest.strip_prefix(mark)) {
            rest = behind.trim_start();
        }
        if !["<|start|>", "<|channel|>final"].iter().any(|next| rest.starts_with(next)) {
            rest = "";
        }
        let is_thought = to.is_none() && head.contains("analysis");
        if let Some((_, arguments)) = read.calls.last_mut().filter(|_| to.is_none() && !is_thought && !body.is_empty()) {
            // A call with text behind it cannot be read.
            arguments.push_str(&format!("<|message|>{body}"));
        }
        match to {
            Some(to) => read.calls.push((to.trim_start_matches("functions.").to_owned(), body.to_owned())),
            None if is_thought => read.has_thoughts |= !body.is_empty(),
            None if head.contains("commentary") => preamble.push_str(body),
            None if head.contains("final") => {
                read.answer.push_str(body);
                read.is_final = true;
            }
            None => unnamed.push_str(body),
        }
    }
    if read.is_final {
        // What has no channel before an answer that has one was thought.
        read.has_thoughts |= !unnamed.is_empty();
        return Ok(read);
    }
    let answer = if unnamed.is_empty() { preamble } else { unnamed };
    let is_cut = answer.is_empty() && read.calls.is_empty() && (read.has_thoughts || rest.contains("analysis"));
    if is_cut { Err(ThoughtsError::Unclosed) } else { Ok(Harmony { answer, ..read }) }
}
