//! Which personal columns a query gives. Goes by the words of the query; where it is not sure, it says nothing.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::model::Data;

/// A column with personal data in what a query gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PersonalColumn {
    /// `table.column`.
    pub name: String,
    /// Where it stands in the query.
    pub bytes: (usize, usize),
}

/// Which part of a query a word stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueryPart {
    /// Between `select` and `from`.
    Columns,
    /// After `from`.
    Tables,
    /// Anywhere else: it decides, but is not given.
    Other,
}

#[derive(Debug)]
struct Word<'q> {
    text: &'q str,
    start: usize,
}

/// The personal columns of tables, each with the name to tell it by.
type PersonalTables = HashMap<String, Vec<(String, String)>>;

/// The first personal column that the query gives.
pub(super) fn given(query: &str, data: &IndexMap<String, Data>) -> Option<PersonalColumn> {
    let words = words(query);
    let of_table = |(name, data): (&String, &Data)| {
        let columns = data.pii.iter().map(|column| (column.value.clone(), format!("{name}.{}", column.value)));
        (name.to_ascii_lowercase(), columns.collect())
    };
    let mut personal: PersonalTables = data.iter().map(of_table).collect();
    let main = with_tables(&words, &mut personal);
    let (at, name) = all_given(main, &personal).into_iter().next()?;
    let word = main.get(at)?;
    Some(PersonalColumn { name, bytes: (word.start, word.start + word.text.len()) })
}

/// Takes the tables of `with x as (…)` in, and gives the words behind them.
fn with_tables<'w, 'q>(words: &'w [Word<'q>], personal: &mut PersonalTables) -> &'w [Word<'q>] {
    let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word.text.eq_ignore_ascii_case(text));
    if !is(0, "with") {
        return words;
    }
    let mut at = if is(1, "recursive") { 2 } else { 1 };
    while let Some(name) = words.get(at) {
        let mut columns = vec![];
        if is(at + 1, "(") {
            let end = closing(words, at + 1);
            columns.extend(words.get(at + 2..end).into_iter().flatten().filter(|word| word.text != ",").map(|word| word.text));
            at = end;
        }
        let Some(open) = (at + 1..words.len()).find(|at| is(*at, "(")) else { return &[] };
        let end = closing(words, open);
        let made = made(words.get(open + 1..end).unwrap_or_default(), &columns, personal);
        personal.insert(name.text.to_ascii_lowercase(), made);
        at = end + 1;
        if !is(at, ",") {
            return words.get(at..).unwrap_or_default();
        }
        at += 1;
    }
    &[]
}

/// Where the bracket that opens here is closed.
fn closing(words: &[Word], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match word.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    words.len()
}

/// The personal columns of what a query inside another makes: by the names that are written for them, else by its own.
fn made(words: &[Word], columns: &[&str], personal: &PersonalTables) -> Vec<(String, String)> {
    let given = all_given(words, personal);
    let (mut depth, mut start, mut place, mut is_open) = (0usize, 0, 0, false);
    let mut names: Vec<String> = vec![];
    let mut made = vec![];
    for (at, word) in words.iter().enumerate().map(|(at, word)| (at, word.text)).chain([(words.len(), "from")]) {
        match word.to_ascii_lowercase().as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "select" if depth == 0 => (start, place, is_open) = (at + 1, 0, true),
            "," | "from" if depth == 0 && is_open => {
                let item = words.get(start..at).unwrap_or_default();
                if place == names.len() {
                    names.push(item.last().map(|word| word.text.to_owned()).unwrap_or_default());
                }
                for (at, name) in given.iter().filter(|(given, _)| (start..at).contains(given)) {
                    let own = if words[*at].text == "*" { name.rsplit('.').next() } else { names.get(place).map(String::as_str) };
                    made.extend(columns.get(place).copied().or(own).map(|own| (own.to_owned(), name.clone())));
                }
                (start, place, is_open) = (at + 1, place + 1, word == ",");
            }
            _ => {}
        }
    }
    made
}

