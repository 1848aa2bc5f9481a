//! Explains how texts are checked, and what happens if a check fails or something breaks.

use super::{ended, listed, pipelines, quoted};
use crate::diagnostic::{counted, grouped};
use crate::model::{
    AcceptItem, Check, Criterion, FormatStep, GateStep, Judging, LetterCase, OnFailure, OnJudgeError, Pipeline, PlainCheck, ScorecardRef,
    StepKind,
};
use crate::plan::{PipelinePlan, Plan};
use crate::report::graph::words::source;

/// Returns the gates of a pipeline with their ids.
fn gates(planned: &PipelinePlan) -> impl Iterator<Item = (&str, &GateStep)> {
    planned.steps.iter().filter_map(|found| {
        let StepKind::Gate(gate) = &found.step.kind else { return None };
        Some((found.step.id.as_str(), gate))
    })
}

/// Explains each gate with its criteria.
pub(super) fn criteria(plan: &Plan) -> Vec<String> {
    let mut said = vec![];
    for (planned, pipeline, whose) in pipelines(plan) {
        for (id, gate) in gates(planned) {
            let first = gate.scorecards.iter().find_map(|reference| match reference {
                ScorecardRef::Named(name) => pipeline.scorecards.get(&name.value)?.judge.as_ref(),
                ScorecardRef::Written(_) => None,
            });
            said.push(format!("{id} looks at {}{}; all of these must hold:", source(&gate.of), whose));
            for reference in &gate.scorecards {
                let written = |text: String| format!("\tWhat was written while it ran, if anything: {text}.");
                let judge = gate.judge.as_ref().or(first).map(|judge| judge.value.as_str());
                said.extend(referenced(reference, written, judge, pipeline));
                let card = reference.name().and_then(|name| pipeline.scorecards.get(&name.value));
                if card.is_some_and(|card| card.on_judge_error == OnJudgeError::Pass) {
                    said.push("\tIf the judge cannot answer, that counts as met, and the record says so.".into());
                }
            }
        }
    }
    said.extend(accepted(plan));
    said
}

/// Explains each task with its acceptance criteria.
fn accepted(plan: &Plan) -> Vec<String> {
    let mut said = vec![];
    for (planned, pipeline, whose) in pipelines(plan) {
        for found in &planned.steps {
            let StepKind::Task(task) = &found.step.kind else { continue };
            let judge = task.judge.as_ref().map(|judge| judge.value.as_str());
            said.push(format!("{}{} is accepted if all of these hold:", found.step.id.value, whose));
            for item in task.accept.items() {
                said.push(match item {
                    AcceptItem::Text(text) => format!("\t{} (agent {} decides)", ended(&source(text)), judge.unwrap_or("of the task")),
                    AcceptItem::Criterion(found) => format!("\t{}", criterion(found, judge, pipeline)),
                });
            }
            for reference in task.accept.cards() {
                let written = |text: String| format!("\tWhat is given while it runs: {text}.");
                said.extend(referenced(reference, written, judge, pipeline));
            }
            said.push(format!(
                "\tElse agent {} tries again and is told what failed, at most {} in all; {} equal failures in a row end it, too.",
                task.agent.value,
                counted(task.most_tries(), "try", "tries"),
                task.most_identical()
            ));
        }
    }
    said
}

/// Formats the criteria of a scorecard, one per line. `judge`: the judge for criteria that name none.
fn referenced(card: &ScorecardRef, written: impl Fn(String) -> String, judge: Option<&str>, pipeline: &Pipeline) -> Vec<String> {
    let name = match card {
        ScorecardRef::Written(text) => return vec![written(source(text))],
        ScorecardRef::Named(name) => name,
    };
    let Some(card) = pipeline.scorecards.get(&name.value) else { return vec![] };
    let judge = card.judge.as_ref().map(|judge| judge.value.as_str()).or(judge);
    card.criteria.iter().map(|found| format!("\t{}", criterion(found, judge, pipeline))).collect()
}

fn criterion(criterion: &Criterion, judge: Option<&str>, pipeline: &Pipeline) -> String {
    let only_if = criterion.when.as_ref().map(|when| format!("Only if {}: ", source(when))).unwrap_or_default();
    let how = match &criterion.judging {
        Judging::Judge => format!("agent {} decides", judge.unwrap_or("of the gate")),
        Judging::Checks(checks) => {
            let checks: Vec<String> = checks.iter().map(|found| check(&found.value, pipeline)).collect();
            format!("computed: {}", checks.join("; "))
        }
        Judging::Neither => return format!("{only_if}{}", ended(&criterion.description)),
    };
    let expected = criterion.expected.as_ref().map(|expected| format!(" Wanted: {}", ended(expected))).unwrap_or_default();
    let told = criterion.feedback.as_ref().map(|own| format!(" If not, the writer is told: {}", ended(&source(own)))).unwrap_or_default();
    format!("{only_if}{}{expected} ({how}){told}", ended(&criterion.description))
}

