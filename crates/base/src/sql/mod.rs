//! Which tables and columns a query names, and where: for findings. What a query may do is decided by the engines' own parsers, in
//! `adapters/data`.
//!
//! [`ReadQuery`] takes a text apart as far as names go, with the clauses of SQLite and DuckDB: brackets first (`nodes`), then what is beside each
//! other by its keywords. It is no parser of SQL: it passes over what it does not know.
//! How to add a clause: its keyword among those below that it is like, and a case in the tests here.

mod may_give;
mod nodes;
mod read_query;

use std::rc::Rc;

pub use nodes::QueryNode;
pub use read_query::ReadQuery;

/// What a query names.
#[derive(Debug)]
pub struct QueryNames<'q> {
    /// The tables it reads, without those it makes itself (`with x as …`), in order.
    pub tables: Vec<Name<'q>>,
    /// Columns of tables that its result holds or is made of, in order; what decides or is counted is none of them.
    pub gives: Vec<GivenColumn<'q>>,
    /// Where values are filled in, as written (`$name`, `:name`, `?`), in order; not what is in square brackets, which may be a name.
    pub places: Vec<Name<'q>>,
    /// Those of them that stand among the columns of a result, of its own or of a query in it: such a value may be in what the query gives.
    pub given_places: Vec<Name<'q>>,
    /// What each of its tables is called in it: the table (empty: a query or a function), and the name that stands before its columns.
    pub called: Vec<(&'q str, &'q str)>,
    /// Functions that it calls, in order.
    pub calls: Vec<Name<'q>>,
}

/// A name as it is written, without quotes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'q> {
    /// The name.
    pub text: &'q str,
    /// Where it begins in the query, in bytes.
    pub start: usize,
}

/// A column that a query gives.
#[derive(Debug, Clone, Copy)]
pub struct GivenColumn<'q> {
    /// The table.
    pub table: &'q str,
    /// The column in it; `*`: all.
    pub column: &'q str,
    /// Where the query names it; behind `with x as (…)`, the column of `x` that it is.
    pub place: Name<'q>,
    /// What the result calls it; `*`: what the table does; empty: nobody wrote it, so any name may be meant.
    name: &'q str,
}

/// The longest query, in bytes.
pub const MOST_QUERY_BYTES: usize = 64 << 10;

fn read<'q>(text: &'q str, nodes: &[QueryNode<'q>]) -> QueryNames<'q> {
    let mut reader =
        QueryReader { text, tables: vec![], called: vec![], own: vec![], given_places: vec![], around: vec![], left: MOST_GIVEN };
    let mut gives = reader.query(nodes, vec![]);
    gives.sort_by_key(|given| given.place.start);
    reader.tables.sort_by_key(|table| table.start);
    let (mut places, mut calls) = (vec![], vec![]);
    places_and_calls(nodes, &mut places, &mut calls);
    QueryNames { tables: reader.tables, gives, places, given_places: reader.given_places, called: reader.called, calls }
}

/// Whether a word stands anywhere in a text, be it in a comment: rather once too often than once too seldom.
pub fn mentions(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(&word)
        .any(|(at, found)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + found.len()..].chars().next()))
}

/// Words that begin a query in brackets.
const QUERIES: [&str; 4] = ["select", "with", "values", "from"];
/// Words of DuckDB in front of a table whose columns, or what is computed of them, are given.
const SHOWING: [&str; 8] = ["table", "summarize", "describe", "show", "pivot", "pivot_wider", "unpivot", "pivot_longer"];
/// Words between the selects of a query.
const BETWEEN: [&str; 3] = ["union", "intersect", "except"];
/// Words before brackets in which nothing is given: it is counted, or it decides.
const DECIDING: [&str; 5] = ["count", "exists", "in", "over", "filter"];
/// Words that are no name beside a table or an expression.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "all", "and", "anti", "as", "asof", "between", "case", "collate", "cross", "distinct", "else", "escape", "except", "exists", "from", "full",
    "glob", "group", "having", "ilike", "in", "indexed", "inner", "intersect", "is", "join", "left", "like", "limit", "match", "natural", "not",
    "offset", "on", "or", "order", "outer", "positional", "qualify", "regexp", "right", "select", "semi", "tablesample", "then", "union", "using",
    "when", "where", "window", "within",
];
/// So many columns are followed in all: each table that a query makes may double them (`select *, * from x`).
const MOST_GIVEN: usize = 10_000;

