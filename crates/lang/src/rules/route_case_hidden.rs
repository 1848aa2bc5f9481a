//! F111: a case of a route that is never chosen.

use std::collections::HashMap;

use super::{Code, Diagnostic, PipelinePlan, Plan, quoted};
use crate::model::{RouteStep, StepKind, phrase_words};
use crate::source::Span;

/// Words of a phrase in which earlier phrases are looked for; a longer one is only compared as a whole.
const MOST_WORDS: usize = 12;

/// F111, for every route.
pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        if let StepKind::Route(route) = &planned.step.kind {
            hidden(&planned.step.id.value, route, out);
            taken_values(&planned.step.id.value, route, out);
        }
    }
}

/// A text of `equals` that a case before it has, or in which a phrase of one occurs.
fn taken_values(id: &str, route: &RouteStep, out: &mut Vec<Diagnostic>) {
    let mut values: HashMap<&str, (usize, Span)> = HashMap::new();
    let mut phrases: HashMap<Vec<String>, (usize, Span)> = HashMap::new();
    let mut longest = 0;
    for (number, case) in route.cases.iter().enumerate() {
        for value in &case.equals {
            let by_phrase = || taken(&phrase_words(&value.value), &phrases, longest);
            let Some((taker, span)) = values.get(value.as_str()).copied().or_else(by_phrase) else {
                values.insert(&value.value, (number, value.span));
                continue;
            };
            let shown = quoted(&value.value);
            let message = match taker == number {
                true => format!("case {} of route \"{id}\" has {shown} twice", number + 1),
                false => format!("case {} of route \"{id}\" is never chosen for {shown}: case {} fits first", number + 1, taker + 1),
            };
            out.push(found(value.span, message).related(span, "this fits first").help("remove it from one of the two"));
        }
        for phrase in &case.phrases {
            let words = phrase_words(&phrase.value);
            longest = longest.max(words.len());
            if !words.is_empty() {
                phrases.entry(words).or_insert((number, phrase.span));
            }
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
        let is_hidden = case.when.is_none() && case.equals.is_empty() && !takers.is_empty() && takers.iter().all(Option::is_some);
        if let (true, Some(Some((taker, span))), Some(phrase)) = (is_hidden, takers.first(), case.phrases.first()) {
            let message = format!("case {} of route \"{id}\" is never chosen: case {} matches the same phrase", number + 1, taker + 1);
            out.push(
                found(phrase.span, message)
                    .related(*span, "this is found first")
                    .help("put the case with the longer phrase first, or change one of the two"),
            );
        }
        if let Some(when) = case.when.as_ref().filter(|_| case.phrases.is_empty() && case.equals.is_empty()) {
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
