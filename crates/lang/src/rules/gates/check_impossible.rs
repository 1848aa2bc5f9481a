//! F407: checks that no text can pass, alone or together, or that every text does.

use regex::Regex;

use crate::model::{Check, Criterion, PlainCheck, TestFile};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::scorecards::{checks, checks_of, expected, fixed};
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for card in pipeline.pipeline.scorecards.values() {
        of(&checks(card).collect::<Vec<_>>(), out);
    }
    for judging in pipeline.steps.iter().filter_map(|planned| planned.step.kind.facts().judges) {
        of(&checks_of(judging.own_criteria()).collect::<Vec<_>>(), out);
    }
}

/// Checks that must all pass, each with its criterion.
type Together<'c> = [(&'c Criterion, &'c Spanned<Check>)];

fn of(checks: &Together, out: &mut Vec<Diagnostic>) {
    lengths(checks, out);
    words(checks, out);
    alone(checks, out);
}

/// Highest grade of a school that a text is held to; a text for experts is at about 18.
const HIGHEST_GRADE: f64 = 25.0;

/// A check that says the same of every text.
fn alone(checks: &Together, out: &mut Vec<Diagnostic>) {
    for (criterion, check) in checks {
        let id = quoted(&criterion.id.value);
        passes_all(&format!("criterion {id}"), check, out);
        match &check.value {
            Check::Plain(PlainCheck::Links(hosts)) => {
                for address in hosts.iter().filter(|host| host.contains('/')) {
                    let host = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest).split('/').next().unwrap_or_default();
                    let message = format!("criterion {id}: links takes hosts, and {} is an address, so no link passes", quoted(address));
                    out.push(new_finding(check.span, &message).help(format!("write {host}")));
                }
            }
            Check::Plain(PlainCheck::Readability(grade)) if *grade > HIGHEST_GRADE => {
                let message = format!("criterion {id}: readability is a school grade, and every text is below {grade}");
                out.push(
                    new_finding(check.span, &message).help("write the highest grade, such as 8 for a text that a pupil of 14 understands"),
                );
            }
            Check::Plain(_) | Check::Contains(..) | Check::NotContains(..) | Check::Equals(_) => {}
            Check::NumbersFrom(_) | Check::StatesNumbers(_) | Check::ApartFrom(_) | Check::Expression(_) => {}
        }
    }
}

/// The same, for what tests expect.
pub(in crate::rules) fn in_tests(tests: &TestFile, out: &mut Vec<Diagnostic>) {
    expected(tests).for_each(|(case, check)| passes_all(&format!("test {}", quoted(&case.id.value)), check, out));
}

/// A check that every text passes.
fn passes_all(owner: &str, check: &Spanned<Check>, out: &mut Vec<Diagnostic>) {
    let Check::Plain(plain) = &check.value else { return };
    let (what, help) = match plain {
        PlainCheck::Regex(pattern) if fits_all(pattern) => {
            let meant = narrower(pattern.as_str()).map(|meant| format!("write {}, or remove the check", quoted(&meant)));
            let what = format!("the pattern {} fits every text, also an empty one", quoted(pattern.as_str()));
            (what, meant.unwrap_or_else(|| "write what must be in the text, or remove the check".to_owned()))
        }
        PlainCheck::MinLength(0) => {
            ("no text is shorter than min_length 0".to_owned(), "write min_length: 1, or remove the check".to_owned())
        }
        PlainCheck::JsonSchema(schema) if schema.as_object().is_some_and(serde_json::Map::is_empty) => {
            let help = "write what the value must have, such as json_schema: { type: object, required: [answer] }";
            ("every value fits json_schema {}".to_owned(), help.to_owned())
        }
        PlainCheck::Regex(_) | PlainCheck::JsonSchema(_) | PlainCheck::MaxLength(_) | PlainCheck::MinLength(_) => return,
        PlainCheck::FitsChannel | PlainCheck::StyleGuide | PlainCheck::Markdown(_) | PlainCheck::Emojis(_) => return,
        PlainCheck::Language(_) | PlainCheck::PiiNone | PlainCheck::Links(_) | PlainCheck::Readability(_) => return,
    };
    out.push(new_finding(check.span, &format!("{owner}: {what}")).help(help));
}

/// Texts that have nothing in common, not even a letter: what fits them all fits nothing before it fits anything.
const UNLIKE: [&str; 4] = ["", "\u{e000}", "\n\u{e001}\n", "a 0."];

