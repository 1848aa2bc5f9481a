//! The classes of faults: what a status, a broken connection or a broken answer means.

use std::error::Error;
use std::time::Duration;

use super::address::AddressRefusedError;
use crate::adapter::wording::Scrub;
use crate::event::Failure;
use crate::model::FailureKind;

/// A failed attempt, and whether the other side may have acted on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpFault {
    /// What is told.
    pub(crate) failure: Failure,
    /// The request may have reached the other side, and nothing it said rules out that it acted.
    pub(crate) may_have_acted: bool,
}

impl HttpFault {
    /// Nothing was sent, or the answer says that nothing was done.
    pub(crate) fn before_sending(failure: Failure) -> HttpFault {
        HttpFault { failure, may_have_acted: false }
    }

    /// The request was on its way.
    pub(crate) fn after_sending(failure: Failure) -> HttpFault {
        HttpFault { failure, may_have_acted: true }
    }
}

impl From<HttpFault> for Failure {
    fn from(fault: HttpFault) -> Failure {
        fault.failure
    }
}

/// The class of a status of 400 and above, or below 200.
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

/// A request that got no status.
pub(crate) fn of_request(error: &reqwest::Error, origin: &str, connect_timeout: Duration, scrub: &Scrub) -> HttpFault {
    let causes = causes(error);
    if let Some(refused) = causes.iter().find_map(|cause| cause.downcast_ref::<AddressRefusedError>()) {
        return HttpFault::before_sending(scrub.failure(FailureKind::Blocked, format!("{origin} was not called: {refused}")));
    }
    if let Some(reason) = certificate_fault(error) {
        let message = format!("the certificate of {origin} was not accepted: {reason}");
        return HttpFault::before_sending(scrub.failure(FailureKind::Blocked, message));
    }
    if error.is_connect() {
        return HttpFault::before_sending(if error.is_timeout() {
            scrub.failure(FailureKind::Timeout, format!("no connection to {origin} within {}", in_words(connect_timeout)))
        } else {
            scrub.failure(FailureKind::Connection, format!("no connection to {origin}: {}", last_cause(error)))
        });
    }
    if error.is_builder() {
        return HttpFault::before_sending(
            scrub.failure(FailureKind::BadRequest, format!("the request cannot be sent: {}", last_cause(error))),
        );
    }
    let (kind, what) = match causes.iter().find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
        // hyper has a method for this in servers only; a test holds the words.
        Some(fault) if fault.to_string() == "message head is too large" => (FailureKind::TooLarge, "sent too large headers".to_owned()),
        Some(fault) if fault.is_parse() => (FailureKind::BadResponse, format!("sent something that is not HTTP: {}", last_cause(error))),
        _ => (FailureKind::Connection, format!("closed the connection without an answer: {}", last_cause(error))),
    };
    HttpFault::after_sending(scrub.failure(kind, format!("{origin} {what}")))
}

/// The class of a body that could not be read to its end.
pub(super) fn class_of_body(error: &reqwest::Error) -> FailureKind {
    // The HTTP/2 library ends floods of empty frames by itself; a test holds the words.
    if last_cause(error).contains("excessive load") { FailureKind::TooLarge } else { FailureKind::BadResponse }
}

/// What is wrong with the certificate of the other side, if that is why a connection failed.
pub(crate) fn certificate_fault(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).iter().find_map(|cause| match cause.downcast_ref::<rustls::Error>()? {
        fault @ (rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => Some(fault.to_string()),
        _ => None,
    })
}

/// An error and all its causes, also those that stand inside an I/O error (whose `source` leaves one out).
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut found: Vec<&(dyn Error + 'static)> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next.filter(|_| found.len() < 16) {
        found.push(error);
        let inner = error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref());
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    found
}

/// The sentence of the deepest cause: the outer ones name addresses and our own libraries.
pub(crate) fn last_cause(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// A time for people: `60 s`, `250 ms`.
pub(crate) fn in_words(time: Duration) -> String {
    match time.as_millis() {
        millis if millis % 1000 == 0 => format!("{} s", millis / 1000),
        millis => format!("{millis} ms"),
    }
}
