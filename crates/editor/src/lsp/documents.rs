//! The files that are open in the editor, which stand over those on disk.

use std::path::{Path, PathBuf};

use serde_json::Value;
use url::Url;

use crate::load::{in_our_folder, says_flow};
use crate::source::{SourceFile, Unit};

/// An open file.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its text with an index of its lines.
    pub source: SourceFile,
    /// The editor's number of this state.
    pub version: Option<i64>,
}

impl Document {
    /// A file as the editor has it.
    pub fn new(path: &Path, text: &str, version: Option<i64>) -> Document {
        Document { source: SourceFile::new(path.to_string_lossy(), text), version }
    }

    /// Applies one change: of a range, or of the whole text.
    pub fn change(&mut self, change: &Value, unit: Unit) {
        let Some(new) = change["text"].as_str() else { return };
        let text = match range(&self.source, &change["range"], unit) {
            Some((start, end)) => [&self.source.text[..start], new, &self.source.text[end..]].concat(),
            None => new.to_owned(),
        };
        self.source = SourceFile::new(self.source.name.clone(), text);
    }

    /// Whether the file is one of this language.
    pub fn is_ours(&self, path: &Path) -> bool {
        in_our_folder(path) || says_flow(&self.source.text)
    }
}

/// The bytes of a range; a range that runs backwards is empty.
pub fn range(source: &SourceFile, range: &Value, unit: Unit) -> Option<(usize, usize)> {
    let at = |place: &Value| Some(source.offset(number(&place["line"])?, number(&place["character"])?, unit));
    let (start, end) = (at(&range["start"])?, at(&range["end"])?);
    Some((start, end.max(start)))
}

/// A whole number of a message.
pub fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

/// The path of an address that names a file.
pub fn path_of(address: &str) -> Option<PathBuf> {
    Url::parse(address).ok()?.to_file_path().ok()
}

/// The address of a file.
pub(crate) fn address_of(path: &Path) -> Option<String> {
    Url::from_file_path(path).ok().map(String::from)
}
