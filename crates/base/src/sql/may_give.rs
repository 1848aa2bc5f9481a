//! Whether a column may be in the result of a query, by its words alone.
//!
//! [`QueryNames`] holds what is understood. This one needs no understanding: whatever is not sure to decide only is given.

use super::{DECIDING, QueryNames, QueryNode, RESERVED, SHOWING, mentions, ordered_by};

/// Whether a query may give a column of a table that it reads.
pub(super) fn may_give(text: &str, nodes: &[QueryNode], names: &QueryNames, table: &str, column: &str) -> bool {
    let rows = names.called.iter().flat_map(|(table, called)| [*table, *called]).filter(|name| !name.is_empty()).collect();
    let is_other = |name: &str| !name.is_empty() && !name.eq_ignore_ascii_case(table);
    let others = names.called.iter().filter(|(name, _)| is_other(name)).flat_map(|(name, called)| [*name, *called]).collect();
    shows(nodes, &SoughtColumn { text, table, column, rows, others }, Zone::Given)
}

/// What must not be shown.
struct SoughtColumn<'q> {
    text: &'q str,
    table: &'q str,
    column: &'q str,
    /// Names of which each stands for a whole row.
    rows: Vec<&'q str>,
    /// Other tables, and what they are called.
    others: Vec<&'q str>,
}

/// What the words of a place are for.
#[derive(Clone, Copy, PartialEq)]
enum Zone {
    /// They may be in the result.
    Given,
    /// Tables are named.
    Tables,
    /// They decide, and stay out of the result.
    Decides,
}

fn shows(nodes: &[QueryNode], shown: &SoughtColumn, outer: Zone) -> bool {
    // `with a as (…), b as (…) select …`
    let mut zone = if nodes.first().is_some_and(|first| first.is("with")) && outer == Zone::Given { Zone::Tables } else { outer };
    // Without `select`, all of a table is shown.
    let is_open =
        outer != Zone::Decides && nodes.first().is_some_and(|first| first.is("from") || first.is_one_of(&SHOWING) && nodes.len() > 1);
    if is_open && !nodes.iter().any(|node| node.is("select")) {
        return true;
    }
    let mut is_tested = false;
    nodes.iter().enumerate().any(|(at, node)| {
        let (before, after) = (at.checked_sub(1).map(|at| &nodes[at]), nodes.get(at + 1));
        let in_part = |part| if outer == Zone::Decides { Zone::Decides } else { part };
        if node.is_one_of(&["select", "values", "union", "intersect", "except"]) {
            zone = in_part(Zone::Given);
        } else if node.is("from") && !before.is_some_and(|before| before.is("distinct")) || zone == Zone::Decides && node.is("join") {
            zone = in_part(Zone::Tables);
        } else if node.is("group") && before.is_some_and(|before| before.is("within")) {
            // It begins no clause.
        } else if node.is_one_of(&["where", "having", "qualify", "order", "limit", "on", "using", "group"]) {
            // `distinct on (a) b`
            let is_of_items = node.is("on") && before.is_some_and(|before| before.is("distinct"));
            zone = if is_of_items { zone } else { Zone::Decides };
        }
        // `case when a = 1 then …`, `a is null`
        if node.is("when") && zone == Zone::Given {
            is_tested = true;
        } else if node.is("then") {
            is_tested = false;
        }
        let is_asked = after.is_some_and(|after| after.is("is")) && node.inner().is_none();
        if zone == Zone::Decides || is_tested || is_asked {
            return false;
        }
        match node {
            QueryNode::Group(..) if before.is_some_and(|before| before.is_one_of(&DECIDING)) => false,
            QueryNode::Group('[', _) => true,
            QueryNode::Group(_, inner) if before.is_some_and(|before| before.is("group")) => shows(ordered_by(inner), shown, Zone::Given),
            QueryNode::Group(_, inner) => {
                let is_list_of_tables = zone == Zone::Tables && !node.is_query() && before.is_none_or(|before| before.is_one_of(RESERVED));
                shows(inner, shown, if is_list_of_tables { Zone::Tables } else { Zone::Given })
            }
            _ if zone == Zone::Tables => false,
            QueryNode::Mark('#') => true,
            QueryNode::Word(name) | QueryNode::Quoted(name) => {
                let is_new = before.is_some_and(|before| before.is("as"));
                let is_part = before == Some(&QueryNode::Mark('.'));
                let leads_on = after == Some(&QueryNode::Mark('.'));
                let is_row = !is_part && !leads_on && shown.rows.iter().any(|row| name.is(row));
                let multiplies = before.is_some_and(QueryNode::is_operand) && after.is_some_and(QueryNode::is_operand);
                let owner = if is_part { at.checked_sub(2).and_then(|at| nodes[at].name()) } else { None };
                let is_of_other = owner.is_some_and(|owner| shown.others.iter().any(|other| owner.is(other)));
                let is_star = name.text == "*" && !multiplies && !is_of_other && is_read_in(nodes, shown);
                !is_new && (name.is(shown.column) || is_row || is_star || node.is("columns"))
            }
            QueryNode::Value(value) => mentions(value.text, shown.column) && shown.text.contains("query"),
            QueryNode::Place(_) | QueryNode::Mark(_) => false,
        }
    })
}

