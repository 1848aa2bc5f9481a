//! F418: a check of words that asks for other than what its criterion says of itself.

use crate::model::{Check, Criterion};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::scorecards::{checks, checks_of, fixed};
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let own =
        pipeline.steps.iter().filter_map(|planned| planned.step.kind.facts().judges).flat_map(|judging| checks_of(judging.own_criteria()));
    pipeline.pipeline.scorecards.values().flat_map(checks).chain(own).for_each(|(criterion, check)| of(criterion, check, out));
}

fn of(criterion: &Criterion, check: &Spanned<Check>, out: &mut Vec<Diagnostic>) {
    let Check::Contains(texts, _) = &check.value else { return };
    let words: Vec<&str> = fixed(texts).collect();
    let (id, said) = (quoted(&criterion.id.value), criterion.description.to_lowercase());
    if words.len() > 1 && words.len() == texts.len() && asks_for_one(&said) {
        let all = words.iter().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|");
        let message = format!("criterion {id}: contains asks for all {} texts, and its description for one of them", words.len());
        out.push(found(check, &message).help(format!("write regex: \"{all}\"")));
    }
    if let [only] = words.as_slice()
        && only.matches(", ").count() > 1
        && !said.contains(&only.to_lowercase())
        && only.split(", ").all(|word| said.contains(&word.trim().to_lowercase()))
    {
        let message = format!("criterion {id}: contains looks for {} as one text, commas and all", quoted(only));
        out.push(found(check, &message).help(format!("write a list: contains: [{only}]")));
    }
}

/// Whether a description speaks of one among several.
fn asks_for_one(said: &str) -> bool {
    let words: Vec<&str> = said.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_every = |word: &str| matches!(word, "every" | "each" | "no" | "not");
    words.windows(2).enumerate().any(|(at, pair)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
        matches!(pair, ["one" | "any", "of"]) && !is_every(before)
    })
}

fn found(check: &Spanned<Check>, message: &str) -> Diagnostic {
    finding(Code::CheckDescription, check.span, message)
}
