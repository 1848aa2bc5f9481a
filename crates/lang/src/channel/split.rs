//! A long document → parts, none longer than the channel allows.

use std::cell::Cell;

use unicode_segmentation::UnicodeSegmentation;

use super::body::{as_sent, render};
use super::breaks::{Break, Level, breaks, whole};
use super::clean::shows;
use super::degrade::row_to_line;
use super::document::{BlockKind, DocumentBlock, DocumentPosition, StyledRun, end, plain, push, put, slice};
use super::measure::measure;
use super::output::FormatError;
use super::parse::parse;
use crate::model::{Channel, LengthUnit, Split, SplitAt};

/// A document in parts.
pub(super) struct SplitParts {
    /// Each part without its indicator, and the indicator.
    pub parts: Vec<(Vec<DocumentBlock>, String)>,
    /// All that is sent, as one document without indicators.
    pub sent: Vec<DocumentBlock>,
    /// Something was left out.
    pub shortened: bool,
}

/// Cuts a document into parts. It has only features of the channel.
///
/// # Errors
/// What cannot be cut is longer than a part, or there is no room for the channel's own words.
pub(super) fn split(mut blocks: Vec<DocumentBlock>, channel: &Channel) -> Result<SplitParts, FormatError> {
    let Some(most) = channel.max_length else { return Ok(one(blocks, false)) };
    let length = |blocks: &[DocumentBlock]| measure(&as_sent(&render(blocks, channel).content), channel.length_unit);
    if length(&blocks) <= most {
        return Ok(one(blocks, false));
    }
    let split = channel.split.clone().unwrap_or(Split { at: SplitAt::Sentence, most_parts: 1, indicator: String::new() });
    let most_parts = split.most_parts.max(1);
    let digits = most_parts.to_string().len() as u32;
    let mut shortened = false;
    for digits in 1..=digits {
        // The widest total of so many digits; the real one is put in at the end.
        let total = 10u64.saturating_pow(digits).saturating_sub(1).min(most_parts);
        let mut cutter = Cutter {
            channel,
            split: &split,
            most,
            total,
            blocks: &[],
            begins: vec![],
            breaks: vec![],
            indicator: true,
            usual: Cell::new(usize::try_from(most).unwrap_or(usize::MAX)),
            searched: Cell::new(None),
        };
        cutter.indicator = !split.indicator.is_empty() && most_parts > 1;
        if cutter.indicator && !cutter.fits(vec![], total) {
            return Err(cutter.no_room(&format!("the indicator \"{}\"", cutter.label(total, total))));
        }
        shortened |= cutter.make_room(&mut blocks);
        cutter.blocks = &blocks;
        cutter.begins = blocks.iter().scan(0, |sum, block| Some(std::mem::replace(sum, *sum + block.len()))).collect();
        cutter.breaks = breaks(&blocks);
        let made = cutter.cut()?;
        if made.parts.len() as u64 <= total || total >= most_parts {
            let total = made.parts.len();
            let label =
                |number: usize| if cutter.indicator && total > 1 { cutter.label(number as u64, total as u64) } else { String::new() };
            let parts: Vec<_> = made.parts.into_iter().enumerate().map(|(index, part)| (part, label(index + 1))).collect();
            return Ok(SplitParts { parts, sent: made.sent, shortened: made.shortened || shortened });
        }
    }
    Ok(one(blocks, shortened))
}

fn one(blocks: Vec<DocumentBlock>, shortened: bool) -> SplitParts {
    SplitParts { parts: vec![(blocks.clone(), String::new())], sent: blocks, shortened }
}

/// Adds runs to the end of a document: to its last paragraph, else as one of its own.
pub(super) fn add_end(blocks: &mut Vec<DocumentBlock>, runs: Vec<StyledRun>) {
    match blocks.last_mut() {
        Some(last) if last.kind == BlockKind::Paragraph => {
            push(&mut last.runs, StyledRun::plain(" "));
            runs.into_iter().for_each(|run| push(&mut last.runs, run));
        }
        _ => blocks.push(DocumentBlock::paragraph(runs)),
    }
}

struct Cut {
    parts: Vec<Vec<DocumentBlock>>,
    sent: Vec<DocumentBlock>,
    shortened: bool,
}

