//! Deliberately broken outputs, one mutation at a time, to test whether a gate rejects them.
//!
//! How to add a mutation: a variant of [`OutputMutation`] with its description and a hint, and its arm in `broken`.

use serde_json::Value;
use strum::{EnumMessage, IntoEnumIterator};

use super::negation::negated;
use super::reworded::{Tongue, changed, figures, other_name, other_topic, swapped, tongue, with_figures};
use crate::channel::{Output, count_emojis};
use crate::engine::{PassedGate, Run};
use crate::event::{Event, StepPath};
use crate::model::Channel;

/// Texts that are inserted to break an output.
const SENTENCE: &str = "There is always more to say about this than anybody wants to read in one message. ";
const SPANISH: &str = "Esta semana ha trabajado muchas horas en varios proyectos y todavía le faltan algunas para llegar a su objetivo.";
const ENGLISH: &str = "You have worked many hours on several projects this week, and some are still missing to reach your target.";
/// Maximum length, in bytes, of a text that is made too long; no longer text is made.
const LONGEST: usize = 1 << 20;
const OTHER_LANGUAGE: &str = "the text is in neither English nor Spanish";

/// A way to break an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::EnumIter, strum::EnumMessage)]
pub enum OutputMutation {
    #[strum(message = "a message that is too long", detailed_message = "fits_channel: true")]
    TooLong,
    #[strum(message = "a text of which something is left out", detailed_message = "expression: not value.shortened")]
    CutShort,
    /// Markdown that the channel cannot show.
    #[strum(
        message = "Markdown that the channel cannot show",
        detailed_message = "expression: not value.markdown_removed, or of an unformatted text markdown: none"
    )]
    Markdown,
    #[strum(message = "a banned word", detailed_message = "style_guide: true")]
    BannedWord,
    #[strum(message = "a text without its figures", detailed_message = "an expression that a figure of the data is in text")]
    DroppedFigure,
    #[strum(message = "a changed figure", detailed_message = "numbers_from, with the data of the answer")]
    ChangedFigure,
    /// The person's full name.
    #[strum(message = "the person's full name", detailed_message = "an expression that person.name is not in text")]
    Name,
    #[strum(message = "a mail address", detailed_message = "pii: none")]
    MailAddress,
    #[strum(message = "a link", detailed_message = "links: none, or a list of hosts")]
    Link,
    /// An emoji in a text without emojis.
    #[strum(message = "an emoji where there are none", detailed_message = "fits_channel: true, or emojis: 0")]
    Emoji,
    #[strum(message = "another language", detailed_message = "language, such as language: en")]
    Language,
    /// A text about something else, without figures.
    #[strum(
        message = "a text about something else",
        detailed_message = "contains or regex, with what each answer says, such as the thing that was asked about"
    )]
    OtherTopic,
    /// A text about something else with the figures of the text.
    #[strum(
        message = "a text about something else with the same figures",
        detailed_message = "regex: '^\\D*$' with apart_from, the figures with the words that belong to them"
    )]
    OtherTopicWithFigures,
    #[strum(
        message = "two figures in each other's place",
        detailed_message = "regex: '^\\D*$' with apart_from, the figures with the words that belong to them"
    )]
    SwappedFigures,
    /// A sentence that says the opposite.
    #[strum(
        message = "a sentence that says the opposite",
        detailed_message = "contains or regex, with the sentence of the data, or with the words that a text may have"
    )]
    Negated,
    /// The whole text three times.
    #[strum(message = "the text three times", detailed_message = "an expression that no sentence is in text twice")]
    Repeated,
    /// The name of a person whom the text is not for. [`OutputMutation::Name`] is the person's own name.
    #[strum(
        message = "another person's name",
        detailed_message = "an expression that no names but those of the data are in text, or regex with the words that a text may have"
    )]
    OtherName,
}

impl OutputMutation {
    /// Returns the description for people.
    pub fn words(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }

    /// Returns a hint to a criterion that would reject it.
    pub fn hint(self) -> &'static str {
        self.get_detailed_message().unwrap_or_default()
    }
}

/// The result of one broken output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Noticed {
    /// These criteria are not met.
    By(Vec<String>),
    /// All checks pass; with the text that would have been sent.
    Nobody(String),
    /// The mutation cannot be applied, with the reason.
    NotApplicable(&'static str),
}

