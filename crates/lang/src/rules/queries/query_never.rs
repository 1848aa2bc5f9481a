//! F223: a condition of a query that never holds, or an order that is none: the query runs, and its rows are not those that are meant.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::{FilledPlace, Filling, Form, SqlStep, StepKind, WrittenQuery};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding};
use crate::source::Span;
use crate::template::help_for_day;
use crate::template::types::Type;

/// A pattern of a query, what it means, and what to write; group 1 is marked, where there is one.
struct Habit {
    pattern: &'static str,
    /// Whether it is looked for where texts in quotes are blank.
    outside_texts: bool,
    message: &'static str,
    /// By group 1 and group 2.
    help: fn(&str, &str) -> String,
    /// Whether what was found is really meant: group 1 and group 2.
    holds: fn(&str, &str) -> bool,
}

const HABITS: &[Habit] = &[
    Habit {
        pattern: r"(?i)((?:=|<>|!=)\s*null)\b",
        outside_texts: true,
        message: "nothing is equal to an empty value, so this is never true",
        help: |sign, _| format!("write {} in place of {sign}", if sign.starts_with('=') { "is null" } else { "is not null" }),
        holds: |_, _| true,
    },
    Habit {
        pattern: r"(?i)\blike\s+('[^']*')",
        outside_texts: false,
        message: "\"*\" is an ordinary character for like; any text is \"%\"",
        help: |text, _| format!("write like {}", text.replace('*', "%")),
        holds: |text, _| text.contains('*') && !text.contains(['%', '_']),
    },
    Habit {
        pattern: r"(?i)\bselect\s+(?:distinct\s+)?(\$\w+)\s*,",
        outside_texts: true,
        message: "this is the value itself in each row, and not the column of that name",
        help: |value, _| format!("write the column, or, if the value itself is meant, {value} as day, with a name of your own"),
        holds: |_, _| true,
    },
    Habit {
        pattern: r"(?i)(?:\bselect\s+(?:distinct\s+)?|,\s*)(\$\w+)\s+from\b",
        outside_texts: true,
        message: "this is the value itself in each row, and not the column of that name",
        help: |value, _| format!("write the column, or, if the value itself is meant, {value} as day, with a name of your own"),
        holds: |_, _| true,
    },
    Habit {
        pattern: r"(?i)(?:<|>|<=|>=|\bbetween)\s*('\d{1,2}[./-]\d{1,2}[./-]\d{4}')",
        outside_texts: false,
        message: "texts are compared letter by letter, so a day that is written first orders by the day of the month",
        help: |day, _| {
            help_for_day(day.trim_matches('\''), '\'').unwrap_or_else(|| "write days as '2026-11-03': year, month, day".to_owned())
        },
        holds: |_, _| true,
    },
    Habit {
        pattern: r"(?i)\bbetween\s+('?[\d.:-]+'?)\s+and\s+('?[\d.:-]+'?)",
        outside_texts: false,
        message: "between takes the smaller bound first, so this is never true",
        help: |low, high| format!("write between {high} and {low}"),
        holds: |low, high| match (low.parse::<f64>(), high.parse::<f64>()) {
            (Ok(low), Ok(high)) => low > high,
            _ => low.len() == high.len() && low.starts_with('\'') && low > high,
        },
    },
];

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    names.queries().iter().for_each(|query| habits(query, out));
    for (ix, planned) in names.pipeline.numbered_steps() {
        let StepKind::Sql(step) = &planned.step.kind else { continue };
        for (name, value) in &step.with {
            if is_list(names, ix, value) {
                lists(step, &name.value, out);
            }
            let kind = names.filling(&names.seat(ix), value);
            if let Type::List(_) | Type::Object(_) = kind {
                compared(step, &name.value, &kind, out);
            }
            ordered(step, &name.value, &kind, out);
        }
    }
}

/// Whether a value is a list, or the JSON of one.
fn is_list(names: &PipelineNames, ix: StepIx, value: &Filling) -> bool {
    if let Filling::Text(text) = value
        && let Some(inner) = text.source.trim().strip_suffix("}}").map(str::trim_end).and_then(|inner| inner.strip_suffix("tojson"))
        && let (Form::Sole, [read]) = (text.form, text.reads.as_slice())
    {
        let path = inner.trim_end().trim_end_matches('|').trim().trim_start_matches(['{', '-']).trim();
        return path == read.path.join(".") && matches!(names.read(&names.seat(ix), read).kind, Type::List(_));
    }
    matches!(names.filling(&names.seat(ix), value), Type::List(_))
}

