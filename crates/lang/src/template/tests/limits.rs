//! The limits: each ends in an error that says so, never in a crash or an endless run.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::template::stray::has_template;

/// Runs on a stack as large as the engine's (reliability P3).
fn on_engine_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(64 * 1024 * 1024).spawn(work).unwrap().join().unwrap();
}

fn too_large(source: &str) {
    let (_, found) = checked(source);
    assert_eq!(found.len(), 1, "{}", &source[..source.len().min(60)]);
    assert_eq!(found[0].code, Code::TooLarge, "{}", found[0].message);
}

/// A `{{ … }}` filled with a chain up to nearly `bytes`.
fn chain(start: &str, link: &str, end: &str, bytes: usize) -> String {
    let count = (bytes - start.len() - end.len() - 6) / link.len();
    format!("{{{{ {start}{}{end} }}}}", link.repeat(count))
}

#[test]
fn a_template_of_64_kib_is_read_and_a_longer_one_is_not() {
    let fits = format!("{{{{ a }}}}{}", "x".repeat(64 * 1024 - 7));
    assert!(checked(&fits).1.is_empty());
    too_large(&format!("{fits}x"));
}

#[test]
fn every_chain_that_could_exhaust_the_stack_is_refused_before_the_parser() {
    on_engine_stack(|| {
        for bytes in [4 * 1024, 64 * 1024] {
            for (start, link, end) in [
                ("", "-", "1"),
                ("", "not ", "1"),
                ("1", "+1", ""),
                ("'a'", "~'a'", ""),
                ("a", ".a", ""),
                ("a", "[0]", ""),
                ("a", "|upper", ""),
                ("a", " is defined", ""),
                ("a", "()", ""),
                ("1", "**1", ""),
                ("1", " if 1 else 1", ""),
                ("1", " and 1", ""),
                ("1", "<1", ""),
                ("", "[", ""),
                ("", "(", ""),
                ("", "{", ""),
                ("a", "[a", ""),
                ("a", "(a", ""),
            ] {
                too_large(&chain(start, link, end, bytes));
            }
        }
        too_large(&format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(4000)));
        too_large(&"{% if a %}".repeat(6000));
        too_large(&"{% for a in b %}".repeat(4000));
    });
}

#[test]
fn what_is_just_inside_the_limits_is_read_and_filled() {
    on_engine_stack(|| {
        let names = || json!({"a": 1});
        assert_eq!(fill(&format!("{{{{ 1{} }}}}", "+1".repeat(256)), names()), json!(257));
        assert_eq!(fill(&format!("{{{{ {}true }}}}", "not ".repeat(256)), names()), json!(true));
        assert_eq!(fill(&format!("{{{{ {}1 }}}}", "- ".repeat(256)), names()), json!(1));
        assert_eq!(fill(&format!("{{{{ {}1{} }}}}", "(".repeat(64), ")".repeat(64)), names()), json!(1));
        assert_eq!(fill(&format!("{{{{ 'a'{} }}}}", "|upper".repeat(256)), names()), json!("A"));
        assert!(fill(&format!("{{{{ {}1{} }}}}", "[".repeat(64), "]".repeat(64)), names()).is_array());
        let elifs = format!("{{% if a == 2 %}}x{}{{% else %}}y{{% endif %}}", "{% elif a == 3 %}z".repeat(128));
        assert_eq!(fill(&elifs, names()), json!("y"));
        let nested = format!("{}x{}", "{% if a %}".repeat(64), "{% endif %}".repeat(64));
        assert_eq!(fill(&nested, names()), json!("x"));
        too_large(&format!("{}x{}", "{% if a %}".repeat(65), "{% endif %}".repeat(65)));
        too_large(&format!("{{{{ 1{} }}}}", "+1".repeat(257)));
    });
}

#[test]
fn an_expression_above_4_kib_is_refused_in_braces_and_bare() {
    let long = format!("'{}'", "x".repeat(4200));
    too_large(&format!("{{{{ {long} }}}}"));
    assert_eq!(checked_bare(&long).1[0].code, Code::TooLarge);
    assert_eq!(checked_bare(&format!("a{}", " or a".repeat(300))).1[0].code, Code::TooLarge);
}

