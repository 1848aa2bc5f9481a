//! `sql`: a query that is here or in a file, and the values that stand in it as `{{ … }}`. Each becomes a `$name` that is bound: no value is ever
//! a part of the SQL.

use std::ops::Range;

use super::keys;
use super::reader::KeyReader;
use super::texts::{place, plain};
use crate::diagnostic::{Diagnostic, did_you_mean, quoted};
use crate::model::{FilledPlace, FilledValue, Filling, SqlStep, Text};
use crate::source::{Span, Spanned};
use crate::template;

/// Most `{{ … }}` and `{% … %}` in a query.
const MOST_FILLED: usize = 1000;

pub fn sql(keys: &KeyReader) -> Option<SqlStep> {
    let mut with = keys.pairs("with");
    let (one, max_rows) = (keys.boolean("one"), keys.limit("max_rows"));
    let (query, filled) = bound(keys, query(keys)?, &mut with)?;
    // What is written for `one` and could not be read decides what the step gives.
    (one.is_some() || !keys.has("one")).then(|| SqlStep {
        query,
        with,
        filled,
        one: one.filter(|is_one| *is_one).map(|_| keys.key_span("one")),
        max_rows,
    })
}

/// The query as it is written.
fn query(keys: &KeyReader) -> Option<Text> {
    let (lower, node) = (keys.lower, keys.get("sql")?);
    // Other keys are those of another tool, whose query is told as a text.
    let is_file = |name: &str| ["file", "path", "filename"].contains(&name) || !did_you_mean(name, ["file"]).is_empty();
    let query = if node.as_map().is_some_and(|map| map.entries.iter().any(|(key, _)| is_file(&key.text))) {
        lower.texts().taken_text("sql", &KeyReader::of_key(lower, "sql", &keys.owner, &[&keys::FILE], node)?)?
    } else {
        let text = lower.sentence("sql", node)?;
        if text.ends_with(".sql") && !text.contains(char::is_whitespace) {
            let message = format!("{} is the name of a file, and not a query", quoted(&text));
            lower.report(Diagnostic::bad_value(node.span, message).help(format!("write sql: {{ file: {text} }}")));
            return None;
        }
        plain(&text, place(node.as_scalar()?, node.span, 0))
    };
    if query.source.trim().is_empty() {
        lower.empty("sql", query.place.span);
        return None;
    }
    Some(query)
}

/// The query with a `$name` in place of each `{{ … }}`, which comes to `with`. `None`: one is not closed (reported).
fn bound(keys: &KeyReader, query: Text, with: &mut Vec<(Spanned<String>, Filling)>) -> Option<(Text, Vec<FilledValue>)> {
    let lower = keys.lower;
    let source = &*query.source;
    let parts = filled_parts(source);
    if parts.is_empty() {
        return Some((query, vec![]));
    }
    if parts.len() > MOST_FILLED {
        let message = format!("the query of {} has more than {MOST_FILLED} {{{{ }}}}", keys.owner);
        lower.report(Diagnostic::too_large(query.place.span, message).help("give the values as one list: json_each({{ … | tojson }})"));
        return None;
    }
    let given: Vec<String> = with.iter().map(|(name, _)| name.value.clone()).collect();
    let (mut text, mut end) = (String::new(), 0);
    let (mut filled, mut replaced): (Vec<FilledValue>, Vec<(Range<usize>, usize)>) = (vec![], vec![]);
    for part in &parts {
        let written = source.get(part.range.clone())?;
        let mut at = query.place.from(part.range.start);
        at.span = query.place.inside(part.range.start, part.range.end);
        let span = at.span;
        if !part.is_closed {
            lower.texts().template(written, at);
            return None;
        }
        let place = part.place(source, &parts, &|quotes| query.place.inside(quotes.start, quotes.end));
        let same = filled.iter().find(|known| known.written == written).map(|known| known.name.clone());
        let name = match (&place, same) {
            (FilledPlace::Statement, _) => String::new(),
            (_, Some(name)) => name,
            (_, None) => {
                let is_free = |name: &String| {
                    let is_given = given.contains(name) || filled.iter().any(|known| known.name == *name);
                    !is_given && !source.contains(&format!("${name}"))
                };
                let name = free_name(written, is_free)?;
                let value = Filling::Text(lower.texts().template(written, at));
                with.push((Spanned::new(name.clone(), span), value));
                name
            }
        };
        text.push_str(source.get(end..part.range.start)?);
        let before = text.len();
        if !name.is_empty() {
            text.push('$');
            text.push_str(&name);
        }
        replaced.push((part.range.clone(), text.len() - before));
        end = part.range.end;
        filled.push(FilledValue { name, written: written.to_owned(), span, place });
    }
    text.push_str(source.get(end..)?);
    Some((plain(&text, query.place.replaced(&replaced)), filled))
}

