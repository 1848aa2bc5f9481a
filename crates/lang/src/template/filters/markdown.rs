//! Filters that make Markdown: tables of GitHub Flavored Markdown (section 4.10 of its specification), lists, and values that stay text
//! whatever they hold.

use std::collections::HashSet;

use minijinja::value::ValueKind;

use super::super::Value;
use super::super::print::{PrintedText, key_text, pairs, printed};
use super::super::stop::FillStop;
use super::call::FilterCall;
use crate::channel::{escape_cell, escape_markdown as escape};

/// Rows, each an object, as a table; its columns are the keys of all rows, in the order they first appear.
pub(super) fn table(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    if call.value.kind() == ValueKind::Map {
        return Err(call.wrong_value("a list of rows"));
    }
    let rows = call.list()?;
    let mut seen = HashSet::new();
    let mut columns = vec![];
    for row in &rows {
        if row.kind() != ValueKind::Map {
            return Err(FillStop::failed("the filter table takes a list of rows; an element here is not an object"));
        }
        call.budget.elements(row.len().unwrap_or(0))?;
        for (key, _) in pairs(row) {
            let name = key_text(&key);
            if !seen.contains(&name) {
                seen.insert(name.clone());
                columns.push((name, key));
            }
        }
    }
    let mut output = PrintedText::default();
    if !columns.is_empty() {
        line(&mut output, columns.iter().map(|(name, _)| Ok(name.clone())))?;
        line(&mut output, columns.iter().map(|_| Ok("---".to_owned())))?;
        for row in &rows {
            line(&mut output, columns.iter().map(|(_, key)| printed(&row.get_item(key).unwrap_or_default())))?;
        }
    }
    call.give(output.into_text())
}

fn line(output: &mut PrintedText, cells: impl Iterator<Item = Result<String, FillStop>>) -> Result<(), FillStop> {
    output.push(if output.is_empty() { "|" } else { "\n|" })?;
    for cell in cells {
        output.push(" ")?;
        output.push(&escape_cell(&cell?))?;
        output.push(" |")?;
    }
    Ok(())
}

/// One line with a `-` for each element; `key: value` for an object. Further lines of an element are indented below it.
pub(super) fn bullets(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let mut output = PrintedText::default();
    if call.value.kind() == ValueKind::Map {
        call.budget.elements(call.value.len().unwrap_or(0))?;
        for (key, value) in pairs(&call.value) {
            bullet(&mut output, &format!("{}: {}", escape(&key_text(&key)), escape(&printed(&value)?)))?;
        }
    } else {
        for element in call.list()? {
            bullet(&mut output, &escape(&printed(&element)?))?;
        }
    }
    call.give(output.into_text())
}

fn bullet(output: &mut PrintedText, text: &str) -> Result<(), FillStop> {
    output.push(if output.is_empty() { "- " } else { "\n- " })?;
    output.push(&text.replace('\n', "\n  "))
}

/// Markdown that reads as the value, wherever in a line it is put. Blanks around its lines, and empty lines, go.
pub(super) fn escape_markdown(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let text = escape(&call.text()?);
    call.give(text)
}
