//! F321: a conversation that is the same for everybody.

use crate::diagnostic::About;

use super::{Code, Diagnostic, PipelinePlan, Plan, finding};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some(conversation) = &pipeline.pipeline.conversation else { return };
    if conversation.id.texts().iter().all(|text| text.reads.is_empty()) {
        let message = "id of conversation is the same in every run: all people share one conversation and can read each other's messages";
        out.push(
            finding(Code::OneConversation, conversation.span, message)
                .about(About::Value("id".to_owned()))
                .help("write something that identifies the person, such as id: \"{{ person.id }}\" or an input"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn an_id_tells_people_apart() {
        let file = |id: &str| {
            says(check, &format!("inputs: {{ m: text }}\nconversation: {{ id: {id}, message: inputs.m }}\nsteps: [{{ id: a, set: 1 }}]\n"))
        };
        let found =
            "F321 4:1 id of conversation is the same in every run: all people share one conversation and can read each other's messages\n";
        for constant in ["all", "7", "'{{ \"x\" }}'"] {
            assert_eq!(file(constant), found, "{constant}");
        }
        assert_eq!(file("'{{ inputs.m }}'"), "");
    }
}
