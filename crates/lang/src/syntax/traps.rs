//! Plain values that other readers of YAML, or people, take for something else (F009, F010).

use serde_json::Number;

/// What is wrong with a plain value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trap {
    /// A phone number, which would lose its plus: an error.
    pub(super) is_phone: bool,
    /// What is wrong.
    pub(super) message: String,
    /// What to write.
    pub(super) help: String,
    /// Quotes keep the meaning, because the value is text already.
    pub(super) quotes_are_safe: bool,
    /// What to propose, where that is not the text in quotes.
    pub(super) instead: Option<String>,
}

/// Keys under which a number with a zero at its end (`0.50`) is an amount and no version.
const AMOUNTS: &[&str] = &[
    "amount", "cost", "factor", "hour", "jitter", "limit", "maximum", "minimum", "percent", "price", "rate", "ratio", "score", "seconds",
    "size", "temperature", "threshold", "total", "usd", "weight",
];

/// Looks at a plain value; `keys` are the keys above it.
pub(super) fn find<'a>(text: &str, keys: impl IntoIterator<Item = &'a str>) -> Option<Trap> {
    let of_quotes = curly_quotes(text).or_else(|| stray_quote(text));
    if of_quotes.is_some() {
        return of_quotes;
    }
    let first = text.bytes().next()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-') || b"yYnNoO".contains(&first)) || text.len() > 40 {
        return None;
    }
    let keys: Vec<&str> = keys.into_iter().collect();
    word(text)
        .filter(|_| !is_of_name(&keys))
        .or_else(|| phone(text))
        .or_else(|| leading_zero(text))
        .or_else(|| separated(text))
        .or_else(|| date(text))
        .or_else(|| version(text, keys))
}

/// Whether a value under these keys is the name of a step, a case or a criterion, which is a text whatever it looks like.
fn is_of_name(keys: &[&str]) -> bool {
    const LISTS: [&str; 6] = ["steps", "cases", "tests", "criteria", "on_failure", "finally"];
    matches!(keys, [.., list, "id" | "needs"] if LISTS.contains(list))
}

/// The longest number that is told with all its digits.
const LONGEST_NUMBER: usize = 24;

/// A number that is printed otherwise than it is written, where it may have been meant as text: a commit (`680841e1`), a mask (`0o17`), a release (`2.0`).
/// `key`: what it stands under. What [`find`] tells is not told again.
pub(super) fn reread(text: &str, value: &Number, key: &str) -> Option<Trap> {
    let number = match value.as_f64().filter(|_| value.is_f64()) {
        Some(float) if float.to_string().len() <= LONGEST_NUMBER => float.to_string(),
        Some(float) => format!("{float:e}"),
        None => value.to_string(),
    };
    let (sign, digits) = signed(text);
    let is_amount = AMOUNTS.iter().any(|amount| key.contains(amount)) && !digits.starts_with("0x") && !digits.starts_with("0o");
    let lacks_zero = digits.starts_with('.') && format!("{sign}0{digits}") == number;
    if number == text || is_amount || lacks_zero || find(text, []).is_some() {
        return None;
    }
    let message = format!("{text} without quotes is the number {number}; write \"{text}\" or {number}");
    Some(trap(message, format!("write \"{text}\" if it is text (a code, a version), {number} for the number"), false))
}

fn trap(message: impl Into<String>, help: impl Into<String>, quotes_are_safe: bool) -> Trap {
    Trap { is_phone: false, message: message.into(), help: help.into(), quotes_are_safe, instead: None }
}

/// Quotes of word processors: what may begin a text with each of its ends.
const CURLY: [(char, &[char]); 7] = [
    ('“', &['”', '“', '"']),
    ('”', &['”', '"']),
    ('„', &['“', '”', '"']),
    ('‘', &['’', '‘', '\'']),
    ('’', &['’', '\'']),
    ('‚', &['‘', '’', '\'']),
    ('«', &['»']),
];

/// `“Hello”`: a text in quotes that are none in YAML, as word processors and telephones write them.
fn curly_quotes(text: &str) -> Option<Trap> {
    let first = text.chars().next()?;
    let (_, ends) = CURLY.iter().find(|(open, _)| *open == first)?;
    let last = text.chars().next_back().filter(|last| ends.contains(last))?;
    let inner = text.get(first.len_utf8()..text.len().checked_sub(last.len_utf8())?)?;
    // A text that begins and ends with a quotation of its own is meant that way.
    if inner.contains(['“', '”', '„', '«', '»']) || inner.is_empty() {
        return None;
    }
    let message = format!("{first} and {last} are not YAML quotes: they are read as part of the text");
    let help = "write straight quotes, \" or '; put straight ones around the whole to keep these as a part of the text";
    Some(Trap { instead: Some(super::quoted(inner)), ..trap(message, help, false) })
}

