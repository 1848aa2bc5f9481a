//! F216: a query that its engine does not run, whatever the tables hold. What depends on their columns is F215.

use super::dialects::{self, SqlInstead};
use crate::diagnostic::{self, About, Near, did_you_mean};
use crate::model::{Pipeline, QueryFault, QueryMistake, SqlEngine};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding, listed, quoted};
use crate::rules::support::asked_query::AskedQuery;
use crate::source::Span;
use crate::sql::ReadQuery;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for query in names.queries() {
        match (query.mistake, query.engine) {
            (Some(mistake), _) => out.extend(of_fault(names, query, mistake)),
            (None, SqlEngine::DuckDb) => of_duckdb(query, out),
            (None, SqlEngine::Sqlite) => {}
        }
    }
}

/// Functions that DuckDB does not have, by their names: there it is not asked.
fn of_duckdb(query: &AskedQuery, out: &mut Vec<Diagnostic>) {
    for call in query.read.names().iter().flat_map(|names| &names.calls) {
        if let Some(help) = dialects::function(call.text, SqlEngine::DuckDb) {
            let span = query.inside(call.start, call.start + call_at(query.text, call.start).unwrap_or(call.text).len());
            let help = help.help(&dialects::values(query.text, call.start));
            out.push(new_finding(span, format!("DuckDB has no function {}", quoted(call.text))).help(help));
        }
    }
}

fn new_finding(span: Span, message: String) -> Diagnostic {
    finding(Code::QueryFails, span, &message)
}

/// A query that begins otherwise is none.
const BEGIN: &str = "write a query that begins with select, with or values";
/// Help that is no more than a direction.
const SEE: &str = "correct what stands there or just before it, as in https://sqlite.org/lang_select.html";

/// Where a name or a word is wanted.
const NO_VALUE: &str = "write the name or the word that stands there, or a comma or operator before it: only values are filled in";

fn of_fault(names: &PipelineNames, query: &AskedQuery, mistake: &QueryMistake) -> Option<Diagnostic> {
    let (text, at) = (query.text, mistake.at);
    let say = |message: String, help: &str| Some(new_finding(word_span(query, at), message).help(help));
    match &mistake.fault {
        // A function of a spreadsheet around a text in double quotes: the function is the cause.
        QueryFault::QuotedText(_) if let Some((start, name, help)) = foreign_around(text, at) => {
            let call = call_at(text, start);
            let help = in_place_of(help, &dialects::values(text, start), call, text);
            let message = format!("SQLite has no function {}", quoted(name));
            Some(new_finding(query.inside(start, start + call.unwrap_or(name).len()), message).help(help))
        }
        // F213, F215.
        QueryFault::UnknownTable(_) | QueryFault::UnknownColumn(_) | QueryFault::QuotedText(_) | QueryFault::AmbiguousColumn(_) => None,
        QueryFault::Syntax | QueryFault::Incomplete | QueryFault::Unreadable(_) => {
            Some(syntax(&names.pipeline.pipeline, query, &mistake.fault, at))
        }
        QueryFault::UnknownFunction(name, near) => Some(unknown_function(query, name, near, at)),
        QueryFault::DeniedFunction(name) => {
            say(format!("a query may not call {}", quoted(name)), "take it out: a query only reads the tables of data")
        }
        QueryFault::DeniedTable(name) => {
            say(format!("a query may not read {}", quoted(name)), "read the tables of data; flow explain shows them")
        }
        QueryFault::ArgumentCount(name, counts) => {
            let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
            let help = match counts.as_slice() {
                [] => "give it as many values as https://sqlite.org/lang_corefunc.html says".to_owned(),
                counts => format!("give it {} value{}", diagnostic::listed(counts, "or"), if counts == ["1"] { "" } else { "s" }),
            };
            say(format!("function {} is given a wrong number of values", quoted(name)), &help)
        }
        QueryFault::Aggregate => {
            let help = "move the condition behind having, put the query into brackets, or write over (…) behind a window function";
            say("an aggregate or a window function cannot stand here".to_owned(), help)
        }
        QueryFault::Writes => Some(writes(names, query)),
        QueryFault::Several => {
            let end = text.match_indices(';').map(|(at, _)| at).find(|at| ReadQuery::new(&text[..*at]).nodes().is_some());
            let span = end.map_or(query.span, |at| query.inside(at, at + 1));
            let message = "a query is one statement; this text has several".to_owned();
            Some(new_finding(span, message).help(several(query)))
        }
        QueryFault::Empty => say("the query has no statement".to_owned(), BEGIN),
        // It may depend on the columns: how many `*` gives, or whether both tables of a `using` have one.
        QueryFault::Other(sentence) => {
            say(format!("SQLite cannot run the query: {sentence}"), "correct what SQLite names").map(|found| found.about(About::Columns))
        }
    }
}

