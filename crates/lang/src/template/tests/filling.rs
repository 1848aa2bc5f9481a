//! What filling gives, and where it is strict.

use proptest::prelude::*;
use serde_json::json;

use super::super::{empty_name, step_value};
use super::*;

fn bare(source: &str, scope: &Scope) -> Result<Value, FillError> {
    let (text, found) = checked_bare(source);
    assert!(found.is_empty(), "{source}: {found:?}");
    compile(&text)?.fill(scope)
}

/// `steps` with `done`, which gave an object, and `extra`, which was skipped.
fn steps() -> Scope {
    let none = || Value::from(());
    let output = from_json(&json!({"logged": 32.0, "title": "Week", "empty": null, "none": []}));
    let mut scope = Scope::new();
    scope.set(
        "steps",
        Value::from_pairs([
            ("done", step_value("done", "succeeded", Some(output), none(), none())),
            ("extra", step_value("extra", "skipped", None, none(), none())),
            ("broken", step_value("broken", "failed", None, from_json(&json!({"kind": "timeout"})), none())),
        ]),
    );
    scope.set("refinement", empty_name());
    scope.set("inputs", from_json(&json!({"name": "Ana", "rows": [{"a": 1}]})));
    scope
}

fn step_text(source: &str) -> Result<String, String> {
    compiled(source).fill_text(&steps()).map_err(|error| error.message)
}

#[test]
fn one_pair_of_braces_alone_keeps_the_type() {
    let names = json!({"list": [1, "a", null], "yes": true, "n": 3, "x": 1.5, "none": null, "map": {"b": 1, "a": 2}});
    for (source, value) in [
        ("{{ list }}", json!([1, "a", null])),
        ("{{ yes }}", json!(true)),
        ("{{ n }}", json!(3)),
        ("{{ n + 1 }}", json!(4)),
        ("{{ x }}", json!(1.5)),
        ("{{ none }}", json!(null)),
        ("{{ map }}\n", json!({"b": 1, "a": 2})),
        ("no braces", json!("no braces")),
        ("{{ n }} of {{ n }}", json!("3 of 3")),
    ] {
        assert_eq!(fill(source, names.clone()), value, "{source}");
    }
}

#[test]
fn inside_a_text_lists_and_objects_print_as_json_and_empty_prints_nothing() {
    let names = json!({"list": [1, "a\"<&>\n", null, 2.0], "yes": true, "no": false, "x": 32.0, "y": 0.1, "none": null,
        "map": {"z": {"b": []}, "a": "ü"}, "large": 18446744073709551615u64});
    let source = "{{ list }}|{{ yes }}|{{ no }}|{{ x }}|{{ y }}|{{ none }}|{{ map }}|{{ large }}|{{ -0.0 }}";
    let expected = r#"[1,"a\"<&>\n",null,2]|true|false|32|0.1||{"z":{"b":[]},"a":"ü"}|18446744073709551615|0"#;
    assert_eq!(printed(source, names), expected);
    assert_eq!(printed("<b>{{ a }}</b>", json!({"a": "<i>&'\"</i>"})), "<b><i>&'\"</i></b>", "nothing is escaped");
}

#[test]
fn a_line_end_at_the_end_of_a_text_stays() {
    assert_eq!(printed("Hello {{ a }}\n", json!({"a": "x"})), "Hello x\n");
    assert_eq!(printed("Hello {{ a -}}\n", json!({"a": "x"})), "Hello x");
}

#[test]
fn data_is_never_a_template() {
    let hostile = "{{ 7*7 }}{% for x in y %}{# c #}{% raw %}";
    let names = json!({"a": hostile, "rows": [{"v": hostile}]});
    assert_eq!(printed("{{ a }}!", names.clone()), format!("{hostile}!"));
    assert_eq!(fill("{{ a }}", names.clone()), json!(hostile));
    assert_eq!(printed("{% for r in rows %}{{ r.v | trim | replace('q', a) }}{% endfor %}", names.clone()), hostile);
    assert_eq!(printed("{{ rows | map(attribute='v') | join(',') }}.", names), format!("{hostile}."));
}

#[test]
fn what_is_missing_is_an_error_in_every_use() {
    for source in [
        "{{ nobody }}!",
        "{{ inputs.nothing }}!",
        "{{ inputs.nothing.below }}",
        "{{ inputs.rows[7] }}",
        "{{ inputs.name.x }}",
        "{% if inputs.nothing %}{% endif %}",
        "{% if not inputs.nothing %}{% endif %}",
        "{% for x in inputs.nothing %}{% endfor %}",
        "{{ inputs.nothing == 1 }}",
        "{{ 1 in inputs.nothing }}",
        "{{ inputs.nothing ~ '' }}",
        "{{ inputs.nothing | upper }}",
        "{{ inputs.nothing and true }}",
        "{{ [inputs.nothing] }}",
        "{{ inputs.nothing is none }}",
        "{{ inputs.nothing | upper | default('x') }}",
        "{{ steps.extra.output }}",
        "{{ steps.extra.output.a.b }}",
        "{{ steps.extra.output == 1 }}",
        "{{ steps.broken.output | length }}",
        "{% for x in steps.extra.output %}{% endfor %}",
    ] {
        assert!(compiled(source).fill(&steps()).is_err(), "{source}");
    }
}

