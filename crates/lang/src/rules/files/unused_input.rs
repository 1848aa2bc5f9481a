//! F210: an input that nothing reads.

use std::collections::HashSet;

use crate::model::{Form, PersonSource, Shape, Step, StepKind, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts};

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let Shape::Fields(fields) = &names.pipeline.pipeline.inputs else { return };
    let Some(read) = texts.read_below("inputs") else { return };
    let known: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    if texts.reads_unknown("inputs", |name| known.contains(name)) {
        return;
    }
    // A person who is the same in every run; else a prompt that lacks a value.
    let person = names.pipeline.pipeline.person.as_ref().filter(|person| person.id.texts().iter().all(|text| text.reads.is_empty()));
    let person = person.and_then(|person| if let PersonSource::Table(table) = &person.from { Some(table.span) } else { None });
    let prompts = || names.pipeline.steps.iter().filter_map(|planned| prompt_of(&planned.step));
    let prompt = prompts().find(|(prompt, _)| prompt.form == Form::Plain).or_else(|| prompts().next());
    for field in fields.iter().filter(|field| !read.contains(field.name.as_str())) {
        let name = &field.name;
        let found = Diagnostic::new(Code::UnusedInput, field.span, format!("input \"{name}\" is never used"));
        out.push(match (person, prompt) {
            (Some(span), _) => {
                Diagnostic { span, message: format!("id of person is the same in every run, and input \"{name}\" is never used"), ..found }
                    .related(field.span, "never used")
                    .help(format!("write id: \"{{{{ inputs.{name} }}}}\", or remove the input"))
            }
            (None, Some((prompt, id))) => found.related(prompt.place.span, format!("write {{{{ inputs.{name} }}}} here")).help(format!(
                "write {{{{ inputs.{name} }}}} in the prompt of step \"{id}\", or where else it is needed, or remove the input"
            )),
            (None, None) => found.help(format!("read it as inputs.{name}, or remove it")),
        });
    }
}

fn prompt_of(step: &Step) -> Option<(&Text, &str)> {
    if let StepKind::Agent(agent) = &step.kind { Some((&agent.prompt, step.id.as_str())) } else { None }
}