/// The place of the word where the engine stopped.
fn word_span(query: &AskedQuery, at: Option<usize>) -> Span {
    at.map_or(query.span, |at| query.inside(at, at + word_at(query.text, at).len()))
}

fn unknown_function(query: &AskedQuery, name: &str, near: &[String], at: Option<usize>) -> Diagnostic {
    let text = query.text;
    let foreign = dialects::function(name, SqlEngine::Sqlite);
    let near = if foreign.is_some() { Near::default() } else { Near::new(name, near.iter().map(String::as_str)) };
    let help =
        foreign.unwrap_or(SqlInstead::Help("use a function of https://sqlite.org/lang_corefunc.html, or work it out in a python step"));
    let values = at.map_or(vec![], |at| dialects::values(text, at));
    let call = at.and_then(|at| call_at(text, at));
    let help = in_place_of(help, &values, call, text);
    // What is written takes the place of the whole call.
    let span = match (at, call) {
        (Some(at), Some(call)) if foreign.is_some() => query.inside(at, at + call.len()),
        _ => word_span(query, at),
    };
    let is_day = call.is_some() && dialects::is_today(name);
    let found = new_finding(span, format!("SQLite has no function {}{near}", quoted(name))).near(near).help(help);
    if is_day { found.proposed_fix(vec![(span, dialects::RUN_DAY.to_owned())]) } else { found }
}

/// A statement that does more than read, with what reads the same.
fn writes(names: &PipelineNames, query: &AskedQuery) -> Diagnostic {
    let (text, first) = (query.text, first_word(query.text));
    let help = match first.1.to_ascii_lowercase().as_str() {
        "create" if let Some((name, select)) = text.split_once(" as ") => {
            let name = name.split_whitespace().last().unwrap_or("t");
            let reader = names.queries().iter().find(|other| other.step != query.step && other.read.mentions(name));
            let with = format!("write with {name} as ({})", diagnostic::one_line(select, 120));
            match (query.step, reader.and_then(|reader| reader.step)) {
                (Some(own), Some(reader)) => format!("remove step {own}, and {with} before the query of step {reader}"),
                _ => format!("{with} before the select that reads {name}, in one step"),
            }
        }
        "update" | "delete" | "insert" => {
            let words: Vec<&str> = text.split_whitespace().filter(|word| !["from", "into"].contains(word)).collect();
            let table = words.get(1).copied().unwrap_or("t");
            let condition = text.split_once(" where ").map(|(_, rest)| rest.split(" returning ").next().unwrap_or(rest).trim());
            let condition = condition.map_or(String::new(), |condition| format!(" where {condition}"));
            let columns = text.split_once(" returning ").map_or("*", |(_, columns)| columns.trim());
            format!("write select {columns} from {table}{condition}; what changes data is a tool, an http step or a program")
        }
        "attach" | "detach" => "add the file under data, and read its table".to_owned(),
        "pragma" => "take it out: a query only reads the tables of data".to_owned(),
        _ => BEGIN.to_owned(),
    };
    let span = query.inside(first.0, first.0 + first.1.len());
    new_finding(span, format!("a query only reads, and {} does more", quoted(first.1))).help(help)
}

