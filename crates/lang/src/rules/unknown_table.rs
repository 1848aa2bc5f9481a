//! F213: a query that reads a table nobody knows. Only what is certain counts: everything that may be a function, a name of
//! the query's own, or a table of a database is left aside.

use std::collections::{HashMap, HashSet};

use super::listed;
use crate::diagnostic::{Code, Diagnostic, Hints};
use crate::model::{Filling, Form, StepKind, TextPlace, ToolKind};
use crate::plan::{PipelinePlan, Plan};

pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    // A file that is read brings tables that are known only in the run.
    let brings_tables = |kind: &StepKind| matches!(kind, StepKind::Read(_) | StepKind::Broken);
    if pipeline.steps.iter().any(|planned| brings_tables(&planned.step.kind)) {
        return;
    }
    let hints = Hints::default();
    let all = QueryTables::of(file.data.keys());
    let mut of_tools: HashMap<&str, QueryTables> = HashMap::new();
    for planned in &pipeline.steps {
        if let StepKind::Sql(sql) = &planned.step.kind
            && sql.query.form == Form::Plain
        {
            query(&sql.query.source, Some(&sql.query.place), &sql.query.place, &all, &hints, out);
        }
        let StepKind::Tool(step) = &planned.step.kind else { continue };
        let Some(ToolKind::Sql(open)) = file.tools.get(&step.tool.value).map(|tool| &tool.kind) else { continue };
        let open = &*of_tools.entry(&step.tool.value).or_insert_with(|| QueryTables::of(open.iter().map(|table| &table.value)));
        for (name, value) in step.with.iter().filter(|(name, _)| name.value == "query") {
            if let Filling::Constant(serde_json::Value::String(text)) = value {
                query(text, None, &TextPlace { span: name.span, offsets: vec![] }, open, &hints, out);
            }
        }
    }
}

/// The tables a query can read: their names in order, and in small letters.
struct QueryTables<'p> {
    names: Vec<&'p str>,
    lower: HashSet<String>,
}