pub(in crate::rules) fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::QueryNever, span, message)
}

fn habits(query: &WrittenQuery, out: &mut Vec<Diagnostic>) {
    static PATTERNS: LazyLock<Vec<(Option<Regex>, &Habit)>> =
        LazyLock::new(|| HABITS.iter().map(|habit| (Regex::new(habit.pattern).ok(), habit)).collect());
    let blank = without_texts(query.text);
    for (pattern, habit) in PATTERNS.iter() {
        let text = if habit.outside_texts { &blank } else { query.text };
        for groups in pattern.iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let Some(marked) = groups.get(1) else { continue };
            // What begins in a text or a remark is no condition.
            let begins = groups.get(0).map_or(0, |whole| whole.start());
            let is_code = blank.as_bytes().get(begins) == query.text.as_bytes().get(begins);
            let (one, other) = (marked.as_str(), groups.get(2).map_or("", |group| group.as_str()));
            if is_code && (habit.holds)(one, other) {
                out.push(found(query.inside(marked.start(), marked.end()), habit.message).help((habit.help)(one, other)));
            }
        }
    }
}

/// A value of a step's query as its author wrote it.
fn written(step: &SqlStep, name: &str) -> String {
    let filled = step.filled.iter().find(|filled| filled.name == name);
    filled.map_or_else(|| format!("${name}"), |filled| filled.written.clone())
}

/// A list or an object that is compared with a column: it arrives as JSON.
fn compared(step: &SqlStep, name: &str, kind: &Type, out: &mut Vec<Diagnostic>) {
    let text = without_texts(&step.query.source);
    let wanted = format!("${name}");
    for (at, _) in text.match_indices(&wanted) {
        let before = text[..at].trim_end();
        let is_whole = !text[at + wanted.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if is_whole && before.ends_with(['=', '<', '>']) {
            let message = format!("{} is {} and arrives as JSON, which is no value of a column", written(step, name), kind.words());
            let help = match matches!(kind, Type::List(_)) {
                true => format!("write in (select value from json_each({}))", written(step, name)),
                false => "name one of its fields".to_owned(),
            };
            out.push(found(step.query.place.inside(at, at + wanted.len()), &message).help(help));
        }
    }
}

/// `order by $by`: one value for all rows. The words that it may be are the columns that are meant.
fn ordered(step: &SqlStep, name: &str, kind: &Type, out: &mut Vec<Diagnostic>) {
    static ORDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)\border\s+by\s+(\$\w+)").ok());
    let text = without_texts(&step.query.source);
    for by in ORDER.iter().flat_map(|order| order.captures_iter(&text)).filter_map(|groups| groups.get(1)) {
        // In place of a column nothing can be filled in at all: F230.
        let is_told = step.filled.iter().any(|filled| filled.name == name && filled.place != FilledPlace::Value);
        if is_told || by.as_str().strip_prefix('$') != Some(name) {
            continue;
        }
        let written = written(step, name);
        let columns: Vec<&str> = if let Type::OneOf(words) = kind { words.iter().map(|word| &**word).collect() } else { vec![] };
        let is_known = columns.len() > 1;
        let columns = if is_known { columns } else { vec!["name", "city"] };
        let (last, first) = columns.split_last().unwrap_or((&"name", &[]));
        let cases: String = first.iter().map(|column| format!("when '{column}' then {column} ")).collect();
        let yours = if is_known { "" } else { ", with the names of your columns" };
        out.push(
            found(step.query.place.inside(by.start(), by.end()), "this orders by one fixed value, and not by the column of that name")
                .help(format!("write order by case {written} {cases}else {last} end{yours}")),
        );
    }
}

