//! The id of a run's trace.

use sha2::{Digest, Sha256};

/// The id of the trace of a run, 32 hexadecimal digits, as W3C Trace Context has them. It follows from the id of the run alone, so that everything
/// that observes a run tells the same one.
pub fn trace_id(run: &str) -> String {
    hex::encode(&Sha256::digest(run)[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_follows_from_the_run() {
        assert_eq!(trace_id("r_1"), trace_id("r_1"));
        assert_ne!(trace_id("r_1"), trace_id("r_2"));
        assert!(trace_id("r_1").len() == 32 && trace_id("r_1").bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}
