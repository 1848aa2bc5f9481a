//! Bold, italic and struck text: which signs are marks, as people mean them. CommonMark, which knows no words, reads marks in sums, masks, patterns
//! and names (`(5+3)*(2+1)*4`, `***-**-6789`, `*.* and *.exe`) and none in `**Status:**OK` or `これは**「重要」**です`.
//!
//! A mark opens before a word that begins and closes behind a word that ends, with what parts words on its other side. One that has no partner is text.

use std::collections::HashMap;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Parser, Tag, TagEnd};

use super::definitions::{Events, markdown_options};
use super::stand_ins::{Guarded, restored, sign_of};

/// What a text is read as: by CommonMark with tables, and with the marks that people mean.
pub(crate) fn marked_events(text: &str) -> Events<'static> {
    let guarded = Guarded::from_text(text);
    with_emphasis(Parser::new_ext(&guarded.text, markdown_options()).into_offset_iter().collect(), &guarded)
}

/// Marks that touch others are looked at so often; those that are still not sure then are text.
const ROUNDS: usize = 8;
/// So many marks beside each other are passed over to see a word.
const BESIDE: usize = 12;

/// Signs of one kind beside each other.
struct MarkRun {
    event: usize,
    /// In the text of the event.
    bytes: Range<usize>,
    /// In the text of all events.
    place: Range<usize>,
    sign: char,
    count: usize,
    /// The paragraph, cell or link that it stands in.
    within: usize,
}

/// Where in the text of an event marks stand, and what they begin and end.
type ReadMarks = (Range<usize>, Vec<Event<'static>>);

/// A pair of marks: which ones, and how many signs of each.
#[derive(Clone, Copy)]
struct MarkPair {
    open: usize,
    close: usize,
    count: usize,
}

/// What a guarded text is read as, with the places of its source: bold, italic and struck text where marks are certain, all other signs as text.
pub(super) fn with_emphasis(events: Events<'_>, guarded: &Guarded) -> Events<'static> {
    let mut told = String::new();
    let runs = runs(&events, &mut told);
    let pairs = sure(pairs(&runs, &told), &runs);
    let mut marks: HashMap<usize, Vec<ReadMarks>> = HashMap::new();
    let mut made: Vec<Vec<Event<'static>>> = runs.iter().map(|_| vec![]).collect();
    for pair in &pairs {
        let tags = || tags(runs[pair.open].sign, pair.count).into_iter();
        made[pair.open].extend(tags().map(Event::Start));
        made[pair.close].extend(tags().map(|tag| Event::End(TagEnd::from(tag))));
    }
    for (run, made) in runs.iter().zip(made).filter(|(_, made)| !made.is_empty()) {
        marks.entry(run.event).or_default().push((run.bytes.clone(), made));
    }
    let mut out: Events<'static> = Vec::with_capacity(events.len() + 2 * pairs.len());
    for (index, (event, range)) in events.into_iter().enumerate() {
        let source = |from: usize, to: usize| guarded.in_source(range.start + from)..guarded.in_source(range.start + to);
        match (event, marks.remove(&index)) {
            (Event::Text(text), Some(found)) => {
                let mut from = 0;
                for (bytes, made) in found {
                    if from < bytes.start {
                        out.push((Event::Text(owned(&text[from..bytes.start])), source(from, bytes.start)));
                    }
                    out.extend(made.into_iter().map(|event| (event, source(bytes.start, bytes.end))));
                    from = bytes.end;
                }
                if from < text.len() {
                    out.push((Event::Text(owned(&text[from..])), source(from, text.len())));
                }
            }
            (event, _) => out.push((as_written(event), guarded.in_source(range.start)..guarded.in_source(range.end))),
        }
    }
    out
}

fn owned(text: &str) -> CowStr<'static> {
    CowStr::from(restored(text).into_owned())
}

fn tags(sign: char, count: usize) -> Vec<Tag<'static>> {
    match (sign, count) {
        ('~', _) => vec![Tag::Strikethrough],
        (_, 1) => vec![Tag::Emphasis],
        (_, 2) => vec![Tag::Strong],
        _ => vec![Tag::Emphasis, Tag::Strong],
    }
}

