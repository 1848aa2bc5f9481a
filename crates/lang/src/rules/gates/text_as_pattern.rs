//! F417: a regular expression where a text is looked for letter by letter.

use std::sync::LazyLock;

use regex::Regex;

use crate::diagnostic::About;
use crate::model::{Case, Check, StepKind, StyleGuide, TestFile};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::scorecards::{checks, checks_of, expected, fixed};
use crate::rules::support::style_guides::style_guides;
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let own =
        pipeline.steps.iter().filter_map(|planned| planned.step.kind.facts().judges).flat_map(|judging| checks_of(judging.own_criteria()));
    pipeline.pipeline.scorecards.values().flat_map(checks).chain(own).for_each(|(_, check)| of_check(check, out));
    style_guides(pipeline).for_each(|style| in_style_guide(style, out));
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Route(route) = &step.kind else { continue };
        for (key, phrase) in route.cases.iter().flat_map(phrases) {
            if is_pattern(&phrase.value) {
                let message = format!("phrase {} is looked for word by word, and no regular expression", quoted(&phrase.value));
                out.push(
                    found(phrase.span, &message)
                        .help(format!("write the phrases as people say them: {key}: [feeding time, feed the seals]")),
                );
            } else if let Some(words) = choices(&phrase.value) {
                let message = format!("phrase {} is looked for with its \"|\"", quoted(&phrase.value));
                out.push(found(phrase.span, &message).help(format!("write them one by one: {key}: [{}]", words.join(", "))));
            }
        }
        for value in route.cases.iter().flat_map(|case| &case.equals).filter(|value| is_pattern(&value.value)) {
            let message = format!("equals {} is compared letter by letter, and no regular expression", quoted(&value.value));
            out.push(
                found(value.span, &message).help("write all values: equals: [sales, billing]; or words that occur: phrases: [refund]"),
            );
        }
    }
}

/// What is looked for word by word, each with its key.
fn phrases(case: &Case) -> impl Iterator<Item = (&'static str, &Spanned<String>)> {
    case.phrases.iter().map(|phrase| ("phrases", phrase)).chain(case.unless.iter().map(|phrase| ("unless", phrase)))
}

/// The same, for what tests expect.
pub(in crate::rules) fn in_tests(tests: &TestFile, out: &mut Vec<Diagnostic>) {
    expected(tests).for_each(|(_, check)| of_check(check, out));
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
    let several = fixed(texts).find_map(|text| {
        let several = choices(text).or_else(|| list(text, false).filter(|_| key == "not_contains"))?;
        Some((text, several))
    });
    if let Some((text, words)) = several {
        let others = fixed(texts).filter(|other| *other != text).count();
        let message = format!("{key} looks for {} letter by letter, as one text", quoted(text));
        let help = match (key, others) {
            ("contains", _) => format!("write regex: {}", quoted(text)),
            (_, 0) => format!("write {key}: [{}]", words.join(", ")),
            (_, _) => format!("write them one by one: {}", words.join(", ")),
        };
        out.push(found(check.span, &message).help(help));
    } else if let Some(pattern) = fixed(texts).find(|text| is_pattern(text)) {
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

/// Words that a style guide bans by a pattern, or in one entry.
pub(in crate::rules) fn in_style_guide(style: &StyleGuide, out: &mut Vec<Diagnostic>) {
    let banned = &style.words.banned;
    for word in banned {
        let (message, help) = if let Some(words) = choices(word).or_else(|| list(word, banned.len() == 1)) {
            let message = format!("{} is one entry of banned, which no text holds letter by letter", quoted(word));
            (message, format!("write banned: [{}]", words.join(", ")))
        } else if is_pattern(word) || word.contains('*') && word.chars().any(char::is_alphabetic) {
            let message = format!("{} in banned is looked for word by word, and no pattern", quoted(word));
            (message, "write each form of the word: banned: [guarantee, guarantees, guaranteed]".to_owned())
        } else {
            continue;
        };
        out.push(found(style.span, &message).about(About::Value("words.banned".to_owned())).help(help));
    }
}

/// `refund|return`: words that a regular expression would choose between.
fn choices(text: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = text.split('|').collect();
    let is_word =
        |word: &&str| word.chars().next().is_some_and(char::is_alphanumeric) && word.chars().last().is_some_and(char::is_alphanumeric);
    (words.len() > 1 && words.iter().all(is_word)).then_some(words)
}

/// `cheap, free, best`: several words in one text. Two may be a phrase, such as "well, actually".
fn list(text: &str, is_alone: bool) -> Option<Vec<&str>> {
    let words: Vec<&str> = text.split([',', ';']).map(str::trim).collect();
    let is_word = |word: &&str| word.chars().any(char::is_alphabetic) && word.chars().all(|c| c.is_alphanumeric() || c == '-');
    (words.len() >= if is_alone { 2 } else { 3 } && words.iter().all(is_word)).then_some(words)
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
    use crate::rules::testing::with_channel;

    #[test]
    fn a_style_guide_bans_words_one_by_one() {
        let with = |banned: &str| with_channel(check, "", &format!("words: {{ banned: [{banned}] }}"));
        for (banned, said) in [
            ("'guarant*'", "\"guarant*\" in banned is looked for word by word, and no pattern"),
            ("'syn.*'", "\"syn.*\" in banned is looked for word by word, and no pattern"),
            ("'guaranteed, synergy'", "\"guaranteed, synergy\" is one entry of banned, which no text holds letter by letter"),
            ("a, 'cheap|free'", "\"cheap|free\" is one entry of banned, which no text holds letter by letter"),
        ] {
            assert!(with(banned).contains(said), "{}", with(banned));
        }
        assert_eq!(with("guaranteed, 'well, actually', 'as an AI, I', '**', 'C++'"), "");
    }

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
