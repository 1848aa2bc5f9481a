//! Channel files.

use super::context::{Lower, quoted};
use super::keys;
use super::reader::Reader;
use super::world::World;
use crate::diagnostic::{Diagnostic, nearest};
use crate::model::{Body, Channel, Features, LengthUnit, Markup, Split, SplitAt};
use crate::source::FileId;
use crate::syntax::Node;

/// Reads a channel file; `None` if it has no name by which it could be called.
pub fn channel(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Option<Channel> {
    let lower = Lower::new(file, world, diagnostics);
    let keys = lower.root(tree, &keys::CHANNEL, "this channel")?;
    let name = keys.get("channel").and_then(|node| lower.new_id("channel", node));
    let body = match keys.word("body") {
        Some("markup") => Body::Markup,
        Some("markdown") => Body::Markdown,
        Some("html") => Body::Html,
        Some("adaptive_card") => Body::AdaptiveCard,
        _ => Body::Text,
    };
    let length_unit = match keys.word("length_unit") {
        Some("utf16") => LengthUnit::Utf16,
        Some("bytes") => LengthUnit::Bytes,
        Some("sms_segments") => LengthUnit::SmsSegments,
        _ => LengthUnit::Characters,
    };
    let channel = Channel {
        name: String::new(),
        span: keys.span,
        description: keys.sentence("description"),
        max_length: keys.limit("max_length"),
        length_unit,
        markdown: keys.get("markdown").and_then(|node| lower.features("markdown", node)).unwrap_or(Features::NONE),
        emojis: keys.boolean("emojis").unwrap_or(true),
        split: split(&keys),
        too_long: keys.sentence("too_long").unwrap_or_else(|| "The rest was left out.".to_owned()),
        body,
        markup: markup(&keys),
    };
    name.map(|name| Channel { name: name.value, span: name.span, ..channel })
}

fn split(keys: &Reader) -> Option<Split> {
    let split = keys.section("split", &keys::SPLIT)?;
    let at = match split.word("at") {
        Some("paragraph") => SplitAt::Paragraph,
        Some("word") => SplitAt::Word,
        _ => SplitAt::Sentence,
    };
    let indicator = slots(&split, "indicator", &["part", "parts"]);
    Some(Split {
        at,
        most_parts: split.limit("most_parts").unwrap_or(10),
        indicator: indicator.unwrap_or_else(|| "({part}/{parts})".to_owned()),
    })
}

fn markup(keys: &Reader) -> Markup {
    let Some(markup) = keys.section("markup", &keys::MARKUP) else { return Markup::default() };
    let mark = |key| slots(&markup, key, &["text"]);
    Markup {
        bold: mark("bold"),
        italic: mark("italic"),
        strike: mark("strike"),
        code: mark("code"),
        bullet: slots(&markup, "bullet", &[]),
        link: slots(&markup, "link", &["text", "url"]),
        heading: mark("heading"),
        table: markup.word("table").map(str::to_owned),
        escape: escapes(&markup),
    }
}

fn escapes(markup: &Reader) -> Vec<(String, String)> {
    let read = markup.entries("escape").filter_map(|(key, node)| {
        if key.text.chars().count() != 1 {
            let message = format!("escape {} is not one character", quoted(&key.text));
            markup.lower.report(Diagnostic::bad_value(key.span, message).help("write one character, and what is sent for it"));
            return None;
        }
        Some((key.text.clone(), markup.lower.sentence(&key.text, node)?))
    });
    read.collect()
}

/// A text with fixed places in single braces; any other name in braces is a finding.
fn slots(keys: &Reader, key: &str, allowed: &[&str]) -> Option<String> {
    let text = keys.sentence(key)?;
    let span = keys.get(key).map_or(keys.span, |node| node.span);
    let names = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    for name in names.filter(|name| !allowed.contains(name) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) {
        let near = nearest(name, allowed.iter().copied());
        let known: Vec<String> = allowed.iter().map(|name| format!("{{{name}}}")).collect();
        let message = match known.as_slice() {
            [] => format!("{key} has no place for {{{name}}}"),
            _ => format!("{key} has no place for {{{name}}}, only for {}", known.join(" and ")),
        };
        let diagnostic = Diagnostic::bad_value(span, message);
        keys.lower.report(match near.first() {
            Some(near) => diagnostic.help(format!("write {{{near}}}")),
            None => diagnostic.help("remove it"),
        });
    }
    Some(text)
}
