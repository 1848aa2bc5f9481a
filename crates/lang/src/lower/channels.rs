//! Channel files.

use super::checks::features;
use super::context::{Lower, quoted};
use super::keys::{self, KeyTable};
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::values::value_of;
use super::world::World;
use crate::diagnostic::{Diagnostic, nearest};
use crate::gate::letters_of;
use crate::model::{Body, Channel, Features, INDICATOR, Languages, LengthUnit, MOST_PARTS, Markup, Split, TOO_LONG};
use crate::source::FileId;
use crate::syntax::Node;
use crate::template::holds_a_name;

/// Reads a channel file; `None` if it has no name by which it could be called.
pub fn channel(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Option<Channel> {
    let lower = Lower::new(file, world, diagnostics);
    let keys = lower.root(tree, &keys::CHANNEL, "this channel")?;
    let name = keys.get("channel").and_then(|node| lower.new_id("channel", node));
    let body = keys.choice("body").unwrap_or_default();
    let length_unit = keys.choice("length_unit").unwrap_or_default();
    let most = keys.get("max_length").and_then(|node| node.as_scalar()?.value.as_u64());
    let is_in_characters = |most: &u64| *most > 0 && CHARACTERS_OF_SEGMENT.iter().any(|characters| most.is_multiple_of(*characters));
    if let Some(most) = most.filter(|most| length_unit == LengthUnit::SmsSegments && is_in_characters(most)) {
        let message = format!("max_length: {most} with length_unit: sms_segments is {most} messages, of up to 160 characters each");
        let help = "write the number of messages, such as max_length: 1; or length_unit: characters";
        keys.lower.report(Diagnostic::bad_value(keys.value_span("max_length"), message).help(help));
    }
    let channel = Channel {
        name: name.as_ref().map(|name| name.value.clone()).unwrap_or_default(),
        span: name.as_ref().map_or(keys.span, |name| name.span),
        description: keys.sentence("description"),
        max_length: keys.limit("max_length"),
        length_unit,
        markdown: keys.read("markdown", features).unwrap_or(Features::NONE),
        emojis: keys.boolean("emojis").unwrap_or(true),
        split: split(&keys),
        too_long: too_long(&keys).unwrap_or_else(|| TOO_LONG.to_owned()),
        body,
        markup: markup(&keys),
        languages: Languages::default(),
    };
    without_effect(&keys, &channel);
    let languages = languages(&keys, &keys::CHANNEL_IN_LANGUAGE, |keys| in_language(keys, &channel));
    name.map(|_| Channel { languages, ..channel })
}

/// A channel with the words of one language.
fn in_language(keys: &KeyReader, channel: &Channel) -> Channel {
    let mut channel = channel.clone();
    for (key, is_used) in [("too_long", channel.max_length.is_some()), ("indicator", channel.split.is_some())] {
        if keys.get(key).is_some() && !is_used {
            let needed = if key == "indicator" { "split" } else { "max_length" };
            let message = format!("{key} has no effect: the channel has no {needed}, so each text is one part");
            let help = format!("add {needed}: to the channel, or remove {key}");
            keys.lower.report(Diagnostic::no_effect(keys.key_span(key), message).help(help));
        }
    }
    if let Some(text) = too_long(keys) {
        channel.too_long = text;
    }
    if let (Some(split), Some(text)) = (&mut channel.split, indicator(keys)) {
        split.indicator = text;
    }
    channel
}

/// What is said otherwise to people of some languages.
pub(super) fn languages<T>(keys: &KeyReader, table: &'static KeyTable, read: impl Fn(&KeyReader) -> T) -> Languages<T> {
    let said = keys.entries("languages").filter_map(|(code, node)| {
        let is_code = code.text.split('-').all(|part| part.chars().all(|c| c.is_ascii_alphanumeric()) && (2..=8).contains(&part.len()))
            && code.text.split('-').next().is_some_and(|language| language.len() <= 3);
        if !is_code {
            let message = format!("{} is no code of a language", quoted(&code.text));
            let help = letters_of(&code.text).map_or("write for example en, de or pt-BR".to_owned(), |letters| format!("write {letters}"));
            return keys.lower.reject(code.span, message, help);
        }
        let owner = KeyOwner::Named("what is said in", code.text.clone());
        Some((code.text.clone(), read(&KeyReader::of(keys.lower, value_of("languages"), owner, &[table], node)?)))
    });
    Languages(said.collect())
}

fn too_long(keys: &KeyReader) -> Option<String> {
    let text = keys.sentence("too_long")?;
    as_it_stands(keys, "too_long", &text, "write words without braces");
    if MODES.contains(&text.trim()) {
        let message = format!("too_long is the sentence that ends a text cut short, so people would read {}", quoted(&text));
        let help = "write a sentence for people, such as: The rest was left out.";
        keys.lower.report(Diagnostic::bad_value(keys.value_span("too_long"), message).help(help));
    }
    Some(text)
}

/// F423: keys that change nothing on this channel, and a body that shows no mark since nothing says which.
fn without_effect(keys: &KeyReader, channel: &Channel) {
    let lengths: Vec<&str> = ["split", "too_long"].into_iter().filter(|key| keys.get(key).is_some()).collect();
    if let (None, Some(first)) = (keys.get("max_length"), lengths.first()) {
        let have = if lengths.len() == 1 { "has" } else { "have" };
        let message = format!("{} {have} no effect: the channel has no max_length, so each text is one part", lengths.join(" and "));
        let help = format!("add max_length: and the greatest length of a part, or remove {}", lengths.join(" and "));
        keys.lower.report(Diagnostic::no_effect(keys.key_span(first), message).help(help));
    }
    let of_marks = match channel.markup.features().words().as_slice() {
        [] => "full".to_owned(),
        words => format!("[{}]", words.join(", ")),
    };
    let body_is_lost =
        keys.get("body").is_some_and(|node| node.as_scalar().and_then(|word| word.value.as_str()) != Some(channel.body.into()));
    if body_is_lost {
        return;
    }
    if keys.get("markup").is_some() && !channel.body.has_own_marks() {
        let body: &str = channel.body.into();
        let message = format!("markup has no effect: it says how body: markup writes marks, and the body of this channel is {body}");
        let help = match channel.markdown == Features::NONE {
            true => format!("write body: markup and markdown: {of_marks}, or remove markup"),
            false => "write body: markup, or remove markup".to_owned(),
        };
        keys.lower.report(Diagnostic::no_effect(keys.key_span("markup"), message).help(help));
    } else if keys.get("markdown").is_none()
        && channel.body != Body::Text
        && (!channel.body.has_own_marks() || keys.get("markup").is_some())
    {
        let body: &str = channel.body.into();
        let message = format!("body: {body} shows no marks: without markdown, bold, lists, links and all others become plain text");
        let features = if channel.body.has_own_marks() { of_marks } else { "full".to_owned() };
        let help = format!("add markdown: {features} to keep them, or markdown: none to say that they are to go");
        keys.lower.report(Diagnostic::no_effect(keys.value_span("body"), message).help(help));
    }
}

/// Ways to shorten a text, in other systems.
const MODES: [&str; 14] =
    ["truncate", "cut", "clip", "ellipsis", "shorten", "trim", "split", "drop", "error", "fail", "reject", "omit", "ignore", "wrap"];

/// Characters of a segment of an SMS, alone and among several: a limit of so many, or of a multiple, was meant in characters.
const CHARACTERS_OF_SEGMENT: [u64; 4] = [160, 153, 70, 67];

fn split(keys: &KeyReader) -> Option<Split> {
    let split = keys.section("split", &keys::SPLIT)?;
    let at = split.choice("at").unwrap_or_default();
    Some(Split {
        at,
        most_parts: split.limit("most_parts").unwrap_or(MOST_PARTS),
        indicator: indicator(&split).unwrap_or_else(|| INDICATOR.to_owned()),
    })
}

fn indicator(keys: &KeyReader) -> Option<String> {
    let indicator = slots(keys, "indicator", &["part", "parts"])?;
    if indicator.contains(|c: char| c.is_ascii_digit()) && !indicator.contains("{part}") {
        let message = format!("indicator {} has no place for {{part}}: every part would say the same", quoted(&indicator));
        keys.lower.report(Diagnostic::bad_value(keys.value_span("indicator"), message).help(format!("write \"{INDICATOR}\"")));
    }
    Some(indicator)
}

fn markup(keys: &KeyReader) -> Markup {
    let Some(markup) = keys.section("markup", &keys::MARKUP) else { return Markup::default() };
    let mark = |key| slots(&markup, key, &["text"]).inspect(|mark| one_tag(&markup, key, mark));
    Markup {
        bold: mark("bold"),
        italic: mark("italic"),
        strike: mark("strike"),
        code: mark("code"),
        bullet: slots(&markup, "bullet", &[]),
        link: slots(&markup, "link", &["text", "url"]),
        heading: mark("heading"),
        table: markup.word("table").map(str::to_owned),
        escape: characters(&markup, "escape"),
        lookalike: characters(&markup, "lookalike"),
    }
}

/// A mark is put on both sides of the text, so an opening tag alone would be there twice.
fn one_tag(markup: &KeyReader, key: &str, mark: &str) {
    let name = mark.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or_default();
    let element = name.split_whitespace().next().unwrap_or_default();
    if !element.is_empty() && element.chars().all(|c| c.is_ascii_alphanumeric()) {
        let message = format!("{key} {} is put on both sides of the text, so the tag is never closed", quoted(mark));
        let help = format!("write \"<{name}>{{text}}</{element}>\"");
        markup.lower.report(Diagnostic::bad_value(markup.value_span(key), message).help(help));
    }
}

/// Characters, and what is sent for each.
fn characters(markup: &KeyReader, name: &str) -> Vec<(String, String)> {
    let read = markup.entries(name).filter_map(|(key, node)| {
        if key.text.chars().count() != 1 {
            let message = format!("{name} {} is not one character", quoted(&key.text));
            return markup.lower.reject(key.span, message, "write one character, and what is sent for it");
        }
        Some((key.text.clone(), markup.lower.sentence(&key.text, node)?))
    });
    read.collect()
}

/// A text that is sent as it stands: what looks like a place for a value is a finding.
pub(super) fn as_it_stands(keys: &KeyReader, key: &str, text: &str, help: &str) {
    let has_place = |(_, rest): (usize, &str)| {
        let inside = rest.trim_start_matches('{').split('}').next().unwrap_or_default().trim();
        let is_closed = rest.contains('}');
        is_closed && !inside.is_empty() && inside.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ' '))
    };
    if text.match_indices('{').any(|(at, _)| has_place((at, &text[at..]))) || merge_tag(text) || holds_a_name(text) {
        let message = format!("{key} is sent as it is written: nothing is filled in for {}", quoted(text));
        keys.lower.report(Diagnostic::bad_value(keys.value_span(key), message).help(help));
    }
}