/// A part of a select.
#[derive(Clone, Copy, PartialEq)]
enum Clause {
    Items,
    Sources,
    Other,
}

/// What a select reads from: the name it has there, and its columns.
type Source<'q> = (Option<&'q str>, Rc<[GivenColumn<'q>]>);

struct QueryReader<'q> {
    text: &'q str,
    tables: Vec<Name<'q>>,
    called: Vec<(&'q str, &'q str)>,
    /// Tables that the queries around this place make themselves, inner ones last.
    own: Vec<(&'q str, Rc<[GivenColumn<'q>]>)>,
    given_places: Vec<Name<'q>>,
    /// What the queries around this place read from, whose columns a query among their items sees, too.
    around: Vec<Source<'q>>,
    /// How many columns may still be followed.
    left: usize,
}

impl<'q> QueryReader<'q> {
    /// Reads a query and returns what it gives. `names`: the names of its columns, as far as they are written beside it.
    fn query(&mut self, nodes: &[QueryNode<'q>], mut names: Vec<&'q str>) -> Vec<GivenColumn<'q>> {
        let (around, read) = (self.own.len(), self.tables.len());
        let rest = self.own_tables(nodes);
        let selects = rest.split(|node| *node == QueryNode::Mark(';') || node.is_one_of(&BETWEEN));
        let gives = selects.flat_map(|select| self.select(select, &mut names)).collect();
        // One of its own may read itself, or one that comes later.
        let own = self.own.split_off(around);
        let read = self.tables.split_off(read);
        self.tables.extend(read.into_iter().filter(|table| !own.iter().any(|(own, _)| table.is(own))));
        gives
    }

