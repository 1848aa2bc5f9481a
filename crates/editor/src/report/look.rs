//! Terminal output: colours, and lines as wide as the window.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The style of printed output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether to use colours.
    pub is_coloured: bool,
    /// Width of the window in columns; `None`: not a terminal, so nothing is cut or wrapped.
    pub width: Option<usize>,
}

/// Minimum width; narrower windows are treated as this wide.
const NARROWEST: usize = 20;

/// Maximum indentation of the continuation lines of a text.
const DEEPEST: usize = 12;

/// Returns the width of a text in columns, without colour codes.
pub fn columns(text: &str) -> usize {
    let mut pieces = text.split("\x1b[");
    let plain = pieces.next().map_or(0, UnicodeWidthStr::width);
    plain + pieces.map(|piece| piece.split_once('m').map_or(0, |(_, rest)| rest.width())).sum::<usize>()
}

/// Shortens a text to this width at its end, with `…` for the rest.
pub fn fit(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let fits = |piece: &&str| left.checked_sub(columns(piece)).map(|now| left = now).is_some();
    text.graphemes(true).take_while(fits).chain(["…"]).collect()
}

/// Shortens a text to this width at its start.
fn fit_end(text: &str, most: usize) -> String {
    let mut start = 0;
    let pieces: Vec<(usize, &str)> = text.grapheme_indices(true).collect();
    while columns(&text[start..]) + 1 > most.max(2) {
        start = pieces.iter().map(|(at, _)| *at).find(|at| *at > start).unwrap_or(text.len());
    }
    format!("…{}", &text[start..])
}

/// Returns the colour code for the status of a run or step.
fn colour_of(status: &str) -> &'static str {
    match status {
        "succeeded" => "32",
        "failed" | "timed_out" | "over_budget" | "blocked" => "31",
        "partial" | "quality_not_met" | "cancelled" | "waiting" | "killed" => "33",
        "running" => "36",
        _ => "2",
    }
}

