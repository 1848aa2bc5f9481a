//! Classification of faults: the meaning of a status, a broken connection or a broken answer.

use std::error::Error;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};

use super::address::AddressRefusedError;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::scrub::Scrub;

/// A failed attempt, and whether the other side may have acted on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpFault {
    /// The failure to report.
    pub(crate) failure: Failure,
    /// Whether the request may have reached the other side, and no answer rules out that it had an effect.
    pub(crate) may_have_acted: bool,
    /// The status of an error and its body as it came, which may hold secrets.
    pub(crate) rejection: Option<Box<(u16, String)>>,
}

impl HttpFault {
    /// A fault of a request that was not sent, or whose answer shows that it had no effect.
    pub(crate) fn before_sending(failure: Failure) -> HttpFault {
        HttpFault { failure, may_have_acted: false, rejection: None }
    }

    /// A fault of a request that was sent.
    pub(crate) fn after_sending(failure: Failure) -> HttpFault {
        HttpFault { failure, may_have_acted: true, rejection: None }
    }
}

impl From<HttpFault> for Failure {
    fn from(fault: HttpFault) -> Failure {
        fault.failure
    }
}

/// The failure kind for a status of 400 and above, or below 200.
pub(crate) fn status_class(status: u16) -> FailureKind {
    match status {
        401 | 403 | 407 => FailureKind::Auth,
        408 | 425 => FailureKind::ServerError,
        429 => FailureKind::RateLimited,
        400..=499 => FailureKind::BadRequest,
        500.. => FailureKind::ServerError,
        _ => FailureKind::BadResponse,
    }
}

/// The fault of a request that received no status.
pub(crate) fn of_request(error: &reqwest::Error, origin: &str, connect_timeout: Duration, scrub: &Scrub) -> HttpFault {
    let causes = causes(error);
    let before = |kind, message: String| HttpFault::before_sending(scrub.failure(kind, message));
    if let Some(refused) = causes.iter().find_map(|cause| cause.downcast_ref::<AddressRefusedError>()) {
        return before(FailureKind::Blocked, format!("{origin} was not called: {refused}"));
    }
    if let Some(reason) = certificate_fault(error) {
        return before(FailureKind::Blocked, format!("the certificate of {origin} was not accepted: {reason}"));
    }
    if error.is_connect() && error.is_timeout() {
        return before(FailureKind::Timeout, format!("no connection to {origin} within {}", in_words(connect_timeout)));
    }
    if error.is_connect() {
        return before(FailureKind::Connection, format!("no connection to {origin}: {}", last_cause(error)));
    }
    if error.is_builder() {
        return before(FailureKind::BadRequest, format!("the request cannot be sent: {}", last_cause(error)));
    }
    let (kind, what) = match causes.iter().find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
        // hyper offers a method for this in servers only, so the text is compared; a test checks it.
        Some(fault) if fault.to_string() == "message head is too large" => (FailureKind::TooLarge, "sent too large headers".to_owned()),
        Some(fault) if fault.is_parse() => (FailureKind::BadResponse, format!("sent something that is not HTTP: {}", last_cause(error))),
        _ => (FailureKind::Connection, format!("closed the connection without an answer: {}", last_cause(error))),
    };
    HttpFault::after_sending(scrub.failure(kind, format!("{origin} {what}")))
}

/// Whether a connection ended before the first byte of an answer arrived.
pub(super) fn is_dead_connection(error: &reqwest::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    let is_dead = |cause: &&(dyn Error + 'static)| {
        let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let is_cut =
            kind.is_some_and(|kind| matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof));
        is_cut
            || cause
                .downcast_ref::<hyper::Error>()
                .is_some_and(|fault| fault.is_incomplete_message() || fault.is_canceled() || fault.is_closed())
    };
    !error.is_connect() && causes(error).iter().any(is_dead)
}

/// The failure kind of a body that could not be read to its end.
pub(super) fn class_of_body(error: &reqwest::Error) -> FailureKind {
    // The HTTP/2 library itself ends floods of empty frames; a test checks the text.
    if last_cause(error).contains("excessive load") { FailureKind::TooLarge } else { FailureKind::BadResponse }
}

/// What is wrong with the certificate of the other side, if that is why a connection failed.
pub(crate) fn certificate_fault(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).iter().find_map(|cause| match cause.downcast_ref::<rustls::Error>()? {
        fault @ (rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => Some(fault.to_string()),
        _ => None,
    })
}

/// An error and all its causes, including those inside an I/O error (whose `source` skips one).
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut found: Vec<&(dyn Error + 'static)> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next.filter(|_| found.len() < 16) {
        found.push(error);
        let inner = error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref());
        next = inner.map_or_else(|| error.source(), |inner| Some(inner));
    }
    found
}

/// The message of the innermost cause. The outer ones name addresses and libraries.
pub(crate) fn last_cause(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// Formats a time for messages: `60 s`, `250 ms`.
pub(crate) fn in_words(time: Duration) -> String {
    match time.as_millis() {
        millis if millis % 1000 == 0 => format!("{} s", millis / 1000),
        millis => format!("{millis} ms"),
    }
}

/// Parses `Retry-After` (RFC 9110, section 10.2.3): the time to wait from `now`, in milliseconds. It is either a number of seconds or a date in one
/// of three formats. `None` for anything else, and for a date that is not in the future.
pub(super) fn retry_after_ms(value: &str, now: DateTime<Utc>) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1000)).unwrap_or(Failure::ENDLESS));
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
        assert_eq!((wait("99999999999999999999"), wait("18446744073709551615")), (Some(Failure::ENDLESS), Some(Failure::ENDLESS)));
        assert_eq!(wait("Sun, 08 Nov 2026 08:49:37 GMT"), Some(7_000));
        assert_eq!(wait("Sunday, 08-Nov-26 08:49:37 GMT"), Some(7_000));
        assert_eq!(wait("Sun Nov  8 08:49:37 2026"), Some(7_000));
    }

    #[test]
    fn missing_negative_past_and_garbled_values_say_nothing() {
        for value in ["", "-1", "1.5", "soon", "+3", "Sun, 08 Nov 2026 08:49:29 GMT", "٣"] {
            assert_eq!(wait(value), None, "{value}");
        }
    }
}
