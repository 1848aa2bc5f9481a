//! F403: nothing on the way of the refinement reads why the first try failed, or no agent of a `repeat` reads the round before.

use std::sync::Arc;

use crate::model::{Root, Step, StepKind, Text, with_inner};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    pipeline.steps.iter().for_each(|planned| rounds(pipeline, &planned.step, out));
    let Some(refinement) = &pipeline.refinement else { return };
    let target = pipeline.step(refinement.target);
    if pipeline.is_told_again(refinement.target) || matches!(target.step.kind, StepKind::Broken) {
        return;
    }
    if pipeline.refined().any(|planned| reads(pipeline, &planned.step, &[Root::Refinement])) {
        return;
    }
    let id = quoted(&target.id);
    let kind = target.step.kind.word();
    let message = format!("{id} (a {kind}) never reads refinement.feedback; its second try would have nothing new to use");
    let inside = with_inner(std::slice::from_ref(&target.step));
    let asker = inside.into_iter().find(|step| matches!(step.kind, StepKind::Agent(_)));
    let help = match asker {
        Some(asker) => {
            format!("write \"{{{{ refinement.feedback }}}}\" into the prompt of {}; in the first try it is empty", quoted(&asker.id.value))
        }
        None => "use \"{{ refinement.feedback }}\" here, or name an agent in refine: agents receive it automatically".to_owned(),
    };
    out.push(found(&target.step, &message).help(help));
}

/// Rounds in which agents are asked what they were asked before.
fn rounds(pipeline: &PipelinePlan, step: &Step, out: &mut Vec<Diagnostic>) {
    let Some(own) = step.kind.repeat() else { return };
    let inside = with_inner(&own.inner.steps);
    let asks = inside.iter().any(|step| matches!(step.kind, StepKind::Agent(_)));
    let is_known = inside.iter().all(|step| !matches!(step.kind, StepKind::Broken));
    if !asks || !is_known || own.inner.steps.iter().any(|step| reads(pipeline, step, &[Root::Previous, Root::Round])) {
        return;
    }
    let gate = own.inner.steps.iter().find(|inner| matches!(inner.kind, StepKind::Gate(_)));
    let agent = own.inner.steps.iter().rfind(|inner| matches!(inner.kind, StepKind::Agent(_)));
    let read = match (gate, agent.or(own.inner.steps.last())) {
        (Some(gate), _) => format!("previous.{}.details.feedback", gate.id.value),
        (None, last) => format!("previous.{}.output", last.map_or("ID", |inner| inner.id.as_str())),
    };
    let message = format!("no step of {} reads previous, so each round asks its agents the same", quoted(&step.id.value));
    let help = format!("write \"{{{{ {read} }}}}\" into a prompt inside; in the first round it is empty");
    out.push(found(step, &message).help(help));
}

fn found(step: &Step, message: &str) -> Diagnostic {
    finding(Code::FeedbackUnread, step.id.span, message)
}

/// Whether a text of a step, or of what is inside it, reads one of these.
fn reads(pipeline: &PipelinePlan, step: &Arc<Step>, roots: &[Root]) -> bool {
    let mut found = matches!(step.kind, StepKind::Broken);
    let is_reader = |text: &Text| text.reads.iter().any(|read| read.root().is_some_and(|root| roots.contains(&root)));
    for step in with_inner(std::slice::from_ref(step)) {
        step.each_text(&mut |authored| found |= authored.text().is_some_and(is_reader));
        if let StepKind::Agent(agent) = &step.kind {
            let instructions = pipeline.pipeline.agents.get(&agent.agent.value).and_then(|agent| agent.instructions.as_ref());
            found |= instructions.is_some_and(is_reader);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_scorecard;

    #[test]
    fn a_second_try_learns_from_the_first() {
        let fill = |set: &str| {
            with_scorecard(
                check,
                &format!("steps:\n  - {{ id: fill, set: {set} }}\n  - {{ id: g, gate: s, of: steps.fill.output, refine: fill }}\n"),
            )
        };
        assert_eq!(fill("x"), "F403 7:11 \"fill\" (a set) never reads refinement.feedback; its second try would have nothing new to use\n");
        assert_eq!(fill("'{{ refinement.feedback }}'"), "");
        let later = "steps:\n  - { id: fill, set: x }\n  - { id: d, agent: w, prompt: 'Mind {{ refinement.failed }}' }\n  - { id: g, gate: s, of: steps.d.output, refine: fill }\n";
        assert_eq!(with_scorecard(check, later), "");
        let task = "steps:\n  - { id: d, task: w, prompt: x, artefact: text, accept: [The text is kind and short.], judge: w, max_attempts: 2 }\n  - { id: g, gate: s, of: steps.d.output.result, refine: d }\n";
        assert_eq!(with_scorecard(check, task), "", "its agent is told by itself");
    }

    #[test]
    fn a_round_learns_from_the_one_before() {
        let rounds = |prompt: &str| {
            let inner = format!("{{ id: d, agent: w, prompt: '{prompt}' }}");
            with_scorecard(check, &format!("steps:\n  - {{ id: r, repeat: {{ until: round == 2, at_most: 3 }}, steps: [{inner}] }}\n"))
        };
        assert_eq!(rounds("Write."), "F403 7:11 no step of \"r\" reads previous, so each round asks its agents the same\n");
        assert_eq!(rounds("Write better than {{ previous.d.output }}."), "");
    }
}