/// What becomes of several statements: one with all that they select from the same rows, or a step for the second.
fn several(query: &AskedQuery) -> String {
    let statements: Vec<&str> = query.text.split(';').map(str::trim).filter(|statement| !statement.is_empty()).collect();
    let parts: Option<Vec<(&str, &str)>> = statements.iter().map(|one| one.strip_prefix("select ")?.split_once(" from ")).collect();
    if let Some([(_, first), ..]) = parts.as_deref()
        && parts.iter().flatten().all(|(_, rows)| rows == first)
    {
        let columns: Vec<&str> = parts.iter().flatten().map(|(columns, _)| *columns).collect();
        return format!("write select {} from {first}", columns.join(", "));
    }
    match (query.step, statements.as_slice()) {
        (Some(step), [_, second]) => format!(
            "keep the first, and write a step below for the other, read as steps.{step}_2.output: - {{ id: {step}_2, sql: {} }}",
            diagnostic::yaml_quoted(&diagnostic::one_line(second, 200))
        ),
        _ => "keep one, and write a step for each of the others".to_owned(),
    }
}

/// Words that a query is made of.
#[rustfmt::skip]
const KEYWORDS: [&str; 22] = [
    "select", "from", "where", "group", "order", "having", "limit", "offset", "join", "left", "inner", "outer", "union", "distinct", "values", "with",
    "recursive", "between", "like", "exists", "using", "except",
];

/// A query that SQLite cannot take apart.
fn syntax(file: &Pipeline, query: &AskedQuery, fault: &QueryFault, at: Option<usize>) -> Diagnostic {
    let text = query.text;
    let at = at.filter(|at| text.is_char_boundary(*at)).unwrap_or(text.trim_end().len());
    let (word, before) = (word_at(text, at), word_before(text, at));
    let place = |start: usize, word: &str| query.inside(start, start + word.len());
    let sqlite = SqlEngine::Sqlite;
    // The first one that is of another system, the nearest word first.
    let around = around(text, at);
    let pair = format!("{} {word}", before.1);
    let foreign = [
        (before.0, &*pair, dialects::word(&pair, sqlite)),
        (at, word, dialects::word(word, sqlite)),
        (at, word, dialects::function(word, sqlite).filter(|_| text[at + word.len()..].trim_start().starts_with('('))),
        (before.0, before.1, dialects::word(before.1, sqlite)),
        (around.0, around.1, dialects::function(around.1, sqlite)),
    ];
    if let Some((start, word, Some(help))) = foreign.into_iter().find(|(_, _, help)| help.is_some()) {
        let help = help.help(&dialects::values(text, start));
        return new_finding(place(start, word), format!("SQLite does not know {} here", quoted(word))).help(help);
    }
    let is_cell = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase()) && word.ends_with(|c: char| c.is_ascii_digit());
    if word == ":" && is_cell(before.1) {
        let range = format!("{}:{}", before.1, word_at(text, at + 1));
        let message = format!("{} is a range of a spreadsheet, and a query knows columns by their names alone", quoted(&range));
        return new_finding(place(before.0, &range), message).help(
            match file.data.iter().find_map(|(name, data)| Some((name, data.header.as_ref()?)).filter(|_| query.read.mentions(name))) {
                Some((table, columns)) => {
                    format!("write the column that is meant in its place, one of {}, and from {table} without a range", listed(columns))
                }
                None => "write the name of the column in its place, and the table behind from without a range".to_owned(),
            },
        );
    }
    // What is whole has been bound; one brace too few is left as it stands.
    if let Some((start, brace)) =
        text.match_indices(['{', '}']).next().filter(|_| matches!(fault, QueryFault::Unreadable(_)) || text.contains("}}"))
    {
        let message = format!("a value of the run in the query has a brace too few: {} stands alone", quoted(brace));
        return new_finding(place(start, brace), message).help("write {{ before the value and }} behind it, as in {{ inputs.id }}");
    }
    let is_keyword = |word: &str| KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word));
    for (start, written) in [(at, word), before] {
        let near = if is_keyword(written) { Near::default() } else { did_you_mean(&written.to_ascii_lowercase(), KEYWORDS) };
        if let Some(name) = near.names.first().cloned() {
            let help = format!("write {name}");
            return new_finding(place(start, written), format!("SQLite does not understand {}{near}", quoted(written)))
                .near(near)
                .help(help);
        }
    }
    let unclosed = match fault {
        QueryFault::Unreadable(token) if token.starts_with(['\'', '"', '`', '[']) => Some("quote"),
        _ if text.matches('(').count() > text.matches(')').count() => Some("bracket"),
        _ => None,
    };
    if let Some(what) = unclosed {
        let span = if what == "quote" { place(at, &text[at..]) } else { place(at, word) };
        return new_finding(span, format!("a {what} of the query is not closed")).help(format!("close the {what}"));
    }
    let is_by = |word: &str| ["order", "group", "partition"].iter().any(|keyword| keyword.eq_ignore_ascii_case(word));
    if is_by(before.1) {
        return new_finding(place(before.0, before.1), format!("{} lacks its \"by\"", quoted(before.1)))
            .help(format!("write {} by", before.1));
    }
    if text[..at].trim_end().ends_with(',') && is_keyword(word) {
        return new_finding(place(at, word), format!("there is a comma too many before {}", quoted(word))).help("remove the comma");
    }
    match word {
        "" => new_finding(query.span, "the query breaks off".to_owned()).help("write its end"),
        word if word.starts_with('$') => {
            new_finding(place(at, word), format!("SQLite takes no value here, where the query has {}", quoted(query.written(word))))
                .help(NO_VALUE)
        }
        word => new_finding(place(at, word), format!("SQLite does not understand the query at {}", quoted(word))).help(SEE),
    }
}

