//! Foreign texts in Markdown: formatted as code, which no host renders as a link, a mention, HTML or markup.

use crate::diagnostic::visible;

/// Maximum length of a text in a line, in characters.
const MOST: usize = 300;

/// Formats a text as code on one line, also for tables; empty if the text is. Characters that would end the code or the cell are escaped.
pub(super) fn code(text: &str) -> String {
    let shown: String = visible(text).chars().take(MOST).collect();
    if shown.trim().is_empty() { String::new() } else { format!("`{}`", shown.replace('`', "\\x60").replace('|', "\\x7C")) }
}

/// Puts lines into a fence that is longer than any in them.
pub(super) fn fenced(lines: &str) -> String {
    let longest = lines.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", lines.trim_end_matches('\n'))
}
