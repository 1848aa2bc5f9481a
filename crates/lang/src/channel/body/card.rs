//! An Adaptive Card, version 1.5 (adaptivecards.io): texts with the card's own few marks, headings as bold text, tables as tables.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::inline::{Inline, StyleMark, write};
use super::markdown::read_alike;
use crate::channel::degrade::marks;
use crate::channel::document::{BlockKind, DocumentBlock, RunStyle, StyledRun, plain};
use crate::channel::escape::{before_link, inline, line_start};

/// Writes a document as a card. Blocks that follow without an empty line share one `TextBlock`.
pub(super) fn render(blocks: &[DocumentBlock]) -> Value {
    let mut body: Vec<Value> = vec![];
    let mut begun: HashSet<u32> = HashSet::new();
    let mut text = String::new();
    let mut rest = blocks;
    while let Some(block) = rest.first() {
        rest = &rest[1..];
        match &block.kind {
            BlockKind::Paragraph => {
                if block.tight && !text.is_empty() {
                    text.push('\r');
                } else {
                    flush(&mut text, &mut body);
                }
                let edge = quote(block);
                text.push_str(&edge);
                text.push_str(&marks(block, &mut begun));
                text.push_str(&written(&block.runs).replace(Card.line(), &format!("{}{edge}", Card.line())));
                continue;
            }
            _ => flush(&mut text, &mut body),
        }
        match &block.kind {
            BlockKind::Heading(level) => {
                let marks = marks(block, &mut begun);
                let size = if *level <= 2 { "Large" } else { "Medium" };
                let mut runs = block.runs.clone();
                runs.iter_mut().for_each(|run| run.style.bold = false);
                let text = quote(block) + &marks + &written(&runs);
                body.push(json!({ "type": "TextBlock", "text": text, "wrap": true, "weight": "Bolder", "size": size }));
            }
            BlockKind::Code(_) => {
                let edge = quote(block);
                let text = edge.clone() + &own_lines(&Card.text(&plain(&block.runs))).replace('\n', &format!("\n{edge}"));
                body.push(json!({ "type": "TextBlock", "text": text, "wrap": true, "fontType": "Monospace" }));
            }
            BlockKind::Row(row) => {
                let edge = quote(block);
                let mut rows = vec![cells(&row.header, &edge)];
                if !row.cells.is_empty() {
                    rows.push(cells(&row.cells, &edge));
                }
                while let Some(BlockKind::Row(next)) = rest.first().map(|block| &block.kind)
                    && next.table == row.table
                {
                    rows.push(cells(&next.cells, &edge));
                    rest = &rest[1..];
                }
                let columns: Vec<Value> = row.header.iter().map(|_| json!({ "width": 1 })).collect();
                body.push(json!({ "type": "Table", "firstRowAsHeader": true, "columns": columns, "rows": rows }));
            }
            BlockKind::Paragraph | BlockKind::Rule => {}
        }
    }
    flush(&mut text, &mut body);
    json!({ "type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "version": "1.5", "body": body })
}

/// What each line of a quote begins with: a card has no form for it.
fn quote(block: &DocumentBlock) -> String {
    "> ".repeat(usize::from(block.quote))
}

fn flush(text: &mut String, body: &mut Vec<Value>) {
    if !text.is_empty() {
        body.push(json!({ "type": "TextBlock", "text": std::mem::take(text), "wrap": true }));
    }
}

/// Marks that a reader of the card would not take for marks (`**「重要」**です`) are left out: the words count more than their looks.
fn written(runs: &[StyledRun]) -> String {
    let written = own_lines(&write(runs, &Card));
    if !runs.iter().any(|run| run.style.bold || run.style.italic) {
        return written;
    }
    let without = |run: &StyledRun| StyledRun { style: RunStyle { bold: false, italic: false, ..run.style }, ..run.clone() };
    let bare = own_lines(&write(&runs.iter().map(without).collect::<Vec<_>>(), &Card));
    if read_alike(&written, &bare) { written } else { bare }
}

/// Lines of which none begins a block of its own: an element of a list begins with its mark.
fn own_lines(text: &str) -> String {
    text.split('\n').map(|line| if line.is_empty() { String::new() } else { line_start(line) }).collect::<Vec<_>>().join("\n")
}

/// A row, with the sign of a quote before its first cell.
fn cells(cells: &[Vec<StyledRun>], edge: &str) -> Value {
    let edges = std::iter::once(edge).chain(std::iter::repeat(""));
    let cells: Vec<Value> = cells
        .iter()
        .zip(edges)
        .map(|(cell, edge)| edge.to_owned() + &written(cell))
        .map(|text| json!({ "type": "TableCell", "items": [{ "type": "TextBlock", "text": text, "wrap": true }] }))
        .collect();
    json!({ "type": "TableRow", "cells": cells })
}

/// The Markdown that a card reads: bold, italic, links, lists.
struct Card;

impl Inline for Card {
    fn stands_in_words(&self, mark: StyleMark) -> bool {
        mark != StyleMark::Italic
    }
    fn open(&self, mark: StyleMark) -> String {
        match mark {
            StyleMark::Bold => "**".into(),
            StyleMark::Italic => "_".into(),
            StyleMark::Strike => String::new(),
        }
    }
    fn close(&self, mark: StyleMark) -> String {
        self.open(mark)
    }
    fn text(&self, text: &str) -> String {
        inline(text, false)
    }
    fn code(&self, text: &str) -> String {
        self.text(text)
    }
    fn before_link(&self, written: &mut String) {
        before_link(written);
    }
    fn link(&self, written: &str, _: &str, url: &str) -> String {
        format!("[{written}]({})", super::markdown::address(url))
    }
    fn line(&self) -> &str {
        "\n\n"
    }
}
