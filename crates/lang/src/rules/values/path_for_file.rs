//! F227: the path of a file where the file is meant: in a prompt of an agent that can open nothing. F205 where files are attached.

use std::collections::HashSet;

use super::type_mismatch;
use crate::model::{Agent, FieldKind, Filling, Provider, StepKind, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding, quoted};

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let mut ids: HashSet<String> = names.pipeline.steps.iter().map(|planned| planned.step.id.value.clone()).collect();
    let mut free_id = || {
        let numbered = (2..).map(|number| format!("file_{number}"));
        std::iter::once("file".to_owned()).chain(numbered).find(|id| ids.insert(id.clone())).unwrap_or_default()
    };
    let read_elsewhere = |input: &str| {
        names.pipeline.steps.iter().any(|planned| {
            let mut is_read = false;
            if !matches!(planned.step.kind, StepKind::Agent(_)) {
                planned.step.each_text(&mut |authored| {
                    let reads = authored.text().into_iter().flat_map(|text| &text.reads);
                    is_read |=
                        reads.into_iter().any(|read| matches!(read.path.as_slice(), [root, name] if root == "inputs" && name == input));
                });
            }
            is_read
        })
    };
    for (ix, planned) in names.pipeline.numbered_steps() {
        let StepKind::Agent(asked) = &planned.step.kind else { continue };
        let path = |text: &Text| {
            let names_file = |name: &str| file.input_fields().iter().any(|field| field.name == name && field.kind == FieldKind::File);
            text.reads.iter().find(|read| matches!(read.path.as_slice(), [root, name] if root == "inputs" && names_file(name))).cloned()
        };
        if let Some(Filling::Text(attached)) = &asked.attach
            && names.text(&names.seat(ix), attached).is_text()
        {
            let shown = attached.source.trim().trim_matches(['{', '}', ' ']).to_owned();
            let message = format!("attach takes files of a read step; {shown} is a text");
            let id = free_id();
            let help = format!("add a step {{ id: {id}, read: \"{{{{ {shown} }}}}\" }} above, and write attach: steps.{id}.output");
            out.push(type_mismatch::new_finding(attached.place.span, message).help(help));
        }
        if file.agents.get(&asked.agent.value).is_none_or(|agent| may_open(names, agent)) {
            continue;
        }
        if let Some(read) = path(&asked.prompt).filter(|read| read.path.get(1).is_some_and(|name| !read_elsewhere(name))) {
            let input = read.path.join(".");
            let message = format!("{input} gives agent {} the path of a file, and not what is in it", quoted(&asked.agent.value));
            let id = free_id();
            let help = format!(
                "add - {{ id: {id}, read: \"{{{{ {input} }}}}\" }} above step {}, and write steps.{id}.output.text in place of {input}",
                planned.step.id.value
            );
            out.push(finding(Code::PathForFile, read.span, &message).help(help));
        }
    }
}

/// Whether an agent may open a file itself: by a tool, or since it is a program.
fn may_open(names: &PipelineNames, agent: &Agent) -> bool {
    let model = names.pipeline.pipeline.models.get(agent.model_name());
    let is_plain = model.is_none_or(|model| matches!(model.provider, Provider::Service(_)));
    !agent.tools.is_empty() || !is_plain
}
