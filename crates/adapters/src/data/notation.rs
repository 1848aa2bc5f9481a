//! Numbers as people write them: which notation a cell is in, and the number that it means where that is certain.

use unicode_normalization::UnicodeNormalization;

use crate::model::NumberForm;

/// Most digits of a number that is kept exactly.
const MOST_DIGITS: usize = 15;
/// Names of currencies (ISO 4217) that stand beside an amount.
#[rustfmt::skip]
const CURRENCIES: [&str; 52] = [
    "AED", "ARS", "AUD", "BDT", "BGN", "BHD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP", "GHS", "HKD", "HUF",
    "IDR", "ILS", "INR", "ISK", "JPY", "KES", "KRW", "KWD", "LKR", "MAD", "MXN", "MYR", "NGN", "NOK", "NPR", "NZD", "PEN", "PHP", "PKR", "PLN",
    "QAR", "RON", "RSD", "RUB", "SAR", "SEK", "SGD", "THB", "TND", "TRY", "TWD", "UAH",
];
/// The same, beside those with four letters or fewer users.
const MORE_CURRENCIES: [&str; 5] = ["USD", "UYU", "VND", "ZAR", "OMR"];
/// What people write for their currency.
#[rustfmt::skip]
const LOCAL: [&str; 25] = [
    "kr", "kr.", "zł", "Kč", "Ft", "lei", "лв", "лв.", "руб", "руб.", "р.", "грн", "Fr", "Fr.", "SFr.", "Rs", "Rs.", "RM", "Rp", "TL", "din",
    "ден", "Kčs", "Euro", "euro",
];
/// Words for a thousand, a million, a milliard.
#[rustfmt::skip]
const SCALES: [(&str, f64); 15] = [
    ("k", 1e3), ("K", 1e3), ("Tsd", 1e3), ("Tsd.", 1e3), ("tsd.", 1e3), ("M", 1e6), ("Mio", 1e6), ("Mio.", 1e6), ("mio", 1e6), ("mio.", 1e6),
    ("mn", 1e6), ("mln", 1e6), ("bn", 1e9), ("Mrd", 1e9), ("Mrd.", 1e9),
];
/// Units of what is counted or measured; those of time are lengths of time.
const UNITS: [&str; 20] =
    ["kg", "g", "mg", "t", "km", "m", "cm", "mm", "l", "ml", "pcs", "pc", "Stk", "Stk.", "KB", "MB", "GB", "TB", "kWh", "°C"];
/// The zeros of scripts that have digits of their own (Unicode: general category Nd).
#[rustfmt::skip]
const ZEROS: [char; 19] = [
    '٠', '۰', '߀', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '໐', '༠', '၀', '០', '᠐', '０',
];

/// A number in a notation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Notated {
    /// The notation; `None`: as SQL writes numbers, or as a code with zeros before it.
    pub(super) form: Option<NumberForm>,
    /// The number, where it is certain; else why not.
    pub(super) value: Result<f64, &'static str>,
    /// The currency or unit beside it.
    pub(super) currency: Option<String>,
}

/// A text in plain characters: digits, `-`, blanks and marks of ASCII.
struct PlainText {
    text: String,
    has_other_digits: bool,
    has_other_minus: bool,
}

/// Reads a number in any notation. `decimal`: the sign before decimals, if its author says so. `None`: it is no number.
pub(super) fn notated(cell: &str, decimal: Option<char>) -> Option<Notated> {
    let flat = flat(cell);
    let plain = plain(flat.as_deref().unwrap_or(cell));
    let mut beside = AroundDigits { is_negative_otherwise: plain.has_other_minus, ..AroundDigits::default() };
    let mut rest = plain.text.trim();
    // `-$(1.2k)`: each kind of sign stands once, whatever is outside.
    while let Some(inner) = beside.taken_off(rest) {
        rest = inner.trim();
    }
    let (form, value) = number(rest, decimal)?;
    let form = match () {
        () if plain.has_other_digits => Some(NumberForm::OtherDigits),
        () if form == Some(NumberForm::Fraction) => form,
        () if beside.scale.is_some() => Some(NumberForm::Scaled),
        () if beside.is_negative_otherwise => Some(NumberForm::Negative),
        () if beside.is_before => Some(NumberForm::WithSign),
        () if form.is_none() && (flat.is_some() || beside.is_behind || beside.has_plus && rest.contains(['.', ','])) => {
            Some(NumberForm::Begins)
        }
        () => form,
    };
    let signed = |value: f64| {
        let scaled = value * beside.scale.unwrap_or(1.0);
        // Thousandths of millions: 1.2 times a million is no 1200000.0000000002.
        let scaled = if beside.scale.is_some() && scaled.abs() < 1e12 { (scaled * 1e3).round() / 1e3 } else { scaled };
        if beside.is_negative { -scaled } else { scaled }
    };
    let value = match beside.unsure {
        Some(why) => Err(why),
        None => value.map(signed),
    };
    Some(Notated { form, value, currency: beside.currency })
}

