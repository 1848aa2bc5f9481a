//! How values print: texts as they are, empty as nothing, lists and objects as JSON with the order of their keys.

use minijinja::Value;
use minijinja::value::ValueKind;

use super::budget::{TEXT_BYTES, VALUE_DEPTH};
use super::number::Number;
use super::stop::FillStop;
use crate::diagnostic::one_line;

/// A text that grows to at most 1 MiB.
#[derive(Debug, Default)]
pub(super) struct PrintedText {
    text: String,
}

impl PrintedText {
    /// Adds a piece of text.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), FillStop> {
        if self.text.len() + piece.len() > TEXT_BYTES {
            return Err(FillStop::too_large("the text grows past 1 MiB"));
        }
        self.text.push_str(piece);
        Ok(())
    }

    /// Adds a value as it prints.
    pub(super) fn print(&mut self, value: &Value) -> Result<(), FillStop> {
        match value.as_str() {
            Some(text) => self.push(text),
            None if value.is_none() || value.is_undefined() => Ok(()),
            None => self.json(value, None),
        }
    }

    /// Adds a value as JSON; `indent`: on lines of their own, so many spaces deeper each.
    pub(super) fn json(&mut self, value: &Value, indent: Option<usize>) -> Result<(), FillStop> {
        self.json_at(value, indent, 0)
    }

    /// Whether nothing was added yet.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn json_at(&mut self, value: &Value, indent: Option<usize>, depth: usize) -> Result<(), FillStop> {
        if depth > VALUE_DEPTH {
            return Err(too_deep());
        }
        if let Some(text) = value.as_str() {
            return self.quoted(text);
        }
        match value.kind() {
            ValueKind::None | ValueKind::Undefined => self.push("null"),
            ValueKind::Bool => self.push(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => match Number::from_value(value) {
                Some(number) => self.push(&number.to_string()),
                None => Err(unprintable()),
            },
            ValueKind::Seq | ValueKind::Iterable => {
                self.push("[")?;
                let mut is_empty = true;
                for item in value.try_iter().map_err(|_| unprintable())? {
                    self.separate(&mut is_empty, indent, depth)?;
                    self.json_at(&item, indent, depth + 1)?;
                }
                self.close("]", is_empty, indent, depth)
            }
            ValueKind::Map => {
                self.push("{")?;
                let mut is_empty = true;
                for (key, item) in pairs(value) {
                    self.separate(&mut is_empty, indent, depth)?;
                    self.quoted(&key_text(&key))?;
                    self.push(if indent.is_some() { ": " } else { ":" })?;
                    self.json_at(&item, indent, depth + 1)?;
                }
                self.close("}", is_empty, indent, depth)
            }
            _ => Err(unprintable()),
        }
    }

    fn separate(&mut self, is_first: &mut bool, indent: Option<usize>, depth: usize) -> Result<(), FillStop> {
        if !std::mem::take(is_first) {
            self.push(",")?;
        }
        self.new_line(indent, depth + 1)
    }

    fn close(&mut self, end: &str, is_empty: bool, indent: Option<usize>, depth: usize) -> Result<(), FillStop> {
        if !is_empty {
            self.new_line(indent, depth)?;
        }
        self.push(end)
    }

    fn new_line(&mut self, indent: Option<usize>, depth: usize) -> Result<(), FillStop> {
        match indent {
            Some(width) => {
                self.push("\n")?;
                self.push(&" ".repeat(width.min(16) * depth))
            }
            None => Ok(()),
        }
    }

    /// A text as JSON writes it: quotes, backslash and control characters escaped, all else as it is (RFC 8259, section 7).
    fn quoted(&mut self, text: &str) -> Result<(), FillStop> {
        if text.len() > TEXT_BYTES {
            return Err(FillStop::too_large("the text grows past 1 MiB"));
        }
        self.push(&serde_json::Value::from(text).to_string())
    }
}

/// A value as it prints.
pub(super) fn printed(value: &Value) -> Result<String, FillStop> {
    let mut output = PrintedText::default();
    output.print(value)?;
    Ok(output.into_text())
}

/// The keys of an object with their values, in order.
pub(super) fn pairs(object: &Value) -> impl Iterator<Item = (Value, Value)> {
    object.as_object().and_then(|object| object.try_iter_pairs()).into_iter().flatten()
}

/// A key of an object as a text.
pub(super) fn key_text(key: &Value) -> String {
    printed(key).unwrap_or_default()
}

/// What a value is, in a word or two with its article.
pub(super) fn kind(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "something missing",
        ValueKind::None => "empty",
        ValueKind::Bool => "true or false",
        ValueKind::Number => "a number",
        ValueKind::String | ValueKind::Bytes => "a text",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "an object",
        _ => "something that cannot be read",
    }
}

/// [`kind`], and the beginning of the value where it is short enough to help.
pub(super) fn kind_and_value(value: &Value) -> String {
    match value.kind() {
        ValueKind::String => format!("the text \"{}\"", shortened(value.as_str().unwrap_or_default())),
        ValueKind::Number => format!("the number {}", printed(value).unwrap_or_default()),
        ValueKind::Bool => printed(value).unwrap_or_default(),
        _ => kind(value).to_owned(),
    }
}

/// At most 40 characters of a text, on one line, for messages.
pub(super) fn shortened(text: &str) -> String {
    one_line(text, 40)
}

/// The reason for values above the limit of depth.
pub(super) fn too_deep() -> FillStop {
    FillStop::failed("a value is nested more than 128 levels deep")
}

fn unprintable() -> FillStop {
    FillStop::failed("a value here cannot be printed")
}
