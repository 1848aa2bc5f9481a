//! Document → what is sent, one file per kind of body.
//!
//! How to add a body: its variant of `model::Body`, a file here with `render`, and what the compiler then asks for: its facts beside `Body`, its arm in each
//! `match` below and in `rules/channels/channel_conflict.rs` (what a channel file may not ask of it). Its word in `docs/language.md`, section 10; a new ending
//! of golden files in `docs/testing.md`; if it is an object, that it is measured as JSON in `docs/codes/F420.md`. A test with its text in
//! `channel/tests/bodies.rs`; the properties take it up. The message that lists all bodies is an inline snapshot (`lower/tests/mistakes.rs`), which
//! takes the new word by hand.

mod card;
mod html;
mod inline;
mod lines;
mod markdown;

use serde_json::Value;

use super::document::DocumentBlock;
use super::lookalike::with_lookalikes;
use crate::model::{Body, Channel, Features};

/// What is sent, and how it reads.
pub(super) struct Rendered {
    /// Text for people: what is sent, or its plain text where that is HTML or a card.
    pub text: String,
    /// What is sent: a text, or the object of a card.
    pub content: Value,
}

/// The features that survive in the channel: those it allows and its body can write.
pub(super) fn features(channel: &Channel) -> Features {
    let (allowed, markup) = (channel.markdown, &channel.markup);
    match channel.body {
        Body::Text => Features::NONE,
        Body::Markdown | Body::Html => allowed,
        Body::AdaptiveCard => Features { strike: false, code: false, ..allowed },
        Body::Markup => Features {
            bold: allowed.bold && markup.bold.is_some(),
            italic: allowed.italic && markup.italic.is_some(),
            strike: allowed.strike && markup.strike.is_some(),
            code: allowed.code && markup.code.is_some(),
            lists: allowed.lists && markup.bullet.is_some(),
            // One that leaves out the text or the address is none.
            links: allowed.links && markup.link.as_ref().is_some_and(|link| link.contains("{text}") && link.contains("{url}")),
            headers: allowed.headers && markup.heading.is_some(),
            // A channel's markup writes tables as lines, which is their plain text too.
            tables: false,
        },
    }
}

/// Writes a document that has only the channel's features.
pub(super) fn render(blocks: &[DocumentBlock], channel: &Channel) -> Rendered {
    match channel.body {
        Body::Text => same(lines::render(blocks, &lines::Plain)),
        Body::Markup => {
            let blocks = with_lookalikes(blocks, &channel.markup);
            same(lines::render(&blocks, &lines::Marked::new(&channel.markup)))
        }
        Body::Markdown => same(markdown::render(blocks)),
        Body::Html => Rendered { text: read(blocks), content: Value::String(html::render(blocks)) },
        Body::AdaptiveCard => Rendered { text: read(blocks), content: card::render(blocks) },
    }
}

/// A document as a person reads it: without marks and escapes, whatever the body.
pub(super) fn read(blocks: &[DocumentBlock]) -> String {
    let mut blocks = blocks.to_vec();
    super::degrade::degrade(&mut blocks, Features::NONE);
    lines::render(&blocks, &lines::Plain)
}

/// What is sent, as it is measured: a card as its JSON.
pub(super) fn as_sent(content: &Value) -> std::borrow::Cow<'_, str> {
    match content {
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    }
}

fn same(text: String) -> Rendered {
    Rendered { content: Value::String(text.clone()), text }
}
