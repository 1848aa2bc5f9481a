//! F110: a route that may end the run.

use super::route_value::values_of;
use crate::model::{RouteStep, StepKind, phrase_words};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, listed, quoted};
use crate::rules::values::constant_condition::constant;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in names.pipeline.numbered_steps() {
        let StepKind::Route(route) = &planned.step.kind else { continue };
        let id = &planned.step.id.value;
        let takes_all = route
            .cases
            .iter()
            .filter(|case| case.unless.is_empty())
            .filter_map(|case| case.when.as_ref())
            .any(|when| constant(when) == Some(true));
        if route.otherwise.is_some() || takes_all {
            continue;
        }
        let open = values_of(names, ix, route).map(|values| values.into_iter().filter(|value| !is_taken(route, value)).collect::<Vec<_>>());
        let message = match open.as_deref() {
            Some([]) => continue,
            Some(open) if open.len() < 10 && route.cases.iter().any(|case| !case.equals.is_empty()) => {
                format!(
                    "route \"{id}\" has no case for {}, and no otherwise: the run would end",
                    listed(open.iter().map(|value| quoted(value)))
                )
            }
            _ => format!("route \"{id}\" has no otherwise; a question that matches no case ends the run"),
        };
        out.push(
            Diagnostic::new(Code::RouteOpen, planned.step.id.span, message).help("add otherwise: { set: … }, or another step for the rest"),
        );
    }
}

fn is_taken(route: &RouteStep, value: &str) -> bool {
    let words = phrase_words(value);
    route.cases.iter().any(|case| case.fits(value, &words) == Some(true))
}
