//! F605: a step whose output holds personal data, and which is not marked.

use crate::labels::personal_column;
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
            let column = personal_column(&step.query.source, &pipeline.pipeline.data, None);
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
    use std::path::PathBuf;

    use indexmap::IndexMap;

    use super::*;
    use crate::model::{Data, DataKind};
    use crate::rules::testing::{says_of, with_personal_input};
    use crate::source::{Span, Spanned};

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

    fn table(pii: &[&str]) -> Data {
        Data {
            file: Spanned::new(PathBuf::new(), Span::default()),
            kind: DataKind::Csv,
            table: None,
            pii: pii.iter().map(|name| Spanned::new((*name).to_owned(), Span::default())).collect(),
            is_untrusted: false,
            form: Default::default(),
            columns: IndexMap::new(),
            engine: None,
            header: None,
            oddities: vec![],
            looks: Default::default(),
        }
    }

    fn given_by(query: &str) -> String {
        let data = IndexMap::from([("people".to_owned(), table(&["name", "phone"])), ("projects".to_owned(), table(&[]))]);
        personal_column(query, &data, None).map_or(String::new(), |(_, name)| name)
    }

    #[test]
    fn a_column_is_given_when_it_is_selected() {
        for query in [
            "select phone from people",
            "SELECT p.Phone FROM people AS p, projects",
            "select id, upper(phone) as x from people where id = $id",
            "select \"phone\" from people p",
            "select p.phone from people p join visits v on p.id = v.person",
            "select x from (select phone as x from people)",
            "select 'a', (select phone from people limit 1)",
            "values ((select phone from people))",
            "with x as (select phone as z from people) select z from x",
            "with x(z) as (select phone from people) select z from x",
            "with x as (select id, p.phone from people p), y as (select phone from x) select y.phone from y",
            "with x as (select upper(phone) as z, id from people) select id, z || '!' from x",
            "with recursive x as not materialized (select id as z from projects union select p.phone from people p) select z from x",
        ] {
            assert_eq!(given_by(query), "people.phone", "{query}");
        }
        assert_eq!(given_by("select * from people"), "people.name");
        assert_eq!(given_by("with x as (select * from people) select * from x"), "people.name");
        assert_eq!(given_by("with x as (select name, id from people) select name from x"), "people.name");
        assert_eq!(given_by("select * from projects, people"), "people.name");
        assert_eq!(given_by("select p.* from people p"), "people.name");
        // A bare name is a column of one of the tables; the query would be rejected if it were one of both.
        assert_eq!(given_by("select name from projects, people"), "people.name");
        assert_eq!(given_by("select name from people join visits on people.id = visits.person"), "people.name");
    }

    #[test]
    fn what_only_decides_or_is_counted_is_not_given() {
        for query in [
            "select id from people where phone = $phone",
            "select count(phone) from people",
            "select count(*) from people",
            "select id from projects where owner in (select name from people)",
            "select name from projects",
            "select projects.name from projects, people",
            "with x as (select name, id from people) select id from x",
            "with x as (select count(name) as name from people) select name from x",
            "values (1, 'phone')",
            "select id from projects where owner in (values ((select name from people)))",
            "select id, 'phone' from people -- phone",
            "select id from people order by name",
            "select weekly_target from people",
            "select p.name, sum(e.hours) from entries e join projects p on p.id = e.project group by p.name",
        ] {
            assert_eq!(given_by(query), "", "{query}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for query in [
            "", "'", "\"", "/*", "--", "select ((((", "select é from people", "))))", "`", "select * from", "$", "with", "with x",
            "with x as (", "with x(a as (select", "with x as )(,",
        ] {
            given_by(query);
        }
    }
}