#[test]
fn every_amplifier_ends_in_an_error() {
    let scope = scope(json!({
        "big": "x".repeat(1024 * 1024), "half": "ab".repeat(300_000), "rows": vec![json!({"a": "x"}); 5_000], "list": vec!["a"; 50_000],
    }));
    for source in [
        "{{ 1000000000000 * ['x'] }}",
        "{{ [1] * 100000000 }}",
        "{{ [1] * 100001 }}",
        "{{ ([1]*100000000) ~ '' }}",
        "{{ range(1000000000) }}",
        "{{ range(-9223372036854775808, 9223372036854775807) }}",
        "{{ big ~ 'x' }}",
        "{{ big + 'x' }}",
        "{{ half | replace('a', 'bbb') | upper }}",
        "{{ list | join(half) }}",
        "{{ list | map('replace', 'a', half) }}",
        "{{ list | map('replace', 'a', half) | first }}",
        "{{ half | split('b') }}",
        "{{ list + list + list }}",
        "{{ (list * 2) | map('replace', 'a', half[0:200]) | length }}",
        "{{ [half, half] | bullets }}",
        "{{ [{'a': half, 'b': half}] | table }}",
        "{{ [half, half] | tojson }}",
        "{{ [half, half] ~ '' }}",
        "{{ half }}{{ half }}",
        "{% for a in list %}{{ half }}{% endfor %}",
        "{% for a in list %}{% for b in list %}{% endfor %}{% endfor %}",
        "{% for a in list %}{% if rows | sort(attribute='a') | length > 3 %}{% endif %}{% endfor %}",
        "{% for a in list %}{% if half in half ~ 'x' %}{% endif %}{% endfor %}",
        "{% for a in list %}{% if rows == rows %}{% endif %}{% endfor %}",
        "{% for a in list %}{% if half | length == 3 %}{% endif %}{% endfor %}",
        "{% for a in list %}{% if list[::-1] %}{% endif %}{% endfor %}",
    ] {
        let message = try_fill(source, &scope).unwrap_err().message;
        assert!(message.contains("more than") || message.contains("past 1 MiB"), "{source}: {message}");
    }
}

/// What is read may be longer than what is made.
#[test]
fn a_part_of_a_text_is_taken_however_long_that_is() {
    let long = format!("  {}", "ab é".repeat(600_000));
    let scope =
        scope(json!({ "long": long, "json": format!("[{}1]", " ".repeat(3 << 20)), "blanks": format!("x{}", " ".repeat(4_000_000)) }));
    for (source, part) in [
        ("{{ long[:6] }}", json!("  ab é")),
        ("{{ long[2:4] }}", json!("ab")),
        ("{{ long[-1:] }}", json!("é")),
        ("{{ long[-4:-2] }}", json!("ab")),
        ("{{ long[4:2] }}", json!("")),
        ("{{ long[::-1][:2] }}", json!("é ")),
        ("{{ long[2:12:4] }}", json!("aaa")),
        ("{{ long[9000000:] }}", json!("")),
        ("{{ long[:-2400001] }}", json!(" ")),
        ("{{ (long | default(''))[:3] }}", json!("  a")),
        ("{{ long | truncate(8) }}", json!("  ab...")),
        ("{{ long | truncate(7, true, '') }}", json!("  ab éa")),
        ("{{ (long | split('é', 2))[1] }}", json!("ab ")),
        ("{{ (long | split(none, 1))[0] }}", json!("ab")),
        ("{{ long | replace('ab é', '') }}", json!("  ")),
        ("{{ long | regex_replace('(ab é)+', 'x') }}", json!("  x")),
        ("{{ blanks | trim }}", json!("x")),
        ("{{ json | fromjson }}", json!([1])),
        ("{{ long | length }}", json!(2_400_002)),
        ("{{ long | trim | length }}", json!(2_400_000)),
        ("{{ (long | trim | lower)[:4] }}", json!("ab é")),
        ("{{ long ~ 'x' }}", json!(null)),
    ] {
        let filled = try_fill(source, &scope);
        match part {
            serde_json::Value::Null => assert!(filled.unwrap_err().is_too_large, "{source}"),
            part => assert_eq!(filled.map(|value| to_json(&value).unwrap()).map_err(|error| error.message), Ok(part), "{source}"),
        }
    }
    // What is walked through is paid for.
    let many = "{% for a in range(100) %}{{ long[1000000:1000001] }}{% endfor %}";
    assert!(try_fill(many, &scope).unwrap_err().message.contains("more than 16 MiB"));
}

#[test]
fn values_deeper_than_128_are_refused_both_ways() {
    on_engine_stack(|| {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        let mut scope = Scope::new();
        scope.set("ok", from_json(&nested(128)));
        scope.set("deep", from_json(&nested(200)));
        assert_eq!(to_json(&try_fill("{{ ok }}", &scope).unwrap()).unwrap(), nested(128));
        assert!(compiled("{{ ok }}!").fill(&scope).is_ok());
        let said = "a value is nested more than 128 levels deep";
        assert_eq!(try_fill("{{ deep }}", &scope).unwrap_err().message, said);
        assert_eq!(try_fill("{{ deep[0] }}", &scope).unwrap_err().message, said);
        assert_eq!(try_fill("{% if deep %}{% endif %}", &scope).unwrap_err().message, said);
        assert_eq!(try_fill("{{ [[ok]] }}!", &scope).unwrap_err().message, said);
        assert_eq!(to_json(&try_fill("{{ [[ok]] }}", &scope).unwrap()).unwrap_err().message, said);
    });
}

