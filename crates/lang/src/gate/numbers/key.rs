//! What a figure means, as it is looked up.

use std::collections::HashSet;

use super::calendar::is_day;
use super::decimal::readings;

/// One meaning of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A number in its one form.
    Number(String),
    /// A word with digits in it, in small letters; also a figure that is no number (`1.2.3`).
    Word(String),
    /// Year, month, day.
    Date(Option<i32>, u32, u32),
    /// Month and day of a date whose year nobody says.
    Yearless(u32, u32),
    /// Year and month.
    Month(i32, u32),
    /// The day of a date.
    Day(u32),
    /// Hour, minute, and second if it is asked for.
    Time(u32, u32, Option<u32>),
    /// Hour and minute of a time in the afternoon, as a clock with twelve hours shows them.
    Face(u32, u32),
}

/// What a figure of a text asks for: one of `any`, or of each of `or` one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Need {
    pub any: Vec<Key>,
    pub or: Vec<Vec<Key>>,
}

impl Need {
    pub fn is_met(&self, known: &HashSet<Key>) -> bool {
        let is_known = |keys: &[Key]| keys.iter().any(|key| known.contains(key));
        is_known(&self.any) || !self.or.is_empty() && self.or.iter().all(|keys| is_known(keys))
    }
}

/// A figure: what it asks for where it stands in the text, and what it gives where it stands in the value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Meaning {
    pub needs: Vec<Need>,
    pub gives: Vec<Key>,
}

impl Meaning {
    fn one(any: Vec<Key>, or: Vec<Vec<Key>>, gives: Vec<Key>) -> Meaning {
        Meaning { needs: vec![Need { any, or }], gives }
    }

    /// Digits with marks between them. What is no number but a list without spaces (`8,7,6`) is several figures.
    pub fn number(written: &str) -> Meaning {
        let keys = numbers(written);
        if !keys.is_empty() {
            return Meaning::one(keys.clone(), vec![], keys);
        }
        let word = Key::Word(written.to_owned());
        if !written.contains(',') {
            return Meaning::one(vec![word.clone()], vec![], vec![word]);
        }
        let each: Vec<Meaning> = written.split(',').map(Meaning::number).collect();
        let gives = each.iter().flat_map(|one| one.gives.clone()).chain([word.clone()]).collect();
        let or = each.into_iter().flat_map(|one| one.needs).map(|need| need.any).collect();
        Meaning::one(vec![word], or, gives)
    }

    /// The same with a minus before it. At the start of a line that may be the dash of a list.
    pub fn negative(self, may_be_dash: bool) -> Meaning {
        let minus = |key: &Key| match key {
            Key::Number(number) if number != "0" => Key::Number(format!("-{number}")),
            other => other.clone(),
        };
        let needs = self.needs.iter().map(|need| Need {
            any: need.any.iter().map(minus).chain(need.any.iter().filter(|_| may_be_dash).cloned()).collect(),
            or: if may_be_dash { need.or.clone() } else { vec![] },
        });
        Meaning { needs: needs.collect(), gives: self.gives.iter().map(minus).chain(self.gives.iter().cloned()).collect() }
    }

    /// Groups of three digits with spaces between them: one number, or several.
    pub fn spaced(written: &str) -> Meaning {
        let joined = numbers(&written.replace(' ', ""));
        let each: Vec<Vec<Key>> = written.split(' ').map(numbers).collect();
        let gives = joined.iter().chain(each.iter().flatten()).cloned().collect();
        Meaning::one(joined, each, gives)
    }