/// One mutation of the value that one gate judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    pub gate: String,
    pub way: OutputMutation,
    pub noticed: Noticed,
}

/// Applies every mutation to what each gate passed in a run with these events. `again` is that run before its first event. If a gate runs
/// again in a second try, its last text counts.
pub(super) fn mutants(mut again: Run, events: &[Event]) -> Vec<Mutant> {
    let mut gates: Vec<(StepPath, Vec<Mutant>)> = vec![];
    again.revisit_gates(events, &mut |run, path, gate| {
        let noticed = |way| match gate.as_ref().map_err(|why| *why).and_then(|gate| Ok((gate, broken(run, gate, way)?))) {
            Err(why) => Noticed::NotApplicable(why),
            Ok((gate, output)) => {
                let text = output.text();
                match run.unmet(gate, output) {
                    unmet if unmet.is_empty() => Noticed::Nobody(text),
                    unmet => Noticed::By(unmet),
                }
            }
        };
        let broken = OutputMutation::iter().map(|way| Mutant { gate: path.to_string(), way, noticed: noticed(way) }).collect();
        gates.retain(|(known, _)| known != path);
        gates.push((path.clone(), broken));
    });
    gates.into_iter().flat_map(|(_, mutants)| mutants).collect()
}

/// Returns the value of a gate with one mutation, or why the mutation cannot be applied.
fn broken(run: &Run, gate: &PassedGate, way: OutputMutation) -> Result<Output, &'static str> {
    if !gate.output.value().is_string() && gate.draft.is_none() {
        return Err("the gate judges no text");
    }
    let draft = gate.draft.as_deref().unwrap_or(&gate.text);
    let channel = gate.channel.as_ref();
    let add = |words: &str| format!("{}\n\n{words}\n", draft.trim_end());
    let text = match way {
        OutputMutation::TooLong => {
            let most = most_length(channel)?;
            return Ok(grown(&gate.output, &SENTENCE.repeat(most / SENTENCE.len() + 1)));
        }
        OutputMutation::Emoji => {
            let is_off = channel.is_some_and(|channel| !channel.emojis) || gate.style.as_ref().is_some_and(|style| !style.emojis.enabled);
            return if is_off && count_emojis(&gate.text) == 0 { Ok(grown(&gate.output, " 😀")) } else { Err("emojis are allowed") };
        }
        OutputMutation::CutShort => {
            let parts = channel.and_then(|channel| channel.split.as_ref()).map_or(1, |split| split.most_parts as usize);
            let most = most_length(channel)?.saturating_mul(parts.saturating_add(1));
            if gate.draft.is_none() || most > LONGEST {
                return Err("nothing is left out of this text");
            }
            add(&SENTENCE.repeat(most / SENTENCE.len() + 1))
        }
        OutputMutation::Markdown => add(foreign_markdown(channel)?),
        OutputMutation::BannedWord => {
            let banned = gate.style.as_ref().and_then(|style| style.words.banned.first());
            add(&format!("Call it {}.", banned.ok_or("no word is banned")?))
        }
        OutputMutation::DroppedFigure => {
            let mut text = draft.to_owned();
            let figures = figures(draft);
            figures.iter().rev().for_each(|range| text.replace_range(range.clone(), "some"));
            if figures.is_empty() {
                return Err("the text has no figure");
            }
            text
        }
        OutputMutation::ChangedFigure => changed(draft, &gate.with).ok_or("the text has no figure")?,
        OutputMutation::Name => {
            let name = gate.person.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
            add(&format!("This is about {}.", name.ok_or("the person has no name")?))
        }
        OutputMutation::MailAddress => {
            let own = gate.person.get("email").and_then(Value::as_str).filter(|address| address.contains('@'));
            add(&format!("Write to {}.", own.unwrap_or("jo.doe@example.org")))
        }
        OutputMutation::Link => add("See https://example.com/login for more."),
        OutputMutation::Language => {
            let figures: Vec<&str> = figures(draft).into_iter().filter_map(|range| draft.get(range)).collect();
            format!("{} {}", if tongue(draft) == Tongue::Spanish { ENGLISH } else { SPANISH }, figures.join(" "))
        }
        OutputMutation::OtherTopic => other_topic(draft).ok_or(OTHER_LANGUAGE)?.to_owned(),
        OutputMutation::OtherTopicWithFigures => {
            with_figures(other_topic(draft).ok_or(OTHER_LANGUAGE)?, draft).ok_or("the text has no figure")?
        }
        OutputMutation::SwappedFigures => swapped(draft).ok_or("the text has no two figures to exchange")?,
        OutputMutation::Negated => negated(draft).ok_or("the text has no English statement with a word such as is or have")?,
        OutputMutation::Repeated if draft.trim().is_empty() => return Err("the text is empty"),
        OutputMutation::Repeated => [draft.trim(); 3].join("\n\n"),
        OutputMutation::OtherName => {
            let person = gate.person.get("name").and_then(Value::as_str).unwrap_or_default();
            other_name(draft, person, &gate.with).ok_or("the text or its data have each name that could be put in")?
        }
    };
    if gate.draft.is_none() {
        return Ok(Output::Plain(Value::String(text)));
    }
    let output = run.formatted_again(gate, &text).ok_or("it cannot be formatted")?;
    if output == gate.output { Err("formatting takes it out") } else { Ok(output) }
}

