//! Methods of HTTP requests, and what each promises.

use std::fmt;

/// A method that a file may name (RFC 9110, section 9.3; PATCH: RFC 5789).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of the standard")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 7] = [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete, Method::Options];

    /// As it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
        }
    }

    /// Whether such a request changes nothing on the other side (RFC 9110, section 9.2.1).
    pub fn is_safe(self) -> bool {
        match self {
            Method::Get | Method::Head | Method::Options => true,
            Method::Post | Method::Put | Method::Patch | Method::Delete => false,
        }
    }

    /// Whether a second request like the first changes nothing more (RFC 9110, section 9.2.2).
    pub fn is_idempotent(self) -> bool {
        match self {
            Method::Put | Method::Delete => true,
            Method::Get | Method::Head | Method::Options | Method::Post | Method::Patch => self.is_safe(),
        }
    }

    /// The methods as they are sent, with this between them.
    pub fn listed(between: &str) -> String {
        Method::ALL.map(Method::as_str).join(between)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
