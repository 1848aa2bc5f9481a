//! Small wordings that several places share.

use std::time::Duration;

/// `500ms`, `5s`, `2m`, `1h`: as it would be written in a file.
pub(crate) fn duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        _ if !ms.is_multiple_of(1_000) || ms == 0 => format!("{ms}ms"),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ => format!("{}s", ms / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_they_are_written() {
        assert_eq!(duration(Duration::from_millis(500)), "500ms");
        assert_eq!(duration(Duration::from_secs(120)), "2m");
        assert_eq!(duration(Duration::from_secs(90)), "90s");
    }
}
