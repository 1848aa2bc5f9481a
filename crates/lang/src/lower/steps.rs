//! Lists of steps, the keys that every step has, and `route`, which holds such lists in its turn.

use std::sync::Arc;

use strum::VariantArray;

use super::context::{Lower, quoted};
use super::ids::{Ids, OuterIds};
use super::keys::{self, KeyTable};
use super::kinds;
use super::models::retry;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::reserved::check_reserved;
use super::tools::one_kind;
use super::written_form::written_form;
use crate::diagnostic::{About, Diagnostic};
use crate::model::{Case, Filling, ForEach, GroupStep, OnFailure, RepeatStep, Root, RouteStep, SUMMARY_STEP, Step, StepKind, step_path};
use crate::source::Spanned;
use crate::syntax::{MapKey, Node};

/// Words of templates, which a loop element cannot have as its name; nor the name of a root.
const TEMPLATE_WORDS: [&str; 12] = ["loop", "range", "true", "false", "none", "and", "or", "not", "in", "is", "if", "else"];
/// Ids a step cannot have: they are answers to `on_failure`.
const TAKEN_IDS: [&str; 2] = ["stop", "continue"];

/// Where a list of steps stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepScope {
    /// The path of what the list stands in: `facts/report`; empty for those of the pipeline.
    pub path: String,
    /// Ids that may not be used again, because a step in this list can read them: those of the lists around.
    pub around: OuterIds,
    /// The `for_each` step it stands in.
    pub(crate) looped_by: Option<String>,
}

/// The steps of a list. Each becomes a step, however broken it is.
pub fn steps(lower: &Lower, list: &[Node], scope: &StepScope) -> Vec<Arc<Step>> {
    let inner = StepScope { around: scope.around.and(list), ..scope.clone() };
    let (mut steps, mut ids) = (vec![], Ids::default());
    for (index, node) in list.iter().enumerate() {
        let unknown = format!("step {}", index + 1);
        let owner = KeyOwner::entry("step", node.text_of("id").map(|id| step_path::inside(&scope.path, id)), index + 1);
        let (keys, kind) = one_kind(lower, &owner, &[&keys::STEP, &keys::EVERY_STEP], keys::KINDS, None, node);
        let mut step = step(keys.as_ref(), kind, node, &inner);
        if step.id.value.is_empty() {
            step.id.value = unknown;
            ids.take(&step.id);
        } else {
            let first = ids.take(&step.id).or_else(|| scope.around.first(&step.id.value));
            lower.check_unique("steps", &step.id, first);
        }
        steps.push(Arc::new(step));
    }
    steps
}

/// One step from its keys and its kind, as far as they could be reported. Without an id of its own the id stays empty.
fn step(keys: Option<&KeyReader>, kind: Option<&'static KeyTable>, node: &Node, scope: &StepScope) -> Step {
    let mut step = Step { id: Spanned::new(String::new(), node.span), span: node.span, kind_span: node.span, ..Step::default() };
    let Some(keys) = keys else { return step };
    if keys.allows("id")
        && let Some(id) = keys.get("id").and_then(|node| keys.lower.new_id("step id", node))
    {
        check_reserved(keys.lower, "a step id", &id, &TAKEN_IDS, "it means what to do after a failure");
        check_reserved(keys.lower, "a step id", &id, &[SUMMARY_STEP], "it is the step that sums up a conversation");
        step.id = id;
    }
    if keys.allows("needs") {
        step.needs = keys.get("needs").and_then(|_| keys.names("needs"));
        step.when = keys.expression("when");
    }
    step.name = keys.text("name");
    step.for_each = for_each(keys, scope);
    step.timeout = keys.read("timeout", Lower::duration);
    step.timeout_span = keys.value_span("timeout");
    step.deadline = keys.read("deadline", Lower::duration);
    step.retry = retry(keys);
    step.on_failure = on_failure(keys);
    step.on_failure_span = keys.value_span("on_failure");
    step.cache = keys.read("cache", Lower::duration);
    step.phase = keys.fixed("phase").map(|phase| phase.value);
    step.is_pii = keys.boolean("pii").unwrap_or(keys.has("pii"));
    step.is_once = keys.boolean("once").unwrap_or(false);
    if let Some(kind) = kind {
        let key = keys.key_span(kind.name);
        step.kind_span = keys.get(kind.name).map_or(key, |node| key.to(node.span));
        let looped_by = step.for_each.as_ref().map(|_| step.id.value.clone()).or(scope.looped_by.clone());
        let inside = StepScope { path: step_path::inside(&scope.path, &step.id.value), looped_by, ..scope.clone() };
        let read = match kind.name {
            "route" => route(keys, &inside).map(StepKind::Route),
            "steps" => {
                Some(StepKind::Group(GroupStep { inner: inner(keys, &inside), parallel: keys.boolean("parallel").unwrap_or(false) }))
            }
            "repeat" => repeat(keys, &inside).map(StepKind::Repeat),
            name => kinds::read(keys, name),
        };
        step.kind = read.unwrap_or(StepKind::Broken);
    }
    step
}