/// `Hello"`: a text that ends in a quote which nothing began. Behind a number the sign means inches.
fn stray_quote(text: &str) -> Option<Trap> {
    let before = text.strip_suffix('"')?;
    if before.matches('"').count() % 2 == 1 || before.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let message = "this text ends with a quote, but does not begin with one; the quote is a part of the text";
    let help = "put a quote at the beginning too, or remove the one at the end";
    Some(Trap { instead: Some(format!("\"{text}")), ..trap(message, help, false) })
}

/// The words that YAML 1.1 reads as true or false.
fn word(text: &str) -> Option<Trap> {
    let meaning = match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => "true",
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => "false",
        _ => return None,
    };
    let message = format!("{text} without quotes is text here and {meaning} elsewhere; write \"{text}\" or {meaning}");
    Some(trap(message, format!("write \"{text}\" for the word, {meaning} for true/false"), true))
}

fn phone(text: &str) -> Option<Trap> {
    let digits = text.strip_prefix('+')?;
    if digits.len() < 7 || !is_digits(digits) {
        return None;
    }
    let message = format!("{text} without quotes is a number and loses its \"+\"; put it in quotes");
    Some(Trap { is_phone: true, ..trap(message, format!("write \"{text}\""), true) })
}

fn leading_zero(text: &str) -> Option<Trap> {
    let (sign, digits) = signed(text);
    if digits.len() < 2 || !digits.starts_with('0') || !is_digits(digits) {
        return None;
    }
    let bare = digits.trim_start_matches('0');
    let bare = if bare.is_empty() { "0" } else { bare };
    let elsewhere = match u64::from_str_radix(digits, 8) {
        Ok(octal) if octal.to_string() == bare => String::new(),
        Ok(octal) => format!(" here and {sign}{octal} elsewhere"),
        Err(_) => " here and text elsewhere".to_owned(),
    };
    let message = format!("{text} without quotes is the number {sign}{bare}{elsewhere}; write \"{text}\" or {sign}{bare}");
    Some(trap(message, format!("write \"{text}\" if the zero counts, {sign}{bare} for the number"), false))
}

/// `1_000` and `12:30`, numbers in YAML 1.1.
fn separated(text: &str) -> Option<Trap> {
    let (sign, digits) = signed(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if digits.contains('_') && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        let number = text.replace('_', "");
        let message = format!("{text} without quotes is text here and a number elsewhere; write \"{text}\" or {number}");
        return Some(trap(message, format!("write {number} for the number, \"{text}\" for the text"), true));
    }
    let mut parts = digits.split(':');
    let first = parts.next().filter(|part| is_digits(part))?;
    let mut total = first.parse::<u64>().ok()?;
    let mut is_time = false;
    for part in parts {
        let below_sixty = part.len() <= 2 && is_digits(part) && part.parse::<u64>().is_ok_and(|n| n < 60);
        if !below_sixty {
            return None;
        }
        total = total.checked_mul(60)?.checked_add(part.parse().ok()?)?;
        is_time = true;
    }
    if !is_time {
        return None;
    }
    let message = format!("{text} without quotes is text here and the number {sign}{total} elsewhere; write \"{text}\"");
    Some(trap(message, format!("write \"{text}\""), true))
}

/// `2026-01-05`, alone or with a time behind it.
fn date(text: &str) -> Option<Trap> {
    let day = text.get(..10)?;
    let fits = day.bytes().enumerate().all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() });
    let rest = text.get(10..)?;
    let is_time = rest.starts_with(['T', 't', ' ']) && rest.bytes().skip(1).all(|b| b.is_ascii_digit() || b":.+-Zz ".contains(&b));
    if !fits || !(rest.is_empty() || is_time) {
        return None;
    }
    let message = format!("{text} without quotes is text here and a date elsewhere; write \"{text}\"");
    Some(trap(message, format!("write \"{text}\""), true))
}

/// `1.10`: as a number it is 1.1.
fn version<'a>(text: &str, keys: impl IntoIterator<Item = &'a str>) -> Option<Trap> {
    let (_, digits) = signed(text);
    let (whole, fraction) = digits.split_once('.')?;
    let short = fraction.trim_end_matches('0');
    if !is_digits(whole) || !is_digits(fraction) || short.is_empty() || short.len() == fraction.len() {
        return None;
    }
    if keys.into_iter().any(|key| AMOUNTS.iter().any(|amount| key.contains(amount))) {
        return None;
    }
    let number = text.trim_end_matches('0');
    let message = format!("{text} without quotes is the number {number}; write \"{text}\" or {number}");
    Some(trap(message, format!("write \"{text}\" if the zero counts (a version), {number} for the number"), false))
}