/// A name that tells what is written: `{{ person.id }}` is `person_id`.
fn free_name(written: &str, is_free: impl Fn(&String) -> bool) -> Option<String> {
    const LONGEST: usize = 40;
    let words = written.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_");
    let name = name.get(..LONGEST).unwrap_or(&name).trim_end_matches('_').to_ascii_lowercase();
    let name = if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("value_{name}") };
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free)
}

/// A `{{ … }}` or `{% … %}` of a query.
struct FilledPart {
    range: Range<usize>,
    is_closed: bool,
    /// The quotes that it is in.
    quotes: Option<Range<usize>>,
}

/// The parts of a query that are no SQL, but for those in remarks. Braces in quotes that hold no expression are text.
fn filled_parts(text: &str) -> Vec<FilledPart> {
    let mut parts: Vec<FilledPart> = vec![];
    // Where the open quote stands, what ends it, and how many parts are before it.
    let mut quote: Option<(usize, char, usize)> = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|_| parts.len() <= MOST_FILLED)
        && let Some(first) = rest.chars().next()
    {
        let tag = match rest.get(..2) {
            Some("{{") => Some(template::print_end(rest)).filter(|end| end.is_some() || quote.is_none()),
            Some("{%") if quote.is_none() => Some(rest.find("%}").map(|end| end + 2)),
            Some("{#") if quote.is_none() => Some(rest.find("#}").map(|end| end + 2)),
            _ => None,
        };
        let length = match (tag, quote) {
            (Some(end), _) => {
                let length = end.unwrap_or(rest.len());
                parts.push(FilledPart { range: at..at + length, is_closed: end.is_some(), quotes: None });
                length
            }
            (None, Some((start, closing, before))) => {
                if first == closing {
                    parts.iter_mut().skip(before).for_each(|part| part.quotes = Some(start..at + 1));
                    quote = None;
                }
                first.len_utf8()
            }
            (None, None) if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            (None, None) if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            (None, None) => {
                if matches!(first, '\'' | '"' | '`' | '[') {
                    quote = Some((at, if first == '[' { ']' } else { first }, parts.len()));
                }
                first.len_utf8()
            }
        };
        at += length;
    }
    if let Some((start, _, before)) = quote {
        parts.iter_mut().skip(before).for_each(|part| part.quotes = Some(start..text.len()));
    }
    parts
}

impl FilledPart {
    /// What it is at its place, among the parts of its query.
    fn place(&self, source: &str, parts: &[FilledPart], span: &dyn Fn(&Range<usize>) -> Span) -> FilledPlace {
        if !source[self.range.clone()].starts_with("{{") {
            return FilledPlace::Statement;
        }
        if let Some(quotes) = &self.quotes {
            return match source.as_bytes()[quotes.start] {
                b'[' => FilledPlace::Brackets,
                b'`' => FilledPlace::Name("a name in quotes"),
                _ => FilledPlace::Quotes(span(quotes), joined(source, quotes, parts)),
            };
        }
        let (before, after) = (&source[..self.range.start], &source[self.range.end..]);
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '\'' | '"' | '`');
        if before.ends_with(is_of_name) || after.starts_with(is_of_name) {
            return FilledPlace::Name("a part of a name");
        }
        if after.starts_with('(') {
            return FilledPlace::Name("a function");
        }
        let mut words = before.trim_end().rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',')).map(str::to_ascii_lowercase);
        match (words.next().as_deref(), words.next().as_deref()) {
            (Some("from"), before_it) if before_it != Some("distinct") && is_of_select(before) => FilledPlace::Name("a table"),
            (Some("join"), _) => FilledPlace::Name("a table"),
            (Some("by"), _) => FilledPlace::Column,
            (Some("as"), _) => FilledPlace::Name("a name"),
            (Some("in"), _) => FilledPlace::In,
            _ => FilledPlace::Value,
        }
    }
}

/// Whether the `from` at the end of a text is that of a select, and not of `extract(year from …)`.
fn is_of_select(before: &str) -> bool {
    let mut depth = 0;
    let bracket = before.char_indices().rev().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth > 0
    });
    bracket.is_none_or(|(at, _)| before[at..].to_ascii_lowercase().contains("select"))
}

