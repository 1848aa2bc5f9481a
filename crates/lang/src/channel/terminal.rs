//! Markdown → blocks for a person at a terminal: bold, italic and code as its colours show them; the text itself brings no control.

use super::document::{BlockKind, DocumentBlock, RunStyle, StyledRun};
use super::parse::parse;
use crate::diagnostic::visible_lines;

/// A block of a text for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalBlock {
    /// An empty line stands before it.
    pub is_apart: bool,
    /// What its first line begins with; the others begin below its end.
    pub first: String,
    /// Its text: words of one line, or lines of code.
    pub text: String,
    /// Its lines stay as they are: code, a table.
    pub is_verbatim: bool,
}

/// The blocks of a Markdown text, with colours or without.
pub fn terminal_blocks(markdown: &str, is_coloured: bool) -> Vec<TerminalBlock> {
    let (blocks, _) = parse(markdown);
    let mut drawn: Vec<TerminalBlock> = vec![];
    let (mut seen, mut table) = (vec![], None);
    for block in &blocks {
        let is_first = drawn.is_empty();
        let mut one = TerminalBlock { is_apart: !is_first && !block.tight, first: begin(block, &mut seen), ..block_of(block, is_coloured) };
        if let BlockKind::Row(row) = &block.kind {
            if table == Some(row.table) {
                one.is_apart = false;
            } else if !row.header.is_empty() {
                let text = painted(&cells(&row.header, is_coloured), "1", is_coloured);
                drawn.push(TerminalBlock { text, ..one.clone() });
                one.is_apart = false;
            }
            table = Some(row.table);
        } else {
            table = None;
        }
        drawn.push(one);
    }
    drawn
}

/// The marks of quotes and lists. The elements whose mark was drawn are `seen`.
fn begin(block: &DocumentBlock, seen: &mut Vec<u32>) -> String {
    let mut first = "│ ".repeat(usize::from(block.quote));
    for item in &block.items {
        let mark = match item.number {
            Some(number) => format!("{number}. "),
            None => "• ".to_owned(),
        };
        if seen.contains(&item.id) {
            first.push_str(&" ".repeat(mark.chars().count()));
        } else {
            seen.push(item.id);
            first.push_str(&mark);
        }
    }
    first
}

fn block_of(block: &DocumentBlock, is_coloured: bool) -> TerminalBlock {
    let (text, is_verbatim) = match &block.kind {
        BlockKind::Paragraph => (words(&block.runs, is_coloured), false),
        BlockKind::Heading(_) => (painted(&words(&block.runs, false), "1", is_coloured), false),
        BlockKind::Code(_) => {
            let code: String = block.runs.iter().map(|run| run.text.as_str()).collect();
            let lines = visible_lines(code.trim_end_matches('\n'));
            (
                lines
                    .split('\n')
                    .map(|line| if line.is_empty() { String::new() } else { format!("    {}", painted(line, "36", is_coloured)) })
                    .collect::<Vec<_>>()
                    .join("\n"),
                true,
            )
        }
        BlockKind::Rule => ("───".to_owned(), true),
        BlockKind::Row(row) => (cells(&row.cells, is_coloured), true),
    };
    TerminalBlock { is_apart: false, first: String::new(), text, is_verbatim }
}

fn cells(cells: &[Vec<StyledRun>], is_coloured: bool) -> String {
    cells.iter().map(|cell| words(cell, is_coloured)).collect::<Vec<_>>().join(" │ ")
}

/// The words of runs, each with its own colour, so that a line may end between any two.
fn words(runs: &[StyledRun], is_coloured: bool) -> String {
    let mut text = String::new();
    for run in runs {
        let shown = visible_lines(&run.text);
        let code = code(run.style);
        let painted: Vec<String> = shown.split(' ').map(|word| painted(word, code, is_coloured)).collect();
        text.push_str(&painted.join(" "));
        if let Some(link) = run.link.as_deref().filter(|link| *link != run.text && link.strip_prefix("mailto:") != Some(&run.text)) {
            text.push_str(&format!(" ({})", visible_lines(link)));
        }
    }
    text
}

/// The colours of a style; empty: none.
fn code(style: RunStyle) -> &'static str {
    match style {
        RunStyle { code: true, .. } => "36",
        RunStyle { bold: true, italic: true, .. } => "1;3",
        RunStyle { bold: true, .. } => "1",
        RunStyle { italic: true, .. } => "3",
        RunStyle { strike: true, .. } => "9",
        RunStyle { .. } => "",
    }
}

fn painted(text: &str, code: &str, is_coloured: bool) -> String {
    if !is_coloured || code.is_empty() || text.is_empty() {
        return text.to_owned();
    }
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, is_coloured: bool) -> String {
        let line = |block: TerminalBlock| format!("{}{}{}\n", if block.is_apart { "\n" } else { "" }, block.first, block.text);
        terminal_blocks(text, is_coloured).into_iter().map(line).collect()
    }

    #[test]
    fn marks_become_colours_and_lists_stay_lists() {
        let text = "# Hours\n\nYou have **32 of 40** hours, see [the sheet](https://example.org/x).\n\n- Mon\n- Tue\n  - am\n\n1. one\n\n```\nlet x;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n";
        let plain = drawn(text, false);
        assert_eq!(
            plain,
            "Hours\n\nYou have 32 of 40 hours, see the sheet (https://example.org/x).\n\n• Mon\n• Tue\n  • am\n\n1. one\n\n    let x;\n\na │ b\n1 │ 2\n3 │ 4\n"
        );
        assert!(drawn(text, true).contains("You have \x1b[1m32\x1b[0m \x1b[1mof\x1b[0m \x1b[1m40\x1b[0m hours"));
    }

    #[test]
    fn no_control_of_a_text_reaches_the_terminal() {
        for hostile in [
            "\u{1b}[2Jhi",
            "a `\u{1b}]52;c;aGk=\u{7}` b",
            "```\n\u{9b}31m\r\u{202e}x\n```",
            "[x](https://a.example/\u{1b}[31m)",
            "| \u{1b}[2J |\n|---|\n| \u{8} |",
        ] {
            let shown = drawn(hostile, false);
            assert!(shown.chars().all(|sign| sign == '\n' || !sign.is_control() && sign != '\u{202e}'), "{shown:?}");
        }
    }
}