/// The personal columns that these words give: the place of the word, and the name.
fn all_given(words: &[Word], personal: &PersonalTables) -> Vec<(usize, String)> {
    let tables = tables(words, personal);
    let mut found = vec![];
    if !tables.values().any(|table| personal.get(*table).is_some_and(|columns| !columns.is_empty())) {
        return found;
    }
    let mut parts = vec![QueryPart::Other];
    let mut counted = 0usize;
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(|word| word.text.to_ascii_lowercase());
        let part = parts.last().copied().unwrap_or(QueryPart::Other);
        match word.text.to_ascii_lowercase().as_str() {
            "(" => {
                let inherited = if part == QueryPart::Columns { QueryPart::Columns } else { QueryPart::Other };
                counted += usize::from(counted > 0 || before.as_deref() == Some("count"));
                parts.push(if part == QueryPart::Tables { QueryPart::Tables } else { inherited });
            }
            ")" => {
                counted = counted.saturating_sub(1);
                if parts.len() > 1 {
                    parts.pop();
                }
            }
            "select" | "values" => {
                let outer = parts.len().checked_sub(2).and_then(|outer| parts.get(outer)).copied();
                let is_given = !matches!(outer, Some(QueryPart::Other)) || parts.len() == 1;
                set(&mut parts, if is_given { QueryPart::Columns } else { QueryPart::Other });
            }
            "from" if part == QueryPart::Columns || part == QueryPart::Other => set(&mut parts, QueryPart::Tables),
            "where" | "group" | "having" | "order" | "limit" | "on" | "using" | "window" => set(&mut parts, QueryPart::Other),
            "join" | "union" | "intersect" | "except" if part != QueryPart::Columns => set(&mut parts, QueryPart::Tables),
            // What follows `as` is a new name.
            _ if part == QueryPart::Columns && counted == 0 && before.as_deref() != Some("as") => {
                found.extend(named(words, at, &tables, personal).map(|name| (at, name)))
            }
            _ => {}
        }
    }
    found
}

fn set(parts: &mut [QueryPart], part: QueryPart) {
    if let Some(last) = parts.last_mut() {
        *last = part;
    }
}

/// The tables that the query reads, by the names it gives them. One that is not among `data` (read before, or named by the
/// query itself) stands for itself.
fn tables<'q>(words: &[Word<'q>], personal: &'q PersonalTables) -> HashMap<String, &'q str> {
    let mut tables = HashMap::new();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(|word| word.text.to_ascii_lowercase());
        let known = personal.get_key_value(&word.text.to_ascii_lowercase()).map(|(name, _)| name.as_str());
        let name = match (before.as_deref(), known) {
            (Some("from" | "join" | ","), Some(name)) => name,
            (Some("from" | "join"), None) if is_name(word.text) => word.text,
            _ => continue,
        };
        let mut alias = at + 1;
        if words.get(alias).is_some_and(|word| word.text.eq_ignore_ascii_case("as")) {
            alias += 1;
        }
        if let Some(alias) = words.get(alias).filter(|word| is_name(word.text)) {
            tables.insert(alias.text.to_ascii_lowercase(), name);
        }
        tables.insert(name.to_ascii_lowercase(), name);
    }
    tables
}

/// The personal column that a word names.
fn named(words: &[Word], at: usize, tables: &HashMap<String, &str>, personal: &PersonalTables) -> Option<String> {
    let word = words.get(at)?.text;
    let text = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("", |word| word.text);
    // `x.name`: what stands before a dot is no column.
    if text(at.checked_add(1)) == "." {
        return None;
    }
    let owner = match text(at.checked_sub(1)) {
        "." => Some(*tables.get(&text(at.checked_sub(2)).to_ascii_lowercase())?),
        _ => None,
    };
    let mut candidates: Vec<&str> = match owner {
        Some(owner) => vec![owner],
        None => tables.values().copied().collect(),
    };
    candidates.sort_unstable();
    candidates.dedup();
    let column = |table: &str| {
        let columns = personal.get(table)?;
        let found = if word == "*" { columns.first() } else { columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(word)) };
        found.map(|(_, name)| name.clone())
    };
    match candidates.as_slice() {
        [table] => column(table),
        // `*` gives the columns of all; a bare name may be a column of any.
        all if word == "*" && text(at.checked_sub(1)).eq_ignore_ascii_case("select") => all.iter().find_map(|table| column(table)),
        _ => None,
    }
}

fn is_name(word: &str) -> bool {
    const KEYWORDS: [&str; 17] = [
        "where", "join", "left", "right", "inner", "outer", "full", "cross", "on", "using", "group", "order", "limit", "union", "having",
        "natural", "window",
    ];
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !KEYWORDS.contains(&word.to_ascii_lowercase().as_str())
}