/// `5.-`, `5,– €`: the dash stands for decimals that are zero, and is no minus. With zeros in its place.
fn flat(cell: &str) -> Option<String> {
    let is_dash = |c: char| matches!(c, '-' | '\u{2212}' | '\u{2010}'..='\u{2015}' | '\u{FE63}' | '\u{FF0D}');
    let is_flat = |at: &usize| {
        let digits = cell.get(..*at).and_then(|before| before.strip_suffix(['.', ',']));
        digits.is_some_and(|digits| digits.ends_with(|c: char| c.is_numeric()))
    };
    let (before, rest) = cell.split_at_checked(cell.match_indices(is_dash).map(|(at, _)| at).find(is_flat)?)?;
    let behind = rest.trim_start_matches(is_dash);
    (!behind.starts_with(|c: char| c.is_numeric())).then(|| format!("{before}00{behind}"))
}

/// What stands around the digits of a number.
#[derive(Default)]
struct AroundDigits {
    is_negative: bool,
    is_negative_otherwise: bool,
    has_sign: bool,
    has_plus: bool,
    /// A sign or word before the digits.
    is_before: bool,
    /// One behind them.
    is_behind: bool,
    currency: Option<String>,
    scale: Option<f64>,
    unsure: Option<&'static str>,
}

impl AroundDigits {
    /// What is left without one sign at an end; `None`: there is none.
    fn taken_off<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix('\'').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            self.is_before = true;
            return Some(rest);
        }
        if !self.has_sign {
            let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
            let (rest, is_plain) = match (text.strip_prefix('-'), inner, text.strip_suffix('-')) {
                (Some(rest), ..) => (Some(rest), true),
                (_, Some(rest), _) | (_, _, Some(rest)) => (Some(rest), false),
                _ => (None, true),
            };
            if let Some(rest) = rest {
                (self.has_sign, self.is_negative) = (true, true);
                self.is_negative_otherwise |= !is_plain;
                return Some(rest);
            }
            if let Some(rest) = text.strip_prefix('+') {
                (self.has_sign, self.has_plus) = (true, true);
                return Some(rest);
            }
        }
        self.word_before(text).or_else(|| self.word_behind(text))
    }

    fn word_before<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let end = text.find(|c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '-' | '+' | '(' | ','))?;
        // `.5` after `kr.`, and `.5` alone.
        let (word, rest) = text.split_at_checked(end)?;
        if word.is_empty() || self.currency.is_some() || !is_currency(word) {
            return None;
        }
        self.is_before = true;
        self.currency = Some(word.to_owned());
        Some(rest)
    }

    fn word_behind<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let start = text.rfind(|c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '-' | ')'))?;
        let start = start + text.get(start..)?.chars().next()?.len_utf8();
        let (rest, word) = text.split_at_checked(start)?;
        let word = word.strip_prefix('.').filter(|word| !word.is_empty()).unwrap_or(word);
        match word {
            "" => return None,
            "%" | "‰" => {
                self.unsure = Some("an amount: of percents nobody can say whether 12.5% is 12.5 or 0.125; declare the column text")
            }
            // What all cells of a column are counted or measured in.
            word if self.currency.is_none() && (is_currency(word) || self.scale.is_none() && is_unit(word)) => {
                self.currency = Some(word.to_owned());
            }
            word => {
                let known = SCALES.iter().find(|(known, _)| *known == word).filter(|_| self.scale.is_none());
                self.scale = Some(known?.1);
            }
        }
        self.is_behind = true;
        Some(rest)
    }
}

