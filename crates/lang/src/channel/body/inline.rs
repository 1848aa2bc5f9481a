//! Runs → text with marks: opened and closed in pairs, one inside the other, never around white space.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use crate::channel::document::{RunStyle, StyledRun, plain};

/// A style that is written with a mark before and one after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StyleMark {
    Bold,
    Italic,
    Strike,
}

const MARKS: [StyleMark; 3] = [StyleMark::Bold, StyleMark::Italic, StyleMark::Strike];

/// How a body writes what is inside a line.
pub(super) trait Inline {
    fn open(&self, mark: StyleMark) -> String;
    fn close(&self, mark: StyleMark) -> String;
    /// Whether the mark is one beside a letter or a digit, too: `un*x*y`.
    fn stands_in_words(&self, _: StyleMark) -> bool {
        true
    }
    /// Text as it must be written to be read as itself.
    fn text(&self, text: &str) -> String;
    fn code(&self, text: &str) -> String;
    /// A link around text that is written already; `plain` is that text without marks.
    fn link(&self, written: &str, plain: &str, url: &str) -> String;
    /// Changes what is before a link where it would mean something there.
    fn before_link(&self, _: &mut String) {}
    /// The end of a line inside a paragraph.
    fn line(&self) -> &str {
        "\n"
    }
}

/// Writes runs; a link's text is written as a whole, between its own marks.
pub(super) fn write(runs: &[StyledRun], inline: &dyn Inline) -> String {
    let mut out = String::new();
    let runs = struck_between_signs(runs);
    let mut rest = runs.as_ref();
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|run| run.link == first.link).count();
        let (group, after) = rest.split_at(length);
        match &first.link {
            Some(url) => {
                let written = marked(group, inline);
                inline.before_link(&mut out);
                out.push_str(&inline.link(&written, &plain(group), url));
            }
            None => out.push_str(&marked(group, inline)),
        }
        rest = after;
    }
    out
}

/// What is struck and has no mark, between `~~`, each line by itself: without a mark it would read as valid.
fn struck_between_signs(runs: &[StyledRun]) -> Cow<'_, [StyledRun]> {
    if !runs.iter().any(|run| run.style.struck_text) {
        return Cow::Borrowed(runs);
    }
    let mut made: Vec<StyledRun> = vec![];
    let mut lines = runs.iter().cloned().flat_map(lines_of_struck).collect::<Vec<_>>();
    // Blanks between two struck parts are struck with them, wherever their marks stood.
    let is_blank = |run: &StyledRun| !run.style.struck_text && !run.text.contains('\n') && run.text.trim().is_empty();
    let mut struck: Option<usize> = None;
    for index in 0..lines.len() {
        if lines[index].style.struck_text {
            let from = struck.map_or(index, |last| last + 1);
            lines[from..index].iter_mut().for_each(|run| run.style.struck_text = true);
            struck = Some(index);
        } else if !is_blank(&lines[index]) {
            struck = None;
        }
    }
    for group in lines.chunk_by(|a, b| a.style.struck_text == b.style.struck_text) {
        let is_struck = group.iter().any(|run| run.style.struck_text && !run.text.trim().is_empty());
        let mark = is_struck.then(|| StyledRun::plain("~~"));
        made.extend(mark.clone());
        made.extend(group.iter().cloned().map(|mut run| {
            run.style.struck_text = false;
            run
        }));
        made.extend(mark);
    }
    Cow::Owned(made)
}

/// A run whose ends of lines are not struck.
fn lines_of_struck(run: StyledRun) -> Vec<StyledRun> {
    if !run.style.struck_text || !run.text.contains('\n') {
        return vec![run];
    }
    let end = StyledRun { text: "\n".to_owned(), style: RunStyle { struck_text: false, ..run.style }, ..run.clone() };
    let mut made = vec![];
    for (index, line) in run.text.split('\n').enumerate() {
        made.extend((index > 0).then(|| end.clone()));
        made.extend((!line.is_empty()).then(|| StyledRun { text: line.to_owned(), ..run.clone() }));
    }
    made
}

fn has(style: RunStyle, mark: StyleMark) -> bool {
    match mark {
        StyleMark::Bold => style.bold,
        StyleMark::Italic => style.italic,
        StyleMark::Strike => style.strike,
    }
}

