//! Finds the figures of a text: numbers, dates, times and words with digits in them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::calendar::{WEEKDAYS, month, months};
use super::key::FigureMeaning;
use super::scale::{signs, words};

/// A figure and where it stands.
#[derive(Debug)]
pub(super) struct Figure {
    pub range: Range<usize>,
    pub meaning: FigureMeaning,
}

/// Everything; needed only for texts with the name of a month or weekday in them.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("(?xi) {} | {} | {}", named(), dated(), plain())).ok());
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i)\b(?:{}|{WEEKDAYS})\b", months())).ok());
static UNNAMED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("(?xi) {} | {}", dated(), plain())).ok());
static PLAIN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("(?xi) {}", plain())).ok());
static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("[0-9]+").ok());

/// The end of digits: between them and anything but a Latin letter or a further digit.
const END: &str = r"(?-u:\b)";
/// Letters of alphabets: in scripts without spaces a word cannot be told from the figure beside it.
const LETTER: &str = "A-Za-zÀ-ɏͰ-ԯ";
/// Day, month, hour.
const TWO: &str = "[0-9]{1,2}";
const YEAR: &str = "[0-9]{4}";
/// Minute, second.
const SIXTY: &str = "[0-5][0-9]";
/// A little space; bounded, so that no text makes the search go far for nothing.
const GAP: &str = r"\s{0,3}";

/// What may stand between a sign and its number.
const CURRENCIES: [char; 4] = ['$', '€', '£', '¥'];