/// Whether a sign stands for a currency.
pub(super) fn is_currency_sign(c: char) -> bool {
    matches!(c, '$' | '¢' | '£' | '¥' | '฿' | '៛' | '\u{20A0}'..='\u{20CF}')
}

/// Whether a word is what people write for a currency, or a unit of what is measured.
pub(super) fn is_unit(word: &str) -> bool {
    is_currency(word) || UNITS.contains(&word)
}

fn is_currency(word: &str) -> bool {
    let is_short = word.chars().count() <= 4 && word.chars().all(|c| is_currency_sign(c) || c.is_alphabetic());
    word.contains(is_currency_sign) && is_short || CURRENCIES.contains(&word) || MORE_CURRENCIES.contains(&word) || LOCAL.contains(&word)
}

/// The characters as ASCII has them.
fn plain(cell: &str) -> PlainText {
    let mut plain = PlainText { text: String::with_capacity(cell.len()), has_other_digits: false, has_other_minus: false };
    for c in cell.chars() {
        if let Some(digit) = other_digit(c) {
            plain.has_other_digits = true;
            plain.text.push(digit);
            continue;
        }
        match c {
            '\u{2212}' | '\u{2010}'..='\u{2013}' | '\u{FE63}' | '\u{FF0D}' => {
                plain.has_other_minus = true;
                plain.text.push('-');
            }
            '\u{2019}' | '\u{2018}' | '\u{02BC}' | '\u{02B9}' | '\u{66C}' => plain.text.push('\''),
            '\u{66B}' => plain.text.push('.'),
            '\u{200E}' | '\u{200F}' | '\u{61C}' => {}
            _ if c.is_ascii() => plain.text.push(c),
            _ => {
                // `½` is `1⁄2` there: it stands apart from the whole before it.
                let parts: String = c.nfkc().collect();
                if parts.contains('\u{2044}') {
                    plain.text.push(' ');
                }
                plain.text.push_str(&parts.replace('\u{2044}', "/"));
            }
        }
    }
    plain
}

fn other_digit(c: char) -> Option<char> {
    let zero = ZEROS.iter().find(|zero| (**zero..=char::from_u32(**zero as u32 + 9).unwrap_or(**zero)).contains(&c))?;
    char::from_digit(c as u32 - *zero as u32, 10)
}

type NumberIn = (Option<NumberForm>, Result<f64, &'static str>);

/// Digits with their marks, in one of the notations.
fn number(text: &str, decimal: Option<char>) -> Option<NumberIn> {
    fraction(text).or_else(|| with_exponent(text)).or_else(|| digits(text, decimal))
}

/// `3/4`, `1 1/2`.
fn fraction(text: &str) -> Option<NumberIn> {
    let (rest, below) = text.split_once('/')?;
    let (whole, above) = rest.trim().rsplit_once(' ').unwrap_or(("0", rest.trim()));
    let [whole, above, below] = [whole, above, below].map(|part| part.trim().parse::<u32>().ok().filter(|_| part.trim().len() <= 4));
    let (whole, above, below) = (whole?, above?, below?);
    let is_proper = above > 0 && above < below && below <= 64;
    is_proper.then(|| (Some(NumberForm::Fraction), Ok(f64::from(whole) + f64::from(above) / f64::from(below))))
}

/// `1.5e3`, `2E+5`: `12E5` is an article code.
fn with_exponent(text: &str) -> Option<NumberIn> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let is_clear = mantissa.contains('.') || exponent.starts_with(['+', '-']);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number =
        is_digits(exponent.trim_start_matches(['+', '-'])) && mantissa.split('.').all(is_digits) && mantissa.matches('.').count() < 2;
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    (is_clear && is_number).then_some((Some(NumberForm::Begins), Ok(value)))
}

/// Why `1,250` is no amount by itself.
const EITHER: &str =
    "certain: its last three digits may be decimals or thousands. Write decimal: \",\" or decimal: \".\" beside the type amount";

