//! Limits of a page, and the notes about omitted parts.

use std::cell::Cell;

use maud::{Markup, html};
use serde_json::Value;

use crate::diagnostic::{counted, grouped};
use crate::journal::StepRecord;

/// Maximum length of one text in characters.
const MOST_OF_TEXT: usize = 20_000;
/// Maximum size, in bytes, of a text without its own box.
const SHORT: usize = 80;
/// Maximum length of all texts together, in characters.
const MOST_OF_TEXTS: usize = 3_000_000;

/// The remaining room for texts.
pub(super) struct PageRoom<'a> {
    run: &'a str,
    left: Cell<usize>,
}

impl<'a> PageRoom<'a> {
    pub(super) fn new(run: &'a str) -> PageRoom<'a> {
        PageRoom { run, left: Cell::new(MOST_OF_TEXTS) }
    }

    pub(super) fn run(&self) -> &'a str {
        self.run
    }

    /// Formats a text as written, with its line ends; a long one is cut.
    pub(super) fn text(&self, text: &str) -> Markup {
        let most = MOST_OF_TEXT.min(self.left.get());
        let cut = text.char_indices().nth(most).map(|(at, _)| at);
        let shown = cut.map_or(text, |cut| &text[..cut]);
        let count = shown.chars().count();
        self.left.set(self.left.get() - count);
        html! {
            @if text.is_empty() { p.none { "empty" } }
            @if !shown.is_empty() { pre { "\n" (shown) } }
            @if cut.is_some() {
                p.left-out { (grouped((text.chars().count() - count) as u64)) " characters are left out here: " (self.export()) }
            }
        }
    }

    /// Formats a value: a text as it is, everything else as JSON.
    pub(super) fn value(&self, value: &Value) -> Markup {
        match value {
            Value::String(text) => self.text(text),
            Value::Null => html! { p.none { "empty" } },
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => self.text(&format!("{value:#}")),
        }
    }

    /// Formats the fields of an object, one below the other; another value as it is.
    pub(super) fn fields(&self, value: &Value) -> Markup {
        html! {
            @match value {
                Value::Object(map) if !map.is_empty() => dl {
                    @for (name, value) in map { dt { (name) } dd { (self.field(value)) } }
                },
                Value::Object(_) | Value::Null => p.none { "none" },
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => (self.value(value)),
            }
        }
    }

    fn field(&self, value: &Value) -> Markup {
        match value {
            Value::String(text) if !text.is_empty() && text.len() <= SHORT && !text.contains('\n') => html! { (text) },
            Value::Bool(_) | Value::Number(_) => html! { (value.to_string()) },
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => self.value(value),
        }
    }

    /// Formats a note on where to find the full content.
    pub(super) fn export(&self) -> Markup {
        html! { code { "flow runs export " (self.run) } " has them." }
    }
}

/// Returns the steps to show, in order: if there are more than `most`, those that did not succeed, then the first ones.
pub(super) fn chosen<'a>(steps: &[&'a StepRecord], most: usize) -> Vec<&'a StepRecord> {
    let mut sorted: Vec<(usize, &StepRecord)> = steps.iter().copied().enumerate().collect();
    sorted.sort_by_key(|(_, step)| matches!(step.status.as_str(), "succeeded" | "skipped"));
    sorted.truncate(most);
    sorted.sort_by_key(|(place, _)| *place);
    sorted.into_iter().map(|(_, step)| step).collect()
}

/// Formats a note about omitted steps.
pub(super) fn left_out(all: usize, shown: usize, is_where: &Markup) -> Markup {
    html! {
        @if all > shown {
            p.left-out {
                (counted(all - shown, "step is", "steps are")) " left out here, of " (grouped(all as u64))
                ". Steps that did not succeed are shown first. " (is_where)
            }
        }
    }
}
