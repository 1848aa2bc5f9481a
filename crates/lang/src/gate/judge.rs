//! Which file does which check.

use super::fill::FilledCheck;
use super::verdict::{CheckResult, JudgedText};
use super::{language, links, manner, markdown, numbers, personal_data, readability, schema, words};
use crate::model::PlainCheck;

/// Does a check.
pub fn check(check: &FilledCheck, judged: &JudgedText) -> CheckResult {
    let text = judged.text;
    match check {
        FilledCheck::Plain(check) => plain(check, judged),
        FilledCheck::Contains(wanted, case) => {
            let found = words::contains(wanted, *case, text);
            match judged.unlinked().filter(|_| !found.passed).map(|text| words::contains(wanted, *case, &text)) {
                Some(read) if read.passed => read,
                _ => found,
            }
        }
        FilledCheck::NotContains(unwanted, case) => in_both(judged, |text| words::not_contains(unwanted, *case, text)),
        FilledCheck::Equals(expected) => words::equals(expected, judged),
        FilledCheck::NumbersFrom(value) => numbers::numbers_from(value, judged),
        FilledCheck::StatesNumbers(value) => numbers::states_numbers(value, text),
        FilledCheck::ApartFrom | FilledCheck::Expression { is_true: true, .. } => CheckResult::passed(),
        FilledCheck::Expression { unmet, .. } => CheckResult::failed(unmet, ""),
    }
}

/// For what must not be in a text: neither as it is written nor as it is read.
fn in_both(judged: &JudgedText, check: impl Fn(&str) -> CheckResult) -> CheckResult {
    let found = check(judged.text);
    let read = judged.unlinked().filter(|_| found.passed).map_or_else(|| found.clone(), |text| check(&text));
    // Nobody sees these, and they part no word.
    let is_unseen = |c: char| matches!(c, '\u{FE0F}' | '\u{61C}' | '\u{200E}' | '\u{200F}');
    match read.passed && judged.text.contains(is_unseen) {
        true => check(&judged.text.replace(is_unseen, "")),
        false => read,
    }
}

fn plain(check: &PlainCheck, judged: &JudgedText) -> CheckResult {
    let text = judged.text;
    match check {
        PlainCheck::Regex(pattern) => words::regex(pattern, text),
        PlainCheck::JsonSchema(schema) => schema::fits(schema, judged.value),
        PlainCheck::MaxLength(most) => manner::max_length(*most, judged),
        PlainCheck::MinLength(least) => manner::min_length(*least, judged),
        PlainCheck::FitsChannel => manner::fits_channel(judged),
        PlainCheck::StyleGuide => manner::style_guide(judged),
        PlainCheck::Emojis(most) => manner::emojis(*most, text),
        PlainCheck::Markdown(allowed) => markdown::markdown(*allowed, judged),
        PlainCheck::Language(language) => language::language(language, text),
        PlainCheck::PiiNone => in_both(judged, personal_data::none),
        PlainCheck::Links(hosts) => links::links(hosts, judged),
        PlainCheck::Readability(highest) => readability::readability(*highest, text),
    }
}