/// Digits, with marks between groups of them and before decimals.
fn digits(text: &str, decimal: Option<char>) -> Option<NumberIn> {
    if !text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | ' ' | '\'')) || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let count = |mark: char| text.matches(mark).count();
    let (commas, points) = (count(','), count('.'));
    let apart = match (count(' '), count('\'')) {
        (0, 0) => None,
        (_, 0) => Some(' '),
        (0, _) => Some('\''),
        _ => return None,
    };
    let is_either = |mark: char| {
        let (before, behind) = text.split_once(mark).unwrap_or_default();
        apart.is_none() && behind.len() == 3 && (1..=3).contains(&before.len()) && !before.starts_with('0')
    };
    let last = if text.rfind(',') > text.rfind('.') { ',' } else { '.' };
    let (mark, group, is_unsure) = match (decimal, commas, points) {
        (Some(mark), ..) => {
            let other = if mark == ',' { '.' } else { ',' };
            (Some(mark).filter(|mark| count(*mark) > 0), Some(other).filter(|other| count(*other) > 0), false)
        }
        (None, 0, 0) => (None, None, false),
        (None, 1.., 1..) => (Some(last), Some(if last == ',' { '.' } else { ',' }), false),
        (None, 1, 0) | (None, 0, 1) => (Some(last), None, is_either(last)),
        (None, ..) if apart.is_some() => return None,
        (None, ..) => (None, Some(last), false),
    };
    if mark.is_some_and(|mark| count(mark) > 1) || group.is_some() && apart.is_some() {
        return None;
    }
    let (whole, part) = mark.and_then(|mark| text.split_once(mark)).unwrap_or((text, ""));
    let group = group.or(apart);
    let style = grouped(whole, group)?;
    let is_whole_part = part.bytes().all(|byte| byte.is_ascii_digit()) && (!whole.is_empty() || !part.is_empty());
    let is_good = is_whole_part && !(part.is_empty() && mark == Some(','));
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let form = match (mark, group) {
        (Some(','), _) if is_unsure => Some(NumberForm::CommaOrThousands),
        (_, Some(' ' | '\'')) => Some(NumberForm::OtherMarks),
        (_, Some(',')) if style == Grouping::Lakh => Some(NumberForm::OtherMarks),
        (_, Some(',')) => Some(NumberForm::Thousands),
        (_, Some(_)) => Some(NumberForm::PointsAndComma),
        (Some(','), None) => Some(NumberForm::DecimalComma),
        (_, None) if is_too_long(&whole, part) => Some(NumberForm::TooLong),
        (_, None) => None,
    };
    let value = format!("0{whole}.{part}0").parse::<f64>().map_err(|_| "an amount");
    let kept = whole.trim_start_matches('0').len() + part.trim_end_matches('0').len();
    let value = match value {
        _ if is_unsure => Err(EITHER),
        _ if kept > MOST_DIGITS => Err("an amount that can be kept exactly: it has more than 15 digits"),
        value => value,
    };
    is_good.then_some((form, value))
}

/// Whether neither a whole number of 64 bits nor a number keeps all digits.
fn is_too_long(whole: &str, part: &str) -> bool {
    if part.is_empty() { whole.parse::<i64>().is_err() } else { whole.trim_start_matches('0').len() > MOST_DIGITS }
}

#[derive(PartialEq)]
enum Grouping {
    Plain,
    /// `1,25,000`: a last group of three, and groups of two before it.
    Lakh,
}

/// How the digits of a whole number are grouped; `None`: in no known way.
fn grouped(whole: &str, mark: Option<char>) -> Option<Grouping> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(mark) = mark.filter(|mark| whole.contains(*mark)) else { return is_digits(whole).then_some(Grouping::Plain) };
    let groups: Vec<&str> = whole.split(mark).collect();
    let [first, middle @ .., last] = groups.as_slice() else { return None };
    let is_good = groups.iter().all(|group| is_digits(group)) && last.len() == 3 && !first.is_empty() && !first.starts_with('0');
    match () {
        () if !is_good => None,
        () if first.len() <= 3 && middle.iter().all(|group| group.len() == 3) => Some(Grouping::Plain),
        () if mark == ',' && first.len() <= 2 && !middle.is_empty() && middle.iter().all(|group| group.len() == 2) => Some(Grouping::Lakh),
        () => None,
    }
}

