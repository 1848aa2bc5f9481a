//! Scripted verdicts: a reply that lets a judge fail a criterion that its gate does not have lets everything pass (F700).

use std::borrow::Cow;
use std::collections::HashSet;

use super::unknown_test_name;
use crate::diagnostic::{did_you_mean, nearest};
use crate::model::{AcceptItem, JUDGE_CRITERION, JUDGE_REPLY, JudgingStep, ReplyBody, ReplySet, TestFile, accept_id};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::support::step_paths::{PathEnd, way};
use crate::source::{Span, Spanned};

/// F700, for the replies of tests.
pub(in crate::rules) fn in_tests(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    for case in &tests.cases {
        for (path, name, known) in unknown(case.replies.iter(), pipeline, plan) {
            tell(path, name, &known, &mut told, out);
        }
    }
}

/// F700, for the replies of scripted models. Their file may serve other pipelines too, so only what is nearly a criterion is a mistake.
pub(in crate::rules) fn in_models(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    for model in pipeline.pipeline.models.values() {
        let Some(replies) = model.provider.scripted() else { continue };
        for (path, name, known) in unknown(replies.by_step.iter(), pipeline, plan) {
            if !nearest(&name.value, known.1.iter().map(|known| &**known)).is_empty() {
                tell(path, name, &known, &mut told, out);
            }
        }
    }
}

fn tell(path: &str, name: &Spanned<String>, (kind, known): &KnownCriteria, told: &mut HashSet<Span>, out: &mut Vec<Diagnostic>) {
    if told.insert(name.span) {
        let hint = did_you_mean(&name.value, known.iter().map(|known| &**known));
        let message = format!("a reply for {kind} {} fails criterion {}, which does not exist{hint}", quoted(path), quoted(&name.value));
        let help = match hint.is_empty() {
            true => format!("use one of: {}", known.iter().map(|known| &**known).collect::<Vec<_>>().join(", ")),
            false => "correct the name, or remove it".to_owned(),
        };
        out.push(unknown_test_name::reported(name.span, &message).help(help).near(hint));
    }
}

/// Criteria that replies fail and their gate does not have: path of the gate, name, and those that it has.
fn unknown<'p>(
    replies: impl Iterator<Item = (&'p String, &'p ReplySet)>,
    pipeline: &'p PipelinePlan,
    plan: &'p Plan,
) -> Vec<(&'p str, &'p Spanned<String>, KnownCriteria<'p>)> {
    let mut found = vec![];
    for (path, set) in replies {
        let Some(known) = criteria(path, pipeline, plan) else { continue };
        for reply in set.all() {
            let ReplyBody::Failed(failed) = &reply.body else { continue };
            let unknown = failed.iter().map(|(name, _)| name).filter(|name| !known.1.iter().any(|known| **known == *name.value));
            found.extend(unknown.map(|name| (path.as_str(), name, known.clone())));
        }
    }
    found
}

/// The kind of a step that judges, and the ids of its criteria.
type KnownCriteria<'p> = (&'static str, Vec<Cow<'p, str>>);

/// The criteria of the gate or task that a path leads to; `None`: it judges nothing, or a step writes some of them in the run.
fn criteria<'p>(path: &str, pipeline: &'p PipelinePlan, plan: &'p Plan) -> Option<KnownCriteria<'p>> {
    if path == JUDGE_REPLY {
        return Some(("the judge", vec![JUDGE_CRITERION.into()]));
    }
    let PathEnd::Step(pipeline, ix) = way(plan, pipeline, path) else { return None };
    let judging = pipeline.step(ix).step.kind.facts().judges?;
    let mut ids: Vec<Cow<str>> = vec![];
    for reference in judging.cards() {
        let card = pipeline.pipeline.scorecards.get(&reference.name()?.value)?;
        ids.extend(card.criteria.iter().map(|criterion| criterion.id.value.as_str().into()));
    }
    if let JudgingStep::Task(task) = judging {
        ids.extend(task.accept.items().iter().enumerate().map(|(place, item)| match item {
            AcceptItem::Text(_) => accept_id(place).into(),
            AcceptItem::Criterion(criterion) => criterion.id.value.as_str().into(),
        }));
    }
    Some((pipeline.step(ix).step.kind.word(), ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::rules::testing::{loaded, says_of, told};

    const PIPELINE: &str = "flow: 1\nname: a\nmodels: { default: { provider: scripted, replies: r.yaml } }\nagents: { w: {}, j: {} }\nscorecards:\n  card:\n    judge: j\n    criteria: [{ id: is_kind, description: It is a kind text., expected: Kind., judge: true }]\nsteps:\n  - { id: draft, agent: w, prompt: x }\n  - { id: check, gate: card, of: steps.draft.output }\n  - { id: own, gate: [card, steps.draft.output], of: steps.draft.output }\n";

    fn test(replies: &str) -> String {
        let text = format!("{PIPELINE}tests:\n  - {{ id: one, golden: true, replies: {replies} }}\n");
        let loaded = loaded(&[("a.yaml", &text), ("r.yaml", "flow: 1\nreplies: { draft: Hi }\n")]);
        let mut found = vec![];
        let plan = plan::plan(&loaded.program, &mut found);
        in_tests(loaded.tests.as_ref().unwrap(), &plan.pipelines[0], &plan, &mut found);
        told(&loaded, &found)
    }

    #[test]
    fn a_criterion_that_a_gate_does_not_have_cannot_fail() {
        assert_eq!(
            test("{ check: [{ failed: { is_kindd: No. } }, passed] }"),
            "F700 14:61 a reply for gate \"check\" fails criterion \"is_kindd\", which does not exist; did you mean \"is_kind\"?\n"
        );
        assert_eq!(
            test("{ check: { failed: { short: No. } } }"),
            "F700 14:60 a reply for gate \"check\" fails criterion \"short\", which does not exist\n"
        );
        assert_eq!(test("{ check: { failed: { is_kind: No. } }, own: { failed: { written: No. } }, draft: Hi }"), "");
    }

    #[test]
    fn replies_of_a_model_may_serve_other_pipelines_too() {
        let found = |name: &str| {
            let replies = format!("flow: 1\nreplies:\n  check: {{ failed: {{ {name}: No. }} }}\n");
            says_of(in_models, &[("a.yaml", PIPELINE), ("r.yaml", &replies)])
        };
        assert_eq!(
            found("is_knd"),
            "F700 r.yaml:3:22 a reply for gate \"check\" fails criterion \"is_knd\", which does not exist; did you mean \"is_kind\"?\n"
        );
        assert_eq!([found("is_kind"), found("anything")], ["", ""]);
    }
}
