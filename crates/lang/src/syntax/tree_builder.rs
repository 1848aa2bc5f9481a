//! A tree that is being read, which `build` and `keys` share.

use std::collections::HashMap;
use std::ops::Range;

use super::braces::Braces;
use super::frames::{Anchored, OpenCollection, OpenFrame, Size};
use super::limits;
use super::tree::Node;
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, SourceFile, Span};

pub(super) struct TreeBuilder<'a> {
    pub(super) file: FileId,
    pub(super) source: &'a SourceFile,
    pub(super) text: &'a str,
    pub(super) quoted: &'a Braces,
    pub(super) stack: Vec<OpenCollection>,
    pub(super) root: Option<Node>,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) anchors: HashMap<usize, Anchored>,
    pub(super) size: Size,
    pub(super) has_alias: bool,
    /// Depth of the list of keys that is really a value beginning with `{{`.
    pub(super) braces: Option<usize>,
    pub(super) last_braces: Option<(OpenFrame, usize)>,
    pub(super) seen: usize,
    pub(super) last: usize,
    pub(super) closed: Vec<OpenFrame>,
    pub(super) after_block_text: bool,
    pub(super) documents: usize,
}

impl TreeBuilder<'_> {
    pub(super) fn clamp(&self, offset: Option<usize>) -> usize {
        self.text.floor_char_boundary(offset.unwrap_or(0))
    }

    pub(super) fn span(&self, place: &Range<usize>) -> Span {
        Span::new(self.file, place.start, place.end.max(place.start))
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.braces.is_none() && self.findings.len() < limits::FINDINGS {
            self.findings.push(diagnostic);
        }
    }
}