fn in_case(case: LetterCase) -> &'static str {
    match case {
        LetterCase::Exact => "",
        LetterCase::Ignored => ", in small or capital letters",
    }
}

fn check(check: &Check, pipeline: &Pipeline) -> String {
    let texts = |texts: &[crate::model::Text]| {
        let shown: Vec<String> = texts.iter().take(3).map(quoted).collect();
        let more = if texts.len() > 3 { format!(" and {} more", texts.len() - 3) } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    match check {
        Check::Plain(check) => plain(check, pipeline),
        Check::Contains(found, case) => format!("holds {}{}", texts(found), in_case(*case)),
        Check::NotContains(found, case) => format!("holds none of {}{}", texts(found), in_case(*case)),
        Check::Equals(value) => format!("is {}", crate::report::graph::words::filling(value)),
        Check::NumbersFrom(text) => format!("every figure occurs in {}", source(text)),
        Check::ApartFrom(text) => format!("apart from what it quotes from {}", source(text)),
        Check::StatesNumbers(text) => format!("it states the numbers of {}", source(text)),
        Check::Expression(text) => format!("the rule {}", source(text)),
    }
}

fn plain(check: &PlainCheck, pipeline: &Pipeline) -> String {
    match check {
        PlainCheck::Regex(pattern) => format!("fits the pattern {}", pattern.as_str()),
        PlainCheck::JsonSchema(_) => "has the right shape".into(),
        PlainCheck::MaxLength(most) => format!("at most {} long", grouped(*most)),
        PlainCheck::MinLength(least) => format!("at least {} long", grouped(*least)),
        PlainCheck::FitsChannel => "fits the channel".into(),
        PlainCheck::StyleGuide => match &pipeline.style_guide {
            Some(style) => format!("the rules of style guide {}", style.name),
            None => "the rules of the style guide".into(),
        },
        PlainCheck::Markdown(features) => match features.words().as_slice() {
            [] => "no Markdown".into(),
            words => format!("of Markdown only {}", listed(words)),
        },
        PlainCheck::Emojis(0) => "no emojis".into(),
        PlainCheck::Emojis(most) => format!("at most {}", counted(*most, "emoji", "emojis")),
        PlainCheck::Language(code) => format!("the language is {code}"),
        PlainCheck::PiiNone => "no personal data is found".into(),
        PlainCheck::Links(hosts) if hosts.is_empty() => "no links".into(),
        PlainCheck::Links(hosts) => format!("links to {} only", listed(hosts)),
        PlainCheck::Readability(grade) => format!("reading grade {grade} or lower"),
    }
}

/// Explains what follows if a gate is not met.
pub(super) fn not_met(plan: &Plan) -> Vec<String> {
    let mut said = vec![];
    for (planned, _, whose) in pipelines(plan) {
        for (id, gate) in gates(planned) {
            let again = match &gate.refine {
                Some(target) => format!(
                    "{} runs once more and is told what was missing; then {id} checks again. If it still does not pass, ",
                    target.value
                ),
                None => "There is no second try: ".into(),
            };
            let end = match &gate.otherwise {
                Some(text) => format!("this is given instead: {}", quoted(text)),
                None => "nothing is let through, and what waits for it does not run.".into(),
            };
            let record = " The run ends as quality_not_met (exit 5), and the record says which criteria failed.";
            said.push(format!("{id}{}: {again}{end}{record}", whose));
        }
    }
    said
}

/// Explains what follows if a step fails or data cannot be reached.
pub(super) fn broken(plan: &Plan) -> Vec<String> {
    let Some(planned) = plan.pipelines.first() else { return vec![] };
    let pipeline = &planned.pipeline;
    let mut said = vec![];
    if !pipeline.data.is_empty() {
        said.push("Data that cannot be reached lets the step fail that reads it; the rest is as for any failure.".into());
    }
    let allowed: Vec<&str> = planned.steps.iter().filter(|s| s.step.on_failure != OnFailure::Stop).map(|s| s.step.id.as_str()).collect();
    let stops = "A step that fails stops the run";
    said.push(match allowed.as_slice() {
        [] => format!("{stops} (exit 6)."),
        names => format!("{stops} (exit 6), but for {}: there it goes on, and ends as partial.", listed(names)),
    });
    for (steps, when) in [(&pipeline.on_failure, "Then"), (&pipeline.finally, "At the end, however it ended,")] {
        if steps.is_empty() {
            continue;
        }
        let names: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
        said.push(format!("{when} {} {}.", listed(&names), if names.len() == 1 { "runs" } else { "run" }));
        for step in steps {
            if let StepKind::Format(FormatStep { text, .. }) = &step.kind {
                said.push(format!("\tThe text of {}: {}", step.id.value, quoted(text)));
            }
            if let StepKind::Send(send) = &step.kind {
                said.push(format!("\t{} sends to {}.", step.id.value, send.to.value));
            }
        }
    }
    if pipeline.on_failure.is_empty() {
        said.push("Nobody is told by the pipeline itself; the cause stands in the record and on standard error.".into());
    }
    said
}
