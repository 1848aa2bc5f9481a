//! Which Markdown a text really uses.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::verdict::{CheckResult, JudgedText, place};
use crate::channel::marked_events;
use crate::model::{Channel, Features, Markup};

/// Uses no Markdown but what is allowed. Judged is the text with the marks that are sent, as `format` reads it: a single `*` or
/// `_`, an indented line or a line that begins with `16.` is no mark. In a formatted text of a channel with its own marks, those count
/// (`*x*` may be bold); and where a formatted text shows lists as plain lines, lines are no mark either.
pub(super) fn markdown(allowed: Features, judged: &JudgedText) -> CheckResult {
    let allowed = allowed.words();
    let channel = judged.channel.filter(|_| judged.formatted.is_some());
    let used = used(judged.marked(), channel);
    let Some((feature, range)) = used.into_iter().find(|(feature, _)| !allowed.contains(feature)) else { return CheckResult::passed() };
    let rule = if allowed.is_empty() { "no Markdown is allowed".to_owned() } else { format!("allowed is only {}", allowed.join(", ")) };
    CheckResult::failed(format!("The text uses Markdown for {feature}; {rule}."), place(judged.marked(), range))
}

/// The features used, each with its place.
fn used(text: &str, channel: Option<&Channel>) -> Vec<(&'static str, Range<usize>)> {
    let markup = channel.filter(|channel| channel.body.has_own_marks()).map(|channel| &channel.markup);
    let lines_are_plain = channel.is_some_and(|channel| !channel.body.keeps_marks_of_lists() && channel.markup.bullet.is_none());
    let mut found: Vec<(&'static str, Range<usize>)> = vec![];
    // The open ordered lists that begin with another number than 1: where, and with how many elements so far.
    let mut numbered: Vec<Option<(Range<usize>, u32)>> = vec![];
    for (event, range) in marked_events(text) {
        let feature = match event {
            Event::Start(Tag::Strong) => inline("bold", text, &range, markup),
            Event::Start(Tag::Emphasis) => inline("italic", text, &range, markup),
            Event::Start(Tag::Strikethrough) => inline("strike", text, &range, markup),
            Event::Code(_) => inline("code", text, &range, markup),
            Event::Start(Tag::Heading { .. }) => "headers",
            Event::Start(Tag::Table(_)) => "tables",
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => "links",
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => "code",
            Event::Start(Tag::List(first)) => {
                let is_plain = first.is_some_and(|first| first > 1);
                numbered.push(is_plain.then(|| (range.clone(), 0)));
                if is_plain || lines_are_plain {
                    continue;
                }
                "lists"
            }
            Event::Start(Tag::Item) => {
                if let Some(Some((_, elements))) = numbered.last_mut() {
                    *elements += 1;
                }
                continue;
            }
            // "16. November was free" begins like a list, but is one only with a second element.
            Event::End(TagEnd::List(_)) => match numbered.pop().flatten().filter(|(_, elements)| *elements > 1 && !lines_are_plain) {
                Some((range, _)) => {
                    found.push(("lists", range));
                    continue;
                }
                None => continue,
            },
            _ => continue,
        };
        found.push((feature, range));
    }
    found
}

/// A feature between marks: what the channel's own marks say, else what CommonMark says.
fn inline(standard: &'static str, text: &str, range: &Range<usize>, markup: Option<&Markup>) -> &'static str {
    let Some(markup) = markup else { return standard };
    let written = text.get(range.clone()).unwrap_or_default();
    let own = [("bold", &markup.bold), ("italic", &markup.italic), ("strike", &markup.strike), ("code", &markup.code)];
    let mark = |mark: &Option<String>| mark.as_deref().map(|mark| mark.split("{text}").next().unwrap_or_default().to_owned());
    let fits = own.into_iter().filter_map(|(feature, own)| Some((feature, mark(own)?)));
    let fits = fits.filter(|(_, mark)| !mark.is_empty() && written.starts_with(mark.as_str()));
    fits.max_by_key(|(_, mark)| mark.len()).map_or(standard, |(feature, _)| feature)
}