#[test]
fn a_missing_part_is_named_with_what_to_do() {
    let said = |source: &str| step_text(source).unwrap_err();
    assert_eq!(said("{{ steps.extra.output.a }}."), "step \"extra\" was skipped and has no output; add | default(\"\")");
    assert_eq!(said("{{ steps.broken.output }}."), "step \"broken\" failed and has no output; add | default(\"\")");
    assert_eq!(said("{{ steps.done.output.loged }}."), "\"steps.done.output\" has no \"loged\"; did you mean \"logged\"?");
    assert_eq!(said("{{ inputs.zzz }}."), "\"inputs\" has no \"zzz\"; where it may be missing, add | default(…)");
    assert_eq!(said("{{ steps.done.error.kind }}."), "\"steps.done.error\" is empty and has no \"kind\"");
    assert_eq!(said("{{ inputs.rows[7] }}."), "\"inputs.rows\" is a list of 1 and has no [7]");
    assert_eq!(said("{{ who }}."), "\"who\" is not known here");
}

#[test]
fn the_error_marks_its_expression() {
    let source = "Hello {{ inputs.name }}, {{ who }}";
    let error = compiled(source).fill(&steps()).unwrap_err();
    let span = error.span.unwrap();
    assert!(source[span.start as usize - 100..span.end as usize - 100].contains("who"), "{span:?}");
}

#[test]
fn default_guards_every_part_of_a_path() {
    for (source, text) in [
        ("{{ steps.extra.output.a.b | default(0) }}.", "0."),
        ("{{ steps.extra.output | default(\"none\") }}.", "none."),
        ("{{ steps.nobody.output.x | default(1) }}.", "1."),
        ("{{ nobody.at.all | default }}.", "."),
        ("{{ inputs.rows[3].a | default('-') }}.", "-."),
        ("{{ inputs.rows[0].a | default('-') }}.", "1."),
        ("{{ inputs[nobody].a | default('-') }}.", "-."),
        ("{{ steps.done.output.empty | default('x') }}.", "."),
        ("{{ steps.done.output.empty | default('x', true) }}.", "x."),
        ("{{ steps.done.output.none | default('x', boolean=true) }}.", "x."),
        ("{{ steps.extra.output.a | default(steps.nobody.b) | default('z') }}.", "z."),
        ("{{ steps.done.output.none | first | default('z') }}.", "z."),
        ("{{ ('a' if false) | default('b') }}.", "b."),
        ("{{ 'a' if false }}.", "."),
        ("{{ steps.extra.output is defined }}.", "false."),
        ("{{ steps.extra.output.a.b is undefined }}.", "true."),
        ("{{ steps.done.output.logged is defined }}.", "true."),
        ("{{ steps.extra.status }}.", "skipped."),
        ("{{ steps.broken.error.kind }}.", "timeout."),
        ("{% if steps.extra.output is defined and steps.extra.output > 3 %}a{% else %}b{% endif %}", "b"),
    ] {
        assert_eq!(step_text(source).as_deref(), Ok(text), "{source}");
    }
}

#[test]
fn default_guards_no_mistake_besides() {
    assert!(step_text("{{ (1 / 0) | default(3) }}.").is_err());
    assert!(step_text("{{ (inputs.zzz + 1) | default(3) }}.").is_err());
    assert!(step_text("{{ inputs.zzz | default(inputs.yyy) }}.").is_err());
}

#[test]
fn the_refinement_of_round_one_is_empty_all_the_way_down() {
    for (source, text) in [
        ("{{ refinement }}.", "."),
        ("{{ refinement.feedback }}.", "."),
        ("{{ refinement.original.title.deep }}.", "."),
        ("{% if refinement %}a{% else %}b{% endif %}", "b"),
        ("{% for f in refinement.failed %}a{% else %}none{% endfor %}", "none"),
        ("{{ refinement.failed | length }}.", "0."),
        ("{{ refinement.original is none }}.", "true."),
        ("{{ refinement.feedback | default('x', true) }}.", "x."),
        ("{{ refinement.feedback ~ '!' }}.", "!."),
    ] {
        assert_eq!(step_text(source).as_deref(), Ok(text), "{source}");
    }
    assert_eq!(to_json(&empty_name()).unwrap(), json!(null));
    assert!(!bare("refinement == 1", &steps()).unwrap().is_true());
}

