//! `approval`: a question to a person.

use std::sync::Arc;

use super::context::quoted;
use super::fields::{FieldRole, is_template};
use super::reader::KeyReader;
use super::reserved::check_reserved;
use crate::diagnostic::{Code, Diagnostic};
use crate::gate::shape::object_schema;
use crate::model::{ApprovalStep, Field, FieldKind, Shape};
use crate::source::Spanned;

pub(super) fn approval(keys: &KeyReader) -> Option<ApprovalStep> {
    let (question, show, on_timeout) = (keys.text("approval")?, keys.filling("show"), on_timeout(keys));
    let own = ApprovalStep::OWN.map(|name| Field::new(name, FieldKind::Text));
    if keys.get("form").is_some_and(|node| node.as_scalar().is_some_and(|scalar| scalar.value.is_string())) {
        // What else the answer holds is known when the questions are there.
        let mut open = object_schema(&own);
        open["additionalProperties"] = true.into();
        let gives = Shape::Schema(Arc::new(open));
        return Some(ApprovalStep { question, show, questions: keys.expression("form"), gives, defaults: vec![], on_timeout });
    }
    let form = keys.fields("form", "field", FieldRole::Form);
    for field in &form {
        let name = Spanned::new(field.name.clone(), field.span);
        check_reserved(keys.lower, "a field of a form", &name, &ApprovalStep::OWN, "each answer has it");
    }
    let defaults = keys.entries("form").filter_map(|(name, node)| {
        let default = node.as_map()?.get("default").filter(|node| is_template(node))?;
        Some((Spanned::new(name.text.clone(), name.span), keys.lower.texts().filling(default)))
    });
    let defaults = defaults.collect();
    let gives = Shape::Fields(own.into_iter().chain(form).collect());
    Some(ApprovalStep { question, show, questions: None, gives, defaults, on_timeout })
}

/// The step that runs when nobody answered. F314 for a time-out that would be a yes.
fn on_timeout(keys: &KeyReader) -> Option<Spanned<String>> {
    let answer = keys.name("on_timeout")?;
    if !keys.has("timeout") {
        keys.missing("has on_timeout but no \"timeout\"", "add timeout: the time a person has, such as 2h, or remove on_timeout");
    }
    match answer.value.as_str() {
        "reject" => None,
        "approve" | "accept" | "continue" | "yes" => {
            let message = format!("on_timeout {} would approve the step without a person", quoted(&answer.value));
            let found = Diagnostic::new(Code::ApproveBySilence, answer.span, message);
            keys.lower.report(found.help("write reject, or the id of a step below that runs only then"));
            None
        }
        _ => Some(answer),
    }
}
