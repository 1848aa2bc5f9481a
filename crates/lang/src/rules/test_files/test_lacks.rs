//! F706: a test case in which a step that surely runs has nobody to answer it: no reply, no mock and no recording.

use super::mock_shape::expects_success;
use crate::model::{JUDGE_REPLY, Judging, Model, Provider, StepKind, TestCase, TestFile, ToolKind, ToolName};
use crate::plan::sure_steps;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, listed, quoted};
use crate::rules::support::step_paths::{PathEnd, way};
use crate::source::Span;

/// F706. `is_recorded`: whether answers of models are recorded for a case.
pub(in crate::rules) fn check(
    tests: &TestFile,
    pipeline: &PipelinePlan,
    plan: &Plan,
    is_recorded: &dyn Fn(&str) -> bool,
    out: &mut Vec<Diagnostic>,
) {
    for case in tests.cases.iter().filter(|case| expects_success(case)) {
        // A name that leads nowhere was meant for one of these.
        let own = case.mocks.own.keys().chain(case.replies.own.keys());
        if own.into_iter().any(|path| !case_names(path, pipeline, plan)) {
            continue;
        }
        let span = case.inputs.values().last().map_or(case.id.span, |value| value.span);
        let id = quoted(&case.id.value);
        let (mocks, replies) = (unmocked(case, pipeline), unanswered(case, pipeline));
        if let Some((first, what)) = mocks.first() {
            let names = listed(mocks.iter().map(|(name, _)| quoted(name)));
            let message = format!(
                "test {id} can never pass: it has no mock for {names}, which {}",
                if mocks.len() == 1 { *what } else { "act outside" }
            );
            let help = match *what {
                ASKS => {
                    let step = pipeline.steps.iter().map(|planned| &planned.step).find(|step| step.id.value == *first);
                    let form = if let Some(StepKind::Approval(approval)) = step.map(|step| &step.kind) { approval.form() } else { &[] };
                    let form: String = form.iter().filter(|field| field.is_required).map(|field| format!(", {}: …", field.name)).collect();
                    format!("add mocks: {{ {first}: {{ by: ana{form} }} }} to the case")
                }
                _ => format!("add mocks: {{ {first}: … }} with what it would give"),
            };
            out.push(found(span, &message).help(help));
        } else if let Some(first) = replies.first().filter(|_| !is_recorded(&case.id.value)) {
            let message =
                format!("test {id} cannot pass: it has no reply for {}, and no recording", listed(replies.iter().map(|name| quoted(name))));
            out.push(found(span, &message).help(format!("add replies: {{ {first}: … }}, or record one: flow test --record")));
        }
    }
}

/// Whether a path leads to a step, or names a tool.
fn case_names(path: &str, pipeline: &PipelinePlan, plan: &Plan) -> bool {
    let is_tool = || plan.pipelines.iter().any(|planned| planned.pipeline.tools.contains_key(ToolName::parse(path).tool));
    !matches!(way(plan, pipeline, path), PathEnd::Nowhere) || is_tool() || path == "person" || path == JUDGE_REPLY
}

fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::TestLacksAnswer, span, message)
}

/// What an approval does.
const ASKS: &str = "asks a person";

/// Steps that surely act outside or ask a person, and have no mock.
fn unmocked<'p>(case: &TestCase, pipeline: &'p PipelinePlan) -> Vec<(&'p str, &'static str)> {
    let steps = sure_steps(pipeline).filter(|(_, step)| step.for_each.is_none() && case.mocks.get(&step.id.value).is_none());
    let what = steps.filter_map(|(_, step)| {
        let by_tool = if let StepKind::Tool(tool) = &step.kind { pipeline.pipeline.tools.get_key_value(&tool.tool.value) } else { None };
        let asks_tool = by_tool.is_some_and(|(name, used)| matches!(used.kind, ToolKind::Http { .. }) && case.mocks.get(name).is_none());
        let makes_request = asks_tool || matches!(step.kind, StepKind::Http(_));
        let what = if matches!(step.kind, StepKind::Approval(_)) { Some(ASKS) } else { makes_request.then_some("makes a request") };
        Some((step.id.value.as_str(), what?))
    });
    what.collect()
}

/// Steps that surely ask a model, and have no reply; also the judge of what the case expects.
fn unanswered<'p>(case: &TestCase, pipeline: &'p PipelinePlan) -> Vec<&'p str> {
    let file = &pipeline.pipeline;
    let answers_itself = |model: &Model| matches!(model.provider, Provider::Scripted(_) | Provider::Replay(_) | Provider::Tool(_));
    // Which model answers may follow from another one's fallback.
    if file.models.values().any(answers_itself) {
        return vec![];
    }
    let is_open = |id: &str| case.mocks.get(id).is_none() && case.replies.get(id).is_none();
    let steps = sure_steps(pipeline).filter(|(_, step)| step.for_each.is_none() && is_open(&step.id.value));
    let asks_judge = |gate| {
        let criteria = crate::rules::support::scorecards::known_scorecards(pipeline, gate).flat_map(|card| &card.criteria);
        criteria.into_iter().any(|criterion| criterion.when.is_none() && matches!(criterion.judging, Judging::Judge))
    };
    let asks = steps.filter(|(_, step)| {
        let is_agent =
            matches!(&step.kind, StepKind::Agent(asked) if file.agents.contains_key(&asked.agent.value) && asked.model.is_none());
        is_agent || matches!(&step.kind, StepKind::Gate(gate) if asks_judge(gate))
    });
    let judge = case.expect.iter().filter(|expect| expect.judge.is_some() && case.replies.get(JUDGE_REPLY).is_none()).map(|_| JUDGE_REPLY);
    asks.map(|(_, step)| step.id.value.as_str()).chain(judge).collect()
}
