//! Cuts a document into pieces that follow its headings and paragraphs.

use crate::port::FileContent;

/// The most characters of a piece. A row of a table is never cut, so a longer row is a piece of its own.
pub(super) const LONGEST_PIECE: usize = 1_200;
/// The most bytes of the headings above a piece.
const LONGEST_HEADING: usize = 300;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Piece {
    /// Its page, from 1, if the document has pages.
    pub(super) page: Option<u64>,
    /// The headings above it, outermost first, separated by ` > `.
    pub(super) heading: String,
    /// Its text.
    pub(super) text: String,
}

/// The pieces of a document. `has_headings`: whether lines that begin with `#` are headings, as in Markdown.
pub(super) fn pieces(content: &FileContent, has_headings: bool, has_pages: bool) -> Vec<Piece> {
    let mut cutter = PieceCutter { has_headings, ..PieceCutter::default() };
    if content.pages.is_empty() {
        cutter.read(&content.text);
    }
    for page in &content.pages {
        cutter.page = has_pages.then_some(page.number);
        cutter.read(&page.text);
    }
    if !cutter.is_told {
        cutter.add_title();
    }
    cutter.done
}

/// Reads lines, and collects pieces.
#[derive(Default)]
struct PieceCutter {
    has_headings: bool,
    page: Option<u64>,
    /// The open headings, with their levels.
    headings: Vec<(usize, String)>,
    /// Whether the innermost heading has text below it.
    is_told: bool,
    /// The piece that is being collected.
    text: String,
    /// Its length in characters.
    length: usize,
    done: Vec<Piece>,
}

impl PieceCutter {
    fn read(&mut self, text: &str) {
        let mut block = TextBlock::default();
        let mut fence = None;
        for line in text.lines() {
            let start = line.trim_start();
            if let Some(mark) = fence {
                block.push(line, false);
                if start.starts_with(mark) {
                    fence = None;
                }
                continue;
            }
            if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| self.has_headings && start.starts_with(mark)) {
                fence = Some(mark);
            }
            match heading(line).filter(|_| self.has_headings && fence.is_none()) {
                Some((level, title)) => {
                    self.take(&mut block);
                    self.open(level, title);
                }
                None if start.is_empty() => self.take(&mut block),
                None => {
                    let is_row = start.starts_with('|') || line.contains('\t');
                    if !block.lines.is_empty() && block.is_table != is_row {
                        self.take(&mut block);
                    }
                    block.push(line, is_row);
                }
            }
        }
        self.take(&mut block);
        self.close();
    }

    /// A heading begins.
    fn open(&mut self, level: usize, title: &str) {
        self.close();
        let is_below = self.headings.last().is_some_and(|(above, _)| *above < level);
        // A heading that has neither text nor headings below it is a piece itself.
        if !self.is_told && !is_below {
            self.add_title();
        }
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, title.to_owned()));
        self.is_told = false;
    }

    fn add_title(&mut self) {
        if let Some((_, title)) = self.headings.last() {
            let piece = Piece { page: self.page, heading: self.heading(), text: title.clone() };
            self.done.push(piece);
        }
    }

    fn heading(&self) -> String {
        let mut path = self.headings.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" > ");
        if path.len() > LONGEST_HEADING {
            path.truncate(path.floor_char_boundary(LONGEST_HEADING));
        }
        path
    }

    /// A paragraph or table ends.
    fn take(&mut self, block: &mut TextBlock) {
        let block = std::mem::take(block);
        if block.lines.is_empty() {
            return;
        }
        self.is_told = true;
        let whole = block.lines.join("\n");
        if whole.chars().count() <= LONGEST_PIECE {
            self.add(&whole, "\n\n");
            return;
        }
        let mut between = "\n\n";
        for line in &block.lines {
            if block.is_table || line.chars().count() <= LONGEST_PIECE {
                self.add(line, between);
                between = "\n";
            } else {
                for part in parts(line) {
                    self.add(part, between);
                    between = " ";
                }
                between = "\n";
            }
        }
    }

    /// Adds a text that stays whole to the piece, or begins the next piece with it.
    fn add(&mut self, text: &str, between: &str) {
        let length = text.chars().count();
        if !self.text.is_empty() && self.length + between.len() + length > LONGEST_PIECE {
            self.close();
        }
        if !self.text.is_empty() {
            self.text.push_str(between);
            self.length += between.len();
        }
        self.text.push_str(text);
        self.length += length;
    }

    /// The piece ends.
    fn close(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.length = 0;
        if !text.trim().is_empty() {
            let piece = Piece { page: self.page, heading: self.heading(), text: text.trim_end().to_owned() };
            self.done.push(piece);
        }
    }
}

/// Lines that belong together.
#[derive(Default)]
struct TextBlock {
    lines: Vec<String>,
    is_table: bool,
}

