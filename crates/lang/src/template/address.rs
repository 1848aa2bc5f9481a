//! Web addresses: what their host comes from, and values that stay where the author put them.
//!
//! A value in the path is a part of one segment, a value in the query is one text, whatever it holds (RFC 3986, sections 3.3, 3.4 and
//! 5.2.4). A value that an address begins with is an address itself (`{{ env.BASE }}/x`). Nothing climbs with `..`.

use minijinja::value::ValueKind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::Value;
use super::fill::{CompiledForm, compile};
use super::print::{kind, printed, shortened};
use super::stop::Stop;
use super::tree::{Expr, Node};
use crate::model::Text;

/// All but unreserved characters (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Ways through the `if`s of an address that are looked at before a run.
const MOST_WAYS: usize = 32;
/// A value that is not known yet.
const HOLE: char = '\u{fffc}';

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

/// An address as far as its text tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressText {
    /// What its ways through `if` begin with, as far as no value is needed; only those that have a whole host.
    pub written: Vec<String>,
    /// The paths of names whose values may be a part of the scheme, the host or the port.
    pub host_reads: Vec<Vec<String>>,
}

/// Where the next piece of an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Scheme, host and port.
    Host,
    Path,
    /// And fragment.
    Query,
}

fn next_part(so_far: &str) -> Part {
    let Some((_, rest)) = so_far.split_once("://") else { return Part::Host };
    match rest.find(['/', '\\', '?', '#']) {
        None => Part::Host,
        Some(end) if rest[end..].contains(['?', '#']) => Part::Query,
        Some(_) => Part::Path,
    }
}

/// What holds while an address is filled in.
#[derive(Debug, Default)]
pub(super) struct AddressRules {
    host_reads: Vec<Vec<String>>,
    /// Where the value ends that the address begins with.
    first_value: Option<usize>,
    /// The name of the last value.
    last: String,
}

impl AddressRules {
    pub(super) fn comes_from(&mut self, so_far: &str, expression: &Expr) {
        self.last = expression.path().unwrap_or_else(|| "a value".to_owned());
        if next_part(so_far) == Part::Host {
            expression.add_reads(&mut self.host_reads);
        }
    }

    /// A value as it stands in the address.
    pub(super) fn piece(&mut self, so_far: &str, value: &Value) -> Result<String, Stop> {
        let text = if value.is_none() || value.is_undefined() { String::new() } else { printed(value)? };
        let wrong = |what: &str| {
            let rule = "a value in the path of an address is one part of it, not empty and without /, \\ or ..";
            Err(Stop::failed(format!("{} {what}; {rule}", self.last)))
        };
        if so_far.is_empty() {
            self.first_value = Some(text.len());
            return Ok(text);
        }
        if next_part(so_far) == Part::Path {
            let read = decoded(&text);
            let shown = shortened(&text);
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
        match text.rsplit_once(':').filter(|(_, port)| next_part(so_far) == Part::Host && port.bytes().all(|byte| byte.is_ascii_digit())) {
            Some((host, port)) => Ok(format!("{}:{port}", percent(host))),
            None => Ok(percent(&text)),
        }
    }

    pub(super) fn finish(self, text: String) -> Result<FilledAddress, Stop> {
        let is_filled = !self.last.is_empty();
        // As a server may read it: `x%2f..` has two parts.
        let path = path(&text);
        let read = decoded(path);
        if is_filled && read.split(['/', '\\']).any(is_dots) {
            return Err(Stop::failed(format!("the address leads to another path: \"{}\" holds . or .. as a part", shortened(path))));
        }
        if is_filled && read.chars().any(char::is_control) {
            return Err(Stop::failed(format!("the path of the address holds a control character: \"{}\"", shortened(path))));
        }
        if let Some((first, rest)) = self.first_value.and_then(|end| text.split_at_checked(end))
            && rest.starts_with('/')
            && first.contains(['?', '#'])
        {
            let message =
                format!("the address begins with \"{}\", which ends its path with ? or #, and more path follows", shortened(first));
            return Err(Stop::failed(message));
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

/// A text as a server reads it that decodes more often than once.
fn decoded(text: &str) -> String {
    let mut text = text.to_owned();
    loop {
        let next = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if next == text {
            return text;
        }
        text = next;
    }
}

/// Whether a segment is `.` or `..`, also with parameters, blanks or control characters around it, which some servers take off first.
fn is_dots(segment: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    matches!(segment.split(';').next().unwrap_or_default().trim_matches(is_blank), "." | "..")
}

/// What the text of an address tells of its host before a run. What is not clear counts as a part of the host.
pub fn address_text(text: &Text) -> AddressText {
    let Ok(compiled) = compile(text) else { return AddressText::default() };
    let mut reader = Reader { ways: vec![String::new()], reads: vec![] };
    match compiled.form() {
        CompiledForm::Plain(_) => reader.push(&text.source),
        CompiledForm::Expression(expression) => reader.hole(expression),
        CompiledForm::Template(nodes) => reader.statements(nodes),
    }
    let written = |way: &String| {
        let known = way.split(HOLE).next().unwrap_or_default();
        (known.len() == way.len() || next_part(known) != Part::Host).then(|| known.to_owned())
    };
    let mut written: Vec<String> = reader.ways.iter().filter_map(written).collect();
    written.sort();
    written.dedup();
    AddressText { written, host_reads: reader.reads }
}

/// Follows all ways through an address.
struct Reader {
    ways: Vec<String>,
    reads: Vec<Vec<String>>,
}

impl Reader {
    fn push(&mut self, text: &str) {
        self.ways.iter_mut().for_each(|way| way.push_str(text));
    }

    /// Whether the host is complete on every way.
    fn has_host(&self) -> bool {
        self.ways.iter().all(|way| match next_part(way) {
            // Where a value begins the address, it holds the host unless `//` follows.
            Part::Host => way.starts_with(HOLE) && !way.contains("//") && way.contains(['/', '?', '#']),
            Part::Path | Part::Query => true,
        })
    }

    fn hole(&mut self, expression: &Expr) {
        if !self.has_host() {
            expression.add_reads(&mut self.reads);
        }
        self.push(HOLE.encode_utf8(&mut [0; 4]));
    }

    fn statements(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Raw(text) => self.push(text),
                Node::Print(expression, _) => self.hole(expression),
                Node::If(branches, otherwise) => {
                    let before = self.ways.clone();
                    let mut after = vec![];
                    for body in branches.iter().map(|branch| &branch.body).chain([otherwise]) {
                        self.ways = before.clone();
                        self.statements(body);
                        after.append(&mut self.ways);
                    }
                    // With too many ways nothing is certain: as if the address had not begun.
                    self.ways = if after.len() > MOST_WAYS { vec![HOLE.to_string(), String::new()] } else { after };
                }
                Node::For(repeat) => {
                    if !self.has_host() {
                        repeat.list.add_reads(&mut self.reads);
                    }
                    let before = self.ways.clone();
                    self.push(HOLE.encode_utf8(&mut [0; 4]));
                    self.statements(&repeat.body);
                    self.ways = before;
                    self.statements(&repeat.otherwise);
                    self.push(HOLE.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }
}
