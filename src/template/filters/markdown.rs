//! Filters that make Markdown: tables of GitHub Flavored Markdown (section 4.10 of its specification), lists, and values that stay text
//! whatever they hold.

use std::collections::HashSet;

use minijinja::value::ValueKind;

use super::super::Value;
use super::super::print::{Output, key_text, pairs, printed};
use super::super::stop::Stop;
use super::Call;

/// Rows, each an object, as a table; its columns are the keys of all rows, in the order they first appear.
pub(super) fn table(mut call: Call<'_>) -> Result<Value, Stop> {
    if call.value.kind() == ValueKind::Map {
        return Err(call.wrong_value("a list of rows"));
    }
    let rows = call.list()?;
    let mut seen = HashSet::new();
    let mut columns = vec![];
    for row in &rows {
        if row.kind() != ValueKind::Map {
            return Err(Stop::failed("the filter table takes a list of rows; an element here is not an object"));
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
    let mut output = Output::default();
    if !columns.is_empty() {
        line(&mut output, columns.iter().map(|(name, _)| Ok(name.clone())))?;
        line(&mut output, columns.iter().map(|_| Ok("---".to_owned())))?;
        for row in &rows {
            line(&mut output, columns.iter().map(|(_, key)| printed(&row.get_item(key).unwrap_or_default())))?;
        }
    }
    finished(call, output)
}

fn line(output: &mut Output, cells: impl Iterator<Item = Result<String, Stop>>) -> Result<(), Stop> {
    output.push(if output.is_empty() { "|" } else { "\n|" })?;
    for cell in cells {
        output.push(" ")?;
        // In a cell nothing can begin a block, so only what means something inside a line is escaped.
        output.push(&lines(&cell?).map(inline).collect::<Vec<_>>().join(" "))?;
        output.push(" |")?;
    }
    Ok(())
}

/// One line with a `-` for each element; `key: value` for an object. Further lines of an element are indented below it.
pub(super) fn bullets(mut call: Call<'_>) -> Result<Value, Stop> {
    let mut output = Output::default();
    if call.value.kind() == ValueKind::Map {
        call.budget.elements(call.value.len().unwrap_or(0))?;
        for (key, value) in pairs(&call.value) {
            bullet(&mut output, &format!("{}: {}", escaped(&key_text(&key)), escaped(&printed(&value)?)))?;
        }
    } else {
        for element in call.list()? {
            bullet(&mut output, &escaped(&printed(&element)?))?;
        }
    }
    finished(call, output)
}

fn bullet(output: &mut Output, text: &str) -> Result<(), Stop> {
    output.push(if output.is_empty() { "- " } else { "\n- " })?;
    output.push(&text.replace('\n', "\n  "))
}

/// Markdown that reads as the value, wherever in a line it is put. Blanks around its lines, and empty lines, go.
pub(super) fn escape_markdown(mut call: Call<'_>) -> Result<Value, Stop> {
    let text = escaped(&call.text()?);
    call.budget.text(text.len())?;
    Ok(Value::from(text))
}

fn escaped(text: &str) -> String {
    lines(text).map(|line| own_line(&inline(line))).collect::<Vec<_>>().join("\n")
}

/// The lines that hold something.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty())
}

/// A line in which nothing is a mark of CommonMark, of a table or of strike.
fn inline(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut before = None;
    for (at, character) in line.char_indices() {
        let rest = &line[at + character.len_utf8()..];
        let after = rest.chars().next();
        let is_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        let is_mark = match character {
            '\\' | '`' | '*' | '[' | ']' | '~' | '|' => true,
            '_' => !(is_word(before) && is_word(after)),
            '<' => after.is_none_or(|after| after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?')),
            '&' => is_reference(rest),
            _ => false,
        };
        if is_mark {
            out.push('\\');
        }
        out.push(character);
        before = Some(character);
    }
    out
}

/// Whether an `&` before it makes a character reference.
fn is_reference(rest: &str) -> bool {
    let name = rest.split(';').next().unwrap_or_default();
    name.len() < rest.len() && name.len() <= 32 && name.trim_start_matches('#').chars().all(|c| c.is_ascii_alphanumeric())
}

/// A line that begins no heading, list, quote, rule or table.
fn own_line(line: &str) -> String {
    let begins = |mark: &str| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_number = (1..=9).contains(&digits) && [".", ")"].iter().any(|mark| begins(&format!("{}{mark}", &line[..digits])));
    let is_heading = (1..=6).any(|level| begins(&"#".repeat(level)));
    let is_of = |marks: &[char]| line.chars().all(|c| marks.contains(&c));
    let at = match () {
        () if is_number => digits,
        () if is_heading || begins("-") || begins("+") || line.starts_with('>') || is_of(&['=']) || is_of(&['-', ':', ' ']) => 0,
        () => return line.to_owned(),
    };
    format!("{}\\{}", &line[..at], &line[at..])
}

fn finished(call: Call<'_>, output: Output) -> Result<Value, Stop> {
    let text = output.into_text();
    call.budget.text(text.len())?;
    Ok(Value::from(text))
}
