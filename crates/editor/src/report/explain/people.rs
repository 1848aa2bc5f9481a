//! Explains what concerns people: inputs, the person, outputs, channels.

use serde_json::Value;

use super::{ended, listed, named};
use crate::diagnostic::grouped;
use crate::model::{Channel, Features, Field, FieldKind, Filling, History, Outputs, PersonSource, Pipeline, Shape, Step, StyleGuide};
use crate::report::graph::words::{filling, source};

/// Explains the inputs, one sentence each.
pub(super) fn inputs(pipeline: &Pipeline) -> Vec<String> {
    match &pipeline.inputs {
        Shape::Schema(_) => vec!["What a JSON Schema describes.".into()],
        Shape::Fields(fields) if fields.is_empty() => vec!["Nothing.".into()],
        Shape::Fields(fields) => fields.iter().map(input).collect(),
    }
}

fn input(field: &Field) -> String {
    let said = field.description.as_deref().map(|description| format!(" {}", ended(description))).unwrap_or_default();
    let must = match (&field.default, field.is_required) {
        (Some(default), _) => format!("{} unless it is given", value_text(default)),
        (None, true) => "must be given".into(),
        (None, false) => "may be left out".into(),
    };
    let kind = match field.kind {
        FieldKind::File => "a file, ",
        FieldKind::Folder => "a folder, ",
        FieldKind::List => "a list, ",
        _ => "",
    };
    let choice: Vec<String> = field.one_of.iter().map(value_text).collect();
    let choice = if choice.is_empty() { String::new() } else { format!(" One of {}.", listed(&choice)) };
    let example = field.example.as_ref().map(|example| format!(" For example: {}", ended(&value_text(example)))).unwrap_or_default();
    let personal = if field.is_pii { " It is personal, and masked in every record." } else { "" };
    format!("{} ({kind}{must}).{said}{choice}{example}{personal}", field.name)
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "empty".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Explains who a run is for.
pub(super) fn person(pipeline: &Pipeline) -> Vec<String> {
    let Some(person) = &pipeline.person else { return vec![] };
    let who = format!("The person with the id {}.", filling(&person.id));
    match &person.from {
        PersonSource::Nothing => vec![who, "Nothing else is known of them.".into()],
        PersonSource::Table(table) => {
            vec![who, format!("Name, language and time zone come from the table {}; without a row there, no run starts.", table.value)]
        }
        PersonSource::Fields(fields) => vec![who, format!("Known of them: {}.", named(fields.iter().map(|(name, _)| name)))],
    }
}

/// Explains what runs remember of earlier ones.
pub(super) fn conversation(pipeline: &Pipeline) -> Vec<String> {
    let Some(conversation) = &pipeline.conversation else { return vec![] };
    let steps = pipeline.all_steps();
    let of = |wanted: History| -> Vec<&str> {
        let sees = |step: &Step| step.kind.history().is_some_and(|(history, _)| history == wanted);
        steps.iter().filter(|step| sees(step)).map(|step| step.id.value.as_str()).collect()
    };
    let bound = conversation.max_tokens.map(|most| format!(", and at most {most} tokens of them")).unwrap_or_default();
    let seen = of(History::Conversation);
    let seen = if seen.is_empty() { vec![] } else { vec![format!("Its agents see them at: {}.", seen.join(", "))] };
    let own = of(History::Own);
    let own_seen =
        (!own.is_empty()).then(|| format!("Agents see what they themselves were asked and answered before at: {}.", own.join(", ")));
    let kept = of(History::Kept);
    let kept =
        (!kept.is_empty()).then(|| format!("What agents are asked and answer is kept, and never shown to them, at: {}.", kept.join(", ")));
    let summary = conversation.summary.as_ref();
    let summary =
        summary.map(|agent| format!("Older messages are summed up by the agent {}, and the summary is kept with them.", agent.value));
    let place =
        conversation.store.as_ref().map_or_else(|| "beside the runs of the project".to_owned(), |file| format!("in {}", file.display()));
    [
        format!("One conversation for each {}: a run knows its last {} messages{bound}.", filling(&conversation.id), conversation.keep),
        format!("What the person typed ({}) and what was sent is kept {place}, until it is erased.", source(&conversation.message)),
    ]
    .into_iter()
    .chain(summary)
    .chain(seen)
    .chain(own_seen)
    .chain(kept)
    .collect()
}

/// Explains the outputs of a run.
pub(super) fn gives(pipeline: &Pipeline) -> Vec<String> {
    match &pipeline.outputs {
        Outputs::None => vec![],
        Outputs::Whole(text) => vec![format!("One value: {}.", source(text))],
        Outputs::Named(named) => named
            .iter()
            .map(|(name, value)| match value {
                Filling::Text(text) => format!("{}: {}", name.value, source(text)),
                _ => name.value.clone(),
            })
            .collect(),
    }
}

/// Explains the channels, one sentence each.
pub(super) fn channels(pipeline: &Pipeline) -> Vec<String> {
    let told = |(place, channel): (usize, &std::sync::Arc<Channel>)| {
        let first = if place == 0 && pipeline.channels.len() > 1 { " Used unless another is named." } else { "" };
        format!("{}{first}", limits(channel))
    };
    let mut said: Vec<String> = pipeline.channels.iter().enumerate().map(told).collect();
    if let (Some(style), false) = (&pipeline.style_guide, said.is_empty()) {
        let brand = |style: &StyleGuide| style.brand_name.clone().unwrap_or_else(|| style.name.clone());
        said.push(format!("Everywhere in the style of {}.", brand(style)));
        let own = pipeline.agents.iter().filter_map(|(name, agent)| Some((name, agent.style_guide.as_ref()?)));
        said.extend(own.map(|(name, own)| format!("But agent {name} is asked in the style of {}.", brand(own))));
    }
    said
}

fn limits(channel: &Channel) -> String {
    let unit = channel.length_unit.in_words();
    let length = match (channel.max_length, &channel.split) {
        (None, _) => "of any length".into(),
        (Some(most), None) => format!("at most {} {unit}; the rest is left out", grouped(most)),
        (Some(most), Some(split)) => format!("at most {} messages of {} {unit}", split.most_parts, grouped(most)),
    };
    let form = match channel.markdown {
        features if features == Features::NONE => "plain text".to_string(),
        features if features == Features::FULL => "formatted text".to_string(),
        features => format!("text with {}", listed(&features.words())),
    };
    let emojis = if channel.emojis { "emojis may be shown" } else { "no emojis" };
    format!("{}: {form}, {length}, {emojis}.", channel.name)
}
