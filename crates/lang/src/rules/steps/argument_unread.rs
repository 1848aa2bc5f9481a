//! F319: a tool reads the input of the run where its own argument of that name is meant: whatever a model or a step gives, the same is done.

use crate::model::{Read, ToolKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for (name, tool) in file.tools.iter().filter(|(_, tool)| tool.span.file == file.name.span.file) {
        let (ToolKind::Http { arguments, .. } | ToolKind::Program { arguments, .. }) = &tool.kind else { continue };
        let mut reads: Vec<&Read> = vec![];
        tool.each_text(&mut |authored| reads.extend(authored.text().into_iter().flat_map(|text| &text.reads)));
        let below = |root: &str, argument: &str| {
            let is_it = |read: &&&Read| matches!(read.path.as_slice(), [first, second, ..] if first == root && second == argument);
            reads.iter().find(is_it).copied()
        };
        if reads.iter().any(|read| matches!(read.path.as_slice(), [root] if root == "with")) {
            continue;
        }
        for argument in arguments.iter().filter(|argument| below("with", &argument.name).is_none()) {
            let Some(read) = below("inputs", &argument.name) else { continue };
            let message = format!(
                "tool {} reads the run's input {} here, and its own argument of that name nowhere",
                quoted(name),
                quoted(&argument.name)
            );
            out.push(
                finding(Code::ArgumentUnread, read.span, &message).help(format!("write with.{} for what the tool is given", argument.name)),
            );
        }
    }
}