/// The word, text in quotes or sign that begins at a place.
pub(in crate::rules) fn word_at(text: &str, at: usize) -> &str {
    let Some(rest) = text.get(at..) else { return "" };
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let end = match rest.chars().next() {
        Some(quote @ ('\'' | '"' | '`')) => rest[1..].find(quote).map_or(rest.len(), |end| end + 2),
        Some('$') => rest[1..].find(|c: char| !is_of_word(c)).map_or(rest.len(), |end| end + 1),
        Some(first) if is_of_word(first) => rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len()),
        Some(':') if rest.starts_with("::") => 2,
        Some(first) => first.len_utf8(),
        None => 0,
    };
    &rest[..end]
}

/// The word before a place, with its place; of what is written behind a blank or a bracket.
fn word_before(text: &str, at: usize) -> (usize, &str) {
    let before = text[..at].trim_end().trim_end_matches('(').trim_end();
    let start = before
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |end| end + before[end..].chars().next().map_or(1, char::len_utf8));
    (start, &before[start..])
}

/// The word before the bracket that a place is in.
fn around(text: &str, at: usize) -> (usize, &str) {
    let mut deep = 0;
    for (start, c) in text[..at].char_indices().rev() {
        match c {
            ')' => deep += 1,
            '(' if deep == 0 => return word_before(text, start),
            '(' => deep -= 1,
            _ => {}
        }
    }
    (at, "")
}

/// What is done about a function, with the call that something else takes the place of.
fn in_place_of(instead: SqlInstead, values: &[String], call: Option<&str>, text: &str) -> String {
    let help = instead.help(values);
    match (instead, call) {
        (SqlInstead::Write(_), Some(call)) if text.matches(call).count() > 1 => format!("{help} in place of each {call}"),
        (SqlInstead::Write(_), Some(call)) => format!("{help} in place of {call}"),
        (SqlInstead::Write(_) | SqlInstead::Help(_), _) => help,
    }
}

/// The call of a function that begins at a place, to its closing bracket.
fn call_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let mut deep = 0;
    for (end, c) in rest.char_indices().skip_while(|(_, c)| *c != '(') {
        deep += i32::from(c == '(') - i32::from(c == ')');
        if deep == 0 {
            return rest.get(..=end);
        }
    }
    None
}

/// The function of another system that a place is in the brackets of, with its place and what is written in its place.
pub(in crate::rules) fn foreign_around(text: &str, at: Option<usize>) -> Option<(usize, &str, SqlInstead)> {
    let (start, name) = around(text, at.filter(|at| text.is_char_boundary(*at))?);
    Some((start, name, dialects::function(name, SqlEngine::Sqlite)?))
}

/// The first word, with its place.
fn first_word(text: &str) -> (usize, &str) {
    let start = text.len() - text.trim_start().len();
    (start, word_at(text, start))
}

/// Names of tables with their columns, for a help.
pub(in crate::rules) fn with_columns(tables: &[(&str, &[String])]) -> String {
    match tables {
        [(_, columns)] => format!("use one of: {}", listed(*columns)),
        tables => {
            let each = tables.iter().map(|(name, columns)| format!("{name} has {}", listed(*columns)));
            format!("use a column that is there: {}", each.collect::<Vec<_>>().join("; "))
        }
    }
}
