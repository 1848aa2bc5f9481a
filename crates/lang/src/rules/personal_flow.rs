//! Personal data on its way through texts.
//!
//! It flows from inputs and columns with `pii: true`, and from `person` (but `id`, `language`, `time_zone`), through steps marked
//! `pii: true`. An unmarked reader is reported once and the flow ends there; a check `pii: none` ends it too.

use std::collections::HashSet;

use super::giving::{Gives, gives};
use super::personal_sources::{Element, PersonalSources};
use crate::model::{Filling, Read, Text};
use crate::plan::PlannedStep;
use crate::source::Spanned;

/// The first read of these texts whose personal data ends up in what they give, and its name.
pub(super) fn first<'p>(sources: &PersonalSources, planned: &PlannedStep, texts: &[&'p Text], least: Gives) -> Option<(&'p Read, String)> {
    let element = Element::of(planned);
    for text in texts {
        let mut asked = HashSet::new();
        for read in text.reads.iter().filter(|read| asked.insert(&read.path)) {
            if let Some(name) = sources.named(&element, read).filter(|_| gives(text, read) >= least) {
                return Some((read, name));
            }
        }
    }
    None
}

/// The texts of values given by name.
pub(super) fn all(pairs: &[(Spanned<String>, Filling)]) -> Vec<&Text> {
    pairs.iter().flat_map(|(_, value)| value.texts()).collect()
}
