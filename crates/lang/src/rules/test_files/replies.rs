//! Names in scripted replies: they are filled in with what their step can read.

use std::collections::HashMap;

use crate::model::{Read, ReplySet, StepKind, TestFile, step_path};
use crate::plan::StepIx;
use crate::rules::prelude::{Diagnostic, PipelineNames, PipelinePlan, Plan};
use crate::rules::reads;
use crate::rules::support::problem::ReadProblem;
use crate::rules::support::step_paths::{PathEnd, way};
use crate::rules::values::type_mismatch;

/// F103, F201, F202, F208, for the replies of tests. What a route leaves out is its author's affair: a case says which way it goes.
pub(in crate::rules) fn in_tests(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let mut tables = ReplyTables::default();
    for (number, case) in tests.cases.iter().enumerate() {
        // What is in the file for all cases is looked at once.
        let shared = case.replies.shared.iter().filter(|_| number == 0);
        for (path, set) in case.replies.own.iter().chain(shared) {
            conditions(set, out);
            look(path, set, pipeline, plan, &mut tables, out);
        }
    }
}

/// The same, for the replies of scripted models. Their file may serve other pipelines too, so only what is nearly a name is a mistake.
pub(in crate::rules) fn in_models(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let (mut tables, mut found) = (ReplyTables::default(), vec![]);
    for model in pipeline.pipeline.models.values() {
        let Some(replies) = model.provider.scripted() else { continue };
        for (path, set) in &replies.by_step {
            conditions(set, out);
            look(path, set, pipeline, plan, &mut tables, &mut found);
        }
    }
    out.extend(found.into_iter().filter(|found| !found.near.is_empty()));
}

/// F205, for `when` of replies.
fn conditions(set: &ReplySet, out: &mut Vec<Diagnostic>) {
    set.all().iter().filter_map(|reply| reply.when.as_ref()).for_each(|when| type_mismatch::of_reply(when, out));
}

/// The names of pipelines that replies speak of.
type ReplyTables<'p> = HashMap<*const PipelinePlan, PipelineNames<'p>>;

fn look<'p>(
    path: &str,
    set: &ReplySet,
    pipeline: &'p PipelinePlan,
    plan: &'p Plan,
    tables: &mut ReplyTables<'p>,
    out: &mut Vec<Diagnostic>,
) {
    let Some((pipeline, ix)) = step_of(path, pipeline, plan) else { return };
    let names = tables.entry(pipeline).or_insert_with(|| PipelineNames::new(pipeline, plan));
    let seat = names.seat(ix);
    let mut reads: Vec<&Read> = vec![];
    set.all()
        .iter()
        .for_each(|reply| reply.each_text(&mut |authored| reads.extend(authored.text().into_iter().flat_map(|text| &text.reads))));
    for read in reads {
        match names.read(&seat, read).problem {
            None | Some(ReadProblem::MaybeMissing(_) | ReadProblem::NoOutputFields(_)) => {}
            Some(problem) => out.push(reads::report(names, &seat, read, problem)),
        }
    }
}

/// The step a path leads to; of a case that is a step itself, its route, which reads the same names.
fn step_of<'p>(path: &str, pipeline: &'p PipelinePlan, plan: &'p Plan) -> Option<(&'p PipelinePlan, StepIx)> {
    match way(plan, pipeline, path) {
        PathEnd::Step(pipeline, ix) => Some((pipeline, ix)),
        PathEnd::Nowhere | PathEnd::Case(_) => None,
        PathEnd::Inside => match way(plan, pipeline, step_path::split(path)?.0) {
            PathEnd::Step(pipeline, ix) if matches!(pipeline.step(ix).step.kind, StepKind::Route(_)) => Some((pipeline, ix)),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::rules::testing::{loaded, told};

    fn says(reply: &str) -> String {
        let text = format!(
            "flow: 1\nname: a\ninputs: {{ topic: text }}\nagents: {{ w: {{}} }}\nsteps:\n  - {{ id: draft, agent: w, prompt: x }}\n  - {{ id: last, agent: w, prompt: z }}\ntests:\n  - {{ id: one, golden: true, replies: {{ draft: {reply} }} }}\n"
        );
        let loaded = loaded(&[("a.yaml", &text)]);
        let plan = plan::plan(&loaded.program, &mut vec![]);
        let mut found = vec![];
        in_tests(loaded.tests.as_ref().unwrap(), &plan.pipelines[0], &plan, &mut found);
        told(&loaded, &found)
    }

    #[test]
    fn replies_of_a_model_may_serve_other_pipelines_too() {
        let says = |reply: &str| {
            let replies = format!("flow: 1\nreplies: {{ kind/otherwise: '{reply}' }}\n");
            let text = "flow: 1\nname: a\ninputs: { topic: text }\nmodels: { default: { provider: scripted, replies: r.yaml } }\nagents: { w: {} }\nsteps:\n  - { id: kind, route: inputs.topic, cases: [{ id: one, phrases: [x], set: 1 }], otherwise: { agent: w, prompt: x } }\n";
            let loaded = loaded(&[("a.yaml", text), ("r.yaml", &replies)]);
            let plan = plan::plan(&loaded.program, &mut vec![]);
            let mut found = vec![];
            in_models(&plan.pipelines[0], &plan, &mut found);
            told(&loaded, &found)
        };
        assert_eq!(says("{{ inputs.topic }}"), "");
        assert_eq!(says("{{ inputs.question }}"), "");
        assert_eq!(says("{{ inputs.topc }}"), "F202 r.yaml:2:32 there is no input \"topc\"; did you mean \"topic\"?\n");
    }

    #[test]
    fn a_reply_reads_what_its_step_can_read() {
        assert_eq!(says("'{{ inputs.topic }}'"), "");
        assert_eq!(says("[{ when: inputs.topic == 'a', data: { x: '{{ inputs.topic }}' } }]"), "");
        assert_eq!(says("[{ when: refinement, text: again }, first]"), "");
        let text = says("[{ when: refinement.feedback, text: x }]");
        assert!(text.starts_with("F205 9:") && text.contains(" a condition must be true or false; refinement.feedback is text"), "{text}");
        assert!(
            says("'{{ inputs.topik }}'").starts_with("F202 9:52 there is no input \"topik\"; did you mean \"topic\"?"),
            "{}",
            says("'{{ inputs.topik }}'")
        );
        assert!(
            says("{ data: { x: ['{{ steps.last.output }}'] } }").starts_with("F103 "),
            "{}",
            says("{ data: { x: ['{{ steps.last.output }}'] } }")
        );
    }
}