/// Numbers and words. A letter multiplies where it cannot be a unit: `10B` (but not `10b`), `10 M users`, `$10m`, `10 m €`.
fn plain() -> String {
    let number = r"(?:[0-9]{1,3}(?:\x20[0-9]{3})+(?:[.,][0-9]+)?|[0-9]+(?:[.,'][0-9]+)*)";
    let (words, signs) = (words(), signs());
    let money = r"(?:[$€£¥]|(?:eur|usd|chf|gbp)\b)";
    let letter = r"(?:[kmbt]|mm)\b";
    let power = r"\(?(?<sign>[+-]?)(?<POWER>[0-9]+)\)?";
    let power = |name: &str| power.replace("sign>", &format!("{name}_sign>")).replace("POWER", name);
    format!(
        r"(?<mantissa>{number})\x20?[×x·⋅*]\x20?10\x20?(?:\^|\*\*)\x20?{} | (?<mantissa_e>{number})e{}{END} | (?<base>{number})\x20?(?:\^|\*\*)\x20?{}
        | {money}\x20?(?<money>{number})\x20?(?<money_scale>{letter}) | (?<paid>{number})\x20?(?<paid_scale>{letter})\x20?{money}
        | (?<scaled>{number})(?<scale>(?:k|kk|(?-i:[MBT]))\b|(?:(?:{GAP}|-)(?:{words})\b){{1,3}}|\x20?[{signs}]{{1,3}})
        | (?<spelled>{number})\x20(?<letter>k|(?-i:[MBT]))(?:[\s.,;:!?)*_]|$)
        | (?<spaced>[0-9]{{1,3}}(?:\x20[0-9]{{3}})+{END}(?:[.,][0-9]+)?)
        | (?<word>[{LETTER}]+[0-9][{LETTER}0-9]*|[0-9]+[{LETTER}][{LETTER}0-9]*)
        | (?<number>[0-9]+(?:[.,'][0-9]+)*)",
        power("shift"),
        power("shift_e"),
        power("raise")
    )
}

/// Dates with names.
fn named() -> String {
    let month = months();
    let nth = r"(?:(?:st|nd|rd|th|er|o)\b|\.)?";
    let between = format!(r"{GAP}(?:[,/&–—-]|\b(?:to|and|bis|und|y|e|et|a|al|au)\b){GAP}(?:the\x20)?");
    let days = format!("{TWO}{nth}(?:{between}{TWO}{nth}){{0,6}}");
    let of = r"(?:(?:of|de|del)\x20)?";
    format!(
        r"(?<days_before>{days}){GAP}{of}(?<month_after>{month})\b(?:\.?,?{GAP}{of}(?<year_after>{YEAR}){END})?
        | \b(?<month_before>{month})\b\.?{GAP}(?:the\x20)?(?<days_after>{days}){END}(?:,?{GAP}(?<year_behind>{YEAR}){END})?
        | \b(?<month_alone>{month})\b\.?,?{GAP}{of}(?<year_alone>{YEAR}){END}
        | \b(?:{WEEKDAYS})\b\.?,?{GAP}(?:(?:the|den|le|el)\x20)?(?<weekday>{TWO})(?:st|nd|rd|th)?{END}"
    )
}

/// Dates in figures, and times.
fn dated() -> String {
    let half = r"\.?m\b\.?";
    format!(
        r"(?<iso>{YEAR}[-./]{TWO}[-./]{TWO}{END})
        | (?<dmy>{TWO}[-./]{TWO}[-./](?:{YEAR}|[0-9]{{2}}){END})
        | (?<year_month>{YEAR}-(?:0[1-9]|1[0-2]){END})
        | (?<hour>[0-9]{{1,3}}):(?<minute>{SIXTY})(?::(?<second>{SIXTY})(?:\.[0-9]+)?)?
            (?:{GAP}(?<half>[ap]){half}|Z\b|[+-][0-9]{{2}}:?[0-9]{{2}}{END})?
        | (?<hour_dot>{TWO})[.h](?<minute_dot>{SIXTY}){GAP}(?:(?<half_dot>[ap]){half}|uhr\b)
        | (?<hour_h>{TWO})h(?<minute_h>{SIXTY}){END}
        | (?<hour_alone>{TWO}){GAP}(?:(?<half_alone>[ap]){half}|uhr\b|o'clock\b)
        | (?<day_month>{TWO}\.{TWO})\.
        | (?<slash>{TWO}/{TWO}{END})"
    )
}

/// The figures of a text in [`fn@super::normal`] form, in order.
pub(super) fn figures(text: &str) -> Vec<Figure> {
    let has_names = NAME.as_ref().is_some_and(|name| name.is_match(text));
    let (Some(all), Some(plain)) = (if has_names { NAMED.as_ref() } else { UNNAMED.as_ref() }, PLAIN.as_ref()) else { return vec![] };
    let mut figures = vec![];
    let mut at = 0;
    while let Some(found) = all.captures_at(text, at) {
        // "May 8.5": what reads on as a number is no date. Then only the number behind the name counts.
        let is_cut = found.name("number").is_none() && reads_on(text, found.get_match().end());
        let again = if is_cut { first_digit(text, found.get_match().range()).and_then(|at| plain.captures_at(text, at)) } else { None };
        let found = again.unwrap_or(found);
        let mut range = found.get_match().range();
        let meaning = meaning(text, &mut range, &found);
        at = range.end;
        figures.push(Figure { range, meaning });
    }
    figures
}

/// Whether digits continue behind this place, or a fraction.
fn reads_on(text: &str, end: usize) -> bool {
    let mut rest = text.get(end..).unwrap_or_default().chars();
    match rest.next() {
        Some('.' | ',' | ':' | '\'') => rest.next().is_some_and(|c| c.is_ascii_digit()),
        next => next.is_some_and(|c| c.is_ascii_digit()),
    }
}

fn first_digit(text: &str, range: Range<usize>) -> Option<usize> {
    Some(range.start + text.get(range)?.find(|c: char| c.is_ascii_digit())?)
}

fn meaning(text: &str, range: &mut Range<usize>, found: &Captures) -> FigureMeaning {
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    if let Some(number) = group("number") {
        return number_at(text, range, number);
    }
    let scaled = [("scaled", "scale"), ("spelled", "letter"), ("money", "money_scale"), ("paid", "paid_scale")];
    for (number, scale) in scaled {
        if let (Some(number), Some(scale)) = (found.name(number), found.name(scale)) {
            *range = number.start()..scale.end();
            return signed(text, range, FigureMeaning::scaled(number.as_str(), scale.as_str()));
        }
    }
    let power = |name: &str| Some(format!("{}{}", group(&format!("{name}_sign"))?, group(name)?));
    let written = text.get(range.clone()).unwrap_or_default();
    for (number, shift) in [("mantissa", "shift"), ("mantissa_e", "shift_e")] {
        if let (Some(number), Some(power)) = (group(number), power(shift)) {
            return signed(text, range, FigureMeaning::times_power_of_ten(number, &power, written));
        }
    }
    if let (Some(base), Some(power)) = (group("base"), power("raise")) {
        return signed(text, range, FigureMeaning::power(base, &power, written));
    }
    if let Some(written) = group("spaced") {
        return signed(text, range, FigureMeaning::spaced(written));
    }
    if let Some(word) = group("word") {
        return FigureMeaning::word(word);
    }
    let named = [("month_after", "days_before", "year_after"), ("month_before", "days_after", "year_behind")];
    for (name, days, year) in named {
        if let (Some(month), Some(days)) = (group(name).and_then(month), group(days)) {
            return several(days, month, group(year), name == "month_before");
        }
    }
    if let (Some(month), Some(year)) = (group("month_alone").and_then(month), group("year_alone")) {
        return FigureMeaning::month(year, month);
    }
    if let Some(day) = group("weekday").and_then(whole) {
        return FigureMeaning::day(day);
    }
    let times = [
        ("hour", "minute", "second", "half"),
        ("hour_dot", "minute_dot", "", "half_dot"),
        ("hour_h", "minute_h", "", ""),
        ("hour_alone", "", "", "half_alone"),
    ];
    for (hour, minute, second, half) in times {
        if let Some(hour) = group(hour).and_then(whole) {
            let half = group(half).and_then(|half| half.chars().next()).map(|half| half.to_ascii_lowercase());
            return FigureMeaning::time(hour, group(minute).and_then(whole), group(second).and_then(whole), half);
        }
    }
    numeric_date(found)
}

fn numeric_date(found: &Captures) -> FigureMeaning {
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    let pieces = |written| -> Vec<&str> { str::split(written, ['-', '.', '/']).collect() };
    if let Some(date) = group("iso")
        && let [year, month, day] = pieces(date).as_slice()
    {
        return FigureMeaning::date(Some(year), &order(month, day), &[month, day]);
    }
    if let Some(date) = group("dmy")
        && let [one, other, year] = pieces(date).as_slice()
    {
        return FigureMeaning::date(Some(year), &[order(one, other), order(other, one)].concat(), &[one, other]);
    }
    if let Some((year, month)) = group("year_month").and_then(|written| written.split_once('-')) {
        return whole(month).map(|month| FigureMeaning::month(year, month)).unwrap_or_default();
    }
    // "8.5." may be the end of a sentence, and then is no date.
    if let Some(written) = group("day_month")
        && let Some((day, month)) = written.split_once('.')
    {
        return FigureMeaning::date(None, &order(month, day), &[written]);
    }
    if let Some((one, other)) = group("slash").and_then(|written| written.split_once('/')) {
        return FigureMeaning::date(None, &[order(one, other), order(other, one)].concat(), &[one, other]);
    }
    FigureMeaning::default()
}

/// Month and day.
fn order(month: &str, day: &str) -> Vec<(u32, u32)> {
    whole(month).zip(whole(day)).into_iter().collect()
}

/// The days of one month. Those that stand apart from its name may be other figures: "8, 16 November".
fn several(days: &str, month: u32, year: Option<&str>, name_comes_first: bool) -> FigureMeaning {
    let written: Vec<&str> = DIGITS.as_ref().map(|digits| digits.find_iter(days).map(|day| day.as_str()).collect()).unwrap_or_default();
    let beside = if name_comes_first { 0 } else { written.len().saturating_sub(1) };
    let mut all = FigureMeaning::default();
    for (index, day) in written.into_iter().enumerate() {
        let meaning = FigureMeaning::date(year, &whole(day).map(|day| (month, day)).into_iter().collect::<Vec<_>>(), &[day]);
        all.needs.extend(meaning.needs);
        all.gives.extend(meaning.gives);
        if index != beside {
            all.gives.extend(super::key::numbers(day));
        }
    }
    all
}

/// A number with what is before it: a sign, or the point of `.5`.
fn number_at(text: &str, range: &mut Range<usize>, number: &str) -> FigureMeaning {
    let before = text.get(..range.start).unwrap_or_default();
    let is_part = |c: char| c.is_alphanumeric() || c == '.';
    let is_fraction = before.strip_suffix('.').is_some_and(|before| !before.ends_with(is_part)) && !number.contains('.');
    let meaning = if is_fraction {
        range.start -= 1;
        FigureMeaning::number(&format!("0.{number}"))
    } else {
        FigureMeaning::number(number)
    };
    signed(text, range, meaning)
}

/// The meaning with the minus that is before it, if there is one.
fn signed(text: &str, range: &mut Range<usize>, meaning: FigureMeaning) -> FigureMeaning {
    if let Some(start) = minus_in_words(text, range.start) {
        range.start = start;
        return meaning.negative(false);
    }
    if !sign(text, range.start) {
        return meaning;
    }
    let may_be_dash = at_line_start(text, range.start);
    if !may_be_dash && let Some(before) = text.get(..range.start) {
        range.start = before.rfind('-').unwrap_or(range.start);
    }
    meaning.negative(may_be_dash)
}

/// Where a minus in words begins that is before this place. After a figure and at most one word it takes away from that: "30 minus 10", "30 hours
/// minus 10".
fn minus_in_words(text: &str, at: usize) -> Option<usize> {
    static MINUS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)([0-9][^\s]*\s+(?:[^\s.;:!?]+\s+)?)?\b(minus|negative)\s{1,3}$").ok());
    // What counts is close by; a bounded part keeps a long text cheap.
    let before = text.get(..at)?.trim_end_matches(CURRENCIES);
    let near = before.char_indices().rev().nth(79).map_or(0, |(start, _)| start);
    let found = MINUS.as_ref()?.captures(before.get(near..)?)?;
    let minus = found.get(2)?;
    (found.get(1).is_none() || minus.as_str().eq_ignore_ascii_case("negative")).then_some(near + minus.start())
}

/// Whether a minus is before this place, and no dash between two things.
fn sign(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().trim_end_matches(CURRENCIES);
    before.strip_suffix('-').is_some_and(|before| before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{:=\"'".contains(c)))
}

/// Whether nothing but the minus is before it in its line.
fn at_line_start(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().trim_end_matches(CURRENCIES).trim_end_matches('-');
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

fn whole(written: &str) -> Option<u32> {
    written.parse().ok()
}
