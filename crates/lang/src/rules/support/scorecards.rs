//! The scorecards of gates and tasks, who judges by them, and the texts that their checks ask for.

use crate::model::{Check, Criterion, Form, GateStep, Judging, JudgingStep, PlainCheck, Scorecard, ScorecardRef, TestCase, TestFile, Text};
use crate::plan::PipelinePlan;
use crate::source::Spanned;

/// The scorecards of a step that judges, as far as they have names; `None`: a name that is not known, so nothing can be said.
pub(in crate::rules) fn named_scorecards<'p>(pipeline: &'p PipelinePlan, step: JudgingStep<'p>) -> Option<Vec<(&'p str, &'p Scorecard)>> {
    let names = step.cards().iter().filter_map(ScorecardRef::name);
    names.map(|name| Some((name.as_str(), pipeline.pipeline.scorecards.get(&name.value)?))).collect()
}

/// The scorecards of a gate, as far as the file has them.
pub(in crate::rules) fn known_scorecards<'p>(pipeline: &'p PipelinePlan, gate: &'p GateStep) -> impl Iterator<Item = &'p Scorecard> {
    gate.scorecards.iter().filter_map(|reference| pipeline.pipeline.scorecards.get(&reference.name()?.value))
}

/// Whether a criterion is judged by an agent.
pub(in crate::rules) fn asks_judge(criterion: &&Criterion) -> bool {
    matches!(criterion.judging, Judging::Judge)
}

/// Every check of a scorecard with its criterion. All must pass, so they are looked at together; one with a condition may not be judged where
/// another is.
pub(in crate::rules) fn checks(card: &Scorecard) -> impl Iterator<Item = (&Criterion, &Spanned<Check>)> {
    checks_of(card.criteria.iter())
}

/// The same of criteria that stand together.
pub(in crate::rules) fn checks_of<'c>(
    criteria: impl Iterator<Item = &'c Criterion>,
) -> impl Iterator<Item = (&'c Criterion, &'c Spanned<Check>)> {
    criteria.filter(|criterion| criterion.when.is_none()).flat_map(|criterion| {
        let checks: &[Spanned<Check>] = match &criterion.judging {
            Judging::Checks(checks) => checks,
            _ => &[],
        };
        checks.iter().map(move |check| (criterion, check))
    })
}

/// The checks of what tests expect, each with its case.
pub(in crate::rules) fn expected(tests: &TestFile) -> impl Iterator<Item = (&TestCase, &Spanned<Check>)> {
    tests.cases.iter().filter_map(|case| Some((case, case.expect.as_ref()?))).flat_map(|(case, expect)| {
        let checks = expect.outputs.iter().flat_map(|(_, checks)| checks).chain(&expect.result).chain(&expect.sent);
        let of_calls = expect.calls.iter().flat_map(|(_, calls)| &calls.checks).flat_map(|(_, checks)| checks);
        let checks = checks.chain(of_calls);
        checks.map(move |check| (case, check))
    })
}

/// Texts of the author's without templates.
pub(in crate::rules) fn fixed(texts: &[Text]) -> impl Iterator<Item = &str> {
    texts.iter().filter(|text| text.form == Form::Plain).map(|text| &*text.source)
}

/// Whether a criterion asks for the rules of a style guide.
pub(in crate::rules) fn is_style(criterion: &Criterion) -> bool {
    match &criterion.judging {
        Judging::Checks(checks) => checks.iter().any(|check| check.value == Check::Plain(PlainCheck::StyleGuide)),
        _ => false,
    }
}
