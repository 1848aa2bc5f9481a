//! Durations as they are written.

use std::time::Duration;

/// The longest duration that can be written: a hundred years.
const LONGEST_MS: u64 = 100 * 366 * 24 * 60 * 60 * 1000;

/// `500ms`, `5s`, `2m`, `1h`, `1d`. The error says what is wrong, to follow the text in a sentence.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    if number.is_empty() {
        return Err("is not a time; write a whole number and a unit, such as 5s".to_owned());
    }
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err(format!("has no unit; write {number}s or {number}m")),
        _ => return Err("is not a time; write a whole number and one of ms, s, m, h, d, such as 5s".to_owned()),
    };
    let amount = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|ms| *ms <= LONGEST_MS);
    amount.map(Duration::from_millis).ok_or_else(|| "is longer than 100 years".to_owned())
}

/// The number and the unit of `5s`, `10 MB` and the like; the number is empty where there is none.
pub fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}