impl Look {
    /// Colours a text (`1`: bold, `2`: pale, `31`: red).
    pub fn paint(self, text: &str, code: &str) -> String {
        if self.is_coloured && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Colours a status.
    pub fn status(self, text: &str) -> String {
        self.paint(text, colour_of(text.trim_end()))
    }

    /// Returns how many columns are left beside these.
    pub fn room(self, taken: usize) -> Option<usize> {
        self.width.map(|width| width.max(NARROWEST).saturating_sub(taken))
    }

    /// Shortens a path to this width if there is a window, keeping its end, which is more informative.
    pub(super) fn path(self, path: &str, most: usize) -> String {
        if self.width.is_some() && columns(path) > most { fit_end(path, most) } else { path.to_owned() }
    }

    /// Wraps a text to the columns beside `taken`, without a line end.
    pub(super) fn behind(self, taken: usize, text: &str) -> String {
        let room = Look { width: self.room(taken), ..self };
        if room.width.is_some() { room.wrapped("", text).trim_end_matches('\n').to_owned() } else { text.to_owned() }
    }

    /// Puts a text after the start of its first line, with a line end; continuation lines are aligned with the text.
    pub fn wrapped(self, first: &str, text: &str) -> String {
        let Some(width) = self.room(0) else { return format!("{first}{text}\n").trim_end_matches(' ').to_owned() };
        let taken = columns(first);
        let indent = if taken > DEEPEST { 4 } else { taken };
        let (mut lines, mut line, mut at) = (vec![], first.to_owned(), taken);
        let mut is_begun = false;
        for word in text.split(' ') {
            let mut word = word;
            let is_over = at + usize::from(is_begun) + columns(word) > width;
            if is_over && (is_begun || at > indent && indent + columns(word) <= width) {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                (at, is_begun) = (indent, false);
            }
            if is_begun {
                line.push(' ');
                at += 1;
            }
            while at + columns(word) > width {
                let mut left = width.saturating_sub(at).max(2);
                let cut = word.grapheme_indices(true).find(|(_, piece)| match left.checked_sub(columns(piece)) {
                    Some(now) => {
                        left = now;
                        false
                    }
                    None => true,
                });
                let Some((cut, _)) = cut.filter(|(cut, _)| *cut > 0) else { break };
                line.push_str(&word[..cut]);
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                word = &word[cut..];
                at = indent;
            }
            line.push_str(word);
            at += columns(word);
            is_begun = true;
        }
        lines.push(line);
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// A column of a table.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Columns with the greatest number are dropped first if there is no room; 0 is never dropped.
    pub(super) rank: usize,
    pub(super) cells: Vec<String>,
}

/// Space between two columns of a table.
const GAP: usize = 2;
/// Minimum width of the last column.
const LEAST: usize = 10;

/// Formats a table. On a terminal it has a header line, no empty columns, and the width of the window: the last column is shortened first,
/// then others are dropped. `draw` formats a padded cell of a column.
pub(super) fn table(look: Look, mut columns_of: Vec<Column>, draw: impl Fn(&str, &str) -> String) -> String {
    let rows = columns_of.iter().map(|column| column.cells.len()).max().unwrap_or_default();
    let mut out = String::new();
    let mut widths: Vec<usize>;
    loop {
        let wide = |column: &Column| column.cells.iter().map(|cell| columns(cell)).chain(look.width.map(|_| columns(column.title))).max();
        widths = columns_of.iter().map(|column| wide(column).unwrap_or_default()).collect();
        let Some(window) = look.room(0) else { break };
        columns_of.retain(|column| column.rank == 0 || column.cells.iter().any(|cell| cell != "-" && !cell.is_empty()));
        if widths.len() > columns_of.len() {
            continue;
        }
        let all = |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let over = all(&widths).saturating_sub(window);
        let last = widths.last_mut();
        if let Some(last) = last {
            *last = (*last).min((last.saturating_sub(over)).max(LEAST));
        }
        if all(&widths) <= window {
            break;
        }
        let Some(gone) = columns_of.iter().map(|column| column.rank).max().filter(|rank| *rank > 0) else {
            widths.iter_mut().for_each(|width| *width = (*width).min(window));
            break;
        };
        columns_of.retain(|column| column.rank != gone);
    }
    let mut line = |cells: Vec<String>| {
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    };
    let padded = |text: &str, width: usize| {
        let text = fit(text, width);
        let blanks = " ".repeat(width.saturating_sub(columns(&text)));
        text + &blanks
    };
    if look.width.is_some() {
        line(columns_of.iter().zip(&widths).map(|(column, width)| look.paint(&padded(column.title, *width), "2")).collect());
    }
    for row in 0..rows {
        let cell = |(column, width): (&Column, &usize)| {
            let text = column.cells.get(row).map_or("", String::as_str);
            draw(column.title, &padded(text, *width))
        };
        line(columns_of.iter().zip(&widths).map(cell).collect());
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_wrapped_below_its_beginning() {
        let look = Look { width: Some(24), ..Look::default() };
        assert_eq!(look.wrapped("reply: ", "one two three four five"), "reply: one two three\n       four five\n");
        assert_eq!(Look::default().wrapped("reply: ", "one two three four five"), "reply: one two three four five\n");
        assert_eq!(look.wrapped("a long beginning: ", "of a text"), "a long beginning: of a\n    text\n");
        assert_eq!(fit("日本語 text", 6), "日本…");
        assert_eq!(look.path("facts/hours/by_project", 10), "…y_project");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_window(text in "[a-zé日 👩]{0,80}", first in "[a-z: ]{0,12}", width in 20_usize..60) {
            let look = Look { width: Some(width), ..Look::default() };
            let wrapped = look.wrapped(&first, &text);
            for line in wrapped.lines() {
                prop_assert!(columns(line) <= width, "{line:?}");
            }
            let letters = |text: &str| text.chars().filter(|c| *c != ' ' && *c != '\n').collect::<String>();
            prop_assert_eq!(letters(&wrapped), letters(&(first + &text)));
            prop_assert!(columns(&fit(&text, width)) <= width);
        }

        #[test]
        fn no_table_is_wider_than_the_window(cells in proptest::collection::vec("[a-z日]{0,40}", 6), width in 20_usize..80) {
            let column = |(rank, pair): (usize, &[String])| Column { title: "TITLE", rank, cells: pair.to_vec() };
            let columns_of = cells.chunks(2).enumerate().map(column).collect();
            let drawn = table(Look { width: Some(width), ..Look::default() }, columns_of, |_, cell| cell.to_owned());
            for line in drawn.lines() {
                prop_assert!(columns(line) <= width, "{drawn}");
            }
        }
    }
}
