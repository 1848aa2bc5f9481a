//! Where values come from at last, and the way from there.

use super::ChainIx;
use crate::model::Writer;
use crate::plan::StepIx;
use crate::source::Span;

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
    pub reader: String,
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
    /// The texts from the end of the way back to the source.
    pub hops: Vec<Hop>,
}

impl Way {
    /// What would keep the value from coming this way; empty: nothing.
    pub fn doubts(&self) -> impl Iterator<Item = &str> {
        self.hops.iter().filter_map(|hop| hop.doubt.as_deref())
    }
}
