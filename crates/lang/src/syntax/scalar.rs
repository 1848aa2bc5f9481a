//! What a plain scalar means, by the core schema of YAML 1.2 (section 10.3.2).

use serde_json::{Number, Value};

/// The value of a plain scalar. A number that fits no machine number (and `.inf`, `.nan`) stays the text it is, so that no
/// digit is lost.
pub(crate) fn value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return match text.parse::<i64>() {
            Ok(number) => Some(number.into()),
            Err(_) => text.parse::<u64>().ok().map(Number::from),
        };
    }
    if !is_float(digits) {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

fn radix(digits: &str, radix: u32) -> Option<Number> {
    let all_digits = digits.chars().all(|c| c.is_digit(radix));
    if all_digits { u64::from_str_radix(digits, radix).ok().map(Number::from) } else { None }
}

/// `(\. [0-9]+ | [0-9]+ (\. [0-9]*)?) ([eE] [-+]? [0-9]+)?`, the sign already gone.
fn is_float(text: &str) -> bool {
    let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|e| {
        let digits = e.strip_prefix(['+', '-']).unwrap_or(e);
        !digits.is_empty() && is_digits(digits)
    });
    is_digits(whole) && is_digits(fraction) && (!whole.is_empty() || !fraction.is_empty()) && exponent_fits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        let cases = [
            ("", json!(null)),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("nuLL", json!("nuLL")),
            ("TRUE", json!(true)),
            ("yes", json!("yes")),
            ("12", json!(12)),
            ("-3", json!(-3)),
            ("+3", json!(3)),
            ("012", json!(12)),
            ("0x1f", json!(31)),
            ("0o17", json!(15)),
            ("0x", json!("0x")),
            ("0x+1", json!("0x+1")),
            ("1.5e3", json!(1500.0)),
            (".5", json!(0.5)),
            ("1.", json!(1.0)),
            (".", json!(".")),
            ("-", json!("-")),
            ("e5", json!("e5")),
            ("1e", json!("1e")),
            ("1_000", json!("1_000")),
            ("inf", json!("inf")),
            (".inf", json!(".inf")),
            ("18446744073709551615", json!(18446744073709551615u64)),
            ("18446744073709551616", json!("18446744073709551616")),
            ("1e999", json!("1e999")),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text:?}");
        }
    }
}
