//! What a file may ask about other files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use super::FileKind;
use crate::model::{
    Agent, Channel, Data, FilePattern, Model, PipelineId, Policy, PreparedQuery, Replies, Scorecard, StyleGuide, TableLook, Tool,
};
use crate::source::{FileId, Span, Spanned};

/// The other files, as one file sees them. `load` answers; tests may answer from memory. Paths are as written, relative to
/// the folder of `from`.
pub trait World {
    /// The folder of a file.
    fn folder(&self, file: FileId) -> PathBuf;
    /// The folder of the project.
    fn project(&self) -> PathBuf;
    /// The place a path names.
    fn path(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError>;
    /// The place of a file that must be there but is not read.
    fn existing(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError>;
    /// The columns of the file of the table of this name; `None`: they cannot be read.
    fn columns(&self, _: &str, _: &Data) -> Option<Vec<String>> {
        None
    }
    /// What is seen of the file of the table of this name.
    fn look_of(&self, _: &str, _: &Data) -> TableLook {
        TableLook::default()
    }
    /// The text of the file of a table; `None`: it is too long to be shown, or no text.
    fn table_text(&mut self, _: &Data) -> Option<(FileId, Arc<str>)> {
        None
    }
    /// What SQLite says of queries against empty tables with these columns; `None`: it cannot be said.
    fn prepare(&self, _: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
        vec![None; queries.len()]
    }
    /// The names of the style guides that a file may have.
    fn style_guides(&self, _: FileId) -> Vec<String> {
        vec![]
    }
    /// The paths that fit a pattern with `*` in its last part, as a file would write them.
    fn fitting(&self, _: FileId, _: &str) -> Vec<String> {
        vec![]
    }
    /// Whether any file fits an entry of `files` of a knowledge.
    fn has_fitting(&self, _: &FilePattern) -> bool {
        true
    }
    /// The place of a folder that must be there.
    fn existing_folder(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError>;
    /// The definitions of a file; `from` is the place of the import.
    fn import(&mut self, from: Span, path: &str) -> Result<Arc<Definitions>, OtherFileError>;
    /// A channel by name.
    fn channel(&mut self, from: FileId, name: &str) -> Result<Arc<Channel>, OtherFileError>;
    /// A style guide by name.
    fn style_guide(&mut self, from: FileId, name: &str) -> Result<Arc<StyleGuide>, OtherFileError>;
    /// The text of a file of instructions or of a schema.
    fn text(&mut self, from: FileId, path: &str) -> Result<(FileId, Arc<str>), OtherFileError>;
    /// Scripted replies.
    fn replies(&mut self, from: FileId, path: &str) -> Result<Arc<Replies>, OtherFileError>;
    /// A pipeline that is called; `from` is the place of the call.
    fn pipeline(&mut self, from: Span, path: &str) -> Result<PipelineId, OtherFileError>;
}

/// Things by name, each with the place of its name.
pub(crate) type Section<T> = IndexMap<String, Spanned<T>>;

/// The definitions of one file, without those it imports.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(missing_docs, reason = "each field is the section of that name")]
pub struct Definitions {
    pub models: Section<Model>,
    pub agents: Section<Agent>,
    pub tools: Section<Tool>,
    pub scorecards: Section<Scorecard>,
    pub policies: Section<Policy>,
    pub data: Section<Data>,
    pub secrets: Section<Spanned<String>>,
}

/// Why another file cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherFileError {
    /// There is none. Names of those there are, for "did you mean".
    Missing(Vec<String>),
    /// It lies outside the project.
    Outside,
    /// No step may read it; why, in words that follow "it".
    Own(&'static str),
    /// Imports go in a circle: the files, the first again at the end.
    Circle(Vec<String>),
    /// It is something else.
    WrongKind(FileKind),
    /// Another reason, to follow after a colon (`it is larger than 1 MiB`), and what to do about it.
    Because(String, Cow<'static, str>),
    /// It was found, and what is wrong with it has been reported there.
    Reported,
}
