//! F321: a conversation that is the same for everybody.

use serde_json::Value;

use crate::diagnostic::About;

use crate::model::{Filling, Pipeline};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some(conversation) = &pipeline.pipeline.conversation else { return };
    if conversation.id.texts().iter().all(|text| text.reads.is_empty()) {
        let message = "id of conversation is the same in every run: all people share one conversation and can read each other's messages";
        out.push(finding(Code::OneConversation, conversation.span, message).about(About::Value("id".to_owned())).help(
            match who(&pipeline.pipeline) {
                Some(who) if pipeline.pipeline.person.is_none() => {
                    let own = match &conversation.id {
                        Filling::Constant(Value::String(own)) => format!("{own}-"),
                        id => id.texts().first().map_or(String::new(), |text| format!("{}-", text.source)),
                    };
                    format!("write id: \"{own}{{{{ inputs.{who} }}}}\", with the input that tells people apart")
                }
                _ => "write something that identifies the person, such as id: \"{{ person.id }}\" or an input".to_owned(),
            },
        ));
    }
}

/// The input that most likely says who asks: the first that is not what they typed.
fn who(file: &Pipeline) -> Option<&str> {
    let typed = typed(file);
    let names = || file.input_fields().iter().map(|field| field.name.as_str()).filter(|name| Some(*name) != typed);
    names().find(|name| ["id", "who", "user", "customer", "person"].iter().any(|word| name.contains(word))).or_else(|| names().next())
}

/// The input that most likely holds what a person typed.
fn typed(file: &Pipeline) -> Option<&str> {
    let names = || file.input_fields().iter().map(|field| field.name.as_str());
    names().find(|name| ["message", "question", "text", "query"].contains(name)).or_else(|| names().next_back())
}

/// A section `conversation` with the inputs of a file.
pub(in crate::rules) fn conversation_line(file: &Pipeline) -> String {
    let (who, typed) = (who(file).unwrap_or("NAME"), typed(file).unwrap_or("NAME"));
    format!("conversation: {{ id: \"{{{{ inputs.{who} }}}}\", message: inputs.{typed} }}")
}

/// A section `person` with the inputs of a file, so that `field` is filled.
pub(in crate::rules) fn person_line(file: &Pipeline, field: &str) -> String {
    let who = who(file).or(typed(file)).unwrap_or("NAME");
    let table = file.data.iter().find(|(_, data)| data.header.as_ref().is_some_and(|header| header.iter().any(|name| name == field)));
    match table {
        _ if field == "id" => format!("person: {{ id: \"{{{{ inputs.{who} }}}}\" }}"),
        Some((table, _)) => format!("person: {{ id: \"{{{{ inputs.{who} }}}}\", from: {table} }}"),
        None => format!("person: {{ id: \"{{{{ inputs.{who} }}}}\", {field}: \"{{{{ inputs.{field} }}}}\" }}, with an input {field}: text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

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