    /// Reads the tables in front of a query (`with name(columns) as (…)`); the rest of it.
    fn own_tables<'n>(&mut self, nodes: &'n [QueryNode<'q>]) -> &'n [QueryNode<'q>] {
        let Some(mut rest) = behind(nodes, "with") else { return nodes };
        rest = behind(rest, "recursive").unwrap_or(rest);
        while let Some(at) = rest.iter().position(|node| node.is("as")) {
            let (head, tail) = rest.split_at(at);
            // Behind `as` there may be `not materialized`.
            let Some(at) = tail.iter().position(|node| node.inner().is_some()) else { break };
            let (name, columns) = alias(head);
            let gives = self.query(tail[at].inner().unwrap_or_default(), columns);
            self.own.extend(name.map(|name| (name, gives.into())));
            rest = &tail[at + 1..];
            match rest {
                [QueryNode::Mark(','), more @ ..] => rest = more,
                _ => break,
            }
        }
        rest
    }

    /// Reads one `select` or `values`. The first one names the columns.
    fn select(&mut self, nodes: &[QueryNode<'q>], names: &mut Vec<&'q str>) -> Vec<GivenColumn<'q>> {
        let (mut sources, mut given) = (self.around.clone(), vec![]);
        if let [first, shown @ ..] = nodes
            && first.is_one_of(&SHOWING)
        {
            let end = shown.iter().position(|node| node.is_one_of(&["on", "using"])).unwrap_or(shown.len());
            self.sources(&shown[..end], &mut sources);
            self.decide(&shown[end..]);
            return self.taken(unnamed(&sources));
        }
        let parts = clauses(nodes);
        for (clause, part) in &parts {
            match clause {
                Clause::Sources => self.sources(part, &mut sources),
                Clause::Other => self.decide(part),
                Clause::Items => {}
            }
        }
        if parts.iter().all(|(clause, _)| *clause != Clause::Items) {
            // DuckDB: `from people`.
            let all =
                if names.is_empty() { sources.iter().flat_map(|(_, given)| given.iter().copied()).collect() } else { unnamed(&sources) };
            return self.taken(all);
        }
        let items = parts.iter().filter(|(clause, _)| *clause == Clause::Items);
        // Behind `*` nobody can count which of the names that are written beside is for which column: each may be.
        let mut is_counted = true;
        for (place, item) in items.flat_map(|(_, part)| part.split(|node| *node == QueryNode::Mark(',')).enumerate()) {
            if place == names.len() {
                names.push(result_name(item));
            }
            let before = given.len();
            self.item(without_alias(item), &sources, &mut given);
            let is_star = item.last().and_then(QueryNode::name).is_some_and(|name| name.text == "*");
            is_counted &= !is_star || names[place] == "*";
            if !is_counted {
                let own = given.split_off(before);
                given.extend(own.into_iter().flat_map(|one| names.iter().map(move |name| GivenColumn { name, ..one })));
            } else if names[place] != "*" {
                given[before..].iter_mut().for_each(|given| given.name = names[place]);
            }
        }
        given
    }

    /// Reads what stands after `from`.
    fn sources(&mut self, mut nodes: &[QueryNode<'q>], sources: &mut Vec<Source<'q>>) {
        let mut ahead = None;
        while let [node, after @ ..] = nodes {
            nodes = after;
            if node.is("lateral") {
                continue;
            }
            // SQLite: `'people'`, and `[people]`.
            let quoted = match node {
                QueryNode::Value(value) if !value.text.contains('.') => {
                    Some(QueryNode::Quoted(Name { text: value.text.trim_matches('\''), ..*value }))
                }
                _ => None,
            };
            let node = match node {
                QueryNode::Group('[', inner) => inner.first().unwrap_or(node),
                _ => quoted.as_ref().unwrap_or(node),
            };
            let (beside, columns) = alias(after);
            let beside = beside.or(ahead.take());
            match (node, after) {
                // DuckDB: `p: people`.
                (QueryNode::Word(name), [QueryNode::Mark(':'), more @ ..]) => {
                    (nodes, ahead) = (more, Some(name.text));
                    continue;
                }
                // `main.people`: no query of its own has such a name.
                (
                    QueryNode::Word(_) | QueryNode::Quoted(_),
                    [QueryNode::Mark('.'), QueryNode::Word(table) | QueryNode::Quoted(table), more @ ..],
                ) if !matches!(more, [QueryNode::Group('(', _) | QueryNode::Mark('.'), ..]) => {
                    if node.is("main") {
                        self.tables.push(*table);
                    }
                    let called = alias(more).0.or(beside).unwrap_or(table.text);
                    self.called.push((table.text, called));
                    sources.push((Some(called), [whole(*table)].into()));
                }
                (QueryNode::Word(name) | QueryNode::Quoted(name), _)
                    if !matches!(after, [QueryNode::Group('(', _) | QueryNode::Mark('.'), ..]) =>
                {
                    sources.push(self.named_source(*name, beside, &columns));
                }
                // Not `((select …) as x join …)`.
                (QueryNode::Group('(', inner), _)
                    if node.is_query()
                        && inner
                            .get(1)
                            .is_none_or(|next| !inner[0].is_query() || next.is_one_of(&BETWEEN) || next.is_one_of(&["order", "limit"])) =>
                {
                    let columns = self.query(inner, columns);
                    self.called.extend(beside.map(|name| ("", name)));
                    sources.push((beside, columns.into()));
                }
                (QueryNode::Group('(', inner), _) => self.sources(inner, sources),
                // `memory.main.people`
                (QueryNode::Word(_) | QueryNode::Quoted(_), [QueryNode::Mark('.'), more @ ..]) => {
                    (nodes, ahead) = (more, beside);
                    continue;
                }
                (_, after) => {
                    let source = self.other_source(node, after, beside, sources);
                    sources.push(source);
                }
            }
            let end = nodes.iter().position(|node| *node == QueryNode::Mark(',') || node.is("join")).unwrap_or(nodes.len());
            self.decide(&nodes[..end]);
            nodes = nodes.get(end + 1..).unwrap_or_default();
        }
    }

    /// A table, or a query that is made before.
    fn named_source(&mut self, name: Name<'q>, beside: Option<&'q str>, columns: &[&str]) -> Source<'q> {
        let own = self.table(name);
        let called = beside.unwrap_or(name.text);
        self.called.push((name.text, called));
        // `people as p(a, b)`: any name may be for any column.
        let renamed = || own.iter().map(|one| GivenColumn { name: "", ..*one }).collect();
        (Some(called), if columns.is_empty() { own } else { renamed() })
    }

    /// A function, a file. A function makes rows of what it is given.
    fn other_source(
        &mut self,
        node: &QueryNode<'q>,
        after: &[QueryNode<'q>],
        beside: Option<&'q str>,
        sources: &[Source<'q>],
    ) -> Source<'q> {
        let (mut made, mut called) = (vec![], beside);
        if let [QueryNode::Group('(', inner), more @ ..] = after {
            self.item(inner, sources, &mut made);
            if node.is_one_of(&["query", "query_table"]) {
                self.texts(inner, &mut made);
            }
            made.iter_mut().for_each(|given| given.name = "");
            called = node.name().map_or(beside, |function| alias(more).0.or(Some(function.text)));
        }
        self.called.extend(called.map(|called| ("", called)));
        (called, made.into())
    }

    /// The name that brackets of SQLite hold, if it is more than a plain word.
    fn in_brackets(&self, inner: &[QueryNode<'q>]) -> Option<Name<'q>> {
        let (first, last) = (inner.first()?.name()?, inner.last()?.name()?);
        let text = self.text.get(first.start..last.start + last.text.len())?;
        (inner.len() > 1 || inner[0].is_one_of(RESERVED)).then_some(Name { text, start: first.start })
    }

    /// As many of these as may still be followed.
    fn taken(&mut self, mut columns: Vec<GivenColumn<'q>>) -> Vec<GivenColumn<'q>> {
        columns.truncate(self.left);
        self.left -= columns.len();
        columns
    }

    /// DuckDB: reads the tables and queries that stand in texts: `query_table('people')`.
    fn texts(&mut self, nodes: &[QueryNode<'q>], given: &mut Vec<GivenColumn<'q>>) {
        for node in nodes {
            match node {
                QueryNode::Group(_, inner) => self.texts(inner, given),
                QueryNode::Value(value) => {
                    let text = value.text.trim_matches('\'');
                    match nodes::nodes(text).unwrap_or_default().as_slice() {
                        [QueryNode::Word(name) | QueryNode::Quoted(name)] => {
                            let place = Name { text: name.text, start: value.start + 1 + name.start };
                            let columns = self.table(place).to_vec();
                            given.extend(self.taken(columns));
                        }
                        query => given.extend(self.query(query, vec![])),
                    }
                }
                QueryNode::Word(_) | QueryNode::Quoted(_) | QueryNode::Place(_) | QueryNode::Mark(_) => {}
            }
        }
    }

    /// The columns of a table that is read.
    fn table(&mut self, table: Name<'q>) -> Rc<[GivenColumn<'q>]> {
        if let Some((_, gives)) = self.own.iter().rev().find(|(own, _)| table.is(own)) {
            return Rc::clone(gives);
        }
        self.tables.push(table);
        [whole(table)].into()
    }

    /// Reads the queries among nodes that are not given.
    fn decide(&mut self, nodes: &[QueryNode<'q>]) {
        for node in nodes {
            let inner = node.inner().unwrap_or_default();
            if node.is_query() { drop(self.query(inner, vec![])) } else { self.decide(inner) }
        }
    }

    /// Reads a column of a result.
    fn item(&mut self, nodes: &[QueryNode<'q>], sources: &[Source<'q>], given: &mut Vec<GivenColumn<'q>>) {
        let mut decided = 0;
        for (at, node) in nodes.iter().enumerate() {
            let (before, next) = (at.checked_sub(1).map(|at| &nodes[at]), nodes.get(at + 1));
            // `case when a = 1 then …`, `a is null`
            if node.is("when") {
                decided = nodes[at..].iter().position(|node| node.is("then")).map_or(at, |then| at + then);
                self.decide(&nodes[at + 1..decided.max(at + 1)]);
            }
            if at < decided || next.is_some_and(|next| next.is("is")) && node.inner().is_none() {
                continue;
            }
            match node {
                QueryNode::Group(_, inner) if before.is_some_and(|before| before.is_one_of(&DECIDING)) => match node.is_query() {
                    true => drop(self.query(inner, vec![])),
                    false => self.decide(inner),
                },
                QueryNode::Group(_, inner) if before.is_some_and(|before| before.is("group")) => {
                    self.item(ordered_by(inner), sources, given);
                }
                QueryNode::Group(_, inner) if node.is_query() => {
                    let around = std::mem::replace(&mut self.around, sources.to_vec());
                    given.extend(self.query(inner, vec![]));
                    self.around = around;
                }
                // DuckDB: `columns('n.*')`, and `#1` for the first one.
                QueryNode::Group(_, inner) if before.is_some_and(|before| before.is("columns")) => {
                    self.item(inner, sources, given);
                    given.extend(self.taken(unnamed(sources)));
                }
                // SQLite: `[first name]`, `[order]`.
                QueryNode::Group('[', inner) if let Some(name) = self.in_brackets(inner) => {
                    self.item(inner, sources, given);
                    given.extend(self.taken(columns(sources, None, name).collect()));
                }
                QueryNode::Mark('#') => given.extend(self.taken(unnamed(sources))),
                QueryNode::Group(_, inner) => self.item(inner, sources, given),
                // `string_agg(name order by day)`
                QueryNode::Word(word) if word.is("order") => return self.decide(&nodes[at..]),
                _ if node.is_one_of(RESERVED) => {}
                QueryNode::Word(name) | QueryNode::Quoted(name) => {
                    let is_owned = before == Some(&QueryNode::Mark('.'));
                    let owner = at.checked_sub(2).filter(|_| is_owned).and_then(|at| nodes[at].name());
                    let is_function = matches!(next, Some(QueryNode::Group('(', _)));
                    // Behind a number, a name or brackets; not behind `distinct` or `,`.
                    let multiplies = name.text == "*" && before.is_some_and(QueryNode::is_operand);
                    // What follows `as` is a new name, or a type.
                    let is_new = before.is_some_and(|before| before.is("as"));
                    let is_source = sources.iter().any(|(own, _)| own.is_some_and(|own| name.is(own)));
                    // A struct of DuckDB has fields: `people.address.city`.
                    let leads_on = next == Some(&QueryNode::Mark('.'));
                    if !is_function && !multiplies && !is_new && !(leads_on && (is_source || name.is("main"))) {
                        let before = given.len();
                        // DuckDB: a whole row, `select p from people p`.
                        let row = (is_source && owner.is_none()).then(|| columns(sources, Some(*name), Name { text: "*", ..*name }));
                        let row = row.into_iter().flatten().map(|one| GivenColumn { place: *name, ..one });
                        given.extend(columns(sources, owner, *name).chain(row).take(self.left));
                        self.left -= given.len() - before;
                    }
                }
                QueryNode::Place(place) => self.given_places.push(*place),
                QueryNode::Value(_) | QueryNode::Mark(_) => {}
            }
        }
    }
}

impl GivenColumn<'_> {
    /// Whether the query says what its rows call it.
    pub fn is_named(&self) -> bool {
        !self.name.is_empty() && self.name != "*"
    }

    /// Whether its rows have it under the name that its table does.
    pub fn keeps_names(&self) -> bool {
        self.name == "*"
    }

    /// Whether its rows have it under another name than this one, as far as the query says. A second one of a name has a number behind it.
    pub fn is_called_otherwise(&self, column: &str) -> bool {
        self.is_named() && !column.get(..self.name.len()).is_some_and(|start| start.eq_ignore_ascii_case(self.name))
    }
}

impl Name<'_> {
    /// Whether it is this name: capitals and small letters are the same.
    pub fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
    }
}

/// All columns of what is read, under names that nobody wrote.
fn unnamed<'q>(sources: &[Source<'q>]) -> Vec<GivenColumn<'q>> {
    sources.iter().flat_map(|(_, given)| given.iter()).map(|given| GivenColumn { name: "", ..*given }).collect()
}

/// All columns of a table.
fn whole(table: Name) -> GivenColumn {
    GivenColumn { table: table.text, column: "*", place: table, name: "*" }
}

/// What a name stands for: a column of its owner, else of each source that may have it. A bare `*` means all.
fn columns<'s, 'q>(
    sources: &'s [Source<'q>],
    owner: Option<Name<'q>>,
    place: Name<'q>,
) -> impl Iterator<Item = GivenColumn<'q>> + use<'s, 'q> {
    let is_owner = move |(name, _): &Source| owner.is_some_and(|owner| name.is_some_and(|name| owner.is(name)));
    // An owner that no source is called by is a column with fields, or a name that was not understood: of any source.
    let is_known = sources.iter().any(is_owner);
    let is_meant = move |source: &&Source| !is_known || is_owner(source);
    let of_source = move |given: &GivenColumn<'q>| match (given.name, place.text) {
        (_, "*") | ("", _) => Some(GivenColumn { place, ..*given }),
        ("*", column) => Some(GivenColumn { place, column, ..*given }),
        (name, _) => place.is(name).then_some(GivenColumn { place, ..*given }),
    };
    sources.iter().filter(is_meant).flat_map(|(_, given)| given.iter()).filter_map(of_source)
}