/// `in ($ids)` with a list: it arrives as one value.
fn lists(step: &SqlStep, name: &str, out: &mut Vec<Diagnostic>) {
    let text = without_texts(&step.query.source);
    let wanted = format!("${name}");
    for (at, _) in text.match_indices(&wanted) {
        let before = text[..at].trim_end();
        let after = text[at + wanted.len()..].trim_start();
        let is_in = before.strip_suffix('(').map(|before| before.trim_end().to_lowercase()).is_some_and(|before| before.ends_with(" in"));
        if is_in && after.starts_with(')') {
            let written = written(step, name);
            let message = format!("a list arrives as one value, so in ({written}) looks for that one alone");
            let help = match written.strip_suffix("}}") {
                Some(_) if written.contains("tojson") => format!("write in (select value from json_each({written}))"),
                Some(inner) => format!("write in (select value from json_each({} | tojson }}}}))", inner.trim_end()),
                None => match step.with.iter().find(|(known, _)| known.value == name).and_then(|(_, value)| value.texts().first().copied())
                {
                    Some(text) if text.source.contains("tojson") => format!("write in (select value from json_each({wanted}))"),
                    Some(text) => {
                        let inner = text.source.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
                        format!("write in (select value from json_each({wanted})), and with: {{ {name}: \"{{{{ {inner} | tojson }}}}\" }}")
                    }
                    None => format!("write in (select value from json_each({wanted})), and {name} in with as JSON, by | tojson"),
                },
            };
            out.push(found(step.query.place.inside(at, at + wanted.len()), &message).help(help));
        }
    }
}

/// The query with blanks in place of what stands in quotes and remarks; as long as before.
fn without_texts(query: &str) -> String {
    static TEXTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?s)'[^']*'|"[^"]*"|--[^\n]*|/\*.*?\*/"#).ok());
    let blank = |found: &regex::Captures<'_>| " ".repeat(found[0].len());
    TEXTS.as_ref().map_or_else(|| query.to_owned(), |texts| texts.replace_all(query, blank).into_owned())
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::says_of;

    /// What is said of a query, by its place in it.
    fn said(query: &str, with: &str) -> String {
        let text = format!(
            "flow: 1\nname: a\ninputs: {{ ids: {{ type: list, items: text }} }}\ndata: {{ t: {{ file: t.csv }} }}\nsteps:\n  - id: a\n    with: {{ {with} }}\n    sql: |\n      {query}\n"
        );
        says_of(crate::rules::reads::check, &[("a.yaml", &text), ("t.csv", "id,day\n1,2\n")])
            .lines()
            .filter(|line| line.starts_with("F223"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn conditions_that_never_hold_are_found() {
        for (query, message) in [
            ("select id from t where day = null", "nothing is equal to an empty value"),
            ("select id from t where day <> NULL", "nothing is equal to an empty value"),
            ("select id from t where id like 'a*'", "\"*\" is an ordinary character"),
            ("select id from t order by $by", "one fixed value"),
            ("select $by, id from t", "the value itself in each row"),
            ("select id, $by from t", "the value itself in each row"),
            ("select {{ inputs.ids | first }} from t", "the value itself in each row"),
            ("select id from t where day > '03.11.2026'", "letter by letter"),
            ("select id from t where id between 9 and 2", "smaller bound first"),
            ("select id from t where day between '2026-11-30' and '2026-11-01'", "smaller bound first"),
            ("select id from t where id in ($ids)", "a list arrives as one value"),
        ] {
            assert!(said(query, "ids: '{{ inputs.ids }}', by: day").contains(message), "{query}");
        }
    }

    #[test]
    fn conditions_that_may_hold_are_not() {
        let written = said("select id from t where id in ({{ inputs.ids }})", "x: 1");
        assert!(written.contains("so in ({{ inputs.ids }}) looks"), "{written}");
        let compared = said("select id from t where id = {{ inputs.ids }} or day >= $x", "x: '{{ person }}'");
        assert!(compared.contains("{{ inputs.ids }} is a list and arrives as JSON"), "{compared}");
        assert!(compared.contains("$x is an object and arrives as JSON"), "{compared}");
        for query in [
            "select id from t where id in (select value from json_each({{ inputs.ids | tojson }}))",
            "select {{ run.today }} as today, id from t",
            "select id from t where day is null and id <> 'x = null' -- = null",
            "select id from t where id like '%*%' and day like 'a_' and id glob 'a*'",
            "select id from t order by case $by when 'id' then id else day end",
            "select id from t where day = '03.11.2026' and id between 2 and 9 and day between '2026-11-01' and '2026-11-30'",
            "select id from t where id in (select value from json_each($ids)) and id in ('a', 'b')",
            "select id, 'day > ''03.11.2026''' as x from t /* like 'a*' */",
        ] {
            assert_eq!(said(query, "ids: '{{ inputs.ids | tojson }}', by: day"), "", "{query}");
        }
    }
}
