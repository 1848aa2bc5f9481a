//! CommonMark with tables and strike, written one way; read again it gives the same text.

use std::collections::HashSet;

use super::inline::{Inline, StyleMark, write};
use super::lines::Plain;
use crate::channel::document::{BlockKind, DocumentBlock, ListItem, RunStyle, StyledRun, plain};
use crate::channel::escape::{before_link, inline, is_reference, line_start};
use crate::channel::parse;

/// Writes a document.
pub(super) fn render(blocks: &[DocumentBlock]) -> String {
    let mut out = String::new();
    let mut begun: HashSet<u32> = HashSet::new();
    let mut before: Option<&DocumentBlock> = None;
    // Two lists in a row would be read as one; the second uses the other mark.
    let mut other_mark: HashSet<u32> = HashSet::new();
    for block in blocks {
        if let Some(before) = before {
            for (item, old) in block.items.iter().zip(&before.items) {
                if item.list != old.list
                    && item.number.is_some() == old.number.is_some()
                    && !other_mark.contains(&old.list)
                    && !begun.contains(&item.id)
                {
                    other_mark.insert(item.list);
                }
            }
        }
        let same_table =
            matches!((before.map(|before| &before.kind), &block.kind), (Some(BlockKind::Row(a)), BlockKind::Row(b)) if a.table == b.table);
        let is_line = block.tight && block.items.is_empty() && !same_table && is_paragraph(block) && before.is_some_and(is_paragraph);
        if let Some(before) = before {
            let quote = quotes(block.quote.min(before.quote));
            if is_line {
                out.push_str("  \n");
            } else if block.tight {
                out.push('\n');
            } else {
                out.push_str(&format!("\n{}\n", quote.trim_end()));
            }
        }
        let (first, rest) = edges(block, &mut begun, &other_mark);
        for (index, line) in written(block, same_table).split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            let edge = if index == 0 { &first } else { &rest };
            out.push_str(if line.is_empty() { edge.trim_end() } else { edge });
            out.push_str(line);
        }
        before = Some(block);
    }
    out
}

fn is_paragraph(block: &DocumentBlock) -> bool {
    block.kind == BlockKind::Paragraph
}

fn quotes(depth: u8) -> String {
    "> ".repeat(usize::from(depth))
}

/// What the first line of a block begins with, and what the others do.
fn edges(block: &DocumentBlock, begun: &mut HashSet<u32>, other_mark: &HashSet<u32>) -> (String, String) {
    let (mut first, mut rest) = (quotes(block.quote), quotes(block.quote));
    for item in &block.items {
        let bullet = bullet(item, other_mark.contains(&item.list));
        let room = " ".repeat(bullet.len());
        first.push_str(if begun.insert(item.id) { &bullet } else { &room });
        rest.push_str(&room);
    }
    (first, rest)
}

fn bullet(item: &ListItem, other_mark: bool) -> String {
    match (item.number, other_mark) {
        (None, false) => "- ".into(),
        (None, true) => "* ".into(),
        // CommonMark reads numbers of at most nine digits.
        (Some(number), false) => format!("{}. ", number.min(999_999_999)),
        (Some(number), true) => format!("{}) ", number.min(999_999_999)),
    }
}

fn written(block: &DocumentBlock, same_table: bool) -> String {
    match &block.kind {
        // Not `---`: that would be a rule of its own after the `- ` of a list.
        BlockKind::Rule => "***".into(),
        BlockKind::Heading(level) => format!("{} {}", "#".repeat(usize::from(*level)), line(&block.runs, MarkdownPlace::Heading)),
        BlockKind::Paragraph => line(&block.runs, MarkdownPlace::Paragraph),
        BlockKind::Code(language) => {
            let text = plain(&block.runs);
            let fence = "`".repeat(longest_ticks(&text).max(2) + 1);
            let language: String = language.chars().filter(|c| !c.is_whitespace() && *c != '`').collect();
            format!("{fence}{language}\n{text}\n{fence}")
        }
        BlockKind::Row(row) => {
            let mut lines = vec![];
            if !same_table {
                lines.push(cells(&row.header));
                lines.push(format!("|{}", " --- |".repeat(row.header.len())));
            }
            if !row.cells.is_empty() {
                lines.push(cells(&row.cells));
            }
            lines.join("\n")
        }
    }
}

fn cells(cells: &[Vec<StyledRun>]) -> String {
    let written: String = cells.iter().map(|cell| format!(" {} |", line(cell, MarkdownPlace::Cell).replace('|', "\\|"))).collect();
    format!("|{written}")
}