/// Names and marks of a query; texts in quotes, comments, numbers and `$names` are no names.
fn words(query: &str) -> Vec<Word<'_>> {
    let mut words = vec![];
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let start = query.len() - rest.len();
        let until = |end: &str| rest.get(1..).and_then(|inner| inner.find(end)).map_or(rest.len(), |at| at + 1 + end.len());
        let length = match first {
            '\'' => until("'"),
            '-' if rest.starts_with("--") => until("\n"),
            '/' if rest.starts_with("/*") => until("*/"),
            '"' | '`' => {
                let end = until(if first == '"' { "\"" } else { "`" });
                words.push(Word { text: query.get(start + 1..(start + end).saturating_sub(1)).unwrap_or_default(), start });
                end
            }
            c if c.is_alphanumeric() || matches!(c, '_' | '$' | ':' | '@') => {
                let end = rest.char_indices().skip(1).find(|(_, c)| !(c.is_alphanumeric() || *c == '_')).map_or(rest.len(), |(at, _)| at);
                if c.is_alphabetic() || c == '_' {
                    words.push(Word { text: rest.get(..end).unwrap_or_default(), start });
                }
                end
            }
            '(' | ')' | '.' | ',' | '*' => {
                words.push(Word { text: rest.get(..1).unwrap_or_default(), start });
                1
            }
            other => other.len_utf8(),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    words
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::model::DataKind;
    use crate::source::{Span, Spanned};

    fn table(pii: &[&str]) -> Data {
        Data {
            file: Spanned::new(PathBuf::new(), Span::default()),
            kind: DataKind::Csv,
            table: None,
            pii: pii.iter().map(|name| Spanned::new((*name).to_owned(), Span::default())).collect(),
            columns: IndexMap::new(),
            engine: None,
            header: None,
        }
    }

    fn given_by(query: &str) -> String {
        let data = IndexMap::from([("people".to_owned(), table(&["name", "phone"])), ("projects".to_owned(), table(&[]))]);
        given(query, &data).map_or(String::new(), |column| column.name)
    }

    #[test]
    fn a_column_is_given_when_it_is_selected() {
        for query in [
            "select phone from people",
            "SELECT p.Phone FROM people AS p, projects",
            "select id, upper(phone) as x from people where id = $id",
            "select \"phone\" from people p",
            "select p.phone from people p join visits v on p.id = v.person",
            "select x from (select phone as x from people)",
            "select 'a', (select phone from people limit 1)",
            "values ((select phone from people))",
            "with x as (select phone as z from people) select z from x",
            "with x(z) as (select phone from people) select z from x",
            "with x as (select id, p.phone from people p), y as (select phone from x) select y.phone from y",
            "with x as (select upper(phone) as z, id from people) select id, z || '!' from x",
            "with recursive x as not materialized (select id as z from projects union select p.phone from people p) select z from x",
        ] {
            assert_eq!(given_by(query), "people.phone", "{query}");
        }
        assert_eq!(given_by("select * from people"), "people.name");
        assert_eq!(given_by("with x as (select * from people) select * from x"), "people.name");
        assert_eq!(given_by("with x as (select name, id from people) select name from x"), "people.name");
        assert_eq!(given_by("select * from projects, people"), "people.name");
        assert_eq!(given_by("select p.* from people p"), "people.name");
    }

    #[test]
    fn what_only_decides_or_is_counted_is_not_given() {
        for query in [
            "select id from people where phone = $phone",
            "select count(phone) from people",
            "select count(*) from people",
            "select id from projects where owner in (select name from people)",
            "select name from projects",
            "select projects.name from projects, people",
            "select name from projects, people",
            "select name from people join visits on people.id = visits.person",
            "with x as (select name, id from people) select id from x",
            "with x as (select count(name) as name from people) select name from x",
            "values (1, 'phone')",
            "select id from projects where owner in (values ((select name from people)))",
            "select id, 'phone' from people -- phone",
            "select id from people order by name",
            "select weekly_target from people",
            "select p.name, sum(e.hours) from entries e join projects p on p.id = e.project group by p.name",
        ] {
            assert_eq!(given_by(query), "", "{query}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for query in [
            "",
            "'",
            "\"",
            "/*",
            "--",
            "select ((((",
            "select é from people",
            "))))",
            "`",
            "select * from",
            "$",
            "with",
            "with x",
            "with x as (",
            "with x(a as (select",
            "with x as )(,",
        ] {
            given_by(query);
        }
    }
}