struct Cutter<'a> {
    channel: &'a Channel,
    split: &'a Split,
    most: u64,
    total: u64,
    blocks: &'a [DocumentBlock],
    /// How many bytes of text are before each block.
    begins: Vec<usize>,
    breaks: Vec<Break>,
    /// Whether there is room for the indicator at all.
    indicator: bool,
    /// How many bytes of text the last part could hold: where the search for the end of the next one begins.
    usual: Cell<usize>,
    /// The last search, which is often asked for again: whether a part could end here, and then where the next one ends.
    searched: Cell<Option<SearchedPart>>,
}

/// The part of that number that begins at `start`, and the last break that it can reach.
#[derive(Clone, Copy)]
struct SearchedPart {
    start: DocumentPosition,
    number: u64,
    reach: Option<usize>,
}

impl Cutter<'_> {
    fn label(&self, number: u64, total: u64) -> String {
        // The fixed places are filled in one pass: a text that holds braces of its own stays as it is.
        let parts = self.split.indicator.split("{parts}").map(|piece| piece.replace("{part}", &number.to_string()));
        parts.collect::<Vec<_>>().join(&total.to_string()).trim().to_owned()
    }

    /// More characters than these fit into no part: every unit counts at least one for a character, a segment for 160.
    fn most_characters(&self) -> u64 {
        if self.channel.length_unit == LengthUnit::SmsSegments { self.most.saturating_mul(160) } else { self.most }
    }

    fn fits(&self, mut blocks: Vec<DocumentBlock>, number: u64) -> bool {
        let mut characters = blocks.iter().flat_map(|block| &block.runs).flat_map(|run| run.text.chars()).filter(|c| !c.is_whitespace());
        let most = usize::try_from(self.most_characters()).unwrap_or(usize::MAX);
        if characters.nth(most).is_some() {
            return false;
        }
        if self.indicator {
            add_end(&mut blocks, vec![StyledRun::plain(self.label(number, self.total))]);
        }
        measure(&as_sent(&render(&blocks, self.channel).content), self.channel.length_unit) <= self.most
    }

    /// What is never cut but does not fit into a part alone gives way: a row becomes a line, a link its text and the host, an address its host.
    /// True if something was left out.
    fn make_room(&self, blocks: &mut [DocumentBlock]) -> bool {
        let mut shortened = false;
        for block in blocks.iter_mut() {
            if matches!(block.kind, BlockKind::Row(_)) && !self.fits(vec![DocumentBlock { items: vec![], ..block.clone() }], self.total) {
                row_to_line(block);
            }
            let mut changes = vec![];
            for whole in whole(block) {
                let alone = DocumentBlock { items: block.items.clone(), kind: block.kind.clone(), runs: whole.runs.to_vec(), ..*block };
                if !self.fits(vec![alone], self.total) {
                    changes.push((whole.bytes, only_host(whole.runs)));
                }
            }
            if !changes.is_empty() {
                shortened = true;
                put(&mut block.runs, changes);
            }
        }
        shortened
    }

    fn cut(&self) -> Result<Cut, FormatError> {
        let end = end(self.blocks);
        let mut parts = vec![];
        let mut start = DocumentPosition { block: 0, offset: 0 };
        while start < end {
            let number = parts.len() as u64 + 1;
            let reach = self.reach(start, number);
            if reach == Some(self.breaks.len().saturating_sub(1)) {
                let part = slice(self.blocks, start, end);
                if is_seen(&part) {
                    parts.push(part);
                }
                break;
            }
            if number >= self.split.most_parts.max(1) {
                let (part, sent) = self.shorten(start, number)?;
                parts.push(part);
                return Ok(Cut { parts, sent, shortened: true });
            }
            let stop = match reach {
                Some(reach) => self.stop(start, reach, number),
                None => self.inside_word(start, &|part| self.fits(part, number)).map_err(|piece| self.too_wide(&piece))?,
            };
            let part = slice(self.blocks, start, stop);
            if is_seen(&part) {
                parts.push(part);
            }
            start = stop;
            if parts.len() as u64 > self.total {
                break;
            }
        }
        if parts.is_empty() {
            parts.push(vec![]);
        }
        Ok(Cut { parts, sent: self.blocks.to_vec(), shortened: false })
    }

    /// The index of the first break after a place.
    fn after(&self, start: DocumentPosition) -> usize {
        self.breaks.partition_point(|found| found.at <= start)
    }

    /// The last break that a part from `start` can reach; `None`: not even the first.
    fn reach(&self, start: DocumentPosition, number: u64) -> Option<usize> {
        if let Some(found) = self.searched.get().filter(|found| found.start == start && found.number == number) {
            return found.reach;
        }
        let reach = self.reach_with(start, &|part| self.fits(part, number));
        self.searched.set(Some(SearchedPart { start, number, reach }));
        reach
    }

    fn reach_with(&self, start: DocumentPosition, fits: &dyn Fn(Vec<DocumentBlock>) -> bool) -> Option<usize> {
        let first = self.after(start);
        let ok = |index: usize| self.breaks.get(index).is_some_and(|found| fits(slice(self.blocks, start, found.at)));
        if !ok(first) {
            return None;
        }
        // Each try writes a whole part: the search begins where the last one ended, and goes further in growing steps.
        let from = self.bytes_before(start);
        let likely = self.breaks.partition_point(|found| self.bytes_before(found.at) <= from.saturating_add(self.usual.get()));
        let (mut good, mut bad) = (first, self.breaks.len());
        let (mut next, mut step) = (likely.saturating_sub(1).max(first + 1), 1);
        while good < next && next < bad {
            if ok(next) {
                (good, next) = (next, next + step);
            } else {
                (bad, next) = (next, next.saturating_sub(step));
            }
            step *= 2;
        }
        while good + 1 < bad {
            let middle = good + (bad - good) / 2;
            if ok(middle) { good = middle } else { bad = middle }
        }
        let reached = self.breaks.get(good).map_or(from, |found| self.bytes_before(found.at));
        self.usual.set(reached.saturating_sub(from));
        Some(good)
    }

    fn bytes_before(&self, place: DocumentPosition) -> usize {
        self.begins.get(place.block).copied().unwrap_or_default() + place.offset
    }

    /// Where the part that starts here and can reach that break stops.
    fn stop(&self, start: DocumentPosition, reach: usize, number: u64) -> DocumentPosition {
        let first = self.after(start);
        let mut level = Level::from(self.split.at);
        loop {
            let found = (first..=reach).rev().find(|index| self.breaks.get(*index).is_some_and(|found| found.level >= level));
            let place = found.and_then(|index| self.breaks.get(index)).map(|found| found.at);
            match (place, level) {
                (Some(place), Level::Word) => return place,
                (Some(place), _) if found.is_some_and(|index| self.next_fits(index, level, number + 1)) => return place,
                (None, Level::Word) => return end(self.blocks),
                (_, Level::Paragraph) => level = Level::Sentence,
                (_, Level::Sentence) => level = Level::Word,
            }
        }
    }

    /// Whether what begins at a break, up to the next break of that level, fits into a part alone: then it is not cut here.
    fn next_fits(&self, index: usize, level: Level, number: u64) -> bool {
        let Some(start) = self.breaks.get(index) else { return true };
        let Some(reach) = self.reach(start.at, number) else { return false };
        (index + 1..=reach).any(|next| self.breaks.get(next).is_some_and(|next| next.level >= level))
    }

    /// Cuts inside a word that is longer than a part, between graphemes and not in a link.
    ///
    /// # Errors
    /// Not even its first piece fits: that piece.
    fn inside_word(&self, start: DocumentPosition, fits: &dyn Fn(Vec<DocumentBlock>) -> bool) -> Result<DocumentPosition, String> {
        let limit = self.breaks.get(self.after(start)).map_or(end(self.blocks), |found| found.at);
        let Some(block) = self.blocks.get(start.block) else { return Ok(limit) };
        let stop = if limit.block == start.block { limit.offset } else { block.len() };
        let text = plain(&block.runs);
        let kept = whole(block);
        let places: Vec<DocumentPosition> = text
            .get(start.offset..stop)
            .unwrap_or_default()
            .grapheme_indices(true)
            .take(usize::try_from(self.most_characters()).unwrap_or(usize::MAX))
            .map(|(at, grapheme)| start.offset + at + grapheme.len())
            .filter(|at| !kept.iter().any(|whole| whole.bytes.start < *at && *at < whole.bytes.end))
            .map(|offset| DocumentPosition { block: start.block, offset })
            .collect();
        let good = places.partition_point(|place| fits(slice(self.blocks, start, *place)));
        if let Some(place) = good.checked_sub(1).and_then(|last| places.get(last)) {
            return Ok(*place);
        }
        let stop = places.first().copied().unwrap_or(limit);
        let piece: String = slice(self.blocks, start, stop).iter().map(|block| plain(&block.runs)).collect();
        if piece.trim().is_empty() { Ok(stop) } else { Err(piece) }
    }

    fn no_room(&self, what: &str) -> FormatError {
        let (name, unit) = (&self.channel.name, self.channel.length_unit.in_words());
        FormatError::NoRoom(format!("a part of channel \"{name}\" has at most {} {unit} (max_length), too few for {what}", self.most))
    }

    fn too_wide(&self, piece: &str) -> FormatError {
        let shown: String = piece.trim().chars().take(20).collect();
        let beside = if self.indicator { ", and the indicator" } else { "" };
        self.no_room(&format!("\"{shown}\", which cannot be cut{beside}"))
    }

    /// The last part: up to the last full sentence that fits, else the last word, else the last grapheme, and the channel's words
    /// for "there was more". Gives the part and all that is sent.
    ///
    /// # Errors
    /// Those words do not fit, or no text has room beside them in the only part.
    fn shorten(&self, start: DocumentPosition, number: u64) -> Result<(Vec<DocumentBlock>, Vec<DocumentBlock>), FormatError> {
        let too_long = || parse(&self.channel.too_long).0.into_iter().next().map(|block| block.runs).unwrap_or_default();
        let with_end = |mut part: Vec<DocumentBlock>, dots: bool| {
            if dots && let Some(last) = part.last_mut().filter(|last| last.kind == BlockKind::Paragraph) {
                let said = plain(&last.runs);
                // Three dots behind the sign for them, or behind themselves, would be six.
                if !said.ends_with('…') && !said.ends_with("...") {
                    push(&mut last.runs, StyledRun::plain("..."));
                }
            }
            let said = too_long();
            if !said.is_empty() {
                add_end(&mut part, said);
            }
            part
        };
        let sent = |stop: DocumentPosition, dots: bool| with_end(slice(self.blocks, DocumentPosition { block: 0, offset: 0 }, stop), dots);
        let first = self.after(start);
        if let Some(reach) = self.reach_with(start, &|part| self.fits(with_end(part, false), number)) {
            let sentence = (first..=reach).rev().filter_map(|index| self.breaks.get(index)).find(|found| found.level >= Level::Sentence);
            if let Some(found) = sentence {
                return Ok((with_end(slice(self.blocks, start, found.at), false), sent(found.at, false)));
            }
        }
        let with_dots = |part| self.fits(with_end(part, true), number);
        let stop = match self.reach_with(start, &with_dots).and_then(|reach| self.breaks.get(reach)) {
            Some(found) => Some(found.at),
            None => self.inside_word(start, &with_dots).ok(),
        };
        if let Some(stop) = stop {
            return Ok((with_end(slice(self.blocks, start, stop), true), sent(stop, true)));
        }
        // No room for text and words: the words alone, after the parts before them.
        let words = too_long();
        let part = vec![DocumentBlock::paragraph(words)];
        let is_first = start == DocumentPosition { block: 0, offset: 0 };
        if is_first || plain(&too_long()).trim().is_empty() || !self.fits(part.clone(), number) {
            let what = format!("the end of a text that is longer than {} and too_long \"{}\"", self.room(), self.channel.too_long);
            return Err(self.no_room(&what));
        }
        let mut all = slice(self.blocks, DocumentPosition { block: 0, offset: 0 }, start);
        all.extend(part.clone());
        Ok((part, all))
    }

    fn room(&self) -> String {
        match self.split.most_parts {
            0 | 1 => "one part".to_owned(),
            most => format!("{most} parts"),
        }
    }
}

/// A rule alone is no part: most channels cannot show it.
fn is_seen(part: &[DocumentBlock]) -> bool {
    part.iter().any(|block| block.shows(shows))
}

/// A link that is too long for a part: its text, and the host of its address.
fn only_host(link: &[StyledRun]) -> Vec<StyledRun> {
    if let Some(host) = host(&plain(link)) {
        return vec![StyledRun::plain(format!("{host}..."))];
    }
    let address = link.first().and_then(|run| run.link.clone());
    let host = address.as_deref().and_then(host).map(|host| StyledRun::plain(format!(" ({host}...)")));
    let text = link.iter().map(|run| StyledRun { link: None, whole: false, ..run.clone() });
    text.chain(host).collect()
}

/// The host of a text that is an address.
fn host(text: &str) -> Option<&str> {
    let rest = text.split_once("://").map(|(_, rest)| rest).or_else(|| text.starts_with("www.").then_some(text))?;
    rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty() && !host.contains(char::is_whitespace))
}
