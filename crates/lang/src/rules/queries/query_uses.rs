//! What a query does with a column as if it held numbers: it adds up, orders, compares, reckons.

use super::query_operands::{CompareSign, Operand, QueryWalk};
use crate::sql::{Name, QueryNode, ReadQuery};

/// Functions that take a text for the number that it begins with.
const SUMS: [&str; 9] = ["sum", "avg", "total", "abs", "round", "ceil", "floor", "median", "sqrt"];
/// Functions whose result follows the order of their values.
const ORDERED: [&str; 8] = ["min", "max", "rank", "first_value", "last_value", "nth_value", "lead", "lag"];
/// Functions that make another text of one, beside `replace`.
const CHANGING: [&str; 11] =
    ["substr", "substring", "trim", "ltrim", "rtrim", "instr", "unixepoch", "julianday", "strftime", "time", "printf"];
/// Functions that read a day or a time.
const TIMES: [&str; 7] = ["date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"];

/// What a column of a query is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum ColumnUse {
    /// `sum(x)`, `x * 2`, `cast(x as real)`: what each cell begins with counts.
    Sum,
    /// `order by x`, `max(x)`, `x < 5`, `x between 1 and 9`: cells are compared letter by letter.
    Order,
    /// `x = 5`.
    Equal,
    /// `date(x)`, `strftime('%Y', x)`.
    Time,
}

/// What the query uses the column for as it stands in its file. Where the query itself makes another value of it under its name, nothing is said.
/// `replaced`: how many marks must be replaced before its cells are numbers.
pub(in crate::rules) fn uses(query: &ReadQuery, column: &str, replaced: usize) -> Vec<ColumnUse> {
    let looked = LookedFor { column, replaced };
    let mut found = vec![];
    if let Some(nodes) = query.nodes()
        && !looked.is_made_anew(nodes)
    {
        looked.in_list(nodes, &mut found);
    }
    found
}

/// The column that is looked for.
struct LookedFor<'c> {
    column: &'c str,
    replaced: usize,
}

