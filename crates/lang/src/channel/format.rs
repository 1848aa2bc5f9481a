//! The `format` step: one text, made fit for one channel.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::body::{as_sent, features, read, render};
use super::clean::{clean, shows};
use super::degrade::degrade;
use super::degrade::{is_same_address, plain_address};
use super::document::{DocumentBlock, StyledRun, drop_empty, each_text, plain, replace};
use super::emoji::{count_emojis, emojis_of, is_emoji, without_emojis};
use super::greeting;
use super::measure::measure;
use super::output::{FormatError, Formatted, MessagePart};
use super::parse::parse;
use super::split::{add_end, split};
use super::words::Preferred;
use crate::model::{Channel, StyleGuide};

/// Makes a text fit for a channel, without a model: preferred words, emojis, greeting and sign-off, Markdown, parts, in this order
/// (language, section 10). The text is data: whatever it holds, the result keeps to the channel's limits and has no remote image,
/// no script and no hidden character. What is never done: a grapheme, an emoji or a link that is cut in two; one that fits into no
/// part is an error.
///
/// # Errors
/// What is sent would show nothing, or would lack something without saying so.
pub fn format(text: &str, channel: &Channel, style: Option<&StyleGuide>, person_name: Option<&str>) -> Result<Formatted, FormatError> {
    format_without(text, channel, style, person_name, &|_| vec![])
}

/// The same with `***` in place of what `hidden` finds, before the text is cut into parts: what markup kept apart stands together then.
///
/// # Errors
/// As those of [`format()`].
pub fn format_without(
    text: &str,
    channel: &Channel,
    style: Option<&StyleGuide>,
    person_name: Option<&str>,
    hidden_in: &dyn Fn(&str) -> Vec<Range<usize>>,
) -> Result<Formatted, FormatError> {
    let (text, hidden) = clean(text);
    let (mut blocks, hidden_inside) = parse(&text);
    if let Some(preferred) = style.and_then(|style| Preferred::new(&style.words.prefer)) {
        preferred.apply(&mut blocks);
    }
    let with_emojis = channel.emojis && style.is_none_or(|style| style.emojis.enabled);
    let is_seen = |text: &str| match with_emojis {
        true => shows(text),
        false => shows(&without_them(text)),
    };
    if !blocks.iter().any(|block| block.shows(is_seen)) {
        return Err(FormatError::Nothing { channel: channel.name.clone() });
    }
    if let Some(style) = style {
        greeting::add(&mut blocks, style, person_name);
    }
    if !with_emojis {
        each_text(&mut blocks, true, |runs: &mut Vec<StyledRun>| {
            encode_addresses(runs);
            let changes = without_emojis(&plain(runs));
            replace(runs, &changes);
        });
        drop_empty(&mut blocks);
    }
    let markdown_removed = degrade(&mut blocks, features(channel));
    each_text(&mut blocks, true, |runs: &mut Vec<StyledRun>| {
        let changes: Vec<_> = hidden_in(&plain(runs)).into_iter().map(|range| (range, "***".to_owned())).collect();
        replace(runs, &changes);
    });
    let parts = split(blocks, channel)?;
    let (text, plain) = (render(&parts.sent, channel).text, read(&parts.sent));
    let unlinked = Some(without_addresses(parts.sent.clone())).filter(|unlinked| *unlinked != plain).unwrap_or_default();
    let parts_made: Vec<MessagePart> = parts
        .parts
        .into_iter()
        .zip(1..)
        .map(|((mut blocks, indicator), number)| {
            if !indicator.is_empty() {
                add_end(&mut blocks, vec![StyledRun::plain(indicator.as_str())]);
            }
            let rendered = render(&blocks, channel);
            MessagePart { number, text: rendered.text, plain: read(&blocks), indicator, content: rendered.content }
        })
        .collect();
    let formatted = Formatted {
        channel: channel.name.clone(),
        emojis_used: emojis_of(&text),
        text,
        plain,
        unlinked,
        is_split: parts_made.len() > 1,
        parts: parts_made,
        shortened: parts.shortened,
        markdown_removed,
        hidden_removed: hidden + hidden_inside,
    };
    let is_empty = |part: &MessagePart| !shows(part.text.strip_suffix(&part.indicator).unwrap_or(&part.text));
    if let Some(part) = formatted.parts.iter().find(|part| is_empty(part)) {
        return Err(FormatError::NoRoom(format!("part {} of the text for channel \"{}\" would be empty", part.number, channel.name)));
    }
    fits(&formatted, channel).map_err(|misfit| FormatError::NoRoom(misfit.to_string()))?;
    Ok(formatted)
}

