//! A reader of JSON with small mistakes. Where it is not certain what is meant, it reads nothing.

use serde_json::{Map, Value};

/// Deepest nesting that is read.
const DEEPEST: usize = 64;

/// JSON with mistakes that change nothing: a comma at the end, single quotes, `True` and `None`, line breaks inside texts.
pub(super) fn lenient(text: &str) -> Option<Value> {
    let (value, length) = LenientReader::new(text).prefix()?;
    text[length..].trim().is_empty().then_some(value)
}

pub(super) struct LenientReader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> LenientReader<'t> {
    pub(super) fn new(text: &'t str) -> LenientReader<'t> {
        LenientReader { text, at: 0 }
    }

    /// The object or list that a text begins with, and its length.
    pub(super) fn prefix(mut self) -> Option<(Value, usize)> {
        let value = self.value(0)?;
        (value.is_object() || value.is_array()).then_some((value, self.at))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += wanted.len_utf8())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        match self.peek()? {
            '{' => {
                let mut object = Map::new();
                self.list('{', '}', |reader| {
                    let name = reader.quoted()?;
                    reader.take(':')?;
                    let value = reader.value(depth + 1)?;
                    // Of two with the same name it is not certain which is meant.
                    object.insert(name, value).is_none().then_some(())
                })?;
                Some(Value::Object(object))
            }
            '[' => {
                let mut list = vec![];
                self.list('[', ']', |reader| {
                    list.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Value::Array(list))
            }
            '"' | '\'' => self.quoted().map(Value::String),
            _ => self.word(),
        }
    }

    fn list(&mut self, open: char, close: char, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(open)?;
        while self.take(close).is_none() {
            one(self)?;
            if self.take(',').is_none() {
                return self.take(close);
            }
        }
        Some(())
    }

    fn quoted(&mut self) -> Option<String> {
        let quote = self.peek().filter(|quote| matches!(quote, '"' | '\''))?;
        let start = self.at;
        let mut is_escaped = false;
        let length = self.rest()[1..].find(|sign| {
            let ends = sign == quote && !is_escaped;
            is_escaped = sign == '\\' && !is_escaped;
            ends
        })?;
        self.at += length + 2;
        // A quote that does not end its text may be an apostrophe: then it is not certain where the text ends.
        if !matches!(self.peek(), Some(',' | ':' | '}' | ']')) {
            return None;
        }
        let inner = &self.text[start + 1..start + 1 + length];
        let inner = if quote == '\'' { inner.replace("\\'", "'").replace('"', "\\\"") } else { inner.to_owned() };
        let inner = inner.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
        serde_json::from_str(&format!("\"{inner}\"")).ok()
    }

    fn word(&mut self) -> Option<Value> {
        let rest = self.rest();
        let length = rest.find(|sign: char| !sign.is_ascii_alphanumeric() && !matches!(sign, '+' | '-' | '.')).unwrap_or(rest.len());
        self.at += length;
        match &rest[..length] {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::Null),
            word => serde_json::from_str(word).ok(),
        }
    }
}
