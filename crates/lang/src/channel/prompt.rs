//! The rules of a channel and of a style guide, in sentences for a model.

use crate::diagnostic::{grouped, listed};
use crate::model::{Channel, Features, StyleGuide};

/// `{{ channel.prompt }}`: length, Markdown and emojis in sentences.
pub fn prompt(channel: &Channel) -> String {
    let mut said = vec![format!("The reply is sent over the channel \"{}\".", channel.name)];
    if let Some(most) = channel.max_length {
        let most = format!("{} {}", grouped(most), channel.length_unit.in_words());
        said.push(match channel.split.as_ref().map(|split| split.most_parts).filter(|parts| *parts > 1) {
            Some(parts) => format!("One message holds {most}; keep to one if you can, and to {parts} at most."),
            None => format!("It holds {most}; a longer reply is cut off."),
        });
    }
    let features = channel.markdown;
    said.push(if features == Features::NONE {
        "Write plain text, without Markdown.".into()
    } else if features == Features::FULL {
        "You may use Markdown.".into()
    } else {
        format!("Of Markdown use only {}.", listed(&features.words(), "and"))
    });
    said.push(if channel.emojis { "Emojis can be shown." } else { "Use no emojis." }.into());
    said.join(" ")
}

/// `{{ style.prompt }}`: who speaks, how, with which words; and that greeting and sign-off are added later.
pub fn style_prompt(style: &StyleGuide) -> String {
    let mut said = vec![];
    if let Some(brand) = &style.brand_name {
        said.push(format!("You speak for {brand}."));
    }
    if let Some(personality) = &style.personality {
        said.push(format!("Your personality: {}", sentence(personality)));
    }
    let tones = [
        ("in general", &style.tone.default),
        ("when something went wrong", &style.tone.error),
        ("when something went well", &style.tone.success),
    ];
    let tones: Vec<String> = tones.iter().filter_map(|(when, tone)| Some(format!("{} {when}", (*tone).as_ref()?))).collect();
    if !tones.is_empty() {
        said.push(format!("Your tone: {}.", tones.join(", ")));
    }
    let emojis = &style.emojis;
    let kinds = [("success", &emojis.success), ("a warning", &emojis.warning), ("an error", &emojis.error), ("information", &emojis.info)];
    let kinds: Vec<String> = kinds.iter().filter_map(|(what, emoji)| Some(format!("{} for {what}", (*emoji).as_ref()?))).collect();
    said.push(match (emojis.enabled, kinds.is_empty()) {
        (false, _) => "Use no emojis.".into(),
        (true, true) => "You may use emojis, sparingly.".into(),
        (true, false) => format!("You may use emojis, sparingly: {}.", kinds.join(", ")),
    });
    let humor = &style.humor;
    said.push(if humor.enabled {
        let how = [humor.style.as_deref(), humor.frequency.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", ");
        if how.is_empty() { "Humour is welcome.".into() } else { format!("Humour is welcome: {how}.") }
    } else {
        "No jokes.".into()
    });
    for (from, to) in &style.words.prefer {
        said.push(format!("Say \"{to}\", not \"{from}\"."));
    }
    if !style.words.avoid.is_empty() {
        said.push(format!("Avoid {}.", listed(&quoted(&style.words.avoid), "and")));
    }
    if !style.words.banned.is_empty() {
        said.push(format!("Never use {}.", listed(&quoted(&style.words.banned), "or")));
    }
    said.push("Do not greet and do not sign off: where that is wanted, it is added later.".into());
    said.join(" ")
}

fn quoted(words: &[String]) -> Vec<String> {
    words.iter().map(|word| format!("\"{word}\"")).collect()
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
