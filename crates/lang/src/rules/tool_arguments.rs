//! F303: what a step gives a tool and what the tool takes.

use std::collections::HashMap;

use super::call_inputs::{AskedFields, GivenValues};
use super::names::PipelineNames;
use super::seat::Texts;
use super::{Code, Diagnostic, Plan};
use crate::model::{Field, FieldKind, FilePart, Filling, Knowledge, Pipeline, SendStep, Shape, StepKind, Tool, ToolKind, ToolModel};
use crate::source::{Span, Spanned};

pub(super) fn check(names: &PipelineNames, _texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let parts = FixedParts::default();
    let mut asked: HashMap<&str, Option<(AskedFields, &str)>> = HashMap::new();
    for model in file.models.values() {
        if let Some(own) = model.provider.tool() {
            answering(names.plan, &parts, file, own, out);
        }
    }
    for (name, tool) in &file.tools {
        fixed_of_folder(name, tool, &parts, out);
    }
    for (ix, planned) in names.pipeline.numbered_steps() {
        if let StepKind::Send(send) = &planned.step.kind
            && let Some(tool) = file.tools.get(&send.to.value)
        {
            sending(send, tool, out);
        }
        let StepKind::Tool(call) = &planned.step.kind else { continue };
        let Some((tool, part)) = file.tool(&call.tool.value) else { continue };
        let wanted = asked.entry(&call.tool.value).or_insert_with(|| {
            let (fields, what) = arguments(names.plan, &parts, tool, part)?;
            Some((AskedFields::of(fields), what))
        });
        let Some((wanted, what)) = wanted else { continue };
        let given = GivenValues {
            found,
            owner: format!("tool \"{}\"", call.tool.value),
            what,
            span: call.tool.span,
            with: &call.with,
            fixed: &tool.with,
            // Others are ignored by some, and are values of a query or variables of code for others.
            others_are_wrong: matches!(tool.kind, ToolKind::Pipeline { .. } | ToolKind::File(_) | ToolKind::Knowledge(_)),
        };
        given.check(names, &names.seat(ix), wanted, out);
    }
}

/// F303; for the arguments of a plan that a model wrote, too.
pub(super) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::ToolArguments, span, message)
}

/// What the parts of tools take that take the same in every file.
struct FixedParts {
    query: Vec<Field>,
    read: Vec<Field>,
    write: Vec<Field>,
    search: Vec<Field>,
}

impl Default for FixedParts {
    fn default() -> FixedParts {
        let fields = |names: &[&str]| names.iter().map(|name| text_field(name)).collect();
        FixedParts { query: fields(&["query"]), read: fields(&["name"]), write: fields(&["name", "text"]), search: Knowledge::arguments() }
    }
}

/// What a tool takes; `None`: not known.
fn arguments<'a>(plan: &'a Plan, parts: &'a FixedParts, tool: &'a Tool, part: Option<&str>) -> Option<(&'a [Field], &'static str)> {
    match (&tool.kind, tool.file_part(part)) {
        // Without `arguments` whatever is given is used.
        (ToolKind::Http { arguments, .. }, _) if arguments.is_empty() => None,
        (ToolKind::Http { arguments, .. } | ToolKind::Program { arguments, .. } | ToolKind::Python { arguments, .. }, _) => {
            Some((arguments, "argument"))
        }
        (ToolKind::Pipeline { pipeline, .. }, _) => match &plan.pipeline((*pipeline)?).pipeline.inputs {
            Shape::Fields(fields) => Some((fields, "input")),
            Shape::Schema(_) => None,
        },
        (ToolKind::Sql(_), _) => Some((&parts.query, "argument")),
        (ToolKind::Knowledge(_), _) => Some((&parts.search, "argument")),
        (ToolKind::File(_), Some(FilePart::Read)) => Some((&parts.read, "argument")),
        (ToolKind::File(_), Some(FilePart::Write)) => Some((&parts.write, "argument")),
        (ToolKind::File(_), Some(FilePart::List)) => Some((&[], "argument")),
        (ToolKind::File(_), None) => None,
        (ToolKind::Smtp { .. } | ToolKind::Server(_) | ToolKind::Broken, _) => None,
    }
}

/// The names of what a tool takes; of a `file` tool that is named whole, what any of its parts does. `None`: not known.
pub(super) fn argument_names(plan: &Plan, tool: &Tool, part: Option<&str>) -> Option<Vec<String>> {
    let parts = FixedParts::default();
    let names = |fields: &[Field]| fields.iter().map(|field| field.name.clone()).collect();
    let of_any_part = || tool.kind.folder().map(|_| names(&parts.write));
    arguments(plan, &parts, tool, part).map(|(fields, _)| names(fields)).or_else(of_any_part)
}

