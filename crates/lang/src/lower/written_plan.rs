//! A plan that a model wrote. It is held to the rules of a file; its texts stay data, whatever they hold.

use serde_json::{Map, Value};

use super::context::Lower;
use super::ids::Ids;
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::written::{Nowhere, node};
use crate::diagnostic::Diagnostic;
use crate::gate::shape::tasks_as_steps;
use crate::model::{WrittenPlan, WrittenStep};
use crate::source::{FileId, Span};
use crate::syntax::Node;

/// Most characters of an id.
const LONGEST_ID: usize = 64;
/// Most characters of `reasoning`.
const LONGEST_REASONING: usize = 10_000;
/// Most characters of a step's prompt, and of its arguments as JSON.
const LONGEST_TEXT: usize = 100_000;

/// Reads a plan that a model wrote; `tasks` is taken for `steps`, and a key that is empty counts as left out. There is no file, so the
/// findings have no place; their messages name the step. More than `most_steps` steps are not looked at.
pub(crate) fn written_plan(value: &Value, most_steps: u64, diagnostics: &mut Vec<Diagnostic>) -> Option<WrittenPlan> {
    let value = tidied(value);
    let tree = node(&value);
    let mut world = Nowhere;
    let mut lower = Lower::new(FileId::default(), &mut world, diagnostics);
    lower.is_data = true;
    let keys = KeyReader::new(&lower, "the plan", &[&keys::WRITTEN_PLAN], &tree)?;
    let strategy = keys.choice("strategy");
    let reasoning = keys.sentence("reasoning").filter(|text| is_short(&lower, "reasoning of the plan", text, LONGEST_REASONING));
    let list = keys.filled_list("steps")?;
    if list.len() as u64 > most_steps {
        let message = format!("the plan has {} steps; at most {most_steps} are allowed", list.len());
        lower.report(Diagnostic::too_large(Span::default(), message).help("plan fewer steps"));
        return None;
    }
    let mut ids = Ids::default();
    let steps: Vec<Option<WrittenStep>> = list.iter().enumerate().map(|(place, node)| step(&lower, place, node, &mut ids)).collect();
    Some(WrittenPlan { strategy: strategy?, reasoning: reasoning?, steps: steps.into_iter().collect::<Option<_>>()? })
}

fn step(lower: &Lower, place: usize, node: &Node, ids: &mut Ids) -> Option<WrittenStep> {
    let owner = KeyOwner::entry("plan step", node.text_of("id"), place + 1);
    let keys = KeyReader::new(lower, owner.clone(), &[&keys::WRITTEN_STEP], node)?;
    let id = keys.get("id").and_then(|node| lower.new_id("plan step id", node));
    if let Some(id) = &id {
        lower.check_unique("plan steps", id, ids.take(id));
    }
    let id = id.filter(|id| is_short(lower, "plan step id", &id.value, LONGEST_ID));
    let uses = keys.name("use");
    let prompt = keys.sentence("prompt").filter(|text| is_short(lower, &format!("the prompt of {owner}"), text, LONGEST_TEXT));
    let with = keys.entries("with").map(|(name, value)| (name.text.clone(), value.to_value())).collect::<Map<_, _>>();
    let fits = with.is_empty() || is_short(lower, &format!("\"with\" of {owner}"), &Value::Object(with.clone()).to_string(), LONGEST_TEXT);
    let depends_on = keys.names("depends_on").unwrap_or_default();
    let mut seen = Ids::default();
    let depends_on = depends_on.into_iter().filter(|name| seen.take(name).is_none()).map(|name| name.value).collect();
    if keys.has("prompt") && prompt.is_none() || !fits {
        return None;
    }
    Some(WrittenStep { id: id?.value, uses: uses?.value, with, prompt, depends_on })
}

/// F022.
fn is_short(lower: &Lower, what: &str, text: &str, most: usize) -> bool {
    let count = text.chars().count();
    if count > most {
        let message = format!("{what} has {count} characters; at most {most} are allowed");
        lower.report(Diagnostic::too_large(Span::default(), message).help("write less"));
    }
    count <= most
}

