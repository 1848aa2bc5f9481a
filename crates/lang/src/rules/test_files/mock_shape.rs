//! F704: a mock that is not what its step gives; of replies see `reply_shape.rs`. A test may well try such a result; then it does not expect that all goes well.

use std::collections::HashSet;

use serde_json::Value;

use crate::diagnostic::one_line;
use crate::gate::mocked::{elements_held, held, of_tool};
use crate::gate::result::ResultContext;
use crate::model::{Mock, Shape, Step, StepKind, TestCase, TestFile, step_path};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::step_paths::{PathEnd, way};
use crate::source::Span;

const CORRECT: &str = "correct the mock; if the test is about such a result, expect how the run ends, such as status: failed";

/// F704, for the mocks of tests.
pub(in crate::rules) fn in_tests(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    for case in tests.cases.iter().filter(|case| expects_success(case)) {
        for (name, mock) in case.mocks.iter() {
            let Mock::Output(value) = &mock.value else { continue };
            let wrong = mocked(name, case, pipeline, plan).into_iter().find_map(|mocked| {
                let asked = if let StepKind::Agent(asked) = &mocked.step.kind { Some(asked) } else { None };
                let agent = asked.and_then(|asked| mocked.pipeline.pipeline.agents.get(&asked.agent.value));
                let called = mocked.pipeline.called(mocked.step).map(|id| &plan.pipeline(id).pipeline.outputs);
                let around = ResultContext { agent, called };
                let is_known = !is_lost(mocked.step, around);
                let file = &mocked.pipeline.pipeline;
                let held = match mocked.is_whole {
                    true => elements_held(mocked.step, file, around, value),
                    false => held(mocked.step, file, around, value),
                };
                let problems = held.err().filter(|_| is_known)?;
                Some((mocked.step, problems, mocked.is_whole && !value.is_array(), mocked.is_whole))
            });
            let used = pipeline.pipeline.tool(name).filter(|_| mocked(name, case, pipeline, plan).is_empty());
            let problems = used.map_or(vec![], |(tool, _)| of_tool(&tool.kind, value));
            if !problems.is_empty() && told.insert(mock.span) {
                let what = format!("the mock of {} is no result of that tool: {}", quoted(name), problems.join("; "));
                out.push(new_finding(mock.span, &what).help(CORRECT));
            }
            let Some((step, problems, is_one, is_list)) = wrong.filter(|_| told.insert(mock.span)) else { continue };
            let of = if step.id.value == *name {
                "the step's output".to_owned()
            } else {
                format!("the output of step {}", quoted(&step.id.value))
            };
            let what = format!("the mock of {} does not match {of}: {}", quoted(name), problems.join("; "));
            let help = match is_one {
                true => format!("write a list with an output for each element, or one mock for each: \"{name}[0]\", \"{name}[1]\""),
                false => mended(name, step, value).filter(|_| !is_list).unwrap_or_else(|| CORRECT.to_owned()),
            };
            out.push(new_finding(mock.span, &what).help(help));
        }
    }
}

/// The mock that was most likely meant: the whole answer for its body alone, the row for a list of it.
fn mended(name: &str, step: &Step, value: &Value) -> Option<String> {
    let is_http = matches!(step.kind, StepKind::Http(_)) && value.get("body").is_none();
    if is_http {
        return Some(format!("write {name}: {{ status: 200, headers: {{}}, body: {} }}", one_line(&value.to_string(), 80)));
    }
    let is_one = matches!(&step.kind, StepKind::Sql(sql) if sql.one.is_some());
    let [row] = value.as_array().filter(|_| is_one)?.as_slice() else { return None };
    Some(format!("write {name}: with that row alone, without [ and ]: {}", one_line(&row.to_string(), 80)))
}

/// Whether a case expects that all goes well.
pub(in crate::rules) fn expects_success(case: &TestCase) -> bool {
    let Some(expect) = &case.expect else { return true };
    expect.status.as_ref().is_none_or(|status| status.value == "succeeded") && expect.exit.as_ref().is_none_or(|exit| exit.value == 0)
}

pub(in crate::rules) fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::MockShape, span, message)
}

/// A step that a mock stands for.
struct Mocked<'p> {
    pipeline: &'p PipelinePlan,
    step: &'p Step,
    /// Its whole `for_each`, and not one element.
    is_whole: bool,
}

/// The steps that a mock stands for: one by its path, or all that use the tool and have no mock of their own.
fn mocked<'p>(name: &str, case: &TestCase, pipeline: &'p PipelinePlan, plan: &'p Plan) -> Vec<Mocked<'p>> {
    let whole = |pipeline, step: &'p Step| Mocked { pipeline, step, is_whole: step.for_each.is_some() && !name.ends_with(']') };
    match way(plan, pipeline, name) {
        PathEnd::Step(pipeline, ix) => return vec![whole(pipeline, &pipeline.step(ix).step)],
        PathEnd::Inside => {
            // A case that is a step.
            let Some((above, id)) = step_path::split(name) else { return vec![] };
            let PathEnd::Step(pipeline, ix) = way(plan, pipeline, above) else { return vec![] };
            let case = pipeline.step(ix).step.kind.cases().find(|case| case.id.value == id && !case.has_steps);
            return case.and_then(|case| case.steps.first()).map(|step| whole(pipeline, step)).into_iter().collect();
        }
        PathEnd::Nowhere | PathEnd::Case(_) => {}
    }
    let own: HashSet<&str> = case.mocks.iter().map(|(path, _)| step_path::id(path)).collect();
    let uses = |step: &Step| matches!(&step.kind, StepKind::Tool(tool) if tool.tool.value == name) && !own.contains(step.id.as_str());
    let all = plan.pipelines.iter().flat_map(|pipeline| pipeline.steps.iter().map(move |planned| (pipeline, &*planned.step)));
    all.filter(|(_, step)| uses(step)).map(|(pipeline, step)| Mocked { pipeline, step, is_whole: false }).collect()
}

/// Whether the shape of a step could not be read: a shape without fields is one of those.
pub(in crate::rules) fn is_lost(step: &Step, around: ResultContext) -> bool {
    let shape = step.kind.facts().output.or(around.agent.and_then(|agent| agent.output.as_ref()));
    matches!(shape, Some(Shape::Fields(fields)) if fields.is_empty())
}