fn marked(runs: &[StyledRun], inline: &dyn Inline) -> String {
    let mut out = String::new();
    let mut open: Vec<StyleMark> = vec![];
    let mut pieces = spaced(runs);
    for mark in MARKS.into_iter().filter(|mark| !inline.stands_in_words(*mark)) {
        take_out_of_words(&mut pieces, mark);
    }
    for (index, (text, style)) in pieces.iter().enumerate() {
        let (text, style) = (text.as_str(), *style);
        let keep = open.iter().take_while(|mark| has(style, **mark)).count();
        for mark in open.drain(keep..).rev() {
            out.push_str(&inline.close(mark));
        }
        // Before a blank a mark is none; what ends last is opened first.
        let mut new: Vec<StyleMark> = MARKS.into_iter().filter(|mark| has(style, *mark) && !open.contains(mark)).collect();
        new.retain(|_| style.code || !text.trim().is_empty());
        new.sort_by_key(|mark| std::cmp::Reverse(pieces[index..].iter().take_while(|(_, style)| has(*style, *mark)).count()));
        for mark in new {
            out.push_str(&inline.open(mark));
            open.push(mark);
        }
        if style.code {
            out.push_str(&inline.code(text));
        } else {
            for (index, line) in text.split('\n').enumerate() {
                if index > 0 {
                    out.push_str(inline.line());
                }
                out.push_str(&inline.text(line));
            }
        }
    }
    for mark in open.drain(..).rev() {
        out.push_str(&inline.close(mark));
    }
    out
}

/// Takes a style away where its marks would be beside a letter or a digit and be read as themselves. What is struck stays between `~~`.
fn take_out_of_words(pieces: &mut Vec<(String, RunStyle)>, mark: StyleMark) {
    let mut start = 0;
    while start < pieces.len() {
        let length = pieces[start..].iter().take_while(|(_, style)| has(*style, mark)).count();
        let mut end = start + length;
        let before = start.checked_sub(1).and_then(|at| pieces[at].0.chars().next_back());
        let after = pieces.get(end).and_then(|(text, _)| text.chars().next());
        if length > 0 && [before, after].into_iter().flatten().any(char::is_alphanumeric) {
            for (_, style) in &mut pieces[start..end] {
                match mark {
                    StyleMark::Bold => style.bold = false,
                    StyleMark::Italic => style.italic = false,
                    StyleMark::Strike => style.strike = false,
                }
            }
            if mark == StyleMark::Strike {
                for at in [end, start] {
                    pieces.insert(at, ("~~".to_owned(), RunStyle::default()));
                }
                end += 2;
            }
        }
        start = end + 1;
    }
}

/// The runs with white space at their ends taken out of their style, unless both neighbours have it; and no style goes over the
/// end of a line.
fn spaced(runs: &[StyledRun]) -> Vec<(String, RunStyle)> {
    let mut pieces: Vec<(String, RunStyle, bool)> = vec![];
    for run in runs {
        if run.style.code || run.style == RunStyle::default() {
            match pieces.last_mut() {
                // Code beside code is one piece: its marks would run into each other.
                Some((text, style, _)) if run.style.code && *style == run.style => text.push_str(&run.text),
                _ => pieces.push((run.text.clone(), run.style, false)),
            }
            continue;
        }
        for (index, line) in run.text.split('\n').enumerate() {
            if index > 0 {
                pieces.push(("\n".into(), RunStyle::default(), false));
            }
            let blank = |grapheme: &&str| grapheme.chars().all(char::is_whitespace);
            let before: usize = line.graphemes(true).take_while(blank).map(str::len).sum();
            let after: usize = line[before..].graphemes(true).rev().take_while(blank).map(str::len).sum();
            let end = line.len() - after;
            for (part, is_blank) in [(&line[..before], true), (&line[before..end], false), (&line[end..], true)] {
                if !part.is_empty() {
                    pieces.push((part.to_owned(), run.style, is_blank));
                }
            }
        }
    }
    let styles: Vec<(RunStyle, bool)> = pieces.iter().map(|(_, style, is_blank)| (*style, *is_blank)).collect();
    let around = |at: Option<usize>| at.and_then(|at| styles.get(at)).map_or(RunStyle::default(), |(style, _)| *style);
    pieces
        .into_iter()
        .enumerate()
        .map(|(index, (text, style, is_blank))| match is_blank {
            true => (text, common(style, common(around(index.checked_sub(1)), around(Some(index + 1))))),
            false => (text, style),
        })
        .collect()
}

fn common(a: RunStyle, b: RunStyle) -> RunStyle {
    RunStyle { bold: a.bold && b.bold, italic: a.italic && b.italic, strike: a.strike && b.strike, ..RunStyle::default() }
}
