//! The checks of a scorecard, and the texts they ask for.

use crate::model::{Check, Criterion, Form, Judging, Scorecard, Text};
use crate::source::Spanned;

/// Every check of a scorecard with its criterion. All must pass, so they are looked at together.
pub(super) fn checks(card: &Scorecard) -> impl Iterator<Item = (&Criterion, &Spanned<Check>)> {
    card.criteria.iter().flat_map(|criterion| {
        let checks: &[Spanned<Check>] = match &criterion.judging {
            Judging::Checks(checks) => checks,
            _ => &[],
        };
        checks.iter().map(move |check| (criterion, check))
    })
}

/// Texts of the author's without templates.
pub(super) fn fixed(texts: &[Text]) -> impl Iterator<Item = &str> {
    texts.iter().filter(|text| text.form == Form::Plain).map(|text| &*text.source)
}
