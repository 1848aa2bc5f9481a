//! `expect.judge`: a model judges the result of a run. Like the judge of a gate, it has its own run with one gate and one criterion.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::file::{SentMessage, one_text};
use super::outcome::TrialEnding;
use super::suite::Suite;
use crate::event::{Event, Happening, RunStart, Verdict};
use crate::model::{
    Agent, Criterion, Expect, Field, FieldKind, Filling, GateStep, JUDGE_CRITERION, JUDGE_REPLY, Judging, OnJudgeError, Outputs, Pipeline,
    Program, Scorecard, ScorecardRef, Shape, Step, StepKind, TestCase, Text, TextPlace,
};
use crate::plan::{Plan, plan};
use crate::source::Spanned;
use crate::template;

/// The names of the judged result and, for a template, of the inputs in the run of the judge.
const RESULT: &str = "result";
const INPUTS: &str = "inputs";

/// A run that calls a judge.
pub(super) struct JudgeRun {
    pub(super) plan: Arc<Plan>,
    pub(super) start: RunStart,
}

/// Creates the judge's run for a run that ended as expected; `None`: nothing is to be judged. Errors: there is no result to judge.
pub(super) fn run_of(
    suite: &Suite,
    case: &TestCase,
    (start, ending, sent): (&RunStart, &TrialEnding, &[SentMessage]),
) -> Option<Result<JudgeRun, String>> {
    let wanted = case.expect.as_ref()?.judge.as_ref()?;
    let TrialEnding::Over(end) = ending else { return None };
    let result = match &*end.outputs {
        _ if !sent.is_empty() => one_text(sent),
        Value::Null => return Some(Err("the run sent nothing and has no outputs, so there is nothing to judge".to_owned())),
        Value::String(text) => text.clone(),
        outputs => serde_json::to_string_pretty(outputs).unwrap_or_default(),
    };
    let pipeline = pipeline(suite, wanted);
    let inputs = [(RESULT, Value::String(result)), (INPUTS, (*start.inputs).clone())].map(|(name, value)| (name.to_owned(), value));
    let start = RunStart {
        pipeline: pipeline.name.value.clone(),
        inputs: Arc::new(Value::Object(Map::from_iter(inputs))),
        channel: None,
        conversation: None,
        names_outputs: false,
        failure: None,
        ..start.clone()
    };
    let plan = plan(&Program { pipelines: vec![Arc::new(pipeline)] }, &mut vec![]);
    Some(Ok(JudgeRun { plan: Arc::new(plan), start }))
}

/// Whether the case needs a judge's run.
pub(super) fn is_wanted(expect: Option<&Expect>) -> bool {
    expect.is_some_and(|expect| expect.judge.is_some())
}

/// Builds a pipeline with one gate, and the models and policies of the pipeline under test.
fn pipeline(suite: &Suite, wanted: &Spanned<String>) -> Pipeline {
    let tested = suite.pipeline();
    let named = |name: &str| Spanned::new(name.to_owned(), wanted.span);
    let read = |source: &str| template::expression(source, TextPlace::default(), &mut vec![]);
    let handed = |name: &str| -> Text { template::text(&format!("{{{{ inputs.{name} }}}}"), TextPlace::default(), &mut vec![]) };
    let gate = GateStep {
        scorecards: vec![ScorecardRef::Named(named(JUDGE_CRITERION))],
        of: read(&format!("inputs.{RESULT}")),
        with: vec![(named(INPUTS), Filling::Text(handed(INPUTS)))],
        judge: None,
        refine: None,
        otherwise: None,
    };
    let criterion = Criterion {
        id: named(JUDGE_CRITERION),
        when: None,
        description: wanted.value.clone(),
        expected: None,
        feedback: None,
        judging: Judging::Judge,
    };
    let card =
        Scorecard { span: wanted.span, judge: Some(named(JUDGE_CRITERION)), on_judge_error: OnJudgeError::Fail, criteria: vec![criterion] };
    let judge = Agent { span: wanted.span, model: suite.test.judge_model.clone(), ..Agent::default() };
    let fields = [(RESULT, FieldKind::Text), (INPUTS, FieldKind::Object)].map(|(name, kind)| Field::new(name, kind));
    Pipeline {
        name: named(JUDGE_REPLY),
        inputs: Shape::Fields(fields.to_vec()),
        agents: [(JUDGE_CRITERION.to_owned(), judge)].into(),
        scorecards: [(JUDGE_CRITERION.to_owned(), card)].into(),
        steps: vec![Arc::new(Step { id: named(JUDGE_REPLY), kind: StepKind::Gate(gate), ..Step::default() })],
        person: None,
        conversation: None,
        channels: vec![],
        lists_channels: false,
        guarantees: vec![],
        outputs: Outputs::None,
        on_failure: vec![],
        finally: vec![],
        ..tested.clone()
    }
}

/// Returns why the judge rejects the result; `None`: it accepts. `is_unanswered`: the judge had no reply, and no model was called.
pub(super) fn complaint(events: &[Event], is_unanswered: bool) -> Option<String> {
    if is_unanswered {
        return Some(format!(
            "nobody judged the result: add {JUDGE_REPLY}: passed to replies, or run flow test --live with a model that answers"
        ));
    }
    let said = |verdicts: &[Verdict]| verdicts.iter().find(|verdict| !verdict.passed).map(|verdict| verdict.feedback.clone());
    let judged = events.iter().find_map(|event| match &event.happening {
        Happening::GatePassed { .. } => Some(None),
        Happening::GateFailed { verdicts, cause, .. } => {
            Some(Some(said(verdicts).filter(|said| !said.is_empty()).unwrap_or_else(|| cause.clone())))
        }
        _ => None,
    });
    let broken = || {
        let failed =
            events.iter().find_map(|event| if let Happening::StepFailed { failure, .. } = &event.happening { Some(failure) } else { None });
        failed.map(|failure| Some(format!("the judge could not answer: {}", failure.message)))
    };
    judged.or_else(broken).unwrap_or_else(|| Some("the judge was not asked".to_owned()))
}
