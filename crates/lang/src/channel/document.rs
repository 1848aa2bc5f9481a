//! The text between Markdown and body: a flat list of blocks made of runs. Flat, because a slice of it is again a document: marks
//! close at a cut and open after it by themselves, whatever the body.

use std::ops::Range;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::clean::shows;

/// A paragraph, heading, block of code, rule or table row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentBlock {
    /// How many quotes it stands in.
    pub quote: u8,
    /// The elements of lists it stands in, outermost first.
    pub items: Vec<ListItem>,
    /// Joined to the block before it by one line break, not by an empty line.
    pub tight: bool,
    /// Stays with the block after it: a heading, a greeting.
    pub keep: bool,
    pub kind: BlockKind,
    /// Its text; empty for a rule and a row.
    pub runs: Vec<StyledRun>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockKind {
    Paragraph,
    /// Level 1 to 6.
    Heading(u8),
    /// A block of code and its language.
    Code(String),
    Rule,
    Row(DocumentRow),
}

/// A row of a table. A table without rows is one row without cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentRow {
    pub table: u32,
    pub header: Arc<Vec<Vec<StyledRun>>>,
    pub cells: Vec<Vec<StyledRun>>,
}

/// An element of a list; the ids tell lists and elements apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListItem {
    pub list: u32,
    pub id: u32,
    /// Its number in an ordered list.
    pub number: Option<u64>,
}

/// Text of one style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StyledRun {
    pub text: String,
    pub style: RunStyle,
    /// Where it leads: an address with one of the schemes of `address::target`.
    pub link: Option<Arc<str>>,
    /// Never cut: a link, an address.
    pub whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RunStyle {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    /// Struck where the channel cannot strike: written between `~~`, without which it would read as valid.
    pub struck_text: bool,
    pub code: bool,
}

/// A place in a document: block and byte of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocumentPosition {
    pub block: usize,
    pub offset: usize,
}

impl StyledRun {
    pub fn plain(text: impl Into<String>) -> StyledRun {
        StyledRun { text: text.into(), ..StyledRun::default() }
    }

    fn is_like(&self, other: &StyledRun) -> bool {
        self.style == other.style && self.link == other.link && self.whole == other.whole && (!self.whole || self.link.is_some())
    }

    fn with_text(&self, text: &str) -> StyledRun {
        StyledRun { text: text.to_owned(), ..self.clone() }
    }
}

impl DocumentBlock {
    pub fn paragraph(runs: Vec<StyledRun>) -> DocumentBlock {
        DocumentBlock { quote: 0, items: vec![], tight: false, keep: false, kind: BlockKind::Paragraph, runs }
    }

    /// Whether a text in it shows something.
    pub fn shows(&self, shows: impl Fn(&str) -> bool) -> bool {
        let any = |runs: &[StyledRun]| runs.iter().any(|run| shows(&run.text));
        match &self.kind {
            BlockKind::Row(row) => row.cells.iter().chain(row.header.iter()).any(|cell| any(cell)),
            BlockKind::Paragraph | BlockKind::Heading(_) | BlockKind::Code(_) | BlockKind::Rule => any(&self.runs),
        }
    }

    /// Bytes of its text; 1 for what is never cut.
    pub fn len(&self) -> usize {
        match self.kind {
            BlockKind::Rule | BlockKind::Row(_) => 1,
            _ => self.runs.iter().map(|run| run.text.len()).sum(),
        }
    }
}

/// Adds a run, joined to the one before it if it looks the same.
pub(super) fn push(runs: &mut Vec<StyledRun>, run: StyledRun) {
    if run.text.is_empty() {
        return;
    }
    match runs.last_mut() {
        Some(last) if last.is_like(&run) => last.text.push_str(&run.text),
        _ => runs.push(run),
    }
}

/// The text without its styles.
pub(super) fn plain(runs: &[StyledRun]) -> String {
    runs.iter().map(|run| run.text.as_str()).collect()
}

/// The runs of the bytes `range`, which must lie on characters.
pub(super) fn cut(runs: &[StyledRun], range: Range<usize>) -> Vec<StyledRun> {
    let mut found = vec![];
    let mut at = 0;
    for run in runs {
        let (from, to) = (range.start.max(at), range.end.min(at + run.text.len()));
        if from < to {
            push(&mut found, run.with_text(run.text.get(from - at..to - at).unwrap_or_default()));
        }
        at += run.text.len();
        if at >= range.end {
            break;
        }
    }
    found
}

/// Puts other text in place of byte ranges, which are in order and apart. New text has the style of what it replaces.
pub(super) fn replace(runs: &mut Vec<StyledRun>, changes: &[(Range<usize>, String)]) {
    let changes = changes.iter().map(|(range, text)| {
        let style = cut(runs, range.clone()).into_iter().next().unwrap_or_default();
        (range.clone(), vec![style.with_text(text)])
    });
    let changes = changes.collect();
    put(runs, changes);
}

