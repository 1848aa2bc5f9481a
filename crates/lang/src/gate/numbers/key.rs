//! What a figure means, as it is looked up.

use std::collections::HashSet;

use super::calendar::is_day;
use super::decimal::{raised, readings, shifted, times};
use super::scale::multipliers;

/// One meaning of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FigureKey {
    /// A number in its one form.
    Number(String),
    /// A number with a plus: no size of a negative will do.
    Plus(String),
    /// The size of a negative number, which a number without a sign tells: "fell by 5".
    Size(String),
    /// A group of the digits of a phone number, which vouches for no amount of money or percent.
    Group(String),
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
    /// The digits of a phone number: behind `+` with those of its country, behind `0` without.
    Phone(String),
    /// Two words side by side in the name of a field, one of them a figure.
    Named(String, String),
}

impl FigureKey {
    /// A number multiplied by a whole number and so many times by ten.
    pub(super) fn times(&self, factor: u128, tens: usize) -> Option<FigureKey> {
        if let FigureKey::Size(number) = self {
            return times(number, factor, tens).map(FigureKey::Size);
        }
        let FigureKey::Number(number) = self else { return None };
        let (sign, number) = number.strip_prefix('-').map_or(("", number.as_str()), |number| ("-", number));
        times(number, factor, tens).map(|product| FigureKey::Number(format!("{sign}{product}")))
    }

    /// Whether what is known vouches for it, where `is_amount` with a currency or percent sign.
    pub(super) fn is_in(&self, known: &HashSet<FigureKey>, is_amount: bool) -> bool {
        match self {
            FigureKey::Number(number) => {
                known.contains(self)
                    || known.contains(&FigureKey::Size(number.clone()))
                    || !is_amount && known.contains(&FigureKey::Group(number.clone()))
            }
            FigureKey::Plus(number) => known.contains(&FigureKey::Number(number.clone())),
            other => known.contains(other),
        }
    }
}

/// What a figure of a text asks for: one of `any`, or of each of `or` one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Need {
    pub any: Vec<FigureKey>,
    pub or: Vec<Vec<FigureKey>>,
}

impl Need {
    pub(crate) fn is_met(&self, known: &HashSet<FigureKey>, is_amount: bool) -> bool {
        let is_known = |keys: &[FigureKey]| keys.iter().any(|key| key.is_in(known, is_amount));
        is_known(&self.any) || !self.or.is_empty() && self.or.iter().all(|keys| is_known(keys))
    }
}

/// A figure: what it asks for where it is in the text, and what it gives where it is in the value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FigureMeaning {
    pub needs: Vec<Need>,
    pub gives: Vec<FigureKey>,
}

impl FigureMeaning {
    fn one(any: Vec<FigureKey>, or: Vec<Vec<FigureKey>>, gives: Vec<FigureKey>) -> FigureMeaning {
        FigureMeaning { needs: vec![Need { any, or }], gives }
    }

    /// Digits with marks between them. What is no number but a list without spaces (`8,7,6`) is several figures.
    pub fn number(written: &str) -> FigureMeaning {
        let keys = numbers(written);
        if !keys.is_empty() {
            return FigureMeaning::one(keys.clone(), vec![], keys);
        }
        let word = FigureKey::Word(written.to_owned());
        if !written.contains(',') {
            return FigureMeaning::one(vec![word.clone()], vec![], vec![word]);
        }
        let each: Vec<FigureMeaning> = written.split(',').map(FigureMeaning::number).collect();
        let gives = each.iter().flat_map(|one| one.gives.clone()).chain([word.clone()]).collect();
        let or = each.into_iter().flat_map(|one| one.needs).map(|need| need.any).collect();
        FigureMeaning::one(vec![word], or, gives)
    }

    /// A number with what multiplies it: `3k` is 3000, `1.2 million` is 1200000, and neither is the number that is written. `4K` and `10B` may
    /// also be words.
    pub(crate) fn scaled(number: &str, scale: &str) -> FigureMeaning {
        let plain = number.replace(' ', "");
        let by = multipliers(scale);
        let product = |reading: &String| by.iter().filter_map(|(factor, tens)| times(reading, *factor, *tens)).collect::<Vec<_>>();
        FigureMeaning::of_numbers(readings(&plain).iter().flat_map(product), &format!("{plain}{scale}"))
    }

    /// `1.5 × 10^6` and `1.5e6`; `written` is all of it.
    pub(crate) fn times_power_of_ten(number: &str, power: &str, written: &str) -> FigureMeaning {
        let power = power.parse().ok();
        let shift = |reading: &String| power.and_then(|power| shifted(reading, power));
        FigureMeaning::of_numbers(readings(&number.replace(' ', "")).iter().filter_map(shift), written)
    }

    /// `10^6`; `written` is all of it.
    pub(crate) fn power(base: &str, power: &str, written: &str) -> FigureMeaning {
        let power = power.parse().ok();
        let raise = |reading: &String| power.and_then(|power| raised(reading, power));
        FigureMeaning::of_numbers(readings(&base.replace(' ', "")).iter().filter_map(raise), written)
    }

