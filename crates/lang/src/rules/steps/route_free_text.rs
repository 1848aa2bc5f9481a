//! F115: a route that compares the free text of a model letter by letter.

use crate::model::StepKind;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding, listed, quoted, sole_path};
use crate::rules::support::meant::step_of;
use crate::template::types::Type;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in names.pipeline.numbered_steps() {
        let StepKind::Route(route) = &planned.step.kind else { continue };
        let values: Vec<&str> = route.cases.iter().flat_map(|case| &case.equals).map(|text| text.as_str()).collect();
        let (Some(first), Some(read)) = (route.cases.iter().flat_map(|case| &case.equals).next(), sole_path(&route.subject)) else {
            continue;
        };
        let Some(step) = step_of(names, &read.path).filter(|step| matches!(step.kind, StepKind::Agent(_))) else { continue };
        if names.text(&names.seat(ix), &route.subject) != Type::Text {
            continue;
        }
        let id = &step.id.value;
        let message =
            format!("{} is what a model writes in its own words, and {} fits no other", read.path.join("."), quoted(&first.value));
        let help = match read.path.as_slice() {
            [_, _, _] => format!(
                "add to step \"{id}\" output: {{ kind: {{ type: text, enum: [{}] }} }}, and route steps.{id}.output.kind",
                listed(&values)
            ),
            [.., field] => {
                format!("add its values where the output of \"{id}\" is: {field}: {{ type: text, enum: [{}] }}", listed(&values))
            }
            [] => continue,
        };
        out.push(finding(Code::RouteFreeText, first.span, &message).help(help));
    }
}
