//! F618: a guarantee that the file asks for does not hold in every run.

use super::guarantees::{GuaranteeVerdict, of};
use crate::model::{Guarantee, PipelineId};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding};
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let at = plan.pipelines.iter().position(|own| std::ptr::eq(own, pipeline));
    let asked: Vec<Guarantee> = pipeline.pipeline.guarantees.iter().map(|asked: &Spanned<Guarantee>| asked.value).collect();
    out.extend(at.into_iter().flat_map(|at| unmet(plan, PipelineId(at), &asked)));
}

/// The findings for guarantees that somebody asks of a pipeline.
pub fn unmet(plan: &Plan, pipeline: PipelineId, asked: &[Guarantee]) -> Vec<Diagnostic> {
    let mut found = vec![];
    for guarantee in asked {
        let (exceptions, but) = match of(plan, pipeline, *guarantee) {
            GuaranteeVerdict::Holds(_) => continue,
            GuaranteeVerdict::HoldsIf(exceptions) => (exceptions, "holds only if"),
            GuaranteeVerdict::Broken(exceptions) => (exceptions, "is broken:"),
        };
        for exception in exceptions {
            let message = format!("{} {but} {}", guarantee.word(), exception.message);
            let mut one = finding(Code::GuaranteeUnmet, exception.span, &message).help(exception.help);
            one.related = exception.way;
            found.push(one);
        }
    }
    found
}