fn for_each(keys: &KeyReader, scope: &StepScope) -> Option<ForEach> {
    let broken =
        || ForEach { list: Filling::Constant(serde_json::Value::Null), name: None, max_parallel: None, fail_fast: false, is_broken: true };
    let lower = keys.lower;
    let Some(node) = keys.get("for_each") else {
        let dependent = ["as", "max_parallel", "fail_fast"].into_iter().find(|key| keys.get(key).is_some() && !is_of_kind(keys, key));
        if let Some(key) = dependent.filter(|_| !keys.has("for_each")) {
            let message = format!("{} has {} but no \"for_each\"", keys.owner, quoted(key));
            lower.report(Diagnostic::missing_key(keys.key_span(key), message).help(format!("add for_each, or remove {key}")));
        }
        // What another tool calls it.
        return keys.has("for_each").then(broken);
    };
    if let Some(outer) = &scope.looped_by {
        let message = format!("\"for_each\" is inside the for_each of {}", quoted(outer));
        let found = Diagnostic::wrong_place(keys.key_span("for_each"), message);
        lower.report(found.help("put the inner one into a pipeline of its own and call it"));
    }
    let list = match node.as_list() {
        Some(_) => Some(lower.texts().filling(node)),
        None if node.as_map().is_some() => {
            let instead = node.as_map().and_then(|map| {
                let lists: Option<Vec<&[Node]>> = map.entries.iter().map(|(_, node)| node.as_list()).collect();
                Some(match lists {
                    Some(lists) => {
                        let first =
                            map.entries.iter().zip(lists).map(|((key, _), list)| Some((key.text.clone(), list.first()?.to_value())));
                        let first = written_form(&serde_json::Value::Object(first.collect::<Option<_>>()?))?;
                        (format!("write a list of the combinations, one after the other: - {first}"), None)
                    }
                    None => {
                        let pair = |(key, node): &(MapKey, Node)| serde_json::json!({ "name": key.text, "value": node.to_value() });
                        let list = written_form(&map.entries.iter().map(pair).collect())?;
                        (format!("write {list}, and read item.name and item.value"), Some(list))
                    }
                })
            });
            lower.other_shape("for_each", node, "a list, or an expression that gives one", instead);
            None
        }
        None => lower.texts().expression("for_each", node).map(Filling::Text),
    };
    let name = keys.get("as").and_then(|node| lower.new_id("loop name", node));
    if let Some(name) = &name {
        let roots = Root::VARIANTS.iter().filter(|root| **root != Root::Item).map(|root| root.word());
        let taken: Vec<&str> = roots.chain(TEMPLATE_WORDS).collect();
        check_reserved(lower, "a loop name", name, &taken, "it is reserved");
    }
    let (max_parallel, fail_fast) = (keys.limit("max_parallel"), keys.boolean("fail_fast"));
    let Some(list) = list else { return Some(ForEach { name, ..broken() }) };
    Some(ForEach { list, name, max_parallel, fail_fast: fail_fast.unwrap_or(false), is_broken: false })
}

/// Whether a key is there for the step's kind: a `plan` has `max_parallel` too.
fn is_of_kind(keys: &KeyReader, key: &str) -> bool {
    keys::KINDS.iter().any(|kind| kind.key(key).is_some() && keys.allows(kind.name))
}

fn on_failure(keys: &KeyReader) -> OnFailure {
    let Some(answer) = keys.name("on_failure") else { return OnFailure::Stop };
    match answer.value.as_str() {
        "stop" => OnFailure::Stop,
        "continue" => OnFailure::Continue,
        _ => OnFailure::Step(answer),
    }
}

/// The steps of a group or a `repeat`, which stand under `steps` of its keys.
fn inner(keys: &KeyReader, inside: &StepScope) -> Case {
    let list = keys.filled_list("steps").unwrap_or_default();
    Case::list(keys.value_span("steps"), steps(keys.lower, list, inside))
}

