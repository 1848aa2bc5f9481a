//! What stands on both sides of a comparison of a query, as far as it can be told without a parser of SQL.

use crate::sql::{Name, QueryNode};

/// Words that are no column.
#[rustfmt::skip]
const NO_COLUMN: [&str; 39] = [
    "all", "and", "as", "asc", "between", "by", "case", "collate", "cross", "desc", "distinct", "else", "end", "escape", "exists", "from", "full",
    "glob", "group", "having", "in", "inner", "is", "join", "left", "like", "limit", "match", "not", "offset", "on", "or", "order", "select",
    "then", "union", "when", "where", "with",
];

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub(in crate::rules) enum Operand<'n, 'q> {
    /// A column, without the table before it.
    Column(Name<'q>),
    /// A function and what it is given.
    Call(Name<'q>, &'n [QueryNode<'q>]),
    /// A text, with its quotes.
    Text(Name<'q>),
    /// A number.
    Number(Name<'q>),
    /// `true`, `false` or `null`.
    Truth(Name<'q>),
    /// A place for a value.
    Place(Name<'q>),
    /// What is in brackets.
    List(&'n [QueryNode<'q>]),
}

/// How two operands are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum CompareSign {
    /// `=`, `<>`, `is`, as it is written.
    Equal(&'static str),
    /// `<` and its kin.
    Order(&'static str),
    /// `in`, with or without `not`.
    In,
    /// `between`, whose first bound is the other operand.
    Between,
}

/// Pieces of a query beside each other.
#[derive(Clone, Copy)]
pub(in crate::rules) struct QueryWalk<'n, 'q>(pub(in crate::rules) &'n [QueryNode<'q>]);

impl<'n, 'q> QueryWalk<'n, 'q> {
    /// What begins at a place, and the place behind it.
    pub(in crate::rules) fn operand(self, at: usize) -> Option<(Operand<'n, 'q>, usize)> {
        let follows_point = at.checked_sub(1).is_some_and(|before| self.0.get(before) == Some(&QueryNode::Mark('.')));
        if follows_point {
            return None;
        }
        Some(match (self.0.get(at)?, self.0.get(at + 1), self.0.get(at + 2)) {
            (QueryNode::Word(name), Some(QueryNode::Group('(', inner)), _) if !is_no_column(*name) => (Operand::Call(*name, inner), at + 2),
            (
                QueryNode::Word(_) | QueryNode::Quoted(_),
                Some(QueryNode::Mark('.')),
                Some(QueryNode::Word(name) | QueryNode::Quoted(name)),
            ) => (Operand::Column(*name), at + 3),
            (QueryNode::Value(whole), Some(QueryNode::Mark('.')), Some(QueryNode::Value(_))) if !whole.text.starts_with('\'') => {
                (Operand::Number(*whole), at + 3)
            }
            (QueryNode::Value(value), ..) if value.text.starts_with('\'') => (Operand::Text(*value), at + 1),
            (QueryNode::Value(value), ..) => (Operand::Number(*value), at + 1),
            (QueryNode::Word(name), ..) if ["true", "false", "null"].iter().any(|word| name.is(word)) => (Operand::Truth(*name), at + 1),
            (QueryNode::Word(name), ..) if name.text != "*" && !is_no_column(*name) => (Operand::Column(*name), at + 1),
            (QueryNode::Quoted(name), ..) => (Operand::Column(*name), at + 1),
            (QueryNode::Place(place), ..) => (Operand::Place(*place), at + 1),
            (QueryNode::Group('(', inner), ..) if !self.0[at].is_query() => (Operand::List(inner), at + 1),
            _ => return None,
        })
    }

    /// The comparison whose left side begins at a place: nothing else is joined to its sides.
    pub(in crate::rules) fn comparison(self, at: usize) -> Option<(Operand<'n, 'q>, CompareSign, Operand<'n, 'q>)> {
        if at.checked_sub(1).is_some_and(|before| self.joins(before)) {
            return None;
        }
        let (left, next) = self.operand(at)?;
        let (sign, next) = self.sign(next)?;
        let (right, behind) = self.operand(next)?;
        (!self.joins(behind)).then_some((left, sign, right))
    }

    /// Whether a sign at a place joins what is beside it to one value.
    fn joins(self, at: usize) -> bool {
        matches!(self.0.get(at), Some(QueryNode::Mark('+' | '-' | '/' | '|' | '%' | '&' | '.' | ':')))
            || self.0.get(at).is_some_and(|node| node.is("*"))
    }

    /// The sign at a place, and the place behind it.
    fn sign(self, at: usize) -> Option<(CompareSign, usize)> {
        let mark = |at: usize| if let Some(QueryNode::Mark(mark)) = self.0.get(at) { Some(*mark) } else { None };
        let is = |at: usize, word: &str| self.0.get(at).is_some_and(|node| node.is(word));
        Some(match (mark(at), mark(at + 1)) {
            (Some('='), Some('=')) => (CompareSign::Equal("="), at + 2),
            (Some('='), _) => (CompareSign::Equal("="), at + 1),
            (Some('<'), Some('>')) | (Some('!'), Some('=')) => (CompareSign::Equal("<>"), at + 2),
            (Some('<'), Some('=')) => (CompareSign::Order("<="), at + 2),
            (Some('>'), Some('=')) => (CompareSign::Order(">="), at + 2),
            (Some('<'), _) => (CompareSign::Order("<"), at + 1),
            (Some('>'), _) => (CompareSign::Order(">"), at + 1),
            (None, _) if is(at, "is") && is(at + 1, "not") => (CompareSign::Equal("is not"), at + 2),
            (None, _) if is(at, "is") => (CompareSign::Equal("is"), at + 1),
            (None, _) if is(at, "not") && is(at + 1, "in") => (CompareSign::In, at + 2),
            (None, _) if is(at, "in") => (CompareSign::In, at + 1),
            (None, _) if is(at, "between") => (CompareSign::Between, at + 1),
            _ => return None,
        })
    }
}

fn is_no_column(name: Name) -> bool {
    NO_COLUMN.iter().any(|word| name.is(word))
}

/// The texts and numbers that stand in a list, or the one that an operand is.
pub(in crate::rules) fn values<'q>(operand: &Operand<'_, 'q>) -> Vec<Name<'q>> {
    match operand {
        Operand::Text(value) | Operand::Number(value) => vec![*value],
        Operand::List(nodes) => {
            nodes.iter().filter_map(|node| if let QueryNode::Value(value) = node { Some(*value) } else { None }).collect()
        }
        Operand::Column(_) | Operand::Call(..) | Operand::Truth(_) | Operand::Place(_) => vec![],
    }
}

/// Where a name stands.
pub(in crate::rules) fn within(name: Name) -> (usize, usize) {
    (name.start, name.start + name.text.len())
}

/// A text without its single quotes.
pub(in crate::rules) fn unquoted(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.strip_suffix('\'')
}
