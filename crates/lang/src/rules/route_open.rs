//! F110: a route that may end the run.

use super::constant_condition::constant;
use super::{Code, Diagnostic, PipelinePlan, Plan};
use crate::model::StepKind;

pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let StepKind::Route(route) = &planned.step.kind else { continue };
        let id = &planned.step.id.value;
        let takes_all = route.cases.iter().filter_map(|case| case.when.as_ref()).any(|when| constant(when) == Some(true));
        if route.otherwise.is_none() && !takes_all {
            let message = format!("route \"{id}\" has no otherwise; a question that matches no case ends the run");
            out.push(
                Diagnostic::new(Code::RouteOpen, planned.step.id.span, message)
                    .help("add otherwise: { set: … }, or another step for the rest"),
            );
        }
    }
}
