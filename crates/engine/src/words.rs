//! Small wordings that several modules share.

use std::time::Duration;

use serde_json::Value;

use crate::model::MOST_ROWS;
pub(crate) use crate::model::{duration_words as duration, json_kind as kind_of};

/// A value as text, as it prints.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What stands for a secret in what is shown.
pub(crate) const HIDDEN: &str = "***";

/// A duration in whole milliseconds.
pub(crate) fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

/// The most bytes of a result, or of what a gate gives beside the text, that judges are shown.
pub(crate) const MOST_SHOWN: usize = 20_000;

/// The first characters of a text; `…` behind them tells that there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() { format!("{beginning}…") } else { beginning }
}

/// A text as judges are shown it: of a long one the beginning.
pub(crate) fn excerpt(text: &str, is_cut: bool, most: usize) -> String {
    let rows = if is_cut { format!("\n(There were more rows; only the first {MOST_ROWS} are in the result.)") } else { String::new() };
    if text.len() <= most {
        return format!("{text}{rows}");
    }
    let beginning = &text[..text.floor_char_boundary(most)];
    format!("{beginning}…\n(This is the beginning; the whole result has {} characters.){rows}", text.chars().count())
}

/// The shortest fence.
pub(crate) const SHORTEST_FENCE: usize = 5;

/// A line of one sign that is longer than any run of that sign in the texts, so no text closes it.
pub(crate) fn fence(sign: char, texts: &[&str]) -> String {
    let longest = texts.iter().flat_map(|text| text.split(|c| c != sign)).map(str::len).max().unwrap_or_default();
    sign.to_string().repeat((longest + 1).max(SHORTEST_FENCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_they_are_written() {
        assert_eq!(duration(Duration::from_millis(500)), "500ms");
        assert_eq!(duration(Duration::from_secs(120)), "2m");
        assert_eq!(duration(Duration::from_secs(90)), "90s");
    }

    #[test]
    fn judges_see_the_beginning_of_a_long_result() {
        assert_eq!(excerpt("abc", false, 10), "abc");
        assert_eq!(excerpt("ééééé", false, 3), "é…\n(This is the beginning; the whole result has 5 characters.)");
        assert!(excerpt("abc", true, 10).ends_with("only the first 1000 are in the result.)"));
    }
}
