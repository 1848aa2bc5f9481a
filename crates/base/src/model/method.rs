//! Methods of HTTP requests, and what each promises.

use strum::VariantArray;

/// A method that a file may name (RFC 9110, section 9.3; PATCH: RFC 5789).
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "UPPERCASE")]
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
        Method::VARIANTS.iter().map(|method| method.word()).collect::<Vec<_>>().join(between)
    }
}
