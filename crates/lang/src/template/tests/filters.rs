//! Each filter, what it gives and what it rejects.

use serde_json::json;

use super::super::filters::names;
use super::super::tree::Test;
use super::*;

fn gives(expression: &str, expected: serde_json::Value) {
    let names = json!({
        "rows": [{"n": 3, "name": "b", "ok": true, "deep": {"x": 1}}, {"n": 1, "name": "A", "ok": false}, {"n": 2, "name": "c", "ok": true}],
        "map": {"b": 1, "a": [2]}, "none": null,
        "run": {"time_zone": "Europe/Berlin"},
    });
    assert_eq!(fill(&format!("{{{{ {expression} }}}}"), names), expected, "{expression}");
}

#[test]
fn the_lists_of_filters_and_tests_are_exactly_those_of_the_language() {
    let mut known = names();
    known.sort_unstable();
    let mut expected: Vec<&str> = "default join split length upper lower title trim replace truncate round int float first last sort \
        unique sum min max map selectattr rejectattr items tojson date table bullets escape_markdown reverse list groupby string fromjson \
        regex_replace days weeks months start_of days_until number"
        .split_whitespace()
        .collect();
    expected.sort_unstable();
    assert_eq!(known, expected);
    assert_eq!(
        <Test as strum::VariantNames>::VARIANTS,
        ["defined", "undefined", "none", "number", "string", "boolean", "sequence", "mapping", "in", "eq", "ne", "lt", "le", "gt", "ge"]
    );
}

#[test]
fn what_is_not_on_the_list_does_not_exist() {
    for name in ["indent", "format", "batch", "slice", "safe", "escape", "pprint", "attr", "urlencode", "dictsort", "select", "reject"] {
        assert_eq!(finding(&format!("{{{{ a | {name} }}}}")).0, Code::UnknownFilter, "{name}");
    }
    for call in ["debug()", "dict()", "lipsum()", "cycler()", "super()", "joiner()"] {
        assert_eq!(finding(&format!("{{{{ {call} }}}}")).0, Code::UnknownFilter, "{call}");
    }
    for test in ["odd", "even", "divisibleby(2)", "equalto(1)", "startingwith('a')", "safe", "filter", "callable"] {
        assert_eq!(finding(&format!("{{{{ a is {test} }}}}")).0, Code::UnknownFilter, "{test}");
    }
}

#[test]
fn filters_of_texts() {
    gives("'aß' | upper", json!("ASS"));
    gives("'ÄB' | lower", json!("äb"));
    gives("'hello big-world' | title", json!("Hello Big-World"));
    gives("'  a ' | trim", json!("a"));
    gives("'xxaxx' | trim('x')", json!("a"));
    gives("'a-b-c' | replace('-', '+')", json!("a+b+c"));
    gives("'a,b,,c' | split(',')", json!(["a", "b", "", "c"]));
    gives("' a  b c ' | split", json!(["a", "b", "c"]));
    gives("'a b c d' | split(none, 2)", json!(["a", "b", "c d"]));
    gives("'a,b,c' | split(',', 1)", json!(["a", "b,c"]));
    gives("12 | upper", json!("12"));
    gives("none | upper", json!(""));
    assert_eq!(error("{{ [1] | upper }}", json!({})), "the filter upper takes a text; this is a list");
    assert!(error("{{ 'a' | replace('', 'x') }}", json!({})).contains("empty text"));
    assert!(error("{{ 'a' | split('') }}", json!({})).contains("empty text"));
}

#[test]
fn truncate_never_gives_more_characters_than_asked_for() {
    gives("'hello big world' | truncate(11)", json!("hello..."));
    gives("'hello big world' | truncate(11, true)", json!("hello bi..."));
    gives("'hello big world' | truncate(10, end='…')", json!("hello big…"));
    gives("'hello big world' | truncate(15)", json!("hello big world"));
    gives("'grüße' | truncate(4, true, '')", json!("grüß"));
    gives("'hello' | truncate(2)", json!(".."));
}