fn repeat(keys: &KeyReader, inside: &StepScope) -> Option<RepeatStep> {
    let node = keys.get("repeat")?;
    let rounds = KeyReader::new(keys.lower, KeyOwner::Quoted(inside.path.clone()).part("repeat"), &[&keys::ROUNDS], node)?;
    // Steps that slid below `repeat` were reported there.
    let slid = node.as_map().and_then(|map| map.get("steps")).and_then(Node::as_list).filter(|_| !keys.has("steps"));
    let inner = slid.map_or_else(|| inner(keys, inside), |list| Case::list(node.span, steps(keys.lower, list, inside)));
    if slid.is_none() && !keys.has("steps") {
        // Where the keys of `repeat` end.
        let last = node.as_map().and_then(|map| map.entries.last()).map_or(node.span, |(key, _)| key.span);
        let found = Diagnostic::missing_key(last, format!("{} has no \"steps\"", keys.owner));
        keys.lower.report(
            found.about(About::Missing("steps")).help("add steps: below it, at the indentation of repeat: the steps of each round"),
        );
    }
    let until = rounds.expression("until");
    let at_most = rounds.limit("at_most");
    if let (Some(most), Some(node)) = (at_most.filter(|most| *most > RepeatStep::MOST_ROUNDS), rounds.get("at_most")) {
        let message = format!("at_most is {most}; a repeat has at most {} rounds", RepeatStep::MOST_ROUNDS);
        let help = format!("write at_most: {} or less, or for_each over a list where the number is known", RepeatStep::MOST_ROUNDS);
        keys.lower.report(Diagnostic::bad_value(node.span, message).help(help));
    }
    let unmet = rounds.choice("unmet").unwrap_or_default();
    let stop_on_same = rounds.limit("stop_on_same");
    Some(RepeatStep { inner, until: until?, at_most: at_most?.min(RepeatStep::MOST_ROUNDS), unmet, stop_on_same })
}

/// The id of a route's last way.
const OTHERWISE: &str = "otherwise";

/// Reads a route; `inside` is where its cases stand (`facts`).
fn route(keys: &KeyReader, inside: &StepScope) -> Option<RouteStep> {
    let subject = keys.expression("route");
    let cases =
        keys.lower.unique("cases", keys.filled_list("cases"), |node, number| case(keys.lower, node, number, inside), |case| &case.id);
    let otherwise = keys.get(OTHERWISE).and_then(|node| otherwise(keys, node, inside));
    // Cases that are no list could not be read: what the step gives is not known.
    keys.get("cases").is_none_or(|node| node.as_list().is_some()).then_some(())?;
    Some(RouteStep { subject: subject?, cases, otherwise })
}

fn case(lower: &Lower, node: &Node, number: usize, inside: &StepScope) -> Option<Case> {
    let owner = match node.text_of("id") {
        Some(id) => KeyOwner::Named("case", step_path::inside(&inside.path, id)),
        None => KeyOwner::Quoted(inside.path.clone()).part(format!("case {number}")),
    };
    let unknown = Spanned::new(format!("case {number}"), node.span);
    let conditions = ["phrases", "equals", "when"];
    if let Some(map) = node.as_map()
        && let Some(id) = map.get("id").filter(|_| !conditions.iter().any(|key| map.get(key).is_some()))
        && ["otherwise", "default", "else", "other", "fallback"].iter().any(|name| node.text_of("id") == Some(name))
    {
        let message = format!("{owner} is the case when no other one fits: that is otherwise, beside cases");
        let found = Diagnostic::wrong_place(id.span, message).about(About::Value("cases".to_owned()));
        lower.report(
            found.help("move it out of the list: write otherwise: at the indentation of cases, and below it these keys without id"),
        );
        return None;
    }
    if has_steps_alone(node) {
        let keys = KeyReader::new(lower, owner, &[&keys::CASE_STEPS], node)?;
        let id = case_id(&keys).unwrap_or(unknown);
        return Some(with_steps(&keys, id, inside));
    }
    let (keys, kind) = one_kind(lower, &owner, &[&keys::CASE, &keys::EVERY_STEP], keys::KINDS, Some(&keys::CASE_STEPS), node);
    let mut step = step(keys.as_ref(), kind, node, inside);
    if step.id.value.is_empty() {
        step.id = unknown;
    }
    check_kind(lower, &owner, &step);
    let mut case = alone(step);
    if let Some(keys) = keys {
        check_id(&keys, &case.id);
        condition(&keys, &mut case);
    }
    Some(case)
}

