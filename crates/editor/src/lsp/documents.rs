//! The files that are open in the editor, which take precedence over those on disk.

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
    /// The editor's version number of this text.
    pub version: Option<i64>,
}

impl Document {
    /// Creates a document from the text in the editor.
    pub fn new(path: &Path, text: &str, version: Option<i64>) -> Document {
        Document { source: SourceFile::new(path.to_string_lossy(), text), version }
    }

    /// Applies one change, to a range or to the whole text.
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

/// Returns the bytes of a range; a reversed range is empty.
pub fn range(source: &SourceFile, range: &Value, unit: Unit) -> Option<(usize, usize)> {
    let at = |place: &Value| Some(source.offset(number(&place["line"])?, number(&place["character"])?, unit));
    let (start, end) = (at(&range["start"])?, at(&range["end"])?);
    Some((start, end.max(start)))
}

/// Returns a whole number of a message.
pub fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

/// Returns the path of a file URI.
pub fn path_of(address: &str) -> Option<PathBuf> {
    Url::parse(address).ok()?.to_file_path().ok()
}

/// Returns the URI of a file.
pub(crate) fn address_of(path: &Path) -> Option<String> {
    Url::from_file_path(path).ok().map(String::from)
}
