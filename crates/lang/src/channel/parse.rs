//! Markdown (CommonMark, tables, strike) → document.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Tag, TagEnd};

use super::address::{LinkTarget, mark_addresses};
use super::clean::{clean, shows};
use super::counted::{marker, uncounted};
use super::definitions::{Events, events, is_footnote};
use super::degrade::plain_address;
use super::document::{
    BlockKind, DocumentBlock, DocumentRow, ListItem, RunStyle, StyledRun, cut, drop_empty, each_text, plain, push, put, trim,
};
use super::emphasis::with_emphasis;
use super::stand_ins::{Guarded, restored};
use super::tags::{self, HtmlPiece, Pairs};

/// Deeper quotes and lists are joined to their parents: a text cannot make the room work without bound.
const DEEPEST: usize = 8;

/// Reads a text. HTML is taken off: its known tags go, `b`, `i`, `s`, `code`, `a`, `sup`, `sub` and `br` keep their meaning, scripts,
/// styles and drawings go with their content; an image leaves its description and address. What only looks like a tag (`Vec<Item>`, a
/// lone `<script>`, `a <b and c> d`) stays text. All that is left out is listed in `docs/language.md`, section 10.
/// Returns the document and how many hostile characters it would have brought in by character references.
pub(super) fn parse(text: &str) -> (Vec<DocumentBlock>, usize) {
    let guarded = Guarded::from_text(text);
    let (events, unused) = events(&guarded.text);
    let unused = unused.into_iter().map(|(at, definition)| (guarded.in_source(at), restored(&definition).into_owned()));
    read(text, with_emphasis(events, &guarded), unused.collect())
}

/// The same, as other readers of CommonMark read it.
pub(super) fn parse_strictly(text: &str) -> Vec<DocumentBlock> {
    let (events, unused) = events(text);
    read(text, events, unused).0
}

/// The document of events, and of the definitions that no link uses.
fn read(text: &str, events: Events<'_>, unused: Vec<(usize, String)>) -> (Vec<DocumentBlock>, usize) {
    let mut reader = MarkdownReader { pairs: Pairs::from_text(text), ..MarkdownReader::default() };
    let mut unused = unused.into_iter().peekable();
    let uncounted = uncounted(&events, text);
    for (event, range) in events {
        let place = if matches!(event, Event::End(_)) { range.end } else { range.start };
        while let Some((_, definition)) = unused.next_if(|(at, _)| *at < place) {
            reader.definition(&definition);
        }
        reader.rest_of_row(&event, &range, text);
        match event {
            Event::Start(Tag::List(_)) if uncounted.contains(&range.start) => reader.list(None, true),
            Event::Start(Tag::Item) if reader.lists.last().is_some_and(|list| list.is_text) => {
                reader.number(marker(text, range.start));
            }
            event => reader.event(event),
        }
    }
    reader.flush(BlockKind::Paragraph);
    unused.for_each(|(_, definition)| reader.definition(&definition));
    let (mut blocks, loose) = (reader.blocks, reader.loose);
    let mut removed = 0;
    each_text(&mut blocks, true, |runs| {
        for run in runs.iter_mut() {
            let (text, count) = clean(&run.text);
            removed += count;
            run.text = text.into_owned();
        }
        runs.retain(|run| !run.text.is_empty());
        if !shows(&plain(runs)) {
            runs.clear();
        }
        mark_addresses(runs);
    });
    drop_empty(&mut blocks);
    join(&mut blocks, &loose);
    (blocks, removed)
}

/// Whether a link's text is the number of a source: of one to three digits, as `[1]` alone or right behind a figure.
fn is_source_number(text: &str, before: Option<char>, is_shortcut: bool) -> bool {
    let is_number = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (is_shortcut || before.is_some_and(|c| c.is_ascii_digit() || c == '%'))
}

/// Which blocks follow the one before without an empty line: in a tight list, and in a table.
fn join(blocks: &mut [DocumentBlock], loose: &HashSet<u32>) {
    for index in 1..blocks.len() {
        let [before, block] = &mut blocks[index - 1..=index] else { continue };
        let same_table = matches!((&before.kind, &block.kind), (BlockKind::Row(a), BlockKind::Row(b)) if a.table == b.table);
        let shared = before.items.iter().zip(&block.items).take_while(|(a, b)| a.list == b.list).last();
        block.tight = same_table || shared.is_some_and(|(item, _)| !loose.contains(&item.list));
    }
}

