//! The difference of two texts, for people: marks changed words in lines, escapes invisible characters, folds equal lines.
//!
//! ```text
//!    1   Hello,
//!    2 - You've logged [-32-] of 40 hours.
//!    2 + You've logged {+31+} of 40 hours.
//!        … 14 equal lines
//! ```

use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};
use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{counted, ends, escaped, is_invisible};

/// Number of equal lines shown around a change.
const CONTEXT: usize = 2;
/// Maximum number of lines of one difference.
const MOST_LINES: usize = 200;
/// Maximum length of equal characters in a changed line, and how much of a longer stretch is kept at each end.
const LONGEST_EQUAL: usize = 160;
const KEPT_EQUAL: usize = 60;
/// These limits for changed characters.
const LONGEST_CHANGED: usize = 1_000;
const KEPT_CHANGED: usize = 300;
/// Texts larger than this, in bytes, are not compared line by line.
const LARGEST: usize = 1024 * 1024;

/// The difference of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    lines: Vec<DiffLine>,
    removed: usize,
    added: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum DiffLine {
    Equal(usize, String),
    Old(usize, Vec<DiffPiece>),
    New(usize, Vec<DiffPiece>),
    Note(String),
}

/// A stretch of a line; `is_changed`: the other side differs here.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DiffPiece {
    is_changed: bool,
    text: String,
}

impl Diff {
    /// Compares two texts; `None`: they are equal.
    pub fn between(old: &str, new: &str) -> Option<Diff> {
        if old == new {
            return None;
        }
        if old.len() > LARGEST || new.len() > LARGEST {
            let note = format!("{} and {} bytes, too large to be shown line by line", old.len(), new.len());
            return Some(Diff { lines: vec![DiffLine::Note(note)], removed: old.lines().count(), added: new.lines().count() });
        }
        let diff = TextDiff::from_lines(old, new);
        let mut lines = vec![];
        let mut shown_to = 0;
        for group in diff.grouped_ops(CONTEXT) {
            let from = group.first().map_or(0, |op| op.old_range().start);
            folded(&mut lines, from - shown_to);
            for op in &group {
                changes(&diff, op, &mut lines);
            }
            shown_to = group.last().map_or(shown_to, |op| op.old_range().end);
        }
        folded(&mut lines, diff.old_len() - shown_to);
        let removed = lines.iter().filter(|line| matches!(line, DiffLine::Old(..))).count();
        let added = lines.iter().filter(|line| matches!(line, DiffLine::New(..))).count();
        if lines.len() > MOST_LINES {
            let more = lines.len() - MOST_LINES;
            lines.truncate(MOST_LINES);
            lines.push(DiffLine::Note(format!("… {more} more lines")));
        }
        Some(Diff { lines, removed, added })
    }

    /// Returns how many lines of the old text are not in the new one.
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// Returns how many lines of the new text were not in the old one.
    pub fn added(&self) -> usize {
        self.added
    }

    /// Formats the lines; the text is the same with and without colour.
    pub fn draw(&self, colour: bool) -> String {
        let mut out = String::new();
        for line in &self.lines {
            let drawn = match line {
                DiffLine::Equal(number, text) => format!("{number:>5}   {text}"),
                DiffLine::Old(number, pieces) => drawn(*number, '-', pieces, ("[-", "-]"), colour.then_some("31")),
                DiffLine::New(number, pieces) => drawn(*number, '+', pieces, ("{+", "+}"), colour.then_some("32")),
                DiffLine::Note(text) => format!("        {text}"),
            };
            out.push_str(drawn.trim_end());
            out.push('\n');
        }
        out
    }
}

fn drawn(number: usize, sign: char, pieces: &[DiffPiece], marks: (&str, &str), colour: Option<&str>) -> String {
    let mut text = format!("{number:>5} {sign} ");
    if let Some(colour) = colour {
        text = format!("\x1b[{colour}m{text}");
    }
    for piece in pieces {
        match (piece.is_changed, colour) {
            (false, _) => text.push_str(&piece.text),
            (true, None) => text.push_str(&format!("{}{}{}", marks.0, piece.text, marks.1)),
            (true, Some(_)) => text.push_str(&format!("\x1b[1;4m{}{}{}\x1b[22;24m", marks.0, piece.text, marks.1)),
        }
    }
    if colour.is_some() {
        text.push_str("\x1b[0m");
    }
    text
}