/// Where runs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownPlace {
    Paragraph,
    Heading,
    Cell,
}

/// What is inside a block. If the marks would not be read as marks (they stand between letters, say), the text is written without
/// them: the words count more than their looks.
fn line(runs: &[StyledRun], place: MarkdownPlace) -> String {
    let written = write_line(runs, place);
    if reads_as(&written, place, &squeezed(&words(runs))) {
        return written;
    }
    let mut bare = runs.to_vec();
    for run in &mut bare {
        let struck_text = run.style.strike || run.style.struck_text;
        run.style = RunStyle { struck_text, code: run.style.code, ..RunStyle::default() };
    }
    let written = write_line(&bare, place);
    if reads_as(&written, place, &squeezed(&words(&bare))) {
        return written;
    }
    write_line(&[StyledRun::plain(words(&bare))], place)
}

/// Whether two texts in Markdown have the same words.
pub(super) fn read_alike(one: &str, other: &str) -> bool {
    read_strictly(one) == read_strictly(other)
}

/// The words of a text as readers of CommonMark read it, without white space.
fn read_strictly(text: &str) -> String {
    words_of(&parse::parse_strictly(text))
}

fn words_of(blocks: &[DocumentBlock]) -> String {
    squeezed(&blocks.iter().map(|block| plain(&block.runs)).collect::<String>())
}

/// The words of runs without marks and addresses; struck text that has no mark is between `~~`.
fn words(runs: &[StyledRun]) -> String {
    let bare = runs.iter().map(|run| StyledRun { link: None, ..run.clone() });
    write(&bare.collect::<Vec<_>>(), &Plain)
}

fn write_line(runs: &[StyledRun], place: MarkdownPlace) -> String {
    let written = write(runs, &Markdown);
    let lines = written.split('\n').map(|line| line.trim_matches([' ', '\t'])).filter(|line| !line.is_empty());
    if place == MarkdownPlace::Paragraph {
        return lines.map(line_start).collect::<Vec<_>>().join("\n");
    }
    let mut written = lines.collect::<Vec<_>>().join(" ");
    if place == MarkdownPlace::Heading && written.ends_with('#') {
        written.insert(written.len() - 1, '\\');
    }
    written
}

/// Whether other readers and we read these words.
fn reads_as(written: &str, place: MarkdownPlace, wanted: &str) -> bool {
    let reads = |text: &str, wanted: &str| read_strictly(text) == wanted && words_of(&parse::parse(text).0) == wanted;
    match place {
        MarkdownPlace::Paragraph => reads(written, wanted),
        // What stands after something else on its line cannot begin a list, a heading or code.
        MarkdownPlace::Heading | MarkdownPlace::Cell => reads(&format!("x {written}"), &format!("x{wanted}")),
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// An address as it is in the round brackets of a link.
pub(super) fn address(url: &str) -> String {
    let mut open = 0_i32;
    let balanced = url.chars().all(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open >= 0
    }) && open == 0;
    let mut out = String::with_capacity(url.len());
    for (at, character) in url.char_indices() {
        match character {
            '(' if !balanced => out.push_str("%28"),
            ')' if !balanced => out.push_str("%29"),
            '&' if is_reference(&url[at + 1..]) => out.push_str("&amp;"),
            other if other.is_whitespace() => {}
            other => out.push(other),
        }
    }
    out
}

struct Markdown;

impl Inline for Markdown {
    fn open(&self, mark: StyleMark) -> String {
        match mark {
            StyleMark::Bold => "**",
            StyleMark::Italic => "*",
            StyleMark::Strike => "~~",
        }
        .into()
    }
    fn close(&self, mark: StyleMark) -> String {
        self.open(mark)
    }
    fn text(&self, text: &str) -> String {
        inline(text, true)
    }
    fn code(&self, text: &str) -> String {
        let fence = "`".repeat(longest_ticks(text) + 1);
        // One blank at each end is taken off, unless there is nothing else (CommonMark 6.1).
        let is_blank = text.trim_matches([' ', '\n']).is_empty();
        let pad = if !is_blank && (text.starts_with(['`', ' ']) || text.ends_with(['`', ' '])) { " " } else { "" };
        format!("{fence}{pad}{}{pad}{fence}", text.replace('\n', " "))
    }
    fn before_link(&self, written: &mut String) {
        before_link(written);
    }
    fn link(&self, written: &str, plain: &str, url: &str) -> String {
        // Between `<` and `>` there is no room for marks.
        let is_bare = plain == url && written == self.text(plain);
        if is_bare { format!("<{url}>") } else { format!("[{written}]({})", address(url)) }
    }
}
