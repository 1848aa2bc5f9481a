//! Filling in a web address: values stay where the author put them.
//!
//! A value in the path is a part of one segment, a value in the query is one text, whatever it holds (RFC 3986, sections 3.3, 3.4 and
//! 5.2.4). A value that an address begins with is an address itself (`{{ env.BASE }}/x`). Nothing climbs with `..`.

use minijinja::value::ValueKind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::Value;
use super::eval::Sink;
use super::print::{PrintedText, kind, printed, shortened};
use super::stop::FillStop;
use super::tree::Expr;

/// All but unreserved characters (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes a value for an address.
pub fn percent(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// An address with all its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledAddress {
    /// The address. Values in it are percent-encoded, but for one that it begins with.
    pub text: String,
    /// The paths of names whose values are a part of the scheme, the host or the port.
    pub host_reads: Vec<Vec<String>>,
}

/// Where the next piece of an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressPart {
    /// Scheme, host and port.
    Host,
    Path,
    /// And fragment.
    Query,
}

pub(super) fn next_part(so_far: &str) -> AddressPart {
    let Some((_, rest)) = so_far.split_once("://") else { return AddressPart::Host };
    match rest.find(['/', '\\', '?', '#']) {
        None => AddressPart::Host,
        Some(end) if rest[end..].contains(['?', '#']) => AddressPart::Query,
        Some(_) => AddressPart::Path,
    }
}

/// An address while it is filled in.
#[derive(Debug, Default)]
pub(super) struct AddressOutput {
    text: PrintedText,
    host_reads: Vec<Vec<String>>,
    /// Where the value ends that the address begins with.
    first_value: Option<usize>,
    /// The name of the last value.
    last: String,
}

impl Sink for AddressOutput {
    fn push(&mut self, piece: &str) -> Result<(), FillStop> {
        self.text.push(piece)
    }

    fn print(&mut self, value: &Value) -> Result<(), FillStop> {
        let piece = self.piece(value)?;
        self.text.push(&piece)
    }

    fn comes_from(&mut self, expression: &Expr) {
        self.last = expression.path().unwrap_or_else(|| "a value".to_owned());
        if next_part(self.text.text()) == AddressPart::Host {
            expression.add_reads(&mut self.host_reads);
        }
    }
}

impl AddressOutput {
    /// A value as it is in the address.
    fn piece(&mut self, value: &Value) -> Result<String, FillStop> {
        let so_far = self.text.text();
        let text = if value.is_none() || value.is_undefined() { String::new() } else { printed(value)? };
        let wrong = |what: &str| {
            let rule = "a value in the path of an address is one part of it, not empty and without /, \\ or ..";
            Err(FillStop::failed(format!("{} {what}; {rule}", self.last)))
        };
        if so_far.is_empty() {
            self.first_value = Some(text.len());
            return Ok(text);
        }
        if next_part(so_far) == AddressPart::Path {
            let shown = shortened(&text);
            let Some(read) = decoded(&text) else { return wrong(&format!("is \"{shown}\", which is percent-encoded too often")) };
            if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
                return wrong(&format!("is {}", kind(value)));
            } else if text.is_empty() {
                return wrong("is empty");
            } else if read.contains(['/', '\\']) {
                return wrong(&format!("is \"{shown}\", which leads into another path"));
            } else if is_dots(&read) {
                return wrong(&format!("is \"{shown}\", which leads to another path"));
            } else if read.chars().any(char::is_control) {
                return wrong("holds a control character");
            }
        }
        // A value may be a host with its port.
        match text
            .rsplit_once(':')
            .filter(|(_, port)| next_part(so_far) == AddressPart::Host && port.bytes().all(|byte| byte.is_ascii_digit()))
        {
            Some((host, port)) => Ok(format!("{}:{port}", percent(host))),
            None => Ok(percent(&text)),
        }
    }

    /// The whole address, and the names that its host came from.
    pub(super) fn into_address(self) -> Result<FilledAddress, FillStop> {
        let text = self.text.into_text();
        let is_filled = !self.last.is_empty();
        // As a server may read it: `x%2f..` has two parts.
        let path = path(&text);
        let Some(read) = decoded(path) else {
            return Err(FillStop::failed(format!("the path of the address is percent-encoded too often: \"{}\"", shortened(path))));
        };
        if is_filled && read.split(['/', '\\']).any(is_dots) {
            return Err(FillStop::failed(format!("the address leads to another path: \"{}\" holds . or .. as a part", shortened(path))));
        }
        if is_filled && read.chars().any(char::is_control) {
            return Err(FillStop::failed(format!("the path of the address holds a control character: \"{}\"", shortened(path))));
        }
        if let Some((first, rest)) = self.first_value.and_then(|end| text.split_at_checked(end))
            && rest.starts_with('/')
            && first.contains(['?', '#'])
        {
            let message =
                format!("the address begins with \"{}\", which ends its path with ? or #, and more path follows", shortened(first));
            return Err(FillStop::failed(message));
        }
        Ok(FilledAddress { text, host_reads: self.host_reads })
    }
}

/// The path of an address.
fn path(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    rest.find(['/', '\\']).map_or("", |start| &rest[start..])
}

/// How often a server may decode an address, at most.
const MOST_DECODINGS: usize = 8;

/// A text as a server reads it that decodes more often than once. `None`: it is encoded more than [`MOST_DECODINGS`] times.
fn decoded(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..=MOST_DECODINGS {
        let next = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if next == text {
            return Some(text);
        }
        text = next;
    }
    None
}

/// Whether a segment is `.` or `..`, also with parameters, blanks or control characters around it, which some servers take off first.
fn is_dots(segment: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    matches!(segment.split(';').next().unwrap_or_default().trim_matches(is_blank), "." | "..")
}
