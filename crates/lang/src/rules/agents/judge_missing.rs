//! F405: a criterion asks for a judge, and nobody names one.

use std::collections::HashSet;

use crate::model::{AcceptItem, JudgingStep, Step, TaskStep};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::scorecards::{asks_judge, named_scorecards};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    for planned in &pipeline.steps {
        let Some(judging) = planned.step.kind.facts().judges.filter(|judging| judging.judge().is_none()) else { continue };
        if let JudgingStep::Task(task) = judging {
            of_task(task, &planned.step, pipeline, out);
        }
        let Some(cards) = named_scorecards(pipeline, judging) else { continue };
        if cards.iter().any(|(_, card)| card.judge.is_some()) {
            continue;
        }
        for (name, card) in cards.into_iter().filter(|(name, _)| told.insert(name.to_string())) {
            if let Some(criterion) = card.criteria.iter().find(asks_judge) {
                let message = format!(
                    "criterion {} asks for a judge, but neither scorecard {} nor {} {} names one",
                    quoted(&criterion.id.value),
                    quoted(name),
                    planned.step.kind.word(),
                    quoted(&planned.step.id.value)
                );
                // An agent that no step asks is there to judge.
                let asked: Vec<&str> =
                    pipeline.steps.iter().flat_map(|planned| planned.step.kind.agents_with_tools()).map(|name| &*name.value).collect();
                let agent = pipeline.pipeline.agents.keys().find(|name| !asked.contains(&name.as_str())).map_or("NAME", String::as_str);
                let help = format!("write judge: {agent}, or the name of another agent, in scorecard {}, beside criteria", quoted(name));
                out.push(
                    new_finding(card.span, &message)
                        .related(criterion.id.span, "this criterion")
                        .related(planned.step.id.span, "judged here")
                        .help(help),
                );
            }
        }
    }
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::JudgeMissing, span, message)
}

/// What a task lists itself and no check decides.
fn of_task(task: &TaskStep, step: &Step, pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let judged = task.accept.items().iter().find_map(|item| match item {
        AcceptItem::Text(text) => Some(text.place.span),
        AcceptItem::Criterion(criterion) => Some(criterion.id.span).filter(|_| asks_judge(&criterion)),
    });
    if let Some(span) = judged {
        let message = format!("task {} has an entry of accept that only a judge can decide, and no judge", quoted(&step.id.value));
        let other = pipeline.pipeline.agents.keys().find(|name| **name != task.agent.value);
        let help = match other {
            Some(agent) => format!("write judge: {agent} in step {}, or another agent that judges", quoted(&step.id.value)),
            None => format!(
                "write judge: checker in step {}, and below agents checker: {{ instructions: You judge whether a text meets what is asked. }}",
                quoted(&step.id.value)
            ),
        };
        out.push(new_finding(span, &message).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{judged_pipeline, says};

    #[test]
    fn a_criterion_with_a_judge_needs_one() {
        let found = "F405 5:3 criterion \"tone\" asks for a judge, but neither scorecard \"s\" nor gate \"g\" names one\n";
        assert_eq!(says(check, &judged_pipeline("", "")), found);
        assert_eq!(says(check, &judged_pipeline("judge: q\n    ", "")), "");
        assert_eq!(says(check, &judged_pipeline("", ", judge: q")), "");
    }
}