/// `tasks` as `steps`, and no key of a step that is empty.
fn tidied(value: &Value) -> Value {
    let mut value = value.clone();
    let Value::Object(plan) = &mut value else { return value };
    tasks_as_steps(plan);
    for step in plan.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(step) = step {
            step.retain(|_, value| !value.is_null());
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PlanStrategy;
    use serde_json::json;

    fn read(value: Value) -> (Option<WrittenPlan>, Vec<String>) {
        let mut found = vec![];
        let plan = written_plan(&value, 3, &mut found);
        (plan, found.into_iter().map(|d| format!("{} {}", d.code.id(), d.message)).collect())
    }

    fn with_steps(steps: Value) -> Vec<String> {
        let (plan, told) = read(json!({ "strategy": "parallel", "reasoning": "Both at once.", "steps": steps }));
        assert_eq!(
            plan.is_some(),
            told.is_empty() || told.iter().all(|told| told.starts_with("F013") || told.starts_with("F011")),
            "{told:?}"
        );
        told
    }

    #[test]
    fn texts_of_a_plan_stay_as_they_are() {
        let (plan, told) = read(json!({ "strategy": "sequential", "reasoning": "{{ 7*7 }}", "tasks": [
            { "id": "a", "use": "docs.read", "with": { "name": "{{ secrets.KEY }}", "deep": [{ "x": "{% for %}" }] }, "prompt": null },
            { "id": "b", "use": "writer", "prompt": "{{ 7*7 }}", "depends_on": ["a", "a"] },
        ] }));
        assert_eq!(told, [""; 0]);
        let plan = plan.unwrap();
        assert_eq!((plan.strategy, plan.reasoning.as_str()), (PlanStrategy::Sequential, "{{ 7*7 }}"));
        assert_eq!(Value::Object(plan.steps[0].with.clone()), json!({ "name": "{{ secrets.KEY }}", "deep": [{ "x": "{% for %}" }] }));
        assert_eq!(plan.steps[1].prompt.as_deref(), Some("{{ 7*7 }}"));
        assert_eq!(plan.steps[1].depends_on, ["a"]);
    }

    #[test]
    fn mistakes_name_the_step() {
        assert_eq!(with_steps(json!([])), ["F015 \"steps\" is empty"]);
        assert_eq!(with_steps(json!(["go"])), ["F005 plan step 1 must be a group of keys, found the text \"go\""]);
        assert_eq!(with_steps(json!([{ "id": "a", "use": "x" }, { "id": "a", "use": "y" }])), ["F013 two plan steps are called \"a\""]);
        assert_eq!(
            with_steps(json!([{ "id": "a", "tool": "x" }])),
            ["F002 unknown key \"tool\" in plan step \"a\"", "F004 plan step \"a\" has no \"use\""]
        );
        assert_eq!(
            with_steps(json!([{ "id": "A b", "use": "x" }])),
            ["F011 plan step id \"A b\" has capitals and blanks; use small letters, digits and \"_\", a letter first"]
        );
        assert_eq!(
            with_steps(json!([{ "id": "a", "use": "{{ x }}", "with": "Rome", "depends_on": { "b": 1 } }])),
            [
                "F007 \"use\" is read before the run, so it cannot hold {{ }}",
                "F005 \"with\" must map names to values, found the text \"Rome\"",
                "F005 \"depends_on\" must be text or a list of texts, found a group of keys",
            ]
        );
        let step = |id: &str| json!({ "id": id, "use": "x" });
        assert_eq!(with_steps(json!([step("a"), step("b"), step("c"), step("d")])), ["F022 the plan has 4 steps; at most 3 are allowed"]);
    }

    #[test]
    fn texts_have_bounds() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        assert_eq!(
            with_steps(json!([{ "id": "a", "use": "x", "prompt": long, "with": { "a": long } }])),
            [
                "F022 the prompt of plan step \"a\" has 100001 characters; at most 100000 are allowed",
                "F022 \"with\" of plan step \"a\" has 100009 characters; at most 100000 are allowed",
            ]
        );
        assert_eq!(
            with_steps(json!([{ "id": "y".repeat(65), "use": "x" }])),
            ["F022 plan step id has 65 characters; at most 64 are allowed"]
        );
    }

    #[test]
    fn what_is_no_plan_is_told() {
        assert_eq!(read(json!("Sure!")).1, ["F005 the plan must be a group of keys, found the text \"Sure!\""]);
        assert_eq!(
            read(json!({ "steps": [{ "id": "a", "use": "x" }] })).1,
            ["F004 the plan has no \"strategy\"", "F004 the plan has no \"reasoning\""]
        );
        assert_eq!(
            read(json!({ "strategy": "serial", "reasoning": "x", "steps": [{ "id": "a", "use": "x" }] })).1,
            ["F007 strategy \"serial\" is not one of: parallel, sequential"]
        );
    }
}
