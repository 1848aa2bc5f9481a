//! What the `format` step makes of texts: the channels and the style guide that the tests share.

mod bodies;
mod parts;
mod properties;
mod texts;

use crate::model::{
    Body, Channel, Emojis, Features, Formatting, Humor, Languages, LengthUnit, Markup, Phrase, Split, SplitAt, StyleGuide, Tone, Words,
};
use crate::source::Span;

use super::{FormatError, Formatted};

pub(super) fn channel(body: Body, markdown: Features) -> Channel {
    Channel {
        name: "test".into(),
        span: Span::default(),
        description: None,
        max_length: None,
        length_unit: LengthUnit::Characters,
        markdown,
        emojis: true,
        split: None,
        too_long: "The rest was left out.".into(),
        body,
        markup: Markup::default(),
        languages: Languages::default(),
    }
}

pub(super) fn plain() -> Channel {
    channel(Body::Text, Features::NONE)
}

pub(super) fn splitting(mut channel: Channel, most: u64, at: SplitAt, most_parts: u64) -> Channel {
    channel.max_length = Some(most);
    channel.split = Some(Split { at, most_parts, indicator: "({part}/{parts})".into() });
    channel
}

pub(super) fn words(list: &[&str]) -> Features {
    let mut features = Features::NONE;
    for word in list {
        assert!(features.enable(word), "{word}");
    }
    features
}

/// As in a WhatsApp channel file.
pub(super) fn chat() -> Channel {
    let mark = |mark: &str| Some(mark.to_owned());
    Channel {
        markup: Markup { bold: mark("*"), italic: mark("_"), strike: mark("~"), code: mark("`"), bullet: mark("- "), ..Markup::default() },
        ..channel(Body::Markup, words(&["bold", "italic", "strike", "code", "lists"]))
    }
}

/// As in a channel file for Telegram's MarkdownV2.
pub(super) fn telegram() -> Channel {
    let mark = |mark: &str| Some(mark.to_owned());
    let escape = "_*[]()~`>#+-=|{}.!\\".chars().map(|c| (c.to_string(), format!("\\{c}"))).collect();
    Channel {
        markup: Markup {
            bold: mark("*"),
            italic: mark("_"),
            strike: mark("~"),
            code: mark("`"),
            bullet: mark("• "),
            link: mark("[{text}]({url})"),
            heading: mark("*{text}*"),
            table: mark("lines"),
            escape,
            lookalike: vec![],
        },
        ..channel(Body::Markup, Features::FULL)
    }
}

pub(super) fn style() -> StyleGuide {
    StyleGuide {
        name: "acme".into(),
        span: Span::default(),
        version: None,
        brand_name: Some("Acme Time".into()),
        personality: Some("A friendly colleague".into()),
        tone: Tone { default: Some("conversational".into()), ..Tone::default() },
        emojis: Emojis { enabled: true, success: Some("✅".into()), warning: None, error: None, info: None },
        humor: Humor::default(),
        formatting: Formatting { greeting: Phrase::On, sign_off: Phrase::Off, use_user_name: true },
        words: Words { prefer: vec![("time units".into(), "hours".into())], avoid: vec!["utilise".into()], banned: vec!["synergy".into()] },
        languages: Languages::default(),
    }
}

/// What must have room.
pub(super) fn format(text: &str, channel: &Channel, style: Option<&StyleGuide>, person_name: Option<&str>) -> Formatted {
    super::format(text, channel, style, person_name).unwrap()
}

/// The text that is sent; empty where nothing can be.
pub(super) fn text_or_nothing(text: &str, channel: &Channel, style: Option<&StyleGuide>) -> String {
    match super::format(text, channel, style, None) {
        Ok(formatted) => formatted.text,
        Err(FormatError::Nothing { .. }) => String::new(),
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn text(text: &str, channel: &Channel) -> String {
    one(text, channel).text
}

pub(super) fn one(text: &str, channel: &Channel) -> Formatted {
    let formatted = format(text, channel, None, None);
    assert_eq!(formatted.parts.len(), 1);
    formatted
}

pub(super) fn html(source: &str) -> String {
    let formatted = one(source, &channel(Body::Html, Features::FULL));
    formatted.parts[0].content.as_str().unwrap_or_default().to_owned()
}

pub(super) fn contents(formatted: &Formatted) -> Vec<&str> {
    formatted.parts.iter().filter_map(|part| part.content.as_str()).collect()
}