/// A text without its emojis.
fn without_them(text: &str) -> String {
    let mut text = text.to_owned();
    for (range, sign) in without_emojis(&text).into_iter().rev() {
        text.replace_range(range, &sign);
    }
    text
}

/// Emojis in addresses as URLs have them (RFC 3986): the address leads to the same place. A link that would lose its text shows its address.
fn encode_addresses(runs: &mut [StyledRun]) {
    let encoded = |text: &str| {
        let coded = |grapheme: &str| grapheme.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        text.graphemes(true).map(|one| if is_emoji(one) && !one.is_ascii() { coded(one) } else { one.to_owned() }).collect::<String>()
    };
    for run in runs.iter_mut().filter(|run| run.whole) {
        if run.link.as_deref().is_none_or(|link| is_same_address(&run.text, link)) {
            run.text = encoded(&run.text);
        }
        run.link = run.link.as_deref().map(|link| encoded(link).into());
        if let Some(link) = run.link.as_deref().filter(|_| !shows(&without_them(&run.text))) {
            run.text = plain_address(link).to_owned();
        }
    }
}

/// A text in Markdown as it reads where marks and the addresses of links are not shown; `None`: as it is written.
pub(crate) fn read_without_marks(text: &str) -> Option<String> {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" \n.,:;?!()'\"%/".contains(&byte)) {
        return None;
    }
    Some(without_addresses(parse(&clean(text).0).0)).filter(|read| read != text)
}

fn without_addresses(mut blocks: Vec<DocumentBlock>) -> String {
    each_text(&mut blocks, true, |runs: &mut Vec<StyledRun>| runs.iter_mut().for_each(|run| run.link = None));
    read(&blocks)
}

/// What of a formatted text does not keep to its channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum MisfitError {
    #[error("The text has {parts} parts; channel \"{channel}\" allows {most}.")]
    Parts { parts: usize, channel: String, most: u64 },
    #[error("Part {number} is not what channel \"{channel}\" sends.")]
    Body { number: u64, channel: String },
    #[error("Part {number} has {length} {unit}; channel \"{channel}\" allows {most}.")]
    Length { number: u64, length: u64, unit: &'static str, channel: String, most: u64 },
    #[error("Part {number} has emojis; channel \"{channel}\" has none.")]
    Emojis { number: u64, channel: String },
}

/// Whether a formatted text keeps to its channel: number of parts, length of each, emojis, kind of body.
pub fn fits(formatted: &Formatted, channel: &Channel) -> Result<(), MisfitError> {
    let name = || channel.name.clone();
    let most_parts = channel.split.as_ref().map_or(1, |split| split.most_parts);
    if formatted.parts.len() as u64 > most_parts {
        return Err(MisfitError::Parts { parts: formatted.parts.len(), channel: name(), most: most_parts });
    }
    for part in &formatted.parts {
        if channel.body.is_object() != part.content.is_object() {
            return Err(MisfitError::Body { number: part.number, channel: name() });
        }
        let length = measure(&as_sent(&part.content), channel.length_unit);
        if let Some(most) = channel.max_length.filter(|most| length > *most) {
            let unit = channel.length_unit.in_words();
            return Err(MisfitError::Length { number: part.number, length, unit, channel: name(), most });
        }
        if !channel.emojis && count_emojis(&part.text) > 0 {
            return Err(MisfitError::Emojis { number: part.number, channel: name() });
        }
    }
    Ok(())
}
