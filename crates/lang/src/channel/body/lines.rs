//! Plain text, and text with a channel's own marks: both are lines, and differ in what they put around a feature.

use std::collections::HashSet;

use super::inline::{Inline, StyleMark, write};
use crate::channel::degrade::{is_same_address, mark};
use crate::channel::document::{BlockKind, DocumentBlock, ListItem, StyledRun};
use crate::model::Markup;

/// What a body of lines writes besides what is inside a line.
pub(super) trait Lines: Inline + Sized {
    /// What an element of a list begins with.
    fn bullet(&self, item: &ListItem) -> String;
    /// A heading whose text is written.
    fn heading(&self, written: &str) -> String;
}

/// Writes a document line by line. Quotes begin with `> `, deeper lists are moved in, rules are left out.
pub(super) fn render(blocks: &[DocumentBlock], lines: &impl Lines) -> String {
    let mut out = String::new();
    let mut begun: HashSet<u32> = HashSet::new();
    for block in blocks {
        let written = match &block.kind {
            BlockKind::Rule => continue,
            BlockKind::Heading(_) => lines.heading(&write(&without_bold(&block.runs), lines)),
            BlockKind::Code(_) => code(block, lines),
            BlockKind::Paragraph => write(&block.runs, lines),
            BlockKind::Row(_) => {
                let mut row = block.clone();
                crate::channel::degrade::row_to_line(&mut row);
                write(&row.runs, lines)
            }
        };
        if !out.is_empty() {
            out.push_str(if block.tight { "\n" } else { "\n\n" });
        }
        let (first, rest) = edges(block, &mut begun, lines);
        for (index, line) in written.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            out.push_str(if index == 0 { &first } else { &rest });
            out.push_str(line);
        }
    }
    out
}

/// What the first line of a block begins with, and what the others do.
fn edges(block: &DocumentBlock, begun: &mut HashSet<u32>, lines: &impl Lines) -> (String, String) {
    let quote = if block.quote > 0 { lines.text(&"> ".repeat(usize::from(block.quote))) } else { String::new() };
    let (mut first, mut rest) = (quote.clone(), quote);
    for item in &block.items {
        let bullet = lines.bullet(item);
        let room = " ".repeat(mark(item).chars().count());
        first.push_str(if begun.insert(item.id) { &bullet } else { &room });
        rest.push_str(&room);
    }
    (first, rest)
}

/// A block of code, each line between the marks of code: not every channel lets a mark go over the end of a line.
fn code(block: &DocumentBlock, lines: &impl Lines) -> String {
    let text = crate::channel::document::plain(&block.runs);
    let written: Vec<String> = text.split('\n').map(|line| if line.trim().is_empty() { String::new() } else { lines.code(line) }).collect();
    written.join("\n")
}

/// A heading's mark is often that of bold, which does not stand inside itself.
fn without_bold(runs: &[StyledRun]) -> Vec<StyledRun> {
    let mut runs = runs.to_vec();
    runs.iter_mut().for_each(|run| run.style.bold = false);
    runs
}

/// `body: text`.
pub(super) struct Plain;

impl Inline for Plain {
    fn open(&self, _: StyleMark) -> String {
        String::new()
    }
    fn close(&self, _: StyleMark) -> String {
        String::new()
    }
    fn text(&self, text: &str) -> String {
        text.to_owned()
    }
    fn code(&self, text: &str) -> String {
        text.to_owned()
    }
    fn link(&self, written: &str, plain: &str, url: &str) -> String {
        if is_same_address(plain, url) { written.to_owned() } else { format!("{written} ({url})") }
    }
}

impl Lines for Plain {
    fn bullet(&self, item: &ListItem) -> String {
        mark(item)
    }
    fn heading(&self, written: &str) -> String {
        written.to_owned()
    }
}

/// `body: markup`.
pub(super) struct Marked<'a> {
    markup: &'a Markup,
    /// What is escaped, the longest first.
    escape: Vec<(&'a str, &'a str)>,
}

impl<'a> Marked<'a> {
    pub fn new(markup: &'a Markup) -> Marked<'a> {
        let mut escape: Vec<(&str, &str)> =
            markup.escape.iter().map(|(from, to)| (from.as_str(), to.as_str())).filter(|(from, _)| !from.is_empty()).collect();
        escape.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Marked { markup, escape }
    }

    fn sides(&self, mark: StyleMark) -> (&'a str, &'a str) {
        let written = match mark {
            StyleMark::Bold => &self.markup.bold,
            StyleMark::Italic => &self.markup.italic,
            StyleMark::Strike => &self.markup.strike,
        };
        sides(written.as_deref().unwrap_or_default())
    }
}

/// The two sides of a mark: itself, or what stands around `{text}`.
fn sides(mark: &str) -> (&str, &str) {
    mark.split_once("{text}").unwrap_or((mark, mark))
}

impl Inline for Marked<'_> {
    fn stands_in_words(&self, mark: StyleMark) -> bool {
        self.sides(mark).0.ends_with('>')
    }
    fn open(&self, mark: StyleMark) -> String {
        self.sides(mark).0.to_owned()
    }
    fn close(&self, mark: StyleMark) -> String {
        self.sides(mark).1.to_owned()
    }
    fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            match self.escape.iter().find(|(from, _)| rest.starts_with(from)) {
                Some((from, to)) => {
                    out.push_str(to);
                    rest = &rest[from.len()..];
                }
                None => {
                    out.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
        }
        out
    }
    fn code(&self, text: &str) -> String {
        let (before, after) = sides(self.markup.code.as_deref().unwrap_or_default());
        format!("{before}{}{after}", self.text(text))
    }
    fn link(&self, written: &str, plain: &str, url: &str) -> String {
        let template = self.markup.link.as_deref().unwrap_or("{text}");
        // A channel whose link is only text and address would say the address twice.
        if is_same_address(plain, url) && template.starts_with("{text}") {
            return written.to_owned();
        }
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("{text}") {
                out.push_str(written);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("{url}") {
                out.push_str(&self.text(url));
                rest = after;
            } else {
                out.push('{');
                rest = &rest[1..];
            }
        }
        out + rest
    }
}

impl Lines for Marked<'_> {
    fn bullet(&self, item: &ListItem) -> String {
        match (item.number, &self.markup.bullet) {
            (None, Some(bullet)) => bullet.clone(),
            _ => self.text(&mark(item)),
        }
    }
    fn heading(&self, written: &str) -> String {
        let (before, after) = sides(self.markup.heading.as_deref().unwrap_or("{text}"));
        format!("{before}{written}{after}")
    }
}