/// Whether a case has steps, and is not a step that has some.
fn has_steps_alone(node: &Node) -> bool {
    node.as_map().is_some_and(|map| map.get("steps").is_some() && map.get("repeat").is_none())
}

fn with_steps(keys: &KeyReader, id: Spanned<String>, inside: &StepScope) -> Case {
    let mut case = Case::new(id, vec![], true);
    condition(keys, &mut case);
    let scope = StepScope { path: step_path::inside(&inside.path, &case.id.value), ..inside.clone() };
    case.steps = steps(keys.lower, keys.filled_list("steps").unwrap_or_default(), &scope);
    case
}

/// A case that is one step.
fn alone(step: Step) -> Case {
    Case::new(step.id.clone(), vec![Arc::new(step)], false)
}

/// `phrases`, `equals` and `when`, of which a case needs one, and `unless`.
fn condition(keys: &KeyReader, case: &mut Case) {
    if !keys.allows("phrases") {
        return;
    }
    let with_commas = [
        ("phrases", "is one phrase with commas in it, and fits only if all of it occurs"),
        ("unless", "is one phrase with commas in it, and rules the case out only if all of it occurs"),
        ("equals", "is one text with commas in it, and fits only if the value is all of it"),
    ];
    for (key, what) in with_commas {
        if let Some((node, text)) = keys.get(key).and_then(|node| Some((node, node.as_scalar()?.value.as_str()?)))
            && text.matches(", ").count() > 1
        {
            let message = format!("{key} {} {what}", quoted(text));
            keys.lower.report(Diagnostic::bad_value(node.span, message).help(format!("write a list: [{text}]")));
        }
    }
    let many = |key| keys.get(key).map(|node| keys.lower.one_or_many(key, node)).unwrap_or_default();
    let phrases = |key| many(key).iter().filter_map(|node| keys.lower.name(key, node)).collect();
    (case.phrases, case.unless) = (phrases("phrases"), phrases("unless"));
    case.equals = many("equals").iter().filter_map(|node| equal_text(keys, node)).collect();
    if !["phrases", "equals", "when"].iter().any(|key| keys.has(key)) {
        let help = "add equals: the value, phrases: [words that occur in the text], or when: an expression";
        keys.missing("has neither equals, phrases nor when", help);
    }
    case.when = keys.expression("when");
}

/// A text of `equals`; an empty one is a value like others.
fn equal_text(keys: &KeyReader, node: &Node) -> Option<Spanned<String>> {
    let is_filled = node.as_scalar().is_some_and(|scalar| scalar.text.contains("{{"));
    if is_filled {
        let message = "\"equals\" is read before the run, so it cannot hold {{ }}";
        return keys.lower.reject(node.span, message, "write the text itself, or compare in a condition: when: inputs.a == inputs.b");
    }
    keys.lower.fixed("equals", node)
}

fn case_id(keys: &KeyReader) -> Option<Spanned<String>> {
    let id = keys.lower.new_id("case id", keys.get("id")?)?;
    check_id(keys, &id);
    Some(id)
}

fn check_id(keys: &KeyReader, id: &Spanned<String>) {
    check_reserved(keys.lower, "a case id", id, &[OTHERWISE], "it means what is done when no case fits");
}

/// `otherwise`: a step without id, or steps.
fn otherwise(route: &KeyReader, node: &Node, inside: &StepScope) -> Option<Case> {
    let lower = route.lower;
    let owner = KeyOwner::Quoted(step_path::inside(&inside.path, OTHERWISE));
    let id = Spanned::new(OTHERWISE.to_owned(), route.key_span(OTHERWISE));
    if has_steps_alone(node) {
        let keys = KeyReader::new(lower, owner, &[&keys::OTHERWISE_STEPS], node)?;
        return Some(with_steps(&keys, id, inside));
    }
    let (keys, kind) = one_kind(lower, &owner, &[&keys::EVERY_STEP], keys::KINDS, Some(&keys::OTHERWISE_STEPS), node);
    let mut step = step(keys.as_ref(), kind, node, inside);
    step.id = id.clone();
    check_kind(lower, &owner, &step);
    Some(alone(step))
}

/// A case is a step of any kind but `route` and `gate`.
fn check_kind(lower: &Lower, owner: &KeyOwner, step: &Step) {
    if let StepKind::Route(_) | StepKind::Gate(_) = step.kind {
        let kind = step.kind.word();
        let message = format!("{owner} cannot itself be a {kind}");
        lower.report(Diagnostic::bad_value(step.kind_span, message).help(format!("put the {kind} into a list: steps: [ … ]")));
    }
}