/// A link or an image that is being read.
struct OpenLink {
    to: LinkTarget,
    /// How many bytes of text are before its own.
    from: usize,
    /// Written as `[1]` alone, with its address elsewhere.
    is_shortcut: bool,
}

/// A list that is being read.
struct OpenList {
    id: u32,
    /// The number of its next element, if it has numbers.
    next: Option<u64>,
    /// Deeper than we go.
    too_deep: bool,
    /// Its numbers are text.
    is_text: bool,
}

#[derive(Default)]
struct MarkdownReader {
    pairs: Pairs,
    /// Something was just left out: the space before it and the one after it are one.
    is_gap: bool,
    blocks: Vec<DocumentBlock>,
    runs: Vec<StyledRun>,
    bold: u32,
    italic: u32,
    strike: u32,
    /// Styles by HTML tags; they end with their block.
    html: RunStyle,
    links: Vec<OpenLink>,
    /// Where text began that stands higher or lower, and the sign for it: `10<sup>3</sup>` is not 103.
    raised: Vec<(&'static str, usize)>,
    /// The word that was just raised, in the text so far.
    was_raised: Option<Range<usize>>,
    /// Where the last cell ended.
    cell_end: usize,
    /// The open tag whose content is left out.
    hidden: Option<String>,
    items: Vec<ListItem>,
    lists: Vec<OpenList>,
    quote: u8,
    /// What stood open around each quote: a quote inside a list stands by itself.
    outer: Vec<(Vec<ListItem>, Vec<OpenList>)>,
    loose: HashSet<u32>,
    next_id: u32,
    /// A number that the next text begins with.
    number: String,
    code: Option<String>,
    html_block: Option<String>,
    /// The open lists of HTML; the number of the next element, if it has one.
    html_lists: Vec<Option<u64>>,
    table: u32,
    header: Arc<Vec<Vec<StyledRun>>>,
    cells: Vec<Vec<StyledRun>>,
    has_rows: bool,
}

impl MarkdownReader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.html_block {
                Some(html) => html.push_str(&text),
                None => self.text(&text, false),
            },
            Event::Code(text) => self.text(&text, true),
            Event::Html(html) => match &mut self.html_block {
                Some(block) => block.push_str(&html),
                None => self.html(&html),
            },
            Event::InlineHtml(html) => self.html(&html),
            // A `<br>` at the end of a line is one line break with it.
            Event::SoftBreak | Event::HardBreak if self.runs.last().is_some_and(|run| run.text.ends_with('\n')) => {}
            Event::SoftBreak | Event::HardBreak => self.text("\n", false),
            Event::Rule => {
                self.flush(BlockKind::Paragraph);
                self.add(BlockKind::Rule, vec![]);
            }
            // Extensions that are not switched on.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => self.text(&text, false),
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                self.flush(BlockKind::Paragraph);
                if let Some(list) = self.lists.last() {
                    self.loose.insert(list.id);
                }
            }
            Tag::Heading { .. } => self.flush(BlockKind::Paragraph),
            Tag::BlockQuote(_) => {
                self.number_alone();
                self.flush(BlockKind::Paragraph);
                self.outer.push((std::mem::take(&mut self.items), std::mem::take(&mut self.lists)));
                self.quote = self.outer.len().min(DEEPEST) as u8;
            }
            Tag::CodeBlock(kind) => {
                self.number_alone();
                self.flush(BlockKind::Paragraph);
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(language) => language.trim().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::HtmlBlock => {
                self.flush(BlockKind::Paragraph);
                self.html_block = Some(String::new());
            }
            Tag::List(number) => self.list(number, false),
            Tag::Item => {
                self.flush(BlockKind::Paragraph);
                self.next_id += 1;
                if let Some(list) = self.lists.last_mut().filter(|list| !list.too_deep) {
                    self.items.push(ListItem { list: list.id, id: self.next_id, number: list.next });
                }
            }
            Tag::Table(_) => {
                self.number_alone();
                self.flush(BlockKind::Paragraph);
                self.next_id += 1;
                (self.table, self.has_rows) = (self.next_id, false);
            }
            Tag::TableHead | Tag::TableRow => self.cells = vec![],
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. } if is_footnote(link_type, &id) => {
                self.text("[", false);
                self.open_link(LinkTarget::Footnote);
            }
            Tag::Link { dest_url, link_type: LinkType::Email, .. } => {
                self.open_link(LinkTarget::from_address(&format!("mailto:{dest_url}")))
            }
            Tag::Link { dest_url, link_type, .. } | Tag::Image { dest_url, link_type, .. } => {
                self.open_link(LinkTarget::from_address(&dest_url));
                if let (LinkType::Shortcut, Some(link)) = (link_type, self.links.last_mut()) {
                    link.is_shortcut = true;
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(BlockKind::Paragraph),
            TagEnd::Heading(level) => self.flush(BlockKind::Heading(level as u8)),
            TagEnd::BlockQuote(_) => {
                self.flush(BlockKind::Paragraph);
                (self.items, self.lists) = self.outer.pop().unwrap_or_default();
                self.quote = self.outer.len().min(DEEPEST) as u8;
            }
            TagEnd::CodeBlock => {
                let mut language = self.code.take().unwrap_or_default();
                let mut runs = std::mem::take(&mut self.runs);
                // What says more than the language of code that follows is text.
                if language.contains(char::is_whitespace) || !shows(&plain(&runs)) {
                    runs.insert(0, StyledRun::plain(format!("{}\n", std::mem::take(&mut language))));
                }
                if let Some(last) = runs.last_mut() {
                    last.text.truncate(last.text.trim_end_matches('\n').len());
                }
                // A block of code cannot be struck.
                let kind = if self.html.strike { BlockKind::Paragraph } else { BlockKind::Code(language) };
                self.add(kind, runs);
            }
            TagEnd::HtmlBlock => {
                let html = self.html_block.take().unwrap_or_default();
                self.html(&html);
                self.flush(BlockKind::Paragraph);
            }
            TagEnd::List(_) => {
                self.flush(BlockKind::Paragraph);
                self.lists.pop();
            }
            TagEnd::Item if self.lists.last().is_some_and(|list| list.is_text) => self.number_alone(),
            TagEnd::Item => {
                self.flush(BlockKind::Paragraph);
                if let Some(list) = self.lists.last_mut().filter(|list| !list.too_deep) {
                    self.items.pop();
                    list.next = list.next.map(|number| number.saturating_add(1));
                }
            }
            TagEnd::TableCell => {
                self.end_block();
                let mut cell = std::mem::take(&mut self.runs);
                cell.iter_mut().for_each(|run| run.text = run.text.replace('\n', " "));
                trim(&mut cell, true, true);
                self.cells.push(cell);
            }
            TagEnd::TableHead => self.header = Arc::new(std::mem::take(&mut self.cells)),
            TagEnd::TableRow => {
                self.has_rows = true;
                self.row();
            }
            TagEnd::Table if !self.has_rows => self.row(),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    fn list(&mut self, next: Option<u64>, is_text: bool) {
        if !is_text {
            self.number_alone();
        }
        if self.number.is_empty() {
            self.flush(BlockKind::Paragraph);
        }
        self.next_id += 1;
        self.lists.push(OpenList { id: self.next_id, next, too_deep: self.items.len() >= DEEPEST, is_text });
    }

    /// An element of a list whose numbers are text. Where no paragraph ended before it, it is a line of the same one.
    fn number(&mut self, marker: &str) {
        let line = if self.runs.is_empty() || !self.number.is_empty() { "" } else { "\n" };
        self.number.push_str(&format!("{line}{marker} "));
    }

    /// A number behind which comes no text of its paragraph.
    fn number_alone(&mut self) {
        let number = std::mem::take(&mut self.number);
        if !number.is_empty() {
            push(&mut self.runs, StyledRun::plain(number.trim_end_matches(' ')));
        }
    }

    fn row(&mut self) {
        let row = DocumentRow { table: self.table, header: Arc::clone(&self.header), cells: std::mem::take(&mut self.cells) };
        self.add(BlockKind::Row(row), vec![]);
    }

    fn text(&mut self, text: &str, code: bool) {
        if self.hidden.is_some() {
            return;
        }
        let number = std::mem::take(&mut self.number);
        if !number.is_empty() {
            push(&mut self.runs, StyledRun::plain(number));
        }
        let style = RunStyle {
            bold: self.bold > 0 || self.html.bold,
            italic: self.italic > 0 || self.html.italic,
            strike: self.strike > 0 || self.html.strike,
            struck_text: false,
            code: code || self.html.code,
        };
        let style = match (&self.code, self.html.strike) {
            (None, _) => style,
            (Some(_), false) => RunStyle::default(),
            (Some(_), true) => RunStyle { code: true, strike: true, ..RunStyle::default() },
        };
        let is_gap = std::mem::take(&mut self.is_gap) && self.runs.last().is_some_and(|run| run.text.ends_with(' '));
        let text = if is_gap { text.trim_start_matches(' ') } else { text };
        // `5<sup>2</sup>3` is not 5^23, and `10<sup>3</sup>.5` not 10^3.5.
        if text.trim_start_matches(['.', ',']).starts_with(char::is_alphanumeric) {
            self.set_apart_raised();
        }
        self.was_raised = None;
        let link = self.link();
        let whole = link.is_some();
        push(&mut self.runs, StyledRun { text: text.to_owned(), style, link, whole });
    }

    /// The address of the text that is being read.
    fn link(&self) -> Option<Arc<str>> {
        self.links.iter().find_map(|link| match &link.to {
            LinkTarget::Link(address) => Some(Arc::clone(address)),
            LinkTarget::Shown(_) | LinkTarget::Footnote | LinkTarget::Nothing => None,
        })
    }

    fn length(&self) -> usize {
        self.runs.iter().map(|run| run.text.len()).sum()
    }

    /// A link inside a link leads where the outer one does; its own address stands after its text.
    fn open_link(&mut self, to: LinkTarget) {
        let to = match to {
            LinkTarget::Link(address) if self.link().is_some() => LinkTarget::Shown(plain_address(&address).to_owned()),
            to => to,
        };
        self.links.push(OpenLink { to, from: self.length(), is_shortcut: false });
    }

    fn close_link(&mut self) {
        let Some(OpenLink { to, from, is_shortcut }) = self.links.pop() else { return };
        if self.hidden.is_some() {
            return;
        }
        let text = plain(&cut(&self.runs, from..usize::MAX));
        let around = self.link();
        let address = |text: &str, link: &Option<Arc<str>>| StyledRun {
            text: text.to_owned(),
            link: link.clone(),
            whole: true,
            ..StyledRun::default()
        };
        match to {
            // The number of a source is no figure: `5[1]` is not 51.
            LinkTarget::Link(_) if is_source_number(&text, plain(&cut(&self.runs, 0..from)).chars().next_back(), is_shortcut) => {
                let like =
                    |text: &str| cut(&self.runs, from..usize::MAX).first().map(|run| StyledRun { text: text.to_owned(), ..run.clone() });
                let end = from + text.len();
                let changes = vec![(from..from, like("[").into_iter().collect()), (end..end, like("]").into_iter().collect())];
                put(&mut self.runs, changes);
            }
            LinkTarget::Link(_) if shows(&text) => {}
            LinkTarget::Link(link) => push(&mut self.runs, address(plain_address(&link), &Some(Arc::clone(&link)))),
            LinkTarget::Shown(place) if text.trim() == place => {}
            LinkTarget::Shown(place) if shows(&text) => {
                let bracket = |text: &str| StyledRun { link: around.clone(), whole: around.is_some(), ..StyledRun::plain(text) };
                [bracket(" ("), address(&place, &around), bracket(")")].into_iter().for_each(|run| push(&mut self.runs, run));
            }
            LinkTarget::Shown(place) => push(&mut self.runs, address(&place, &around)),
            LinkTarget::Footnote => self.text("]", false),
            LinkTarget::Nothing => {}
        }
    }

    /// Brackets around the word that was just raised: what follows would be read with it.
    fn set_apart_raised(&mut self) {
        if let Some(raised) = self.was_raised.take() {
            let bracket = |text: &str| vec![StyledRun::plain(text)];
            put(&mut self.runs, vec![(raised.start..raised.start, bracket("(")), (raised.end..raised.end, bracket(")"))]);
        }
    }

    /// Text that stands higher or lower gets a sign before it, and brackets if it is more than one word.
    fn raise(&mut self, sign: &'static str, is_end: bool) {
        self.set_apart_raised();
        if !is_end {
            self.raised.push((sign, self.length()));
            return;
        }
        let Some((sign, from)) = self.raised.pop() else { return };
        let text = plain(&cut(&self.runs, from..usize::MAX));
        if !shows(&text) {
            return;
        }
        let to = from + text.len();
        let is_word = text.chars().all(char::is_alphanumeric);
        let (before, after) = if is_word { (sign.to_owned(), "") } else { (format!("{sign}("), ")") };
        let like = |text: &str| {
            cut(&self.runs, from..to).first().map(|run| StyledRun { text: text.to_owned(), ..run.clone() }).unwrap_or_default()
        };
        let changes = vec![(from..from, vec![like(&before)]), (to..to, vec![like(after)])];
        put(&mut self.runs, changes);
        self.was_raised = is_word.then_some(from + before.len()..to + before.len());
    }

    /// A definition that no link uses is a paragraph.
    fn definition(&mut self, text: &str) {
        self.flush(BlockKind::Paragraph);
        self.text(text, false);
        self.flush(BlockKind::Paragraph);
    }

    /// A row with more cells than its table has columns: Markdown passes over them; they are in its last cell.
    fn rest_of_row(&mut self, event: &Event<'_>, range: &Range<usize>, text: &str) {
        match event {
            Event::End(TagEnd::TableCell) => self.cell_end = range.end,
            Event::End(TagEnd::TableRow) => {
                let rest = text.get(self.cell_end..range.end).unwrap_or_default().trim().trim_matches('|').trim();
                if let Some(last) = self.cells.last_mut().filter(|_| shows(rest)) {
                    push(last, StyledRun::plain(format!(" | {rest}")));
                }
            }
            _ => {}
        }
    }

    fn html(&mut self, html: &str) {
        for piece in tags::scan(html, &self.pairs) {
            match piece {
                HtmlPiece::Text(text) => self.text(&text, false),
                HtmlPiece::Nothing => self.is_gap = true,
                HtmlPiece::Tag { name, is_end, href, src, alt, start } => {
                    if let Some(hidden) = &self.hidden {
                        if is_end && *hidden == name {
                            self.hidden = None;
                            self.is_gap = true;
                        }
                        continue;
                    }
                    match name.as_str() {
                        "b" | "strong" => self.html.bold = !is_end,
                        "i" | "em" => self.html.italic = !is_end,
                        "s" | "del" | "strike" => self.html.strike = !is_end,
                        "code" | "kbd" | "tt" => self.html.code = !is_end,
                        "a" if is_end => self.close_link(),
                        "a" => self.open_link(href.as_deref().map_or(LinkTarget::Nothing, LinkTarget::from_address)),
                        "img" => {
                            self.open_link(src.as_deref().map_or(LinkTarget::Nothing, LinkTarget::from_address));
                            self.text(&alt.unwrap_or_default(), false);
                            self.close_link();
                        }
                        "sup" => self.raise("^", is_end),
                        "sub" => self.raise("_", is_end),
                        "td" | "th" => self.text(" ", false),
                        "ol" | "ul" => {
                            self.line();
                            match is_end {
                                true => drop(self.html_lists.pop()),
                                false => self.html_lists.push((name == "ol").then_some(start.unwrap_or(1))),
                            }
                        }
                        "li" if !is_end && !self.html_lists.is_empty() => self.html_item(),
                        _ if tags::hides(&name) && !is_end => self.hidden = Some(name),
                        _ if tags::breaks(&name) => self.line(),
                        _ => self.is_gap = true,
                    }
                }
            }
        }
    }

    /// An element of a list of HTML: a line with its number or bullet.
    fn html_item(&mut self) {
        self.line();
        let depth = "  ".repeat(self.html_lists.len().min(DEEPEST).saturating_sub(1));
        let Some(list) = self.html_lists.last_mut() else { return };
        let mark = list.map_or("- ".to_owned(), |number| format!("{number}. "));
        *list = list.map(|number| number.saturating_add(1));
        self.text(&format!("{depth}{mark}"), false);
    }

    fn line(&mut self) {
        if let Some(last) = self.runs.last_mut() {
            last.text.truncate(last.text.trim_end_matches(' ').len());
        }
        if self.runs.last().is_some_and(|run| !run.text.ends_with('\n')) {
            self.text("\n", false);
        }
    }

    /// Ends the block of text that is being read, if there is one.
    fn flush(&mut self, kind: BlockKind) {
        self.end_block();
        let mut runs = std::mem::take(&mut self.runs);
        trim(&mut runs, true, true);
        if matches!(kind, BlockKind::Heading(_)) {
            runs.iter_mut().for_each(|run| run.text = run.text.replace('\n', " "));
        }
        if !runs.is_empty() {
            self.add(kind, runs);
        }
    }

    /// What HTML opened does not reach into the next block.
    fn end_block(&mut self) {
        while !self.links.is_empty() {
            self.close_link();
        }
        (self.raised, self.was_raised) = (vec![], None);
        // What is struck stays so until its tag ends: it may be a whole paragraph.
        self.html = RunStyle { strike: self.html.strike, ..RunStyle::default() };
        self.hidden = None;
        self.is_gap = false;
    }

    fn add(&mut self, kind: BlockKind, runs: Vec<StyledRun>) {
        let keep = matches!(kind, BlockKind::Heading(_));
        self.blocks.push(DocumentBlock { quote: self.quote, items: self.items.clone(), tight: false, keep, kind, runs });
    }
}
