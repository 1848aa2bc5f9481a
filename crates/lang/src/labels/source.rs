//! Where values come from at last, and the way from there.

use std::sync::Arc;

use super::ChainIx;
use crate::model::Writer;
use crate::plan::StepIx;
use crate::source::Span;

/// So many texts of a way are told at each end of it, and so many of its doubts.
pub(super) const MOST_TOLD: usize = 10;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Who wrote it.
    pub writer: Writer,
    /// The name of the personal value that it is, as in `inputs.phone`.
    pub personal: Option<String>,
    /// The pipeline, and the step that made it, if one did.
    pub at: (ChainIx, Option<StepIx>),
    /// What it is, in words: `the answer of agent writer`.
    pub words: String,
    /// Where the author wrote what makes it.
    pub span: Span,
}

/// One text on the way of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// Who reads: a step or an output, in words.
    pub reader: Arc<str>,
    /// What is read.
    pub path: String,
    /// Where.
    pub span: Span,
    /// What must not be so if the value is not to come this way.
    pub doubt: Option<String>,
}

/// A value that comes from a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Where it was written.
    pub source: Source,
    /// The texts from the end of the way back to the source; of a long way the first and the last ones.
    pub hops: Vec<Hop>,
    /// So many texts in the middle of a long way are left out.
    pub left_out: u32,
    /// What would keep the value from coming this way; empty: nothing.
    pub doubts: Vec<String>,
}

impl Way {
    /// In words, from the source: each place and what happens there.
    pub fn words(&self) -> Vec<(Span, String)> {
        let first = (self.source.span, format!("here is {}", self.source.personal.as_ref().unwrap_or(&self.source.words)));
        let mut words: Vec<_> = self.hops.iter().map(|hop| (hop.span, format!("{} reads {}", hop.reader, hop.path))).collect();
        if self.left_out > 0
            && let Some((span, _)) = words.get(MOST_TOLD)
        {
            words.insert(MOST_TOLD, (*span, format!("{} more texts pass it on", self.left_out)));
        }
        words.push(first);
        words.reverse();
        words
    }
}
