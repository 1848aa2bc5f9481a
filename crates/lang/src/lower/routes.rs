//! `route`, its cases and `otherwise`.

use std::sync::Arc;

use super::context::{Lower, quoted};
use super::ids::Ids;
use super::keys;
use super::reader::KeyReader;
use super::steps::{StepScope, check_reserved, step, steps};
use super::tools::one_kind;
use crate::diagnostic::Diagnostic;
use crate::model::{Case, RouteStep, Step, StepKind, Text, step_path};
use crate::source::Spanned;
use crate::syntax::Node;

/// The id of a route's last way.
const OTHERWISE: &str = "otherwise";

/// Reads a route; `inside` is where its cases stand (`facts`).
pub fn route(keys: &KeyReader, inside: &StepScope) -> Option<RouteStep> {
    let subject = keys.expression("route");
    let (mut cases, mut ids) = (vec![], Ids::default());
    for (index, node) in keys.filled_list("cases").unwrap_or_default().iter().enumerate() {
        if let Some(case) = case(keys.lower, node, index + 1, inside) {
            keys.lower.check_unique("cases", &case.id, ids.take(&case.id));
            cases.push(case);
        }
    }
    let otherwise = keys.get(OTHERWISE).and_then(|node| otherwise(keys, node, inside));
    Some(RouteStep { subject: subject?, cases, otherwise })
}

fn case(lower: &Lower, node: &Node, number: usize, inside: &StepScope) -> Option<Case> {
    let written = node.as_map().and_then(|map| map.get("id")).and_then(Node::as_scalar).map(|scalar| scalar.text.clone());
    let owner = match &written {
        Some(id) => format!("case {}", quoted(&step_path::inside(&inside.path, id))),
        None => format!("case {number} of {}", quoted(&inside.path)),
    };
    let unknown = Spanned::new(format!("case {number}"), node.span);
    if node.as_map().is_some_and(|map| map.get("steps").is_some()) {
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
    let mut case = Case { id: step.id.clone(), phrases: vec![], when: None, steps: vec![Arc::new(step)], has_steps: false };
    if let Some(keys) = keys {
        check_id(&keys, &case.id);
        (case.phrases, case.when) = condition(&keys);
    }
    Some(case)
}

fn with_steps(keys: &KeyReader, id: Spanned<String>, inside: &StepScope) -> Case {
    let (phrases, when) = condition(keys);
    let scope = StepScope { path: step_path::inside(&inside.path, &id.value), ..inside.clone() };
    let list = keys.filled_list("steps").unwrap_or_default();
    Case { id, phrases, when, steps: steps(keys.lower, list, &scope), has_steps: true }
}

/// `phrases` and `when`; a case needs one of them.
fn condition(keys: &KeyReader) -> (Vec<Spanned<String>>, Option<Text>) {
    if !keys.allows("phrases") {
        return (vec![], None);
    }
    let phrases = keys.get("phrases").map(|node| keys.lower.one_or_many("phrases", node)).unwrap_or_default();
    let phrases = phrases.into_iter().filter_map(|node| keys.lower.name("phrases", node)).collect();
    if !keys.has("phrases") && !keys.has("when") {
        keys.missing("has neither phrases nor when", "add phrases: [words that occur in the text] or when: an expression");
    }
    (phrases, keys.expression("when"))
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
    let owner = quoted(&step_path::inside(&inside.path, OTHERWISE));
    let id = Spanned::new(OTHERWISE.to_owned(), route.key_span(OTHERWISE));
    if node.as_map().is_some_and(|map| map.get("steps").is_some()) {
        let keys = KeyReader::new(lower, owner, &[&keys::OTHERWISE_STEPS], node)?;
        return Some(with_steps(&keys, id, inside));
    }
    let (keys, kind) = one_kind(lower, &owner, &[&keys::EVERY_STEP], keys::KINDS, Some(&keys::OTHERWISE_STEPS), node);
    let mut step = step(keys.as_ref(), kind, node, inside);
    step.id = id.clone();
    check_kind(lower, &owner, &step);
    Some(Case { id, phrases: vec![], when: None, steps: vec![Arc::new(step)], has_steps: false })
}

/// A case is a step of any kind but `route` and `gate`.
fn check_kind(lower: &Lower, owner: &str, step: &Step) {
    if let StepKind::Route(_) | StepKind::Gate(_) = step.kind {
        let kind = step.kind.word();
        let message = format!("{owner} cannot itself be a {kind}");
        lower.report(Diagnostic::bad_value(step.kind_span, message).help(format!("put the {kind} into a list: steps: [ … ]")));
    }
}
