//! Values that begin with `{{` without quotes (F212). To YAML they are lists of keys, or nothing at all; to the author they
//! are a template. They are read as the text they were meant to be.

use std::collections::BTreeMap;

use super::findings;
use super::frames::{OpenFrame, ParseError};
use super::tree::{Node, NodeKind, QuoteStyle, Scalar};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FileId, Span};

/// What was changed for another reading: start and end of each.
#[derive(Debug, Default)]
pub(super) struct Braces {
    /// Values that were put in quotes.
    values: BTreeMap<usize, usize>,
    /// Lines that hold a template and nothing else, where no value can stand. They are left out.
    stray: BTreeMap<usize, usize>,
    /// Texts over several lines without the mark for one, which begin with a template.
    blocks: BTreeMap<usize, usize>,
}

impl Braces {
    /// The end of the value that begins at `start`.
    pub(super) fn end_of(&self, start: usize) -> Option<usize> {
        self.values.get(&start).or_else(|| self.blocks.get(&start)).copied()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.values.len() + self.stray.len() + self.blocks.len()
    }

    /// The finding for each.
    pub(super) fn findings(&self, file: FileId, text: &str) -> Vec<Diagnostic> {
        let values = self.values.iter().map(|(start, end)| finding(file, text, *start, *end));
        let stray = self.stray.iter().map(|(start, end)| stray_finding(file, text, *start, *end));
        let blocks = self.blocks.keys().map(|start| block_finding(file, text, *start));
        values.chain(stray).chain(blocks).collect()
    }

    /// If such a value is what stopped the parser: `text` with that value in quotes, or without it, of the same length.
    pub(super) fn step_over(&mut self, text: &str, failure: &ParseError) -> Option<String> {
        let (found, brackets) = culprit(text, failure)?;
        let in_brackets = brackets.is_some();
        let start = brackets.map_or(found, |kind| beginning(text, found, kind));
        if let Some(end) = stray_line(text, start).filter(|_| !in_brackets) {
            self.stray.insert(start, end);
            return Some(format!("{}{}{}", text.get(..start)?, " ".repeat(end - start), text.get(end..)?));
        }
        let block = unmarked_block(text, start).filter(|_| !in_brackets && !self.blocks.contains_key(&start));
        if let Some(end) = block {
            self.blocks.insert(start, end);
            return Some(format!("{}\"{}\"{}", text.get(..start)?, "x".repeat(end - start - 2), text.get(end..)?));
        }
        let end = extent(text, start, brackets);
        if self.values.contains_key(&start) || end < start + 2 {
            return None;
        }
        self.values.insert(start, end);
        Some(format!("{}\"{}\"{}", text.get(..start)?, "x".repeat(end - start - 2), text.get(end..)?))
    }
}

/// Whether a value that reads `text` begins with a template.
pub(super) fn begins(text: &str) -> bool {
    text.starts_with("{{") || text.starts_with("{%")
}

/// The brackets a value is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    /// `[ ]`
    List,
    /// `{ }`
    Map,
}

/// The value with `{{` next to the place where the parser stopped, and the brackets it is in.
fn culprit(text: &str, failure: &ParseError) -> Option<(usize, Option<Brackets>)> {
    let starts = |at: usize| begins(text.get(at..).unwrap_or(""));
    let open = &failure.open;
    let kind = |open: &OpenFrame| open.in_brackets.then_some(if open.is_list { Brackets::List } else { Brackets::Map });
    if let Some(i) = open.iter().position(|o| o.in_brackets && starts(o.start)) {
        return Some((open.get(i)?.start, i.checked_sub(1).and_then(|above| kind(open.get(above)?))));
    }
    let brackets = open.last().and_then(kind);
    if let Some((braces, _)) = failure.braces.filter(|(_, end)| *end == failure.seen) {
        return Some((braces.start, brackets));
    }
    let rest = text.get(failure.seen..)?;
    let at = failure.seen + rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ':', '-', ',', '[']).len();
    let brackets = brackets.or_else(|| text.get(failure.seen..at)?.contains('[').then_some(Brackets::List));
    (starts(at) && at <= failure.at).then_some((at, brackets))
}

/// Where a value in brackets begins that holds `{{` at `start`: behind its key, or behind the "," above it.
fn beginning(text: &str, start: usize, brackets: Brackets) -> usize {
    let before = text.get(..start).unwrap_or("");
    let line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or("");
    // That of `You've` is no quote.
    let is_in_word = |at: usize| {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        line[at..].starts_with('\'') && letter(line[..at].chars().next_back()) && letter(line[at + 1..].chars().next())
    };
    let opened = line.rmatch_indices(['[', '{', ']', '}', '"', '\'']).find(|(at, _)| !is_in_word(*at)).map_or(0, |(at, _)| at + 1);
    let inside = line.get(opened..).unwrap_or("");
    let own = match (brackets, inside.rfind(": "), inside.rfind(',')) {
        (Brackets::Map, Some(key), _) => key + 2,
        (Brackets::List, _, Some(comma)) => comma + 1,
        (Brackets::List, _, None) if line.get(..opened).is_some_and(|line| line.ends_with('[')) => 0,
        _ => inside.len(),
    };
    let value = inside.get(own..).unwrap_or("");
    start - value.trim_start().len()
}