fn folded(lines: &mut Vec<DiffLine>, count: usize) {
    if count > 0 {
        lines.push(DiffLine::Note(format!("… {}", counted(count, "equal line", "equal lines"))));
    }
}

fn changes(diff: &TextDiff<'_, '_, str>, op: &DiffOp, lines: &mut Vec<DiffLine>) {
    let all: Vec<_> = diff.iter_inline_changes_deadline(op, None).collect();
    let side =
        |tag: ChangeTag| -> String { all.iter().filter(|c| c.tag() == tag).flat_map(|c| c.values()).map(|(_, text)| *text).collect() };
    // Texts that differ but look alike are shown with escapes.
    let look_alike = op.tag() == DiffTag::Replace && bare(&side(ChangeTag::Delete)) == bare(&side(ChangeTag::Insert));
    for change in &all {
        let number = |index: Option<usize>| index.map_or(0, |index| index + 1);
        match change.tag() {
            ChangeTag::Equal => {
                let text: String = change.values().iter().map(|(_, text)| *text).collect();
                lines.push(DiffLine::Equal(number(change.new_index()), with_escapes(text.trim_end_matches('\n'), usize::MAX, false)));
            }
            ChangeTag::Delete => lines.push(DiffLine::Old(number(change.old_index()), pieces(change.values(), look_alike))),
            ChangeTag::Insert => lines.push(DiffLine::New(number(change.new_index()), pieces(change.values(), look_alike))),
        }
    }
}

/// Returns the visible form of a text: compatibility forms normalized, invisible characters removed.
fn bare(text: &str) -> String {
    let is_hidden = |c: &char| is_invisible(*c) || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    text.nfkc().filter(|c| !is_hidden(c)).map(|c| if c.is_whitespace() { ' ' } else { c }).collect::<String>().trim_end().to_string()
}

fn pieces(values: &[(bool, &str)], look_alike: bool) -> Vec<DiffPiece> {
    let whole: String = values.iter().map(|(_, text)| *text).collect();
    let line = whole.strip_suffix('\n').unwrap_or(&whole);
    // Blanks at the end of a line are invisible, too.
    let blanks_from = line.trim_end_matches(' ').len();
    let is_marked = values.iter().any(|(changed, _)| *changed) && values.iter().any(|(changed, text)| !changed && !text.trim().is_empty());
    let mut pieces: Vec<DiffPiece> = vec![];
    let mut at = 0;
    for (changed, text) in values {
        let end = (at + text.len()).min(line.len());
        let part = line.get(at..end).unwrap_or_default();
        let text = with_escapes(part, blanks_from.saturating_sub(at), look_alike && (*changed || !is_marked));
        at = end;
        let is_changed = *changed && is_marked;
        match pieces.last_mut() {
            Some(last) if last.is_changed == is_changed => last.text.push_str(&text),
            _ if text.is_empty() => {}
            _ => pieces.push(DiffPiece { is_changed, text }),
        }
    }
    for piece in &mut pieces {
        let (longest, kept) = if piece.is_changed || !is_marked { (LONGEST_CHANGED, KEPT_CHANGED) } else { (LONGEST_EQUAL, KEPT_EQUAL) };
        piece.text = shortened(&piece.text, longest, kept);
    }
    if !whole.ends_with('\n') {
        pieces.push(DiffPiece { is_changed: false, text: " (no line end)".into() });
    }
    pieces
}

/// Escapes characters that are invisible or look like a blank; with `all`, all characters beyond ASCII.
fn with_escapes(text: &str, blanks_from: usize, all: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let hidden = is_invisible(c) || (c.is_whitespace() && c != ' ') || (c == ' ' && at >= blanks_from) || (all && !c.is_ascii());
        if hidden { out.push_str(&escaped(c)) } else { out.push(c) }
    }
    out
}