impl TextBlock {
    fn push(&mut self, line: &str, is_row: bool) {
        self.is_table = is_row;
        self.lines.push(line.trim_end().to_owned());
    }
}

/// The level and title of a line that is a heading (CommonMark, 4.2).
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(' ');
    let level = rest.len() - rest.trim_start_matches('#').len();
    let title = rest.get(level..)?;
    let is_heading = (1..=6).contains(&level) && line.len() - rest.len() < 4 && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| (level, title.trim().trim_end_matches('#').trim_end())).filter(|(_, title)| !title.is_empty())
}

/// A long line in parts of at most [`LONGEST_PIECE`] characters: at the ends of sentences, else at spaces, else anywhere.
fn parts(line: &str) -> Vec<&str> {
    let mut parts = vec![];
    let mut rest = line.trim();
    while let Some((most, _)) = rest.char_indices().nth(LONGEST_PIECE) {
        let Some(head) = rest.get(..most) else { break };
        let half = head.floor_char_boundary(most / 2);
        let ends = [". ", "! ", "? ", "。", "; "].into_iter().filter_map(|end| head.rfind(end).map(|at| at + end.len()));
        let at = ends.max().filter(|at| *at > half);
        let at = at.or_else(|| head.rfind(char::is_whitespace).filter(|at| *at > half)).unwrap_or(most);
        let (part, next) = rest.split_at(at);
        parts.push(part.trim());
        rest = next.trim_start();
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::port::PageText;

    fn of(text: &str) -> Vec<(String, String)> {
        let content = FileContent { text: text.to_owned(), ..FileContent::default() };
        pieces(&content, true, false).into_iter().map(|piece| (piece.heading, piece.text)).collect()
    }

    fn pair(heading: &str, text: &str) -> (String, String) {
        (heading.to_owned(), text.to_owned())
    }

    #[test]
    fn pieces_follow_headings_and_carry_those_above_them() {
        let text =
            "Before.\n\n# Leave\n\nHow leave works.\n\n## Holidays ##\n\nThirty days.\n\nIn March.\n\n## Sick leave\n# Travel\n#hash tag\n";
        assert_eq!(
            of(text),
            [
                pair("", "Before."),
                pair("Leave", "How leave works."),
                pair("Leave > Holidays", "Thirty days.\n\nIn March."),
                pair("Leave > Sick leave", "Sick leave"),
                pair("Travel", "#hash tag"),
            ]
        );
        assert_eq!(of("# Only a title"), [pair("Only a title", "Only a title")]);
        assert_eq!(of(""), []);
    }

    #[test]
    fn code_has_no_headings() {
        assert_eq!(of("# A\n```sh\n# no heading\n\nls\n```\n"), [pair("A", "```sh\n# no heading\n\nls\n```")]);
    }

    #[test]
    fn long_paragraphs_end_at_sentences_and_tables_at_rows() {
        let sentence = "This is a sentence of some length. ";
        let long = sentence.repeat(80);
        let cut = of(&long);
        assert_eq!(cut.len(), 3);
        assert!(cut.iter().all(|(_, text)| text.ends_with("length.") && text.chars().count() <= LONGEST_PIECE));
        let row = format!("| {} | b |", "x".repeat(500));
        let table = format!("| a | b |\n|---|---|\n{row}\n{row}\n{row}\n");
        assert_eq!(of(&table).iter().map(|(_, text)| text.lines().count()).collect::<Vec<_>>(), [4, 1]);
        let wide = format!("| {} |", "y".repeat(3_000));
        assert_eq!(of(&format!("{row}\n{wide}\n{row}\n")), [pair("", &row), pair("", &wide), pair("", &row)]);
        assert_eq!(of(&"z".repeat(3_000)).len(), 3);
    }

    #[test]
    fn pages_are_told_where_there_are_pages() {
        let page = |number, text: &str| PageText { number, text: text.to_owned(), images: 0 };
        let content = FileContent { pages: vec![page(1, "# one"), page(2, ""), page(3, "three\nlines")], ..FileContent::default() };
        let told: Vec<_> = pieces(&content, false, true).into_iter().map(|piece| (piece.page, piece.text)).collect();
        assert_eq!(told, [(Some(1), "# one".to_owned()), (Some(3), "three\nlines".to_owned())]);
        assert_eq!(pieces(&content, false, false).first().and_then(|piece| piece.page), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_piece_is_too_long(text in "([a-z#|. é\t]{0,40}\n{1,2}){0,60}") {
            let all = of(&text);
            let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
            let kept: usize = all.iter().map(|(_, text)| letters(text)).sum();
            let titles: usize = text.lines().filter_map(heading).map(|(_, title)| letters(title)).sum();
            prop_assert!(kept <= letters(&text) && kept + titles >= letters(&text));
            prop_assert!(all.iter().all(|(_, text)| text.chars().count() <= LONGEST_PIECE && !text.trim().is_empty()));
        }
    }
}