#[test]
fn filters_of_numbers() {
    gives("2.5 | round", json!(3));
    gives("2.345 | round(1)", json!(2.3));
    gives("1234 | round(-2)", json!(1200));
    gives("2.1 | round(method='ceil')", json!(3));
    gives("2.9 | round(0, 'floor')", json!(2));
    gives("7 | round", json!(7));
    // Of the decimal that is written, by both filters alike.
    for (number, places, rounded) in [
        ("12.345", 2, 12.35),
        ("8.125", 2, 8.13),
        ("10.075", 2, 10.08),
        ("1.005", 2, 1.01),
        ("2.675", 2, 2.68),
        ("-2.345", 2, -2.35),
        ("0.5", 0, 1.0),
        ("2.5", 0, 3.0),
    ] {
        gives(&format!("{number} | round({places}) | float"), json!(rounded));
        gives(&format!("{number} | number({places})"), json!(format!("{rounded:.*}", places)));
    }
    gives("0.29 | round(2, 'floor')", json!(0.29));
    gives("1.1 | round(1, 'ceil')", json!(1.1));
    gives("1250 | round(-2)", json!(1300));
    gives("' 12 ' | int", json!(12));
    gives("'3.9' | int", json!(3));
    gives("true | int", json!(1));
    gives("'x' | int(0)", json!(0));
    gives("'1.5' | float", json!(1.5));
    gives("'x' | float(default=-1)", json!(-1));
    assert_eq!(error("{{ 'x' | int }}", json!({})), "the filter int takes a number, or a text that holds one; this is the text \"x\"");
    assert!(error("{{ 'inf' | float }}", json!({})).contains("float"));
    assert!(error("{{ 'a' | round }}", json!({})).contains("a number"));
}

#[test]
fn filters_of_lists() {
    gives("[1, 2] | length", json!(2));
    gives("'grün' | length", json!(4));
    gives("none | length", json!(0));
    gives("[1, 'a', none, 2.0] | join('-')", json!("1-a--2"));
    gives("rows | join(', ', attribute='name')", json!("b, A, c"));
    gives("[3, 1, 2] | first", json!(3));
    gives("[3, 1, 2] | last", json!(2));
    gives("'abc' | last", json!("c"));
    gives("[3, 'b', none, 'A', 1] | sort", json!([null, 1, 3, "A", "b"]));
    gives("['b', 'A'] | sort(case_sensitive=true)", json!(["A", "b"]));
    gives("rows | sort(attribute='n', reverse=true) | map(attribute='name')", json!(["b", "c", "A"]));
    gives("map | sort", json!(["a", "b"]));
    gives("[1, 1.0, 'a', 'A', [1], [1]] | unique", json!([1, "a", [1]]));
    gives("[1, 2.5] | sum", json!(3.5));
    gives("rows | sum(attribute='n')", json!(6));
    gives("[] | sum", json!(0));
    gives("[3, 1, 2] | min", json!(1));
    gives("rows | max(attribute='n') | items | first", json!(["n", 3]));
    gives("map | items", json!([["b", 1], ["a", [2]]]));
    assert_eq!(error("{{ [1, none] | sum }}", json!({})), "the filter sum adds numbers; element 2 is empty");
    assert!(error("{{ [1, 'a'] | min }}", json!({})).contains("cannot be put in order"));
    assert!(error("{{ [] | first }}", json!({})).contains("is empty; add | default"));
    assert_eq!(error("{{ [{}] | join(',', 'x') }}", json!({})), "element 1 of the list has no \"x\"");
}

#[test]
fn map_and_select_run_over_elements() {
    gives("['a', 'b'] | map('upper')", json!(["A", "B"]));
    gives("['a-b'] | map('replace', '-', '+')", json!(["a+b"]));
    gives("rows | map(attribute='deep.x', default=0)", json!([1, 0, 0]));
    gives("rows | selectattr('ok') | map(attribute='n')", json!([3, 2]));
    gives("rows | rejectattr('ok') | map(attribute='n')", json!([1]));
    gives("rows | selectattr('name', 'in', ['b', 'c']) | length", json!(2));
    gives("rows | selectattr('deep', 'defined') | length", json!(1));
    gives("rows | rejectattr('deep', 'undefined') | length", json!(1));
    gives("rows | selectattr('n', 'number') | length", json!(3));
    assert_eq!(error("{{ [{}] | map(attribute='x') }}", json!({})), "element 1 of the list has no \"x\"");
    assert_eq!(error("{{ [{'x': 1}, {}] | selectattr('x', 'none') }}", json!({})), "element 2 of the list has no \"x\"");
    assert_eq!(error("{{ [{}, {}] | rejectattr('x') }}", json!({})), "element 1 of the list has no \"x\"");
    gives("[{'x': 1}, {}] | selectattr('x') | length", json!(1));
    gives("[] | selectattr('x', 'none') | length", json!(0));
    assert!(error("{{ 'abc' | map('upper') }}", json!({})).contains("takes a list"));
}

