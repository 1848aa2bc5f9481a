//! The trace of a run, following W3C Trace Context (<https://www.w3.org/TR/trace-context/>).

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::RunStart;

/// Maximum length of a `tracestate` that is passed on, in characters.
const LONGEST_STATE: usize = 512;
/// Maximum number of its members.
const MOST_MEMBERS: usize = 32;

/// Returns the trace id of a run, 32 hexadecimal digits: the caller's if there is one, otherwise derived from the run's id alone, so that
/// all observers of a run report the same one.
pub fn trace_id(run: &str, start: &RunStart) -> String {
    match &start.trace {
        Some(caller) => caller.trace_id.clone(),
        None => hex::encode(&Sha256::digest(run)[..16]),
    }
}

/// Returns the id of a span, 16 hexadecimal digits, derived from the run and a name in it, so a resumed run has the same ones.
pub fn span_id(run: &str, name: &str) -> String {
    hex::encode(&Sha256::digest(format!("{run} {name}"))[..8])
}

/// A position in a trace: the trace and one of its spans.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TraceContext {
    /// The trace, 32 lowercase hexadecimal digits, not all 0.
    pub trace_id: String,
    /// The span, 16 lowercase hexadecimal digits, not all 0.
    pub span_id: String,
    /// Whether the trace is recorded (the flag `sampled`).
    pub sampled: bool,
    /// `tracestate`; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
}

impl TraceContext {
    /// Parses `traceparent` and `tracestate`. `None`: the first is invalid. An invalid `tracestate` is dropped.
    pub fn read(parent: &str, state: Option<&str>) -> Option<TraceContext> {
        let mut parts = parent.split('-');
        let (version, trace_id, span_id, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_id = |text: &str, length| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
        let is_version = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        if !is_version || !is_id(trace_id, 32) || !is_id(span_id, 16) || !is_hex(flags, 2) {
            return None;
        }
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        let state = state.map(str::trim).filter(|state| is_state(state)).unwrap_or_default().to_owned();
        Some(TraceContext { trace_id: trace_id.to_owned(), span_id: span_id.to_owned(), sampled, state })
    }

    /// Formats it as `traceparent`.
    pub fn parent(&self) -> String {
        format!("00-{}-{}-0{}", self.trace_id, self.span_id, u8::from(self.sampled))
    }

    /// Returns `traceparent` and, if there is one, `tracestate`, with their values.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let state = (!self.state.is_empty()).then(|| ("tracestate", self.state.clone()));
        std::iter::once(("traceparent", self.parent())).chain(state)
    }
}

/// Whether a text is a list of `key=value` members.
fn is_state(text: &str) -> bool {
    let is_key = |key: &str| {
        key.len() <= 256
            && key.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte))
    };
    let is_value = |value: &str| !value.is_empty() && value.bytes().all(|byte| matches!(byte, b' '..=b'~') && !b",=".contains(&byte));
    let is_member = |member: &str| member.split_once('=').is_some_and(|(key, value)| is_key(key) && is_value(value));
    let members: Vec<&str> = text.split(',').map(str::trim).filter(|member| !member.is_empty()).collect();
    text.len() <= LONGEST_STATE && (1..=MOST_MEMBERS).contains(&members.len()) && members.into_iter().all(is_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_trace_follows_from_the_run_or_is_the_callers() {
        let own = RunStart::default();
        assert_eq!(trace_id("r_1", &own), trace_id("r_1", &own));
        assert_ne!(trace_id("r_1", &own), trace_id("r_2", &own));
        let id = trace_id("r_1", &own);
        assert!(id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let called = RunStart { trace: TraceContext::read(VALID, None), ..RunStart::default() };
        assert_eq!(trace_id("r_1", &called), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span_id("r_1", "call 1").len(), 16);
    }

    #[test]
    fn a_valid_context_is_read_and_written() {
        let read = TraceContext::read(VALID, Some(" rojo=00f067aa0ba902b7, congo=t61rcWkgMzE ")).unwrap();
        assert_eq!((read.parent().as_str(), read.sampled), (VALID, true));
        let fields: Vec<_> = read.fields().collect();
        assert_eq!(fields[1], ("tracestate", "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE".to_owned()));
        // A later version may have more parts and flags.
        let later = TraceContext::read("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02-what-else", None).unwrap();
        assert_eq!(later.parent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
    }

    #[test]
    fn what_is_not_valid_is_left_out() {
        let (zero, short) = ("0".repeat(32), "00f067aa0ba902b7");
        let wrong = [
            String::new(),
            "00".into(),
            format!("{VALID}-01"),
            format!("{VALID} "),
            format!("{VALID}\r\nx-evil: 1"),
            VALID.to_uppercase(),
            VALID.replacen("00", "ff", 1),
            format!("00-{zero}-{short}-01"),
            format!("00-{}-{}-01", &VALID[3..35], "0".repeat(16)),
            VALID.replace('b', "ü"),
            "a".repeat(1 << 20),
        ];
        for text in &wrong {
            assert_eq!(TraceContext::read(text, None), None, "{text:.80}");
        }
        for state in ["", ",", "a", "=1", "a=", "A=1", "a=1\r\nx: 2", "a=ü", "a=1=2", &"a=1,".repeat(40), &format!("a={}", "1".repeat(600))]
        {
            assert_eq!(TraceContext::read(VALID, Some(state)).unwrap().state, "", "{state:.80}");
        }
    }
}