    /// Any of these numbers, or the same characters.
    fn of_numbers(numbers: impl Iterator<Item = String>, written: &str) -> FigureMeaning {
        let keys: Vec<FigureKey> = numbers.map(FigureKey::Number).chain([FigureKey::Word(written.to_lowercase())]).collect();
        FigureMeaning::one(keys.clone(), vec![], keys)
    }

    /// The same with a minus, which of several figures belongs to the first.
    pub(crate) fn negative(self) -> FigureMeaning {
        let minus = |key: &FigureKey| match key {
            FigureKey::Number(number) if number != "0" => FigureKey::Number(format!("-{number}")),
            FigureKey::Word(word) => FigureKey::Word(format!("-{word}")),
            other => other.clone(),
        };
        let all = |keys: &Vec<FigureKey>| keys.iter().map(minus).collect::<Vec<_>>();
        let negative = |need: &Need| Need {
            any: all(&need.any),
            or: need.or.iter().take(1).map(all).chain(need.or.iter().skip(1).cloned()).collect(),
        };
        let size = |key: FigureKey| match key {
            FigureKey::Number(number) if number != "0" => FigureKey::Size(number),
            other => other,
        };
        let has_number = self.gives.iter().any(|key| matches!(key, FigureKey::Number(_)));
        let sizes = self.gives.iter().filter(|key| !has_number || !matches!(key, FigureKey::Word(_))).cloned().map(size);
        let gives = all(&self.gives).into_iter().chain(sizes).collect();
        FigureMeaning { needs: self.needs.iter().map(negative).collect(), gives }
    }

    /// The same with a plus, which of several figures belongs to the first.
    pub(crate) fn positive(mut self) -> FigureMeaning {
        for need in &mut self.needs {
            for key in need.any.iter_mut().chain(need.or.iter_mut().take(1).flatten()) {
                if let FigureKey::Number(number) = key {
                    *key = FigureKey::Plus(std::mem::take(number));
                }
            }
        }
        self
    }

    /// This number, or else the same digits as they are, without what multiplies them.
    pub(crate) fn or_plain(mut self, number: &str) -> FigureMeaning {
        let plain = numbers(&number.replace(' ', ""));
        self.needs.iter_mut().for_each(|need| need.any.extend(plain.clone()));
        self.gives.extend(plain);
        self
    }

    /// Both figures.
    pub(crate) fn and(mut self, other: FigureMeaning) -> FigureMeaning {
        self.needs.extend(other.needs);
        self.gives.extend(other.gives);
        self
    }

    /// Groups of three digits with spaces between them: one number, or several.
    pub(crate) fn spaced(written: &str) -> FigureMeaning {
        let joined = numbers(&written.replace(' ', ""));
        let each: Vec<Vec<FigureKey>> = written.split(' ').map(numbers).collect();
        let gives = joined.iter().chain(each.iter().flatten()).cloned().collect();
        FigureMeaning::one(joined, each, gives)
    }