    /// A word with digits in it: that word, or its digits as figures (`40h`). In a value the digits of a name (`p7`) are no figure,
    /// those at the start of a word are.
    pub fn word(written: &str) -> Meaning {
        let word = Key::Word(written.to_lowercase());
        let runs: Vec<&str> = written.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).collect();
        let mut or: Vec<Vec<Key>> = runs.iter().map(|run| numbers(run)).collect();
        let mut gives = vec![word.clone()];
        if written.starts_with(|c: char| c.is_ascii_digit()) {
            gives.extend(or.first().cloned().unwrap_or_default());
        }
        let suffix = written.trim_start_matches(|c: char| c.is_ascii_digit()).to_lowercase();
        if let (Some(first), true) = (or.first_mut(), matches!(suffix.as_str(), "st" | "nd" | "rd" | "th" | "er" | "o")) {
            first.extend(runs.first().and_then(|run| run.parse().ok()).map(Key::Day));
        }
        Meaning::one(vec![word], or, gives)
    }

    /// The day of a date, beside the name of a weekday.
    pub fn day(day: u32) -> Meaning {
        let keys = vec![Key::Day(day), Key::Number(day.to_string())];
        Meaning::one(keys.clone(), vec![], keys)
    }

    /// A year and a month.
    pub fn month(year: &str, month: u32) -> Meaning {
        let number = numbers(year);
        let keys: Vec<Key> = year.parse().ok().map(|year| Key::Month(year, month)).into_iter().chain(number).collect();
        Meaning::one(keys.clone(), vec![], keys)
    }

    /// A date; `orders`: what may be month and day. It is that date, or else all its figures. `parts` are those of month and day.
    /// In a value a date with a year gives no figures but its year, as the 16 of 2026-11-16 is no amount; one without may be none, and
    /// gives its parts too.
    pub fn date(year: Option<&str>, orders: &[(u32, u32)], parts: &[&str]) -> Meaning {
        let days: Vec<(u32, u32)> = orders.iter().copied().filter(|(month, day)| is_day(*month, *day)).collect();
        let number = year.and_then(|year| year.parse::<i32>().ok()).map(|number| if number < 100 { 2000 + number } else { number });
        let is_clear = !days.is_empty() && year.is_some_and(|year| year.len() == 4);
        let any = days.iter().map(|(month, day)| Key::Date(number, *month, *day)).collect();
        let mut or: Vec<Vec<Key>> = parts.iter().map(|part| numbers(part)).collect();
        let mut gives = if is_clear { vec![] } else { or.concat() };
        if let Some(year) = year {
            or.iter_mut().for_each(|keys| keys.extend(days.iter().map(|(month, day)| Key::Yearless(*month, *day))));
            or.push(numbers(year));
            gives.extend(numbers(year));
        }
        for (month, day) in days {
            gives.extend([Key::Date(None, month, day), Key::Day(day)]);
            match number {
                Some(year) => gives.extend([Key::Date(Some(year), month, day), Key::Month(year, month)]),
                None => gives.push(Key::Yearless(month, day)),
            }
        }
        Meaning::one(any, or, gives)
    }

    /// A time of day or a span; `half`: `a` or `p` of am and pm. It is that time, or else all its figures.
    pub fn time(hour: u32, minute: Option<u32>, second: Option<u32>, half: Option<char>) -> Meaning {
        let full = match half {
            Some('p') if hour < 12 => hour + 12,
            Some('a') if hour == 12 => 0,
            _ => hour,
        };
        let (shown, seconds) = (minute.unwrap_or_default(), second.unwrap_or_default());
        let mut any = vec![Key::Time(full, shown, second)];
        if half.is_none() && second.is_none() {
            any.push(Key::Face(hour, shown));
        }
        let figures = [Some(hour), minute.filter(|minute| *minute > 0), second.filter(|second| *second > 0)];
        let or = figures.iter().flatten().map(|figure| vec![Key::Number(figure.to_string())]).collect();
        let mut gives = vec![Key::Time(full, shown, None), Key::Time(full, shown, Some(seconds))];
        if full != hour {
            gives.push(Key::Face(hour, shown));
        }
        if minute.is_none() {
            gives.push(Key::Number(hour.to_string()));
        }
        Meaning::one(any, or, gives)
    }
}

/// What digits with marks between them may mean as a number.
pub(super) fn numbers(written: &str) -> Vec<Key> {
    readings(written).into_iter().map(Key::Number).collect()
}
