//! F605: a step whose output holds personal data, and which is not marked.

use crate::labels::StepQuery;
use crate::model::{Filling, Inflow, JudgingStep, Pipeline, ProgramCommand, StepFacts, StepKind, Text};
use crate::plan::PlannedStep;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::Disclosure;
use crate::rules::support::personal_sources::{PersonalSources, all, first};

/// The texts of a step whose values may be part of its output.
fn inflow<'p>(sources: &PersonalSources, pipeline: &'p Pipeline, planned: &'p PlannedStep) -> Vec<&'p Text> {
    let kind = &planned.step.kind;
    let StepFacts { inflow: Inflow { texts, value, named }, starts, receiver, judges, .. } = kind.facts();
    let is_cleared = matches!(judges, Some(JudgingStep::Gate(gate)) if sources.removes(gate));
    if is_cleared || receiver.is_some() && kind.called(pipeline).is_none() {
        return vec![];
    }
    let own = texts.into_iter().flatten().chain(value.into_iter().flat_map(Filling::texts)).chain(all(named));
    own.chain(starts.into_iter().flat_map(ProgramCommand::texts)).collect()
}

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let sources = PersonalSources::of(pipeline);
    for planned in pipeline.steps.iter().filter(|planned| !planned.step.is_pii) {
        let id = quoted(&planned.step.id.value);
        let found = if let StepKind::Sql(step) = &planned.step.kind {
            let column = StepQuery::new(&step.query.source, &pipeline.pipeline).personal(None);
            column.map(|(place, name)| (step.query.place.inside(place.start, place.start + place.text.len()), name))
        } else {
            let read = first(&sources, planned, &inflow(&sources, &pipeline.pipeline, planned), Disclosure::Perhaps);
            read.map(|(read, name)| (read.span, name))
        };
        let Some((span, name)) = found else { continue };
        let message = format!("{id} reads {name} (pii); logs mask that value in its output, and pii: true masks all of it");
        out.push(
            finding(Code::PiiUnmarked, span, &message)
                .related(planned.step.id.span, "add pii: true to this step")
                .help("add pii: true to the step, or leave the personal data out"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says_of, with_personal_input};

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
