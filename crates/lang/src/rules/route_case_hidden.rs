//! F111: a case of a route that is never chosen.

use std::collections::HashMap;

use super::{Code, Diagnostic, PipelinePlan, Plan};
use crate::model::{RouteStep, StepKind, phrase_words};
use crate::source::Span;

/// Words of a phrase in which earlier phrases are looked for; a longer one is only compared as a whole.
const MOST_WORDS: usize = 12;

/// F111, for every route.
pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        if let StepKind::Route(route) = &planned.step.kind {
            hidden(&planned.step.id.value, route, out);
        }
    }
}

/// A case whose every phrase holds a phrase of a case before it, and that has no `when`.
fn hidden(id: &str, route: &RouteStep, out: &mut Vec<Diagnostic>) {
    let mut earlier: HashMap<Vec<String>, (usize, Span)> = HashMap::new();
    let mut longest = 0;
    let mut conditions: HashMap<&str, (usize, Span)> = HashMap::new();
    for (number, case) in route.cases.iter().enumerate() {
        let phrases: Vec<Vec<String>> = case.phrases.iter().map(|phrase| phrase_words(&phrase.value)).collect();
        let takers: Vec<_> = phrases.iter().map(|words| taken(words, &earlier, longest)).collect();
        let is_hidden = case.when.is_none() && !takers.is_empty() && takers.iter().all(Option::is_some);
        if let (true, Some(Some((taker, span))), Some(phrase)) = (is_hidden, takers.first(), case.phrases.first()) {
            let message = format!("case {} of route \"{id}\" is never chosen: case {} matches the same phrase", number + 1, taker + 1);
            out.push(
                found(phrase.span, message)
                    .related(*span, "this is found first")
                    .help("put the case with the longer phrase first, or change one of the two"),
            );
        }
        if let Some(when) = case.when.as_ref().filter(|_| case.phrases.is_empty()) {
            match conditions.get(when.source.trim()) {
                Some((first, span)) => out.push(
                    found(
                        when.place.span,
                        format!("case {} of route \"{id}\" is never chosen: case {} has the same condition", number + 1, first + 1),
                    )
                    .related(*span, "this is found first")
                    .help("change one of the two conditions, or remove the case"),
                ),
                None => drop(conditions.insert(when.source.trim(), (number, when.place.span))),
            }
        }
        for (words, phrase) in phrases.into_iter().zip(&case.phrases) {
            longest = longest.max(words.len());
            if !words.is_empty() {
                earlier.entry(words).or_insert((number, phrase.span));
            }
        }
    }
}

fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::RouteCaseHidden, span, message)
}

/// The earlier case that fits whenever these words occur.
fn taken(words: &[String], earlier: &HashMap<Vec<String>, (usize, Span)>, longest: usize) -> Option<(usize, Span)> {
    if words.len() > MOST_WORDS {
        return earlier.get(words).copied();
    }
    (1..=words.len().min(longest)).flat_map(|length| words.windows(length)).filter_map(|part| earlier.get(part)).min().copied()
}
