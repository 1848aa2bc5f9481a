//! OpenAI's harmony format (gpt-oss), as servers without a parser for it send it: messages in channels, of which one is the answer.

use super::UnclosedThoughtsError;

/// What such a text begins with.
pub(super) const BEGINNINGS: [&str; 6] =
    ["<|channel|>", "<|start|>assistant", "<|message|>", "analysis<|message|>", "commentary<|message|>", "final<|message|>"];
/// Marks that end a message.
const ENDS: [&str; 5] = ["<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>"];

/// Most messages in one text.
const MOST_MESSAGES: usize = 64;

/// The messages by what they are.
#[derive(Debug, Default)]
pub(super) struct Harmony {
    pub(super) answer: String,
    pub(super) calls: Vec<(String, String)>,
    pub(super) has_thoughts: bool,
}

/// Reads such a text; `None`: it is none.
pub(super) fn read(text: &str) -> Option<Result<Harmony, UnclosedThoughtsError>> {
    if BEGINNINGS.iter().any(|begin| text.starts_with(begin)) || text.starts_with("commentary to=") && text.contains("<|message|>") {
        return Some(of_messages(text));
    }
    // The same with its marks left out.
    let is_bare = text.starts_with("analysis") || text.starts_with("commentary");
    let (_, answer) = text.rsplit_once("assistantfinal").filter(|_| is_bare)?;
    Some(Ok(Harmony { answer: answer.trim().to_owned(), calls: vec![], has_thoughts: true }))
}

fn of_messages(text: &str) -> Result<Harmony, UnclosedThoughtsError> {
    let mut read = Harmony::default();
    let mut preamble = String::new();
    let mut rest = text;
    for _ in 0..MOST_MESSAGES {
        let Some((head, after)) = rest.split_once("<|message|>") else { break };
        let end = ENDS.iter().filter_map(|mark| after.find(mark)).min().unwrap_or(after.len());
        let body = after[..end].trim();
        let head = head.replace("<|start|>", " ").replace("<|channel|>", " ").replace("<|constrain|>", " ");
        let to = head.split_whitespace().find_map(|word| word.strip_prefix("to="));
        match to {
            Some(to) if to != "user" => read.calls.push((to.trim_start_matches("functions.").to_owned(), body.to_owned())),
            _ if head.contains("analysis") => read.has_thoughts = true,
            _ if head.contains("commentary") => preamble.push_str(body),
            _ => read.answer.push_str(body),
        }
        rest = &after[end..];
        rest = rest
            .strip_prefix("<|end|>")
            .or_else(|| rest.strip_prefix("<|return|>"))
            .or_else(|| rest.strip_prefix("<|call|>"))
            .unwrap_or(rest);
    }
    match (read.answer.is_empty(), read.calls.is_empty(), preamble.is_empty()) {
        (true, true, true) => Err(UnclosedThoughtsError),
        (true, _, _) => Ok(Harmony { answer: preamble, ..read }),
        (false, _, _) => Ok(read),
    }
}