impl<'p> QueryTables<'p> {
    fn of(names: impl Iterator<Item = &'p String>) -> QueryTables<'p> {
        let names: Vec<&str> = names.map(String::as_str).collect();
        QueryTables { lower: names.iter().map(|name| name.to_lowercase()).collect(), names }
    }
}

fn query(text: &str, inside: Option<&TextPlace>, place: &TextPlace, known: &QueryTables, hints: &Hints, out: &mut Vec<Diagnostic>) {
    for (start, end) in unknown(text, &known.lower) {
        let (name, known) = (&text[start..end], &known.names);
        let near = hints.did_you_mean(name, known.iter().copied());
        let span = inside.map_or(place.span, |place| place.inside(start, end));
        let help = if known.is_empty() { "add it under data".to_owned() } else { format!("use one of: {}", listed(known)) };
        out.push(
            Diagnostic::new(Code::UnknownTable, span, format!("the query reads table \"{name}\", which is not known{near}"))
                .near(near)
                .help(help),
        );
    }
}

/// A piece of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'q> {
    Word(&'q str, usize),
    /// A name in quotes, without them.
    Quoted(&'q str, usize),
    Mark(char),
}

/// The places of table names that are not known.
fn unknown(text: &str, known: &HashSet<String>) -> Vec<(usize, usize)> {
    let tokens = tokens(text);
    let own: HashSet<String> = own_names(&tokens);
    let mut found = vec![];
    // For each open bracket, whether it belongs to a function.
    let mut brackets: Vec<bool> = vec![];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::Mark('(') => {
                let before = at.checked_sub(2).and_then(|at| tokens.get(at));
                let after = tokens.get(at).and_then(|token| word(*token)).unwrap_or_default();
                let is_query = ["select", "with", "values", "from"].contains(&after.as_str());
                brackets.push(matches!(before, Some(Token::Word(..) | Token::Quoted(..))) && !is_query);
            }
            Token::Mark(')') => drop(brackets.pop()),
            Token::Word(..) if brackets.last() != Some(&true) => {
                let keyword = word(*token).unwrap_or_default();
                let before = at.checked_sub(2).and_then(|at| tokens.get(at)).and_then(|token| word(*token));
                let is_comparison = before.as_deref() == Some("distinct") && at >= 3 && {
                    let third = tokens.get(at - 3).and_then(|token| word(*token));
                    matches!(third.as_deref(), Some("is" | "not"))
                };
                if (keyword == "from" && !is_comparison) || keyword == "join" {
                    tables(&tokens, &mut at, keyword == "from", &mut |name, start| {
                        let lower = name.to_lowercase();
                        let is_known = known.contains(&lower);
                        let is_system = ["sqlite_", "duckdb_", "pragma_"].iter().any(|start| lower.starts_with(start));
                        if !is_known && !own.contains(&lower) && !is_system {
                            found.push((start, start + name.len()));
                        }
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// Reads the tables after `from` or `join`: names with commas between, each perhaps with another name behind it.
fn tables<'q>(tokens: &[Token<'q>], at: &mut usize, with_commas: bool, found: &mut dyn FnMut(&'q str, usize)) {
    loop {
        let (name, start) = match tokens.get(*at) {
            Some(Token::Word(name, start) | Token::Quoted(name, start)) => (*name, *start),
            _ => return,
        };
        // A function, or a table of a named database.
        if matches!(tokens.get(*at + 1), Some(Token::Mark('(' | '.'))) || name.eq_ignore_ascii_case("lateral") {
            return;
        }
        if name.eq_ignore_ascii_case("only") || name.eq_ignore_ascii_case("select") {
            return;
        }
        found(name, start);
        *at += 1;
        if tokens.get(*at).and_then(|token| word(*token)).as_deref() == Some("as") {
            *at += 1;
        }
        if let Some(Token::Word(..) | Token::Quoted(..)) = tokens.get(*at)
            && tokens.get(*at + 1) == Some(&Token::Mark(','))
        {
            *at += 1;
        }
        if !with_commas || tokens.get(*at) != Some(&Token::Mark(',')) {
            return;
        }
        *at += 1;
    }
}

/// The names a query gives by `with name as (…)`.
fn own_names(tokens: &[Token]) -> HashSet<String> {
    if !tokens.iter().any(|token| word(*token).as_deref() == Some("with")) {
        return HashSet::new();
    }
    // Every name before `as` or before `(…) as` counts: rather one too many than one too few.
    let mut own = HashSet::new();
    let mut open = vec![];
    let mut opened_at = vec![None; tokens.len()];
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(') => open.push(at),
            Token::Mark(')') => opened_at[at] = open.pop(),
            _ if word(*token).as_deref() == Some("as") => {
                let before = at.checked_sub(1);
                let bracket = before.and_then(|before| opened_at[before]);
                let name = bracket.map_or(before, |bracket| bracket.checked_sub(1)).and_then(|at| tokens.get(at));
                if let Some(Token::Word(name, _) | Token::Quoted(name, _)) = name {
                    own.insert(name.to_lowercase());
                }
            }
            _ => {}
        }
    }
    own
}

fn word(token: Token) -> Option<String> {
    match token {
        Token::Word(word, _) => Some(word.to_lowercase()),
        _ => None,
    }
}

/// Words, names in quotes and marks; texts, numbers and comments are marks or nothing.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = vec![];
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        let mut end_of = |stop: &dyn Fn(char) -> bool| {
            while rest.peek().is_some_and(|(_, c)| !stop(*c)) {
                rest.next();
            }
            rest.peek().map_or(text.len(), |(at, _)| *at)
        };
        match c {
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = end_of(&|c| !(c.is_alphanumeric() || c == '_' || c == '$'));
                found.push(Token::Word(&text[start..end], start));
            }
            c if c.is_alphabetic() => {
                let end = end_of(&|c| !(c.is_alphanumeric() || c == '_'));
                found.push(Token::Word(&text[start..end], start));
            }
            '$' | ':' | '@' | '0'..='9' => {
                end_of(&|c| !(c.is_alphanumeric() || c == '_' || c == '.'));
                found.push(Token::Mark('0'));
            }
            '"' | '`' => {
                let end = end_of(&|other| other == c);
                rest.next();
                found.push(Token::Quoted(text.get(start + 1..end).unwrap_or_default(), start + 1));
            }
            '\'' => {
                end_of(&|other| other == '\'');
                rest.next();
                found.push(Token::Mark('\''));
            }
            '-' if text[start..].starts_with("--") => drop(end_of(&|c| c == '\n')),
            '/' if text[start..].starts_with("/*") => {
                let end = text[start + 2..].find("*/").map_or(text.len(), |at| start + 2 + at + 2);
                while rest.peek().is_some_and(|(at, _)| *at < end) {
                    rest.next();
                }
            }
            c if c.is_whitespace() => {}
            c => found.push(Token::Mark(c)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<&str> {
        unknown(text, &["entries", "people"].map(str::to_owned).into()).into_iter().map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn tables_after_from_and_join_are_looked_up() {
        assert_eq!(named("select * from entrys e join peple on 1 where hours > 2"), ["entrys", "peple"]);
        assert_eq!(named("select * from Entries as e, people p, projects"), ["projects"]);
        assert_eq!(named("select (select max(x) from taks) from entries union select 1 from other"), ["taks", "other"]);
        assert_eq!(named("select * from (select * from inner_one) x"), ["inner_one"]);
    }

    #[test]
    fn what_is_no_table_of_the_file_is_left_aside() {
        for query in [
            "with week as (select 1), last(a, b) as (select 1, 2) select * from week, last",
            "with recursive days(d) as (select 1 union select d + 1 from days) select * from days",
            "select extract(year from day), trim(both from name), substring(name from 2) from entries",
            "select * from entries where day is not distinct from $day and a is distinct from b",
            "select * from json_each($list) join generate_series(1, 2)",
            "select * from main.secret join sqlite_master",
            "select 'from nowhere', \"from\" -- from nothing\n from entries /* from none */",
            "select * from 'data.csv'",
            "select from_day from entries",
        ] {
            assert_eq!(named(query), [""; 0], "{query}");
        }
    }
}
