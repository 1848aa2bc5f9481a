//! `knowledge`: documents of the project that are searched.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use unicode_normalization::UnicodeNormalization;

use super::{FOUND_PIECES, Field, FieldKind, MOST_FOUND, Text};
use crate::source::Spanned;

/// The documents under one name of `knowledge`, and how they are searched.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Knowledge {
    /// The files that are written out.
    pub files: Vec<Spanned<FilePattern>>,
    /// Entries of `files` that the run fills in: each gives a path, a list of paths, or nothing. What they give is never a pattern.
    pub given: Vec<Text>,
    /// How they are searched.
    pub search: SearchMode,
    /// The model that makes vectors; needed where [`SearchMode::needs_vectors`].
    pub embed: Option<Spanned<String>>,
    /// Whether strangers wrote the documents.
    pub is_untrusted: bool,
}

impl Knowledge {
    /// The only thing that its tool does: `handbook.search`.
    pub const PART: &'static str = "search";

    /// The name of the tool that agents get, of a name in `knowledge`.
    pub fn tool_name(name: &str) -> String {
        format!("{name}.{}", Knowledge::PART)
    }

    /// What its tool takes.
    pub fn arguments() -> Vec<Field> {
        let top = Field {
            is_required: false,
            minimum: Some(1.0),
            maximum: Some(MOST_FOUND as f64),
            description: Some(format!("The most pieces of text to give; {FOUND_PIECES} when left out.")),
            ..Field::new("top", FieldKind::Integer)
        };
        let told = "What to look for: a question, or words that the text may hold.";
        vec![Field { description: Some(told.to_owned()), ..Field::new("query", FieldKind::Text) }, top]
    }
}

/// How documents are searched (`search`).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
    serde::Serialize,
    serde::Deserialize,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// By the words of the question: BM25.
    #[default]
    Words,
    /// By what the question means: the nearest vectors.
    Meaning,
    /// Both lists, fused by rank.
    Both,
}

impl SearchMode {
    /// Whether the words of the question are looked for.
    pub fn needs_words(self) -> bool {
        match self {
            SearchMode::Words | SearchMode::Both => true,
            SearchMode::Meaning => false,
        }
    }

    /// Whether vectors are compared.
    pub fn needs_vectors(self) -> bool {
        match self {
            SearchMode::Meaning | SearchMode::Both => true,
            SearchMode::Words => false,
        }
    }
}

/// `search`: finds the pieces of a knowledge that fit a question best.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchStep {
    /// The name in `knowledge`.
    pub knowledge: Spanned<String>,
    /// What is looked for (`for`).
    pub query: Text,
    /// Most pieces.
    pub top: Option<u64>,
}

/// One entry of `files`: a path, or a pattern split before its first part with a wildcard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct FilePattern {
    /// The file; of a pattern the folder in which it is looked for.
    pub root: PathBuf,
    /// The pattern, from `root`; empty: `root` is the file.
    pub rest: String,
}

impl FilePattern {
    /// The parts of an entry before the first with a wildcard, and the rest; of a path the rest is empty.
    pub fn split(written: &str) -> (String, String) {
        let is_wild = |part: &&str| part.contains(['*', '?', '[', '{']);
        let parts: Vec<&str> = written.split('/').collect();
        let wild = parts.iter().position(is_wild).unwrap_or(parts.len());
        let (root, rest) = parts.split_at(wild);
        (root.join("/"), rest.join("/"))
    }

    /// What fits: paths from `root`, with `/`. `None`: it is a path, or no pattern at all.
    pub fn matcher(&self) -> Option<PathMatcher> {
        if self.rest.is_empty() {
            return None;
        }
        // A letter with an accent is the same name, of one character or of two.
        let rest: String = self.rest.nfc().collect();
        GlobBuilder::new(&rest).literal_separator(true).build().ok().map(|glob| PathMatcher(glob.compile_matcher()))
    }

    /// Why the pattern cannot be read, in words that follow a colon.
    pub fn problem(&self) -> Option<String> {
        GlobBuilder::new(&self.rest).literal_separator(true).build().err().map(|error| error.kind().to_string())
    }

    /// The whole pattern as policies see it, as a path.
    pub fn whole(&self) -> PathBuf {
        if self.rest.is_empty() { self.root.clone() } else { self.root.join(&self.rest) }
    }
}

/// Tells which paths fit a pattern: `*` within one folder, `**` across folders.
#[derive(Debug, Clone)]
pub struct PathMatcher(GlobMatcher);

impl PathMatcher {
    /// Whether a path from the pattern's root fits.
    pub fn fits(&self, inside: &Path) -> bool {
        match inside.to_str().filter(|path| !path.is_ascii()) {
            Some(path) => self.0.is_match(path.nfc().collect::<String>()),
            None => self.0.is_match(inside),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_begins_at_its_first_wildcard() {
        let split = |written: &str| FilePattern::split(written);
        let pair = |root: &str, rest: &str| (root.to_owned(), rest.to_owned());
        assert_eq!(split("docs/**/*.md"), pair("docs", "**/*.md"));
        assert_eq!(split("*.md"), pair("", "*.md"));
        assert_eq!(split("a/b.pdf"), pair("a/b.pdf", ""));
        assert_eq!(split("../a[0]/x.md"), pair("..", "a[0]/x.md"));
    }

    #[test]
    fn a_star_stays_in_its_folder() {
        let fits = |rest: &str, path: &str| {
            FilePattern { root: "".into(), rest: rest.to_owned() }.matcher().is_some_and(|matcher| matcher.fits(Path::new(path)))
        };
        assert!(fits("**/*.md", "a.md") && fits("**/*.md", "b/c/a.md") && fits("*.md", "a.md"));
        assert!(fits("Gr\u{f6}*.md", "Gro\u{308}\u{df}e.md") && fits("Gro\u{308}*.md", "Gr\u{f6}\u{df}e.md"));
        assert!(!fits("*.md", "b/a.md") && !fits("*.md", "a.txt") && !fits("", "a.md"));
        assert!(FilePattern { root: "".into(), rest: "a[".to_owned() }.problem().is_some());
    }
}
