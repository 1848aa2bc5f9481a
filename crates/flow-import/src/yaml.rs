//! YAML that is written: a tree, and a writer that quotes whatever could be read as something else.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use super::words::TextWords;
use flow_base::source::is_invisible;
use flow_editor::report::escape::json_text;

/// A value to be written.
#[derive(Debug, Clone)]
pub(super) enum Yaml {
    /// A text that was translated: its place in the list of them.
    Words(usize),
    /// Any other value; texts in it are data.
    Value(Value),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

macro_rules! from_values {
    ($($kind:ty),+) => {
        $(impl From<$kind> for Yaml {
            fn from(value: $kind) -> Yaml {
                Yaml::Value(value.into())
            }
        })+
    };
}

from_values!(&str, String, bool, u64, Value);

impl From<Vec<Yaml>> for Yaml {
    fn from(list: Vec<Yaml>) -> Yaml {
        Yaml::List(list)
    }
}

/// A key with its value; `None` is left out.
pub(super) type Entry = (String, Option<Yaml>);

pub(super) fn pair(key: impl Into<String>, value: impl Into<Yaml>) -> Entry {
    (key.into(), Some(value.into()))
}

pub(super) fn may(key: impl Into<String>, value: Option<impl Into<Yaml>>) -> Entry {
    (key.into(), value.map(Into::into))
}

/// A list of keys in the order in which they are written.
pub(super) fn map(entries: impl IntoIterator<Item = Entry>) -> Yaml {
    Yaml::Map(entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
}

/// The same; `None`, if it would have no key.
pub(super) fn map_of(entries: impl IntoIterator<Item = Entry>) -> Option<Yaml> {
    match map(entries) {
        Yaml::Map(entries) if entries.is_empty() => None,
        map => Some(map),
    }
}

pub(super) fn list_of(list: Vec<Yaml>) -> Option<Yaml> {
    (!list.is_empty()).then_some(Yaml::List(list))
}

/// What was written, and which bytes belong to what.
#[derive(Debug, Default)]
pub(super) struct WrittenYaml {
    pub(super) text: String,
    /// Translated texts.
    pub(super) words: Vec<(Range<usize>, usize)>,
    /// Entries of lists of keys, outer ones first: the way to each, by number.
    pub(super) entries: Vec<(Range<usize>, Vec<usize>)>,
}

impl WrittenYaml {
    /// Writes a list of keys behind `head`, which holds comments.
    pub(super) fn write(head: &str, root: &Yaml, words: &[TextWords]) -> WrittenYaml {
        let mut written = WrittenYaml { text: head.to_owned(), ..WrittenYaml::default() };
        written.node(root, words, 0, &mut vec![]);
        written
    }

    fn node(&mut self, node: &Yaml, words: &[TextWords], indent: usize, way: &mut Vec<usize>) {
        match node {
            Yaml::Words(number) => {
                let start = self.text.len();
                self.scalar(&words.get(*number).map(TextWords::text).unwrap_or_default(), indent);
                self.words.push((start..self.text.len(), *number));
            }
            Yaml::Value(Value::String(text)) => self.scalar(text, indent),
            Yaml::Value(value) => {
                let _ = writeln!(self.text, " {}", json_text(value, true));
            }
            Yaml::List(list) if list.is_empty() => self.text.push_str(" []\n"),
            Yaml::List(list) => {
                self.text.push('\n');
                for (number, item) in list.iter().enumerate() {
                    let _ = write!(self.text, "{:indent$}-", "");
                    way.push(number);
                    match item {
                        Yaml::Map(entries) if !entries.is_empty() => {
                            self.text.push(' ');
                            self.entries(entries, words, indent + 2, true, way);
                        }
                        Yaml::Words(_) | Yaml::Value(_) | Yaml::List(_) | Yaml::Map(_) => {
                            self.node(item, words, indent + 2, way);
                        }
                    }
                    way.pop();
                }
            }
            Yaml::Map(entries) if entries.is_empty() => self.text.push_str(" {}\n"),
            Yaml::Map(entries) => {
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.entries(entries, words, indent, false, way);
            }
        }
    }

    fn entries(&mut self, entries: &[(String, Yaml)], words: &[TextWords], indent: usize, mut is_begun: bool, way: &mut Vec<usize>) {
        let is_there = |value: &Yaml| !matches!(value, Yaml::Words(number) if words.get(*number).is_some_and(|words| words.is_dropped));
        for (number, (key, value)) in entries.iter().enumerate().filter(|(_, (_, value))| is_there(value)) {
            if !std::mem::take(&mut is_begun) {
                let _ = write!(self.text, "{:indent$}", "");
            }
            let start = self.text.len();
            let place = self.entries.len();
            way.push(number);
            self.entries.push((start..start, way.clone()));
            self.text.push_str(&if is_plain(key) { key.clone() } else { json_text(&Value::String(key.clone()), true) });
            self.text.push(':');
            self.node(value, words, indent + 2, way);
            way.pop();
            if let Some((range, _)) = self.entries.get_mut(place) {
                range.end = self.text.len();
            }
        }
        if is_begun {
            self.text.push_str("{}\n");
        }
    }

    fn scalar(&mut self, text: &str, indent: usize) {
        let is_block = text.trim_end_matches('\n').contains('\n') && !text.starts_with([' ', '\t', '\n']) && !text.ends_with("\n\n");
        if is_block && !text.contains(|c: char| c != '\n' && is_invisible(c)) {
            self.text.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
            for line in text.lines() {
                let _ = if line.is_empty() { writeln!(self.text) } else { writeln!(self.text, "{:indent$}{line}", "") };
            }
        } else if is_plain(text) {
            let _ = writeln!(self.text, " {text}");
        } else {
            let _ = writeln!(self.text, " {}", json_text(&Value::String(text.to_owned()), true));
        }
    }
}

/// Whether a text needs no quotes: a word, or several, that no reader takes for another type.
fn is_plain(text: &str) -> bool {
    const TRAPS: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '/'))
        && !TRAPS.contains(&text.to_ascii_lowercase().as_str())
}