    /// A word with digits in it: that word, or its digits as figures (`40h`). In a value the digits of a name (`p7`) are no figure,
    /// those at the start of a word are.
    pub fn word(written: &str) -> FigureMeaning {
        let word = FigureKey::Word(written.to_lowercase());
        let runs: Vec<&str> = written.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).collect();
        let mut or: Vec<Vec<FigureKey>> = runs.iter().map(|run| numbers(run)).collect();
        let mut gives = vec![word.clone()];
        if written.starts_with(|c: char| c.is_ascii_digit()) {
            gives.extend(or.first().cloned().unwrap_or_default());
        }
        let suffix = written.trim_start_matches(|c: char| c.is_ascii_digit()).to_lowercase();
        if let (Some(first), true) = (or.first_mut(), matches!(suffix.as_str(), "st" | "nd" | "rd" | "th" | "er" | "o")) {
            first.extend(runs.first().and_then(|run| run.parse().ok()).map(FigureKey::Day));
        }
        FigureMeaning::one(vec![word], or, gives)
    }

    /// The day of a date, beside the name of a weekday.
    pub fn day(day: u32) -> FigureMeaning {
        let keys = vec![FigureKey::Day(day), FigureKey::Number(day.to_string())];
        FigureMeaning::one(keys.clone(), vec![], keys)
    }

    /// A year and a month, or else all its figures. `part` is that of a month in figures.
    pub fn month(year: &str, month: u32, part: Option<&str>) -> FigureMeaning {
        let own: Vec<FigureKey> = year.parse().ok().map(|year| FigureKey::Month(year, month)).into_iter().collect();
        let gives = [own.clone(), numbers(year)].concat();
        FigureMeaning::one(own, [year].into_iter().chain(part).map(numbers).collect(), gives)
    }

    /// A date; `orders`: what may be month and day. It is that date, or else all its figures. `parts` are those of month and day.
    /// In a value a date with a year gives no figures but its year, as the 16 of 2026-11-16 is no amount; one without may be none, and
    /// gives its parts too.
    pub fn date(year: Option<&str>, orders: &[(u32, u32)], parts: &[&str]) -> FigureMeaning {
        let days: Vec<(u32, u32)> = orders.iter().copied().filter(|(month, day)| is_day(*month, *day)).collect();
        let number = year.and_then(|year| year.parse::<i32>().ok()).map(|number| if number < 100 { 2000 + number } else { number });
        let is_clear = !days.is_empty() && year.is_some_and(|year| year.len() == 4);
        let any = days.iter().map(|(month, day)| FigureKey::Date(number, *month, *day)).collect();
        let mut or: Vec<Vec<FigureKey>> = parts.iter().map(|part| numbers(part)).collect();
        let mut gives = if is_clear { vec![] } else { or.concat() };
        if let Some(year) = year {
            or.iter_mut().for_each(|keys| keys.extend(days.iter().map(|(month, day)| FigureKey::Yearless(*month, *day))));
            or.push(numbers(year));
            gives.extend(numbers(year));
        }
        for (month, day) in days {
            gives.extend([FigureKey::Date(None, month, day), FigureKey::Day(day)]);
            match number {
                Some(year) => gives.extend([FigureKey::Date(Some(year), month, day), FigureKey::Month(year, month)]),
                None => gives.push(FigureKey::Yearless(month, day)),
            }
        }
        FigureMeaning::one(any, or, gives)
    }

    /// A business year, `2025/26`: both years. `None`: the second does not follow the first.
    pub(crate) fn years(written: &str) -> Option<FigureMeaning> {
        let (first, short) = (written.get(..4)?, written.get(written.len() - 2..)?);
        let next = (first.parse::<u32>().ok()? + 1).to_string();
        let word = FigureKey::Word(format!("{first}/{short}"));
        let second = [numbers(&next), numbers(short)].concat();
        let gives = [numbers(first), second.clone(), vec![word.clone()]].concat();
        next.ends_with(short).then(|| FigureMeaning::one(vec![word], vec![numbers(first), second], gives))
    }

    /// A phone number, or else all its groups of digits. How the groups are parted does not count; one with its country is also given without.
    pub(crate) fn phone(written: &str) -> FigureMeaning {
        let number = written.replace("(0)", " ");
        let groups: Vec<&str> = number.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
        let plain = FigureMeaning::spaced(&groups.join(" "));
        let all = groups.concat();
        let digits = all.trim_start_matches('0');
        let is_abroad = written.starts_with('+') || all.starts_with("00");
        let own = FigureKey::Phone(format!("{}{digits}", if is_abroad { '+' } else { '0' }));
        let without_country =
            (1..=3).filter(|_| is_abroad).filter_map(|country| digits.get(country..)).map(|rest| FigureKey::Phone(format!("0{rest}")));
        // "+1 234 567" may also be a number.
        let is_number = groups.iter().skip(1).all(|group| group.len() == 3);
        let group = |key: FigureKey| match key {
            FigureKey::Number(number) if !is_number => FigureKey::Group(number),
            other => other,
        };
        let gives = plain.gives.into_iter().map(group).chain([own.clone()]).chain(without_country).collect();
        let need = plain.needs.into_iter().next().unwrap_or_default();
        FigureMeaning::one([need.any, vec![own]].concat(), need.or, gives)
    }

    /// A time of day or a span; `half`: `a` or `p` of am and pm. It is that time, or else all its figures.
    pub fn time(hour: u32, minute: Option<u32>, second: Option<u32>, half: Option<char>) -> FigureMeaning {
        let full = match half {
            Some('p') if hour < 12 => hour + 12,
            Some('a') if hour == 12 => 0,
            _ => hour,
        };
        let (shown, seconds) = (minute.unwrap_or_default(), second.unwrap_or_default());
        let mut any = vec![FigureKey::Time(full, shown, second)];
        if half.is_none() && second.is_none() {
            any.push(FigureKey::Face(hour, shown));
        }
        let figures = [Some(hour), minute.filter(|minute| *minute > 0), second.filter(|second| *second > 0)];
        let or = figures.iter().flatten().map(|figure| vec![FigureKey::Number(figure.to_string())]).collect();
        let mut gives = vec![FigureKey::Time(full, shown, None), FigureKey::Time(full, shown, Some(seconds))];
        if full != hour {
            gives.push(FigureKey::Face(hour, shown));
        }
        if minute.is_none() {
            gives.push(FigureKey::Number(hour.to_string()));
        }
        FigureMeaning::one(any, or, gives)
    }
}

/// What digits with marks between them may mean as a number.
pub(super) fn numbers(written: &str) -> Vec<FigureKey> {
    readings(written).into_iter().map(FigureKey::Number).collect()
}
