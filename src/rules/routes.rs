//! F110: a route that may end the run. F111: a case that is never chosen.

use std::collections::HashMap;

use super::constant_condition::constant;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{RouteStep, StepKind, phrase_words};
use crate::plan::{PipelinePlan, Plan};

/// Words of a phrase in which earlier phrases are looked for; a longer one is only compared as a whole.
const MOST_WORDS: usize = 12;

pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let StepKind::Route(route) = &planned.step.kind else { continue };
        let id = &planned.step.id.value;
        let takes_all = route.cases.iter().filter_map(|case| case.when.as_ref()).any(|when| constant(when) == Some(true));
        if route.otherwise.is_none() && !takes_all {
            let message = format!("route \"{id}\" has no otherwise; a question that fits no case ends the run");
            out.push(
                Diagnostic::new(Code::RouteOpen, planned.step.id.span, message)
                    .help("add otherwise: { set: … }, or another step for the rest"),
            );
        }
        hidden(id, route, out);
    }
}

/// A case whose every phrase holds a phrase of a case before it, and that has no `when`.
fn hidden(id: &str, route: &RouteStep, out: &mut Vec<Diagnostic>) {
    let mut earlier: HashMap<Vec<String>, (usize, crate::source::Span)> = HashMap::new();
    let mut longest = 0;
    for (number, case) in route.cases.iter().enumerate() {
        let phrases: Vec<Vec<String>> = case.phrases.iter().map(|phrase| phrase_words(&phrase.value)).collect();
        let takers: Vec<_> = phrases.iter().map(|words| taken(words, &earlier, longest)).collect();
        let is_hidden = case.when.is_none() && !takers.is_empty() && takers.iter().all(Option::is_some);
        if let (true, Some(Some((taker, span))), Some(phrase)) = (is_hidden, takers.first(), case.phrases.first()) {
            let message = format!("case {} of route \"{id}\" is never chosen: case {} takes the same phrase", number + 1, taker + 1);
            out.push(
                Diagnostic::new(Code::RouteCaseHidden, phrase.span, message)
                    .related(*span, "this is found first")
                    .help("put the case with the longer phrase first, or change one of the two"),
            );
        }
        for (words, phrase) in phrases.into_iter().zip(&case.phrases) {
            longest = longest.max(words.len());
            if !words.is_empty() {
                earlier.entry(words).or_insert((number, phrase.span));
            }
        }
    }
}

/// The earlier case that fits whenever these words occur.
fn taken(
    words: &[String],
    earlier: &HashMap<Vec<String>, (usize, crate::source::Span)>,
    longest: usize,
) -> Option<(usize, crate::source::Span)> {
    if words.len() > MOST_WORDS {
        return earlier.get(words).copied();
    }
    (1..=words.len().min(longest)).flat_map(|length| words.windows(length)).filter_map(|part| earlier.get(part)).min().copied()
}
