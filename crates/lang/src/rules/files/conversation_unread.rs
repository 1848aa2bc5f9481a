//! F322: a conversation is kept, and no step and no text sees what was said before.

use crate::model::StepKind;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let Some(conversation) = file.conversation.as_ref().filter(|conversation| conversation.summary.is_none()) else { return };
    let mut is_read = false;
    file.each_text(&mut |authored| {
        let reads = authored.text().into_iter().flat_map(|text| &text.reads);
        is_read |= reads.into_iter().any(|read| read.path.first().is_some_and(|root| root == "conversation"));
    });
    let agents: Vec<_> = pipeline
        .steps
        .iter()
        .filter_map(|planned| if let StepKind::Agent(asked) = &planned.step.kind { Some((planned, asked)) } else { None })
        .collect();
    // What a called pipeline sees of it is not looked at.
    let calls = pipeline.steps.iter().any(|planned| pipeline.called(&planned.step).is_some());
    if is_read || calls || pipeline.steps.iter().any(|planned| planned.step.kind.history().is_some()) {
        return;
    }
    let reads_message = |asked: &crate::model::AgentStep| {
        asked.prompt.reads.iter().any(|read| conversation.message.reads.iter().any(|message| message.path == read.path))
    };
    let Some((planned, asked)) = agents.iter().find(|(_, asked)| reads_message(asked)) else { return };
    let message = format!("nothing sees the conversation: agent {} knows no earlier message", quoted(&asked.agent.value));
    out.push(
        finding(Code::ConversationUnread, asked.prompt.place.span, &message)
            .related(conversation.span, "it is kept here")
            .help(format!("add history: true to step {}, or remove conversation", quoted(&planned.step.id.value))),
    );
}
