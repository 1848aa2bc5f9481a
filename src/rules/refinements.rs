//! The one refinement: only one (F400), nothing done twice (F402), and with something to learn (F403).

use super::roles;
use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Step, StepKind};
use crate::plan::{PipelinePlan, Plan, PlannedStep};

/// F400: a second gate with `refine`.
pub(super) fn second(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let mut first = None;
    for step in pipeline.pipeline.steps.iter().filter(|step| step.for_each.is_none()) {
        let StepKind::Gate(gate) = &step.kind else { continue };
        let Some(refine) = &gate.refine else { continue };
        let Some((other, place)) = first else {
            first = Some((&step.id.value, refine.span));
            continue;
        };
        let message =
            format!("gate {} has refine, but gate {} has it already; a file has at most one", quoted(&step.id.value), quoted(other));
        out.push(
            finding(Code::SecondRefinement, refine.span, &message)
                .related(place, "the first one")
                .help("remove one of the two, or put one of the gates into a pipeline of its own and call it"),
        );
    }
}

/// F402: a `send` or a `once` step on the way that is gone twice.
pub(super) fn repeats_effect(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some((refinement, target, gate)) = ends(pipeline) else { return };
    let StepKind::Gate(judging) = &gate.step.kind else { return };
    let Some(refine) = &judging.refine else { return };
    for place in &refinement.stretch {
        let Some(step) = pipeline.pipeline.steps.get(*place) else { continue };
        let Some((effect, what)) = effect(step) else { continue };
        let (effect_id, gate_id) = (quoted(&effect.id.value), quoted(&gate.id));
        let message = match step.id.value == target.step.id.value {
            true => format!("refine would run {effect_id} twice, and it {what}"),
            false => format!("{effect_id} lies between {} and gate {gate_id} and would be done twice", quoted(&target.id)),
        };
        out.push(
            finding(Code::RefineRepeatsEffect, refine.span, &message)
                .related(effect.id.span, format!("this step {what}"))
                .help("move it below the gate, or name a step below it in refine"),
        );
    }
}

/// What a step does that must not be done twice; the step itself or one inside it.
fn effect(step: &Step) -> Option<(&Step, &'static str)> {
    if step.is_once {
        return Some((step, "is marked once"));
    }
    match &step.kind {
        StepKind::Send(_) => Some((step, "sends")),
        StepKind::Route(route) => route.cases.iter().chain(&route.otherwise).flat_map(|case| &case.steps).find_map(|inner| effect(inner)),
        _ => None,
    }
}

/// F403: nothing on the way reads why the first try failed.
pub(super) fn feedback_unread(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some((refinement, target, _)) = ends(pipeline) else { return };
    // An agent is told by itself.
    if matches!(target.step.kind, StepKind::Agent(_) | StepKind::Plan(_) | StepKind::Broken) {
        return;
    }
    let on_the_way = refinement.stretch.iter().filter_map(|place| pipeline.pipeline.steps.get(*place));
    if on_the_way.into_iter().any(|step| reads_refinement(pipeline, step)) {
        return;
    }
    let id = quoted(&target.id);
    let kind = target.step.kind.word();
    let article = if kind == "agent" { "an" } else { "a" };
    let message = format!("{id} ({article} {kind}) never reads refinement.feedback; the second try would know no more than the first");
    out.push(
        finding(Code::FeedbackUnread, target.step.id.span, &message)
            .help("pass \"{{ refinement.feedback }}\" on, or name an agent in refine: agents get it by themselves"),
    );
}

fn reads_refinement(pipeline: &PipelinePlan, step: &Step) -> bool {
    let mut reads = matches!(step.kind, StepKind::Broken);
    let is_refinement = |path: &[String]| path.first().is_some_and(|name| name == "refinement");
    roles::texts_of_step(step, &mut |_, text| reads |= text.reads.iter().any(|read| is_refinement(&read.path)));
    if let StepKind::Agent(agent) = &step.kind {
        let instructions = pipeline.pipeline.agents.get(&agent.agent.value).and_then(|agent| agent.instructions.as_ref());
        reads |= instructions.is_some_and(|text| text.reads.iter().any(|read| is_refinement(&read.path)));
    }
    reads
}

fn ends(pipeline: &PipelinePlan) -> Option<(&crate::plan::Refinement, &PlannedStep, &PlannedStep)> {
    let refinement = pipeline.refinement.as_ref()?;
    Some((refinement, pipeline.step(refinement.target), pipeline.step(refinement.gate)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    const CARD: &str = "scorecards:\n  s: { criteria: [{ id: c, description: It is short., check: { max_length: 9 } }] }\n";

    fn with_card(rule: super::super::Rule, body: &str) -> String {
        says(rule, &format!("agents: {{ w: {{}} }}\n{CARD}{body}"))
    }

    #[test]
    fn a_file_has_one_refinement() {
        let first = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: a, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_card(second, first), "");
        let both = format!("{first}  - {{ id: b, gate: s, of: steps.d.output, refine: d }}\n");
        assert_eq!(with_card(second, &both), "F400 9:51 gate \"b\" has refine, but gate \"a\" has it already; a file has at most one\n");
    }

    #[test]
    fn nothing_is_sent_twice() {
        let body = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: mail, send: stdout, of: steps.d.output }\n  - { id: g, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_card(repeats_effect, body), "F402 9:51 \"mail\" lies between \"d\" and gate \"g\" and would be done twice\n");
        let once = "steps:\n  - { id: d, agent: w, prompt: x, once: true }\n  - { id: g, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_card(repeats_effect, once), "F402 8:51 refine would run \"d\" twice, and it is marked once\n");
        let beside = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: mail, send: stdout, of: steps.d.output, needs: [d] }\n  - { id: g, gate: s, of: steps.d.output, refine: d, needs: [d] }\n";
        assert_eq!(with_card(repeats_effect, beside), "");
    }

    #[test]
    fn a_second_try_learns_from_the_first() {
        let fill = |set: &str| {
            with_card(
                feedback_unread,
                &format!("steps:\n  - {{ id: fill, set: {set} }}\n  - {{ id: g, gate: s, of: steps.fill.output, refine: fill }}\n"),
            )
        };
        assert_eq!(
            fill("x"),
            "F403 7:11 \"fill\" (a set) never reads refinement.feedback; the second try would know no more than the first\n"
        );
        assert_eq!(fill("'{{ refinement.feedback }}'"), "");
        let later = "steps:\n  - { id: fill, set: x }\n  - { id: d, agent: w, prompt: 'Mind {{ refinement.failed }}' }\n  - { id: g, gate: s, of: steps.d.output, refine: fill }\n";
        assert_eq!(with_card(feedback_unread, later), "");
    }
}
