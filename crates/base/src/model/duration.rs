//! Durations as they are written.

use std::time::Duration;

/// The longest duration that can be written: a hundred years.
const LONGEST_MS: u64 = 100 * 366 * 24 * 60 * 60 * 1000;

/// Why a number with a unit cannot be read; both parts follow the text in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", .write.as_ref().map(|write| format!("; write {write}")).unwrap_or_default())]
pub struct UnitError {
    /// What is wrong.
    pub what: &'static str,
    /// What to write.
    pub write: Option<String>,
}

impl UnitError {
    /// What is wrong, and what to write.
    pub fn new(what: &'static str, write: impl Into<String>) -> UnitError {
        UnitError { what, write: Some(write.into()) }
    }
}

/// `500ms`, `5s`, `2m`, `1h`: as it would be written in a file.
pub fn duration_words(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        _ if !ms.is_multiple_of(1_000) || ms == 0 => format!("{ms}ms"),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ => format!("{}s", ms / 1_000),
    }
}

/// `500ms`, `5s`, `2m`, `1h`, `1d`.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = split_unit(text);
    let no_time = || {
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).count();
        let has_two = numbers > 1 && !text.contains([':', '.', ',']);
        match meant_time(text) {
            Some(meant) if has_two => UnitError::new("has several units, and a time has one number and one unit", meant),
            meant => UnitError::new("is not a time", meant.unwrap_or("a whole number and one of ms, s, m, h, d, such as 5s".to_owned())),
        }
    };
    if number.is_empty() {
        return Err(no_time());
    }
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err(UnitError::new("has no unit", format!("{number}s or {number}m"))),
        _ => return Err(no_time()),
    };
    let amount = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|ms| *ms <= LONGEST_MS);
    amount.map(Duration::from_millis).ok_or(UnitError { what: "is longer than 100 years", write: None })
}

/// What `30 minutes`, `1h30m` and `PT2M` are here: `30m`, `90m`, `2m`.
fn meant_time(text: &str) -> Option<String> {
    let small = text.trim().to_lowercase();
    let whole = small.strip_prefix("pt").or(small.strip_prefix('p')).unwrap_or(&small);
    let (mut rest, mut ms) = (whole, 0);
    while !rest.is_empty() {
        let (number, behind) = split_unit(rest);
        let behind = behind.trim_start();
        let word = behind.get(..behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len()))?;
        let (unit, factor) = match word {
            "s" | "sec" | "secs" | "second" | "seconds" => ("s", 1_000),
            "m" | "min" | "mins" | "minute" | "minutes" => ("m", 60_000),
            "h" | "hr" | "hrs" | "hour" | "hours" => ("h", 3_600_000),
            "d" | "day" | "days" => ("d", 86_400_000),
            _ => return None,
        };
        let is_one = rest == whole;
        rest = behind.get(word.len()..)?.trim_start_matches([' ', 't', ',']);
        if is_one && rest.is_empty() {
            return Some(format!("{}{unit}", number.parse::<u64>().ok()?));
        }
        ms += number.parse::<u64>().ok()?.checked_mul(factor).filter(|ms| *ms <= LONGEST_MS)?;
    }
    (ms > 0).then(|| duration_words(Duration::from_millis(ms)))
}

/// The number and the unit of `5s`, `10 MB` and the like; the number is empty where there is none.
pub fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}