fn signed(text: &str) -> (&str, &str) {
    match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        find(text, []).map_or_else(|| "-".to_owned(), |trap| trap.message)
    }

    #[test]
    fn words_zeros_separators_times_dates_and_versions_are_told_with_what_to_write() {
        insta::assert_snapshot!(
            ["no", "On", "012", "-089", "1_000", "12:30", "2026-01-05", "2026-01-05 10:00:00Z", "1.10", "+4915112345678"].map(message).join("\n"),
            @r#"
        no without quotes is text here and false elsewhere; write "no" or false
        On without quotes is text here and true elsewhere; write "On" or true
        012 without quotes is the number 12 here and 10 elsewhere; write "012" or 12
        -089 without quotes is the number -89 here and text elsewhere; write "-089" or -89
        1_000 without quotes is text here and a number elsewhere; write "1_000" or 1000
        12:30 without quotes is text here and the number 750 elsewhere; write "12:30"
        2026-01-05 without quotes is text here and a date elsewhere; write "2026-01-05"
        2026-01-05 10:00:00Z without quotes is text here and a date elsewhere; write "2026-01-05 10:00:00Z"
        1.10 without quotes is the number 1.1; write "1.10" or 1.1
        +4915112345678 without quotes is a number and loses its "+"; put it in quotes
        "#
        );
    }

    #[test]
    fn ordinary_numbers_and_texts_are_no_trap() {
        for text in [
            "true", "0", "-1", "10", "1.5", "1.0", "2.00", "0.05", "1e10", "+5", "0x1f", "60s", "10MB", "now", "nobody", "8080:80", "a:b",
            "1-2", "_", "1:",
        ] {
            assert_eq!(message(text), "-", "{text}");
        }
        for keys in [["steps", "id"], ["steps", "needs"], ["tests", "id"], ["criteria", "id"]] {
            assert_eq!(find("off", keys), None, "a name is a text");
        }
        assert!(
            find("off", ["inputs", "id"]).is_some() && find("off", ["steps", "when"]).is_some() && find("007", ["steps", "id"]).is_some()
        );
        assert_eq!(find("0.50", ["limits", "max_cost_usd"]), None);
        assert_eq!(find("2.50", ["price", "input"]), None);
    }

    #[test]
    fn numbers_that_are_printed_otherwise_than_they_are_written_are_a_trap_where_text_may_be_meant() {
        let reread_under = |text: &str, key: &str| {
            let value = super::super::scalar::value(text);
            let number = value.as_number().unwrap_or_else(|| panic!("{text} is a number"));
            reread(text, number, key).map(|trap| trap.message)
        };
        let told =
            ["680841e1", "1234e8", "12E5", "1e3", "0o17", "0x1F", "2.0", "5.", "+4915", "+1.5", "3.14159265358979323846", "680841e45"];
        let messages = told.map(|text| reread_under(text, "release").unwrap_or_else(|| format!("{text}: not told")));
        insta::assert_snapshot!(messages.join("\n"), @r#"
        680841e1 without quotes is the number 6808410; write "680841e1" or 6808410
        1234e8 without quotes is the number 123400000000; write "1234e8" or 123400000000
        12E5 without quotes is the number 1200000; write "12E5" or 1200000
        1e3 without quotes is the number 1000; write "1e3" or 1000
        0o17 without quotes is the number 15; write "0o17" or 15
        0x1F without quotes is the number 31; write "0x1F" or 31
        2.0 without quotes is the number 2; write "2.0" or 2
        5. without quotes is the number 5; write "5." or 5
        +4915 without quotes is the number 4915; write "+4915" or 4915
        +1.5 without quotes is the number 1.5; write "+1.5" or 1.5
        3.14159265358979323846 without quotes is the number 3.141592653589793; write "3.14159265358979323846" or 3.141592653589793
        680841e45 without quotes is the number 6.80841e50; write "680841e45" or 6.80841e50
        "#);
        for text in
            ["0", "-1", "12", "1.5", "0.05", ".5", "-.5", "18446744073709551615", "1.10", "012", "+4915112345678", "1e-189", "6.80841e50"]
        {
            assert_eq!(reread_under(text, "release"), None, "{text}");
        }
        assert_eq!(reread_under("2.0", "max_price"), None);
        assert!(reread_under("0x1F", "size").is_some());
    }

    #[test]
    fn a_quote_at_the_end_without_one_at_the_beginning_is_a_trap() {
        for text in ["Hello\"", "- Atlas\"", "the \"new\" plan\""] {
            assert!(message(text).starts_with("this text ends with a quote"), "{text}");
        }
        for text in ["say \"hello\"", "24\"", "12 x 8\"", "a \"b"] {
            assert_eq!(message(text), "-", "{text}");
        }
    }

    #[test]
    fn quotes_are_safe_only_where_the_value_is_text_already() {
        for (text, safe) in [
            ("no", true),
            ("1_000", true),
            ("12:30", true),
            ("2026-01-05", true),
            ("+4915112345678", true),
            ("012", false),
            ("1.10", false),
        ] {
            assert_eq!(find(text, []).map(|trap| trap.quotes_are_safe), Some(safe), "{text}");
        }
    }
}