fn text_field(name: &str) -> Field {
    Field::new(name, if name == "text" { FieldKind::Any } else { FieldKind::Text })
}

/// A model that is a tool gives it a prompt, and perhaps the instructions of an agent, and nothing else.
fn answering(plan: &Plan, parts: &FixedParts, file: &Pipeline, own: &ToolModel, out: &mut Vec<Diagnostic>) {
    let (name, span) = (&own.tool.value, own.tool.span);
    let Some((tool, part)) = file.tool(name) else { return };
    let mut tell = |message: String, help: String| out.push(found(span, message).help(help));
    if tool.is_server() && part.is_none() {
        return tell(format!("\"{name}\" is a server, and answers by none of its tools"), format!("name one of its tools: {name}.TOOL"));
    }
    let given: Vec<&str> = [&own.prompt].into_iter().chain(&own.system).map(String::as_str).collect();
    if own.system.as_ref() == Some(&own.prompt) {
        tell(format!("tool \"{name}\" would get prompt and instructions in one argument"), "name another argument in system".to_owned());
    }
    for (fixed, _) in tool.with.iter().filter(|(fixed, _)| given.contains(&fixed.value.as_str())) {
        let message = format!("tool \"{name}\" has a fixed \"{0}\", which takes the place of what the model gives it", fixed.value);
        tell(message, format!("remove {} from with", fixed.value));
    }
    let Some((wanted, what)) = arguments(plan, parts, tool, part) else { return };
    let known: Vec<&str> = wanted.iter().map(|field| field.name.as_str()).collect();
    for (key, argument) in [("prompt", Some(&own.prompt)), ("system", own.system.as_ref())] {
        let Some(argument) = argument else { continue };
        match wanted.iter().find(|field| field.name == *argument) {
            None => {
                let near = crate::diagnostic::did_you_mean(argument, known.iter().copied());
                tell(
                    format!("tool \"{name}\" has no {what} \"{argument}\"{near}"),
                    format!("write {key}: with one of {}", known.join(", ")),
                );
            }
            Some(field) if !matches!(field.kind, FieldKind::Text | FieldKind::Any) => {
                tell(format!("{what} \"{argument}\" of tool \"{name}\" takes no text"), format!("write {key}: with one that does"));
            }
            Some(_) => {}
        }
    }
    let is_given = |field: &Field| given.contains(&field.name.as_str()) || tool.with.iter().any(|(fixed, _)| fixed.value == field.name);
    for field in wanted.iter().filter(|field| field.is_required && field.default.is_none() && !is_given(field)) {
        let message = format!("tool \"{name}\" needs {what} \"{}\", which a model does not give", field.name);
        tell(message, format!("add with: {{ {}: … }} to the tool", field.name));
    }
}

/// `with` of a `file` tool: what none of its parts takes.
fn fixed_of_folder(name: &str, tool: &Tool, parts: &FixedParts, out: &mut Vec<Diagnostic>) {
    if tool.kind.folder().is_none() {
        return;
    }
    let known: Vec<&str> = parts.write.iter().map(|field| field.name.as_str()).collect();
    for (fixed, _) in tool.with.iter().filter(|(fixed, _)| !known.contains(&fixed.value.as_str())) {
        let near = crate::diagnostic::did_you_mean(&fixed.value, known.iter().copied());
        let message = format!("tool \"{name}\" has no argument \"{}\"{near}", fixed.value);
        out.push(found(fixed.span, message).near(near).help(format!("use one of: {}", known.join(", "))));
    }
}

/// A mail needs a receiver and a subject, a file a name.
fn sending(send: &SendStep, tool: &Tool, out: &mut Vec<Diagnostic>) {
    let needed: &[&str] = match &tool.kind {
        ToolKind::Smtp { .. } => &["to", "subject"],
        ToolKind::File(_) => &["name"],
        ToolKind::Http { .. } | ToolKind::Sql(_) | ToolKind::Knowledge(_) | ToolKind::Program { .. } | ToolKind::Python { .. } => return,
        ToolKind::Pipeline { .. } | ToolKind::Server(_) | ToolKind::Broken => return,
    };
    let has = |list: &[(Spanned<String>, Filling)], name: &str| list.iter().any(|(given, _)| given.value == name);
    for name in needed.iter().filter(|name| !has(&send.with, name)) {
        let message = format!("send to \"{}\": the argument \"{name}\" is missing", send.to.value);
        let place = send.with.last().map_or(send.to.span, |(name, _)| name.span);
        let value = match *name {
            "to" => "name@example.com",
            "subject" => "What it is about",
            _ => "notes.txt",
        };
        let help = if send.with.is_empty() {
            format!("add with: {{ {name}: {value} }}")
        } else {
            format!("add {name}: to with, such as {name}: {value}")
        };
        out.push(found(place, message).help(help));
    }
}
