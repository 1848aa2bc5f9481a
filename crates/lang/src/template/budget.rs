//! The limits of this room, and what one filling has left of them.
//!
//! A thread cannot be stopped from outside, so every operation asks here first (reliability P2, P5, P9).

use super::stop::FillStop;

/// Longest template, in bytes.
pub(super) const TEMPLATE_BYTES: usize = 64 * 1024;
/// Longest single expression, in bytes.
pub(super) const EXPRESSION_BYTES: usize = 4 * 1024;
/// Most operators, filters and look-ups of one expression.
pub(super) const OPERATORS: usize = 256;
/// Most `elif` of one template.
pub(super) const ELIFS: usize = 128;
/// Deepest nesting of statements and brackets together.
pub(super) const NESTING: usize = 64;
/// Longest text that a filling, a filter or an operator may make, in bytes.
pub(super) const TEXT_BYTES: usize = 1024 * 1024;
/// Longest list that a filter, an operator or `range` may make.
pub(super) const ELEMENTS: usize = 100_000;
/// Deepest value that goes in or out.
pub(super) const VALUE_DEPTH: usize = 128;

/// Parts of expressions and statements that one filling may work through.
const FUEL: u32 = 100_000;
/// Bytes that one filling may read or make in all its operations; an element of a list counts as [`ELEMENT_BYTES`].
const WORK: usize = 16 * 1024 * 1024;
const ELEMENT_BYTES: usize = 16;

/// What one filling has left.
#[derive(Debug)]
pub(super) struct Budget {
    fuel: u32,
    work: usize,
}

impl Budget {
    /// A full one.
    pub(super) fn new() -> Budget {
        Budget { fuel: FUEL, work: WORK }
    }

    /// Pays for one part of an expression or one statement.
    pub(super) fn step(&mut self) -> Result<(), FillStop> {
        self.fuel =
            self.fuel.checked_sub(1).ok_or_else(|| FillStop::too_large("this takes more than 100,000 small steps; do less in one text"))?;
        Ok(())
    }

    /// Pays for reading or making this many bytes of text.
    pub(super) fn bytes(&mut self, count: usize) -> Result<(), FillStop> {
        self.work = self
            .work
            .checked_sub(count)
            .ok_or_else(|| FillStop::too_large("this works on more than 16 MiB in all; do less in one text"))?;
        Ok(())
    }

    /// Pays for reading or making this many elements of lists.
    pub(super) fn elements(&mut self, count: usize) -> Result<(), FillStop> {
        self.bytes(count.saturating_mul(ELEMENT_BYTES))
    }

    /// Pays for a list of `count` elements about to be made; rejects one above the limit.
    pub(super) fn list(&mut self, count: usize) -> Result<(), FillStop> {
        if count > ELEMENTS {
            return Err(FillStop::too_large("this makes a list of more than 100,000 elements"));
        }
        self.elements(count)
    }

    /// Pays for a text of `count` bytes about to be made; rejects one above the limit.
    pub(super) fn text(&mut self, count: usize) -> Result<(), FillStop> {
        self.within(count)?;
        self.bytes(count)
    }

    /// Rejects a text of `count` bytes above the limit.
    pub(super) fn within(&self, count: usize) -> Result<(), FillStop> {
        if count > TEXT_BYTES {
            Err(FillStop::too_large("this makes a text of more than 1 MiB; take a part of it, as in text[:1000]"))
        } else {
            Ok(())
        }
    }
}
