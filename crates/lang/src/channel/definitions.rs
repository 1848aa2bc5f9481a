//! Definitions of links (`[1]: https://a.example`) that no link uses: they are text.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use regex::Regex;

/// What a text is read as, each with its bytes.
pub(crate) type Events<'t> = Vec<(Event<'t>, Range<usize>)>;

/// The extensions that a text may use.
pub(crate) fn markdown_options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

/// Reads a text as CommonMark does, and tells which of its definitions no link uses: where each begins, and its text, in order.
pub(super) fn events(text: &str) -> (Events<'_>, Vec<(usize, String)>) {
    let parser = Parser::new_ext(text, markdown_options()).into_offset_iter();
    let definitions: Vec<(String, Range<usize>)> =
        parser.reference_definitions().iter().map(|(label, definition)| (label.to_lowercase(), definition.span.clone())).collect();
    let events: Events<'_> = parser.collect();
    let used: HashSet<String> = events.iter().filter_map(|(event, _)| label(event)).collect();
    let (used, unused): (Vec<_>, Vec<_>) = definitions.into_iter().partition(|(label, _)| used.contains(label));
    let mut told: Vec<Range<usize>> = unused.into_iter().map(|(_, span)| span).collect();
    let taken: Vec<&Range<usize>> = used.iter().map(|(_, span)| span).chain(&told).collect();
    let again = again(text, &events, &taken);
    told.extend(again);
    told.sort_by_key(|span| span.start);
    (events, told.into_iter().map(|span| (span.start, one_line(text.get(span).unwrap_or_default()))).collect())
}

/// Whether a link is the number of a footnote, `[^1]`: that leads nowhere, its note is text.
pub(super) fn is_footnote(link_type: LinkType, id: &str) -> bool {
    id.starts_with('^') && matches!(link_type, LinkType::Shortcut | LinkType::Collapsed)
}

/// The definition that a link uses.
fn label(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Start(Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. }) => {
            let is_named = matches!(link_type, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut);
            (is_named && !is_footnote(*link_type, id)).then(|| id.to_lowercase())
        }
        _ => None,
    }
}

/// Definitions of a name that was defined before, which the reader of Markdown passes over: they are in no text and are none of
/// the `taken` ones.
fn again(text: &str, events: &[(Event<'_>, Range<usize>)], taken: &[&Range<usize>]) -> Vec<Range<usize>> {
    static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)^[ \t>*+\-0-9.)]*(\[[^\n]*\]:[^\n]*)$").ok());
    let Some(line) = LINE.as_ref().filter(|_| !taken.is_empty()) else { return vec![] };
    let is_text = |event: &Event<'_>| {
        matches!(
            event,
            Event::Text(_)
                | Event::Code(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::Start(
                    Tag::Paragraph
                        | Tag::Heading { .. }
                        | Tag::CodeBlock(_)
                        | Tag::HtmlBlock
                        | Tag::Table(_)
                        | Tag::Link { .. }
                        | Tag::Image { .. }
                )
        )
    };
    let mut covered: Vec<&Range<usize>> = events.iter().filter(|(event, _)| is_text(event)).map(|(_, range)| range).collect();
    covered.extend(taken);
    covered.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = vec![];
    for range in covered {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range.clone()),
        }
    }
    let is_covered = |at: usize| {
        let before = merged.partition_point(|range| range.start <= at);
        before.checked_sub(1).and_then(|index| merged.get(index)).is_some_and(|range| at < range.end)
    };
    line.captures_iter(text).filter_map(|found| found.get(1)).map(|found| found.range()).filter(|range| !is_covered(range.start)).collect()
}

/// A definition over several lines, without the signs of the quotes it stands in.
fn one_line(definition: &str) -> String {
    definition
        .lines()
        .map(|line| line.trim_start_matches([' ', '\t', '>']).trim_end())
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
