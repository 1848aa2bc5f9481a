//! F607: personal data that leaves for a web service, a file or the result.

use std::collections::HashSet;

use crate::model::{Outputs, ProgramCommand, Read, Text, TextKey, ToolKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::{Disclosure, gives};
use crate::rules::support::personal_sources::{PersonalSources, first};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
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
        let kind = &planned.step.kind;
        let facts = kind.facts();
        let whereto = match (facts.method, facts.starts, facts.receiver) {
            (Some(_), ..) => Some("a web address"),
            (_, Some(run), _) => of_program(run),
            (.., Some(to)) => receiver(&to.value),
            (None, None, None) => None,
        };
        let mut texts = vec![];
        kind.each_text(planned.step.span, &mut |authored| {
            texts.extend(authored.text().filter(|_| authored.key != TextKey::IdempotencyKey))
        });
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
    use super::*;
    use crate::rules::testing::with_personal_input;

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