/// The hours of a length of time: `1:30`, `1h30`, `1 h 30 min`, `90 min`, `1.5h`, `PT1H30M`; a number alone is hours.
pub(super) fn hours(cell: &str, decimal: Option<char>) -> Result<f64, &'static str> {
    const WANTED: &str = "a length of time like 1:30, 1h30, 90 min, 1.5h or PT1H30M";
    let plain = plain(cell);
    let text = plain.text.trim().to_lowercase();
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest.trim()));
    let found =
        of_days(text).or_else(|| clock(text)).map(Ok).or_else(|| of_iso(text).map(Ok)).or_else(|| of_units(text, decimal)).ok_or(WANTED)?;
    found.map(|hours| if is_negative { -hours } else { hours })
}

/// Whether a cell is a length of time by its form: a clock or a unit of time stands in it.
pub(super) fn is_hours(cell: &str) -> bool {
    cell.contains(|c: char| c == ':' || c.is_alphabetic()) && hours(cell, None).is_ok()
}

/// `1 days 03:30:00`, as pandas writes it.
fn of_days(text: &str) -> Option<f64> {
    let (days, time) = text.split_once(" days ").or_else(|| text.split_once(" day "))?;
    Some(f64::from(days.parse::<u16>().ok()?) * 24.0 + clock(time).filter(|hours| *hours < 24.0)?)
}

/// `1:30`, `26:15:00`, `01:30:00.000`.
fn clock(text: &str) -> Option<f64> {
    let text = text.strip_suffix(" h").or_else(|| text.strip_suffix('h')).unwrap_or(text).trim_end();
    let text = text.split_once('.').filter(|(_, part)| part.bytes().all(|byte| byte == b'0')).map_or(text, |(whole, _)| whole);
    let parts: Vec<&str> = text.split(':').collect();
    let (hours, rest) = parts.split_first().filter(|(_, rest)| matches!(rest.len(), 1 | 2))?;
    let whole = |part: &str, most: usize| {
        let is_digits = !part.is_empty() && part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit());
        is_digits.then(|| part.parse::<u32>().ok()).flatten()
    };
    let mut seconds = u64::from(whole(hours, 5)?) * 3600;
    for (part, each) in rest.iter().zip([60, 1]) {
        seconds += u64::from(whole(part, 2).filter(|part| *part < 60)?) * each;
    }
    rest.iter().all(|part| part.len() == 2).then_some(seconds as f64 / 3600.0)
}

/// `PT1H30M`, `P1DT2H` (ISO 8601, without months and years).
fn of_iso(text: &str) -> Option<f64> {
    let rest = text.strip_prefix('p')?;
    let (days, time) = rest.split_once('t').unwrap_or((rest, ""));
    let mut hours = 0.0;
    let (mut digits, mut is_used) = (String::new(), false);
    for (part, units) in [(days, &[('w', 168.0), ('d', 24.0)][..]), (time, &[('h', 1.0), ('m', 1.0 / 60.0), ('s', 1.0 / 3600.0)][..])] {
        let mut units = units.iter();
        for c in part.chars() {
            if c.is_ascii_digit() || matches!(c, '.' | ',') {
                digits.push(if c == ',' { '.' } else { c });
            } else {
                let (_, each) = units.by_ref().find(|(unit, _)| *unit == c)?;
                hours += std::mem::take(&mut digits).parse::<f64>().ok()? * each;
                is_used = true;
            }
        }
    }
    (is_used && digits.is_empty()).then_some((hours * 3.6e6).round() / 3.6e6)
}

/// `1 h 30 min`, `90 min`, `1.5h`, `8`.
fn of_units(text: &str, decimal: Option<char>) -> Option<Result<f64, &'static str>> {
    let mut rest = text.trim();
    let (mut seconds, mut smallest) = (0.0, f64::INFINITY);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_alphabetic()).unwrap_or(rest.len());
        let (amount, behind) = rest.split_at_checked(end)?;
        let end = behind.find(|c: char| !c.is_alphabetic() && c != '.').unwrap_or(behind.len());
        let (unit, left) = behind.split_at_checked(end)?;
        let (_, value) = number(amount.trim(), decimal)?;
        let each = match unit.trim_end_matches('.') {
            // Behind hours the minutes need no unit: `1h30`.
            "" if smallest == 3600.0 && amount.trim().len() == 2 => 60.0,
            "" if smallest.is_infinite() => 3600.0,
            "h" | "hr" | "hrs" | "hour" | "hours" | "std" | "stunde" | "stunden" | "heure" | "heures" | "uur" | "tim" | "timer" | "ч" => {
                3600.0
            }
            "m" | "min" | "mins" | "minute" | "minutes" | "minuten" | "мин" => 60.0,
            "s" | "sec" | "secs" | "second" | "seconds" | "sek" | "sekunde" | "sekunden" => 1.0,
            _ => return None,
        };
        let value = match value {
            Ok(value) => value,
            Err(why) => return Some(Err(why)),
        };
        let is_part = each < smallest && (smallest.is_infinite() || value < smallest / each);
        if !is_part {
            return None;
        }
        (seconds, smallest, rest) = (seconds + value * each, each, left.trim());
    }
    smallest.is_finite().then_some(Ok(seconds / 3600.0))
}

