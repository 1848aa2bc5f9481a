//! Where a document may be cut.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::document::{BlockKind, DocumentBlock, DocumentPosition, StyledRun, plain};
use super::months::month;
use super::sentence::sentence_ends;
use crate::model::SplitAt;

/// How good a place is for a cut; better ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Word,
    Sentence,
    Paragraph,
}

impl From<SplitAt> for Level {
    fn from(at: SplitAt) -> Level {
        match at {
            SplitAt::Paragraph => Level::Paragraph,
            SplitAt::Sentence => Level::Sentence,
            SplitAt::Word => Level::Word,
        }
    }
}

/// A place between two words, sentences or paragraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Break {
    pub at: DocumentPosition,
    pub level: Level,
}

/// All breaks of a document in order, its end included. Between the lines of a list or table one may be cut like between
/// sentences; a heading or greeting stays with what follows it as long as that is possible.
pub(super) fn breaks(blocks: &[DocumentBlock]) -> Vec<Break> {
    let mut found = vec![];
    let mut before: Option<&DocumentBlock> = None;
    for (index, block) in blocks.iter().enumerate() {
        if let Some(before) = before {
            let level = match (before.keep, block.tight) {
                (true, _) => Level::Word,
                (false, true) => Level::Sentence,
                (false, false) => Level::Paragraph,
            };
            found.push(Break { at: DocumentPosition { block: index, offset: 0 }, level });
        }
        inside(block, index, &mut found);
        before = Some(block);
    }
    found.push(Break { at: DocumentPosition { block: blocks.len(), offset: 0 }, level: Level::Paragraph });
    found
}

fn inside(block: &DocumentBlock, index: usize, found: &mut Vec<Break>) {
    if matches!(block.kind, BlockKind::Rule | BlockKind::Row(_)) {
        return;
    }
    let text = plain(&block.runs);
    let whole = whole(block);
    let ends = sentence_ends(&text);
    let mut ends = ends.iter().copied().peekable();
    let mut blocked = whole.iter().peekable();
    let graphemes = text.grapheme_indices(true);
    let mut last: Option<&str> = None;
    for (offset, grapheme) in graphemes {
        let here = last.is_some_and(|last| may_break(last, grapheme));
        last = Some(grapheme);
        while blocked.peek().is_some_and(|whole| whole.bytes.end <= offset) {
            blocked.next();
        }
        while ends.peek().is_some_and(|end| *end < offset) {
            ends.next();
        }
        let is_end = ends.peek() == Some(&offset);
        if !is_end && is_inside_figure(&text, offset) {
            continue;
        }
        if offset == 0 || !(here || is_end) || blocked.peek().is_some_and(|whole| whole.bytes.start < offset) {
            continue;
        }
        let is_line = matches!(block.kind, BlockKind::Code(_)) && text[..offset].ends_with('\n');
        let level = if is_end && !matches!(block.kind, BlockKind::Code(_)) || is_line { Level::Sentence } else { Level::Word };
        found.push(Break { at: DocumentPosition { block: index, offset }, level });
    }
}

/// Whether a blank stands inside a figure: between its groups of digits (`1 250 000`), behind its sign (`- 5`), before its unit (`5 million`), and
/// behind the number of a list.
fn is_inside_figure(text: &str, offset: usize) -> bool {
    let (before, after) = text.split_at(offset);
    let line = before.rsplit('\n').next().unwrap_or(before);
    let word = line.trim_end().rsplit(char::is_whitespace).next().unwrap_or_default();
    if word.len() == line.trim_end().len() && line.ends_with(' ') {
        let number = word.trim_end_matches(['.', ')']);
        if word == "-" || word == "+" || number.len() < word.len() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return true;
        }
    }
    let ends_in_digit = word.ends_with(|c: char| c.is_ascii_digit());
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let is_group = digits == 3 && !after[digits..].starts_with(|c: char| c.is_alphanumeric());
    // A sign, a currency or the day before the month: `- 5`, `EUR 12.50`, `16. 11. 2026`.
    let leads = LEADS.split(' ').any(|known| known == word);
    let is_day = (2..=3).contains(&word.len()) && word.ends_with('.') && word[..word.len() - 1].bytes().all(|byte| byte.is_ascii_digit());
    let is_sign = digits > 0 && !word.is_empty() && (leads || is_day);
    let unit = after.split(|c: char| c.is_whitespace() || ",.;:!?)".contains(c)).next().unwrap_or_default();
    let is_unit = UNITS.split(' ').any(|known| !known.is_empty() && known == unit) || month(unit).is_some();
    ends_in_digit && (is_group || is_unit) || is_sign
}

/// What is not parted from the figure behind it.
const LEADS: &str = "- − – + ± ~ ≈ < > ≤ ≥ × * / minus plus EUR USD GBP CHF € $ £ No. Nr. no.";

/// What a figure is not parted from, besides months.
const UNITS: &str = " % ‰ ° °C °F € $ £ EUR USD GBP CHF k K M h min s hours hour minutes days people million millions billion billions bn trillion thousand hundred dozen lakh crore × k€ TEUR Mill Million Millionen Mio \
Milliarde Milliarden Mrd Tsd Tausend Stunden Stunde Tage Uhr Euro kg g t km m cm mm l kWh MB GB TB kB am pm a.m p.m ";

/// What is never cut: links and addresses.
pub(super) struct Whole<'a> {
    /// Its bytes in the text of the block.
    pub bytes: Range<usize>,
    pub runs: &'a [StyledRun],
}

/// All that is never cut in a block, in order. A link of several styles is one.
pub(super) fn whole(block: &DocumentBlock) -> Vec<Whole<'_>> {
    let mut found = vec![];
    let mut at = 0;
    for runs in block.runs.chunk_by(|a, b| a.whole && b.whole && a.link.is_some() && a.link == b.link) {
        let end = at + runs.iter().map(|run| run.text.len()).sum::<usize>();
        if runs.first().is_some_and(|run| run.whole) {
            found.push(Whole { bytes: at..end, runs });
        }
        at = end;
    }
    found
}

/// Whether a line may end between two graphemes: after white space that parts words, and between characters of scripts without it.
fn may_break(last: &str, next: &str) -> bool {
    let is_blank = |grapheme: &str| grapheme.chars().all(|c| c.is_whitespace() && !matches!(c, '\u{A0}' | '\u{202F}' | '\u{2007}'));
    let is_wide = |grapheme: &str| {
        let range =
            |c| matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}');
        grapheme.chars().next().is_some_and(range)
    };
    is_blank(last) && !is_blank(next) || is_wide(last) && is_wide(next)
}
