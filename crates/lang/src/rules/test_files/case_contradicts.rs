//! F705: a test case that can never pass: it gives no required input, or expects a refinement of a pipeline that has none. What else contradicts stands in
//! `test_ends.rs` and `test_values.rs`.

use crate::event::NOT_STARTED;
use crate::model::{Expect, Shape, TestCase, TestFile};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Span;

pub(in crate::rules) fn check(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    // Called pipelines may refine, too.
    let refines = plan.pipelines.iter().any(|pipeline| pipeline.refinement.is_some());
    for case in &tests.cases {
        let id = quoted(&case.id.value);
        let expect = case.expect.as_ref();
        if let (true, Shape::Fields(fields)) = (may_start(case), &pipeline.pipeline.inputs) {
            let needed = fields.iter().filter(|field| field.is_required && field.default.is_none());
            // F700 reports a name that is another's.
            let is_misspelt = case.inputs.keys().any(|name| !fields.iter().any(|field| field.name == *name));
            let missing: Vec<&str> = needed.map(|field| field.name.as_str()).filter(|name| !case.inputs.contains_key(*name)).collect();
            if let Some(first) = missing.first().filter(|_| !is_misspelt) {
                let message = format!("test {id} gives no {}, which the pipeline requires", missing.join(", "));
                out.push(
                    found(case.id.span, &message)
                        .help(format!("add inputs: {{ {first}: … }}, or expect: {{ exit: 2 }}: the run does not start")),
                );
            }
        }
        if let Some(Expect { refined: Some(refined), .. }) = expect
            && refined.value
            && !refines
        {
            let message = format!("test {id} expects a second round, and no gate of the pipeline has refine");
            out.push(found(refined.span, &message).help(
                "remove refined, and of a list of replies all but the last: there is one round; or add refine to a gate of the pipeline",
            ));
        }
    }
}

/// Whether a case expects that its run starts.
pub(in crate::rules) fn may_start(case: &TestCase) -> bool {
    let exit = case.expect.as_ref().and_then(|expect| expect.exit.as_ref());
    exit.is_none_or(|exit| exit.value != i64::from(NOT_STARTED))
}

pub(in crate::rules) fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::TestContradicts, span, message)
}
