//! F605: a step whose output holds personal data, and which is not marked.

use super::giving::Gives;
use super::personal_columns;
use super::personal_sources::{PersonalSources, all, first};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{AgentStep, Filling, Pipeline, PlanStep, StepKind, Text};
use crate::plan::PlannedStep;

/// The texts of a step whose values may be part of its output.
fn inflow<'p>(sources: &PersonalSources, pipeline: &'p Pipeline, planned: &'p PlannedStep) -> Vec<&'p Text> {
    let kind = &planned.step.kind;
    if let StepKind::Agent(AgentStep { prompt, attach, .. }) | StepKind::Plan(PlanStep { prompt, attach, .. }) = kind {
        std::iter::once(prompt).chain(attach.iter().flat_map(Filling::texts)).collect()
    } else if let StepKind::Set(value) = kind {
        value.texts()
    } else if let StepKind::Format(step) = kind {
        vec![&step.text]
    } else if let StepKind::Gate(step) = kind {
        let read = std::iter::once(&step.of).chain(&step.otherwise);
        if sources.removes(step) { vec![] } else { read.collect() }
    } else if kind.called(pipeline).is_some() || matches!(kind, StepKind::Call(_)) {
        all(kind.with())
    } else {
        vec![]
    }
}

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let sources = PersonalSources::of(pipeline);
    for planned in pipeline.steps.iter().filter(|planned| !planned.step.is_pii) {
        let id = quoted(&planned.step.id.value);
        let found = if let StepKind::Sql(step) = &planned.step.kind {
            let column = personal_columns::given(&step.query.source, &pipeline.pipeline.data);
            column.map(|column| (step.query.place.inside(column.bytes.0, column.bytes.1), column.name))
        } else {
            let read = first(&sources, planned, &inflow(&sources, &pipeline.pipeline, planned), Gives::Perhaps);
            read.map(|(read, name)| (read.span, name))
        };
        let Some((span, name)) = found else { continue };
        let message = format!("{id} reads {name} (pii); logs mask that value in its output, and pii: true masks all of it");
        out.push(
            finding(Code::PiiUnmarked, span, &message)
                .related(planned.step.id.span, "this step")
                .help("add pii: true to the step, or leave the personal data out"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{says_of, with_personal_input};
    use super::*;

    #[test]
    fn a_reader_of_personal_data_is_marked() {
        let draft = |more: &str, prompt: &str| {
            with_personal_input(check, &format!("steps: [{{ id: draft, agent: w{more}, prompt: '{prompt}' }}]\n"))
        };
        let found = "F605 5:44 \"draft\" reads inputs.phone (pii); logs mask that value in its output, and pii: true masks all of it\n";
        assert_eq!(draft("", "{{ inputs.phone }}"), found);
        assert_eq!(draft(", pii: true", "{{ inputs.phone }}"), "");
        assert_eq!(draft("", "{{ inputs.topic }}"), "");
        assert_eq!(draft("", "{% if inputs.phone %}Offer a call.{% endif %}"), "");
    }

    #[test]
    fn the_flow_ends_at_the_reader_that_is_reported() {
        let chain = |pii: &str| {
            with_personal_input(
                check,
                &format!(
                    "steps:\n  - {{ id: a, set: '{{{{ inputs.phone }}}}'{pii} }}\n  - {{ id: b, format: '{{{{ steps.a.output }}}}' }}\n"
                ),
            )
        };
        assert!(chain("").starts_with("F605 6:") && chain("").lines().count() == 1);
        assert_eq!(
            chain(", pii: true"),
            "F605 7:26 \"b\" reads steps.a.output (pii); logs mask that value in its output, and pii: true masks all of it\n"
        );
    }

    #[test]
    fn a_check_ends_the_flow() {
        let body = "scorecards:\n  clean: { criteria: [{ id: c, description: Nobody is named., check: { pii: none } }] }\nsteps:\n  - { id: a, set: '{{ inputs.phone }}', pii: true }\n  - { id: g, gate: clean, of: steps.a.output }\n  - { id: b, set: '{{ steps.g.output }}' }\n";
        assert_eq!(with_personal_input(check, body), "");
    }

    #[test]
    fn columns_and_persons_are_sources() {
        let text = "flow: 1\nname: a\ndata: { people: { file: p.csv, pii: [phone] } }\nperson: { id: p1, from: people }\nsteps:\n  - { id: q, sql: select phone from people }\n  - { id: s, set: '{{ person.name }}' }\n  - { id: t, set: '{{ person.id }}' }\n  - { id: u, sql: select id from people }\n";
        assert_eq!(
            says_of(check, &[("a.yaml", text), ("p.csv", "")]),
            "F605 6:26 \"q\" reads people.phone (pii); logs mask that value in its output, and pii: true masks all of it\n\
             F605 7:23 \"s\" reads person.name (pii); logs mask that value in its output, and pii: true masks all of it\n"
        );
    }
}
