//! Finds the figures of a text: numbers, dates, times and words with digits in them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::calendar::WEEKDAYS;
use super::decimal::readings;
use super::key::FigureMeaning;
use super::minus::signed;
use super::scale::{CODES, MONEY, signs, words};
use crate::channel::{month, months};

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

/// Fewer digits than this are no phone number.
const FEWEST: usize = 7;
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

/// A number with its marks, and groups with spaces between them.
const NUMBER: &str = r"(?:[0-9]{1,3}(?:\x20[0-9]{3})+(?:[.,][0-9]+)?|[0-9]+(?:[.,'][0-9]+)*)";
static EACH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NUMBER).ok());

/// Numbers and words. A letter multiplies where it cannot be a unit: `10B` (but not `10b`), `10 M users`, `$10m`, `10 m €`.
fn plain() -> String {
    let number = NUMBER;
    let (words, signs) = (words(), signs());
    let short = r"(?:mio|mrd|bio|tsd)\.?";
    let to = r"(?:\x20?(?:->|[–—→-])\x20?|\x20(?:to|bis|auf|à|al?|and|und|et|y|e|or|oder|ou)\x20)";
    let from = |name: &str| format!(r"(?<{name}>(?:{number}(?:,\x20|{to}(?:{MONEY}\x20?)?)){{1,4}})?");
    // Between a unit and its number, which may have a sign.
    let due = r"\)?(?:\x20?[:=])?\x20?(?:[+–−-]\x20?)?";
    let power = r"\(?(?<sign>[+-]?)(?<POWER>[0-9]+)\)?";
    let power = |name: &str| power.replace("sign>", &format!("{name}_sign>")).replace("POWER", name);
    format!(
        r"(?<mantissa>{number})\x20?[×x·⋅*]\x20?10\x20?(?:\^|\*\*)\x20?{} | (?<mantissa_e>{number})e{}{END} | (?<base>{number})\x20?(?:\^|\*\*)\x20?{}
        | \b(?<unit>[tkm]|{short}\x20?){MONEY}{due}(?<in_units>{number})
        | (?:\b(?:{CODES})|[$€£])(?<ahead>\x20?(?:(?:{words})|[kmb]|mm)\b\.?){due}(?<in_ahead>{number})
        | (?<beside>{number})\x20?{MONEY}[\x20-](?<beside_scale>(?:{words})\b)
        | (?<noted>{number})(?:\x20?{MONEY})?\x20?\((?:in\x20)?(?:{MONEY}\x20?)?(?<noted_scale>(?:{words})\b)\.?(?:\x20?{MONEY})?\) | {}(?<units>{number})\x20?(?<units_scale>[tk]){MONEY}
        | {MONEY}\x20?{}(?<money>{number})\x20?(?<money_scale>(?:[kmbt]|mm)\b) | {}(?<paid>{number})\x20?(?<paid_scale>[kmbt]|mm|{short})\x20?{MONEY}
        | {}(?<scaled>{number})(?<scale>(?:k|kk|(?-i:[MBT]))\b|(?:(?:[\s*_~`]{{0,6}}|-)(?:{words})(?:\b|_)){{1,3}}|\x20?bio\.|\x20?[{signs}]{{1,3}})
        | {}(?<spelled>{number})\x20(?<letter>k|(?-i:[MBT]))(?:[\s.,;:!?)*_]|$)
        | (?<spaced>[0-9]{{1,3}}(?:\x20[0-9]{{3}})+{END}(?:[.,][0-9]+)?)
        | (?<word>[{LETTER}]+[0-9][{LETTER}0-9]*|[0-9]+[{LETTER}][{LETTER}0-9]*)
        | (?<number>[0-9]+(?:[.,'][0-9]+)*)",
        power("shift"),
        power("shift_e"),
        power("raise"),
        from("from_units"),
        from("from_money"),
        from("from_paid"),
        from("from_scaled"),
        from("from_spelled"),
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
        | (?<dmy>{TWO}[-./]{TWO}[-./](?:{YEAR}|[0-9]{{2}}){END}|{TWO}\.\x20{TWO}\.\x20?{YEAR}{END})
        | (?<year_month>{YEAR}-(?:0[1-9]|1[0-2]){END})
        | (?<years>(?:19|20)[0-9]{{2}}[/–-][0-9]{{2}}{END})
        | (?<hour>[0-9]{{1,3}}):(?<minute>{SIXTY})(?::(?<second>{SIXTY})(?:\.[0-9]+)?)?
            (?:{GAP}(?<half>[ap]){half}|Z\b|[+-][0-9]{{2}}:?[0-9]{{2}}{END})?
        | (?<hour_dot>{TWO})[.h](?<minute_dot>{SIXTY}){GAP}(?:(?<half_dot>[ap]){half}|uhr\b)
        | (?<hour_h>{TWO})h(?<minute_h>{SIXTY}){END}
        | (?<hour_alone>{TWO}){GAP}(?:(?<half_alone>[ap]){half}|uhr\b|o'clock\b)
        | (?<day_month>{TWO}\.\x20?{TWO})\.
        | (?<slash>{TWO}/{TWO}{END})
        | (?<phone>(?:\+|\(?\b0)[0-9]{{1,5}}(?:\)?[\x20/-]?\(?(?:0\)\x20?)?[0-9]{{1,12}}){{1,7}}{END})"
    )
}

/// The figures of a text in [`fn@super::normal`] form, in order.
pub(super) fn figures(text: &str) -> Vec<Figure> {
    let has_names = NAME.as_ref().is_some_and(|name| name.is_match(text));
    let (Some(all), Some(plain)) = (if has_names { NAMED.as_ref() } else { UNNAMED.as_ref() }, PLAIN.as_ref()) else { return vec![] };
    let mut figures = vec![];
    let mut at = 0;
    while let Some(found) = all.captures_at(text, at) {
        // "May 8.5": what reads on as a number is no date. Then only the number behind the name counts, or the time of "May 8:30".
        let end = found.get_match().end();
        let is_short = found.name("phone").is_some_and(|phone| phone.as_str().bytes().filter(u8::is_ascii_digit).count() < FEWEST);
        let is_cut = found.name("number").is_none() && (reads_on(text, end) || is_short);
        let rest = if text.get(end..).is_some_and(|rest| rest.starts_with(':')) { all } else { plain };
        let again = if is_cut { first_digit(text, found.get_match().range()).and_then(|at| rest.captures_at(text, at)) } else { None };
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
    if let Some(meaning) = multiplied(text, range, found) {
        return meaning;
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
        let meaning = FigureMeaning::word(word);
        return if word.starts_with(|c: char| c.is_ascii_digit()) { signed(text, range, meaning) } else { meaning };
    }
    if let Some(phone) = group("phone") {
        return FigureMeaning::phone(phone);
    }
    if let Some(years) = group("years") {
        return FigureMeaning::years(years).unwrap_or_else(|| {
            range.end = range.start + 4;
            signed(text, range, FigureMeaning::number(years.get(..4).unwrap_or_default()))
        });
    }
    let named = [("month_after", "days_before", "year_after"), ("month_before", "days_after", "year_behind")];
    for (name, days, year) in named {
        if let (Some(month), Some(days)) = (group(name).and_then(month), group(days)) {
            return several(days, month, group(year), name == "month_before");
        }
    }
    if let (Some(month), Some(year)) = (group("month_alone").and_then(month), group("year_alone")) {
        return FigureMeaning::month(year, month, None);
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

/// A number with a word or a letter that multiplies it: "5 million", "3k".
fn multiplied(text: &str, range: &mut Range<usize>, found: &Captures) -> Option<FigureMeaning> {
    let scaled = [
        ("from_scaled", "scaled", "scale"),
        ("from_spelled", "spelled", "letter"),
        ("from_units", "units", "units_scale"),
        ("from_money", "money", "money_scale"),
        ("from_paid", "paid", "paid_scale"),
        ("", "beside", "beside_scale"),
        ("", "noted", "noted_scale"),
    ];
    for (from, number, scale) in scaled {
        if let (Some(number), Some(scale)) = (found.name(number), found.name(scale)) {
            // "TEUR" and "T€" are thousands, a T elsewhere is a trillion.
            let by = if from == "from_units" { "k" } else { scale.as_str() };
            *range = number.start()..scale.end();
            let last = FigureMeaning::scaled(number.as_str(), by);
            return Some(match found.name(from) {
                None => signed(text, range, last),
                Some(from) => {
                    range.start = from.start();
                    heads(text, from.range(), number.as_str(), by).and(last)
                }
            });
        }
    }
    let (unit, number) = (found.name("unit").or(found.name("ahead"))?.as_str(), found.name("in_units").or(found.name("in_ahead"))?);
    *range = number.range();
    Some(signed(text, range, FigureMeaning::scaled(number.as_str(), if unit.eq_ignore_ascii_case("t") { "k" } else { unit })))
}

fn numeric_date(found: &Captures) -> FigureMeaning {
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    let pieces = |written| -> Vec<&str> { str::split(written, ['-', '.', '/']).map(str::trim).collect() };
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
        return whole(month).map(|number| FigureMeaning::month(year, number, Some(month))).unwrap_or_default();
    }
    // "8.5." may be the end of a sentence, and then is no date.
    if let Some(written) = group("day_month")
        && let Some((day, month)) = written.split_once('.')
    {
        let parts = if month.starts_with(' ') { vec![day, month.trim()] } else { vec![written] };
        return FigureMeaning::date(None, &order(month.trim(), day), &parts);
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

/// The numbers of a range or list before its last, which is multiplied for all: "5–10 million". Where it may be meant of the last alone ("2024 – 10
/// million", "5 and 10 million", "500,000 to 2 million"), the number as it is will do, too.
fn heads(text: &str, from: Range<usize>, last: &str, scale: &str) -> FigureMeaning {
    let written = text.get(from.clone()).unwrap_or_default();
    let least =
        |number: &str| readings(&number.replace(' ', "")).iter().filter_map(|reading| reading.parse::<f64>().ok()).fold(f64::MAX, f64::min);
    let mut all = FigureMeaning::default();
    for number in EACH.as_ref().map(|each| each.find_iter(written)).into_iter().flatten() {
        let behind = written.get(number.end()..).unwrap_or_default();
        let is_range = behind.starts_with(['–', '—', '-']) && !behind.ends_with(' ')
            || behind.trim_start().starts_with('→')
            || [" to ", " bis ", " auf ", " à ", " a ", " al "].iter().any(|to| behind.starts_with(to));
        let scaled = FigureMeaning::scaled(number.as_str(), scale);
        let meaning = if is_range && least(number.as_str()) < least(last) { scaled } else { scaled.or_plain(number.as_str()) };
        let mut place = from.start + number.start()..from.start + number.end();
        all = all.and(signed(text, &mut place, meaning));
    }
    all
}

fn whole(written: &str) -> Option<u32> {
    written.parse().ok()
}
