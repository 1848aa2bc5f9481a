//! What a web address comes from, as far as its text tells before a run.

use super::fill::compile;
use super::filled_address::{AddressPart, next_part};
use super::ready::CompiledForm;
use super::tree::{Expr, Statement};
use crate::model::Text;

/// Ways through the `if`s of an address that are looked at before a run.
const MOST_WAYS: usize = 32;
/// A value that is not known yet.
const HOLE: char = '\u{fffc}';

/// An address as far as its text tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressText {
    /// What its ways through `if` begin with, as far as no value is needed; only those that have a whole host.
    pub written: Vec<String>,
    /// The paths of names whose values may be a part of the scheme, the host or the port.
    pub host_reads: Vec<Vec<String>>,
}

/// What the text of an address tells of its host before a run. What is not clear counts as a part of the host.
pub fn address_text(text: &Text) -> AddressText {
    let Ok(compiled) = compile(text) else { return AddressText::default() };
    let mut reader = AddressReader { ways: vec![String::new()], reads: vec![] };
    match compiled.form() {
        CompiledForm::Plain(_) => reader.push(&text.source),
        CompiledForm::Expression(expression) => reader.hole(expression),
        CompiledForm::Template(nodes) => reader.statements(nodes),
    }
    let written = |way: &String| {
        let known = way.split(HOLE).next().unwrap_or_default();
        (known.len() == way.len() || next_part(known) != AddressPart::Host).then(|| known.to_owned())
    };
    let mut written: Vec<String> = reader.ways.iter().filter_map(written).collect();
    written.sort();
    written.dedup();
    AddressText { written, host_reads: reader.reads }
}

/// Follows all ways through an address.
struct AddressReader {
    ways: Vec<String>,
    reads: Vec<Vec<String>>,
}

impl AddressReader {
    fn push(&mut self, text: &str) {
        self.ways.iter_mut().for_each(|way| way.push_str(text));
    }

    /// Whether the host is complete on every way.
    fn has_host(&self) -> bool {
        self.ways.iter().all(|way| match next_part(way) {
            // Where a value begins the address, it holds the host unless `//` follows.
            AddressPart::Host => way.starts_with(HOLE) && !way.contains("//") && way.contains(['/', '?', '#']),
            AddressPart::Path | AddressPart::Query => true,
        })
    }

    fn hole(&mut self, expression: &Expr) {
        if !self.has_host() {
            expression.add_reads(&mut self.reads);
        }
        self.push(HOLE.encode_utf8(&mut [0; 4]));
    }

    fn statements(&mut self, nodes: &[Statement]) {
        for node in nodes {
            match node {
                Statement::Raw(text) => self.push(text),
                Statement::Print(expression, _) => self.hole(expression),
                Statement::If(branches, otherwise) => {
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
                Statement::For(repeat) => {
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