#[cfg(test)]
mod tests {
    use super::NumberForm::*;
    use super::*;

    #[test]
    fn amounts_in_the_notations_of_people_have_a_form_and_a_value() {
        for (cell, form, value) in [
            ("12.50", None, 12.5),
            ("-12", None, -12.0),
            ("01067", None, 1067.0),
            ("12,50", Some(DecimalComma), 12.5),
            ("1.250,50", Some(PointsAndComma), 1250.5),
            ("1.250.000", Some(PointsAndComma), 1_250_000.0),
            ("1,250.50", Some(Thousands), 1250.5),
            ("1,250,000", Some(Thousands), 1_250_000.0),
            ("1,25,000", Some(OtherMarks), 125_000.0),
            ("12,34,56,789.5", Some(OtherMarks), 123_456_789.5),
            ("1’250.50", Some(OtherMarks), 1250.5),
            ("1'250", Some(OtherMarks), 1250.0),
            ("1 250,50", Some(OtherMarks), 1250.5),
            ("1\u{a0}250,50", Some(OtherMarks), 1250.5),
            ("1\u{202f}250.50", Some(OtherMarks), 1250.5),
            ("1\u{2009}250 €", Some(OtherMarks), 1250.0),
            ("(35.00)", Some(Negative), -35.0),
            ("($1,235.00)", Some(Negative), -1235.0),
            ("35.00-", Some(Negative), -35.0),
            ("−35.00", Some(Negative), -35.0),
            ("−35,00 €", Some(Negative), -35.0),
            ("$12.50", Some(WithSign), 12.5),
            ("-$12.50", Some(WithSign), -12.5),
            ("$-12.50", Some(WithSign), -12.5),
            ("US$12.50", Some(WithSign), 12.5),
            ("kr 12.50", Some(WithSign), 12.5),
            ("kr. 12,50", Some(WithSign), 12.5),
            ("EUR 12", Some(WithSign), 12.0),
            ("R$ 1.250,50", Some(WithSign), 1250.5),
            ("'12", Some(WithSign), 12.0),
            ("12,50 zł", Some(DecimalComma), 12.5),
            ("12.50 EUR", Some(Begins), 12.5),
            ("12.50€", Some(Begins), 12.5),
            ("5 kg", Some(Begins), 5.0),
            ("+35.00", Some(Begins), 35.0),
            ("1.5e3", Some(Begins), 1500.0),
            ("1.2k", Some(Scaled), 1200.0),
            ("€3.4M", Some(Scaled), 3_400_000.0),
            ("2,5 Mio. €", Some(Scaled), 2_500_000.0),
            ("１２", Some(OtherDigits), 12.0),
            ("١٢٫٥", Some(OtherDigits), 12.5),
            ("1/2", Some(Fraction), 0.5),
            ("7½", Some(Fraction), 7.5),
            ("1 3/4", Some(Fraction), 1.75),
            ("5.-", Some(Begins), 5.0),
            ("5.–", Some(Begins), 5.0),
            ("5.—", Some(Begins), 5.0),
            ("5.--", Some(Begins), 5.0),
            ("12.−", Some(Begins), 12.0),
            ("5,-", Some(DecimalComma), 5.0),
            ("5,– €", Some(DecimalComma), 5.0),
            ("1.234,-", Some(PointsAndComma), 1234.0),
            ("1'234.-", Some(OtherMarks), 1234.0),
            ("CHF 1’234.–", Some(WithSign), 1234.0),
            ("Fr. 5.-", Some(WithSign), 5.0),
            ("SFr. -5.—", Some(WithSign), -5.0),
            ("-5.-", Some(Begins), -5.0),
            ("−5.-", Some(Negative), -5.0),
            ("(5.-)", Some(Negative), -5.0),
        ] {
            let found = notated(cell, None).unwrap_or_else(|| panic!("{cell}"));
            assert_eq!((found.form, found.value), (form, Ok(value)), "{cell}");
        }
    }

