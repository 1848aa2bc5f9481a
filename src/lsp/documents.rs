//! The files that are open in the editor, which stand over those on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use url::Url;

use crate::load::{begins_with_flow, in_our_folder};
use crate::port::{FileProblem, Files};
use crate::source::{SourceFile, Unit};

/// Most bytes of a file, as on disk.
const LARGEST: usize = 1024 * 1024;

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
        in_our_folder(path) || begins_with_flow(&self.source.text)
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
pub fn address_of(path: &Path) -> Option<String> {
    Url::from_file_path(path).ok().map(String::from)
}

/// Open files over those on disk.
pub struct Overlay<'a> {
    /// The files on disk.
    pub disk: &'a dyn Files,
    /// The open ones, by path.
    pub open: &'a BTreeMap<PathBuf, Document>,
}

impl Overlay<'_> {
    /// The open file of a path, whichever way it is reached.
    fn get(&self, path: &Path) -> Option<&Document> {
        self.open.get(path).or_else(|| self.open.get(&self.disk.real_path(path)?))
    }
}

impl Files for Overlay<'_> {
    fn read_text(&self, path: &Path) -> Result<String, FileProblem> {
        match self.get(path).map(|document| Arc::clone(&document.source.text)) {
            Some(text) if text.len() > LARGEST => Err(FileProblem::TooLarge),
            Some(text) => Ok(text.to_string()),
            None => self.disk.read_text(path),
        }
    }

    fn exists(&self, path: &Path) -> bool {
        self.get(path).is_some() || self.disk.exists(path)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let mut names = self.disk.names(folder);
        let open = self.open.keys().filter(|path| path.parent() == Some(folder));
        names.extend(open.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())));
        names.sort();
        names.dedup();
        names
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.disk.real_path(path).or_else(|| self.open.contains_key(path).then(|| path.to_path_buf()))
    }
}