#[test]
fn a_condition_must_be_true_or_false() {
    let condition = |source: &str| {
        let (text, _) = checked_bare(source);
        compile(&text).unwrap().fill_condition(&scope(json!({"a": "false", "n": 0, "none": null}))).map_err(|error| error.message)
    };
    assert_eq!(condition("n == 0"), Ok(true));
    for name in ["refinement", "previous"] {
        let (text, _) = checked_bare(name);
        let holds = |value: Value| {
            let mut scope = Scope::new();
            scope.set(name, value);
            compile(&text).unwrap().fill_condition(&scope).map_err(|error| error.message)
        };
        assert_eq!((holds(empty_name()), holds(crate::template::from_json(&json!({ "feedback": "x" })))), (Ok(false), Ok(true)), "{name}");
    }
    assert_eq!(condition("a == 'true' or n > 0"), Ok(false));
    assert_eq!(condition("a"), Err("a condition must give true or false; this gave the text \"false\"".into()));
    assert_eq!(condition("n"), Err("a condition must give true or false; this gave the number 0".into()));
    assert_eq!(condition("none"), Err("a condition must give true or false; this gave empty".into()));
    assert_eq!(condition("[a]"), Err("a condition must give true or false; this gave a list".into()));
}

#[test]
fn values_of_different_kinds_are_never_equal_and_have_no_order() {
    let names = scope(json!({"text": "8", "n": 7, "none": null, "list": [1, {"a": 1.0}]}));
    for (source, truth) in [
        ("text == 8", false),
        ("n == 7.0", true),
        ("true == 1", false),
        ("none == ''", false),
        ("list == [1.0, {'a': 1}]", true),
        ("list != [1, {'a': 2}]", true),
        ("1 < n <= 7", true),
        ("1 < n < 7", false),
        ("'a' < 'b'", true),
        ("{'a': 1} in list", true),
        ("'ell' in 'hello'", true),
        ("n not in [1, 2]", true),
        ("n is in [7]", true),
    ] {
        assert_eq!(bare(source, &names).unwrap().is_true(), truth, "{source}");
    }
    assert_eq!(
        bare("text < n", &names).unwrap_err().message,
        "a text and a number cannot be put in order; compare two numbers or two texts"
    );
    assert!(bare("none < 1", &names).is_err());
}

#[test]
fn numbers_stay_whole_and_never_overflow() {
    for (source, value) in [
        ("{{ 7 // 2 }}", json!(3)),
        ("{{ -7 // 2 }}", json!(-4)),
        ("{{ 7 % 3 }}", json!(1)),
        ("{{ 2 ** 10 }}", json!(1024)),
        ("{{ 2 ** -1 }}", json!(0.5)),
        ("{{ 6 / 4 }}", json!(1.5)),
        ("{{ -n }}", json!(-9223372036854775807i64)),
        ("{{ n + 1 }}", json!(9223372036854775808u64)),
        ("{{ 1 - 0.5 }}", json!(0.5)),
    ] {
        assert_eq!(fill(source, json!({"n": 9223372036854775807i64})), value, "{source}");
    }
    for source in ["{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0.0 }}", "{{ 10 ** 40 }}", "{{ 9 ** 999999999999 }}", "{{ 1e308 * 10 }}"] {
        assert!(error(source, json!({})).contains("number"), "{source}");
    }
    assert_eq!(error("{{ 1 + 'a' }}", json!({})), "\"+\" takes two numbers, two texts or two lists; here are a number and a text");
}

#[test]
fn range_counts_whole_numbers_that_it_can_hold() {
    assert_eq!(error("{{ range(1.5) }}", json!({})), "range takes whole numbers; this is the number 1.5");
    assert!(error("{{ range(-9223372036854775807, 170141183460469231731687303715884105727) }}", json!({})).contains("whole numbers"));
    assert_eq!(error("{{ range(1, 5, 0) }}", json!({})), "range cannot count in steps of 0");
    assert_eq!(printed("{{ {true: 1, 2: none} }}.", json!({})), "{\"true\":1,\"2\":null}.");
}

#[test]
fn texts_and_lists_are_joined_repeated_and_cut() {
    for (source, value) in [
        ("{{ 'a' + 'b' }}", json!("ab")),
        ("{{ [1] + [2] }}", json!([1, 2])),
        ("{{ 2 * [1, 2] }}", json!([1, 2, 1, 2])),
        ("{{ 1 ~ [2] ~ none }}", json!("1[2]")),
        ("{{ [1, 2, 3, 4][1:3] }}", json!([2, 3])),
        ("{{ [1, 2, 3][::-1] }}", json!([3, 2, 1])),
        ("{{ 'grüße'[1:-1] }}", json!("rüß")),
        ("{{ [1, 2, 3][-1] }}", json!(3)),
        ("{{ range(3) }}", json!([0, 1, 2])),
        ("{{ range(5, 0, -2) }}", json!([5, 3, 1])),
        ("{{ (1, 'a') }}", json!([1, "a"])),
    ] {
        assert_eq!(fill(source, json!({})), value, "{source}");
    }
    // A text that is to be a number is not written twice.
    assert!(error("{{ n * 2 }}", json!({ "n": "12" })).contains("two numbers, or a list and a whole number"));
}

