//! Where the language is minijinja's, it must mean what minijinja means: both fill the same templates with whole data.

use minijinja::{Environment, UndefinedBehavior};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn data() -> serde_json::Value {
    json!({"s": "Hello World", "n": 7, "x": 2.5, "yes": true, "list": [3, 1, 2], "names": ["b", "a", "C"],
        "rows": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "map": {"one": 1, "two": 2}})
}

fn theirs(source: &str) -> Option<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(super::super::scan::syntax());
    environment.render_str(source, from_json(&data())).ok()
}

fn same(source: &str) {
    assert_eq!(Some(printed(source, data())), theirs(source), "{source}");
}

#[test]
fn statements_and_whitespace_are_theirs() {
    for source in [
        "a {{- n -}} b\n",
        "{% for r in rows -%}\n  {{ r.k }}={{ r.v }}\n{% endfor %}\n",
        "{% for r in rows %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.length }}{% endfor %}",
        "{% for k, v in map | items if v > 1 %}{{ k }}{{ loop.length }}{% else %}none{% endfor %}",
        "{% for n in list %}{% for s in names %}{{ n }}{{ s }}{{ loop.index }}{% endfor %}{% endfor %}{{ n }}",
        "{% if n > 3 and not list[0] == 1 %}a{% elif x %}b{% else %}c{% endif %}",
        "{% raw -%}  {{ no }} {%- endraw %}{# gone #}{#- gone -#}  x",
        "{% for i in range(2, 9, 3) %}{{ i }},{% endfor %}",
        "{% for k in map %}{{ k }}{% endfor %}",
        "{% for k, all in rows | groupby('k') %}{{ k }}{{ all | length }}{% endfor %}",
        "{% for g in rows | groupby('v') %}{{ g.grouper }}{{ (g.list | first).k }}{% endfor %}",
    ] {
        same(source);
    }
}

#[test]
fn filters_with_their_names_give_what_theirs_give() {
    for expression in [
        "s | upper",
        "s | lower",
        "s | title",
        "s | trim",
        "s | replace('o', '0')",
        "s | length",
        "list | length",
        "list | first",
        "list | last",
        "list | join('-')",
        "names | sort | join(',')",
        "names | sort(reverse=true) | join(',')",
        "list | sum",
        "list | min",
        "list | max",
        "names | map('upper') | join",
        "rows | map(attribute='v') | join('/')",
        "rows | selectattr('v') | map(attribute='k') | join",
        "rows | rejectattr('v') | map(attribute='k') | join",
        "rows | selectattr('v', 'eq', 1) | map(attribute='k') | join",
        "rows | selectattr('v', 'ne', 1) | map(attribute='k') | join",
        "rows | rejectattr('v', 'lt', 2) | map(attribute='k') | join",
        "rows | selectattr('v', 'le', 1) | map(attribute='k') | join",
        "rows | selectattr('v', 'gt', 1) | map(attribute='k') | join",
        "rows | rejectattr('v', 'ge', 2) | map(attribute='k') | join",
        "rows | selectattr('k', 'in', ['a']) | map(attribute='v') | join",
        "list | reverse | join(',')",
        "s | reverse",
        "s | list | join('-')",
        "map | list | join('-')",
        "n | string ~ '.'",
        "rows | groupby('k') | map(attribute='grouper') | join(',')",
        "(rows | groupby('v') | last)[1] | map(attribute='k') | join",
        "s[:5]",
        "list[1:] | join",
        "[1, 1, 2] | unique | join(',')",
        "x | round(1)",
        "'3' | int + 1",
        "'1.5' | float",
        "s | split(' ') | last",
        "nothing | default('d')",
        "'' | default('d', true)",
        "map | items | first | join('=')",
        "rows | sort(attribute='v') | map(attribute='k') | join",
    ] {
        same(&format!("{{{{ {expression} }}}}."));
    }
}

#[test]
fn zero_has_no_sign() {
    for condition in [
        "(0 * 0) == ((-5) % -(x if (2) > (list[1] - 0) else 0))",
        "0 == -5 % -2.5",
        "0.0 == 0.0 * -1",
        "not (0 < 0.0 * -1) and not (0 > 0.0 * -1)",
        "(0.0 * -1) in [0]",
        "([0, 0.0 * -1] | unique | length) == 1",
    ] {
        let source = format!("{{% if {condition} %}}a{{% else %}}b{{% endif %}}");
        assert_eq!(printed(&source, data()), "a", "{condition}");
        same(&source);
    }
    assert_eq!(fill("{{ -5 % -2.5 }}", data()).to_string(), "0.0", "and none is written");
    assert_eq!(fill("{{ v == 0 }}", json!({ "v": -0.0 })), json!(true), "whatever the data hold");
}

fn number() -> impl Strategy<Value = String> + Clone {
    let leaf = prop_oneof![(0..30i64).prop_map(|n| n.to_string()), Just("n".to_owned()), Just("x".to_owned()), Just("list[1]".to_owned())];
    leaf.prop_recursive(4, 24, 2, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "//", "%"]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("-{a}")),
            (inner.clone(), truth_of(inner.clone()), inner).prop_map(|(a, c, b)| format!("({a} if {c} else {b})")),
        ]
    })
}

fn truth_of(number: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    let comparison = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    (number.clone(), comparison, number, prop::sample::select(vec!["", "not ", "yes and ", "not yes or "]))
        .prop_map(|(a, sign, b, before)| format!("{before}({a}) {sign} ({b})"))
}

proptest! {
    #[test]
    fn arithmetic_means_what_theirs_means(expression in number()) {
        let source = format!("{{{{ ({expression}) | float | round(6) }}}}");
        let (text, found) = checked(&source);
        prop_assume!(found.is_empty());
        let ours = compile(&text).unwrap().fill(&scope(data())).ok().map(|value| f64::try_from(value).unwrap());
        let their = theirs(&source).map(|text| text.parse::<f64>().unwrap());
        // Theirs calculates on where a number grows out of what JSON readers take.
        if let Some(ours) = ours {
            prop_assert_eq!(Some(ours), their);
        } else {
            prop_assert!(their.is_none_or(|their| !their.is_finite() || their.abs() > 1e18), "{:?}", their);
        }
    }

    #[test]
    fn conditions_mean_what_theirs_mean(condition in truth_of(number())) {
        let source = format!("{{% if {condition} %}}a{{% else %}}b{{% endif %}}");
        let (text, found) = checked(&source);
        prop_assume!(found.is_empty());
        if let Ok(ours) = compile(&text).unwrap().fill_text(&scope(data())) {
            prop_assert_eq!(Some(ours), theirs(&source));
        }
    }
}