#[test]
fn tojson_keeps_the_order_of_keys_and_escapes_nothing_for_html() {
    gives("map | tojson", json!("{\"b\":1,\"a\":[2]}"));
    gives("'<a>&' | tojson", json!("\"<a>&\""));
    gives("map | tojson(indent=2)", json!("{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}"));
    gives("none | tojson", json!("null"));
}

#[test]
fn date_shows_times_in_the_time_zone_of_the_run_and_days_as_they_are() {
    gives("'2026-11-18T23:30:00Z' | date('%d.%m.%Y %H:%M')", json!("19.11.2026 00:30"));
    gives("'2026-07-01T12:00:00+02:00' | date('%H:%M %Z')", json!("12:00 CEST"));
    gives("'2026-11-18' | date('%A, %e %B')", json!("Wednesday, 18 November"));
    gives("['2026-11-18'] | map('date', '%j')", json!(["322"]));
    // As tables and SQLite write them; what says no zone is meant in the run's.
    gives("'2026-11-18 09:30:00' | date('%H:%M %z')", json!("09:30 +0100"));
    gives("'2026-11-18T09:30' | date('%H:%M %z')", json!("09:30 +0100"));
    gives("'2026-11-18 23:30Z' | date('%d.%m. %H:%M')", json!("19.11. 00:30"));
    let utc = printed("{{ '2026-11-18T23:30:00Z' | date('%d') }}.", json!({}));
    assert_eq!(utc, "18.", "without a person's time zone it is UTC");
    assert!(error("{{ 'yesterday' | date('%d') }}", json!({})).contains("takes a date such as 2026-11-18"));
    assert!(error("{{ '2026-11-18' | date(f) }}", json!({"f": "%Q"})).contains("means nothing"));
    let lost = error("{{ '2026-11-18' | date('%d') }}", json!({"run": {"time_zone": "Mars/Base"}}));
    assert_eq!(lost, "\"Mars/Base\" is not a time zone; write one such as Europe/Berlin");
}

#[test]
fn numbers_and_dates_are_written_as_in_a_language() {
    gives("12.5 | number(2)", json!("12.50"));
    gives("1234567.891 | number(2)", json!("1,234,567.89"));
    gives("1234567.891 | number(2, 'de')", json!("1.234.567,89"));
    gives("1234.5 | number(1, 'de-CH')", json!("1'234.5"));
    gives("42 | number(0, none, 5)", json!("00042"));
    gives("(0.1 + 0.2) | number(2, 'pt_BR')", json!("0,30"));
    gives("2.675 | number(2)", json!("2.68"));
    gives("(0 - 0.001) | number(2)", json!("0.00"));
    gives("1250 | number", json!("1,250"));
    gives("'2026-12-03' | date('day', 'de')", json!("Donnerstag, 3. Dezember"));
    gives("'2026-12-03' | date('day')", json!("Thursday, December 3"));
    gives("'2026-12-03' | date('full', 'fr')", json!("jeudi 3 décembre 2026"));
    gives("'2026-12-03' | date('short', 'de')", json!("03.12.26"));
    gives("'2026-12-03T23:30:00Z' | date('%a %-d %B, %H:%M', 'ru')", json!("пт 4 декабря, 00:30"));
    gives("'2026-12-03' | date('%B %Y', 'ru')", json!("декабрь 2026"));
    for (wrong, told) in [
        ("1 | number(2, 'xx')", "\"xx\" is no language that is known here"),
        ("1 | number(21)", "places of the filter number must be 0 to 20; it is the number 21"),
        ("1 | number('2')", "places of the filter number must be a whole number"),
        ("'2026-12-03' | date('day', 'no language')", "is no language"),
    ] {
        assert!(
            error(&format!("{{{{ {wrong} }}}}"), json!({})).contains(told),
            "{wrong}: {}",
            error(&format!("{{{{ {wrong} }}}}"), json!({}))
        );
    }
}