/// The end of a template that is alone on its line where a key or an entry belongs: the line above has its value already, or the
/// value comes on the line below.
fn stray_line(text: &str, start: usize) -> Option<usize> {
    let (before, rest) = (text.get(..start)?, text.get(start..)?);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let written = rest.lines().next()?.trim_end();
    let is_alone = before.get(line_start..)?.trim().is_empty() && written.ends_with(['}']);
    let content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let above = before.get(..line_start)?.lines().rev().find(content)?.trim_end();
    let below = rest.lines().skip(1).find(content).unwrap_or_default();
    let waits = above.ends_with([':', '-']);
    let is_beside = below.len() - below.trim_start().len() == start - line_start && !below.trim_start().starts_with("{{");
    (is_alone && (!waits || is_beside)).then_some(start + written.len())
}

/// The end of a text over several lines that begins with a template on the line below its key, where `|` is missing.
fn unmarked_block(text: &str, start: usize) -> Option<usize> {
    let (before, rest) = (text.get(..start)?, text.get(start..)?);
    let line_start = before.rfind('\n')? + 1;
    let column = start - line_start;
    let is_below_key = before.get(line_start..)?.trim().is_empty() && before.get(..line_start)?.trim_end().ends_with(':');
    let is_entry = |content: &str| {
        let key = content.split(':').next().unwrap_or_default();
        let is_key = key.len() < content.len() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        content.starts_with("- ") || content.starts_with('#') || is_key
    };
    let (mut end, mut at) = (None, start);
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        let content = line.trim();
        let is_inside = number == 0 || line.len() - line.trim_start().len() >= column && !(end.is_none() && is_entry(content));
        if !content.is_empty() && !is_inside {
            break;
        }
        if number > 0 && !content.is_empty() {
            end = Some(at + line.trim_end().len());
        }
        at += line.len();
    }
    end.filter(|_| is_below_key)
}

fn block_finding(file: FileId, text: &str, start: usize) -> Diagnostic {
    let above = text.get(..start).unwrap_or("").trim_end();
    let written = text.get(start..).unwrap_or("").lines().next().unwrap_or("").trim_end();
    let key = above.rsplit(['\n', ' ']).next().unwrap_or("").trim_end_matches(':');
    let found = findings::unreadable(
        Span::new(file, start, start + written.len()),
        format!("a text of several lines begins here; \"{}:\" needs a \"|\" after it", super::short(key)),
    );
    let mark = Span::new(file, above.len(), above.len());
    found.help(format!("write {}: | and leave the lines below as they are", super::short(key))).proposed_fix(vec![(mark, " |".to_owned())])
}

fn stray_finding(file: FileId, text: &str, start: usize, end: usize) -> Diagnostic {
    let written = text.get(start..end).unwrap_or("");
    let opener = written.get(..2).unwrap_or("{{");
    // The key of a text of several lines, whose lines are not indented.
    let mut above = text
        .get(..start)
        .unwrap_or("")
        .lines()
        .rev()
        .take(50)
        .skip_while(|line| line.trim().is_empty() || !line.contains(": ") && !line.starts_with(' '));
    if let Some((key, _)) =
        above.next().and_then(|line| line.trim_end().strip_suffix(['|', '>'])?.trim().trim_start_matches("- ").split_once(':'))
    {
        let key = super::short(key);
        let message = format!("the lines below \"{key}:\" are its text, and must be indented further than \"{key}\"");
        return findings::unreadable(Span::new(file, start, end), message)
            .help(format!("indent each line of the text by two spaces more than \"{key}\""));
    }
    let found =
        findings::unreadable(Span::new(file, start, end), format!("this line begins with {opener}, but a key belongs here: name: value"));
    match opener {
        "{%" => found.help("write {% … %} only inside a text; give a key or a step \"when\" in its place"),
        _ => found.help(format!(
            "write a key before it, name: {}, or indent it as a part of the text above",
            super::to_write(&super::quoted(written))
        )),
    }
}

