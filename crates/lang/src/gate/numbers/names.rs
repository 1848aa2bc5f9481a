//! The names of a value's fields. A name that is a figure, such as a year, vouches for it; a figure inside a name (`col_17`) is only that name.

use std::collections::HashSet;
use std::ops::Range;

use super::key::FigureKey;
use super::normal::normal;
use super::scan::figures;

/// What a name gives: all its figures if it is nothing else, of others the dates and years, and each figure beside its word.
pub(super) fn of_name(name: &str) -> Vec<FigureKey> {
    if !name.contains(char::is_numeric) {
        return vec![];
    }
    let name = normal(name);
    let mut rest = name.clone();
    let mut given = vec![];
    for figure in figures(&name) {
        rest.replace_range(figure.range.clone(), &" ".repeat(figure.range.len()));
        given.extend(figure.meaning.gives);
    }
    if rest.contains(char::is_alphabetic) {
        given.retain(
            |key| !matches!(key, FigureKey::Number(number) | FigureKey::Size(number) | FigureKey::Group(number) if !is_year(number)),
        );
        let words: Vec<String> = words(&name).map(str::to_lowercase).collect();
        let is_figure = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        for (at, pair) in words.windows(2).enumerate() {
            if let [one, other] = pair
                && (is_figure(other) || at == 0 && is_figure(one))
            {
                given.push(FigureKey::Named(one.clone(), other.clone()));
            }
        }
    }
    given
}

/// Whether a figure of a text stands beside the word that it has beside it in a name of the value: `column 17` of `column_17`.
pub(super) fn is_named(text: &str, range: &Range<usize>, known: &HashSet<FigureKey>) -> bool {
    let (Some(before), Some(figure), Some(after)) = (text.get(..range.start), text.get(range.clone()), text.get(range.end..)) else {
        return false;
    };
    let is_mark = |c: char| " _-–#*`\"'".contains(c);
    let last = words(before).next_back().filter(|word| before.trim_end_matches(is_mark).ends_with(word));
    let next = words(after).next().filter(|word| after.trim_start_matches(is_mark).starts_with(word));
    let is_known = |one: &str, other: &str| known.contains(&FigureKey::Named(one.to_lowercase(), other.to_lowercase()));
    last.is_some_and(|word| is_known(word, figure)) || next.is_some_and(|word| is_known(figure, word))
}

fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_year(number: &str) -> bool {
    number.len() == 4 && (number.starts_with("19") || number.starts_with("20"))
}