fn shortened(text: &str, longest: usize, kept: usize) -> String {
    let Some((head, tail)) = ends(text, longest, kept, kept) else { return text.to_owned() };
    format!("{head} … {} characters … {tail}", text.chars().count() - 2 * kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn diff(old: &str, new: &str) -> String {
        Diff::between(old, new).map(|diff| diff.draw(false)).unwrap_or_default()
    }

    #[test]
    fn changed_words_are_marked_inside_their_line() {
        insta::assert_snapshot!(diff("Hello,\nYou've logged 32 of 40 hours.\nAcme\n", "Hello,\nYou've logged 31 of 40 hours.\nAcme\n"), @r"
            1   Hello,
            2 - You've logged [-32-] of 40 hours.
            2 + You've logged {+31+} of 40 hours.
            3   Acme
        ");
    }

    #[test]
    fn a_line_with_nothing_in_common_is_shown_whole() {
        insta::assert_snapshot!(diff("You did fine.\n", "I can't help with that.\n"), @r"
            1 - You did fine.
            1 + I can't help with that.
        ");
    }

    #[test]
    fn added_and_removed_lines_keep_their_own_numbers() {
        insta::assert_snapshot!(diff("a\nb\nc\n", "a\nc\nd\n"), @r"
            1   a
            2 - b
            2   c
            3 + d
        ");
    }

    #[test]
    fn long_equal_stretches_are_folded() {
        let text = |word: &str| (1..=30).map(|n| if n == 15 { format!("{word}\n") } else { format!("line {n}\n") }).collect::<String>();
        insta::assert_snapshot!(diff(&text("old"), &text("new")), @r"
                … 12 equal lines
           13   line 13
           14   line 14
           15 - old
           15 + new
           16   line 16
           17   line 17
                … 13 equal lines
        ");
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        let cases = [
            ("8 h\n", "8\u{a0}h\n", ["    1 - 8[- -]h", r"    1 + 8{+\xA0+}h"].as_slice()),
            ("one two three\n", "one two three  \n", &["    1 - one two three", r"    1 + one two three{+\x20\x20+}"]),
            ("one\ttwo\n", "one\u{200b}two\n", &[r"    1 - one[-\t-]two", r"    1 + one{+\u200B+}two"]),
            ("au lait café\n", "au lait cafe\u{301}\n", &[r"    1 - au lait [-caf\xE9-]", r"    1 + au lait {+cafe\u0301+}"]),
            ("a\nb\n", "a\nb", &["    1   a", "    2 - b", "    2 + b (no line end)"]),
            ("one two three\r\n", "one two three\n", &[r"    1 - one two three\r", "    1 + one two three"]),
        ];
        for (old, new, lines) in cases {
            assert_eq!(diff(old, new).lines().collect::<Vec<_>>(), lines, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_long_line_shows_the_surroundings_of_its_changes() {
        let text = |word: &str| format!("{}{word}{}\n", "before ".repeat(60), " after".repeat(60));
        let drawn = diff(&text("old"), &text("new"));
        assert!(drawn.contains("[-old-]") && drawn.contains("{+new+}"), "{drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() < 400), "{drawn}");
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let diff = Diff::between("You logged 32 hours\n", "You logged 31 hours\n").unwrap();
        let coloured = diff.draw(true);
        let plain = regex::Regex::new("\x1b\\[[0-9;]*m").unwrap().replace_all(&coloured, "").into_owned();
        assert_eq!(plain, diff.draw(false));
        assert_ne!(coloured, plain);
    }

    proptest! {
        #[test]
        fn different_texts_never_look_equal(old in "[ab \u{a0}\u{200d}é\u{301}e\t\r\n]{0,12}", new in "[ab \u{a0}\u{200d}é\u{301}e\t\r\n]{0,12}") {
            match Diff::between(&old, &new) {
                None => prop_assert_eq!(old, new),
                Some(diff) => {
                    let side = |sign: &str| -> Vec<String> {
                        let lines = diff.draw(false).lines().filter(|l| l.get(6..7) == Some(sign)).map(|l| l[7..].to_string()).collect::<Vec<_>>();
                        lines.into_iter().map(|l| l.replace("[-", "").replace("-]", "").replace("{+", "").replace("+}", "")).collect()
                    };
                    prop_assert_ne!(side("-"), side("+"));
                }
            }
        }
    }
}
