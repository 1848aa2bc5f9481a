//! What a figure may mean: `1,250` is 1250, or 1.25.

/// A number in one form: no leading and no closing zeros, no plus. `32`, `32.0` and `032` are all `32`.
pub(super) fn canonical(whole: &str, fraction: &str) -> String {
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// A number of JSON in that form, with its sign: as it is, and without the noise of binary fractions (29.299999999999997 is also 29.3).
pub(super) fn of_json(number: &serde_json::Number) -> Vec<String> {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return vec![number.to_string()] };
    let rounded = format!("{float:.11e}").parse::<f64>().unwrap_or(float);
    let mut forms: Vec<String> = [float, rounded].iter().map(|float| signed(&format!("{float}"))).collect();
    forms.dedup();
    forms
}

fn signed(written: &str) -> String {
    let (sign, digits) = written.strip_prefix('-').map_or(("", written), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    match canonical(whole, fraction).as_str() {
        "0" => "0".to_owned(),
        number => format!("{sign}{number}"),
    }
}

/// What digits with `.`, `,` and `'` between them may mean. A single mark before three digits may part thousands or a fraction, so
/// both are given; empty: it is no number (`1.2.3`).
pub(super) fn readings(written: &str) -> Vec<String> {
    let groups: Vec<&str> = written.split(['.', ',', '\'', '’']).collect();
    let marks: Vec<char> = written.chars().filter(|c| !c.is_ascii_digit()).collect();
    let (Some((last, before)), Some((mark, marks))) = (groups.split_last(), marks.split_last()) else {
        return vec![canonical(written, "")];
    };
    let mut readings = vec![];
    let is_one_kind = marks.iter().all(|other| Some(other) == marks.first());
    let is_fraction = matches!(mark, '.' | ',') && is_one_kind && !marks.contains(mark) && (marks.is_empty() || is_grouped(before));
    if is_fraction {
        readings.push(canonical(&before.concat(), last));
    }
    if marks.iter().all(|other| other == mark) && is_grouped(&groups) {
        readings.push(canonical(&groups.concat(), ""));
    }
    readings
}

/// A number in its one form, so many times multiplied by ten.
pub(super) fn times_ten(number: &str, times: usize) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = format!("{fraction:0<times$}");
    let (more, rest) = fraction.split_at(times);
    canonical(&format!("{whole}{more}"), rest)
}

/// A number in its one form, multiplied by a whole number and so many times by ten. `None`: it has too many digits.
pub(super) fn times(number: &str, factor: u128, tens: usize) -> Option<String> {
    if factor == 1 {
        return Some(times_ten(number, tens));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = format!("{:0>width$}", digits.checked_mul(factor)?, width = fraction.len() + 1);
    let (whole, fraction) = product.split_at(product.len() - fraction.len());
    Some(times_ten(&canonical(whole, fraction), tens))
}

/// A number in its one form, times ten to this power. `None`: no number of data is that large or small (a float ends at 308).
pub(super) fn shifted(number: &str, power: i32) -> Option<String> {
    let by = usize::try_from(power.unsigned_abs()).ok().filter(|by| *by <= 330)?;
    if power >= 0 {
        return Some(times_ten(number, by));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = format!("{whole:0>width$}", width = by + 1);
    let (whole, more) = whole.split_at(whole.len() - by);
    Some(canonical(whole, &format!("{more}{fraction}")))
}

/// A number in its one form to this power. `None`: it has too many digits, or is no whole number.
pub(super) fn raised(base: &str, power: i32) -> Option<String> {
    if base == "10" {
        return shifted("1", power);
    }
    base.parse::<u128>().ok()?.checked_pow(u32::try_from(power).ok()?).map(|number| number.to_string())
}

/// Thousands: groups of three after the first, or of two as in India (12,34,567).
fn is_grouped(groups: &[&str]) -> bool {
    match groups {
        [first, middle @ .., last] => {
            (1..=3).contains(&first.len())
                && !first.starts_with('0')
                && last.len() == 3
                && (middle.iter().all(|group| group.len() == 3) || first.len() < 3 && middle.iter().all(|group| group.len() == 2))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_means_what_its_marks_allow() {
        for (written, meant) in [
            ("32", &["32"][..]),
            ("032", &["32"]),
            ("32.0", &["32"]),
            ("7,5", &["7.5"]),
            ("1,250", &["1.25", "1250"]),
            ("0,250", &["0.25"]),
            ("1,250.5", &["1250.5"]),
            ("1.250,5", &["1250.5"]),
            ("1'250.50", &["1250.5"]),
            ("1’250", &["1250"]),
            ("1,250,000", &["1250000"]),
            ("12,34,567", &["1234567"]),
            ("1.2.3", &[]),
            ("8,7,6", &[]),
            ("1'2", &[]),
            ("1,2.5,3", &[]),
        ] {
            assert_eq!(readings(written), meant, "{written}");
        }
    }

    #[test]
    fn numbers_are_multiplied_and_raised_in_decimals() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!((times("1.5", 12, 0), times("0.25", 12, 2), times("1.5", 1, 3)), (some("18"), some("300"), some("1500")));
        assert_eq!((shifted("1.5", 6), shifted("1.5", -2), shifted("12", -1)), (some("1500000"), some("0.015"), some("1.2")));
        assert_eq!((shifted("1", i32::MIN), shifted("1", 999)), (None, None));
        assert_eq!(
            (raised("10", 3), raised("2", 10), raised("10", -1), raised("9", 99), raised("1.5", 2)),
            (some("1000"), some("1024"), some("0.1"), None, None)
        );
    }

    #[test]
    fn numbers_of_json_lose_their_noise() {
        let of = |text: &str| of_json(&text.parse().unwrap());
        assert_eq!(of("29.299999999999997"), ["29.299999999999997", "29.3"]);
        assert_eq!(of("32.0"), ["32"]);
        assert_eq!(of("-0.0"), ["0"]);
        assert_eq!(of("-7.50"), ["-7.5"]);
        assert_eq!(of("1e3"), ["1000"]);
        assert_eq!(of("18446744073709551615"), ["18446744073709551615"]);
    }
}