/// Collects the places for values and the functions that are called.
fn places_and_calls<'q>(nodes: &[QueryNode<'q>], places: &mut Vec<Name<'q>>, calls: &mut Vec<Name<'q>>) {
    for (at, node) in nodes.iter().enumerate() {
        match (node, nodes.get(at + 1)) {
            (QueryNode::Place(place), _) => places.push(*place),
            (QueryNode::Group(bracket, inner), _) if *bracket != '[' => places_and_calls(inner, places, calls),
            (QueryNode::Word(name), Some(QueryNode::Group('(', _))) if !node.is_one_of(RESERVED) => calls.push(*name),
            _ => {}
        }
    }
}

/// The parts of a select, each behind its keyword.
fn clauses<'n, 'q>(nodes: &'n [QueryNode<'q>]) -> Vec<(Clause, &'n [QueryNode<'q>])> {
    // `(select …) union …`
    let mut clause = if nodes.first().is_some_and(QueryNode::is_query) { Clause::Items } else { Clause::Other };
    let (mut parts, mut start) = (vec![], 0);
    for (at, node) in nodes.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map(|at| &nodes[at]);
        let is_comparison =
            before(1).is_some_and(|node| node.is("distinct")) && before(2).is_some_and(|node| node.is_one_of(&["is", "not"]));
        let begun = match node {
            _ if before(1).is_some_and(|node| *node == QueryNode::Mark('.') || node.is("as")) => continue,
            _ if node.is_one_of(&["select", "values"]) => Clause::Items,
            _ if node.is("from") && !is_comparison => Clause::Sources,
            _ if node.is("group") && before(1).is_some_and(|node| node.is("within")) => continue,
            _ if node.is_one_of(&["where", "group", "having", "qualify", "window", "order", "limit", "offset"]) => Clause::Other,
            _ => continue,
        };
        parts.push((clause, &nodes[start..at]));
        (clause, start) = (begun, at + 1);
    }
    parts.push((clause, &nodes[start..]));
    parts
}