fn most_length(channel: Option<&Channel>) -> Result<usize, &'static str> {
    let most = channel.and_then(|channel| channel.max_length).ok_or("the channel has no longest message")?;
    usize::try_from(most).ok().filter(|most| *most < LONGEST).ok_or("the channel has no longest message")
}

/// Returns Markdown that a channel does not support.
fn foreign_markdown(channel: Option<&Channel>) -> Result<&'static str, &'static str> {
    let known = channel.map(|channel| channel.markdown.words()).ok_or("there is no channel")?;
    let samples = [
        ("bold", "This is **much** more."),
        ("headers", "## Much more"),
        ("code", "This is `much` more."),
        ("strike", "This is ~~much~~ more."),
        ("tables", "| Much | More |\n|---|---|\n| so | on |"),
    ];
    let foreign = samples.into_iter().find(|(feature, _)| !known.contains(feature));
    foreign.map(|(_, sample)| sample).ok_or("the channel shows all Markdown")
}

/// Returns an output with text added, also to its first part and the content that is sent for it.
fn grown(output: &Output, more: &str) -> Output {
    match output {
        Output::Plain(Value::String(text)) => Output::Plain(Value::String(text.clone() + more)),
        Output::Plain(other) => Output::Plain(other.clone()),
        Output::Formatted(value, _) => {
            let mut value = value.clone();
            for place in ["/text", "/plain", "/parts/0/text", "/parts/0/plain"] {
                if let Some(Value::String(text)) = value.pointer_mut(place) {
                    text.push_str(more);
                }
            }
            if let Some(content) = value.pointer_mut("/parts/0/content") {
                grow_last(content, more);
            }
            Output::formatted(value)
        }
    }
}

/// Appends to the last text of the content that is sent.
fn grow_last(content: &mut Value, more: &str) -> bool {
    match content {
        Value::String(text) => {
            text.push_str(more);
            true
        }
        Value::Array(list) => list.iter_mut().rev().any(|inner| grow_last(inner, more)),
        Value::Object(map) => match map.get_mut("text") {
            Some(Value::String(text)) => {
                text.push_str(more);
                true
            }
            _ => map.values_mut().rev().filter(|inner| inner.is_array() || inner.is_object()).any(|inner| grow_last(inner, more)),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_way_has_words_and_a_hint() {
        assert!(OutputMutation::iter().all(|way| !way.words().is_empty() && !way.hint().is_empty()));
    }

    #[test]
    fn what_is_sent_grows_with_the_text() {
        let body = json!([{ "type": "TextBlock", "text": "Hi", "size": "x" }]);
        let part = json!({ "number": 1, "text": "Hi", "indicator": "", "content": { "type": "AdaptiveCard", "body": body } });
        let card = json!({
            "channel": "teams", "text": "Hi", "parts": [part], "is_split": false, "shortened": false, "emojis_used": [], "markdown_removed": false
        });
        let Output::Formatted(grown, made) = grown(&Output::formatted(card), "!!") else { panic!("it was made by a format step") };
        assert_eq!((made.text.as_str(), &grown["parts"][0]["text"]), ("Hi!!", &json!("Hi!!")));
        assert_eq!(grown["parts"][0]["content"]["body"][0], json!({ "type": "TextBlock", "text": "Hi!!", "size": "x" }));
        assert_eq!(super::grown(&Output::Plain(json!("a")), "b"), Output::Plain(json!("ab")));
    }
}