/// Where the value that begins at `start` was meant to end.
fn extent(text: &str, start: usize, brackets: Option<Brackets>) -> usize {
    let rest = text.get(start..).unwrap_or("");
    let line = rest.find('\n').unwrap_or(rest.len());
    let closer = |text: &str| if text.starts_with("{%") { "%}" } else { "}}" };
    // It may continue over the lines below; one that is never closed ends with its line.
    let reach = line + continuation(text, start, rest.get(line..).unwrap_or(""));
    let opened = rest.get(..line).and_then(first_template).unwrap_or(0);
    let closed = |from: usize| rest.get(from..reach).and_then(|r| r.find(closer(r))).map(|i| from + i + 2);
    let mut from = closed(opened).unwrap_or(line.min(opened + 2));
    if let Some(brackets) = brackets {
        loop {
            let tail = rest.get(from..).unwrap_or("");
            let tail = tail.get(..tail.find('\n').unwrap_or(tail.len())).unwrap_or("");
            let end = tail.find([',', ']', '}']).unwrap_or(tail.len());
            // The text may continue behind another template, and behind a "," that no key follows.
            if let Some(next) = tail.get(..end).and_then(first_template).and_then(|at| closed(from + at)) {
                from = next;
            } else if brackets == Brackets::Map && tail.get(end..).is_some_and(|rest| rest.starts_with(',') && !begins_with_key(rest)) {
                from += end + 1;
            } else {
                return start + rest.get(..from + end).unwrap_or("").trim_end().len();
            }
        }
    }
    let tail = rest.get(from..).unwrap_or("");
    let end_of_line = tail.find('\n').unwrap_or(tail.len());
    let tail = tail.get(..end_of_line).unwrap_or("");
    let end = match tail.find(" #") {
        Some(comment) => from + comment,
        None => reach.max(from + end_of_line),
    };
    start + rest.get(..end).unwrap_or("").trim_end().len()
}

fn first_template(text: &str) -> Option<usize> {
    [text.find("{{"), text.find("{%")].into_iter().flatten().min()
}

/// Whether behind this "," a key begins, the brackets end, or the line does.
fn begins_with_key(text: &str) -> bool {
    let next = text.trim_start_matches([',', ' ']);
    let word = next.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\''));
    next.is_empty() || next.starts_with(['}', '#']) || word.len() < next.len() && word.starts_with(':')
}

/// Length of the lines in `below` that continue with the value that begins at `start`: those indented further than its key
/// that are no keys and no list items themselves.
fn continuation(text: &str, start: usize, below: &str) -> usize {
    let line = text.get(text.get(..start).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1)..start).unwrap_or("");
    let column = line.len() - line.trim_start_matches([' ', '-']).len();
    let goes_on = |line: &&str| {
        let content = line.trim();
        let is_entry = content.starts_with("- ") || content.starts_with('#') || content.contains(": ") || content.ends_with(':');
        content.is_empty() || (!is_entry && line.len() - line.trim_start().len() > column)
    };
    // The first piece is the empty rest of the value's own line.
    usize::from(below.starts_with('\n')) + below.split_inclusive('\n').skip(1).take(20).take_while(goes_on).map(str::len).sum::<usize>()
}

/// The text that was meant, as a node.
pub(super) fn node(file: FileId, text: &str, start: usize, end: usize) -> Node {
    let written = text.get(start..end).unwrap_or("");
    let is_one_line = !written.contains('\n');
    let text: String = if is_one_line { written.to_owned() } else { written.split_whitespace().collect::<Vec<_>>().join(" ") };
    let offsets = if is_one_line { vec![(0, start as u32)] } else { vec![] };
    let value = text.as_str().into();
    Node { span: Span::new(file, start, end), kind: NodeKind::Scalar(Scalar { offsets, ..Scalar::new(text, QuoteStyle::Plain, value) }) }
}

/// F212 with the quotes as its fix.
pub(super) fn finding(file: FileId, text: &str, start: usize, end: usize) -> Diagnostic {
    let span = Span::new(file, start, end);
    let written = text.get(start..end).unwrap_or("");
    let at = first_template(written).unwrap_or(0);
    let opener = written.get(at..at + 2).unwrap_or("{{");
    let what = if at == 0 { format!("starts with {opener}") } else { format!("holds {opener} in brackets") };
    let quoted = super::quoted(without_last_quote(written));
    let found = Diagnostic::new(Code::UnquotedTemplate, span, format!("a value that {what} must be in quotes"));
    let found =
        if written.contains('\n') { found.help("put quotes around it") } else { found.help(format!("write {}", super::to_write(&quoted))) };
    let edits = vec![(span, quoted)];
    if is_whole(written) { found.safe_fix(edits) } else { found.proposed_fix(edits) }
}

/// Without a quote at its end that none opens.
fn without_last_quote(written: &str) -> &str {
    last_quote(written).and_then(|quote| written.strip_suffix(quote)).unwrap_or(written)
}

/// The quote at its end that none opens.
fn last_quote(written: &str) -> Option<char> {
    let last = written.chars().next_back()?;
    let opener = match last {
        '”' => '“',
        '’' => '‘',
        '»' => '«',
        '"' | '\'' => last,
        _ => return None,
    };
    let opened = written.matches(opener).count();
    (if opener == last { opened % 2 == 1 } else { opened == 0 }).then_some(last)
}

/// Whether a value surely ends where it was found to end: not with a quote, a "," or a bracket that something else may have left there.
fn is_whole(written: &str) -> bool {
    let is_closed_twice =
        |open: char, close: char| written.ends_with(close) && written.matches(close).count() > written.matches(open).count();
    last_quote(written).is_none() && !written.ends_with([',', ';']) && !is_closed_twice('{', '}') && !is_closed_twice('[', ']')
}