fn fits_all(pattern: &Regex) -> bool {
    UNLIKE.iter().all(|text| pattern.is_match(text))
}

/// The pattern without the part that fits nothing: `hello|`, `(GOOD)?`, `[a-z]*`.
fn narrower(pattern: &str) -> Option<String> {
    let plain = pattern.trim_matches('|');
    let meant = match plain.strip_suffix(['*', '?']) {
        Some(begin) if plain.ends_with('*') => format!("{begin}+"),
        Some(begin) => begin.to_owned(),
        None => plain.to_owned(),
    };
    Regex::new(&meant).ok().filter(|meant| !fits_all(meant)).map(|_| meant)
}

pub(in crate::rules) fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::CheckImpossible, span, message)
}

/// A text that must be longer than it may be.
fn lengths(checks: &Together, out: &mut Vec<Diagnostic>) {
    let mut longest: Option<(&Criterion, Span, u64)> = None;
    let mut shortest: Option<(&Criterion, Span, u64)> = None;
    for (criterion, check) in checks {
        if let Check::Plain(PlainCheck::MaxLength(most)) = check.value
            && longest.is_none_or(|(_, _, other)| most < other)
        {
            longest = Some((criterion, check.span, most));
        }
        if let Check::Plain(PlainCheck::MinLength(least)) = check.value
            && shortest.is_none_or(|(_, _, other)| least > other)
        {
            shortest = Some((criterion, check.span, least));
        }
    }
    let (Some((_, other, most)), Some((criterion, span, least))) = (longest, shortest) else { return };
    if least > most {
        let message = format!("criterion {}: min_length {least} is above max_length {most}", quoted(&criterion.id.value));
        out.push(
            new_finding(span, &message)
                .related(other, format!("at most {most} here"))
                .help(format!("write min_length: {most} and max_length: {least}, or make room between them")),
        );
    }
}

/// A text that must occur, and must not.
fn words(checks: &Together, out: &mut Vec<Diagnostic>) {
    let mut forbidden = std::collections::HashMap::new();
    for (_, check) in checks {
        let Check::NotContains(texts, _) = &check.value else { continue };
        fixed(texts).for_each(|text| {
            forbidden.entry(text).or_insert(check.span);
        });
    }
    for (criterion, check) in checks {
        let Check::Contains(texts, _) = &check.value else { continue };
        for (text, other) in fixed(texts).filter_map(|text| Some((text, forbidden.get(text)?))) {
            let message = format!("criterion {}: {} must occur, and must not", quoted(&criterion.id.value), quoted(text));
            out.push(
                new_finding(check.span, &message)
                    .related(*other, "forbidden here")
                    .help(format!("take {} out of not_contains, or out of contains", quoted(text))),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    fn card(checks: &str) -> String {
        let criteria: String = checks
            .split(';')
            .enumerate()
            .map(|(i, check)| format!("      - {{ id: c{i}, description: It is measured., check: {{ {check} }} }}\n"))
            .collect();
        format!("scorecards:\n  s:\n    criteria:\n{criteria}steps: [{{ id: a, set: 1 }}]\n")
    }

    #[test]
    fn lengths_that_exclude_each_other_are_found_across_criteria() {
        let found = "F407 6:58 criterion \"c0\": min_length 200 is above max_length 160\n";
        assert_eq!(says(check, &card("min_length: 200;max_length: 160")), found);
        assert_eq!(says(check, &card("min_length: 160, max_length: 160")), "");
    }

    #[test]
    fn a_check_that_says_the_same_of_every_text_is_found() {
        assert_eq!(
            says(check, &card("links: [\"https://shop.example/a\", shop.example]")),
            "F407 6:58 criterion \"c0\": links takes hosts, and \"https://shop.example/a\" is an address, so no link passes\n"
        );
        let found = "F407 6:58 criterion \"c0\": readability is a school grade, and every text is below 60\n";
        assert_eq!(says(check, &card("readability: 60")), found);
        assert_eq!(says(check, &card("readability: 12, links: [shop.example]")), "");
    }

    #[test]
    fn a_text_cannot_occur_and_not_occur() {
        assert_eq!(
            says(check, &card("contains: hi, not_contains: [ho, hi]")),
            "F407 6:58 criterion \"c0\": \"hi\" must occur, and must not\n"
        );
        assert_eq!(says(check, &card("contains: '{{ inputs.a }}', not_contains: '{{ inputs.a }}'")), "");
    }
}
