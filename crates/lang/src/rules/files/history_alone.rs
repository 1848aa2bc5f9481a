//! F320: a step that sees the conversation, in a pipeline that has none.

use super::one_conversation::conversation_line;
use crate::diagnostic::About;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.conversation.is_some() {
        return;
    }
    for planned in &pipeline.steps {
        if planned.step.kind.history().is_some() {
            let message = format!("{} has history, but the pipeline has no conversation", quoted(&planned.step.id.value));
            out.push(
                finding(Code::HistoryAlone, planned.step.id.span, &message)
                    .about(About::Value("history".to_owned()))
                    .related(pipeline.pipeline.name.span, "conversation stands below this line")
                    .help(format!("add {} to the head of the file, or remove history", conversation_line(&pipeline.pipeline))),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_step_with_history_needs_a_conversation() {
        let file =
            |head: &str| says(check, &format!("{head}agents: {{ w: {{}} }}\nsteps: [{{ id: a, agent: w, prompt: Hi, history: true }}]\n"));
        assert_eq!(file(""), "F320 4:15 \"a\" has history, but the pipeline has no conversation\n");
        assert_eq!(file("inputs: { m: text }\nconversation: { id: '{{ inputs.m }}', message: inputs.m }\n"), "");
    }
}
