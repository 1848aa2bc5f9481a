//! F211: a field of an output that is plain text.

use crate::model::{Read, StepKind};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, PlacedText, TextRole};

/// A field with the type that its use asks for, as it is declared.
pub(in crate::rules) fn field(placed: &PlacedText, read: &Read) -> String {
    let name = read.path.get(3).map_or("", String::as_str);
    let source = &placed.text.source;
    let behind = source.find(&read.path.join(".")).map(|at| source[at + read.path.join(".").len()..].trim_start()).unwrap_or_default();
    let is_sole = placed.role == TextRole::Condition && behind.is_empty();
    let kind = match behind.trim_start_matches(['<', '>', '=', '!']).trim_start() {
        _ if is_sole || behind.starts_with("and ") || behind.starts_with("or ") => "boolean",
        value if value.len() < behind.len() && value.starts_with(|c: char| c.is_ascii_digit()) => "number",
        _ if placed.role == TextRole::List => "list",
        _ => "text",
    };
    format!("{name}: {kind}")
}

/// Adds a field to what is to be declared: in the help, and where the step is marked.
pub(in crate::rules) fn add(found: &mut Diagnostic, field: &str) {
    let name = field.split(':').next().unwrap_or_default();
    let lines = found.help.iter_mut().chain(found.related.iter_mut().map(|(_, label)| label));
    for line in lines.filter(|line| line.starts_with("add output: {")) {
        if let Some((before, behind)) = line.split_once(" }").filter(|(before, _)| !before.contains(&format!(" {name}:"))) {
            let comma = if before.ends_with('{') { "" } else { "," };
            *line = format!("{before}{comma} {field} }}{behind}");
        }
    }
}

pub(in crate::rules) fn report(names: &PipelineNames, read: &Read, step: StepIx) -> Diagnostic {
    let id = &names.step(step).id;
    let field = read.path.get(3).map_or("", String::as_str);
    let at_end = ["raw", "text", "content", "choices", "message", "response", "result", "value", "answer", "data", "body"];
    if at_end.contains(&field) && names.answer_is_text(step) {
        let path = format!("steps.{}.output", id.value);
        let message = format!("{path}.{field} is read, but the output of \"{}\" is the text itself", id.value);
        return found(read, message).help(format!("write {path}")).proposed_fix(vec![(read.span, path)]).related(id.span, "this step");
    }
    let message = format!("steps.{}.output.{field} is read, but \"{}\" has no output: it returns plain text", id.value, id.value);
    let StepKind::Agent(asked) = &names.step(step).kind else { return found(read, message) };
    let agent = names.pipeline.pipeline.agents.get(&asked.agent.value);
    let found = found(read, message)
        .help(format!("add output: {{ }} to \"{}\", with all fields that it is asked for", id.value))
        .related(id.span, "add output: { } to this step");
    agent.into_iter().fold(found, |found, agent| found.related(agent.span, "or to this agent"))
}

fn found(read: &Read, message: String) -> Diagnostic {
    Diagnostic::new(Code::NoOutputFields, read.span, message)
}
