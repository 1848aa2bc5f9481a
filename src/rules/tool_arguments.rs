//! F303: what a step gives a tool and what the tool takes.

use super::call_inputs::Given;
use super::names::Names;
use super::seat::Texts;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Field, FieldKind, Filling, SendStep, Shape, Step, StepKind, Tool, ToolKind};
use crate::plan::StepIx;
use crate::source::Spanned;

pub(super) fn check(names: &Names, _texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    for (index, planned) in names.pipeline.steps.iter().enumerate() {
        let step: &Step = &planned.step;
        match &step.kind {
            StepKind::Tool(call) => {
                let (server, part) = call.tool.value.split_once('.').unwrap_or((&call.tool.value, ""));
                let Some(tool) = file.tools.get(server) else { continue };
                let Some((fields, what)) = arguments(names, tool, part) else { continue };
                let given = Given {
                    code: Code::ToolArguments,
                    owner: format!("tool \"{}\"", call.tool.value),
                    what,
                    span: call.tool.span,
                    with: &call.with,
                    fixed: &tool.with,
                    others_are_wrong: matches!(tool.kind, ToolKind::Pipeline { .. }),
                };
                given.check(names, &names.seat(StepIx(index as u32)), &fields, out);
            }
            StepKind::Send(send) => {
                if let Some(tool) = file.tools.get(&send.to.value) {
                    sending(send, tool, out);
                }
            }
            _ => {}
        }
    }
}

/// What a tool takes; `None`: not known.
fn arguments(names: &Names, tool: &Tool, part: &str) -> Option<(Vec<Field>, &'static str)> {
    let needed = |wanted: &[&str]| Some((wanted.iter().map(|name| text_field(name)).collect(), "argument"));
    match (&tool.kind, part) {
        // Without `arguments` whatever is given is used.
        (ToolKind::Http { arguments, .. }, _) if arguments.is_empty() => None,
        (ToolKind::Http { arguments, .. }, _) => Some((arguments.clone(), "argument")),
        (ToolKind::Pipeline { pipeline, .. }, _) => match &names.plan.pipeline((*pipeline)?).pipeline.inputs {
            Shape::Fields(fields) => Some((fields.clone(), "input")),
            Shape::Schema(_) => None,
        },
        (ToolKind::Sql(_), _) => needed(&["query"]),
        (ToolKind::File(_), "read") => needed(&["name"]),
        (ToolKind::File(_), "write") => needed(&["name", "text"]),
        _ => None,
    }
}

fn text_field(name: &str) -> Field {
    Field::new(name, if name == "text" { FieldKind::Any } else { FieldKind::Text })
}

/// A mail needs a receiver and a subject, a file a name.
fn sending(send: &SendStep, tool: &Tool, out: &mut Vec<Diagnostic>) {
    let needed: &[&str] = match &tool.kind {
        ToolKind::Smtp { .. } => &["to", "subject"],
        ToolKind::File(_) => &["name"],
        _ => return,
    };
    let has = |list: &[(Spanned<String>, Filling)], name: &str| list.iter().any(|(given, _)| given.value == name);
    for name in needed.iter().filter(|name| !has(&send.with, name)) {
        let message = format!("send to \"{}\": the argument \"{name}\" is missing", send.to.value);
        out.push(Diagnostic::new(Code::ToolArguments, send.to.span, message).help(format!("add with: {{ {name}: … }}")));
    }
}
