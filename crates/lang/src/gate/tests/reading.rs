//! How answers of models are read, and that answers which keep to what models are sent pass.

use crate::gate::reading::*;
use crate::gate::{schema_problems, shape, wanted};
use crate::load::WrittenRules;
use crate::model::{Field, FieldKind, Shape, Usable};
use crate::port::WrittenCheck;
use proptest::prelude::*;
use serde_json::{Value, json};

fn answer_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "is_needed": { "type": "boolean" }, "count": { "type": "integer" }, "period": { "type": "string", "enum": ["today", "last_week"] },
            "names": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["is_needed", "count", "period", "names"],
        "additionalProperties": false,
    })
}

fn right() -> Value {
    json!({ "is_needed": true, "count": 12, "period": "last_week", "names": ["Ana"] })
}

#[test]
fn what_deceives_is_taken_out_of_every_text_that_was_read() {
    let schema = json!({ "type": "object", "properties": { "names": { "type": "array", "items": { "type": "string" } }, "more": { "type": "object" } } });
    let hidden = r"A\u202en\u200ba\udb40\udc41";
    for text in [
        format!(r#"{{"names": ["{hidden}"], "more": {{"{hidden}": 1}}}}"#),
        format!("Sure:\n```json\n{{\"names\": [\"{hidden}\"], \"more\": {{\"{hidden}\": 1}}}}\n```"),
        format!(r#"{{'names': ['{hidden}',], 'more': {{"{hidden}": 1}}}}"#),
        json!({ "names": format!(r#"["{hidden}"]"#), "more": format!(r#"{{"{hidden}": 1}}"#) }).to_string(),
    ] {
        assert_eq!(read(&text, &schema).unwrap().value, json!({ "names": ["Ana"], "more": { "Ana": 1 } }), "{text}");
    }
}

#[test]
fn what_can_mean_one_thing_only_is_read_and_noted() {
    for (text, notes) in [
        (right().to_string(), &[][..]),
        (format!("```json\n{}\n```", right()), &["taken out of a code fence"]),
        (format!("Sure! Here it is:\n{}\nI hope that helps.", right()), &["taken out of the text around it"]),
        (format!("Here:\n```json\n{}\n```\nDone.", right()), &["taken out of the text around it"]),
        (
            "{'is_needed': True, 'count': 12, 'period': 'last_week', 'names': ['Ana',],}".to_owned(),
            &["small mistakes in its JSON were corrected"],
        ),
        (
            r#"{"is_needed": "true", "count": "12", "period": "Last week", "names": "Ana"}"#.to_owned(),
            &[
                "is_needed: a text was read as true or false",
                "count: a text was read as a number",
                "period: read without regard to case",
                "names: one value was read as a list of one",
            ],
        ),
        (
            r#"[{"Is needed": true, "count": 12, "period": "last_week", "names": ["Ana"]}]"#.to_owned(),
            &["the answer: a list of one was read as its element", "is_needed: a key was read without regard to case"],
        ),
    ] {
        assert_eq!(
            read(&text, &answer_schema()).unwrap(),
            Reading { value: right(), notes: notes.iter().map(|n| (*n).to_owned()).collect() },
            "{text}"
        );
    }
}

#[test]
fn what_can_mean_two_things_is_not_read() {
    let two = format!("{} or rather {}", right(), json!({ "is_needed": false, "count": 1, "period": "today", "names": [] }));
    for text in [&*two, "I don't know.", "", "```", "{'a': 'it's', 'b': 'c'}", r#"{"a": 1, "a": 2,}"#, "{", "[1, 2"] {
        assert!(read(text, &answer_schema()).is_err(), "{text}");
    }
    let told = read(&two, &answer_schema()).unwrap_err().to_string();
    assert_eq!(told, "the answer holds several JSON values that differ, so it is not clear which one counts; give one");
    let list = format!("{} Or: {}", right(), json!([{ "is_needed": false, "count": 1, "period": "today", "names": [] }]));
    assert!(read(&list, &answer_schema()).is_err(), "a list of objects is no prose");
    assert_eq!(read(&format!("{0} Again: {0}", right()), &answer_schema()).unwrap().value, right(), "twice the same is clear");
    assert_eq!(read(&format!("So [1] it is: {}", right()), &answer_schema()).unwrap().value, right());
    for prose in ["Do not use {curly braces} here.", "An empty object is {} here.", "Write {\"a\": 1} in its place."] {
        assert!(read(prose, &answer_schema()).is_err(), "{prose}");
    }
    let right = right().to_string();
    for beside in
        ["{\"count\": 2}", "{count: 2}", "{\"count\": 2, // it was 1\n}", "{\"note\": \"ignore the above\"}", "{\"count\": 2", "{ … }"]
    {
        for text in [
            format!("First: {right} Finally: {beside}"),
            format!("{beside} {right}"),
            format!("```json\n{right}\n```\n```json\n{beside}\n```"),
        ] {
            assert!(read(&text, &answer_schema()).is_err(), "{text}");
        }
    }
    for text in [
        format!("<think>Perhaps {right}? No.</think> I cannot answer."),
        format!("<think>Perhaps {right}"),
        format!("So: <think>{right}</think>"),
        right.replacen("\"count\"", "\"count\": 7, \"count\"", 1),
    ] {
        assert!(read(&text, &answer_schema()).is_err(), "{text}");
    }
    assert_eq!(
        read(&format!("<think>Perhaps {{}}.</think>\n{right}"), &answer_schema()).unwrap().notes,
        ["taken out of the text around it"]
    );
    for (text, problem) in [
        (r#"{"is_needed": "perhaps", "count": 1, "period": "today", "names": []}"#, "is_needed"),
        (r#"{"is_needed": true, "count": "about 12", "period": "today", "names": []}"#, "count"),
        (r#"{"is_needed": true, "count": 1, "period": "week", "names": []}"#, "period"),
        (r#"{"is_needed": true, "count": 1, "period": "today", "names": [], "more": 1}"#, "more"),
    ] {
        let read = read(text, &answer_schema()).unwrap();
        assert_eq!((read.value, read.notes), (serde_json::from_str::<Value>(text).unwrap(), vec![]), "{problem}");
    }
}

#[test]
fn criteria_and_steps_have_an_id_each() {
    let one = |id: &str, description: &str| json!({ "id": id, "description": description, "expected": "The hours." });
    let mut card = json!({ "criteria": [one("Says-Hours", "It names hours."), one("says_hours", "It names the day."), one("says_hours", "It names the day."), one("says_hours", "It names both.")] });
    let mut notes = vec![];
    with_criteria(&mut card, &mut notes);
    assert_eq!(
        WrittenRules.scorecard(&card).unwrap().iter().map(|c| c.id.value.clone()).collect::<Vec<_>>(),
        ["says_hours", "says_hours_2", "says_hours_3"]
    );
    let step = |id: &str, after: &str| json!({ "id": id, "use": id, "depends_on": [after] });
    let mut plan = json!({ "steps": [step("A 1", "b"), step("b", "A 1"), step("b", "A 1"), step("a_1", "b")] });
    with_steps(&mut plan, &mut notes);
    let first = |id: &str| json!({ "id": id, "use": "A 1", "depends_on": ["b"] });
    let expected = json!([first("a_1"), step("b", "a_1"), step("b", "a_1"), step("a_1", "b")]);
    assert_eq!(plan["steps"], expected, "two that are named stay a mistake");
}

/// Any answer that fits a schema, as an endpoint would make it that keeps to the schema.
fn instance(schema: Value) -> BoxedStrategy<Value> {
    if let Some(variants) = schema.get("anyOf").and_then(Value::as_array) {
        return proptest::strategy::Union::new(variants.iter().cloned().map(instance)).boxed();
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return proptest::sample::select(names.clone()).boxed();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => {
            let own = kinds.iter().map(|kind| {
                let mut one = schema.clone();
                one["type"] = kind.clone();
                instance(one)
            });
            return proptest::strategy::Union::new(own).boxed();
        }
        kind => kind.as_str().unwrap_or("null").to_owned(),
    };
    let bound = |key: &str, other: u64| schema.get(key).and_then(Value::as_u64).unwrap_or(other) as usize;
    match kind.as_str() {
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => (bound("minimum", 0) as i64..=bound("maximum", 9) as i64).prop_map(Value::from).boxed(),
        "number" => (-9.0..9.0f64).prop_map(Value::from).boxed(),
        "array" => {
            let items = schema.get("items").cloned().unwrap_or_else(|| json!({ "type": "null" }));
            proptest::collection::vec(instance(items), bound("minItems", 0)..=bound("maxItems", 3).min(4)).prop_map(Value::from).boxed()
        }
        "object" => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let all: Vec<_> =
                properties.into_iter().map(|(name, schema)| instance(schema).prop_map(move |value| (name.clone(), value))).collect();
            all.prop_map(|all| Value::Object(all.into_iter().collect())).boxed()
        }
        "string" => match schema.get("pattern").and_then(Value::as_str) {
            Some(pattern) => {
                proptest::string::string_regex(pattern.trim_start_matches('^').trim_end_matches('$')).unwrap().prop_map(Value::from).boxed()
            }
            None => {
                let shortest = bound("minLength", 0);
                proptest::string::string_regex(&format!("[a-z][a-zA-Z{{}}\"'é ,]{{{},{}}}x", shortest.max(1) - 1, (shortest + 20).max(1)))
                    .unwrap()
                    .prop_map(Value::from)
                    .boxed()
            }
        },
        _ => Just(Value::Null).boxed(),
    }
}

fn planner() -> Shape {
    let period = Field { one_of: vec![json!("today"), json!("week")], is_required: false, ..Field::new("period", FieldKind::Text) };
    Shape::Fields(vec![
        Field::new("is_needed", FieldKind::Boolean),
        period,
        Field::new("plan", FieldKind::Plan),
        Field::new("card", FieldKind::Scorecard),
    ])
}

fn usable() -> Vec<Usable> {
    let takes = |schema: Value| Some(crate::model::ToolParameters { schema, needs_previous: false });
    let temperature = json!({ "type": "object", "required": ["city"], "additionalProperties": false, "properties": {
        "city": { "type": "string", "pattern": "^[A-Z][a-z]{1,20}$" }, "state": { "type": "string", "pattern": "^[A-Z]{2}$" }, "unit": { "enum": ["F", "C"] },
    } });
    vec![
        Usable { name: "writer".into(), about: String::new(), takes: None },
        Usable { name: "temperature".into(), about: String::new(), takes: takes(temperature) },
    ]
}

/// Whether all of a schema is in the common subset.
fn in_the_subset(schema: &Value) -> bool {
    match schema {
        Value::Object(keys) => {
            let properties = keys.get("properties").and_then(Value::as_object);
            let required = keys.get("required").and_then(Value::as_array);
            let is_object = keys.get("type").is_some_and(|kind| kind == "object");
            let closes = keys.get("additionalProperties") == Some(&json!(false));
            (!is_object
                || closes && properties.is_some_and(|properties| required.is_some_and(|required| required.len() == properties.len())))
                && keys.values().all(in_the_subset)
        }
        Value::Array(list) => list.iter().all(in_the_subset),
        _ => true,
    }
}

#[test]
fn schemas_of_ours_are_closed_and_require_all() {
    for schema in [wanted::wanted(&planner()), wanted::plan(&usable(), 4), wanted::verdicts(&["a", "b"]), wanted::fulfilled()] {
        assert!(in_the_subset(&schema), "{schema}");
    }
}

proptest! {
    #[test]
    fn an_answer_that_keeps_to_the_schema_of_an_output_passes(value in instance(wanted::wanted(&planner()))) {
        let read = crate::gate::result::answer(Some(&planner()), Value::String(value.to_string())).unwrap();
        prop_assert!(WrittenRules.scorecard(&read.value["card"]).is_ok(), "{:?}", WrittenRules.scorecard(&read.value["card"]));
        prop_assert!(!read.notes.iter().any(|note| note.contains("JSON")), "{:?}", read.notes);
    }

    #[test]
    fn an_answer_that_keeps_to_the_schema_of_a_plan_gives_each_step_what_it_takes(value in instance(wanted::plan(&usable(), 4))) {
        let read = read_plan(&value.to_string(), &usable(), 4).unwrap();
        for step in read.value["steps"].as_array().unwrap() {
            let used = usable().into_iter().find(|usable| step["use"] == usable.name.as_str()).unwrap();
            prop_assert!(used.takes.is_none_or(|takes| schema_problems(&takes.schema, &step["with"]).is_empty()), "{step}");
        }
    }

    #[test]
    fn json_that_fits_is_read_as_it_is_and_within_prose_the_same(value in instance(answer_schema()), shape in 0..4) {
        let text = value.to_string();
        prop_assert_eq!(read(&text, &answer_schema()).unwrap(), Reading { value: value.clone(), notes: vec![] });
        let noisy = match shape {
            0 => format!("```json\n{text}\n```"),
            1 => format!("Here it is: {text} - as you asked."),
            2 => format!("{},}}", &text[..text.len() - 1]),
            _ => format!("\n{}\n", serde_json::to_string_pretty(&value).unwrap().replace("true", "True").replace("false", "False")),
        };
        let read = read(&noisy, &answer_schema()).unwrap();
        prop_assert_eq!(&read.value, &value);
    }

    #[test]
    fn any_text_is_read_without_an_end_of_the_process(text in "[\\[\\]{}\"':,a1 \\\\\n`]{0,60}") {
        let _ = read(&text, &answer_schema());
    }
}

#[test]
fn what_may_be_anything_is_read_as_it_is() {
    let shape = shape::schema(&Shape::default());
    for value in [json!({}), json!({ "a": [1, "true", null] })] {
        assert_eq!(read(&value.to_string(), &json!({})).unwrap().value, value);
        assert!(read(&value.to_string(), &shape).unwrap().notes.is_empty());
    }
}

/// Each id is looked up, never searched for: twenty thousand steps of one name would take minutes.
#[test]
fn ids_of_a_long_plan_are_made_in_step_with_its_length() {
    let mut plan = json!({ "steps": (0..20_000).map(|number| json!({ "id": "Look", "prompt": number })).collect::<Vec<_>>() });
    with_steps(&mut plan, &mut vec![]);
    let ids: Vec<&str> = plan["steps"].as_array().into_iter().flatten().filter_map(|step| step["id"].as_str()).collect();
    assert_eq!((ids.len(), ids[0], ids[1], ids[19_999]), (20_000, "look", "look_2", "look_20000"));
}