/// Puts other runs in place of byte ranges, which are in order and apart.
pub(super) fn put(runs: &mut Vec<StyledRun>, changes: Vec<(Range<usize>, Vec<StyledRun>)>) {
    if changes.is_empty() {
        return;
    }
    let mut made = vec![];
    let mut at = 0;
    for (range, new) in changes {
        cut(runs, at..range.start).into_iter().chain(new).for_each(|run| push(&mut made, run));
        at = range.end;
    }
    cut(runs, at..usize::MAX).into_iter().for_each(|run| push(&mut made, run));
    *runs = made;
}

/// Calls `edit` with each text: of blocks, cells and headers, each header once; of blocks of code only if `code` says so.
pub(super) fn each_text(blocks: &mut [DocumentBlock], code: bool, mut edit: impl FnMut(&mut Vec<StyledRun>)) {
    let mut edited: Option<(u32, Arc<Vec<Vec<StyledRun>>>)> = None;
    for block in blocks {
        match &mut block.kind {
            BlockKind::Code(_) if !code => {}
            BlockKind::Row(row) => {
                row.cells.iter_mut().for_each(&mut edit);
                if edited.as_ref().is_none_or(|(table, _)| *table != row.table) {
                    let mut header = (*row.header).clone();
                    header.iter_mut().for_each(&mut edit);
                    edited = Some((row.table, Arc::new(header)));
                }
                if let Some((_, header)) = &edited {
                    row.header = Arc::clone(header);
                }
            }
            _ => edit(&mut block.runs),
        }
    }
}

/// Takes out blocks that show no text.
pub(super) fn drop_empty(blocks: &mut Vec<DocumentBlock>) {
    blocks.retain(|block| matches!(block.kind, BlockKind::Rule) || block.shows(shows));
}

/// The place after the last block.
pub(super) fn end(blocks: &[DocumentBlock]) -> DocumentPosition {
    DocumentPosition { block: blocks.len(), offset: 0 }
}

/// The document between two places, without the white space at the cuts. An element of a list that began before `from` continues
/// without its mark.
pub(super) fn slice(blocks: &[DocumentBlock], from: DocumentPosition, to: DocumentPosition) -> Vec<DocumentBlock> {
    let mut made: Vec<DocumentBlock> = vec![];
    let begun: Vec<u32> = match (from.block, from.offset) {
        (block, 0) => block.checked_sub(1).and_then(|before| blocks.get(before)).map(ids).unwrap_or_default(),
        (block, _) => blocks.get(block).map(ids).unwrap_or_default(),
    };
    let last = if to.offset == 0 { to.block } else { to.block + 1 };
    for (index, block) in blocks.iter().enumerate().take(last).skip(from.block) {
        let start = if index == from.block { from.offset } else { 0 };
        let stop = if index == to.block { to.offset } else { usize::MAX };
        let mut runs = cut(&block.runs, start..stop);
        if start > 0 || index == to.block {
            match block.kind {
                // What a line of code begins with is code.
                BlockKind::Code(_) => trim_lines(&mut runs, start > 0, index == to.block),
                BlockKind::Paragraph | BlockKind::Heading(_) | BlockKind::Rule | BlockKind::Row(_) => {
                    trim(&mut runs, start > 0, index == to.block)
                }
            }
            if runs.is_empty() {
                continue;
            }
        }
        let items = block.items.iter().filter(|item| !begun.contains(&item.id)).copied().collect();
        let mut block = DocumentBlock { items, runs, quote: block.quote, tight: block.tight, keep: block.keep, kind: block.kind.clone() };
        if made.is_empty() {
            block.tight = false;
        }
        made.push(block);
    }
    made
}

fn ids(block: &DocumentBlock) -> Vec<u32> {
    block.items.iter().map(|item| item.id).collect()
}

/// Takes empty lines off the ends.
fn trim_lines(runs: &mut Vec<StyledRun>, at_start: bool, at_end: bool) {
    let text = plain(runs);
    let kept = if at_end { text.trim_end() } else { text.as_str() };
    let lines = kept.len() - kept.trim_start().len();
    let before = if at_start { kept[..lines].rfind('\n').map_or(0, |end| end + 1) } else { 0 };
    *runs = cut(runs, before..kept.len().max(before));
}

/// Takes white space off the ends, whole graphemes at a time.
pub(super) fn trim(runs: &mut Vec<StyledRun>, at_start: bool, at_end: bool) {
    let text = plain(runs);
    let blank = |grapheme: &&str| grapheme.chars().all(char::is_whitespace);
    let before: usize = if at_start { text.graphemes(true).take_while(blank).map(str::len).sum() } else { 0 };
    let after: usize = if at_end { text.graphemes(true).rev().take_while(blank).map(str::len).sum() } else { 0 };
    if before + after >= text.len() {
        runs.clear();
    } else if before + after > 0 {
        *runs = cut(runs, before..text.len() - after);
    }
}
