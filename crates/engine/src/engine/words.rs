//! Small wordings that several modules share.

use std::time::Duration;

use serde_json::Value;

pub(crate) use crate::model::{duration_words as duration, json_kind as kind_of};

/// A value as text, as it prints.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A duration in whole milliseconds.
pub(crate) fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
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