/// An event with its own signs again.
fn as_written(event: Event<'_>) -> Event<'static> {
    match event.into_static() {
        Event::Text(text) => Event::Text(owned(&text)),
        Event::Code(text) => Event::Code(owned(&text)),
        Event::Html(text) => Event::Html(owned(&text)),
        Event::InlineHtml(text) => Event::InlineHtml(owned(&text)),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: owned(&dest_url), title: owned(&title), id: owned(&id) })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Image { link_type, dest_url: owned(&dest_url), title: owned(&title), id: owned(&id) })
        }
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(owned(&language))))
        }
        event => event,
    }
}

/// The marks of a text, and what they stand in: text, code between backticks, links between brackets, blocks on lines.
fn runs(events: &Events<'_>, told: &mut String) -> Vec<MarkRun> {
    let mut found = vec![];
    let mut open = vec![0];
    for (index, (event, _)) in events.iter().enumerate() {
        match event {
            Event::Start(tag) => {
                open.push(index + 1);
                told.push(if matches!(tag, Tag::Link { .. } | Tag::Image { .. }) { '[' } else { '\n' });
            }
            Event::End(tag) => {
                open.pop();
                told.push(if matches!(tag, TagEnd::Link | TagEnd::Image) { ']' } else { '\n' });
            }
            Event::Code(code) => told.extend(["`", code, "`"]),
            Event::SoftBreak | Event::HardBreak => told.push('\n'),
            Event::InlineHtml(html) => told.push_str(html),
            Event::Text(text) => {
                let mut chars = text.char_indices().peekable();
                while let Some((at, c)) = chars.next() {
                    let start = told.len();
                    told.push(c);
                    let Some(sign) = sign_of(c).filter(|sign| "*_~".contains(*sign)) else { continue };
                    let mut count = 1;
                    while chars.next_if(|(_, next)| *next == c).is_some() {
                        told.push(c);
                        count += 1;
                    }
                    // The sign of a key, `*️⃣`, is one with it.
                    let is_key = chars.peek().is_some_and(|(_, next)| matches!(next, '\u{FE0F}' | '\u{20E3}'));
                    if !is_key && count <= 3 && (sign != '~' || count == 2) {
                        let bytes = at..at + count * c.len_utf8();
                        let within = open.last().copied().unwrap_or_default();
                        found.push(MarkRun { event: index, bytes, place: start..told.len(), sign, count, within });
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Each mark that closes with the last one before it that opens, in the same paragraph.
fn pairs(runs: &[MarkRun], told: &str) -> Vec<MarkPair> {
    let mut found: Vec<MarkPair> = vec![];
    // What is open of each sign in each place, and how many of its signs have no partner.
    let mut open: HashMap<(char, usize), Vec<(usize, usize)>> = HashMap::new();
    for (index, run) in runs.iter().enumerate() {
        let sides = Sides { before: &told[..run.place.start], after: &told[run.place.end..], sign: run.sign, count: run.count };
        let waiting = open.entry((run.sign, run.within)).or_default();
        let mut left = run.count;
        if sides.closes() {
            while let Some((other, rest)) = waiting.last_mut().filter(|(_, rest)| *rest == left || runs_mix(*rest, left)) {
                let count = left.min(*rest);
                let (opened, opener) = (*other, &runs[*other]);
                if !is_meant(opener, run, told) {
                    waiting.pop();
                    left = 0;
                    break;
                }
                found.push(MarkPair { open: opened, close: index, count });
                *rest -= count;
                left -= count;
                if *rest == 0 {
                    waiting.pop();
                }
                if left == 0 {
                    break;
                }
            }
        }
        match (left == run.count, sides.opens(), sides.closes()) {
            (true, true, _) => waiting.push((index, run.count)),
            // It closes fewer or more signs than are open (`*a** b*`): which of them are marks is not certain.
            (true, false, true) => drop(waiting.pop()),
            (true, false, false) | (false, _, _) => {}
        }
    }
    found
}

/// Three signs are two and one.
fn runs_mix(open: usize, close: usize) -> bool {
    open == 3 && close < 3 || close == 3 && open < 3
}

/// The pairs whose signs are all taken, and that touch no mark without a partner.
fn sure(mut pairs: Vec<MarkPair>, runs: &[MarkRun]) -> Vec<MarkPair> {
    for round in 0..=ROUNDS {
        let mut taken = vec![0; runs.len()];
        for pair in &pairs {
            taken[pair.open] += pair.count;
            taken[pair.close] += pair.count;
        }
        let is_whole = |index: usize| taken[index] == runs[index].count;
        let touches = |one: usize, other: usize| runs[one].place.end == runs[other].place.start;
        let touches_any = |index: usize| index > 0 && touches(index - 1, index) || index + 1 < runs.len() && touches(index, index + 1);
        let is_sure = |index: usize| {
            let before = index.checked_sub(1).is_none_or(|before| !touches(before, index) || is_whole(before));
            let after = index + 1 >= runs.len() || !touches(index, index + 1) || is_whole(index + 1);
            is_whole(index) && before && after && (round < ROUNDS || !touches_any(index))
        };
        let count = pairs.len();
        pairs.retain(|pair| is_sure(pair.open) && is_sure(pair.close));
        if pairs.len() == count {
            break;
        }
    }
    pairs
}

/// Whether what two marks enclose is meant: not the name in `__init__`, a name in quotes (`"_id_"`), or a power (`x**(n)**y`).
fn is_meant(open: &MarkRun, close: &MarkRun, told: &str) -> bool {
    let inside = &told[open.place.end..close.place.start];
    let (before, after) = (&told[..open.place.start], &told[close.place.end..]);
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || sign_of(c) == Some('_'));
    let is_quoted = || before.ends_with(['"', '\'']) && after.starts_with(['"', '\'']) && !inside.contains(char::is_whitespace);
    let is_name = open.sign == '_' && is_name(inside) && (open.count == 2 || is_quoted());
    let is_power = open.sign == '*' && is_letter_alone(before.chars().rev()) && is_letter_alone(after.chars());
    inside.contains(|c: char| c.is_alphanumeric() || !c.is_ascii() && sign_of(c).is_none() || "*_~".contains(c)) && !is_name && !is_power
}

/// Whether the first word is one ASCII letter or digit, as the names in formulas are.
fn is_letter_alone(mut chars: impl Iterator<Item = char>) -> bool {
    chars.next().is_some_and(|c| c.is_ascii_alphanumeric()) && chars.next().is_none_or(|c| !c.is_alphanumeric())
}

/// What stands around a mark.
struct Sides<'t> {
    before: &'t str,
    after: &'t str,
    sign: char,
    count: usize,
}

/// Written without blanks between words.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_stand_in(c: char) -> bool {
    sign_of(c).is_some()
}

/// The characters without the marks that come first.
fn beside(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut left = BESIDE;
    chars.skip_while(move |c| {
        let is_mark = matches!(sign_of(*c), Some('*' | '_' | '~')) && left > 0;
        left = left.saturating_sub(1);
        is_mark
    })
}

impl Sides<'_> {
    /// What stands before and behind, without other marks.
    fn back(&self) -> impl Iterator<Item = char> {
        beside(self.before.chars().rev()).map(|c| sign_of(c).unwrap_or(c))
    }

    fn on(&self) -> impl Iterator<Item = char> {
        beside(self.after.chars()).map(|c| sign_of(c).unwrap_or(c))
    }

    fn opens(&self) -> bool {
        if self.sign == '~' {
            return self.after.chars().next().is_some_and(|c| !c.is_whitespace());
        }
        self.begins_word() && self.is_apart_before()
    }

    fn closes(&self) -> bool {
        if self.sign == '~' {
            return self.before.chars().next_back().is_some_and(|c| !c.is_whitespace());
        }
        self.ends_word() && self.is_apart_after()
    }

    fn begins_word(&self) -> bool {
        let mut on = self.on();
        let (first, second) = (on.next(), on.next());
        let goes_on = second.is_some_and(|c| c.is_alphanumeric() || "$€£.".contains(c));
        match first {
            None => false,
            // Escaped, so a mark before it was meant.
            Some('*' | '_' | '~') if !self.after.starts_with(is_stand_in) => true,
            Some(c) if self.count > 1 && self.sign == '*' => !c.is_whitespace() && !"/,;)]}”’»›」』）】》、。，；：！？…".contains(c),
            Some(c) if c.is_alphanumeric() || "`[({„“‘‚«‹「『（《【¿¡§€£¥".contains(c) => true,
            // Of two straight quotes side by side one would be outside.
            Some('"' | '\'') => !self.before.ends_with(['"', '\'']),
            Some(c) if "+-−#@$&<~".contains(c) => goes_on,
            Some(c) => !c.is_ascii() && !c.is_whitespace() && !"”’»›」』）》】、。，；：！？…–—".contains(c),
        }
    }

    fn ends_word(&self) -> bool {
        match self.back().next() {
            None => false,
            Some('*' | '_' | '~') if !self.before.ends_with(is_stand_in) => true,
            Some(',') => !self.on().next().is_some_and(char::is_alphanumeric),
            Some(c) if self.count > 1 && self.sign == '*' => !c.is_whitespace() && !"/([{„‘‚«‹「『（《【¿¡".contains(c),
            Some(c) if c.is_alphanumeric() || "`])}\"'.!?:;%$+>#-".contains(c) => true,
            Some(c) => !c.is_ascii() && !c.is_whitespace() && !"„‘‚«‹「『（《【¿¡".contains(c),
        }
    }

    fn is_apart_before(&self) -> bool {
        let mut back = self.back();
        let Some(c) = back.next().filter(|c| !c.is_whitespace()) else { return true };
        let is_double = self.count > 1 && self.sign != '_';
        match c {
            '(' | '[' | '{' | '"' | '\'' | '>' | '|' => true,
            // `and/*or*`, but not `/srv/*data*`.
            '/' => {
                is_double
                    || back.next().is_some_and(char::is_alphabetic) && back.find(|c| !c.is_alphabetic()).is_none_or(char::is_whitespace)
            }
            ':' | ';' | ',' | '.' | '!' | '?' | '-' | '`' | '&' | '+' | '=' => is_double,
            c if is_cjk(c) => self.sign == '*',
            c if c.is_alphabetic() => is_double,
            c => !c.is_ascii() && !c.is_alphanumeric(),
        }
    }

    fn is_apart_after(&self) -> bool {
        let mut on = self.on();
        let Some(c) = on.next().filter(|c| !c.is_whitespace()) else { return true };
        let goes_on = on.next().is_some_and(char::is_alphanumeric);
        let last = self.back().next();
        let is_word_over = last.is_some_and(|c| !c.is_alphanumeric() && !"\"'-".contains(c));
        match c {
            ')' | ']' | '}' | '"' | '\'' | '|' | '<' | ',' | ';' | '!' | '?' | '`' => true,
            '.' | ':' | '/' => !goes_on || self.count > 1 && self.sign == '*',
            '-' => !goes_on || self.sign == '*',
            '(' | '[' => self.sign == '*',
            '=' | '+' | '&' | '>' => self.count > 1 && self.sign == '*',
            c if is_cjk(c) => self.sign == '*',
            c if c.is_numeric() => self.count > 1 && is_word_over,
            c if c.is_alphabetic() => self.count > 1 && self.sign == '*' || is_word_over,
            c => !c.is_ascii(),
        }
    }
}
