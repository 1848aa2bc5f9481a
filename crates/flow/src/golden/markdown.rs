//! Texts of others in Markdown: as code, which no host reads as a link, a mention, HTML or markup.

use crate::diagnostic::visible;

/// Most characters of a text in a line.
const MOST: usize = 300;

/// A text as code on one line, also in a table; nothing for an empty one. What would end the code or the cell is an escape.
pub(super) fn code(text: &str) -> String {
    let shown: String = visible(text).chars().take(MOST).collect();
    if shown.trim().is_empty() { String::new() } else { format!("`{}`", shown.replace('`', "\\x60").replace('|', "\\x7C")) }
}

/// Lines in a fence that is longer than any in them.
pub(super) fn fenced(lines: &str) -> String {
    let longest = lines.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", lines.trim_end_matches('\n'))
}