impl LookedFor<'_> {
    fn is(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Column(name) if name.is(self.column))
    }

    fn is_in(&self, node: &QueryNode) -> bool {
        node.name().is_some_and(|name| name.is(self.column)) || node.inner().is_some_and(|inner| inner.iter().any(|node| self.is_in(node)))
    }

    /// Whether it stands in these pieces as a value, and not only on a side of a comparison: `sum(x = 'a')`.
    fn is_value_in(&self, nodes: &[QueryNode]) -> bool {
        let walk = QueryWalk(nodes);
        let is_compared = |at: usize, next: usize| {
            let is_sign = |node: &QueryNode| matches!(node, QueryNode::Mark('=' | '<' | '>' | '!'));
            at.checked_sub(1).is_some_and(|at| is_sign(&nodes[at]))
                || nodes.get(next).is_some_and(|node| is_sign(node) || node.is_one_of(&["in", "is", "not", "like", "glob", "between"]))
        };
        let is_value = |at: usize| walk.operand(at).is_some_and(|(operand, next)| self.is(&operand) && !is_compared(at, next));
        (0..nodes.len()).any(is_value) || nodes.iter().filter_map(QueryNode::inner).any(|inner| self.is_value_in(inner))
    }

    /// Whether functions in these pieces make another text of the column.
    fn is_changed(&self, nodes: &[QueryNode]) -> bool {
        let (replacing, changing) = self.changes(nodes);
        changing || replacing >= self.replaced
    }

    /// How many marks are replaced in it, and whether it is changed in another way.
    fn changes(&self, nodes: &[QueryNode]) -> (usize, bool) {
        let (mut replacing, mut is_changed) = (0, false);
        for (at, node) in nodes.iter().enumerate() {
            let inner = node.inner().unwrap_or_default();
            let (in_it, is_in_it) = self.changes(inner);
            (replacing, is_changed) = (replacing + in_it, is_changed || is_in_it);
            let function = at.checked_sub(1).and_then(|at| nodes[at].name()).filter(|_| inner.iter().any(|node| self.is_in(node)));
            replacing += usize::from(function.is_some_and(|name| name.is("replace")));
            is_changed |= function.is_some_and(|name| CHANGING.iter().any(|known| name.is(known)));
        }
        (replacing, is_changed)
    }

    /// `replace(amount, ',', '.') as amount`
    fn is_made_anew(&self, nodes: &[QueryNode]) -> bool {
        nodes.iter().enumerate().any(|(at, node)| {
            let is_named = node.is("as") && nodes.get(at + 1).and_then(QueryNode::name).is_some_and(|name| name.is(self.column));
            let start = nodes[..at].iter().rposition(|node| *node == QueryNode::Mark(',') || node.is("select")).map_or(0, |at| at + 1);
            is_named && self.is_changed(&nodes[start..at]) || node.inner().is_some_and(|inner| self.is_made_anew(inner))
        })
    }

    fn in_list(&self, nodes: &[QueryNode], found: &mut Vec<ColumnUse>) {
        let walk = QueryWalk(nodes);
        for at in 0..nodes.len() {
            if let Some((left, sign, right)) = walk.comparison(at) {
                self.compared(&left, sign, &right, found);
            }
            match walk.operand(at) {
                Some((Operand::Call(name, inner), _)) => self.called(name, inner, found),
                Some((operand, next)) if self.is(&operand) && (is_reckoned(nodes, at, next) || is_ordered(nodes, at, next)) => {
                    found.push(if is_reckoned(nodes, at, next) { ColumnUse::Sum } else { ColumnUse::Order });
                }
                _ => {}
            }
        }
        nodes.iter().filter_map(QueryNode::inner).for_each(|inner| self.in_list(inner, found));
    }

    fn called(&self, function: Name, inner: &[QueryNode], found: &mut Vec<ColumnUse>) {
        let is = |known: &[&str]| known.iter().any(|known| function.is(known));
        // `case when amount > 5 then hours end` adds up the hours.
        let values = match inner.iter().position(|node| node.is("then")) {
            Some(then) if inner.first().is_some_and(|first| first.is("case")) => &inner[then..],
            _ => inner,
        };
        if is(&TIMES) && inner.iter().any(|node| node.name().is_some_and(|name| name.is(self.column))) {
            found.push(ColumnUse::Time);
        }
        if !self.is_value_in(values) || self.is_changed(values) {
            return;
        }
        if is(&SUMS) || function.is("cast") && !inner.last().is_some_and(|last| last.is("text")) {
            found.push(ColumnUse::Sum);
        } else if is(&ORDERED) {
            found.push(ColumnUse::Order);
        }
    }

    fn compared(&self, left: &Operand, sign: CompareSign, right: &Operand, found: &mut Vec<ColumnUse>) {
        let is_number = |operand: &Operand| matches!(operand, Operand::Number(_));
        for (one, other) in [(left, right), (right, left)] {
            if !self.is(one) {
                continue;
            }
            match sign {
                CompareSign::Order(_) | CompareSign::Between => found.push(ColumnUse::Order),
                CompareSign::Equal(_) if is_number(other) => found.push(ColumnUse::Equal),
                CompareSign::In if matches!(other, Operand::List(list) if list.iter().any(is_plain_number)) => found.push(ColumnUse::Equal),
                CompareSign::Equal(_) | CompareSign::In => {}
            }
        }
    }
}

/// Whether a sign beside a value reckons with it.
fn is_reckoned(nodes: &[QueryNode], at: usize, next: usize) -> bool {
    let is_sign = |node: Option<&QueryNode>| node.is_some_and(|node| matches!(node, QueryNode::Mark('+' | '-' | '/' | '%')));
    // `select * from t`, `count(*)`: a star that multiplies stands between two values.
    let multiplies = |at: usize| {
        nodes.get(at).is_some_and(|node| node.is("*")) && {
            let before = at.checked_sub(1).and_then(|at| nodes.get(at));
            before.is_some_and(|node| *node != QueryNode::Mark(',') && !node.is_one_of(&["select", "distinct"]))
                && nodes.get(at + 1).is_some()
        }
    };
    let start = if at >= 2 && nodes[at - 1] == QueryNode::Mark('.') { at - 2 } else { at };
    let before = start.checked_sub(1);
    is_sign(before.map(|at| &nodes[at])) || is_sign(nodes.get(next)) || before.is_some_and(multiplies) || multiplies(next)
}

