//! What was said in a run, for the conversation that it is part of.

use serde_json::json;

use super::{PersonalMask, RunMask};
use crate::event::{Event, Happening, RunStart, RunStatus, StepPath};
use crate::model::{MessageRole, PastMessage};

/// A message of a conversation, with what others may read of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SpokenMessage {
    /// As it was said.
    pub said: PastMessage,
    /// Its text, masked as the record of its run is.
    pub masked: String,
    /// The run failed, and nothing was sent.
    pub is_unanswered: bool,
}

/// What was said in a run that has ended: the message of the person, and what was sent; where nothing was, the first output. Empty: it is part of no
/// conversation, or has not ended.
pub fn spoken(events: &[Event]) -> Vec<SpokenMessage> {
    let Some(Happening::RunStarted(start)) = events.first().map(|event| &event.happening) else { return vec![] };
    let end = events
        .iter()
        .rev()
        .find_map(|event| if let Happening::RunFinished(end) = &event.happening { Some((end, event.time)) } else { None });
    let (Some(own), Some((end, ended))) = (&start.conversation, end) else { return vec![] };
    let mut mask = PersonalMask::default();
    mask.take(events);
    let mask = mask.of(events);
    let is_marked = |text: &str| start.marks.inputs.iter().any(|name| start.inputs.get(name).is_some_and(|value| *value == text));
    let mut spoken = vec![masked(own.message.clone(), is_marked(&own.message.text), &mask)];
    let mut answers = answers(start, events);
    if answers.is_empty() {
        let (name, output) = match end.outputs.as_object() {
            Some(outputs) if start.names_outputs => outputs.iter().next().map_or(("", None), |(name, value)| (name.as_str(), Some(value))),
            _ => ("", Some(&*end.outputs)),
        };
        let shown = output.filter(|output| !output.is_null()).map(|output| match output.as_str() {
            Some(text) => PastMessage { text: text.to_owned(), ..answer(start) },
            None => PastMessage { text: output.to_string(), content: Some(json!({ "output": output })), ..answer(start) },
        });
        let is_marked = start.marks.whole_output || start.marks.outputs.iter().any(|marked| marked == name);
        let shown = shown.filter(|message| !message.text.trim().is_empty());
        spoken.extend(shown.map(|message| masked(PastMessage { time: Some(ended), ..message }, is_marked, &mask)));
    }
    let is_unanswered = answers.is_empty() && !matches!(end.status, RunStatus::Succeeded | RunStatus::Partial);
    spoken.extend(answers.drain(..).map(|message| masked(message, false, &mask)));
    spoken.iter_mut().for_each(|message| message.is_unanswered = is_unanswered);
    spoken
}

fn masked(said: PastMessage, is_marked: bool, mask: &RunMask<'_>) -> SpokenMessage {
    let redactor = mask.redactor();
    let masked = if is_marked { redactor.redact_whole(&said.text) } else { redactor.redact(&said.text) };
    SpokenMessage { said, masked, is_unanswered: false }
}

fn answer(start: &RunStart) -> PastMessage {
    let person = start.person.get("id").and_then(|id| id.as_str()).map(str::to_owned);
    PastMessage { role: MessageRole::Assistant, channel: start.channel.clone(), person, ..PastMessage::default() }
}

/// What was sent, a message for each step that sent.
fn answers(start: &RunStart, events: &[Event]) -> Vec<PastMessage> {
    let mut found: Vec<(StepPath, Vec<&str>, PastMessage)> = vec![];
    for event in events {
        let Happening::OutputWritten { step, text: Some(text), part, .. } = &event.happening else { continue };
        let place = found.iter().position(|(of, parts, _)| of == step && (parts.len() as u64) < *part);
        let (_, parts, message) = match place {
            Some(place) => &mut found[place],
            None => found.push_mut((step.clone(), vec![], answer(start))),
        };
        parts.push(text);
        message.time = Some(event.time);
    }
    let whole = |(_, parts, message): (StepPath, Vec<&str>, PastMessage)| {
        let content = (parts.len() > 1).then(|| json!({ "parts": parts }));
        PastMessage { text: parts.join("\n\n"), content, ..message }
    };
    found.into_iter().map(whole).filter(|message| !message.text.trim().is_empty()).collect()
}
