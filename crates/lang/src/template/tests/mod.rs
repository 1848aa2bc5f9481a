//! Tests of the room, as an author and the engine meet it.

mod address;
mod against_minijinja;
mod checking;
mod filling;
mod filters;
mod limits;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Form, Text, TextPlace};
use crate::source::{FileId, Span};

use super::{Compiled, FillError, Scope, Value, compile, expression, from_json, text, to_json};

/// The place of a text that is at byte 100 of a file, all in one line.
fn place(source: &str) -> TextPlace {
    TextPlace { span: Span::new(FileId(0), 99, 101 + source.len()), offsets: vec![(0, 100)] }
}

fn checked(source: &str) -> (Text, Vec<Diagnostic>) {
    let mut found = vec![];
    let text = text(source, place(source), &mut found);
    (text, found)
}

fn checked_bare(source: &str) -> (Text, Vec<Diagnostic>) {
    let mut found = vec![];
    let text = expression(source, place(source), &mut found);
    (text, found)
}

/// The one finding of a template.
fn finding(source: &str) -> (Code, String) {
    let (_, found) = checked(source);
    assert_eq!(found.len(), 1, "{source}: {found:?}");
    (found[0].code, found[0].message.clone())
}

fn message(source: &str) -> String {
    finding(source).1
}

fn compiled(source: &str) -> Compiled<'static> {
    let (text, found) = checked(source);
    assert!(found.is_empty(), "{source}: {found:?}");
    compile(Box::leak(Box::new(text))).unwrap()
}

fn scope(names: serde_json::Value) -> Scope {
    let mut scope = Scope::new();
    for (name, value) in names.as_object().unwrap() {
        scope.set(name, from_json(value));
    }
    scope
}

/// Fills a template with these names; the value as JSON.
fn fill(source: &str, names: serde_json::Value) -> serde_json::Value {
    to_json(&try_fill(source, &scope(names)).unwrap_or_else(|error| panic!("{source}: {error}"))).unwrap()
}

/// Fills a template with these names into a text.
fn printed(source: &str, names: serde_json::Value) -> String {
    compiled(source).fill_text(&scope(names)).unwrap_or_else(|error| panic!("{source}: {error}"))
}

/// Why a template cannot be filled with these names.
fn error(source: &str, names: serde_json::Value) -> String {
    match try_fill(source, &scope(names)) {
        Ok(value) => panic!("{source} gave {value}"),
        Err(error) => error.message,
    }
}

fn try_fill(source: &str, scope: &Scope) -> Result<Value, FillError> {
    compiled(source).fill(scope)
}

/// Reads as `path`, or `path?` where guarded.
fn reads(text: &Text) -> Vec<String> {
    text.reads.iter().map(|read| format!("{}{}", read.path.join("."), if read.is_guarded { "?" } else { "" })).collect()
}

fn form(source: &str) -> Form {
    checked(source).0.form
}
