//! Features that a channel does not have become plain text.

use std::collections::HashSet;
use std::sync::Arc;

use super::address::target;
use super::document::{BlockKind, DocumentBlock, DocumentRow, ListItem, RunStyle, StyledRun, plain, push};
use crate::model::Features;

/// Turns everything but the allowed features into plain text; true if there was anything.
pub(super) fn degrade(blocks: &mut [DocumentBlock], allowed: Features) -> bool {
    let mut removed = false;
    let mut begun = HashSet::new();
    for block in blocks.iter_mut() {
        if matches!(block.kind, BlockKind::Row(_)) && !allowed.tables {
            removed = true;
            row_to_line(block);
        }
        match &mut block.kind {
            BlockKind::Heading(_) if !allowed.headers => {
                removed = true;
                block.kind = BlockKind::Paragraph;
            }
            BlockKind::Code(_) if !allowed.code => {
                removed = true;
                block.kind = BlockKind::Paragraph;
                // Each line as deep as the first, which the marks of its elements move in.
                let room = format!("\n{}", " ".repeat(block.items.iter().map(|item| mark(item).len()).sum()));
                block.runs.iter_mut().for_each(|run| run.text = run.text.replace('\n', &room));
            }
            BlockKind::Row(row) => {
                let mut header = (*row.header).clone();
                for cell in row.cells.iter_mut().chain(header.iter_mut()) {
                    removed |= runs(cell, allowed);
                }
                row.header = Arc::new(header);
            }
            _ => {}
        }
        removed |= runs(&mut block.runs, allowed);
        if !allowed.lists && !block.items.is_empty() {
            removed = true;
            item_to_line(block, &mut begun);
        }
    }
    removed
}

fn runs(list: &mut Vec<StyledRun>, allowed: Features) -> bool {
    let mut removed = false;
    for run in list.iter_mut() {
        let RunStyle { bold, italic, strike, struck_text, code } = run.style;
        let style = RunStyle {
            bold: bold && allowed.bold,
            italic: italic && allowed.italic,
            strike: strike && allowed.strike,
            struck_text: struck_text || strike && !allowed.strike,
            code: code && allowed.code,
        };
        removed |= style != run.style;
        run.style = style;
    }
    if !allowed.links && list.iter().any(|run| run.link.is_some()) {
        removed |= list.iter().any(|run| run.link.as_deref().is_some_and(|link| link != run.text));
        *list = links_to_text(std::mem::take(list));
    }
    removed
}

/// `text (url)`, and the address alone where it is the text.
fn links_to_text(list: Vec<StyledRun>) -> Vec<StyledRun> {
    let mut made: Vec<StyledRun> = vec![];
    let mut rest = list.into_iter().peekable();
    while let Some(run) = rest.next() {
        let Some(link) = run.link.clone() else {
            push(&mut made, run);
            continue;
        };
        let mut group = vec![run];
        while let Some(next) = rest.next_if(|next| next.link.as_ref() == Some(&link)) {
            group.push(next);
        }
        let is_address = is_same_address(&plain(&group), &link);
        // What touches an address would be read as a part of it.
        let touches = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '/');
        if is_address && touches(made.last().and_then(|run: &StyledRun| run.text.chars().next_back())) {
            push(&mut made, StyledRun::plain(" "));
        }
        let is_followed = is_address && touches(rest.peek().and_then(|next| next.text.chars().next()));
        group.into_iter().for_each(|run| push(&mut made, StyledRun { link: None, whole: is_address, ..run }));
        if !is_address {
            push(&mut made, StyledRun::plain(" ("));
            push(&mut made, StyledRun { text: plain_address(&link).to_owned(), whole: true, ..StyledRun::default() });
            push(&mut made, StyledRun::plain(")"));
        } else if is_followed {
            push(&mut made, StyledRun::plain(" "));
        }
    }
    made
}

/// Whether the text of a link is its address.
pub(super) fn is_same_address(text: &str, link: &str) -> bool {
    let open = |address: &str| address.replace("%28", "(").replace("%29", ")");
    text == link || text == plain_address(link) || target(text).is_some_and(|address| open(&address) == open(link))
}

/// An address as people write it: without `mailto:` and `tel:`.
pub(super) fn plain_address(link: &str) -> &str {
    link.strip_prefix("mailto:").or_else(|| link.strip_prefix("tel:")).unwrap_or(link)
}

/// A row of a table as a line, `Day: Mon, Hours: 8`; a table without rows as its header.
pub(super) fn row_to_line(block: &mut DocumentBlock) {
    let BlockKind::Row(row) = &block.kind else { return };
    let runs = line_of(row);
    block.kind = BlockKind::Paragraph;
    block.runs = runs;
    if block.runs.is_empty() {
        block.runs.push(StyledRun::plain("–"));
    }
}

fn line_of(row: &DocumentRow) -> Vec<StyledRun> {
    let mut runs = vec![];
    let cells = if row.cells.is_empty() { &row.header } else { &row.cells };
    for (index, cell) in cells.iter().enumerate() {
        let name = row.header.get(index).filter(|name| !row.cells.is_empty() && !name.is_empty());
        if cell.is_empty() && name.is_none() {
            continue;
        }
        if !runs.is_empty() {
            push(&mut runs, StyledRun::plain(", "));
        }
        if let Some(name) = name {
            name.iter().cloned().for_each(|run| push(&mut runs, run));
            let colon = if plain(name).trim_end().ends_with([':', '：']) { "" } else { ":" };
            push(&mut runs, StyledRun::plain(colon));
            push(&mut runs, StyledRun::plain(if cell.is_empty() { "" } else { " " }));
        }
        cell.iter().cloned().for_each(|run| push(&mut runs, run));
    }
    runs
}

/// An element of a list as a line of its own: `- text`, `2. text`; deeper ones are moved in.
fn item_to_line(block: &mut DocumentBlock, begun: &mut HashSet<u32>) {
    let marks = marks(block, begun);
    match &mut block.kind {
        BlockKind::Row(row) => {
            if let Some(cell) = row.cells.first_mut() {
                cell.insert(0, StyledRun::plain(marks.trim_start()));
            }
        }
        BlockKind::Rule | BlockKind::Code(_) => {}
        _ => block.runs.insert(0, StyledRun::plain(marks)),
    }
    block.items.clear();
}

/// What a block begins with in plain text: the marks of the elements that begin with it, and room for those that it is in.
pub(super) fn marks(block: &DocumentBlock, begun: &mut HashSet<u32>) -> String {
    block.items.iter().map(|item| if begun.insert(item.id) { mark(item) } else { " ".repeat(mark(item).len()) }).collect()
}

/// What an element begins with in plain text.
pub(super) fn mark(item: &ListItem) -> String {
    match item.number {
        Some(number) => format!("{number}. "),
        None => "- ".to_owned(),
    }
}
