//! `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date in one of its three forms.

use chrono::{DateTime, NaiveDateTime, Utc};

/// How long to wait from `now`, in milliseconds; `None` for anything but whole seconds and a date that lies ahead.
pub(crate) fn retry_after_ms(value: &str, now: DateTime<Utc>) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse::<u64>().ok()?.checked_mul(1000);
    }
    let wait = http_date(value)?.signed_duration_since(now).num_milliseconds();
    u64::try_from(wait).ok().filter(|wait| *wait > 0)
}

fn http_date(value: &str) -> Option<DateTime<Utc>> {
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(value, form).ok())
        .map(|date| date.and_utc())
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    fn wait(value: &str) -> Option<u64> {
        retry_after_ms(value, Utc.with_ymd_and_hms(2026, 11, 8, 8, 49, 30).unwrap())
    }

    #[test]
    fn seconds_and_all_three_forms_of_a_date_are_read() {
        assert_eq!(wait("7"), Some(7_000));
        assert_eq!(wait(" 0 "), Some(0));
        assert_eq!(wait("Sun, 08 Nov 2026 08:49:37 GMT"), Some(7_000));
        assert_eq!(wait("Sunday, 08-Nov-26 08:49:37 GMT"), Some(7_000));
        assert_eq!(wait("Sun Nov  8 08:49:37 2026"), Some(7_000));
    }

    #[test]
    fn missing_negative_past_and_garbled_values_say_nothing() {
        for value in ["", "-1", "1.5", "soon", "+3", "99999999999999999999", "18446744073709551615", "Sun, 08 Nov 2026 08:49:29 GMT", "٣"]
        {
            assert_eq!(wait(value), None, "{value}");
        }
    }
}