#[test]
fn table_makes_a_markdown_table_whose_cells_stay_cells() {
    let rows = json!({"rows": [{"day": "Mon", "hours": 8.0}, {"day": "a|b\\\nc", "note": null}]});
    assert_eq!(
        printed("{{ rows | table }}\nx", rows),
        "| day | hours | note |\n| --- | --- | --- |\n| Mon | 8 |  |\n| a\\|b\\\\ c |  |  |\nx"
    );
    gives("[] | table", json!(""));
    assert!(error("{{ [1] | table }}", json!({})).contains("list of rows"));
    assert!(error("{{ {'a': 1} | table }}", json!({})).contains("list of rows"));
}

#[test]
fn cells_and_list_elements_stay_what_they_are() {
    let rows = json!({"rows": [{"*day*": "R&D *Atlas*", "n": -5}, {"*day*": "<b>&lt;\n# x", "n": "- 1"}]});
    assert_eq!(
        printed("{{ rows | table }}\n{{ rows | map(attribute='*day*') | bullets }}", rows),
        "| \\*day\\* | n |\n| --- | --- |\n| R&D \\*Atlas\\* | -5 |\n| \\<b>\\&lt; # x | - 1 |\n- R&D \\*Atlas\\*\n- \\<b>\\&lt;\n  \\# x"
    );
    gives("['a-b', '- c', '1. d', 'e\n\nf'] | bullets", json!("- a-b\n- \\- c\n- 1\\. d\n- e\n  f"));
}

#[test]
fn escape_markdown_makes_a_text_that_reads_as_the_value() {
    for (value, escaped) in [
        ("plain text, 8.5 h (of 40)!", "plain text, 8.5 h (of 40)!"),
        ("R&D *Atlas*", "R&D \\*Atlas\\*"),
        ("client_id _x_ __", "client_id \\_x\\_ \\_\\_"),
        ("a < b > c & d &amp; &#60; &x", "a < b > c & d \\&amp; \\&#60; &x"),
        ("<script>x</script><!-- y --><?z", "\\<script>x\\</script>\\<!-- y -->\\<?z"),
        ("[x](y) ![p](q)", "\\[x\\](y) !\\[p\\](q)"),
        ("`a` ~~b~~ c|d e\\f", "\\`a\\` \\~\\~b\\~\\~ c\\|d e\\\\f"),
        ("# a", "\\# a"),
        ("#a ####### b", "#a ####### b"),
        ("- a", "\\- a"),
        ("-5 +49 a-b", "-5 +49 a-b"),
        ("+", "\\+"),
        ("> a", "\\> a"),
        ("12. a", "12\\. a"),
        ("3) a", "3\\) a"),
        ("12.5", "12.5"),
        ("---", "\\---"),
        ("===", "\\==="),
        (":-:", "\\:-:"),
        ("  a\r\n\n    - b  \n", "a\n\\- b"),
        ("", ""),
    ] {
        assert_eq!(printed("{{ v | escape_markdown }}", json!({ "v": value })), escaped, "{value:?}");
    }
    gives("8.5 | escape_markdown", json!("8.5"));
    gives("none | escape_markdown", json!(""));
    assert!(error("{{ [1] | escape_markdown }}", json!({})).contains("takes a text"));
}

#[test]
fn bullets_makes_a_list() {
    gives("['a', 'b\nc', 3] | bullets", json!("- a\n- b\n  c\n- 3"));
    gives("map | bullets", json!("- b: 1\n- a: \\[2\\]"));
    gives("[] | bullets", json!(""));
    assert!(error("{{ 'a' | bullets }}", json!({})).contains("takes a list"));
}

#[test]
fn elements_are_chosen_by_comparing_a_field() {
    for (test, kept) in [
        ("'eq', 2", json!([2])),
        ("'ne', 2", json!([3, 1])),
        ("'lt', 2", json!([1])),
        ("'le', 2", json!([1, 2])),
        ("'gt', 2", json!([3])),
        ("'ge', 2", json!([3, 2])),
    ] {
        gives(&format!("rows | selectattr('n', {test}) | map(attribute='n')"), kept.clone());
        let kept = kept.as_array().unwrap();
        let others: Vec<i64> = [3, 1, 2].into_iter().filter(|n| !kept.contains(&json!(n))).collect();
        gives(&format!("rows | rejectattr('n', {test}) | map(attribute='n')"), json!(others));
    }
    gives("rows | selectattr('deep.x', 'defined') | selectattr('deep.x', 'eq', 1) | length", json!(1));
    gives("1 is eq 1 and 'a' is ne 'b' and 2 is ge(1)", json!(true));
    assert_eq!(error("{{ [{'x': 1}, {}] | selectattr('x', 'eq', 1) }}", json!({})), "element 2 of the list has no \"x\"");
    assert!(error("{{ [{'x': 'a'}] | selectattr('x', 'gt', 1) }}", json!({})).contains("cannot be put in order"));
    assert_eq!(finding("{{ a | selectattr('x', 'eq') }}").0, Code::TemplateSyntax);
    assert_eq!(finding("{{ a | selectattr('x', 'none', 1) }}").0, Code::TemplateSyntax);
}

