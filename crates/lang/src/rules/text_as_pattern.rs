//! F417: a regular expression where a text is looked for letter by letter.

use std::sync::LazyLock;

use regex::Regex;

use super::scorecards::{checks, checks_of, fixed};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Check, StepKind};
use crate::source::{Span, Spanned};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let own =
        pipeline.steps.iter().filter_map(|planned| planned.step.kind.facts().judges).flat_map(|judging| checks_of(judging.own_criteria()));
    pipeline.pipeline.scorecards.values().flat_map(checks).chain(own).for_each(|(_, check)| of_check(check, out));
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Route(route) = &step.kind else { continue };
        for phrase in route.cases.iter().flat_map(|case| &case.phrases).filter(|phrase| is_pattern(&phrase.value)) {
            let message = format!("phrase {} is looked for word by word, and no regular expression", quoted(&phrase.value));
            out.push(found(phrase.span, &message).help("write the phrases as people say them: phrases: [feeding time, feed the seals]"));
        }
        for value in route.cases.iter().flat_map(|case| &case.equals).filter(|value| is_pattern(&value.value)) {
            let message = format!("equals {} is compared letter by letter, and no regular expression", quoted(&value.value));
            out.push(
                found(value.span, &message).help("write all values: equals: [sales, billing]; or words that occur: phrases: [refund]"),
            );
        }
    }
}

fn of_check(check: &Spanned<Check>, out: &mut Vec<Diagnostic>) {
    let (key, texts, help): (_, _, fn(&str) -> String) = match &check.value {
        Check::Contains(texts, _) => ("contains", texts, |_| "write regex: … with this pattern".to_owned()),
        Check::NotContains(texts, _) => ("not_contains", texts, without),
        Check::Plain(_)
        | Check::Equals(_)
        | Check::NumbersFrom(_)
        | Check::StatesNumbers(_)
        | Check::ApartFrom(_)
        | Check::Expression(_) => return,
    };
    if let Some(pattern) = fixed(texts).find(|text| is_pattern(text)) {
        let message = format!("{key} looks for {} letter by letter, and not as a regular expression", quoted(pattern));
        out.push(found(check.span, &message).help(help(pattern)));
    }
}

/// What to write where no text may match a pattern: with the pattern itself if it can stand in both kinds of quotes.
fn without(pattern: &str) -> String {
    match pattern.contains(['\'', '"', '\n']) || pattern.len() > 40 {
        true => "write in place of the pattern the words that must not occur, as a list: not_contains: [refund, money back]".to_owned(),
        false => {
            let pattern = pattern.replace('\\', "\\\\");
            format!(
                "write expression: 'text == text | regex_replace(\"{pattern}\", \"\")' in place of not_contains and its text: nothing then matches"
            )
        }
    }
}

fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::TextAsPattern, span, message)
}

/// Whether a text has signs that make sense in a regular expression alone.
fn is_pattern(text: &str) -> bool {
    static SIGNS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\\[dwsbDWSB]|\.[*+]|\[\^?[^\]\s]+-[^\]\s]*\][*+?{]|^\^.+\$$|\(\?i\)|\(\w[\w ]*(?:\|[\w ]+)+\)").ok());
    SIGNS.as_ref().is_some_and(|signs| signs.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_pattern_are_told_from_text() {
        for pattern in ["[0-9]+ ?EUR", r"\d+ Euro", "^Hello$", "guarantee.*money", "(yes|no)", "(?i)free"] {
            assert!(is_pattern(pattern), "{pattern}");
        }
        for text in ["Is it open?", "a + b", "[link]", "(yes) or (no)", "10 $", "e-mail [a-z]", "...", "C:\\new", "5 * 3"] {
            assert!(!is_pattern(text), "{text}");
        }
    }
}
