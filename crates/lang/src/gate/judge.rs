//! Which file does which check.

use super::fill::FilledCheck;
use super::verdict::{CheckResult, JudgedText};
use super::{language, links, manner, markdown, numbers, personal_data, readability, schema, words};

/// Does a check.
pub fn check(check: &FilledCheck, judged: &JudgedText) -> CheckResult {
    let text = judged.text;
    match check {
        FilledCheck::Contains(wanted) => words::contains(wanted, text),
        FilledCheck::NotContains(unwanted) => words::not_contains(unwanted, text),
        FilledCheck::Regex(pattern) => words::regex(pattern, text),
        FilledCheck::Equals(expected) => words::equals(expected, judged),
        FilledCheck::JsonSchema(schema) => schema::fits(schema, judged.value),
        FilledCheck::MaxLength(most) => manner::max_length(*most, judged),
        FilledCheck::MinLength(least) => manner::min_length(*least, judged),
        FilledCheck::FitsChannel => manner::fits_channel(judged),
        FilledCheck::StyleGuide => manner::style_guide(judged),
        FilledCheck::Emojis(most) => manner::emojis(*most, text),
        FilledCheck::Markdown(allowed) => markdown::markdown(*allowed, judged),
        FilledCheck::Language(language) => language::language(language, text),
        FilledCheck::PiiNone => personal_data::none(text),
        FilledCheck::Links(hosts) => links::links(hosts, text),
        FilledCheck::Readability(highest) => readability::readability(*highest, text),
        FilledCheck::NumbersFrom(value) => numbers::numbers_from(value, judged),
        FilledCheck::StatesNumbers(value) => numbers::states_numbers(value, text),
        FilledCheck::ApartFrom | FilledCheck::Expression { is_true: true, .. } => CheckResult::passed(),
        FilledCheck::Expression { unmet, .. } => CheckResult::failed(unmet, ""),
    }
}
