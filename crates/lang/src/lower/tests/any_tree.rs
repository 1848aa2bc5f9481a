//! Whatever is in a file, it is read to its end.

use proptest::prelude::*;

use super::*;

fn keys() -> impl Strategy<Value = String> {
    let known: Vec<&'static str> = [
        "flow", "name", "steps", "id", "agent", "prompt", "set", "route", "cases", "otherwise", "phrases", "when", "gate", "of", "output",
        "output_schema", "type", "enum", "default", "items", "fields", "pattern", "inputs", "agents", "models", "provider", "tools",
        "http", "scorecards", "criteria", "check", "regex", "json_schema", "policies", "limits", "retry", "on", "channels", "style_guide",
        "outputs", "replies", "mocks", "expect", "test", "channel", "markup", "escape", "split", "imports", "for_each", "as", "person",
        "data", "file",
    ]
    .to_vec();
    prop_oneof![4 => proptest::sample::select(known).prop_map(str::to_owned), 1 => "[a-z_-]{0,8}", 1 => "\\PC{0,4}"]
}

fn trees() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "\\PC{0,12}".prop_map(Into::into),
        proptest::sample::select(vec!["text", "5s", "steps.a.output", "{{ inputs.a }}", "GET http://x", "none", "passed", "(", "ü{{"])
            .prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::vec((keys(), inner), 0..6).prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_tree_is_read_without_a_panic_and_every_finding_is_well_formed(
        map in proptest::collection::vec((keys(), trees()), 0..8),
    ) {
        let text = serde_json::Value::Object(map.into_iter().collect()).to_string();
        let all = [
            read(&text, pipeline).1,
            read(&text, definitions).1,
            read(&text, channel).1,
            read(&text, style_guide).1,
            read(&text, replies).1,
            read(&text, test_file).1,
            read(&text, inline_tests).1,
        ];
        prop_assert!(all[0].contains("F0"), "a pipeline needs more than chance: {text}");
    }
}
