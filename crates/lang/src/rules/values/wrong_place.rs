//! F208: a name that exists, but not here.

use crate::diagnostic::{LONGEST_MESSAGE, cut};
use crate::model::{Filling, Model, Read, Root, RootPlaces, StepKind, TextKey};
use crate::plan::StepIx;
use crate::rules::prelude::{Diagnostic, PipelineNames, PipelinePlan, Plan, quoted, sole_path};
use crate::rules::support::giving::readers;
use crate::rules::support::names::by_name;
use crate::rules::support::problem::ReadProblem;

pub(in crate::rules) fn report(read: &Read, message: String, help: String) -> Diagnostic {
    Diagnostic::wrong_place(read.span, message).help(help)
}

/// F208: a step of a list beside the outputs.
pub(in crate::rules) fn beside_outputs(read: &Read, id: &str, list: &str) -> Diagnostic {
    let send = format!("add - {{ id: send_{id}, send: stdout, of: steps.{id}.output }} below \"{id}\"");
    report(
        read,
        format!("\"{id}\" is in {list}, which outputs cannot read"),
        format!("remove it: outputs are given only if nothing failed; {send}"),
    )
}

/// Names what goes with such a read that stands in a `default`.
pub(in crate::rules) fn with_default(found: &mut Diagnostic, read: &Read, source: &str) {
    let path = read.path.join(".");
    let all = [format!("| default({path})"), format!("| default({path}, true)")];
    if let Some(gone) = all.iter().find(|gone| source.contains(gone.as_str())) {
        for help in &mut found.help {
            *help = help.replacen("remove it", &format!("remove {gone}"), 1);
        }
    }
}

/// F208: a name of rounds, in a group that has none; told at the group.
pub(in crate::rules) fn no_rounds(names: &PipelineNames, read: &Read, group: StepIx) -> Diagnostic {
    let name = read.path.first().map(String::as_str).unwrap_or_default();
    let id = &names.step(group).id;
    let message = format!("\"{}\" has no \"repeat\", and \"{name}\" inside it is the round before", id.value);
    let message = if name == "previous" { message } else { message.replace("the round before", "the number of a round") };
    let found = Diagnostic::wrong_place(id.span, message).related(read.span, "it is read here");
    found.help("add repeat: { until: a condition on a step inside, at_most: 3 } to it, or do not read rounds")
}

/// F208: a model of settings that reads the environment as a whole, or a variable that is `flow`'s own.
pub(in crate::rules) fn in_settings(model: Option<&Model>, out: &mut Vec<Diagnostic>) {
    for read in model.into_iter().flat_map(Model::texts).flat_map(|text| &text.reads) {
        let Some((root, rest)) = read.path.split_first().filter(|(root, _)| matches!(root.as_str(), "secrets" | "env")) else { continue };
        if let Err(ReadProblem::WrongPlace(message, help)) = by_name(root, rest.first()) {
            out.push(report(read, message, help));
        }
    }
}

/// F208: a server or documents that would be others for each step.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (name, tool) in &pipeline.pipeline.tools {
        let (what, help) = if tool.is_server() {
            ("server", "use inputs, env or secrets, or pass the value to the tool through with")
        } else if tool.knowledge().is_some() {
            ("knowledge", "use inputs; a called pipeline gets the files as an input of its own")
        } else {
            continue;
        };
        let mut texts = vec![];
        tool.each_text(&mut |authored| texts.extend(authored.text().filter(|_| authored.key != TextKey::Fixed)));
        for read in texts.into_iter().flat_map(|text| &text.reads) {
            // A name that is nowhere here is reported as that.
            let Some(root) = read.root().filter(|root| match root.places() {
                RootPlaces::Everywhere => *root != Root::Inputs,
                RootPlaces::Elements | RootPlaces::Rounds => true,
                RootPlaces::AfterFailure | RootPlaces::Judged | RootPlaces::Dialogue | RootPlaces::Outside => false,
            }) else {
                continue;
            };
            let message = format!("\"{}\" cannot be used here: {what} {} is shared by the whole pipeline", root.word(), quoted(name));
            let help = match input_behind(pipeline, read) {
                Some((path, id)) => {
                    let alone = readers(pipeline, id) == 1;
                    let more = if alone { format!(", and remove step {}, which nothing else reads", quoted(id)) } else { String::new() };
                    format!("write {path} in place of {}{more}", read.path.join("."))
                }
                None => help.to_owned(),
            };
            out.push(Diagnostic::wrong_place(read.span, cut(&message, LONGEST_MESSAGE)).help(help));
        }
    }
}

/// The input that a set step only passes on.
fn input_behind<'r>(pipeline: &PipelinePlan, read: &'r Read) -> Option<(String, &'r str)> {
    let [steps, id, output] = read.path.as_slice() else { return None };
    let planned = pipeline.steps.iter().find(|planned| planned.step.id.value == *id && steps == "steps" && output == "output")?;
    let StepKind::Set(Filling::Text(text)) = &planned.step.kind else { return None };
    let own = sole_path(text)?;
    own.path.first().is_some_and(|root| root == "inputs").then(|| (own.path.join("."), id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says, with_server};

    #[test]
    fn a_server_is_one_for_the_whole_pipeline() {
        let found = "F208 4:44 \"steps\" cannot be used here: server \"files\" is shared by the whole pipeline\n";
        assert_eq!(with_server(check, "command: srv, args: ['{{ steps.a.output }}']", ""), found);
        for fine in ["command: srv, args: ['{{ inputs.dir }}'], env: { A: '{{ env.A }}' }", "url: 'https://example.com/{{ inputs.dir }}'"] {
            assert_eq!(with_server(check, fine, ""), "", "{fine}");
        }
    }

    #[test]
    fn documents_are_the_same_for_the_whole_pipeline() {
        let with = |files: &str| {
            says(
                check,
                &format!(
                    "inputs: {{ files: {{ type: list, items: file }} }}\nknowledge: {{ k: {{ files: \"{files}\" }} }}\nsteps: [{{ id: a, search: k, for: x }}]\n"
                ),
            )
        };
        assert_eq!(with("{{ inputs.files }}"), "");
        let found = "F208 4:30 \"steps\" cannot be used here: knowledge \"k\" is shared by the whole pipeline\n";
        assert_eq!(with("{{ steps.a.output }}"), found);
    }
}