    #[test]
    fn what_is_in_two_notations_is_certain_only_with_a_decimal_sign() {
        for (cell, form, with_comma, with_point) in [
            ("1,250", Some(CommaOrThousands), Some(1.25), Some(1250.0)),
            ("1.250", None, Some(1250.0), Some(1.25)),
            ("$1,250", Some(WithSign), Some(1.25), Some(1250.0)),
            ("0,250", Some(DecimalComma), Some(0.25), None),
            ("12,50", Some(DecimalComma), Some(12.5), None),
            ("1.250,50", Some(PointsAndComma), Some(1250.5), None),
        ] {
            assert_eq!(notated(cell, None).unwrap().form, form, "{cell}");
            let is_certain = notated(cell, None).unwrap().value.is_ok();
            assert_eq!(is_certain, with_point.is_none(), "{cell}");
            let with = |mark| notated(cell, Some(mark)).and_then(|found| found.value.ok());
            assert_eq!((with(','), with('.')), (with_comma, with_point), "{cell}");
        }
    }

    #[test]
    fn what_is_no_number_or_none_that_is_certain_has_no_value() {
        for cell in [
            "", "-", "n/a", "x", "EUR", "12a", "1-2", "18.11.2026", "2026-11-18", "1.2.3", "1,2,3", "12E5", "A12", "3/2", "18 of 35", "+",
            "1 25", "1'25", "12,", "..", "1,250 50", "1e", "$", "()", "10.0.0.1", "5.-6", "5.-6.", ".-", "n.-",
        ] {
            assert_eq!(notated(cell, None).filter(|found| found.value.is_ok()), None, "{cell}");
        }
        for cell in ["12.5%", "12345678901234567", "1234567890123.4567"] {
            assert!(notated(cell, None).unwrap().value.is_err(), "{cell}");
        }
        assert_eq!(notated("12345678901234567890", None).unwrap().form, Some(TooLong));
        assert_eq!(notated("1234567890123456789", None).unwrap().form, None);
    }

    #[test]
    fn lengths_of_time_are_hours() {
        for (cell, value) in [
            ("1:30", 1.5),
            ("01:30:00", 1.5),
            ("26:15", 26.25),
            ("24:00:00", 24.0),
            ("1h30", 1.5),
            ("1h 30", 1.5),
            ("1 h 30 min", 1.5),
            ("1h30m", 1.5),
            ("1 hour 30 minutes", 1.5),
            ("90 min", 1.5),
            ("90m", 1.5),
            ("1.5h", 1.5),
            ("1,5 Std.", 1.5),
            ("7½ h", 7.5),
            ("1:30 h", 1.5),
            ("PT1H30M", 1.5),
            ("PT90M", 1.5),
            ("P1DT2H", 26.0),
            ("PT0.5H", 0.5),
            ("1 days 03:30:00", 27.5),
            ("0 days 08:00:00", 8.0),
            ("01:30:00.000", 1.5),
            ("-0:30", -0.5),
            ("−1:30", -1.5),
            ("8", 8.0),
            ("7.5", 7.5),
            ("1 h 30 s", 1.008_333_333_333_333_3),
        ] {
            assert_eq!(hours(cell, None), Ok(value), "{cell}");
        }
        for cell in
            ["", "soon", "1:75", "1:5", "1h90", "1d", "P1M", "PT", "1h 1h", "30 min 1 h", "1,250 h", "1.30.00", "9:30 am", ":30", "1::30"]
        {
            assert!(hours(cell, None).is_err(), "{cell}");
        }
        assert_eq!(hours("1,250 h", Some(',')), Ok(1.25));
        assert!(is_hours("1:30") && is_hours("1h30") && !is_hours("8") && !is_hours("x") && !is_hours("12:99"));
    }
}
