//! Plain values that other readers of YAML, or people, take for something else (F009, F010).

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
const AMOUNTS: &[&str] =
    &["amount", "cost", "hour", "jitter", "maximum", "minimum", "price", "rate", "temperature", "total", "usd", "weight"];

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
    word(text)
        .or_else(|| phone(text))
        .or_else(|| leading_zero(text))
        .or_else(|| separated(text))
        .or_else(|| date(text))
        .or_else(|| version(text, keys))
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
        assert_eq!(find("0.50", ["limits", "max_cost_usd"]), None);
        assert_eq!(find("2.50", ["price", "input"]), None);
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
