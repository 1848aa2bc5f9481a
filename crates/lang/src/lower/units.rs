//! Sizes with their units.

pub use crate::model::parse_duration;
use crate::model::{UnitError, split_unit};

/// `10MB`, `2GB` in bytes; a MB is a million bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split_unit(text);
    if number.is_empty() {
        return Err(UnitError::new("is not a size", "a whole number and a unit, such as 10MB"));
    }
    let factor = match unit {
        "B" => 1,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000_u64,
        "" => return Err(UnitError::new("has no unit", format!("{number}MB or {number}GB"))),
        "Ki" | "KiB" | "K" | "k" => return Err(UnitError::new("is not a size", format!("{number}KB"))),
        "Mi" | "MiB" | "M" | "m" | "mb" => return Err(UnitError::new("is not a size", format!("{number}MB"))),
        "Gi" | "GiB" | "G" | "g" | "gb" => return Err(UnitError::new("is not a size", format!("{number}GB"))),
        _ => return Err(UnitError::new("is not a size", "a whole number and one of B, KB, MB, GB, TB, such as 10MB")),
    };
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or(UnitError { what: "is too large", write: None })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_need_a_whole_number_and_a_unit() {
        for (text, ms) in [("500ms", 500), ("5s", 5_000), ("2m", 120_000), ("1h", 3_600_000), ("1d", 86_400_000)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)));
        }
        assert_eq!(parse_duration("60").unwrap_err().to_string(), "has no unit; write 60s or 60m");
        for text in ["", "s", "-5s", "1.5h", "5 s", "5sec", "PT2M"] {
            assert!(parse_duration(text).unwrap_err().to_string().starts_with("is not a time; write "), "{text}");
        }
        let two = "has several units, and a time has one number and one unit; write 90m";
        assert_eq!(parse_duration("1h30m").unwrap_err().to_string(), two);
        assert_eq!(parse_duration("99999999999999999999d").unwrap_err().to_string(), "is longer than 100 years");
    }

    #[test]
    fn sizes_count_in_thousands() {
        assert_eq!(parse_size("10MB"), Ok(10_000_000));
        assert_eq!(parse_size("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_size("7").unwrap_err().to_string(), "has no unit; write 7MB or 7GB");
        assert!(parse_size("20000000TB").unwrap_err().to_string().contains("too large"));
    }
}