/// Whether a select may read the table, by itself or as what a query in brackets or before it gives; not where it only decides.
fn is_read_in(nodes: &[QueryNode], shown: &SoughtColumn) -> bool {
    let is_table = |node: &QueryNode| node.name().is_some_and(|name| name.is(shown.table));
    fn holds(node: &QueryNode, is_table: &dyn Fn(&QueryNode) -> bool) -> bool {
        is_table(node) || node.inner().is_some_and(|inner| inner.iter().any(|node| holds(node, is_table)))
    }
    let decides = nodes.iter().position(|node| node.is_one_of(&["where", "having", "order", "limit"])).unwrap_or(nodes.len());
    let is_plain = !nodes.iter().any(|node| node.is_one_of(&["with", "union", "intersect", "except"]));
    let known: Vec<&QueryNode> = if is_plain { nodes[..decides].iter().collect() } else { nodes.iter().collect() };
    // A name that no table of the query has is one that a query around makes.
    let is_made = |node: &&QueryNode| {
        node.name().is_some_and(|name| shown.rows.iter().any(|row| name.is(row)) && !shown.others.iter().any(|other| name.is(other)))
    };
    known.iter().any(|node| holds(node, &is_table) || is_made(node))
}

#[cfg(test)]
mod tests {
    use crate::sql::ReadQuery;

    #[test]
    fn a_column_is_given_wherever_it_is_not_sure_to_decide_only() {
        for query in [
            "select name from people",
            "select distinct * from people",
            "select upper(people.name) from people",
            "select x from ((select name x from people) as z)",
            "select [na me] from people",
            "select p from people p",
            "from people",
            "select city, (select max(name) from people) from h",
            "with x as (select name from people) select 1 from x",
            "select 1 from a union select name from people where 1",
            "select * from query('select name from people')",
            "select $$x$$",
            "select mode() within group (order by city) as m, name as x from people",
            "select mode() within group (order by name) as m from people",
            "select case when city = 'Ulm' then name else city end from people",
            "select case city when 'Ulm' then upper(name) end from people",
            "with g as (select * from people) select * from g",
            "select * from (select * from people)",
            "select s.*, p.* from sales s join people p on p.id = s.customer_id",
        ] {
            assert!(ReadQuery::new(query).may_give("people", "name"), "{query}");
        }
        for query in [
            "select city from people where name = $x order by name",
            "select count(*), 2 * hours, city from people group by name",
            "select count(name) from people p join name_days n on p.name = n.name where n.day in (select name from people)",
            "select city from (people join hours using (name)), json_each($list)",
            "select exists (select name from people)",
            "select sum(case when name is null then 1 else 0 end), iif(name is null, 'no', 'yes'), name is not null as has from people",
            "select case when name like 'A%' then 'a' else 'b' end as k from people",
            "select city from people where name is distinct from $x",
            "with g as (select id, city from people) select g.city from g",
            "with g as (select id from people) select region, count(*) as k from sales where customer_id in (select id from g) group by region",
            "select * from sales where customer_id in (select id from people where tier = 'gold')",
            "select s.* from sales s join people p on p.id = s.customer_id",
            "select * from sales s where customer_id in (select id from people)",
        ] {
            assert!(!ReadQuery::new(query).may_give("people", "name"), "{query}");
        }
    }
}
