//! F607: personal data that leaves for a web service, a file or the result.

use std::collections::HashSet;

use super::giving::{Disclosure, gives};
use super::personal_sources::{PersonalSources, all, first};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Filling, Outputs, ProgramCommand, Read, StepKind, Text, ToolKind};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let sources = PersonalSources::of(pipeline);
    for planned in &pipeline.steps {
        let receiver = |tool: &str| match file.tool(tool).map(|(tool, _)| &tool.kind) {
            Some(ToolKind::Http { .. }) => Some("an http tool"),
            Some(ToolKind::File(_)) => Some("a file"),
            Some(ToolKind::Server(_)) => Some("a tool server"),
            Some(ToolKind::Program { run, .. }) => of_program(run),
            Some(ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_)) => None,
            Some(ToolKind::Pipeline { .. } | ToolKind::Smtp { .. } | ToolKind::Broken) | None => None,
        };
        let (whereto, texts) = match &planned.step.kind {
            StepKind::Http(http) => {
                let mut texts = vec![&http.url];
                texts.extend(http.headers.iter().map(|(_, text)| text));
                texts.extend(http.query.iter().map(|(_, value)| value).chain(&http.body).flat_map(Filling::texts));
                (Some("a web address"), texts)
            }
            StepKind::Program(run) => (of_program(run), run.texts().chain(run.env.iter().map(|(_, text)| text)).collect()),
            StepKind::Resource(step) => (receiver(&step.server.value), vec![&step.uri]),
            StepKind::Tool(tool) => (receiver(&tool.tool.value), all(&tool.with)),
            StepKind::Send(send) => (receiver(&send.to.value), std::iter::once(&send.of).chain(all(&send.with)).collect()),
            StepKind::Agent(_) | StepKind::Set(_) | StepKind::Sql(_) | StepKind::Read(_) | StepKind::Plan(_) | StepKind::Route(_) => {
                continue;
            }
            StepKind::Group(_) | StepKind::Repeat(_) => continue,
            StepKind::Search(_) | StepKind::Approval(_) | StepKind::Python(_) | StepKind::Task(_) | StepKind::Dialogue(_) => continue,
            StepKind::Call(_) | StepKind::Format(_) | StepKind::Gate(_) | StepKind::Wait(_) | StepKind::Stop(_) | StepKind::Broken => {
                continue;
            }
        };
        let Some(whereto) = whereto else { continue };
        if let Some((read, name)) = first(&sources, planned, &texts, Disclosure::Perhaps) {
            let id = quoted(&planned.step.id.value);
            let message = format!("{id} sends {name} (pii) to {whereto} without a check pii: none before it");
            out.push(found(read, &message));
        }
    }
    let outputs: Vec<(String, Vec<&Text>)> = match &file.outputs {
        Outputs::None => vec![],
        Outputs::Whole(text) => vec![("outputs".to_owned(), vec![text])],
        Outputs::Named(outputs) => outputs.iter().map(|(name, value)| (format!("outputs.{}", name.value), value.texts())).collect(),
    };
    for (what, texts) in outputs {
        let direct = texts.into_iter().find_map(|text| {
            let mut asked = HashSet::new();
            let reads = text.reads.iter().filter(|read| asked.insert(&read.path) && sources.is_direct(read));
            reads.into_iter().find(|read| gives(text, read) >= Disclosure::Perhaps)
        });
        if let Some(read) = direct {
            let message = format!("{what} gives {} (pii) without a check pii: none before it", read.path.join("."));
            out.push(found(read, &message));
        }
    }
}

/// What a program is given stays in its sandbox, but for what it sends or writes.
fn of_program(run: &ProgramCommand) -> Option<&'static str> {
    (!run.network.is_none() || !run.writes.is_empty()).then_some("a program")
}

fn found(read: &Read, message: &str) -> Diagnostic {
    let is_of_person = read.path.first().is_some_and(|root| root == "person");
    let help = match is_of_person {
        true => "write person.id, which says who it is without these data, leave it out, or put a gate with the check pii: none before it",
        false => "leave it out, or put a gate with the check pii: none before it",
    };
    finding(Code::PiiLeaves, read.span, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::super::testing::with_personal_input;
    use super::*;

    #[test]
    fn personal_data_leaves_only_after_a_check() {
        let tool = "tools: { hook: { http: POST https://example.com/ } }\n";
        let notify = |with: &str| {
            with_personal_input(
                check,
                &format!(
                    "{tool}steps:\n  - {{ id: a, set: '{{{{ inputs.phone }}}}', pii: true }}\n  - {{ id: notify, tool: hook, with: {{ x: '{with}' }} }}\n"
                ),
            )
        };
        assert_eq!(
            notify("{{ inputs.phone }}"),
            "F607 8:46 \"notify\" sends inputs.phone (pii) to an http tool without a check pii: none before it\n"
        );
        assert!(notify("{{ steps.a.output }}").contains("sends steps.a.output (pii)"));
        assert_eq!(notify("{{ inputs.topic }}"), "");
        let outputs = |value: &str| {
            with_personal_input(
                check,
                &format!("steps: [{{ id: a, set: '{{{{ inputs.phone }}}}', pii: true }}]\noutputs: {{ x: '{value}' }}\n"),
            )
        };
        assert_eq!(outputs("{{ inputs.phone }}"), "F607 6:19 outputs.x gives inputs.phone (pii) without a check pii: none before it\n");
        assert_eq!(outputs("{{ steps.a.output }}"), "", "outputs count only where they read it directly");
    }
}