/// The nodes behind a keyword that they begin with.
fn behind<'n, 'q>(nodes: &'n [QueryNode<'q>], keyword: &str) -> Option<&'n [QueryNode<'q>]> {
    nodes.split_first().filter(|(first, _)| first.is(keyword)).map(|(_, rest)| rest)
}

/// The name that nodes begin with, perhaps behind `as`, and the names of columns in brackets behind it.
fn alias<'q>(nodes: &[QueryNode<'q>]) -> (Option<&'q str>, Vec<&'q str>) {
    let nodes = behind(nodes, "as").unwrap_or(nodes);
    let name = nodes.first().filter(|node| !node.is_one_of(RESERVED)).and_then(QueryNode::name);
    let columns = nodes.get(1).and_then(QueryNode::inner).filter(|_| name.is_some()).unwrap_or_default();
    (name.map(|name| name.text), columns.iter().filter_map(QueryNode::name).map(|name| name.text).collect())
}

/// What stands behind `order by` in the brackets of `mode() within group (order by a)`, which gives one of them.
fn ordered_by<'n, 'q>(inner: &'n [QueryNode<'q>]) -> &'n [QueryNode<'q>] {
    let by = inner.iter().position(|node| node.is("by")).map_or(0, |by| by + 1);
    &inner[by..]
}

/// What rows call an item; empty: nobody wrote it.
fn result_name<'q>(item: &[QueryNode<'q>]) -> &'q str {
    let item = if let [first, rest @ ..] = item
        && first.is_one_of(&["distinct", "all"])
    {
        rest
    } else {
        item
    };
    let name = match item {
        [name] | [_, QueryNode::Mark('.'), name] => name.name(),
        [.., before, name] if before.is("as") => name.name(),
        _ => None,
    };
    name.map_or("", |name| name.text)
}

/// An item without the name that is behind it.
fn without_alias<'n, 'q>(item: &'n [QueryNode<'q>]) -> &'n [QueryNode<'q>] {
    match item {
        // `distinct on (a) b`
        [.., on, QueryNode::Group(..), _] if on.is("on") => item,
        [inner @ .., QueryNode::Word(_) | QueryNode::Quoted(_)] => match inner.last() {
            Some(QueryNode::Mark(_)) | None => item,
            Some(before) if before.is("*") || before.is_one_of(RESERVED) => item,
            Some(_) => inner,
        },
        _ => item,
    }
}

#[cfg(test)]
mod tests;
