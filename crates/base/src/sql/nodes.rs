//! Words, names and brackets of a query; comments are left out.

use super::{Name, QUERIES, RESERVED, SHOWING};

/// The deepest brackets that are looked into.
const DEEPEST: usize = 64;

/// A piece of a query.
#[derive(Debug, PartialEq)]
pub enum QueryNode<'q> {
    /// A keyword, a name, or `*`.
    Word(Name<'q>),
    /// A name in quotes.
    Quoted(Name<'q>),
    /// Brackets of this kind and what is in them.
    Group(char, Vec<QueryNode<'q>>),
    /// A text with its quotes, or a number.
    Value(Name<'q>),
    /// A place for a value: `$name`, `:name`, `@name`, `?` or `?1`.
    Place(Name<'q>),
    /// Any other sign.
    Mark(char),
}

impl<'q> QueryNode<'q> {
    /// Whether it is this keyword.
    pub fn is(&self, keyword: &str) -> bool {
        matches!(self, QueryNode::Word(word) if word.is(keyword))
    }

    /// Whether it is one of these keywords.
    pub fn is_one_of(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(keyword))
    }

    /// Whether it may be multiplied.
    pub(super) fn is_operand(&self) -> bool {
        match self {
            QueryNode::Mark(_) => false,
            QueryNode::Word(_) => !self.is_one_of(RESERVED),
            QueryNode::Quoted(_) | QueryNode::Group(..) | QueryNode::Value(_) | QueryNode::Place(_) => true,
        }
    }

    /// The name it may be.
    pub fn name(&self) -> Option<Name<'q>> {
        match self {
            QueryNode::Word(name) | QueryNode::Quoted(name) => Some(*name),
            QueryNode::Group(..) | QueryNode::Value(_) | QueryNode::Place(_) | QueryNode::Mark(_) => None,
        }
    }

    /// What is in the brackets.
    pub fn inner(&self) -> Option<&[QueryNode<'q>]> {
        match self {
            QueryNode::Group(_, inner) => Some(inner),
            _ => None,
        }
    }

    /// Whether it is a query in brackets.
    pub fn is_query(&self) -> bool {
        let inner = self.inner().unwrap_or_default();
        let shows = matches!(inner, [first, second, ..] if first.is_one_of(&SHOWING) && (second.name().is_some() || second.is_query()));
        shows || inner.first().is_some_and(|first| first.is_one_of(&QUERIES) || first.is_query())
    }
}

/// The pieces of a text. `None`: a quote or a bracket has no other end, or brackets are too deep.
pub(super) fn nodes(text: &str) -> Option<Vec<QueryNode<'_>>> {
    let mut open: Vec<(char, Vec<QueryNode>)> = vec![];
    let (mut nodes, mut start) = (vec![], 0);
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next()?;
        let length = match first {
            '\'' | '"' | '`' => quoted(rest, first)?,
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/")? + 2,
            // DuckDB's texts in dollars.
            '$' if rest.starts_with("$$") => return None,
            c if is_of_name(c) || matches!(c, '$' | ':' | '@' | '?') => {
                first.len_utf8() + rest.chars().skip(1).take_while(|c| is_of_name(*c)).map(char::len_utf8).sum::<usize>()
            }
            _ => first.len_utf8(),
        };
        let name = Name { text: rest.get(..length)?, start };
        match first {
            '"' | '`' => nodes.push(QueryNode::Quoted(Name { text: rest.get(1..length - 1)?, start: start + 1 })),
            '-' | '/' if length > 1 => {}
            '\'' => nodes.push(QueryNode::Value(name)),
            '(' | '[' | '{' if open.len() == DEEPEST => return None,
            '(' | '[' | '{' => open.push((first, std::mem::take(&mut nodes))),
            ')' | ']' | '}' => {
                let (bracket, around) =
                    open.pop().filter(|(bracket, _)| matches!((bracket, first), ('(', ')') | ('[', ']') | ('{', '}')))?;
                let inner = std::mem::replace(&mut nodes, around);
                nodes.push(QueryNode::Group(bracket, inner));
            }
            c if c.is_alphabetic() || matches!(c, '_' | '*') => nodes.push(QueryNode::Word(name)),
            '?' => nodes.push(QueryNode::Place(name)),
            '$' | ':' | '@' if length > 1 => nodes.push(QueryNode::Place(name)),
            c if c.is_numeric() || length > 1 => nodes.push(QueryNode::Value(name)),
            c if c.is_whitespace() => {}
            c => nodes.push(QueryNode::Mark(c)),
        }
        start += length;
    }
    open.is_empty().then_some(nodes)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How long a text in quotes is; a quote that stands twice does not end it.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut ends = text.char_indices().skip(1).filter(|(_, c)| *c == quote).map(|(at, _)| at).peekable();
    while let Some(end) = ends.next() {
        if ends.next_if_eq(&(end + 1)).is_none() {
            return Some(end + 1);
        }
    }
    None
}
