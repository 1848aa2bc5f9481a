//! F114: a case of a route for a value that the routed one never is.

use crate::diagnostic::did_you_mean;
use crate::model::{RouteStep, Shape, StepKind};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding, listed, quoted, sole_path};
use crate::source::Span;
use crate::template::folded_letters;
use crate::template::types::Type;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in names.pipeline.numbered_steps() {
        let StepKind::Route(route) = &planned.step.kind else { continue };
        let Some(values) = values_of(names, ix, route) else {
            other_letters(route, out);
            continue;
        };
        let subject = route.subject.source.trim();
        for (case, text) in route.cases.iter().flat_map(|case| case.equals.iter().map(move |text| (case, text))) {
            if values.contains(&text.value) {
                continue;
            }
            let near = did_you_mean(&text.value, values.iter().map(String::as_str));
            let message =
                format!("case {} is never chosen for {}: {subject} is never that{near}", quoted(&case.id.value), quoted(&text.value));
            let found = new_finding(text.span, &message).help(format!("use one of: {}", listed(&values)));
            out.push(match near.names.first().cloned() {
                Some(name) => found.near(near).proposed_fix(vec![(text.span, name)]),
                None => found,
            });
        }
    }
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::RouteValue, span, message)
}

/// A case for a text with letters that the routed one has not.
fn other_letters(route: &RouteStep, out: &mut Vec<Diagnostic>) {
    let Some(letters) = folded_letters(&route.subject) else { return };
    for (case, text) in route.cases.iter().flat_map(|case| case.equals.iter().map(move |text| (case, text))) {
        let Some(spelling) = letters.other_spelling(&text.value) else { continue };
        let message = format!("case {} is never chosen for {}: {}", quoted(&case.id.value), quoted(&text.value), letters.why());
        out.push(new_finding(text.span, &message).help(format!("write {}", quoted(&spelling))).proposed_fix(vec![(text.span, spelling)]));
    }
}

/// All texts that the routed value can be, the empty one too where it need not be given; `None`: not known.
pub(in crate::rules) fn values_of(names: &PipelineNames, ix: StepIx, route: &RouteStep) -> Option<Vec<String>> {
    let Type::OneOf(values) = names.text(&names.seat(ix), &route.subject) else { return None };
    let mut values = values.to_vec();
    let input = sole_path(&route.subject).and_then(|read| if let [root, name] = read.path.as_slice() { Some((root, name)) } else { None });
    if let (Some((root, name)), Shape::Fields(fields)) = (input, &names.pipeline.pipeline.inputs)
        && root == "inputs"
        && fields.iter().any(|field| field.name == *name && !field.is_required && field.default.is_none())
    {
        values.push(String::new());
    }
    Some(values)
}
