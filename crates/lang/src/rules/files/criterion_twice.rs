//! F301: a criterion that a step does not judge by, since one of the same id stands before it.

use std::collections::{HashMap, HashSet};

use super::unused_definition::found;
use crate::diagnostic::{LONGEST_MESSAGE, cut};
use crate::model::{Criterion, ScorecardRef};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::support::scorecards::named_scorecards;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let own = pipeline.pipeline.name.span.file;
    let mut seen = HashSet::new();
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(judging) = step.kind.facts().judges else { continue };
        let Some(cards) = named_scorecards(pipeline, judging) else { continue };
        // Steps that judge by the same scorecards are alike.
        let names: Vec<&str> = cards.iter().map(|(name, _)| *name).collect();
        if names.len() < 2 || !seen.insert(names) {
            continue;
        }
        let places = judging.cards().iter().filter_map(ScorecardRef::name).map(|name| name.span);
        let mut first: HashMap<&str, (&str, &Criterion)> = HashMap::new();
        for ((card, scorecard), place) in cards.into_iter().zip(places) {
            for criterion in &scorecard.criteria {
                let id = criterion.id.value.as_str();
                let (before, other) = *first.entry(id).or_insert((card, criterion));
                if before == card || is_same(criterion, other) {
                    continue;
                }
                let by = quoted(&step.id.value);
                let message = format!(
                    "{by} does not judge by {} of scorecard {}: {} before it has that id",
                    quoted(id),
                    quoted(card),
                    quoted(before)
                );
                let is_here = criterion.id.span.file == own;
                let (at, related) = if is_here { (criterion.id.span, place) } else { (place, criterion.id.span) };
                let where_to = if is_here { String::new() } else { format!(" in scorecard {}", quoted(card)) };
                out.push(
                    found(at, cut(&message, LONGEST_MESSAGE))
                        .related(other.id.span, "judged by this one")
                        .related(related, if is_here { "judges by both scorecards" } else { "not judged by" })
                        .help(format!("write id: {card}_{id}{where_to}")),
                );
            }
        }
    }
}

/// Whether two criteria ask the same, so that one of them is enough.
fn is_same(one: &Criterion, other: &Criterion) -> bool {
    one.description == other.description && one.judging == other.judging
}
