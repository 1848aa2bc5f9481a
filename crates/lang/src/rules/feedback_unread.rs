//! F403: nothing on the way of the refinement reads why the first try failed.

use std::sync::Arc;

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Step, StepKind, Text, with_inner};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some(refinement) = &pipeline.refinement else { return };
    let target = pipeline.step(refinement.target);
    // An agent is told by itself.
    if matches!(target.step.kind, StepKind::Agent(_) | StepKind::Plan(_) | StepKind::Broken) {
        return;
    }
    let mut on_the_way = refinement.stretch.iter().filter_map(|place| pipeline.pipeline.steps.get(*place));
    if on_the_way.any(|step| reads_refinement(pipeline, step)) {
        return;
    }
    let id = quoted(&target.id);
    let kind = target.step.kind.word();
    let message = format!("{id} (a {kind}) never reads refinement.feedback; its second try would have nothing new to use");
    let help = "use \"{{ refinement.feedback }}\" here, or name an agent in refine: agents receive it automatically";
    out.push(finding(Code::FeedbackUnread, target.step.id.span, &message).help(help));
}

fn reads_refinement(pipeline: &PipelinePlan, step: &Arc<Step>) -> bool {
    let mut reads = matches!(step.kind, StepKind::Broken);
    let is_reader = |text: &Text| text.reads.iter().any(|read| read.path.first().is_some_and(|name| name == "refinement"));
    for step in with_inner(std::slice::from_ref(step)) {
        step.each_text(&mut |authored| reads |= authored.text().is_some_and(is_reader));
    }
    if let StepKind::Agent(agent) = &step.kind {
        let instructions = pipeline.pipeline.agents.get(&agent.agent.value).and_then(|agent| agent.instructions.as_ref());
        reads |= instructions.is_some_and(is_reader);
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::super::testing::with_scorecard;
    use super::*;

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
    }
}
