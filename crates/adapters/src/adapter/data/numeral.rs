//! Which texts of a table are numbers.
//!
//! A text that could be an identifier stays a text: leading zeros (`0049`), a plus (`+49 30 …`), more than 15 digits (card numbers;
//! beyond 15 a binary number is no longer exact), grouping (`1,234`). An exponent needs a sign, as programs write it (`1e-05`):
//! `12E5` is an article code.

/// The most digits of a whole number that is still taken for a number.
const MOST_DIGITS: usize = 15;

/// A whole number.
pub(super) fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (is_plain_whole(digits) && digits.len() <= MOST_DIGITS).then(|| text.parse().ok()).flatten()
}

/// A number, whole or not, with this decimal mark.
pub(super) fn number(text: &str, mark: char) -> Option<f64> {
    if integer(text).is_some() {
        return text.parse().ok();
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_is_good = exponent.is_none_or(|exponent| exponent.strip_prefix(['+', '-']).is_some_and(is_digits));
    let mantissa_is_good = match mantissa.split_once(mark) {
        Some((whole, fraction)) => (whole.is_empty() || is_plain_whole(whole)) && is_digits(fraction) && whole.len() <= MOST_DIGITS,
        None => exponent.is_some() && is_plain_whole(mantissa),
    };
    if !(exponent_is_good && mantissa_is_good) {
        return None;
    }
    let value: f64 = if mark == '.' { text.parse().ok()? } else { text.replace(mark, ".").parse().ok()? };
    value.is_finite().then_some(value)
}

/// Whether a comma in it can only be a decimal mark: `7,5`, not `1,234`, which may be grouping.
pub(super) fn has_clear_comma(text: &str) -> bool {
    text.split_once(',').is_some_and(|(_, fraction)| fraction.len() != 3)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_plain_whole(text: &str) -> bool {
    is_digits(text) && (text.len() == 1 || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_whole() {
        for (text, value) in [("0", 0), ("7", 7), ("-12", -12), ("999999999999999", 999_999_999_999_999)] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn identifiers_stay_texts() {
        for text in [
            "007",
            "0049",
            "+4915112345",
            "+5",
            "4111111111111111",
            "12E5",
            "1e5",
            "1,234",
            "1 234",
            "",
            "-",
            "1-2",
            "٣",
            "0x1f",
            "NaN",
            "inf",
        ] {
            assert_eq!((integer(text), number(text, '.')), (None, None), "{text}");
        }
    }

    #[test]
    fn numbers_with_a_point_or_an_exponent_of_a_program_are_numbers() {
        for (text, value) in [("7.5", 7.5), ("-0.25", -0.25), (".5", 0.5), ("1e-05", 1e-5), ("2.5E+3", 2500.0), ("8", 8.0)] {
            assert_eq!(number(text, '.'), Some(value), "{text}");
        }
        assert_eq!(number("1e+999", '.'), None);
    }

    #[test]
    fn a_decimal_comma_counts_only_when_it_is_the_mark() {
        assert_eq!(number("7,5", ','), Some(7.5));
        assert_eq!(number("7,5", '.'), None);
        assert_eq!(number("7.5", ','), None);
        assert!(has_clear_comma("7,5") && !has_clear_comma("1,234"));
    }
}