/// A text in quotes as one that is joined to the values in it: `'%' || {{ word }} || '%'`.
fn joined(source: &str, quotes: &Range<usize>, parts: &[FilledPart]) -> String {
    let inner = parts.iter().filter(|part| part.quotes.as_ref() == Some(quotes));
    let (mut pieces, mut at) = (vec![], quotes.start + 1);
    let text = |from: usize, to: usize| source.get(from..to).filter(|text| !text.is_empty()).map(|text| format!("'{text}'"));
    for part in inner {
        pieces.extend(text(at, part.range.start));
        pieces.push(source[part.range.clone()].to_owned());
        at = part.range.end;
    }
    pieces.extend(text(at, quotes.end - 1));
    pieces.join(" || ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn places(source: &str) -> Vec<(String, FilledPlace)> {
        let parts = filled_parts(source);
        let span = |range: &Range<usize>| Span::new(FileId(0), range.start, range.end);
        parts.iter().map(|part| (source[part.range.clone()].to_owned(), part.place(source, &parts, &span))).collect()
    }

    #[test]
    fn a_value_is_found_wherever_sql_takes_one() {
        for query in [
            "select * from t where a = {{ x }}",
            "select {{ x }} as day, (select max(a) from t where b<{{ x }})",
            "select * from t where a is not distinct from {{ x }} limit {{ x }}",
            "select extract(year from {{ x }}), date({{ x }}, '-7 days') from t",
            "select * from t where a in ({{ x }}, {{ x | default('}}') }})",
            "select a||{{ x }}||'%' from t where b between {{ x }} and {{ x }}::int",
        ] {
            assert!(places(query).iter().all(|(_, place)| *place == FilledPlace::Value), "{query}: {:?}", places(query));
            assert!(!places(query).is_empty(), "{query}");
        }
    }

    #[test]
    fn a_name_is_no_value() {
        let name = FilledPlace::Name;
        for (query, place) in [
            ("select * from {{ x }}", name("a table")),
            ("select * from a join {{ x }} on true", name("a table")),
            ("select * from t_{{ x }}", name("a part of a name")),
            ("select t.{{ x }} from t", name("a part of a name")),
            ("select {{ x }}.a from t", name("a part of a name")),
            ("select {{ x }}(a) from t", name("a function")),
            ("select a as {{ x }} from t", name("a name")),
            ("select a from t order by {{ x }}", FilledPlace::Column),
            ("select a from t group\nby {{ x }}", FilledPlace::Column),
            ("select [{{ x }}] from t", FilledPlace::Brackets),
            ("select `{{ x }}` from t", name("a name in quotes")),
            ("select a from t where a in {{ x }}", FilledPlace::In),
        ] {
            assert_eq!(places(query), [("{{ x }}".to_owned(), place)], "{query}");
        }
    }

    #[test]
    fn a_text_in_quotes_is_joined_to_its_values() {
        let instead = |query: &str| match places(query).pop() {
            Some((_, FilledPlace::Quotes(range, instead))) => format!("{} -> {instead}", &query[range.start as usize..range.end as usize]),
            other => format!("{other:?}"),
        };
        assert_eq!(instead("where a = '{{ x }}'"), "'{{ x }}' -> {{ x }}");
        assert_eq!(instead("where a like '%{{ x }} y%' and b"), "'%{{ x }} y%' -> '%' || {{ x }} || ' y%'");
        assert_eq!(instead("where a = \"{{ x | default('\"') }}\""), "\"{{ x | default('\"') }}\" -> {{ x | default('\"') }}");
    }

    #[test]
    fn remarks_and_texts_stay() {
        for query in ["select 1 -- {{ x }}", "select /* {{ x }} {% if a %} */ 1", "select 'a {% b', '{{' from t"] {
            assert_eq!(places(query), [], "{query}");
        }
        assert_eq!(places("select 1 {% if a %} where b {% endif %}").len(), 2);
    }

    #[test]
    fn a_name_tells_what_is_written_and_is_free() {
        assert_eq!(free_name("{{ run.today | days(-7) }}", |_| true).unwrap(), "run_today_days_7");
        assert_eq!(free_name("{{ 7 }}", |_| true).unwrap(), "value_7");
        assert_eq!(free_name("{{ day }}", |name| name != "day").unwrap(), "day_2");
    }
}
