//! A query that is read once, however many ask about it.

use std::cell::OnceCell;

use super::{MOST_QUERY_BYTES, QueryNames, QueryNode, may_give, mentions, nodes, read};

/// A query, or several with `;` between, that is read once: when it is first asked.
#[derive(Debug)]
pub struct ReadQuery<'q> {
    /// The query.
    pub text: &'q str,
    nodes: OnceCell<Option<Vec<QueryNode<'q>>>>,
    names: OnceCell<Option<QueryNames<'q>>>,
}

impl<'q> ReadQuery<'q> {
    /// A query that is not read yet.
    pub fn new(text: &'q str) -> ReadQuery<'q> {
        ReadQuery { text, nodes: OnceCell::new(), names: OnceCell::new() }
    }

    /// Its pieces. `None`: a quote or a bracket has no other end, or brackets are too deep.
    pub fn nodes(&self) -> Option<&[QueryNode<'q>]> {
        self.nodes.get_or_init(|| nodes::nodes(self.text)).as_deref()
    }

    /// What it names. `None`: it has no pieces, or it is too long.
    pub fn names(&self) -> Option<&QueryNames<'q>> {
        self.names.get_or_init(|| (self.text.len() <= MOST_QUERY_BYTES).then(|| self.nodes().map(|nodes| read(self.text, nodes)))?).as_ref()
    }

    /// Whether a word stands anywhere in it.
    pub fn mentions(&self, word: &str) -> bool {
        mentions(self.text, word)
    }

    /// Whether it names each column of its result, so that none of them follows from a table alone. A query that cannot be read does not.
    pub fn names_its_columns(&self) -> bool {
        self.names().is_some_and(|names| names.gives.iter().all(|given| given.column != "*"))
    }

    /// Whether it has one `select` and its `from`, so that each column of its rows is called as it says, or as in its table. Others may be by place:
    /// those of a `union`, or of a table that the query makes.
    pub fn is_plain(&self) -> bool {
        fn selects(nodes: &[QueryNode]) -> usize {
            let inner: usize = nodes.iter().filter_map(QueryNode::inner).map(selects).sum();
            inner + nodes.iter().filter(|node| node.is_one_of(&["select", "values", "from"])).count()
        }
        self.nodes().is_some_and(|nodes| selects(nodes) <= 2 && nodes.first().is_some_and(|first| first.is("select")))
    }

    /// Whether it may give a column of a table that it reads: rather once too often than once too seldom.
    pub fn may_give(&self, table: &str, column: &str) -> bool {
        let (Some(nodes), Some(names)) = (self.nodes(), self.names()) else { return true };
        may_give::may_give(self.text, nodes, names, table, column)
    }

    /// Whether each place that means a column is seen: its name is written as one piece, and nowhere as a text, which SQLite takes for a name behind a dot.
    pub fn sees(&self, column: &str) -> bool {
        fn is_named(nodes: &[QueryNode], column: &str) -> bool {
            nodes
                .iter()
                .any(|node| node.name().is_some_and(|name| name.is(column)) || node.inner().is_some_and(|inner| is_named(inner, column)))
        }
        fn has_text(nodes: &[QueryNode]) -> bool {
            nodes.windows(2).any(|pair| matches!(pair, [QueryNode::Mark('.'), QueryNode::Value(value)] if value.text.starts_with('\'')))
                || nodes.iter().filter_map(QueryNode::inner).any(has_text)
        }
        self.nodes().is_some_and(|nodes| is_named(nodes, column) && !has_text(nodes))
    }
}
