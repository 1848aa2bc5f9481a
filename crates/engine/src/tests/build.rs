//! Small pipelines for tests.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::*;
use crate::plan::{Plan, plan};
use crate::source::{Span, Spanned};

pub(super) fn named(text: &str) -> Spanned<String> {
    Spanned::new(text.to_string(), Span::default())
}

pub(super) fn text(source: &str) -> Text {
    let mut diagnostics = vec![];
    let text = crate::template::text(source, TextPlace::default(), &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    text
}

pub(super) fn bare(source: &str) -> Text {
    let mut diagnostics = vec![];
    let text = crate::template::expression(source, TextPlace::default(), &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    text
}

pub(super) fn step(id: &str, kind: StepKind) -> Step {
    Step {
        id: named(id),
        span: Span::default(),
        name: None,
        needs: None,
        when: None,
        for_each: None,
        timeout: None,
        deadline: None,
        retry: None,
        on_failure_span: Span::default(),
        timeout_span: Span::default(),
        on_failure: OnFailure::Stop,
        cache: None,
        phase: None,
        is_pii: false,
        is_once: false,
        kind_span: Span::default(),
        kind,
    }
}

/// A step that calls something: a query.
pub(super) fn query(id: &str) -> Step {
    step(id, StepKind::Sql(SqlStep { query: text("select 1"), with: vec![], filled: vec![], one: None, max_rows: None }))
}

/// A step that only computes.
pub(super) fn set(id: &str, value: &str) -> Step {
    step(id, StepKind::Set(Filling::Text(text(value))))
}

pub(super) fn agent(id: &str, prompt: &str) -> Step {
    step(
        id,
        StepKind::Agent(AgentStep {
            agent: named("writer"),
            prompt: text(prompt),
            model: None,
            output: None,
            attach: None,
            history: History::Nothing,
        }),
    )
}

pub(super) fn needs(mut step: Step, needs: &[&str]) -> Step {
    step.needs = Some(needs.iter().map(|n| named(n)).collect());
    step
}

pub(super) fn for_each(mut step: Step, list: &str, fail_fast: bool, max_parallel: Option<u64>) -> Step {
    step.for_each = Some(ForEach { list: Filling::Text(bare(list)), name: None, max_parallel, fail_fast, is_broken: false });
    step
}

pub(super) fn retry(attempts: u64) -> Retry {
    Retry {
        max_attempts: attempts,
        delay: Duration::from_secs(1),
        backoff: Backoff::Fixed,
        max_delay: Duration::from_secs(60),
        jitter: false,
        on: vec![FailureKind::Timeout, FailureKind::Connection],
    }
}

pub(super) fn case(id: &str, steps: Vec<Step>) -> Case {
    Case { phrases: vec![named(id)], ..Case::new(named(id), steps.into_iter().map(Arc::new).collect(), true) }
}

pub(super) fn group(id: &str, parallel: bool, steps: Vec<Step>) -> Step {
    let inner = Case::list(Span::default(), steps.into_iter().map(Arc::new).collect());
    step(id, StepKind::Group(GroupStep { inner, parallel }))
}

pub(super) fn repeat(id: &str, steps: Vec<Step>, until: &str, at_most: u64) -> Step {
    let inner = Case::list(Span::default(), steps.into_iter().map(Arc::new).collect());
    step(id, StepKind::Repeat(RepeatStep { inner, until: bare(until), at_most, unmet: Unmet::Fail, stop_on_same: None }))
}

pub(super) fn pipeline(name: &str, steps: Vec<Step>) -> Pipeline {
    let model = Model { model: Some(text("m")), ..Model::new(Provider::Service(Service::OpenAi)) };
    Pipeline {
        conversation: None,
        name: named(name),
        description: None,
        asked: None,
        folder: ".".into(),
        project: ".".into(),
        hash: String::new(),
        inputs: Shape::Fields(vec![]),
        data: IndexMap::new(),
        prepared: Default::default(),
        person: None,
        secrets: IndexMap::new(),
        agents: [("writer".to_string(), Agent::default())].into_iter().collect(),
        models: [("default".to_string(), model)].into_iter().collect(),
        tools: IndexMap::new(),
        scorecards: IndexMap::new(),
        channels: vec![],
        lists_channels: false,
        style_guide: None,
        style_guide_at: None,
        style_guides_there: vec![],
        policies: IndexMap::new(),
        policy: None,
        limits: Limits::default(),
        steps: steps.into_iter().map(Arc::new).collect(),
        outputs: Outputs::None,
        on_failure: vec![],
        finally: vec![],
        guarantees: vec![],
    }
}

pub(super) fn planned(pipelines: Vec<Pipeline>) -> Arc<Plan> {
    let mut diagnostics = vec![];
    let program = Program { pipelines: pipelines.into_iter().map(Arc::new).collect() };
    let plan = plan(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    Arc::new(plan)
}

pub(super) fn output(name: &str, value: &str) -> (Spanned<String>, Filling) {
    (named(name), Filling::Text(text(value)))
}

/// A scorecard whose criterion `good` needs the word "good" in the text.
pub(super) fn good() -> Scorecard {
    Scorecard {
        span: Span::default(),
        judge: None,
        on_judge_error: OnJudgeError::Fail,
        criteria: vec![Criterion {
            id: named("good"),
            when: None,
            description: "The text holds the word good.".into(),
            expected: None,
            feedback: None,
            judging: Judging::Checks(vec![Spanned::new(
                Check::Contains(vec![text("good")], crate::model::LetterCase::Exact),
                Span::default(),
            )]),
        }],
    }
}

pub(super) fn gate(id: &str, of: &str, refine: Option<&str>, otherwise: Option<&str>) -> Step {
    step(
        id,
        StepKind::Gate(GateStep {
            scorecards: vec![ScorecardRef::Named(named("card"))],
            of: bare(of),
            with: vec![],
            judge: None,
            refine: refine.map(named),
            otherwise: otherwise.map(text),
        }),
    )
}

pub(super) fn constant(value: Value) -> StepKind {
    StepKind::Set(Filling::Constant(value))
}