#[test]
fn a_large_table_of_honest_size_is_filled() {
    let rows: Vec<_> = (0..10_000).map(|n| json!({"day": n, "hours": 8})).collect();
    let text = printed("{{ rows | sort(attribute='day', reverse=true) | table }}\n", json!({"rows": rows}));
    assert_eq!(text.lines().count(), 10_002);
    let rows: Vec<_> = (0..10_000).collect();
    assert_eq!(printed("{% for row in rows %}{{ row }},{% endfor %}", json!({"rows": rows})).matches(',').count(), 10_000);
}

/// Pieces that together make mostly sensible and sometimes broken templates.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{", "}}", "{%", "%}", "{#", "#}", "{{ ", " }}", "{% ", " %}", "if ", "elif ", "else", "endif", "for ", "endfor", "in ", " a",
        "b", "a.b", "[0]", "[", "]", "(", ")", "{", "}", ",", ":", "=", "==", "<", "+", "-", "*", "**", "/", "//", "%", "~", "|",
        "| default", "|upper", "| map", "|sort", "|table", "| date('%d')", "is ", "not ", "and ", "or ", "defined", "none", "true", "'x'",
        "\"y\"", "'", "\"", "\\", "1", "2.5", "99999999999999999999", "range(3)", "loop", ".index", "raw", "endraw", "set ", "\n", " ",
        "ü", "🙂", "\u{202e}",
    ]);
    prop::collection::vec(piece, 0..25).prop_map(|pieces| pieces.concat())
}

/// A template whose structure is right.
fn sensible() -> impl Strategy<Value = String> {
    let expression = prop::collection::vec(
        prop::sample::select(vec!["a", "b.c", "1", "'x'", "[1,2]", "n", "missing.x", "list"]).prop_flat_map(|operand| {
            prop::sample::select(vec![
                "", "|upper", "|default('d')", "|length", "|sort", "|first", "|join(',')", "|int(0)", " is defined", " is none", "[0]",
                "[1:]", "|table", "|items", "|tojson", "|sum", "|unique", "|bullets", "|escape_markdown", "|round", "|date('%Y')",
                "|split", "|map('upper')", "|selectattr('x')",
            ])
            .prop_map(move |tail| format!("{operand}{tail}"))
        }),
        1..4,
    );
    (expression, prop::sample::select(vec![" + ", " ~ ", " == ", " and ", " or ", " * ", " in ", " < ", " if ", " - "])).prop_map(
        |(parts, operator)| {
            let expression = parts.join(operator);
            let mut source = String::new();
            let _ = write!(source, "{{% for a in [{expression}] %}}{{{{ a }}}}{{{{ {expression} }}}}{{% else %}}-{{% endfor %}}");
            source
        },
    )
}

fn never_panics(source: &str) {
    let mut found = vec![];
    let names = scope(json!({"a": "text", "b": {"c": [1, 2]}, "n": null, "list": [{"x": 1}, {"x": 2}]}));
    for text in [text(source, place(source), &mut found), expression(source, place(source), &mut found)] {
        for read in &text.reads {
            assert!(read.span.start >= 99 && read.span.end as usize <= 101 + source.len(), "{source}: {read:?}");
        }
        if let Ok(compiled) = compile(&text) {
            let _ = compiled.fill(&names).map(|value| to_json(&value));
            let _ = compiled.fill_text(&names);
            let _ = compiled.fill_condition(&names);
        }
    }
    for finding in &found {
        assert!(finding.message.chars().count() <= 160, "{}", finding.message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_pieces_of_templates_never_panic(source in pieces()) {
        never_panics(&source);
    }

    #[test]
    fn random_text_never_panics(source in "\\PC{0,80}") {
        never_panics(&source);
    }

    #[test]
    fn random_sensible_templates_are_filled_or_refused(source in sensible()) {
        never_panics(&source);
    }

    #[test]
    fn checked_without_findings_means_it_compiles(source in pieces()) {
        let (text, found) = checked(&source);
        // A text without a template compiles, also with an end that nothing began.
        let is_stray = !has_template(&source) && source.contains('}');
        prop_assert!(found.is_empty() == compile(&text).is_ok() || is_stray, "{found:?}");
    }
}

#[test]
fn a_look_into_a_text_costs_what_it_reads() {
    let (text, found) = checked("{% for i in range(100) %}{{ a[-1] }}{% endfor %}");
    assert!(found.is_empty());
    let mut scope = Scope::new();
    scope.set("a", from_json(&json!("é".repeat(200_000))));
    let stopped = compile(&text).unwrap().fill(&scope).unwrap_err();
    assert!(stopped.message.contains("works on more than 16 MiB"), "{}", stopped.message);
}