#[test]
fn elements_are_grouped_by_a_field() {
    let people =
        json!({"people": [{"city": "Rome", "n": 1}, {"city": "bern", "n": 2}, {"city": "Rome", "n": 3}, {"city": "Bern", "n": 4}]});
    let grouped = "{% for city, all in people | groupby('city') %}{{ city }}:{{ all | map(attribute='n') | join('+') }} {% endfor %}";
    assert_eq!(printed(grouped, people.clone()), "bern:2+4 Rome:1+3 ");
    let named = "{% for g in people | groupby('city', case_sensitive=true) %}{{ g.grouper }}{{ g.list | length }} {% endfor %}";
    assert_eq!(printed(named, people.clone()), "Bern1 Rome2 bern1 ");
    assert_eq!(fill("{{ people | groupby('n') | last }}", people.clone()), json!([4, [{"city": "Bern", "n": 4}]]));
    assert_eq!(printed("{{ people | groupby('x', default='-') | map(attribute='grouper') | join }}", people.clone()), "-");
    assert_eq!(error("{{ people | groupby('x') }}", people), "element 1 of the list has no \"x\"");
    gives("[] | groupby('x')", json!([]));
}

#[test]
fn filters_of_jinja_that_people_try_first() {
    gives("[1, 2, 3] | reverse", json!([3, 2, 1]));
    gives("'aé' | reverse", json!("éa"));
    gives("none | reverse", json!(null));
    gives("'aé' | list", json!(["a", "é"]));
    gives("map | list", json!(["b", "a"]));
    gives("none | list", json!([]));
    gives("12 | string", json!("12"));
    gives("[1, none] | string", json!("[1,null]"));
    gives("none | string", json!(""));
    gives("'{\"a\": [1, 2.5, null]}' | fromjson", json!({"a": [1, 2.5, null]}));
    gives("map | tojson | fromjson", json!({"b": 1, "a": [2]}));
    // What is escaped in JSON may be what was taken out of texts.
    assert_eq!(fill("{{ v | fromjson }}", json!({ "v": r#"{"a\u200b": "b\u202ec\u001b"}"# })), json!({ "a": "bc" }));
    assert_eq!(error("{{ '{a' | fromjson }}", json!({})), "the filter fromjson takes a text that holds JSON; this is the text \"{a\"");
    assert!(error("{{ map | reverse }}", json!({"map": {"a": 1}})).contains("a list or a text"));
    assert!(error("{{ 7 | list }}", json!({})).contains("a list, an object or a text"));
    let deep = "[".repeat(100) + &"]".repeat(100);
    assert_eq!(fill("{{ v | fromjson | length }}", json!({ "v": deep })), json!(1));
    let deeper = "[".repeat(200) + &"]".repeat(200);
    assert!(error("{{ v | fromjson }}", json!({ "v": deeper })).contains("holds JSON"));
}

#[test]
fn regex_replace_is_linear_and_bounded() {
    gives("'a1b22' | regex_replace('[0-9]+', '#')", json!("a#b#"));
    gives("'Ana Sol' | regex_replace('(\\\\w+) (\\\\w+)', '$2, $1')", json!("Sol, Ana"));
    gives("'x' | regex_replace('', '-')", json!("-x-"));
    gives("['a1', 'b2'] | map('regex_replace', '[0-9]', '')", json!(["a", "b"]));
    let (code, message) = finding("{{ a | regex_replace('(a', '') }}");
    assert_eq!((code, message.contains("never closed")), (Code::TemplateSyntax, true), "{message}");
    assert!(error("{{ 'a' | regex_replace(p, '') }}", json!({"p": "(?=a)"})).contains("looks ahead"));
    // Patterns that take engines with a memory of their ways for ever.
    let long = "a".repeat(100_000);
    assert_eq!(fill("{{ v | regex_replace('(a+)+$', '') }}", json!({ "v": long })), json!(""));
    assert!(error("{{ v | regex_replace('a', v) }}", json!({ "v": long })).contains("more than"));
}

#[test]
fn dates_are_moved_in_days_weeks_and_months() {
    gives("'2026-11-18' | days(-7)", json!("2026-11-11"));
    gives("'2024-02-28' | days(1)", json!("2024-02-29"));
    gives("'2026-12-31' | weeks(1)", json!("2027-01-07"));
    gives("'2026-01-31' | months(1)", json!("2026-02-28"));
    gives("'2024-03-31' | months(-1)", json!("2024-02-29"));
    gives("'2026-11-18' | months(-11)", json!("2025-12-18"));
    gives("'2026-11-18' | start_of('week')", json!("2026-11-16"));
    gives("'2026-11-16' | start_of('week')", json!("2026-11-16"));
    gives("'2026-11-18' | start_of('month')", json!("2026-11-01"));
    gives("'2026-11-18' | start_of('year')", json!("2026-01-01"));
    gives("['2026-11-18'] | map('days', 1)", json!(["2026-11-19"]));
    gives("'2026-11-18' | days_until('2026-12-24')", json!(36));
    gives("'2026-11-18' | days_until('2026-11-17')", json!(-1));
    // Times keep the hour of the run's time zone, also where clocks change.
    gives("'2026-03-28T11:00:00+01:00' | days(1)", json!("2026-03-29T11:00:00+02:00"));
    gives("'2026-03-28T01:30:00Z' | days(1)", json!("2026-03-29T03:30:00+02:00"));
    gives("'2026-11-18T23:30:00Z' | start_of('month')", json!("2026-11-01T00:00:00+01:00"));
    gives("'2026-11-18T23:30:00Z' | days_until('2026-11-20T01:00:00Z')", json!(1));
    gives("'2026-11-18 23:30:00' | days(1)", json!("2026-11-19T23:30:00+01:00"));
    gives("'2026-11-18 23:30' | start_of('month')", json!("2026-11-01T00:00:00+01:00"));
    gives("'2026-11-18 23:30' | days_until('2026-11-19')", json!(1));
    for (wrong, message) in [
        ("'x' | days(1)", "a date such as 2026-11-18"),
        ("'2026-11-18' | days(1.5)", "a whole number"),
        ("'2026-11-18' | days('1')", "a whole number"),
        ("'2026-11-18' | start_of('day')", "\"week\", \"month\" or \"year\""),
    ] {
        let (text, found) = checked(&format!("{{{{ {wrong} }}}}"));
        let said = found
            .first()
            .map(|found| found.message.clone())
            .unwrap_or_else(|| compile(&text).unwrap().fill(&scope(json!({}))).unwrap_err().message);
        assert!(said.contains(message), "{wrong}: {said}");
    }
    assert!(error("{{ '2026-11-18' | days(n) }}", json!({"n": 100_001})).contains("at most 100000"));
    assert!(error("{{ '9999-12-31' | days(n) }}", json!({"n": 1})).contains("the years 0 to 9999"));
    assert!(error("{{ '2026-11-18' | days_until(n) }}", json!({"n": "soon"})).contains("other of the filter days_until"));
}

#[test]
fn times_order_by_when_they_are_however_they_are_written() {
    let rows = json!({"now": "2026-11-18T23:30:00+01:00", "due": "2026-11-18T22:45:00Z", "local": "2026-11-18 09:30", "rows": [
        {"at": "2026-11-18T09:30:00+05:00"}, {"at": "2026-11-18T09:30:00-08:00"}, {"at": "2026-11-18T05:00:00Z"},
    ]});
    for (source, value) in [
        ("{{ due > now }}", json!(true)),
        ("{{ '2026-11-18 9:30' < '2026-11-18T10:00:00' }}", json!(true)),
        ("{{ '2026-11-18' < local }}", json!(true)),
        ("{{ rows | map(attribute='at') | max }}", json!("2026-11-18T09:30:00-08:00")),
        ("{{ (rows | sort(attribute='at') | first).at }}", json!("2026-11-18T09:30:00+05:00")),
        ("{{ rows | selectattr('at', 'gt', '2026-11-18T06:00:00Z') | list | length }}", json!(1)),
    ] {
        assert_eq!(fill(source, rows.clone()), value, "{source}");
    }
    assert!(error("{{ local > now }}", rows).contains("one is in a time zone"));
}
