//! YAML text → a tree with a span on every key and value. Never fails: it gives the tree it could read, and diagnostics.
//!
//! Files of settings are TOML: `toml` makes the same tree of them. The parser is `granit-parser`, which nothing else names. Around it stand: `hidden` (before it), `build` with `keys`,
//! `scalar`, `offsets`, `traps`, `unread` and `braces` (its events → the tree), `mistakes` (its errors → plain words), `comments`.
//!
//! How to add a check of the text itself (not of the language): a file here, called from [`parse`] or from the place in
//! `build` that sees the event. How to explain one more syntax mistake: a case in `mistakes`, with a line in its table of tests.

mod braces;
mod build;
mod comments;
mod findings;
mod folded;
mod frames;
mod hidden;
mod keys;
mod limits;
mod mistakes;
mod offsets;
mod scalar;
#[cfg(test)]
mod tests;
mod toml;
mod traps;
mod tree;
mod tree_builder;
mod unread;

pub use comments::suppressions;
pub(crate) use scalar::value as plain_value;
pub(crate) use toml::parse_toml;
pub use tree::{Map, MapKey, Node, NodeKind, QuoteStyle, Scalar};

use crate::diagnostic::{Code, Diagnostic, LONGEST_MESSAGE, LONGEST_QUOTE, cut};
use crate::source::{FileId, SourceFile, Span};

/// Reads a file. Whatever the text holds, the answer is a tree: what is before a mistake that ends the reading (F001,
/// F022, F024) is in it, lists of keys that were still open then say so ([`Map::is_cut`]). Findings are added to
/// `diagnostics`, sorted.
pub fn parse(file: FileId, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Node {
    if source.text.len() > limits::FILE_BYTES {
        let start = Span::file_start(file);
        diagnostics.push(Diagnostic::too_large(start, "this file is larger than 1 MiB").help("split it, or move data into a table"));
        return Node::broken(start);
    }
    let mut found = vec![];
    hidden::check(file, source, &mut found);
    let mut text = hidden::readable(&source.text);
    let mut quoted = braces::Braces::default();
    let reading = loop {
        let reading = build::read(file, source, &text, &quoted);
        let again = match &reading.failure {
            Some(failure) if quoted.len() < limits::ROUNDS => quoted.step_over(&text, failure),
            _ => None,
        };
        match again {
            Some(next) => text = next.into(),
            None => break reading,
        }
    };
    found.extend(quoted.findings(file, &source.text));
    found.extend(reading.findings);
    if let Some(failure) = &reading.failure {
        let reason = mistakes::explain(file, source, &text, failure);
        // A "*name" that names nothing was reported already; here is what else is wrong with the same text.
        // A template that must be in quotes is no mistake of its own where its whole line is the mistake.
        let holds = |span: Span| reason.span.start <= span.start && span.end <= reason.span.end;
        found.retain(|earlier| match earlier.code {
            Code::YamlSyntax | Code::YamlTrap => earlier.span.start != reason.span.start,
            Code::UnquotedTemplate => !holds(earlier.span),
            _ => true,
        });
        found.push(reason);
    }
    crate::diagnostic::sort(&mut found);
    found.truncate(limits::FINDINGS);
    diagnostics.append(&mut found);
    reading.root
}

/// F009 of a number that may have been meant as text, for the places that take any value; `key`: what it stands under.
pub(crate) fn reread_number(node: &Node, key: &str) -> Option<Diagnostic> {
    let scalar = node.as_scalar().filter(|scalar| scalar.style == QuoteStyle::Plain)?;
    let trap = traps::reread(&scalar.text, scalar.value.as_number()?, key)?;
    Some(findings::yaml_trap(node.span, trap.message).help(trap.help).proposed_fix(vec![(node.span, format!("\"{}\"", scalar.text))]))
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::too_large(span, "more than 64 lists and groups of keys are nested inside each other here")
        .help("move an inner part into a file or a step of its own")
}

/// A piece of the file for a message: its first line, cut where it is long.
fn short(text: &str) -> String {
    cut(text.lines().next().unwrap_or("").trim(), LONGEST_QUOTE + 1)
}

/// A text that a help says to write: whole, up to the length of a message.
fn to_write(text: &str) -> String {
    cut(text.lines().next().unwrap_or("").trim(), LONGEST_MESSAGE - 20)
}

pub use crate::diagnostic::yaml_quoted as quoted;
