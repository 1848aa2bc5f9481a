//! OpenAI's harmony format (gpt-oss), as servers without a parser for it send it: messages in channels, of which one is the answer.

use super::UnclosedThoughtsError;
use super::layout::{OpenFence, is_spoken_of, places};

/// What such a text begins with.
pub(super) const BEGINNINGS: [&str; 6] =
    ["<|channel|>", "<|start|>assistant", "<|message|>", "analysis<|message|>", "commentary<|message|>", "final<|message|>"];
/// Where a message begins behind a text that has no marks before it.
const LATER: [&str; 3] = ["<|start|>assistant<|channel|>", "<|channel|>final", "<|channel|>commentary to="];
/// Marks that end a message.
const ENDS: [&str; 5] = ["<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>"];
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
pub(super) fn read(text: &str) -> Option<Result<Harmony, UnclosedThoughtsError>> {
    if BEGINNINGS.iter().any(|begin| text.starts_with(begin)) || text.starts_with("commentary to=") && text.contains("<|message|>") {
        return Some(of_messages(text));
    }
    // The same with its marks left out.
    let is_bare = text.starts_with("analysis") || text.starts_with("commentary");
    let (_, answer) = text.rsplit_once("assistantfinal").filter(|_| is_bare)?;
    Some(Ok(Harmony { answer: answer.trim().to_owned(), calls: vec![], has_thoughts: true, is_final: true }))
}

/// Reads such a text whose first message has no marks before it: those are thoughts.
pub(super) fn read_later(text: &str) -> Option<Result<Harmony, UnclosedThoughtsError>> {
    let is_later = |at: &usize| LATER.iter().any(|begin| text[*at..].starts_with(begin)) && !is_spoken_of(&text[..*at]);
    let at = { places(text, OpenFence::Text) }.into_iter().find(is_later)?;
    let read = of_messages(&text[at..]).ok().filter(|read| read.is_final || !read.calls.is_empty())?;
    Some(Ok(Harmony { has_thoughts: true, ..read }))
}

fn of_messages(text: &str) -> Result<Harmony, UnclosedThoughtsError> {
    let mut read = Harmony::default();
    let (mut preamble, mut unnamed) = (String::new(), String::new());
    let mut rest = text;
    for _ in 0..MOST_MESSAGES {
        let Some((head, after)) = rest.split_once("<|message|>") else { break };
        let end = ENDS.iter().filter_map(|mark| after.find(mark)).min().unwrap_or(after.len());
        let body = after[..end].trim();
        if head.trim().strip_prefix("<|start|>").is_some_and(|who| OTHERS.iter().any(|other| who.trim_start().starts_with(other))) {
            // The model went on with a turn that is not its own.
            break;
        }
        let head = head.replace("<|start|>", " ").replace("<|channel|>", " ").replace("<|constrain|>", " ");
        let to = head.split_whitespace().find_map(|word| word.strip_prefix("to="));
        match to {
            Some(to) if to != "user" => read.calls.push((to.trim_start_matches("functions.").to_owned(), body.to_owned())),
            _ if head.contains("analysis") => read.has_thoughts |= !body.is_empty(),
            _ if head.contains("commentary") => preamble.push_str(body),
            _ if head.contains("final") => {
                read.answer.push_str(body);
                read.is_final = true;
            }
            _ => unnamed.push_str(body),
        }
        rest = &after[end..];
        rest = ENDS[..3].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest);
    }
    if read.is_final {
        // What has no channel before an answer that has one was thought.
        read.has_thoughts |= !unnamed.is_empty();
        return Ok(read);
    }
    let answer = if unnamed.is_empty() { preamble } else { unnamed };
    let is_cut = answer.is_empty() && read.calls.is_empty() && (read.has_thoughts || rest.contains("analysis"));
    if is_cut { Err(UnclosedThoughtsError) } else { Ok(Harmony { answer, ..read }) }
}
