//! JSON lines: an object in each line is a row, and its keys are the columns. Read as a stream, once for the keys of all lines.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::blocking::CancelFlag;
use super::columns::{Cell, MOST_COLUMNS, RowSource, ShowRow, SourceRow};
use super::sentence::{file_name, too_large, wrong_type};
use super::source::{Stamp, cannot_open, decode, open};
use crate::event::Failure;

/// Maximum size of one line, in bytes.
const MOST_LINE_BYTES: u64 = 8 << 20;

/// A file of JSON lines.
pub(super) struct JsonLines {
    path: PathBuf,
    file: File,
    stamp: Stamp,
    /// The keys of all lines; `None`: not read yet.
    keys: Option<Vec<String>>,
}

/// What is done with each object; its line comes first.
type Show<'s> = dyn FnMut(u64, &Map<String, Value>) -> Result<(), Failure> + 's;

impl JsonLines {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<(JsonLines, Stamp), Failure> {
        let (file, stamp) = open(path)?;
        Ok((JsonLines { path: path.to_owned(), file, stamp, keys: None }, stamp))
    }

    fn each_object(&self, cancel: &CancelFlag, show: &mut Show<'_>) -> Result<(), Failure> {
        let wrong = |error: std::io::Error| cannot_open(&self.path, &error);
        let mut file = &self.file;
        file.rewind().map_err(wrong)?;
        let mut lines = BufReader::with_capacity(256 << 10, file);
        for number in 1.. {
            if number % 1024 == 0 {
                cancel.check()?;
            }
            let mut line = vec![];
            (&mut lines).take(MOST_LINE_BYTES + 1).read_until(b'\n', &mut line).map_err(wrong)?;
            if line.is_empty() {
                break;
            }
            if line.len() as u64 > MOST_LINE_BYTES {
                return Err(too_large(format!("{}{number} is longer than {} MB.", self.place(), MOST_LINE_BYTES >> 20)));
            }
            let text = decode(&self.path, line)?;
            if text.trim().is_empty() {
                continue;
            }
            match serde_json::from_str(text.trim()) {
                Ok(Value::Object(object)) => show(number, &object)?,
                Ok(_) => return Err(wrong_type(format!("{}{number} is no JSON object. Write one object in each line.", self.place()))),
                Err(error) => {
                    return Err(wrong_type(format!("{}{number} is no JSON: {error}. Write one object in each line.", self.place())));
                }
            }
        }
        self.stamp.check(&self.path, &self.file)
    }

    fn keys(&mut self, cancel: &CancelFlag) -> Result<Vec<String>, Failure> {
        if let Some(keys) = &self.keys {
            return Ok(keys.clone());
        }
        let (mut keys, mut known): (Vec<String>, HashSet<String>) = Default::default();
        self.each_object(cancel, &mut |number, object| {
            keys.extend(object.keys().filter(|key| known.insert((*key).clone())).cloned());
            if keys.len() > MOST_COLUMNS {
                return Err(too_large(format!("{}{number} is the last of lines with more than {MOST_COLUMNS} keys.", self.place())));
            }
            Ok(())
        })?;
        Ok(self.keys.insert(keys).clone())
    }
}

impl RowSource for JsonLines {
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut ShowRow<'_>) -> Result<(), Failure> {
        let keys = self.keys(cancel)?;
        if keys.is_empty() {
            return Ok(());
        }
        let names: Vec<Cell<'_>> = keys.iter().map(|key| Cell::Text(Cow::Borrowed(key.as_str()))).collect();
        show(&SourceRow { number: 1, cells: &names })?;
        self.each_object(cancel, &mut |number, object| {
            let cells: Vec<Cell<'_>> = keys.iter().map(|key| object.get(key).map_or(Cell::Empty, cell)).collect();
            show(&SourceRow { number, cells: &cells })
        })
    }

    fn place(&self) -> String {
        format!("{}, line ", file_name(&self.path))
    }
}

/// A value as a cell: lists and objects are texts of JSON.
fn cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Empty,
        Value::Bool(boolean) => Cell::Boolean(*boolean),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Whole(whole),
            (None, Some(value)) if !number.is_u64() => Cell::Number(value),
            _ => Cell::Text(Cow::Owned(number.to_string())),
        },
        Value::String(text) if text.trim().is_empty() => Cell::Empty,
        Value::String(text) => Cell::Text(Cow::Borrowed(text)),
        Value::Array(_) | Value::Object(_) => Cell::Text(Cow::Owned(value.to_string())),
    }
}
