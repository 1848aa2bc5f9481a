//! F111: a case of a route that is never chosen.

use std::collections::HashMap;

use crate::model::{Case, Pipeline, RouteStep, Shape, StepKind, Text, phrase_words};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, quoted};
use crate::source::Span;

/// Words of a phrase in which earlier phrases are looked for; a longer one is only compared as a whole.
const MOST_WORDS: usize = 12;

/// Most cases of a route for which the word that none asks for is looked up.
const MOST_CASES: usize = 64;

/// F111, for every route.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        if let StepKind::Route(route) = &planned.step.kind {
            hidden(&planned.step.id.value, route, &pipeline.pipeline, out);
            taken_values(&planned.step.id.value, route, out);
        }
    }
}

/// A text of `equals` that a case before it has, or in which a phrase of one occurs.
fn taken_values(id: &str, route: &RouteStep, out: &mut Vec<Diagnostic>) {
    let mut values: HashMap<&str, (usize, Span)> = HashMap::new();
    let mut phrases: HashMap<Vec<String>, (usize, Span)> = HashMap::new();
    let mut longest = 0;
    for (number, case) in route.cases.iter().enumerate().filter(|(_, case)| case.unless.is_empty()) {
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
fn hidden(id: &str, route: &RouteStep, file: &Pipeline, out: &mut Vec<Diagnostic>) {
    let mut earlier: HashMap<Vec<String>, (usize, Span)> = HashMap::new();
    let mut longest = 0;
    let mut conditions: HashMap<&str, (usize, Span)> = HashMap::new();
    for (number, case) in route.cases.iter().enumerate() {
        let phrases: Vec<Vec<String>> = case.phrases.iter().map(|phrase| phrase_words(&phrase.value)).collect();
        let takers: Vec<_> = phrases.iter().map(|words| taken(words, &earlier, longest)).collect();
        let is_hidden = case.when.is_none() && case.equals.is_empty() && !takers.is_empty() && takers.iter().all(Option::is_some);
        if let (true, Some(Some((taker, span))), Some(phrase)) = (is_hidden, takers.first(), case.phrases.first()) {
            let message = format!("case {} of route \"{id}\" is never chosen: case {} matches the same phrase", number + 1, taker + 1);
            let name = |number: usize| route.cases.get(number).map_or("", |case| case.id.as_str());
            out.push(found(phrase.span, message).related(*span, "this is found first").help(format!(
                "move case \"{}\" above case \"{}\", or change the phrases of one of them",
                name(number),
                name(*taker)
            )));
        }
        if case.when.is_none()
            && case.equals.is_empty()
            && !phrases.is_empty()
            && case.phrases.iter().all(|phrase| is_ruled_out(case, phrase.as_str()))
        {
            let message = format!("case {} of route \"{id}\" is never chosen: its unless rules out each of its phrases", number + 1);
            out.extend(case.unless.first().map(|unless| found(unless.span, message).help("take out of unless what stands in the phrases")));
        }
        // What `unless` leaves to later cases is not taken by this one.
        if !case.unless.is_empty() {
            continue;
        }
        if let Some(when) = case.when.as_ref().filter(|_| case.phrases.is_empty() && case.equals.is_empty()) {
            match conditions.get(when.source.trim()) {
                Some((first, span)) => out.push(
                    found(
                        when.place.span,
                        format!("case {} of route \"{id}\" is never chosen: case {} has the same condition", number + 1, first + 1),
                    )
                    .related(*span, "this is found first")
                    .help(match unasked(route, when, file) {
                        Some(condition) => format!("write {condition}, which no case asks for, or remove the case"),
                        None => "change one of the two conditions, or remove the case".to_owned(),
                    }),
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

fn is_ruled_out(case: &Case, phrase: &str) -> bool {
    case.fits(phrase, &phrase_words(phrase)).is_none()
}

/// The same question for the one word of the input that no case asks for.
fn unasked(route: &RouteStep, when: &Text, file: &Pipeline) -> Option<String> {
    let (path, word) = when.source.split_once("==").map(|(path, word)| (path.trim(), word.trim()))?;
    let Shape::Fields(inputs) = &file.inputs else { return None };
    if route.cases.len() > MOST_CASES {
        return None;
    }
    let input = inputs.iter().find(|field| path == format!("inputs.{}", field.name))?;
    let is_asked = |word: &&str| route.cases.iter().any(|case| case.when.as_ref().is_some_and(|when| when.source.contains(*word)));
    let mut open = input.one_of.iter().filter_map(|value| value.as_str()).filter(|word| !is_asked(word));
    let (one, None) = (open.next()?, open.next()) else { return None };
    let quote = word.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    Some(format!("{path} == {quote}{one}{quote}"))
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