#[test]
fn loops_know_their_place_and_go_through_lists_only() {
    let names = json!({"days": [{"d": "Mon", "h": 8}, {"d": "Tue", "h": 0}, {"d": "Wed", "h": 6}], "map": {"a": 1, "b": 2}, "text": "abc"});
    let source = "{% for x in days if x.h %}{{ loop.index }}/{{ loop.length }} {{ x.d }}{% if not loop.last %}, {% endif %}{% endfor %}";
    assert_eq!(printed(source, names.clone()), "1/2 Mon, 2/2 Wed");
    let source = "{% for key, value in map | items %}{{ key }}={{ value }};{% endfor %}";
    assert_eq!(printed(source, names.clone()), "a=1;b=2;");
    assert_eq!(
        printed("{% for a in map %}{% for b in days %}{{ loop.index0 }}{% endfor %}{{ loop.revindex }}{% endfor %}", names.clone()),
        "01220121"
    );
    assert_eq!(printed("{% for x in days %}{{ loop.previtem.d | default('-') }}{% endfor %}", names.clone()), "-MonTue");
    assert_eq!(printed("{% for x in [] %}a{% else %}nothing{% endfor %}", names.clone()), "nothing");
    // Whatever became of it on the way.
    assert_eq!(
        error("{{ env.TOKEN | upper | int }}", json!({ "env": { "TOKEN": "s3cret" } })),
        "the text that reads env.TOKEN cannot be filled in; the reason may quote the value, so it is not shown"
    );
    for (text, kept, told) in [
        ("{{ env.OTHER }}", json!({ "env": { "TOKEN": "s3cret" } }), "variable OTHER is not set"),
        ("{{ secrets.KEY }} {{ secrets.OTHER | upper }}", json!({ "secrets": { "KEY": "s3cret" } }), "secret OTHER is not set"),
        ("Bearer {{ secrets.KEY | trim }}", json!({ "secrets": {} }), "secret KEY is not set"),
    ] {
        assert_eq!(error(text, kept), format!("{told}; set the variable, or name a file with --env-file"), "{text}");
    }
    assert!(error("{{ secrets.KEY }}", json!({})).starts_with("the text that reads secrets.KEY cannot be filled in"));
    assert_eq!(error("{% for c in text %}{% endfor %}", names.clone()), "for goes through a list; this is the text \"abc\"");
    assert!(error("{% for a, b in days %}{% endfor %}", names).contains("spread over 2 names"));
}

#[test]
fn raw_keeps_braces_and_elif_takes_the_first_that_is_true() {
    assert_eq!(printed("{% raw %}{{ a }}{% endraw %}", json!({})), "{{ a }}");
    let source = "{% if n > 9 %}a{% elif n > 4 %}b{% elif n > 3 %}c{% else %}d{% endif %}";
    assert_eq!([10, 5, 4, 0].map(|n| printed(source, json!({"n": n}))), ["a", "b", "c", "d"]);
}

#[test]
fn a_step_prints_without_an_output_it_does_not_have() {
    assert_eq!(step_text("{{ steps.extra }}.").unwrap(), r#"{"status":"skipped","error":null,"details":null}."#);
    assert!(step_text("{{ steps.extra.outptu }}.").unwrap_err().contains("it has output, status, error and details"));
}

#[test]
fn messages_stay_within_2_kib() {
    let key = "ä".repeat(5000);
    let error = try_fill(&format!("{{{{ a['{}'] }}}}", &key[..3000]), &scope(json!({"a": {}}))).unwrap_err();
    assert!(error.message.len() <= 2048 && error.message.ends_with('…'), "{}", error.message.len());
}

#[test]
fn json_goes_through_unchanged() {
    let json = json!({"b": [1, -2, 1.5, 18446744073709551615u64, null, true, "x"], "a": {"z": {}, "y": []}});
    assert_eq!(to_json(&from_json(&json)).unwrap().to_string(), json.to_string());
    assert_eq!(to_json(&from_json(&json!(2.0))).unwrap().to_string(), "2.0");
}

proptest! {
    #[test]
    fn any_text_given_as_data_comes_out_byte_equal(data in ".{0,60}") {
        prop_assert_eq!(printed("[{{ a }}]", json!({"a": data})), format!("[{data}]"));
        prop_assert_eq!(fill("{{ a }}", json!({"a": data})), json!(data));
    }
}