/// Whether a value is one by which rows are ordered.
fn is_ordered(nodes: &[QueryNode], at: usize, next: usize) -> bool {
    let is_end = |node: &QueryNode| {
        matches!(node, QueryNode::Mark(',' | ';')) || node.is_one_of(&["asc", "desc", "nulls", "limit", "rows", "range", "union"])
    };
    let ends = nodes.get(next).is_none_or(is_end);
    let before = nodes[..at].iter().rposition(|node| node.is("by"));
    let begins = at.checked_sub(1).is_some_and(|at| nodes[at].is("by") || nodes[at] == QueryNode::Mark(','));
    let is_order = before.is_some_and(|by| {
        by > 0 && nodes[by - 1].is("order") && !nodes[by..at].iter().any(|node| node.is_one_of(&["limit", "union", "select"]))
    });
    ends && begins && is_order
}

fn is_plain_number(node: &QueryNode) -> bool {
    matches!(node, QueryNode::Value(value) if !value.text.starts_with('\''))
}

#[cfg(test)]
mod tests {
    use super::ColumnUse::{Equal, Order, Sum, Time};
    use super::*;

    #[test]
    fn what_a_query_does_with_a_column_is_told() {
        for (query, expected) in [
            ("select sum(x) from t", vec![Sum]),
            ("select sum(distinct t.x) over (partition by y) from t", vec![Sum]),
            ("select sum(case when y > 5 then x end) from t", vec![Sum]),
            ("select avg(x * 2) as x from t", vec![Sum, Sum]),
            ("select x * 2 from t", vec![Sum]),
            ("select 2*x from t", vec![Sum]),
            ("select y - t.x from t", vec![Sum]),
            ("select cast(x as real) from t", vec![Sum]),
            ("select cast(x as text) from t", vec![]),
            ("select max(x), min(t.x) from t", vec![Order, Order]),
            ("select y from t order by x desc limit 3", vec![Order]),
            ("select y from t order by y, t.x", vec![Order]),
            ("select rank() over (order by x) from t", vec![Order]),
            ("select y from t where x > 5", vec![Order]),
            ("select y from t where 5 <= x", vec![Order]),
            ("select y from t where x between 1 and 9", vec![Order]),
            ("select y from t where x = 5", vec![Equal]),
            ("select y from t where x in (5, 6)", vec![Equal]),
            ("select date(x), strftime('%Y', t.x) from t", vec![Time, Time]),
            ("select sum(x = 'a'), avg(y in ('b', 'c')) from t", vec![]),
        ] {
            assert_eq!(uses(&ReadQuery::new(query), "x", 1), expected, "{query}");
        }
    }

    #[test]
    fn a_column_that_is_only_shown_or_made_anew_is_used_for_nothing() {
        for query in [
            "select x, count(x), group_concat(x) from t",
            "select *, x from t where x = '5' and x like '5%'",
            "select sum(replace(x, ',', '.')) from t",
            "select max(cast(replace(x, ',', '.') as real)) from t",
            "select sum(x) from (select replace(x, ',', '.') * 1.0 as x from t) where x > 3",
            "with c as (select substr(x, 2) as x from t) select x from c order by x",
            "select x from t order by y",
            "select y from t group by x",
            "select count(*) from t",
        ] {
            assert_eq!(uses(&ReadQuery::new(query), "x", 1), vec![], "{query}");
        }
    }

    #[test]
    fn as_many_marks_are_replaced_as_there_are() {
        assert_eq!(uses(&ReadQuery::new("select sum(replace(x, ',', '.')) from t"), "x", 2), vec![Sum]);
        assert_eq!(uses(&ReadQuery::new("select sum(replace(replace(x, '.', ''), ',', '.')) from t"), "x", 2), vec![]);
    }
}