/// Whether a text has a place for a name as newsletter tools write it: `*|FNAME|*`, `[FNAME]`, `%FNAME%`, `<<name>>`.
fn merge_tag(text: &str) -> bool {
    let between = |start: &str, end: &str, is_loud: bool| {
        text.match_indices(start).any(|(at, _)| {
            let Some((inside, _)) = text[at + start.len()..].split_once(end) else { return false };
            let is_name = |c: char| c == '_' || if is_loud { c.is_ascii_uppercase() } else { c.is_ascii_alphabetic() };
            inside.chars().count() > 1 && inside.chars().all(is_name)
        })
    };
    between("*|", "|*", false) || between("<<", ">>", false) || between("[", "]", true) || between("%", "%", false)
}

/// A text with fixed places in single braces; any other name in braces is a finding.
fn slots(keys: &KeyReader, key: &str, allowed: &[&str]) -> Option<String> {
    let text = keys.sentence(key)?;
    let names = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    for name in names.filter(|name| !allowed.contains(name) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) {
        let near = nearest(name, allowed.iter().copied());
        let known: Vec<String> = allowed.iter().map(|name| format!("{{{name}}}")).collect();
        let message = match known.as_slice() {
            [] => format!("{key} has no place for {{{name}}}"),
            _ => format!("{key} has no place for {{{name}}}, only for {}", known.join(" and ")),
        };
        let open: Vec<&&str> = allowed.iter().filter(|name| !text.contains(&format!("{{{name}}}"))).collect();
        let near = near.first().or(match open.as_slice() {
            [only] => Some(*only),
            _ => None,
        });
        let help = near.map_or_else(|| "remove it".to_owned(), |near| format!("write {{{near}}}"));
        keys.lower.report(Diagnostic::bad_value(keys.value_span(key), message).help(help));
    }
    Some(text)
}
