//! What is lost when `>` makes one line of several: the lines of a list, and the lines of a query below a remark.

use super::tree::{QuoteStyle, Scalar};

/// What goes wrong in a text that was folded, in words; `None`: nothing is lost. `key` is what it stands under.
pub(super) fn lost(scalar: &Scalar, key: &str) -> Option<&'static str> {
    if scalar.style != QuoteStyle::Folded {
        return None;
    }
    let text = &scalar.text;
    // The lines that are indented further are kept.
    let is_joined = |at: &usize| {
        text[..*at].ends_with(' ') && !text[..*at].trim_end_matches(' ').is_empty() && !text[..*at].trim_end_matches(' ').ends_with('\n')
    };
    let joined: Vec<usize> = scalar.offsets.iter().map(|(at, _)| *at as usize).filter(is_joined).collect();
    let begins_item = |at: &&usize| ["- ", "* ", "• "].iter().any(|sign| text[**at..].starts_with(sign));
    if joined.iter().filter(begins_item).count() > 1 {
        return Some("\">\" makes one line of this text, so the lines of its list are joined");
    }
    let is_joined_below = |(at, _): (usize, &str)| !text.trim_end()[at..].contains('\n') && joined.iter().any(|line| *line > at);
    let has_remark = key == "sql" && text.match_indices("-- ").any(is_joined_below);
    has_remark.then_some("\">\" makes one line of this query, so all that follows \"--\" is a remark")
}
